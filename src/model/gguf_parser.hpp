#pragma once

#include "byte_reader.hpp"
#include "vramfit/model/gguf.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace vramfit {

/// One reading of a GGUF head (gguf.cpp of ggml; docs/gguf.md describes the format).
class GgufParser {
public:
    GgufParser(ByteReader& reader, std::optional<std::uint64_t> size) : reader_(reader) {
        header_.file = reader.name();
        header_.file_bytes = size;
    }

    GgufHeader parse();

private:
    void read_preamble();
    void read_values();
    GgufValue read_value();
    void read_array(GgufValue& value);
    void read_text(GgufValue& value);
    void skip_texts(std::uint64_t count);
    double read_number(std::uint32_t type);
    std::string read_name(std::uint64_t most, const char* what);
    std::uint64_t read_length(const char* what);
    void sort_values();
    void read_alignment();
    void read_tensors();
    GgufTensor read_tensor();
    void read_shape(GgufTensor& tensor);
    void read_type(GgufTensor& tensor);
    void check_tensor_names() const;
    GgufKind kind() const;

    ByteReader& reader_;
    GgufHeader header_;
    std::uint64_t n_values_ = 0, n_tensors_ = 0;
    std::uint64_t behind_ = 0; ///< bytes that must follow behind the value that is being read, at least
};

} // namespace vramfit
