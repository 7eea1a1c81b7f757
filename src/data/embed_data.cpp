// Turns the JSON files of `data/` into one C++ source of constant arrays: embed_data DATA_DIR OUTPUT.cpp
//
// Runs at build time. The text of each file, and of each model and GPU on its own, is minified; names are sorted under
// their normalised form, so that the program finds an entry by binary search and parses nothing else. A mistake in the
// data stops the build with one line that names the file and the entry.

#include "model/self_contained.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using vramfit::Error;

constexpr const char* common_path = "architectures/common.json";

struct File {
    std::string path; // under data/
    std::string json;
};

struct Entry {
    std::string id;
    std::string group;
    std::string json;
    std::string path; // for messages
    std::vector<std::string> names;
};

struct Name {
    std::string key;
    std::string written;
    std::size_t entry = 0;
};

/// What may share a spelling: models nothing, GPUs everything but the id (drivers report one name for several cards).
enum class Sharing { none, names };

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Parses JSON and refuses a key that stands twice in one object, which the parser itself would let pass.
Json parse(const std::string& path, const std::string& text) {
    std::vector<std::set<std::string>> open_objects;
    const auto check_keys = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
        if (event == Json::parse_event_t::object_end) open_objects.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto key = parsed.get<std::string>();
            if (!open_objects.back().insert(key).second)
                throw Error(path + ": the key \"" + key + "\" stands twice in one object");
        }
        return true;
    };
    try {
        return Json::parse(text, check_keys);
    } catch (const Json::parse_error& e) {
        const auto upto = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
        const std::string message = e.what();
        const auto detail = message.find(": ");
        throw Error(path + ":" + std::to_string(1 + std::count(text.begin(), upto, '\n')) + ": " +
                    (detail == std::string::npos ? message : message.substr(detail + 2)));
    }
}

std::string text_field(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) throw Error(where + ": \"" + key + "\" is missing");
    if (!found->is_string() || found->get_ref<const std::string&>().empty()) {
        throw Error(where + ": \"" + key + "\" must be a text that is not empty");
    }
    return found->get<std::string>();
}

std::vector<std::string> names_of(const Json& entry, const std::string& id, const std::string& where) {
    std::vector<std::string> names{id};
    if (entry.contains("name")) names.push_back(text_field(entry, "name", where));
    if (const auto aliases = entry.find("aliases"); aliases != entry.end()) {
        if (!aliases->is_array()) throw Error(where + ": \"aliases\" must be a list of texts");
        for (const Json& alias : *aliases) {
            if (!alias.is_string()) throw Error(where + ": \"aliases\" must be a list of texts, not " + alias.dump());
            names.push_back(alias.get<std::string>());
        }
    }
    for (const std::string& name : names) {
        if (vramfit::normalize_name(name).empty())
            throw Error(where + ": the name \"" + name + "\" holds no letter or digit");
    }
    return names;
}

Entry make_entry(const Json& object, const std::string& where, const std::string& path) {
    if (!object.is_object()) throw Error(where + ": must be an object");
    Entry entry;
    entry.path = path;
    entry.id = text_field(object, "id", where);
    entry.names = names_of(object, entry.id, path + ": " + entry.id);
    entry.json = object.dump();
    return entry;
}

const Json& list_field(const Json& document, const char* key, const std::string& path) {
    if (!document.is_object() || !document.contains(key) || !document[key].is_array()) {
        throw Error(path + ": must be an object with a list \"" + key + "\"");
    }
    return document[key];
}

void add_models(const Json& document, const std::string& path, std::vector<Entry>& models) {
    const Json& list = list_field(document, "models", path);
    const std::string family = text_field(document, "family", path);
    for (std::size_t i = 0; i < list.size(); ++i) {
        models.push_back(make_entry(list[i], path + ": models[" + std::to_string(i) + "]", path));
        models.back().group = family;
    }
}

