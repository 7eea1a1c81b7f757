#pragma once

#include "answer/judge.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// A change of a request that may help.
struct Change {
    std::string kind;
    std::string summary;
    std::vector<std::pair<std::string, SettingValue>> set;
    std::vector<std::string> flags;
    std::string file;     ///< of the model, where the change is another one; else empty
    Request request;      ///< with the change made
    bool possible = true; ///< the runtime can be told so

    /// Adds the words that give the setting that value.
    void write(const RuntimeProfile& runtime, std::string_view setting, const std::string& value = "");
};

/// How much quality smaller weights cost: `much` below three bits a weight, where a slower answer is the better one.
enum class Loss : std::uint8_t { little, much };

/// Both changes at once; the second was made to the request of the first.
Change both(const Change& first, const Change& second);

/// Tries changes, and keeps those that help.
class Advisor {
public:
    Advisor(Judge& judge, const Request& request, const Trial& base, const MaxContext& max_ctx)
        : judge_(judge),
          request_(request),
          base_(base),
          max_ctx_(max_ctx) {}

    Judge& judge() { return judge_; }
    const RuntimeProfile& runtime() const { return judge_.runtime(); }
    const Model& model() const { return judge_.model(); }
    const Request& request() const { return request_; }
    const Trial& base() const { return base_; }
    /// The context of the base as a person says it to this runtime.
    std::uint64_t n_ctx() const;
    bool has_experts() const { return model().hparams.get("expert_count", 0) > 0; }
    const MaxContext& max_ctx() const { return max_ctx_; }
    /// The device that misses most.
    const DeviceAnswer& worst() const { return base_.worst(); }

    /// A fit always helps, a tight fit only where there was none.
    bool helps(Verdict verdict) const {
        return verdict == Verdict::fit || (verdict == Verdict::tight && base_.verdict != Verdict::tight);
    }
    /// Could saving `most` bytes on the worst device be enough? Spares trying what cannot help.
    bool may_help(std::uint64_t most) const;

    /// Could weights of `tensor_bytes` give `trial` the verdict `goal`? The device that misses most saves its share.
    bool weights_may_help(const Trial& trial, std::uint64_t tensor_bytes, Verdict goal) const;

    /// Tries the change and keeps it where it helps. Returns the verdict that it gives.
    Verdict consider(const Change& change);
    /// Keeps a change that was tried, where it helps.
    void keep(const Change& change, const Trial& trial) { keep(change, trial, judge_); }
    /// The same of a change that another judge tried: of another model, or of more devices.
    void keep(const Change& change, const Trial& trial, const Judge& judge);
    /// Keeps what another advisor found, of a request that `first` was made to already: both changes at once.
    void adopt(Suggestion found, const Change& first, const Trial& trial);
    /// Would attention run on the CPU, where it did not before? The device has no kernel for it then, and it fits at
    /// the price of a crawl.
    bool leaves_device(const Trial& trial) const { return attention_left(trial, base_); }

    const std::vector<Suggestion>& kept() const { return kept_; }
    std::vector<Suggestion> take() { return std::move(kept_); }

private:
    std::uint64_t saved(const Trial& trial) const;

    Judge& judge_;
    const Request& request_;
    const Trial& base_;
    const MaxContext& max_ctx_;
    std::vector<Suggestion> kept_;
};

// The ideas, each in a file of its own or with its like. They keep what helps.

void advise_context(Advisor& advisor);
/// Would less context be left than is of use? That is a greater loss than smaller types of weights or cache.
bool leaves_little_context(const Advisor& advisor);
void advise_cache_types(Advisor& advisor);
void advise_flash_attention(Advisor& advisor);
/// Flash attention loses nothing: where it is off, and turning it on is not enough, everything else is tried with it.
/// Returns whether that helps.
bool advise_with_flash_attention(Advisor& advisor);
/// Windows where the whole context is cached.
void advise_windows(Advisor& advisor);
void advise_slots(Advisor& advisor);
void advise_ubatch(Advisor& advisor);
/// File types that lose little, or those with less than three bits a weight.
void advise_quant(Advisor& advisor, Loss loss);
/// Projector and draft: elsewhere, smaller, or left out.
void advise_companions(Advisor& advisor);
/// More on the devices, where the computer's own memory is short.
void advise_ram(Advisor& advisor);
void advise_experts(Advisor& advisor);
void advise_gpu_layers(Advisor& advisor);
/// A smaller model of the same family, out of the catalog.
void advise_sibling(Advisor& advisor);
/// All GPUs by what they have free, where the request divides the model otherwise.
void advise_split(Advisor& advisor);
/// A second card of the same kind.
void advise_more_gpus(Advisor& advisor);
/// Two changes at once, for where none alone helps that leaves the whole model on the devices.
void advise_pairs(Advisor& advisor);
/// The experts on the CPU, and a smaller cache, context or type of weights beside.
void advise_expert_pairs(Advisor& advisor);

/// All ideas for an engine that is not llama.cpp.
void advise_serving(Advisor& advisor);

// The changes that several ideas make. Each starts from a request that may have been changed already.

Change context_change(const Advisor& advisor, Request request, std::uint64_t n_ctx);
Change cache_type_change(const Advisor& advisor, Request request, TensorType type);
Change flash_attention_change(const Advisor& advisor, Request request);
Change quant_change(const Advisor& advisor, Request request, FileType type);
/// The experts of so many first layers on the host, and so many layers on the devices: of the advisor's own request.
Change experts_change(const Advisor& advisor, std::uint64_t n_layers, std::string summary);
Change fewer_experts(const Advisor& advisor, std::uint64_t n_layers);
Change layers_change(const Advisor& advisor, std::uint64_t n_layers, std::string summary);

/// The file types that people publish, that lose so much and are smaller than the base's, largest first, those alone
/// that can be made. Each with its exact size.
std::vector<std::pair<FileType, std::uint64_t>> smaller_file_types(Advisor& advisor, Loss loss);

} // namespace vramfit
