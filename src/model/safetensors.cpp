#include "vramfit/model/safetensors.hpp"

#include "hf_file.hpp"
#include "vramfit/base/byte_stream.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t max_header = 100 * mib;
constexpr std::uint64_t length_bytes = 8; ///< of the header's length, in front of it
constexpr std::size_t max_dims = 16;

struct Dtype {
    std::string_view name;
    std::uint64_t bits;
};

/// The element types of the safetensors format (safetensors/src/tensor.rs).
constexpr std::array<Dtype, 21> dtypes{
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},    {"F8_E5M2", 8},
     {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16}, {"BF16", 16}, {"I32", 32},
     {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},    {"I64", 64}, {"U64", 64},  {"F8_E4M3FNUZ", 8}}};

/// Reads the header as it is parsed: a header of 100 MiB never becomes a tree.
class HeaderReader : public nlohmann::json_sax<Json> {
public:
    explicit HeaderReader(std::string_view shown) : shown_(shown) {}

    std::vector<SafetensorsTensor> take() {
        if (depth_ != 0 || !seen_) fail("the header is no JSON object");
        return std::move(tensors_);
    }

    bool null() override { return other("null"); }
    bool boolean(bool) override { return other("true or false"); }
    bool number_integer(number_integer_t) override { return other("a negative number"); }
    bool number_float(number_float_t, const string_t&) override { return other("a fraction"); }
    bool binary(binary_t&) override { return other("binary data"); }

    bool number_unsigned(number_unsigned_t value) override {
        if (in_metadata_) return true;
        if (depth_ != 3) return other("a number");
        if (list_.size() == max_dims) fail_tensor(key_ + " has more than " + std::to_string(max_dims) + " elements");
        list_.push_back(value);
        return true;
    }

    bool string(string_t& value) override {
        if (in_metadata_) return true;
        if (depth_ != 2 || key_ != "dtype") return other("text");
        if (!tensors_.back().dtype.empty()) fail_tensor("dtype stands twice");
        tensors_.back().dtype = value;
        return true;
    }

    bool start_object(std::size_t) override {
        ++depth_;
        if (in_metadata_ || depth_ == 1) {
            seen_ = true;
            return true;
        }
        if (depth_ != 2) return other("an object");
        in_metadata_ = name_ == "__metadata__";
        if (!in_metadata_) tensors_.push_back({name_, {}, {}, 0, 0});
        has_shape_ = has_offsets_ = false;
        return true;
    }

    bool end_object() override {
        if (depth_ == 2 && !in_metadata_) {
            const SafetensorsTensor& t = tensors_.back();
            if (t.dtype.empty() || !has_shape_ || !has_offsets_) fail_tensor("dtype, shape or data_offsets is missing");
        }
        if (--depth_ == 1) in_metadata_ = false;
        return true;
    }

    bool key(string_t& value) override {
        (depth_ == 1 ? name_ : key_) = value;
        return true;
    }

    bool start_array(std::size_t) override {
        ++depth_;
        if (in_metadata_) return true;
        if (depth_ != 3 || (key_ != "shape" && key_ != "data_offsets")) return other("a list");
        list_.clear();
        return true;
    }

    bool end_array() override {
        --depth_;
        if (in_metadata_) return true;
        SafetensorsTensor& t = tensors_.back();
        bool& seen = key_ == "shape" ? has_shape_ : has_offsets_;
        if (seen) fail_tensor(key_ + " stands twice");
        seen = true;
        if (key_ == "shape") {
            t.shape = list_;
            return true;
        }
        if (list_.size() != 2) fail_tensor("data_offsets has not two elements");
        t.begin = list_[0];
        t.end = list_[1];
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
        fail("the header is not valid JSON (byte " + std::to_string(length_bytes + position) + ")");
    }

private:
    [[noreturn]] void fail(const std::string& what) const { throw Error(shown_ + ": " + what); }
    [[noreturn]] void fail_tensor(const std::string& what) const {
        fail("tensor " + quote(tensors_.back().name) + ": " + what);
    }

    bool other(const char* what) const {
        if (in_metadata_) return true;
        if (depth_ < 2 || tensors_.empty())
            fail("the header has " + std::string(what) + " where a tensor would be right");
        fail_tensor(quote(key_) + " is " + what);
    }

    std::string shown_;
    std::vector<SafetensorsTensor> tensors_;
    std::vector<std::uint64_t> list_;
    std::string name_, key_;
    int depth_ = 0;
    bool in_metadata_ = false, has_shape_ = false, has_offsets_ = false, seen_ = false;
};

/// The bytes that a tensor of its type and shape takes.
std::uint64_t bytes_of(const SafetensorsTensor& t, const std::string& shown) {
    const auto dtype = std::ranges::find(dtypes, t.dtype, &Dtype::name);
    if (dtype == dtypes.end())
        throw Error(shown + ": tensor " + quote(t.name) + " has the unknown type " + quote(t.dtype));
    const std::string what = "the size of tensor " + quote(t.name);
    std::uint64_t bits = dtype->bits;
    for (const std::uint64_t dim : t.shape) bits = checked_mul(bits, dim, what);
    return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

void check_names(const std::vector<SafetensorsTensor>& tensors, const std::string& shown) {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const SafetensorsTensor& t : tensors) names.push_back(t.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) throw Error(shown + ": tensor " + quote(*twice) + " stands twice");
}

/// The tensors must fill the data without holes.
void check_places(const std::vector<SafetensorsTensor>& tensors, std::uint64_t data_bytes, const std::string& shown) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(tensors[i].begin, tensors[i].end); });
    std::uint64_t at = 0;
    for (const std::size_t i : order) {
        const SafetensorsTensor& t = tensors[i];
        const std::string which = shown + ": tensor " + quote(t.name);
        if (t.end < t.begin) throw Error(which + " ends before it begins");
        if (t.end - t.begin != bytes_of(t, shown))
            throw Error(which + " has " + std::to_string(t.end - t.begin) + " bytes where its shape and type need " +
                        std::to_string(bytes_of(t, shown)));
        if (t.begin < at) throw Error(which + " overlaps another");
        if (t.begin > at) throw Error(which + " leaves a hole in front of it");
        at = t.end;
    }
    if (at > data_bytes)
        throw Error(shown + " ends " + std::to_string(at - data_bytes) + " bytes early: its download is not complete");
    if (at < data_bytes) throw Error(shown + " has " + std::to_string(data_bytes - at) + " bytes that no tensor uses");
}

} // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view shown) {
    const std::string file(shown);
    HeaderReader reader(shown);
    read_bounded_json(json, reader, shown);
    SafetensorsHeader header{reader.take(), data_bytes};
    check_names(header.tensors, file);
    check_places(header.tensors, data_bytes, file);
    return header;
}

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path) {
    const ByteFile file = open_byte_file(path.string());
    const std::string shown = shown_path(path);
    if (file.size < length_bytes) throw Error(shown + " is too short to be a safetensors file");
    const std::string head = read_exactly(file.stream, length_bytes, shown);
    std::uint64_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;) length = length << 8U | static_cast<unsigned char>(head[i]);
    if (length > max_header || length > file.size - length_bytes)
        throw Error(shown + ": a header of " + std::to_string(length) +
                    " bytes; no safetensors file, or its download is not complete");
    return parse_safetensors_header(read_exactly(file.stream, length, shown), file.size - length_bytes - length, shown);
}

} // namespace vramfit