void add_gpus(const Json& document, const std::string& path, std::vector<Entry>& gpus) {
    const Json& list = list_field(document, "gpus", path);
    for (std::size_t i = 0; i < list.size(); ++i) {
        gpus.push_back(make_entry(list[i], path + ": gpus[" + std::to_string(i) + "]", path));
        gpus.back().group = text_field(list[i], "vendor", path + ": " + gpus.back().id);
    }
}

void sort_entries(std::vector<Entry>& entries) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
    for (std::size_t i = 1; i < entries.size(); ++i) {
        const Entry& a = entries[i - 1];
        const Entry& b = entries[i];
        if (a.id == b.id) throw Error(b.path + ": the id \"" + b.id + "\" stands twice, also in " + a.path);
    }
}

/// "Llama-3.1-8B-Instruct" of "meta-llama/Llama-3.1-8B-Instruct", where no other entry is called so: people leave the
/// owner out.
void add_names_without_owner(std::vector<Entry>& entries) {
    std::map<std::string, std::set<const Entry*>> called;
    std::vector<std::pair<Entry*, std::string>> shorter;
    for (Entry& entry : entries) {
        for (const std::string& name : entry.names) {
            called[vramfit::normalize_name(name)].insert(&entry);
            const std::size_t slash = name.find('/');
            if (slash == std::string::npos || name.find('/', slash + 1) != std::string::npos) continue;
            shorter.emplace_back(&entry, name.substr(slash + 1));
        }
    }
    for (const auto& [entry, name] : shorter) called[vramfit::normalize_name(name)].insert(entry);
    for (auto& [entry, name] : shorter) {
        if (called[vramfit::normalize_name(name)].size() == 1) entry->names.push_back(std::move(name));
    }
}

/// All names of `entries`, sorted for the search. Two entries with one spelling are a mistake, see `Sharing`.
std::vector<Name> index_names(const std::vector<Entry>& entries, Sharing sharing) {
    std::map<std::string_view, std::size_t> owners; // spelling that is taken -> entry
    for (std::size_t i = 0; i < entries.size(); ++i) owners.emplace(entries[i].id, i);
    std::set<std::tuple<std::string, std::string, std::size_t>> sorted;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (const std::string& written : entries[i].names) {
            auto owner = owners.find(written);
            if (owner == owners.end() && sharing == Sharing::none) owner = owners.emplace(written, i).first;
            if (owner != owners.end() && owner->second != i) {
                const Entry& other = entries[owner->second];
                throw Error(entries[i].path + ": the name \"" + written + "\" of " + entries[i].id + " also names " +
                            other.id + " (" + other.path + ")");
            }
            sorted.emplace(vramfit::normalize_name(written), written, i);
        }
    }
    std::vector<Name> names;
    names.reserve(sorted.size());
    for (const auto& [key, written, entry] : sorted) names.push_back({key, written, entry});
    return names;
}

/// A string literal, cut into lines. Bytes outside of printable ASCII are octal escapes of full length.
void write_literal(std::ostream& out, std::string_view text) {
    constexpr std::size_t line_length = 4000;
    out << '"';
    std::size_t in_line = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out << '\\' << c;
        } else if (byte < 0x20 || byte > 0x7e) {
            const auto digit = [&](unsigned shift) { return static_cast<char>('0' + ((byte >> shift) & 7U)); };
            out << '\\' << digit(6) << digit(3) << digit(0);
        } else {
            out << c;
        }
        if (++in_line == line_length) {
            out << "\"\n\"";
            in_line = 0;
        }
    }
    out << '"';
}

/// `{"text", length}`: with the length written out the compiler need not measure it.
void write_view(std::ostream& out, std::string_view text) {
    out << '{';
    write_literal(out, text);
    out << ", " << text.size() << '}';
}

