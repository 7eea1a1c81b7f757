#include "hf_file.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t max_index = 64 * mib;
constexpr std::uint64_t max_config = 16 * mib;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored) || fs::is_symlink(path, ignored);
}

/// The output matrix of the text model; a model for more than text has a prefix in front.
bool is_lm_head(std::string_view tensor) { return tensor == "lm_head.weight" || tensor.ends_with(".lm_head.weight"); }

/// The files that an index names, each with the tensors that it says are there.
struct Index {
    std::map<std::string, std::set<std::string>> files;
    std::optional<std::uint64_t> total_size;
};

Index read_index(const fs::path& path) {
    const std::string shown = shown_path(path);
    const Json json = parse_bounded_json(read_text_file(path, max_index), shown);
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
        throw Error(shown + " has no \"weight_map\", which says where each tensor lies");
    Index index;
    for (const auto& [tensor, file] : json["weight_map"].items()) {
        if (!file.is_string()) throw Error(shown + ": the file of tensor " + quote(tensor) + " is no text");
        const auto& name = file.get_ref<const std::string&>();
        // A name, not a path: an index must not lead out of its folder.
        if (name.find_first_of("/\\") != std::string::npos || !name.ends_with(".safetensors"))
            throw Error(shown + ": " + quote(name) + " is no name of a safetensors file");
        index.files[name].insert(tensor);
    }
    if (index.files.empty()) throw Error(shown + ": its \"weight_map\" is empty");
    if (json.contains("metadata") && json["metadata"].is_object() && json["metadata"].contains("total_size")) {
        const Json& size = json["metadata"]["total_size"];
        if (size.is_number_unsigned())
            index.total_size = size.get<std::uint64_t>();
        else if (size.is_number_float() && size.get<double>() >= 0 && size.get<double>() < 1e18)
            index.total_size = static_cast<std::uint64_t>(size.get<double>());
    }
    return index;
}

/// The number and the total of "model-00002-of-00004.safetensors".
std::optional<std::pair<unsigned, unsigned>> shard_number(const std::string& name) {
    constexpr std::string_view front = "model-", middle = "-of-", back = ".safetensors";
    constexpr std::size_t digits = 5;
    if (name.size() != front.size() + digits + middle.size() + digits + back.size() || !name.starts_with(front) ||
        name.compare(front.size() + digits, middle.size(), middle) != 0 || !name.ends_with(back))
        return std::nullopt;
    unsigned number = 0, total = 0;
    const auto read = [&](std::size_t at, unsigned& value) {
        const char* begin = name.data() + at;
        return std::from_chars(begin, begin + digits, value).ptr == begin + digits;
    };
    if (!read(front.size(), number) || !read(front.size() + digits + middle.size(), total)) return std::nullopt;
    return std::pair(number, total);
}

/// The files of a set without an index; throws Error where one is missing.
std::vector<std::string> shards_in(const fs::path& folder) {
    std::map<unsigned, std::string> shards;
    unsigned total = 0;
    std::error_code ignored;
    for (const auto& item : fs::directory_iterator(folder, ignored)) {
        const std::string name = item.path().filename().string();
        if (const auto number = shard_number(name)) {
            shards.emplace(number->first, name);
            total = std::max(total, number->second);
        }
    }
    std::vector<std::string> names;
    for (unsigned i = 1; i <= total; ++i) {
        const auto found = shards.find(i);
        if (found == shards.end())
            throw Error(quote(folder.string()) + ": part " + std::to_string(i) + " of " + std::to_string(total) +
                        " of the safetensors files is missing");
        names.push_back(found->second);
    }
    return names;
}

/// Adds up the files of a folder.
class Sum {
public:
    explicit Sum(const fs::path& folder) : folder_(folder) {}

    /// `expected`: the tensors that must be in the file, or nullptr where nobody says.
    void add(const std::string& file, const std::set<std::string>* expected) {
        const SafetensorsHeader header = read_safetensors_header(folder_ / file);
        std::size_t found = 0;
        for (const SafetensorsTensor& t : header.tensors) {
            if (!names_.insert(t.name).second)
                throw Error(shown_path(folder_ / file) + ": tensor " + quote(t.name) + " stands in two files");
            weights_.has_lm_head = weights_.has_lm_head || is_lm_head(t.name);
            if (expected != nullptr) found += expected->count(t.name);
            by_dtype_[t.dtype] += t.end - t.begin;
        }
        if (expected != nullptr && found < expected->size())
            throw Error(shown_path(folder_ / file) + ": " + std::to_string(expected->size() - found) +
                        " of the tensors that the index says are in it are not");
        weights_.bytes = checked_add(weights_.bytes, header.data_bytes, "the size of the weights");
        weights_.n_tensors += header.tensors.size();
        ++weights_.n_files;
    }

