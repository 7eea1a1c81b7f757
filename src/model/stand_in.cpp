#include "stand_in.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::string_view standard_architecture = "standard";

/// Text of a file that may be shown: as `quote` makes it, without the quotes.
std::string shown(std::string_view text) {
    const std::string quoted = quote(text);
    return quoted.substr(1, quoted.size() - 2);
}

} // namespace

bool is_described(std::string_view architecture) {
    return architecture != standard_architecture && architecture != "common" &&
           embedded::file("architectures/" + std::string(architecture) + ".json").has_value();
}

std::shared_ptr<const Architecture> stand_in(std::string_view architecture, const Hparams& hparams,
                                             const std::string& where) {
    const std::string name = shown(architecture);
    const std::string unknown = "; the architecture \"" + name + "\" is not known here";
    if (hparams.find("attention.head_count") == nullptr)
        throw Error(where + " has no key " + name + ".attention.head_count, from which its KV cache could be sized" +
                    unknown);
    constexpr std::array<std::string_view, 6> others = {
        "ssm.", "wkv.", "kda.", "shortconv.", "attention.kv_lora_rank", "attention.key_length_mla"};
    for (const auto& [key, value] : hparams.entries()) {
        const std::string& k = key;
        if (std::ranges::any_of(others, [&](std::string_view start) { return k.starts_with(start); }))
            throw Error(where + " keeps more than plain attention: it has the key " + name + "." + shown(key) +
                        unknown);
    }
    auto plain = std::make_shared<Architecture>(*bundled_architecture(standard_architecture));
    plain->name = name;
    return plain;
}

} // namespace vramfit
