#include "hf_keys.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_list = 100'000; // far above the layers of any model

/// Where configs of models for more than text keep the text model (conversion/base.py, `load_hparams`).
constexpr std::array<const char*, 4> text_sections = {"text_config", "llm_config", "language_config", "lm_config"};

/// `text` as a name in an expression may spell it.
std::string as_word(std::string_view text) {
    std::string word(text);
    for (char& c : word) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    return word;
}

/// The part of a dotted name before the first dot, and what follows.
std::pair<std::string, std::string_view> split(std::string_view name) {
    const std::size_t dot = name.find('.');
    return {std::string(name.substr(0, dot)),
            dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1)};
}

/// "3,4,5" as numbers, as Step's moe_layers_enum is written; nothing for other text.
std::optional<Hparams::Value> numbers_in(const std::string& text) {
    Hparams::Value numbers;
    double number = 0;
    bool digits = false;
    for (const char c : text + ",") {
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            number = number * 10 + (c - '0');
            digits = true;
        } else if (c == ',' && digits) {
            numbers.push_back(number);
            number = 0;
            digits = false;
        } else {
            return std::nullopt;
        }
    }
    return numbers;
}

std::string kind_of(const Json& json) {
    if (json.is_string()) return "the text " + quote(json.get_ref<const std::string&>());
    return json.is_array() ? "a list" : "an object";
}

} // namespace

HfKeys::HfKeys(const Json& config, std::string shown) : shown_(std::move(shown)) {
    if (!config.is_object()) throw Error(shown_ + " holds no JSON object, as a config.json does");
    for (const char* key : text_sections) {
        if (config.contains(key) && config[key].is_object()) sections_.push_back(&config[key]);
    }
    sections_.push_back(&config);
}

void HfKeys::fail(std::string_view name, const std::string& what) const {
    throw Error(shown_ + ", key \"" + std::string(name) + "\": " + what);
}

std::string HfKeys::top_text(const char* key) const {
    const Json& top = *sections_.back();
    return top.contains(key) && top[key].is_string() ? top[key].get<std::string>() : std::string();
}

std::string HfKeys::text(const char* key) const {
    for (const Json* section : sections_) {
        if (section->contains(key) && (*section)[key].is_string()) return (*section)[key].get<std::string>();
    }
    return {};
}

const Json* HfKeys::value(std::string_view name) const {
    for (const Json* section : sections_) {
        const Json* at = section;
        std::string_view rest = name;
        while (!rest.empty() && at != nullptr && at->is_object()) {
            auto [key, behind] = split(rest);
            const auto found = at->find(key);
            at = found == at->end() ? nullptr : &*found;
            rest = behind;
        }
        if (at != nullptr && rest.empty() && !at->is_null()) return at;
    }
    return nullptr;
}

std::optional<Hparams::Value> HfKeys::find(std::string_view name, const HfMapping& mapping,
                                           std::uint32_t n_block) const {
    const auto is_list = [&](const auto& entry) {
        return name == entry.first || (name.starts_with(entry.first) && name[entry.first.size()] == '.');
    };
    if (std::ranges::any_of(mapping.index_lists, is_list) || std::ranges::any_of(mapping.letters, is_list)) {
        if (auto list = layer_list(name, mapping, n_block)) return list;
        if (std::ranges::any_of(mapping.index_lists, is_list)) return std::nullopt;
    }
    for (const Json* section : sections_) {
        if (auto found = walk(*section, name, name)) return found;
    }
    return std::nullopt;
}

std::optional<Hparams::Value> HfKeys::layer_list(std::string_view name, const HfMapping& mapping,
                                                 std::uint32_t n_block) const {
    for (const auto& [key, first] : mapping.index_lists) {
        const Json* list = name == key ? value(key) : nullptr;
        if (list == nullptr || n_block == 0) continue;
        if (!list->is_array()) fail(key, kind_of(*list) + "; a list of layers would be right");
        Hparams::Value layers(n_block, 0);
        for (const Json& item : *list) {
            const double at = number(item, key).value_or(-1) - first;
            if (!(at >= 0) || at >= n_block || at != std::floor(at)) fail(key, item.dump() + " is no layer");
            layers[static_cast<std::size_t>(at)] = 1;
        }
        return layers;
    }
    for (const auto& [key, words] : mapping.letters) {
        const Json* text = name.starts_with(key) ? value(key) : nullptr;
        if (text == nullptr || !text->is_string()) continue;
        Hparams::Value layers;
        for (const char c : text->get_ref<const std::string&>()) {
            const auto word = std::ranges::find(words, std::string(1, c), &HfMapping::Texts::value_type::first);
            if (word == words.end())
                fail(key, "the letter " + quote(std::string(1, c)) + " stands for no kind of layer");
            layers.push_back(word->second == name.substr(key.size() + 1) ? 1 : 0);
        }
        if (layers.empty() || layers.size() > max_list) fail(key, "no letter a layer");
        return layers;
    }
    return std::nullopt;
}

std::optional<Hparams::Value> HfKeys::walk(const Json& json, std::string_view rest, std::string_view name) const {
    if (json.is_null()) return std::nullopt;
    if (json.is_array()) return walk_list(json, rest, name);
    if (json.is_string()) {
        const auto& text = json.get_ref<const std::string&>();
        if (!rest.empty()) return Hparams::Value{as_word(text) == rest ? 1.0 : 0.0};
        if (text == "auto") return std::nullopt;
        if (auto numbers = numbers_in(text)) return numbers;
    } else if (json.is_object() && !rest.empty()) {
        const auto [key, behind] = split(rest);
        const auto found = json.find(key);
        return found == json.end() ? std::nullopt : walk(*found, behind, name);
    }
    if (!rest.empty()) return std::nullopt;
    const auto single = number(json, name);
    return single ? std::optional(Hparams::Value{*single}) : std::nullopt;
}

std::optional<Hparams::Value> HfKeys::walk_list(const Json& json, std::string_view rest, std::string_view name) const {
    if (rest == "length") return Hparams::Value{static_cast<double>(json.size())};
    if (json.empty()) return std::nullopt;
    if (json.size() > max_list)
        fail(name, "a list of " + std::to_string(json.size()) + " elements; one a layer would be right");
    Hparams::Value numbers;
    for (const Json& item : json) {
        const auto value = item.is_array() ? std::nullopt : walk(item, rest, name);
        numbers.push_back(value ? value->front() : 0); // null and what is absent count as 0: an empty attention block
    }
    return numbers;
}

std::optional<double> HfKeys::number(const Json& json, std::string_view name) const {
    constexpr double largest = 9007199254740992.0; // 2^53: above it a double no longer counts
    if (json.is_null()) return std::nullopt;
    if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
    if (!json.is_number()) fail(name, kind_of(json) + "; a number would be right");
    const auto value = json.get<double>();
    if (!(std::abs(value) <= largest)) fail(name, "the number is too large");
    return value;
}

} // namespace vramfit