    HfWeights take() {
        weights_.by_dtype.assign(by_dtype_.begin(), by_dtype_.end());
        std::ranges::stable_sort(weights_.by_dtype, std::greater<>(), &std::pair<std::string, std::uint64_t>::second);
        return std::move(weights_);
    }

private:
    fs::path folder_;
    HfWeights weights_;
    std::map<std::string, std::uint64_t> by_dtype_;
    std::set<std::string> names_;
};

HfWeights of_index(const fs::path& folder, const Index& index) {
    std::vector<std::string> missing;
    for (const auto& [file, tensors] : index.files) {
        if (!is_there(folder / file)) missing.push_back(file);
    }
    if (missing.size() == index.files.size() && index.total_size) {
        HfWeights weights;
        weights.bytes = *index.total_size;
        weights.n_files = index.files.size();
        for (const auto& [file, tensors] : index.files)
            weights.has_lm_head = weights.has_lm_head || std::ranges::any_of(tensors, is_lm_head);
        return weights;
    }
    if (!missing.empty())
        throw Error(quote(folder.filename().string()) + ": " + quote(missing.front()) +
                    (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more files of its index are"
                                        : ", which its index names, is") +
                    " missing");
    Sum sum(folder);
    for (const auto& [file, tensors] : index.files) sum.add(file, &tensors);
    return sum.take();
}

std::string text_of(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_string() ? lower(json[key].get<std::string>()) : std::string();
}

bool is_true(const Json& json, const char* key) { return json.contains(key) && json[key] == true; }

/// The name of a quantization, as --quant has it, from a "quantization_config" (transformers) or the "quantization"
/// of hf_quant_config.json (ModelOpt).
std::string quantization_name(const Json& json) {
    const std::string method = text_of(json, "quant_method");
    const std::string detail = text_of(json, "quant_algo") + text_of(json, "format");
    for (const char* name : {"nvfp4", "mxfp4"}) {
        if (detail.find(name) != std::string::npos) return name;
    }
    if (method == "bitsandbytes") {
        const std::string kind = text_of(json, "bnb_4bit_quant_type");
        return is_true(json, "load_in_8bit") ? "bnb-int8" : kind == "nf4" || kind.empty() ? "bnb-nf4" : "bnb-fp4";
    }
    if (method.find("fp8") != std::string::npos || detail.find("fp8") != std::string::npos ||
        detail.find("float-quantized") != std::string::npos)
        return "fp8";
    const bool plain = std::ranges::all_of(
        method, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; });
    constexpr std::size_t longest = 32;
    return plain && method.size() <= longest ? method : "unknown";
}

std::uint32_t bits_of(const Json& json) {
    constexpr std::uint64_t most = 16;
    for (const char* key : {"bits", "w_bit"}) {
        if (json.contains(key) && json[key].is_number_unsigned() && json[key].get<std::uint64_t>() <= most)
            return json[key].get<std::uint32_t>();
    }
    return 0;
}

/// The object under `keys` of the file's JSON, one in the other; null where there is none.
Json section(const fs::path& file, std::initializer_list<const char*> keys) {
    if (!is_there(file)) return nullptr;
    Json json = parse_bounded_json(read_text_file(file, max_config), shown_path(file));
    for (const char* key : keys) {
        if (!json.is_object() || !json.contains(key)) return nullptr;
        Json inner = json[key];
        json = std::move(inner);
    }
    return json.is_object() ? json : Json();
}

void describe_quantization(const fs::path& folder, HfWeights& weights) {
    for (const Json& json : {section(folder / "config.json", {"quantization_config"}),
                             section(folder / "config.json", {"text_config", "quantization_config"}),
                             section(folder / "config.json", {"compression_config"}),
                             section(folder / "hf_quant_config.json", {"quantization"})}) {
        if (!json.is_object()) continue;
        weights.quantization = quantization_name(json);
        weights.bits = bits_of(json);
        return;
    }
}

} // namespace

std::optional<HfWeights> hf_weights(const fs::path& folder) {
    HfWeights weights;
    if (is_there(folder / "model.safetensors.index.json")) {
        weights = of_index(folder, read_index(folder / "model.safetensors.index.json"));
    } else {
        std::vector<std::string> files = {"model.safetensors"};
        if (!is_there(folder / files.front())) files = shards_in(folder);
        if (files.empty()) return std::nullopt;
        Sum sum(folder);
        for (const std::string& file : files) sum.add(file, nullptr);
        weights = sum.take();
    }
    describe_quantization(folder, weights);
    return weights;
}

} // namespace vramfit
