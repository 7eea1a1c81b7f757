#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vramfit/model/tensor_type.hpp"

namespace vramfit::test {

/// Writes GGUF files for tests: correct ones, and with the counts and fields set by hand any others.
/// The tensors' data is never written: a file is as long as it would make it, and sparse.
class GgufWriter {
public:
    std::uint32_t version = 3;
    std::endian order = std::endian::little;
    std::uint32_t alignment = 32;
    std::uint64_t n_values = 0, n_tensors = 0; ///< what the file says

    struct TensorInfo {
        std::string name;
        std::vector<std::uint64_t> ne;
        std::uint32_t type = 0;
        std::uint64_t offset = 0;
    };

    // One key each; the numbers are gguf.h's types of values.
    GgufWriter& u32(std::string_view key, std::uint32_t value) { return key_of(key, 4).put(values_, value); }
    GgufWriter& i32(std::string_view key, std::int32_t value) { return key_of(key, 5).put(values_, value); }
    GgufWriter& u64(std::string_view key, std::uint64_t value) { return key_of(key, 10).put(values_, value); }
    GgufWriter& u16(std::string_view key, std::uint16_t value) { return key_of(key, 2).put(values_, value); }
    GgufWriter& f32(std::string_view key, float value) { return key_of(key, 6).put(values_, value); }
    GgufWriter& boolean(std::string_view key, bool value) {
        return key_of(key, 7).put(values_, static_cast<std::uint8_t>(value));
    }
    GgufWriter& text(std::string_view key, std::string_view value) {
        key_of(key, 8).put_text(values_, value);
        return *this;
    }
    /// An array of the type `type` whose elements are written as T.
    template <typename T>
    GgufWriter& array(std::string_view key, std::uint32_t type, const std::vector<T>& elements) {
        key_of(key, 9).put(values_, type).put(values_, static_cast<std::uint64_t>(elements.size()));
        for (const T& element : elements) put(values_, element);
        return *this;
    }
    GgufWriter& texts(std::string_view key, const std::vector<std::string>& elements) {
        key_of(key, 9).put(values_, std::uint32_t{8}).put(values_, static_cast<std::uint64_t>(elements.size()));
        for (const std::string& element : elements) put_text(values_, element);
        return *this;
    }

    /// A tensor behind those before it.
    GgufWriter& tensor(std::string_view name, std::vector<std::uint64_t> ne, TensorType type) {
        std::uint64_t bytes = row_size(type, ne.empty() ? 1 : ne.front());
        for (std::size_t i = 1; i < ne.size(); ++i) bytes *= ne[i];
        raw_tensor({std::string(name), std::move(ne), static_cast<std::uint32_t>(type), data_bytes_});
        data_bytes_ += (bytes + alignment - 1) / alignment * alignment;
        return *this;
    }
    /// A tensor as it is given.
    GgufWriter& raw_tensor(const TensorInfo& info) {
        put_text(tensors_, info.name);
        put(tensors_, static_cast<std::uint32_t>(info.ne.size()));
        for (const std::uint64_t n : info.ne) put(tensors_, n);
        put(tensors_, info.type).put(tensors_, info.offset);
        ++n_tensors;
        return *this;
    }
    /// The key and type of a value whose bytes follow by `raw`.
    GgufWriter& key_of(std::string_view key, std::uint32_t type) {
        put_text(values_, key);
        ++n_values;
        return put(values_, type);
    }
    template <typename T>
    GgufWriter& raw(T value) {
        return put(values_, value);
    }

    /// The head with its padding: all that stands in front of the data.
    std::string head() const {
        std::string bytes = "GGUF";
        GgufWriter& self = const_cast<GgufWriter&>(*this); // put() only reads the byte order
        self.put(bytes, version).put(bytes, n_tensors).put(bytes, n_values);
        bytes += values_ + tensors_;
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        return bytes;
    }
    std::uint64_t data_bytes() const { return data_bytes_; }

    void write(const std::filesystem::path& path) const {
        const std::string bytes = head();
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        std::filesystem::resize_file(path, bytes.size() + data_bytes_);
    }

private:
    template <typename T>
    GgufWriter& put(std::string& bytes, T value) {
        std::array<char, sizeof(T)> raw{};
        std::memcpy(raw.data(), &value, sizeof(T));
        if (order != std::endian::native) std::reverse(raw.begin(), raw.end());
        bytes.append(raw.data(), raw.size());
        return *this;
    }
    void put_text(std::string& bytes, std::string_view text) {
        put(bytes, static_cast<std::uint64_t>(text.size()));
        bytes += text;
    }

    std::string values_, tensors_;
    std::uint64_t data_bytes_ = 0;
};

} // namespace vramfit::test
