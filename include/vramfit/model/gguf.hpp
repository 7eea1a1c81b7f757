#pragma once

#include "vramfit/base/byte_stream.hpp"
#include "vramfit/model/model.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What a GGUF file is, by its metadata ("general.type", "general.architecture") and whether it has tensors.
enum class GgufKind : std::uint8_t {
    model,
    vocabulary,     ///< a tokenizer without weights
    adapter,        ///< a LoRA adapter
    projector,      ///< of images or sound (mmproj)
    imatrix,        ///< an importance matrix
    control_vector, ///< directions that steer a model
};

/// "a LoRA adapter", "a vocabulary without weights", ...: for messages.
std::string_view describe(GgufKind kind);

/// One key of the metadata. Kept are: every number and bool (true is 1), text of up to 4096 bytes, and arrays of up to
/// 65536 numbers; of all other arrays and texts only the length. What belongs to a tokenizer's entries ("tokenizer.",
/// arrays) is passed over.
struct GgufValue {
    std::string key;
    bool is_text = false;        ///< a text, or an array of texts
    bool is_array = false;       ///< "count" elements
    std::uint64_t count = 1;     ///< elements of an array, bytes of a text
    std::vector<double> numbers; ///< empty where not kept
    std::string text;            ///< empty where not kept
};

/// One tensor of the table.
struct GgufTensor {
    std::string name;
    std::array<std::uint64_t, 4> ne{1, 1, 1, 1}; ///< elements by dimension, ne[0] is the row length
    std::uint8_t n_dims = 1;
    TensorType type = TensorType::f32;
    std::uint64_t offset = 0; ///< from the beginning of the data
    std::uint64_t bytes = 0;  ///< without padding
};

/// Shape and type of a tensor as the rules of sizes know it; name and layer are left open.
Tensor tensor_of(const GgufTensor& tensor);

/// The head of a GGUF file: everything in front of the tensors' data.
struct GgufHeader {
    std::string file; ///< as messages name it: quoted, or "standard input"
    std::uint32_t version = 3;
    bool big_endian = false;
    std::uint32_t alignment = 32;
    std::uint64_t header_bytes = 0;          ///< where the data of the tensors begins
    std::optional<std::uint64_t> file_bytes; ///< nothing for a stream
    std::uint64_t tensor_bytes = 0;          ///< of all tensors, without padding
    std::uint64_t data_bytes = 0;            ///< of all tensors, with the padding between them
    GgufKind kind = GgufKind::model;
    std::vector<GgufValue> values;   ///< sorted by key
    std::vector<GgufTensor> tensors; ///< in the order of the file

    const GgufValue* find(std::string_view key) const;
    /// The number under `key`, the first of an array; nothing where there is none.
    std::optional<double> number(std::string_view key) const;
    /// The text under `key`; empty where there is none.
    std::string_view text(std::string_view key) const;
    std::string_view architecture() const { return text("general.architecture"); }
};

/// Reads the head of a GGUF file of version 2 or 3, of either byte order, and stops behind the table of tensors.
/// `name` stands for it in messages; `size` is that of the whole file, where it is known. Checks what llama.cpp checks
/// (gguf.cpp), and throws Error with the byte or key at fault: counts and lengths that do not fit the file, keys or
/// tensors that appear twice, shapes beyond counting, unknown types, tensors that overlap or lie behind the end.
/// Memory is bounded by what was read. Where the stream ends too early the message says how many bytes it needs
/// at least.
GgufHeader read_gguf(const ByteStream& stream, std::string name, std::optional<std::uint64_t> size = {});

/// The same of a file, and that all of its tensors are in it.
GgufHeader read_gguf_file(const std::string& path);

} // namespace vramfit
