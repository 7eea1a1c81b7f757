#pragma once

#include "figures.hpp"

#include "vramfit/answer/diagnosis.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Takes down actions of one diagnosis, best first; those that the runtime has no words for are left out.
class Advice {
public:
    explicit Advice(Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

    /// `kind` as in flags_of.
    void option(std::string_view kind, std::string_view value, std::string summary);
    /// A number that is to become smaller: `wanted`, or half of what is in effect where that is not less; nothing where no
    /// whole number is.
    void smaller(std::string_view kind, std::uint64_t wanted, std::optional<std::uint64_t> in_effect,
                 std::string summary);
    /// Twice the GPUs that are in use.
    void more_gpus(std::string summary);
    /// A context of `n_ctx` tokens in all, 0 of them: nothing.
    void context(std::uint64_t n_ctx, std::string summary);
    /// In words, or with flags that no runtime's table has.
    void plain(std::string_view kind, std::string summary, std::vector<std::string> flags = {});

private:
    Diagnosis& diagnosis_;
};

/// A number of tokens that people would choose, at most `n_ctx`.
std::uint64_t rounded_context(std::uint64_t n_ctx);

/// llama.cpp's physical batch where nobody says which (data/runtimes.json).
std::uint64_t usual_ubatch();

/// A cache type of half the size of the one in effect.
void advise_cache_type(Advice& advice, const Diagnosis& diagnosis);

} // namespace vramfit
