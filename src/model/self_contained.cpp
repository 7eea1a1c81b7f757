#include "self_contained.hpp"

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

// Symbols that the library itself asks for (memory/kv_cache.cpp, refusal.cpp, estimate.cpp).
constexpr std::array<std::string_view, 3> always_used = {"head_k", "head_v", "n_vocab"};

/// The parts of common.json whose definitions are named by words in lines and expressions.
constexpr std::array<const char*, 3> parts = {"symbols", "inputs", "blocks"};

class Collector {
public:
    Collector(Json document, const Json& common) : document_(std::move(document)), common_(common) {}

    Json run() {
        fill_caches();
        for (const std::string_view name : always_used) use(std::string(name));
        const Json own = document_;
        scan(own);
        while (!pending_.empty()) {
            const Json definition = std::move(pending_.back());
            pending_.pop_back();
            scan(definition);
        }
        for (const char* part : parts) order(part);
        return std::move(document_);
    }

private:
    void scan(const Json& json) {
        if (json.is_string()) return scan_words(json.get_ref<const std::string&>());
        if (json.is_structured()) {
            for (const Json& item : json) scan(item);
        }
    }

    // A word may name a symbol, a cache, an input or a block: taking one too many only costs a few bytes.
    void scan_words(std::string_view text) {
        std::size_t at = 0;
        while (at < text.size()) {
            std::size_t end = at;
            while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
                ++end;
            if (end > at) use(std::string(text.substr(at, end - at)));
            at = end + 1;
        }
    }

    void use(const std::string& name) {
        for (const char* part : parts) {
            const auto section = common_.find(part);
            if (section == common_.end() || !section->contains(name)) continue;
            Json& own = document_[part];
            if (own.contains(name)) continue;
            own[name] = (*section)[name];
            pending_.push_back((*section)[name]);
        }
    }

    /// A cache by its name becomes the definition that it stands for.
    void fill_caches() {
        const auto section = common_.find("caches");
        if (!document_.contains("caches") || section == common_.end()) return;
        for (Json& cache : document_["caches"]) {
            if (cache.is_string()) cache = Json{{"name", cache}};
            const auto definition = section->find(cache.value("name", std::string()));
            if (definition == section->end()) continue;
            for (const auto& [key, value] : definition->items()) {
                if (!cache.contains(key)) cache[key] = value;
            }
        }
    }

    /// Definitions in the order of common.json, the file's own behind them: an input must stand before its views.
    void order(const char* part) {
        const auto section = common_.find(part);
        if (section == common_.end() || !document_.contains(part)) return;
        const Json own = document_[part];
        Json ordered = Json::object();
        for (const auto& [name, value] : section->items()) {
            if (own.contains(name)) ordered[name] = own[name];
        }
        for (const auto& [name, value] : own.items()) ordered[name] = value;
        document_[part] = std::move(ordered);
    }

    Json document_;
    const Json& common_;
    std::vector<Json> pending_;
};

} // namespace

Json self_contained(const Json& architecture, const Json& common) { return Collector(architecture, common).run(); }

} // namespace vramfit
