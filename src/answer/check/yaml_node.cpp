#include "yaml_subset.hpp"

namespace vramfit {
namespace {

constexpr int most_merges = 1000;             // maps that one look-up goes through
constexpr std::size_t most_entries = 100'000; // of merged maps: one that is merged often is copied as often

const YamlNode* find_in(const YamlNode& node, std::string_view key, int& merges) {
    for (const auto& [name, value] : node.entries)
        if (name == key) return value.get();
    if (--merges < 0) return nullptr;
    for (const auto& [name, value] : node.entries) {
        if (name != "<<") continue;
        if (const YamlNode* const found = find_in(*value, key, merges)) return found;
        for (const auto& item : value->items)
            if (const YamlNode* const found = find_in(*item, key, merges)) return found;
    }
    return nullptr;
}

void add_entries(const YamlNode& node, YamlNode::Entries& all, int& merges) {
    if (--merges < 0 || all.size() > most_entries) return;
    for (const auto& [name, value] : node.entries) {
        if (name != "<<") continue;
        for (std::size_t i = value->items.size(); i-- > 0;) // the first one counts
            add_entries(*value->items[i], all, merges);
        if (value->kind == YamlNode::Kind::map) add_entries(*value, all, merges);
    }
    for (const auto& entry : node.entries)
        if (entry.first != "<<") all.push_back(entry);
}

} // namespace

YamlNode::Entries YamlNode::all_entries() const {
    Entries all;
    int merges = most_merges;
    add_entries(*this, all, merges);
    return all;
}

const YamlNode* YamlNode::find(std::string_view key) const {
    int merges = most_merges;
    return find_in(*this, key, merges);
}

std::string YamlNode::text_of(std::string_view key) const {
    const YamlNode* const node = find(key);
    return node != nullptr && node->kind == Kind::scalar ? node->text : "";
}

} // namespace vramfit
