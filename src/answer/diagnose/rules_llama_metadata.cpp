// The metadata of a model as llama.cpp lists them: the keys of its file, and what it made of them.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vramfit {
namespace {

using namespace log_text;

constexpr std::size_t most_keys = 256;
constexpr std::size_t longest_key = 100;
constexpr std::size_t most_numbers = 1024; ///< one a layer

/// A number that begins here, or a truth value.
std::optional<double> number_at(std::string_view text) {
    if (text.starts_with("true")) return 1;
    if (text.starts_with("false")) return 0;
    const bool begins = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    const auto value = begins && text.find("e-") == std::string_view::npos ? number(text) : std::nullopt;
    return value && std::abs(*value) <= 1e15 ? value : std::nullopt;
}

/// "32", or "[8, 8, 0, 8]" that is whole: llama.cpp cuts long ones short. Empty where it is neither.
Hparams::Value numbers_of(std::string_view text) {
    text = trimmed(text);
    Hparams::Value numbers;
    const bool list = text.starts_with('[');
    if (list && (text.find(']') == std::string_view::npos || text.find("...") != std::string_view::npos)) return {};
    if (list) text = text.substr(1, text.find(']') - 1);
    for (std::string_view rest = text; !rest.empty() && numbers.size() < most_numbers;) {
        const auto value = number_at(trimmed(rest));
        if (!value) return {};
        numbers.push_back(*value);
        if (!list) break;
        rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    }
    return numbers;
}

/// "- kv   5: qwen3moe.attention.head_count u32 = 32", "- kv 24: tokenizer.ggml.tokens arr[str,151936] = [...".
void read_key(LogReader& reader, const Mention& mention) {
    Load& load = reader.load();
    if (load.part != LoadPart::model) return;
    const auto behind = after(mention.rest, ": ");
    const auto value = behind ? after(*behind, "= ") : std::nullopt;
    if (!value) return;
    const std::string_view key = word(*behind);
    load.has_keys = true;
    if (key.starts_with("quantize.imatrix.")) load.imatrix = true;
    if (load.hparams.entries().size() >= most_keys || key.size() > longest_key) return;
    if (key == "tokenizer.ggml.tokens") { // llama.cpp counts the tokens themselves (llama-vocab.cpp)
        const auto length = after(*behind, "arr[str,");
        const auto n = length ? count(*length) : std::nullopt;
        if (n && *n > 0) load.hparams.set("vocab_size", static_cast<double>(*n));
        return;
    }
    const bool own = !load.arch.empty() && key.starts_with(load.arch) && key.substr(load.arch.size()).starts_with('.');
    if (!own || behind->find(" str ") < behind->find('=')) return;
    load.hparams.set(std::string(key.substr(load.arch.size() + 1)), numbers_of(*value));
}

/// Names that llama.cpp prints of what it made of the keys (llama-model.cpp, `print_info`), and the keys.
using PrintedName = std::pair<std::string_view, std::string_view>;
constexpr std::array printed_names{
    PrintedName("n_layer", "block_count"),
    PrintedName("n_ctx_train", "context_length"),
    PrintedName("n_embd", "embedding_length"),
    PrintedName("n_head", "attention.head_count"),
    PrintedName("n_head_kv", "attention.head_count_kv"),
    PrintedName("n_embd_head_k", "attention.key_length"),
    PrintedName("n_embd_head_v", "attention.value_length"),
    PrintedName("n_embd_head_k_mla", "attention.key_length_mla"),
    PrintedName("n_embd_head_v_mla", "attention.value_length_mla"),
    PrintedName("n_lora_q", "attention.q_lora_rank"),
    PrintedName("n_lora_kv", "attention.kv_lora_rank"),
    PrintedName("n_swa", "attention.sliding_window"),
    PrintedName("n_rot", "rope.dimension_count"),
    PrintedName("n_ff", "feed_forward_length"),
    PrintedName("n_ff_exp", "expert_feed_forward_length"),
    PrintedName("n_ff_shexp", "expert_shared_feed_forward_length"),
    PrintedName("n_expert", "expert_count"),
    PrintedName("n_expert_used", "expert_used_count"),
    PrintedName("n_expert_shared", "expert_shared_count"),
    PrintedName("n_layer_dense_lead", "leading_dense_block_count"),
    PrintedName("n_vocab", "vocab_size"),
    PrintedName("ssm_d_conv", "ssm.conv_kernel"),
    PrintedName("ssm_d_inner", "ssm.inner_size"),
    PrintedName("ssm_d_state", "ssm.state_size"),
    PrintedName("ssm_dt_rank", "ssm.time_step_rank"),
    PrintedName("ssm_n_group", "ssm.group_count"),
};

/// "print_info: n_head_kv = [8, 8, 0, 8]". The file's own keys count before what was made of them.
void read_printed(LogReader& reader, const Mention& mention) {
    Load& load = reader.load();
    const std::size_t equals = mention.rest.find('=');
    if (load.part != LoadPart::model || equals == std::string_view::npos) return;
    const std::string_view name = trimmed(mention.rest.substr(0, equals));
    const auto* const known = std::ranges::find(printed_names, name, &PrintedName::first);
    if (known == printed_names.end() || load.hparams.find(known->second) != nullptr) return;
    Hparams::Value numbers = numbers_of(mention.rest.substr(equals + 1));
    if (numbers.size() == 1 && numbers.front() == 0) return; // it has none
    load.hparams.set(std::string(known->second), std::move(numbers));
}

/// "loaded meta data with 29 key-value pairs and 292 tensors from FILE": a file of several parts has the others', too.
void read_tensor_count(LogReader& reader, const Mention& mention) {
    const auto tensors = after(mention.rest, "pairs and ");
    const bool split = mention.rest.find("-of-") != std::string_view::npos;
    if (tensors && reader.load().part == LoadPart::model && !split)
        reader.set("n_tensors", count(*tensors), mention.number);
}

constexpr std::array rules{
    Rule{": - kv ", read_key},
    Rule{"print_info: ", read_printed},
    Rule{"load_print_meta: ", read_printed},
    Rule{"model_load_internal: ", read_printed},
    Rule{"loaded meta data with", read_tensor_count},
};

} // namespace

std::span<const Rule> llama_metadata_rules() { return rules; }

} // namespace vramfit
