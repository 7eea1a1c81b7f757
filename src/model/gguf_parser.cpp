#include "gguf_parser.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vramfit {
namespace {

/// The types of values (gguf.h, `enum gguf_type`).
enum ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64, n_types };

constexpr std::array<std::uint32_t, n_types> value_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr std::uint64_t least_value = 8 + 4 + 1;      // a key's length, a type, a byte
constexpr std::uint64_t least_tensor = 8 + 4 + 4 + 8; // a name's length, dimensions, type, offset
constexpr std::uint64_t longest_key = 65535;          // docs/gguf.md
constexpr std::uint64_t longest_name = 1024;          // llama.cpp takes 63; tensors of other programs may have more
constexpr std::uint64_t longest_text = 4096;          // that is kept
constexpr std::uint64_t longest_array = 65536;        // likewise
constexpr std::uint64_t most_elements = largest_size / 16; // of a tensor: its bytes are then within largest_size

} // namespace

GgufHeader GgufParser::parse() {
    read_preamble();
    read_values();
    sort_values();
    read_alignment();
    read_tensors();
    check_tensor_names();
    header_.kind = kind();
    header_.header_bytes = pad(reader_.position(), header_.alignment);
    return std::move(header_);
}

void GgufParser::read_preamble() {
    reader_.enter("the preamble");
    reader_.set_pending(20);
    const std::string magic = reader_.text(4);
    if (magic != "GGUF")
        throw Error(reader_.name() + " is no GGUF file: it begins with " + quote(magic) + " instead of \"GGUF\"");
    reader_.set_byte_order(std::endian::little);
    reader_.set_pending(16);
    header_.version = reader_.number<std::uint32_t>();
    if ((header_.version & 0xffff) == 0) { // read with its bytes the wrong way round (gguf.cpp)
        header_.big_endian = true;
        header_.version = ((header_.version >> 24) & 0xff) | ((header_.version >> 8) & 0xff00);
        reader_.set_byte_order(std::endian::big);
    }
    if (header_.version < 2 || header_.version > 3)
        reader_.fail_at(4,
                        "GGUF version " + std::to_string(header_.version) + " cannot be read: 2 or 3 would be right");
    n_tensors_ = reader_.number<std::uint64_t>();
    reader_.set_pending(0);
    n_values_ = reader_.number<std::uint64_t>();
    if (n_tensors_ > tib || n_values_ > tib)
        reader_.fail_at(8, std::to_string(n_tensors_) + " tensors and " + std::to_string(n_values_) +
                               " metadata keys are more than any file has");
    reader_.check_room(n_values_ * least_value + n_tensors_ * least_tensor,
                       std::to_string(n_values_) + " metadata keys and " + std::to_string(n_tensors_) + " tensors");
}

std::uint64_t GgufParser::read_length(const char* what) {
    const auto length = reader_.number<std::uint64_t>();
    reader_.check_room(length, what);
    return length;
}

std::string GgufParser::read_name(std::uint64_t most, const char* what) {
    const std::uint64_t start = reader_.position();
    const std::uint64_t length = read_length(what);
    if (length > most)
        reader_.fail_at(start, std::string(what) + " of " + std::to_string(length) + " bytes: at most " +
                                   std::to_string(most) + " would be right");
    return reader_.text(length);
}

void GgufParser::read_values() {
    reader_.enter("the metadata");
    for (std::uint64_t i = 0; i < n_values_; ++i) {
        behind_ = (n_values_ - i - 1) * least_value + n_tensors_ * least_tensor;
        header_.values.push_back(read_value());
    }
}

GgufValue GgufParser::read_value() {
    reader_.set_pending(behind_ + 5);
    GgufValue value;
    value.key = read_name(longest_key, "a key");
    reader_.set_pending(behind_ + 1);
    const std::uint64_t start = reader_.position();
    const auto type = reader_.number<std::uint32_t>();
    reader_.set_pending(behind_);
    if (type == text) {
        read_text(value);
    } else if (type == array) {
        read_array(value);
    } else if (type < n_types) {
        value.numbers.push_back(read_number(type));
    } else {
        reader_.fail_at(start,
                        "key " + quote(value.key) + " has type " + std::to_string(type) + ": 0 to 12 would be right");
    }
    return value;
}

