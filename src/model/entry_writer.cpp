#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/user_catalog.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

/// Whole numbers are written as such: a person reads "4096", not "4096.0".
Json number_json(double value) {
    constexpr double exact = 9007199254740992.0; // 2^53
    if (std::trunc(value) == value && std::abs(value) <= exact) return static_cast<std::int64_t>(value);
    return value;
}

Json hparams_json(const Hparams& hparams) {
    Json json = Json::object();
    for (const auto& [key, value] : hparams.entries()) {
        if (value.size() == 1) {
            json[key] = number_json(value.front());
            continue;
        }
        Json list = Json::array();
        for (const double element : value) list.push_back(number_json(element));
        json[key] = std::move(list);
    }
    return json;
}

/// The optional tensors that the model has, in the architecture's order.
std::vector<std::string> optional_of(const Model& model) {
    const Architecture& architecture = *model.architecture;
    std::vector<std::string> optional;
    for (const TensorTemplate& t : architecture.tensor_templates) {
        const std::string& name = architecture.tensors.at(t.name);
        const bool has = std::ranges::find(model.tensor_names, name) != model.tensor_names.end();
        if (t.optional && has && std::ranges::find(optional, name) == optional.end()) optional.push_back(name);
    }
    return optional;
}

using Shape = std::tuple<std::string, std::array<std::uint64_t, 4>>;

std::set<Shape> shapes_of(const Model& model) {
    std::set<Shape> shapes;
    for (const Tensor& tensor : model.tensors) shapes.emplace(model.full_name_of(tensor), tensor.ne);
    return shapes;
}

/// Throws where the entry makes other tensors: the first that only one of the two has.
void check_same(const Model& model, const std::string& entry) {
    const std::set<Shape> here = shapes_of(model);
    const std::set<Shape> there = shapes_of(model_from_entry(entry));
    std::vector<Shape> differences;
    std::ranges::set_symmetric_difference(here, there, std::back_inserter(differences));
    if (differences.empty()) return;
    throw Error("no catalog entry describes " + quote(model.id) + ": the tensor " +
                quote(std::get<0>(differences.front())) + " is not as its architecture " + model.architecture->name +
                " has it");
}

/// Two-space indent; lists on one line.
std::string text_of(const Json& json, std::size_t indent = 0) {
    if (json.is_array()) {
        std::string text;
        for (const Json& item : json) text += (text.empty() ? "" : ", ") + text_of(item);
        return "[" + text + "]";
    }
    if (!json.is_object()) return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string text;
    for (const auto& [key, value] : json.items())
        text += (text.empty() ? "\n" : ",\n") + std::string(indent + 2, ' ') + text_of(key) + ": " +
                text_of(value, indent + 2);
    return "{" + text + "\n" + std::string(indent, ' ') + "}";
}

} // namespace

std::string catalog_entry_of(const Model& model) {
    Json json = {{"id", model.id},
                 {"architecture", model.architecture->name},
                 {"parameters", model.n_parameters()},
                 {"hparams", hparams_json(model.hparams)},
                 {"optional", optional_of(model)}};
    if (json["optional"].empty()) json.erase("optional");
    const std::string text = text_of(json);
    check_same(model, text);
    return text + "\n";
}

} // namespace vramfit
