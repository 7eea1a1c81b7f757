#include "vramfit/model/architecture.hpp"

#include "graph_parser.hpp"
#include "self_contained.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, static_cast<std::size_t>(Builtin::count)> builtin_names = {
    "il",        "first",    "last",       "n_tokens", "n_outputs",  "n_seqs",     "n_stream", "n_kv",  "n_ctx",
    "n_ctx_seq", "n_ubatch", "kv_unified", "swa_full", "flash_attn", "v_trans",    "k_f32",    "v_f32", "rot_k",
    "rot_v",     "n_rot_k",  "n_rot_v",    "v_pad",    "n_v_max",    "embeddings", "mtp",      "round",
};

constexpr std::string_view common_file = "common.json";

/// Reads one architecture file: `common` first, then what the file itself says.
class ArchitectureParser {
public:
    ArchitectureParser(Architecture& architecture, std::string_view file)
        : arch_(architecture),
          file_(file),
          graph_(architecture) {
        for (const std::string_view name : builtin_names) arch_.names.intern(name);
    }

    /// `json`: self-contained; `common`: where some of it came from, for messages.
    void parse(const Json& json, const Json& common) {
        check_keys(json, {"architecture", "symbols", "tensors", "caches", "inputs", "blocks", "refusals", "graph"},
                   file_);
        arch_.name = text(json, "architecture");
        symbols(json);
        tensors(json);
        caches(json);
        refusals(json);
        graph(json, common);
        arch_.symbols.resize(arch_.names.size());
        link_tensors();
    }

private:
    static std::string text(const Json& json, const char* key) {
        if (!json.contains(key) || !json[key].is_string())
            throw Error("\"" + std::string(key) + "\" is missing or no text");
        return json[key].get<std::string>();
    }

    /// A misspelt key must not pass for one that is left out.
    static void check_keys(const Json& json, std::initializer_list<std::string_view> known, const std::string& where) {
        for (const auto& [key, value] : json.items()) {
            if (std::ranges::find(known, key) == known.end())
                throw Error(where + ": unknown key " + quote(key) +
                            did_you_mean(key, std::span(known.begin(), known.size())));
        }
    }

    static GraphParser::Lines lines(const Json& json, const std::string& where) {
        GraphParser::Lines result;
        if (!json.is_array()) throw Error(where + " is not a list of lines");
        for (const Json& line : json) {
            if (!line.is_string()) throw Error(where + " line " + std::to_string(result.size() + 1) + " is no text");
            result.push_back(line.get<std::string>());
        }
        return result;
    }

    Expression expression(const Json& json, const std::string& where) {
        try {
            if (json.is_number_integer()) return expression_of(json.dump());
            if (!json.is_string()) throw Error("no text");
            return expression_of(json.get<std::string>());
        } catch (const Error& e) {
            throw Error(where + ": " + e.what());
        }
    }

    Expression expression_of(const std::string& text) {
        ExpressionParser in(text, arch_.names, arch_.tensors);
        Expression e = in.parse();
        if (!in.at_end()) in.fail("'" + std::string(in.rest()) + "' is not understood");
        return e;
    }

    void symbols(const Json& json) {
        if (!json.contains("symbols")) return;
        constexpr std::size_t max_symbols = 1000; // each may need the next: bounds how deep their evaluation goes
        if (json["symbols"].size() > max_symbols)
            throw Error(file_ + ": more than " + std::to_string(max_symbols) + " symbols");
        for (const auto& [name, value] : json["symbols"].items()) {
            const std::uint32_t slot = arch_.names.intern(name);
            if (slot < builtin_names.size()) throw Error(file_ + ", symbol '" + name + "': the name is built in");
            Expression e = expression(value, file_ + ", symbol '" + name + "'");
            arch_.symbols.resize(std::max<std::size_t>(arch_.symbols.size(), arch_.names.size()));
            arch_.symbols[slot] = std::move(e);
        }
    }

    void tensors(const Json& json) {
        if (json.contains("tensors"))
            check_keys(json["tensors"], {"input", "first", "each", "output", "layer"}, file_ + ", tensors");
        static constexpr std::pair<const char*, TensorSection> sections[] = {{"input", TensorSection::input},
                                                                             {"first", TensorSection::first},
                                                                             {"each", TensorSection::each},
                                                                             {"output", TensorSection::output},
                                                                             {"layer", TensorSection::layer}};
        if (!json.contains("tensors")) throw Error(file_ + ": \"tensors\" is missing");
        for (const auto& [name, section] : sections) {
            if (!json["tensors"].contains(name)) continue;
            const std::string label = file_ + ", tensors." + name;
            const GraphParser::Lines all = lines(json["tensors"][name], label);
            for (std::size_t i = 0; i < all.size(); ++i)
                tensor(all[i], section, label + " line " + std::to_string(i + 1));
        }
    }

    void tensor(const std::string& line, TensorSection section, const std::string& where) {
        TensorTemplate t;
        t.section = section;
        try {
            ExpressionParser in(line, arch_.names, arch_.tensors);
            const std::string_view name = in.word("_.");
            if (name.empty()) in.fail("the name of a tensor expected");
            t.name = arch_.tensors.intern(name);
            t.optional = in.accept("?");
            if (in.accept("+"))
                t.mtp_loading = MtpLoading::always;
            else if (in.accept("-"))
                t.mtp_loading = MtpLoading::never;
            in.expect("[");
            do {
                t.ne.push_back(in.parse());
            } while (in.accept(","));
            in.expect("]");
            if (t.ne.size() > 4) in.fail("a tensor has at most four dimensions");
            const std::string_view type = in.word("_");
            if (!type.empty()) {
                t.type = parse_tensor_type(type);
                if (!t.type) in.fail("unknown type '" + std::string(type) + "'");
            }
            if (in.accept("?")) t.condition = in.parse();
            if (!in.at_end()) in.fail("'" + std::string(in.rest()) + "' is not understood");
        } catch (const Error& e) {
            throw Error(where + ": " + e.what() + " in \"" + line + "\"");
        }
        arch_.tensor_templates.push_back(std::move(t));
    }

