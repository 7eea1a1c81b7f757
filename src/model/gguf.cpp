#include "vramfit/model/gguf.hpp"

#include "byte_reader.hpp"
#include "gguf_parser.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>

namespace vramfit {

std::string_view describe(GgufKind kind) {
    switch (kind) {
    case GgufKind::model: return "a model";
    case GgufKind::vocabulary: return "a vocabulary without weights";
    case GgufKind::adapter: return "a LoRA adapter";
    case GgufKind::projector: return "a projector of images or sound";
    case GgufKind::imatrix: return "an importance matrix";
    case GgufKind::control_vector: break;
    }
    return "a control vector";
}

const GgufValue* GgufHeader::find(std::string_view key) const {
    const auto at = std::ranges::lower_bound(values, key, {}, &GgufValue::key);
    return at != values.end() && at->key == key ? &*at : nullptr;
}

std::optional<double> GgufHeader::number(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr || value->numbers.empty()) return std::nullopt;
    return value->numbers.front();
}

std::string_view GgufHeader::text(std::string_view key) const {
    const GgufValue* value = find(key);
    return value == nullptr ? std::string_view() : std::string_view(value->text);
}

GgufHeader read_gguf(const ByteStream& stream, std::string name, std::optional<std::uint64_t> size) {
    ByteReader reader(stream, std::move(name), size);
    return GgufParser(reader, size).parse();
}

GgufHeader read_gguf_file(const std::string& path) {
    const ByteFile file = open_byte_file(path);
    GgufHeader header = read_gguf(file.stream, quote(path), file.size);
    const std::uint64_t needed = header.tensors.empty() ? 0 : header.header_bytes + header.data_bytes;
    if (needed > file.size)
        throw Error(header.file + " is incomplete: it has " + std::to_string(file.size) +
                    " bytes, and its tensors need " + std::to_string(needed) +
                    " (from a cut file only the head can be read: -m - < FILE)");
    return header;
}

} // namespace vramfit
