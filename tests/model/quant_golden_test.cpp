// Every file whose tensors llama-quantize of llama.cpp v0.4.0 planned with its own code: tests/data/quant.
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weights.hpp"

#include "catch.hpp"

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace vramfit;

namespace {

std::ifstream open_data(const std::string& name) {
    std::ifstream file(std::string(VRAMFIT_TEST_DATA) + "/quant/" + name);
    REQUIRE(file);
    return file;
}

QuantMix mix_of(const Model& model, FileType type, bool imatrix) {
    return quant_mix(model, model.architecture->name, type, imatrix);
}

// "with", "without" or both, as the data files write it.
std::vector<bool> imatrix_of(const std::string& column) {
    if (column == "+") return {true};
    if (column == "-") return {false};
    return {true, false};
}

// One line of sizes.txt. Returns the number of files that it speaks of.
int check_sizes(const Model& model, const std::string& line) {
    std::istringstream in(line);
    std::string name;
    std::string imatrix_column;
    std::string bytes;
    std::uint32_t n_fallback = 0;
    std::string mark;
    in >> name >> imatrix_column >> bytes >> n_fallback >> mark;
    int n = 0;
    for (const bool imatrix : imatrix_of(imatrix_column)) {
        INFO(model.id << ' ' << name << (imatrix ? " with" : " without") << " importance matrix");
        const QuantMix mix = mix_of(model, parse_file_type(name), imatrix);
        ++n;
        if (bytes == "impossible") {
            CHECK(mix.refused);
            continue;
        }
        CHECK(file_tensor_bytes(model, mix.types) == std::stoull(bytes));
        CHECK(mix.n_fallback == n_fallback);
        CHECK(mix.refused.has_value() == (!imatrix && mark == "!"));
    }
    return n;
}

// "q6_K" or "q6_K:0-3,6;q4_K:4-5" to the type by block; -1 stands for all blocks.
std::map<int, TensorType> types_by_block(const std::string& text) {
    std::map<int, TensorType> types;
    std::istringstream groups(text);
    for (std::string group; std::getline(groups, group, ';');) {
        const auto colon = group.find(':');
        const TensorType type = parse_tensor_type(group.substr(0, colon)).value();
        if (colon == std::string::npos) {
            types[-1] = type;
            continue;
        }
        std::istringstream ranges(group.substr(colon + 1));
        for (std::string range; std::getline(ranges, range, ',');) {
            const auto dash = range.find('-');
            const int first = std::stoi(range);
            const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
            for (int i = first; i <= last; ++i) {
                types[i] = type;
            }
        }
    }
    return types;
}

using TypesByName = std::map<std::string, std::map<int, TensorType>, std::less<>>;

// Tensors whose type is another than `expected` has, by full name.
std::vector<std::string> wrong_tensors(const Model& model, const QuantMix& mix, const TypesByName& expected) {
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        const auto named = expected.find(model.name_of(tensor));
        std::optional<TensorType> type;
        if (named != expected.end()) {
            const auto& by_block = named->second;
            const auto found = by_block.count(-1) != 0 ? by_block.find(-1) : by_block.find(tensor.layer);
            if (found != by_block.end()) {
                type = found->second;
            }
        }
        if (type != mix.types[i]) {
            wrong.push_back(model.full_name_of(tensor));
        }
    }
    return wrong;
}

} // namespace

TEST_CASE("weights of every file type of every measured model are equal to the byte", "[golden]") {
    std::ifstream file = open_data("sizes.txt");
    Model model;
    int n_models = 0;
    int n_files = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        if (line.starts_with("> ")) {
            model = catalog_model(line.substr(2));
            ++n_models;
        } else {
            n_files += check_sizes(model, line);
        }
    }
    CHECK(n_models == 229);
    CHECK(n_files == 9263);
}

TEST_CASE("every tensor of seven models has the type that llama.cpp gives it", "[golden]") {
    std::ifstream file = open_data("tensor_types.txt");
    Model model;
    TypesByName in_every_file;
    int n_files = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        if (line.starts_with("> ")) {
            model = catalog_model(line.substr(2));
            in_every_file.clear();
            continue;
        }
        std::istringstream in(line);
        std::string first;
        std::string second;
        in >> first >> second;
        if (first == "=") {
            std::string type;
            in >> type;
            in_every_file[second] = types_by_block(type);
            continue;
        }
        TypesByName expected = in_every_file;
        for (std::string assignment; in >> assignment;) {
            const auto equals = assignment.find('=');
            expected[assignment.substr(0, equals)] = types_by_block(assignment.substr(equals + 1));
        }
        for (const bool imatrix : imatrix_of(second)) {
            INFO(model.id << ' ' << first << (imatrix ? " with" : " without") << " importance matrix");
            CHECK(wrong_tensors(model, mix_of(model, parse_file_type(first), imatrix), expected).empty());
            ++n_files;
        }
    }
    CHECK(n_files == 472);
}