void GgufParser::read_text(GgufValue& value) {
    value.is_text = true;
    value.count = read_length("a text");
    if (value.count <= longest_text)
        value.text = reader_.text(value.count);
    else
        reader_.skip(value.count);
}

void GgufParser::read_array(GgufValue& value) {
    value.is_array = true;
    reader_.set_pending(behind_ + 8);
    const std::uint64_t start = reader_.position();
    const auto type = reader_.number<std::uint32_t>();
    reader_.set_pending(behind_);
    value.count = reader_.number<std::uint64_t>();
    value.is_text = type == text;
    if (type >= n_types || type == array)
        reader_.fail_at(start, "key " + quote(value.key) + " is an array of type " + std::to_string(type) +
                                   ": a number, bool or text would be right");
    if (value.count > tib)
        reader_.fail_at(start, "key " + quote(value.key) + " is an array of " + std::to_string(value.count) +
                                   " elements, more than any file has");
    const std::uint64_t bytes = value.count * (type == text ? 8 : value_bytes[type]);
    reader_.check_room(bytes, "key " + quote(value.key) + " is an array");
    if (type == text) return skip_texts(value.count);
    // A tokenizer's scores and kinds of token: long, and no size depends on them.
    if (value.count > longest_array || value.key.starts_with("tokenizer.")) return reader_.skip(bytes);
    for (std::uint64_t i = 0; i < value.count; ++i) {
        reader_.set_pending(behind_ + bytes - (i + 1) * value_bytes[type]);
        value.numbers.push_back(read_number(type));
    }
}

/// A vocabulary has hundreds of thousands of texts: none is kept.
void GgufParser::skip_texts(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (reader_.skip_buffered_text()) continue;
        reader_.set_pending(behind_ + (count - i - 1) * 8);
        reader_.skip(read_length("a text"));
    }
}

double GgufParser::read_number(std::uint32_t type) {
    switch (type) {
    case u8: return reader_.number<std::uint8_t>();
    case i8: return reader_.number<std::int8_t>();
    case u16: return reader_.number<std::uint16_t>();
    case i16: return reader_.number<std::int16_t>();
    case u32: return reader_.number<std::uint32_t>();
    case i32: return reader_.number<std::int32_t>();
    case f32: return static_cast<double>(reader_.number<float>());
    case boolean: return reader_.number<std::uint8_t>() != 0 ? 1 : 0;
    case u64: return static_cast<double>(reader_.number<std::uint64_t>());
    case i64: return static_cast<double>(reader_.number<std::int64_t>());
    default: return reader_.number<double>();
    }
}

void GgufParser::sort_values() {
    std::ranges::sort(header_.values, {}, &GgufValue::key);
    const auto twice = std::ranges::adjacent_find(header_.values, {}, &GgufValue::key);
    if (twice != header_.values.end())
        throw Error(reader_.name() + " has the key " + quote(twice->key) + " twice: once would be right");
}

void GgufParser::read_alignment() {
    const GgufValue* value = header_.find("general.alignment");
    if (value == nullptr) return;
    constexpr double most = 2147483648.0; // 2^31, the largest power of two that its 32 bits hold
    const double alignment = value->numbers.size() == 1 && !value->is_array ? value->numbers.front() : 0;
    const bool whole = alignment >= 1 && alignment <= most && std::floor(alignment) == alignment;
    if (!whole || !std::has_single_bit(static_cast<std::uint32_t>(alignment)))
        throw Error(reader_.name() + ": general.alignment is no power of two");
    header_.alignment = static_cast<std::uint32_t>(alignment);
}

