#pragma once

#include "hf_mapping.hpp"
#include "vramfit/model/hparams.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The keys of a config.json as the expressions of a mapping see them (hf_mapping.hpp): dotted names with numbers.
class HfKeys {
public:
    /// `config` must outlive the keys. `shown` names the file in messages.
    HfKeys(const nlohmann::json& config, std::string shown);

    /// The numbers under `name`, or nothing where the config has no such key. `n_block` is the number of layers for
    /// lists of layers; 0 while it is not known yet: such lists are absent then. Throws Error for a value that is no
    /// number.
    std::optional<Hparams::Value> find(std::string_view name, const HfMapping& mapping, std::uint32_t n_block) const;

    /// The text under `key` of the nested text model, or of the whole config where that has none; empty where absent.
    std::string text(const char* key) const;
    /// `text`, of the top of the config alone.
    std::string top_text(const char* key) const;

    const std::string& shown() const { return shown_; }

private:
    using Json = nlohmann::json;

    std::optional<Hparams::Value> layer_list(std::string_view name, const HfMapping& mapping,
                                             std::uint32_t n_block) const;
    std::optional<Hparams::Value> walk(const Json& json, std::string_view rest, std::string_view name) const;
    std::optional<Hparams::Value> walk_list(const Json& json, std::string_view rest, std::string_view name) const;
    std::optional<double> number(const Json& json, std::string_view name) const;
    const Json* value(std::string_view name) const;
    [[noreturn]] void fail(std::string_view name, const std::string& what) const;

    std::vector<const Json*> sections_; // the text model first
    std::string shown_;
};

} // namespace vramfit
