#include "vramfit/model/gguf_model.hpp"

#include "gguf_split.hpp"
#include "gguf_tensors.hpp"
#include "stand_in.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/check_counts.hpp"
#include "vramfit/model/file_type.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace vramfit {
namespace {

/// Text of a file that may be shown: as `quote` makes it, without the quotes.
std::string shown(std::string_view text) {
    const std::string quoted = quote(text);
    return quoted.substr(1, quoted.size() - 2);
}

void check_kind(const GgufHeader& header) {
    std::string hint;
    if (header.kind == GgufKind::adapter) hint = ": --lora puts it beside the model that it was made for";
    if (header.kind == GgufKind::projector) hint = ": --mmproj puts it beside the model that it belongs to";
    if (header.kind != GgufKind::model)
        throw Error(header.file + " is " + std::string(describe(header.kind)) + ", not a model" + hint);
    if (header.architecture().empty())
        throw Error(header.file + " has no key general.architecture, which says what model it is");
    if (header.tensors.empty()) throw Error(header.file + " has no tensors: it is no file of a model");
}

/// The metadata of the model: numbers under the architecture's prefix, which the keys then lose.
Hparams hparams_of(const GgufHeader& header) {
    const std::string prefix = std::string(header.architecture()) + ".";
    Hparams hparams;
    const auto set = [&](std::string_view key, const std::vector<double>& numbers) {
        // No size depends on a number that is none (a limit that is infinite).
        if (std::ranges::all_of(numbers, [](double n) { return std::isfinite(n); }))
            hparams.set(std::string(key), numbers);
    };
    for (const GgufValue& value : header.values) {
        if (value.is_text) continue;
        if (value.key.starts_with(prefix)) set(std::string_view(value.key).substr(prefix.size()), value.numbers);
        if (value.key == "tokenizer.ggml.token_type_count") set(value.key, value.numbers);
    }
    // llama.cpp counts the tokens themselves (llama-vocab.cpp).
    const GgufValue* tokens = header.find("tokenizer.ggml.tokens");
    if (tokens != nullptr && tokens->is_array && tokens->count > 0)
        hparams.set("vocab_size", static_cast<double>(tokens->count));
    return hparams;
}

/// Throws Error unless every key of `keys` is there.
void require(const GgufHeader& header, const Hparams& hparams, std::span<const std::string_view> keys,
             const std::string& why) {
    for (const std::string_view key : keys) {
        if (hparams.find(key) == nullptr)
            throw Error(header.file + " has no key " + shown(header.architecture()) + "." + std::string(key) + why);
    }
}

/// Numbers from which caches are sized, under the names that they have in files. llama.cpp refuses a file that has text
/// in their place.
constexpr std::array<std::string_view, 8> sizing_keys = {
    "block_count",          "context_length",          "embedding_length",     "feed_forward_length",
    "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"};

/// What llama.cpp wants of every model (llama-model.cpp, `load_hparams`).
void check_hparams(const GgufHeader& header, const Hparams& hparams) {
    const std::string prefix = std::string(header.architecture()) + ".";
    for (const std::string_view key : sizing_keys) {
        const GgufValue* const value = header.find(prefix + std::string(key));
        const bool number =
            value == nullptr ||
            (!value->is_text && std::ranges::all_of(value->numbers, [](double n) { return std::isfinite(n); }));
        if (!number)
            throw Error(header.file + ": the key " + shown(prefix) + std::string(key) +
                        " is no number; a file that llama.cpp's converter made has one");
    }
    constexpr std::array<std::string_view, 3> needed = {"block_count", "context_length", "embedding_length"};
    require(header, hparams, needed, ", which llama.cpp needs");
    check_counts(hparams, header.file + ": the key " + shown(prefix));
}

/// llama.cpp refuses a token embedding of another width than the metadata say (llama-model-loader.cpp, `check_tensor_dims`).
void check_embedding(const GgufHeader& header, const Hparams& hparams) {
    const auto table = std::ranges::find(header.tensors, "token_embd.weight", &GgufTensor::name);
    const auto n_embd = static_cast<std::uint64_t>(hparams.get("embedding_length", 0));
    if (table != header.tensors.end() && table->ne[0] != n_embd)
        throw Error(header.file + ": the rows of token_embd.weight have " + std::to_string(table->ne[0]) +
                    " elements, but embedding_length is " + std::to_string(n_embd));
}

/// llama.cpp's guess where a file does not say its type: that of most tensors (llama-model-loader.cpp).
std::string guessed_file_type(const GgufHeader& header) {
    std::map<TensorType, std::size_t> counts;
    for (const GgufTensor& tensor : header.tensors) {
        if (tensor.n_dims > 1) ++counts[tensor.type];
    }
    if (counts.empty()) return "F32";
    const TensorType most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; })->first;
    std::string_view name;
    for (const FileTypeTraits& t : file_types) {
        if (t.base == most && (name.empty() || t.name.ends_with("_M"))) name = t.name;
    }
    return name.empty() ? std::string(traits(most).name) : std::string(name);
}

std::string file_type_of(const GgufHeader& header) {
    constexpr std::uint32_t guessed = 1024; // a flag beside the type (llama.h, LLAMA_FTYPE_GUESSED)
    const double number = header.number("general.file_type").value_or(-1);
    if (number >= 0 && number < 2 * guessed) {
        if (const auto type = file_type_from_number(static_cast<std::uint32_t>(number) & (guessed - 1)))
            return std::string(traits(*type).name);
    }
    return guessed_file_type(header);
}

SourcedModel model_of(const GgufHeader& header, std::string id) {
    check_kind(header);
    SourcedModel sourced;
    Model& model = sourced.model;
    model.id = std::move(id);
    model.source = "gguf";
    model.hparams = hparams_of(header);
    check_hparams(header, model.hparams);
    check_embedding(header, model.hparams);
    if (is_described(header.architecture())) {
        model.architecture = bundled_architecture(header.architecture());
    } else {
        model.architecture = stand_in(header.architecture(), model.hparams, header.file);
        const bool encoder = model.hparams.get("attention.causal", 1) == 0;
        sourced.notes.push_back("the architecture \"" + model.architecture->name +
                                "\" is not known here: the weights are exact, " +
                                (encoder ? "it keeps no KV cache as it is an encoder"
                                         : "the KV cache is that of plain attention in every layer") +
                                ", and the compute buffer is modelled on a plain transformer");
    }
    add_gguf_tensors(model, header);
    model.file_type = file_type_of(header);
    return sourced;
}

} // namespace

SourcedModel model_from_gguf(const std::string& path) { return model_of(read_gguf_set(path), shown(gguf_stem(path))); }

SourcedModel model_from_gguf_stream(const ByteStream& stream, const std::string& name) {
    const GgufHeader header = read_gguf(stream, name);
    const double parts = header.number("split.count").value_or(1);
    if (parts > 1)
        throw Error(name +
                    " is one part of a split set: its tensors are not all of the model's; name a file of the set");
    const std::string_view title = header.text("general.name");
    return model_of(header, title.empty() ? "model" : shown(title));
}

} // namespace vramfit