void GgufParser::read_tensors() {
    reader_.enter("the table of tensors");
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < n_tensors_; ++i) {
        behind_ = (n_tensors_ - i - 1) * least_tensor;
        GgufTensor tensor = read_tensor();
        // Tensors lie behind each other in the order of the table (gguf.cpp): so none overlap.
        if (tensor.offset != expected)
            reader_.fail_at(reader_.position() - 8,
                            "tensor " + quote(tensor.name) + " lies at offset " + std::to_string(tensor.offset) + ": " +
                                std::to_string(expected) + " would be right, behind the one before");
        header_.tensor_bytes += tensor.bytes;
        header_.data_bytes = expected + tensor.bytes;
        if (header_.data_bytes > largest_size)
            reader_.fail_at(reader_.position(),
                            "the tensors up to " + quote(tensor.name) + " are larger than any model");
        expected = pad(header_.data_bytes, header_.alignment);
        header_.tensors.push_back(std::move(tensor));
    }
}

GgufTensor GgufParser::read_tensor() {
    reader_.set_pending(behind_ + least_tensor - 8);
    GgufTensor tensor;
    tensor.name = read_name(longest_name, "a tensor's name");
    read_shape(tensor);
    read_type(tensor);
    reader_.set_pending(behind_);
    tensor.offset = reader_.number<std::uint64_t>();
    return tensor;
}

void GgufParser::read_shape(GgufTensor& tensor) {
    const std::uint64_t start = reader_.position();
    reader_.set_pending(behind_ + least_tensor - 12);
    const auto n_dims = reader_.number<std::uint32_t>();
    if (n_dims > tensor.ne.size())
        reader_.fail_at(start, "tensor " + quote(tensor.name) + " has " + std::to_string(n_dims) +
                                   " dimensions: at most 4 would be right");
    tensor.n_dims = static_cast<std::uint8_t>(std::max(1U, n_dims));
    std::uint64_t elements = 1;
    for (std::uint32_t i = 0; i < n_dims; ++i) {
        reader_.set_pending(behind_ + 12 + (n_dims - i - 1) * std::uint64_t{8});
        const auto ne = reader_.number<std::uint64_t>();
        if (ne == 0 || ne > most_elements / elements)
            reader_.fail_at(start, "tensor " + quote(tensor.name) + ": dimension " + std::to_string(i) + " is " +
                                       std::to_string(static_cast<std::int64_t>(ne)) +
                                       (ne == 0 ? ": 1 or more would be right" : ": no tensor has so many elements"));
        elements *= ne;
        tensor.ne[i] = ne;
    }
}

void GgufParser::read_type(GgufTensor& tensor) {
    const std::uint64_t start = reader_.position();
    reader_.set_pending(behind_ + 8);
    const auto id = reader_.number<std::uint32_t>();
    const auto type = tensor_type_from_id(id);
    if (!type)
        reader_.fail_at(start, "tensor " + quote(tensor.name) + " has type " + std::to_string(id) +
                                   ", which ggml does not know");
    const TensorTypeTraits& t = traits(*type);
    if (tensor.ne[0] % t.block != 0)
        reader_.fail_at(start, "tensor " + quote(tensor.name) + " has rows of " + std::to_string(tensor.ne[0]) +
                                   " elements: a multiple of " + std::to_string(t.block) + " would be right for " +
                                   std::string(t.name));
    tensor.type = *type;
    const std::uint64_t rows = tensor.ne[1] * tensor.ne[2] * tensor.ne[3]; // no more than the elements
    tensor.bytes = tensor.ne[0] / t.block * t.block_bytes * rows;
}

void GgufParser::check_tensor_names() const {
    std::vector<std::string_view> names;
    names.reserve(header_.tensors.size());
    for (const GgufTensor& tensor : header_.tensors) names.push_back(tensor.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end())
        throw Error(reader_.name() + " has the tensor " + quote(*twice) + " twice: once would be right");
}

GgufKind GgufParser::kind() const {
    const std::string_view type = header_.text("general.type");
    const std::string_view architecture = header_.architecture();
    if (type == "adapter" || header_.find("adapter.type") != nullptr) return GgufKind::adapter;
    if (type == "mmproj" || architecture == "clip") return GgufKind::projector;
    if (type == "imatrix") return GgufKind::imatrix;
    if (architecture == "controlvector") return GgufKind::control_vector;
    if (header_.tensors.empty() && header_.find("tokenizer.ggml.tokens") != nullptr &&
        header_.number("split.count").value_or(0) < 2)
        return GgufKind::vocabulary;
    return GgufKind::model;
}

} // namespace vramfit
