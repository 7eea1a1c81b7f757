#include "vramfit/model/file_type.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace vramfit {

namespace {

struct Alias {
    std::string_view name; // normalized
    FileType type;
};

// Q3_K, Q4_K and Q5_K are llama-quantize's own (tools/quantize/quantize.cpp), the others habit.
constexpr std::array<Alias, 7> aliases{{
    {"q3k", FileType::q3_k_m},
    {"q4k", FileType::q4_k_m},
    {"q5k", FileType::q5_k_m},
    {"mxfp4", FileType::mxfp4_moe},
    {"fp16", FileType::f16},
    {"fp32", FileType::f32},
    {"q8", FileType::q8_0},
}};

struct ForeignFormat {
    std::string_view prefix; // normalized
    std::string_view runtimes;
};

constexpr std::array<ForeignFormat, 10> foreign_formats{{
    {"awq", "vllm, sglang and transformers"},
    {"gptq", "vllm, sglang and transformers"},
    {"fp8", "vllm and sglang"},
    {"nvfp4", "vllm and sglang"},
    {"mxfp8", "vllm and sglang"},
    {"bnb", "transformers and vllm"},
    {"nf4", "transformers and vllm"},
    {"int8", "transformers and vllm"},
    {"mlx", "mlx"},
    {"exl", "ExLlama"},
}};

std::string unknown_file_type(std::string_view name, const std::string& normalized) {
    for (const ForeignFormat& format : foreign_formats) {
        if (std::string_view(normalized).starts_with(format.prefix)) {
            return quote(name) + " is no GGUF file type: it belongs to other runtimes (" +
                   std::string(format.runtimes) + "), llama.cpp takes the likes of Q4_K_M or Q8_0";
        }
    }
    if (normalized.starts_with("udq") || normalized.starts_with("udiq")) {
        return "unknown quantization " + quote(name) +
               "; Unsloth's dynamic mixes differ from model to model, so give the .gguf file itself";
    }
    std::vector<std::string_view> names;
    names.reserve(file_types.size());
    for (const FileTypeTraits& known : file_types) {
        names.push_back(known.name);
    }
    const std::string hint = did_you_mean(name, names);
    return "unknown quantization " + quote(name) +
           (hint.empty() ? "; 'vramfit quants' lists all, such as Q4_K_M or Q8_0" : hint);
}

} // namespace

FileType parse_file_type(std::string_view name) {
    const std::string normalized = normalize_name(name);
    for (const FileTypeTraits& known : file_types) {
        if (normalize_name(known.name) == normalized) return known.type;
    }
    const auto* const alias =
        std::find_if(aliases.begin(), aliases.end(), [&](const Alias& a) { return a.name == normalized; });
    if (alias != aliases.end()) return alias->type;
    throw Error(unknown_file_type(name, normalized));
}

std::optional<FileType> file_type_from_number(std::uint32_t number) {
    const auto* const known =
        std::find_if(file_types.begin(), file_types.end(), [&](const FileTypeTraits& t) { return t.number == number; });
    return known != file_types.end() ? std::optional(known->type) : std::nullopt;
}

} // namespace vramfit