/// One table as an array of constants and the span that shows it; an empty table needs no array.
template <typename Rows, typename WriteRow>
void write_table(std::ostream& out, std::string_view type, std::string_view name, const Rows& rows,
                 WriteRow write_row) {
    if (rows.empty()) {
        out << "constinit const std::span<const " << type << "> " << name << ";\n\n";
        return;
    }
    out << "static constexpr " << type << ' ' << name << "_rows[] = {\n";
    for (const auto& row : rows) {
        write_row(row);
        out << ",\n";
    }
    out << "};\nconstinit const std::span<const " << type << "> " << name << "{" << name << "_rows};\n\n";
}

void write_entries(std::ostream& out, std::string_view name, const std::vector<Entry>& entries) {
    write_table(out, "Entry", name, entries, [&](const Entry& entry) {
        out << '{';
        write_view(out, entry.id);
        out << ", ";
        write_view(out, entry.group);
        out << ", ";
        write_view(out, entry.json);
        out << '}';
    });
}

void write_names(std::ostream& out, std::string_view name, const std::vector<Name>& names) {
    write_table(out, "Name", name, names, [&](const Name& row) {
        out << '{';
        write_view(out, row.key);
        out << ", ";
        write_view(out, row.written);
        out << ", " << row.entry << '}';
    });
}

std::vector<fs::path> json_files(const fs::path& folder) {
    std::vector<fs::path> paths;
    if (!fs::is_directory(folder)) return paths;
    for (const auto& item : fs::directory_iterator(folder)) {
        if (item.is_regular_file() && item.path().extension() == ".json") paths.push_back(item.path());
    }
    return paths;
}

struct Data {
    std::vector<File> files;
    std::vector<Entry> models;
    std::vector<Entry> gpus;
};

Data load(const fs::path& root) {
    if (!fs::is_directory(root)) throw Error(root.string() + " is not a folder");
    Data data;
    const bool has_common = fs::is_regular_file(root / common_path);
    const Json common = has_common ? parse("data/" + std::string(common_path), read_file(root / common_path)) : Json();
    for (const char* folder : {"", "architectures", "command_lines", "models", "schema"}) {
        for (const fs::path& path : json_files(root / folder)) {
            const std::string name = path.lexically_relative(root).generic_string();
            const std::string shown = "data/" + name;
            const Json document = parse(shown, read_file(path));
            if (std::string_view(folder) == "models") {
                add_models(document, shown, data.models);
            } else if (name == "gpus.json") {
                add_gpus(document, shown, data.gpus);
            } else {
                data.files.push_back({name, document.dump()});
                if (std::string_view(folder) == "architectures" && name != common_path)
                    data.files.back().json = vramfit::self_contained(document, common).dump();
            }
        }
    }
    std::sort(data.files.begin(), data.files.end(), [](const File& a, const File& b) { return a.path < b.path; });
    sort_entries(data.models);
    sort_entries(data.gpus);
    add_names_without_owner(data.models);
    return data;
}

std::string generate(const Data& data) {
    std::ostringstream out;
    out << "// Generated from data/ by src/data/embed_data.cpp: do not edit.\n// NOLINTBEGIN\n"
           "#include \"base/embedded_tables.hpp\"\n\nnamespace vramfit::embedded::tables {\n\n";
    write_table(out, "std::string_view", "file_paths", data.files, [&](const File& f) { write_view(out, f.path); });
    write_table(out, "std::string_view", "file_texts", data.files, [&](const File& f) { write_view(out, f.json); });
    write_entries(out, "models", data.models);
    write_entries(out, "gpus", data.gpus);
    write_names(out, "model_names", index_names(data.models, Sharing::none));
    write_names(out, "gpu_names", index_names(data.gpus, Sharing::names));
    out << "} // namespace vramfit::embedded::tables\n// NOLINTEND\n";
    return out.str();
}

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw Error("cannot write " + path.string());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: embed_data DATA_DIR OUTPUT.cpp\n";
        return 2;
    }
    try {
        write_file(argv[2], generate(load(argv[1])));
    } catch (const std::exception& e) {
        std::cerr << "embed_data: " << e.what() << '\n';
        return 1;
    }
    return 0;
}
