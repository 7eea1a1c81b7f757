#include "model_name.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"

#include <nlohmann/json.hpp>

namespace vramfit {
namespace {

using Json = nlohmann::json;

const Json& data() {
    static const Json parsed = Json::parse(embedded::file("model_names.json").value());
    return parsed;
}

bool ends_with(std::string_view name, std::string_view end) { return lower(name).ends_with(lower(end)); }

/// Cuts the first of the ends that `name` has; whether it has one.
bool cut_end(std::string& name, const Json& ends) {
    for (const Json& end : ends) {
        const auto& text = end.get_ref<const std::string&>();
        if (name.size() <= text.size() || !ends_with(name, text)) continue;
        name.resize(name.size() - text.size());
        return true;
    }
    return false;
}

/// Whether the name ends with this word, set off from what stands before it.
bool ends_with_word(std::string_view name, std::string_view word) {
    if (name.size() <= word.size() + 1 || !ends_with(name, word)) return false;
    const char before = name[name.size() - word.size() - 1];
    return before == '-' || before == '.' || before == '_';
}

/// The longest key of `table` with which the name ends; nullptr where none is.
const std::string* last_word(std::string_view name, const Json& table) {
    const std::string* longest = nullptr;
    for (auto item = table.begin(); item != table.end(); ++item) {
        if (ends_with_word(name, item.key()) && (longest == nullptr || item.key().size() > longest->size()))
            longest = &item.key();
    }
    return longest;
}

/// Length of the file type that a name ends with, behind a divider: "mxfp4" of "gpt-oss-120b-mxfp4"; 0: there is none.
std::size_t type_length(std::string_view name) {
    for (std::size_t at = name.find_first_of("-._"); at != std::string_view::npos;
         at = name.find_first_of("-._", at + 1)) {
        if (at == 0) continue; // the type alone is no name
        try {
            parse_file_type(name.substr(at + 1));
            return name.size() - at - 1;
        } catch (const Error&) { // the next divider may stand before one
        }
    }
    return 0;
}

/// Takes the type from the end of the name.
void take_type(std::string& name, ModelName& result) {
    const auto take = [&](std::size_t length, std::string quant) {
        result.type = name.substr(name.size() - length);
        result.quant = std::move(quant);
        name.resize(name.size() - length - 1);
    };
    if (const std::size_t length = type_length(name); length > 0) return take(length, file_type_of_name(name));
    if (const auto* type = last_word(name, data().at("near_types"))) {
        result.near = true;
        return take(type->size(), data().at("near_types").at(*type));
    }
    if (const auto* format = last_word(name, data().at("formats")))
        take(format->size(), data().at("formats").at(*format));
}

/// Without the file's ending, the part of a split set, the type and its mark.
std::string bare(std::string name, ModelName& result) {
    cut_end(name, data().at("files"));
    if (const auto part = name.find("-00001-of-"); part != std::string::npos) name.resize(part);
    take_type(name, result);
    while (cut_end(name, data().at("marks")) || cut_end(name, data().at("files"))) {
    }
    return name;
}

} // namespace

std::string default_ollama_tag(std::string_view name) {
    const Json& tags = data().at("ollama_tags");
    const auto found = tags.find(lower(name));
    return found == tags.end() || name == "source" ? "" : found->get<std::string>();
}

ModelName take_apart(std::string_view given) {
    ModelName result;
    std::string name(given);
    if (const auto slash = name.find_last_of("/\\"); slash != std::string::npos) {
        result.spellings.push_back(name);
        const std::string whole = bare(name, result); // the owner belongs to many an alias
        if (whole != name) result.spellings.push_back(whole);
        name = name.substr(slash + 1);
    }
    result.spellings.push_back(bare(std::move(name), result));
    for (const Json& front : data().at("fronts")) {
        const auto& text = front.get_ref<const std::string&>();
        if (result.spellings.back().starts_with(text))
            result.spellings.push_back(result.spellings.back().substr(text.size()));
    }
    const std::size_t n = result.spellings.size();
    for (std::size_t i = 0; i < n; ++i) {
        std::string shorter = result.spellings[i];
        while (cut_end(shorter, data().at("ends"))) {
        }
        if (shorter != result.spellings[i]) result.spellings.push_back(std::move(shorter));
    }
    return result;
}

std::string file_type_of_name(std::string_view file) {
    if (ends_with(file, ".gguf")) file.remove_suffix(std::string_view(".gguf").size());
    const std::size_t length = type_length(file);
    return length == 0 ? "" : std::string(traits(parse_file_type(file.substr(file.size() - length))).name);
}

} // namespace vramfit