    void caches(const Json& json) {
        if (!json.contains("caches")) return;
        for (const Json& entry : json["caches"]) {
            const std::string name = text(entry, "name");
            if (!entry.contains("layers"))
                throw Error(file_ + ": no cache '" + name + "' in " + std::string(common_file) +
                            ", and no \"layers\" here");
            cache(name, entry);
        }
    }

    void cache(const std::string& name, const Json& json) {
        check_keys(json, {"name", "layers", "k", "v", "r", "s", "cells", "streams", "rotated", "apart"},
                   file_ + ", cache '" + name + "'");
        CacheTemplate c;
        c.name = name;
        const std::pair<const char*, Expression*> fields[] = {{"layers", &c.layers},
                                                              {"k", &c.k},
                                                              {"v", &c.v},
                                                              {"r", &c.r},
                                                              {"s", &c.s},
                                                              {"cells", &c.cells},
                                                              {"streams", &c.streams},
                                                              {"rotated", &c.rotated}};
        for (const auto& [key, field] : fields) {
            if (json.contains(key)) *field = expression(json[key], file_ + ", cache '" + name + "' " + key);
        }
        c.apart = json.contains("apart") && json["apart"] == 1;
        arch_.caches.push_back(std::move(c));
    }

    void refusals(const Json& json) {
        if (!json.contains("refusals")) return;
        for (const Json& entry : json["refusals"])
            arch_.refusals.push_back(
                {expression(entry.value("when", Json()), file_ + ", refusal"), text(entry, "message")});
    }

    void graph(const Json& json, const Json& common) {
        blocks_and_inputs(json, common);
        if (!json.contains("graph")) throw Error(file_ + ": \"graph\" is missing");
        const Json& sections = json["graph"];
        check_keys(sections, {"pre", "layer", "head"}, file_ + ", graph");
        const std::pair<const char*, std::vector<GraphLine>*> parts[] = {
            {"pre", &arch_.graph.pre}, {"layer", &arch_.graph.layer}, {"head", &arch_.graph.head}};
        for (const auto& [name, out] : parts) {
            const std::string label = file_ + ", graph." + name;
            if (!sections.contains(name)) throw Error(label + " is missing");
            graph_.parse_section(lines(sections[name], label), label, *out);
        }
    }

    void blocks_and_inputs(const Json& json, const Json& common) {
        const auto origin = [&](const char* part, const std::string& name, const Json& value) {
            const bool shared = common.contains(part) && common[part].contains(name) && common[part][name] == value;
            return shared ? std::string(common_file) : file_;
        };
        if (json.contains("inputs")) {
            for (const auto& [name, value] : json["inputs"].items())
                graph_.add_input(name, value.is_string() ? value.get<std::string>() : std::string(),
                                 origin("inputs", name, value));
        }
        if (json.contains("blocks")) {
            for (const auto& [name, value] : json["blocks"].items())
                add_block(name, value, origin("blocks", name, value));
        }
    }

    void add_block(const std::string& name, const Json& value, const std::string& file) {
        const auto label = std::make_shared<const std::string>(file + ", block '" + name + "'");
        graph_.add_block(name, {lines(value, *label), label});
    }

    /// An expression or a graph may leave ".weight" out: points every name at the name of a template.
    void link_tensors() {
        arch_.canonical.assign(arch_.tensors.size(), -1);
        for (const TensorTemplate& t : arch_.tensor_templates)
            arch_.canonical[t.name] = static_cast<std::int32_t>(t.name);
        for (std::uint32_t slot = 0; slot < arch_.tensors.size(); ++slot) {
            if (arch_.canonical[slot] >= 0) continue;
            const auto weight = arch_.tensors.find(arch_.tensors.at(slot) + ".weight");
            if (weight) arch_.canonical[slot] = arch_.canonical[*weight];
        }
    }

    Architecture& arch_;
    std::string file_;
    GraphParser graph_;
};

Json parse_json(std::string_view text, std::string_view file) {
    try {
        return Json::parse(text);
    } catch (const Json::parse_error& e) {
        const std::size_t end = std::min<std::size_t>(e.byte, text.size());
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        throw Error(std::string(file) + ", line " + std::to_string(line) + ": not valid JSON");
    } catch (const Json::exception&) { // a number that no double holds
        throw Error(std::string(file) + ": a number is too large");
    }
}

} // namespace

std::shared_ptr<const Architecture> Architecture::parse(std::string_view json, std::string_view common_json,
                                                        std::string_view file) {
    const Json own = parse_json(json, file);
    const Json common = parse_json(common_json, common_file);
    auto architecture = std::make_shared<Architecture>();
    try {
        ArchitectureParser(*architecture, file).parse(common.empty() ? own : self_contained(own, common), common);
    } catch (const Json::exception&) {
        throw Error(std::string(file) +
                    ": a part of it is not of the kind that data/architectures/README.md describes");
    }
    return architecture;
}

} // namespace vramfit
