#include "vramfit/model/hparams.hpp"

#include <algorithm>

namespace vramfit {

namespace {

using Entry = std::pair<std::string, Hparams::Value>;

constexpr auto key_before = [](const Entry& entry, std::string_view key) { return entry.first < key; };

} // namespace

void Hparams::set(std::string key, Value value) {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), std::string_view(key), key_before);
    const bool known = at != entries_.end() && at->first == key;
    if (value.empty()) {
        if (known) {
            entries_.erase(at);
        }
    } else if (known) {
        at->second = std::move(value);
    } else {
        entries_.emplace(at, std::move(key), std::move(value));
    }
}

const Hparams::Value* Hparams::find(std::string_view key) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), key, key_before);
    return at != entries_.end() && at->first == key ? &at->second : nullptr;
}

double Hparams::get(std::string_view key, double otherwise, std::size_t il) const {
    const Value* value = find(key);
    if (value == nullptr) return otherwise;
    if (value->size() == 1) return value->front();
    return il < value->size() ? (*value)[il] : otherwise;
}

} // namespace vramfit
