#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// One tensor of a safetensors file.
struct SafetensorsTensor {
    std::string name;
    std::string dtype; ///< as the file spells it: "BF16", "F8_E4M3"
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0; ///< bytes from the end of the header
    std::uint64_t end = 0;
};

/// What the head of a safetensors file says. The format: eight bytes with the length of the header (little endian), the
/// header as JSON, the tensors' data without holes.
struct SafetensorsHeader {
    std::vector<SafetensorsTensor> tensors;
    std::uint64_t data_bytes = 0;
};

/// Reads the JSON of a header whose file has `data_bytes` behind it; `shown` names the file in messages. Throws Error
/// for anything that the format forbids: wrong kinds, unknown types, a size that is not that of the shape, duplicate
/// names, tensors that overlap, leave a hole or end outside of the file.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view shown);

/// The header of the file at `path`; its data is not read. Throws Error.
SafetensorsHeader read_safetensors_header(const std::filesystem::path& path);

/// The weights that a folder of Hugging Face stores: what runtimes load that do not convert them.
struct HfWeights {
    std::uint64_t bytes = 0;   ///< the tensors' data, of all files
    std::size_t n_tensors = 0; ///< 0 where only the index is there
    std::size_t n_files = 0;
    std::vector<std::pair<std::string, std::uint64_t>> by_dtype; ///< bytes by type, most first; empty as above
    std::string quantization; ///< "fp8", "awq", "gptq", "nvfp4", "mxfp4", "bnb-nf4", ...; empty where there is none
    std::uint32_t bits = 0;   ///< of a quantized weight, where the config says it
    bool has_lm_head = false; ///< an output matrix is stored, be it tied to the embedding or not
};

/// The weights in `folder`: of the files that model.safetensors.index.json lists, else of model.safetensors, else of a set
/// model-00001-of-0000N.safetensors. An index whose files are all absent still tells their total size. Nothing where
/// there is neither. Throws Error for a malformed or incomplete set.
std::optional<HfWeights> hf_weights(const std::filesystem::path& folder);

} // namespace vramfit
