#pragma once

#include "support/data_file.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

/// A validator for the part of JSON Schema 2020-12 that data/schema/ uses. A keyword that it does not know is an error,
/// so that a schema cannot promise what nobody checks; so is a key of the document that the schema does not describe.
namespace vramfit::test {

class JsonSchema {
public:
    explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

    /// data/schema/NAME.json.
    static JsonSchema of_file(const std::string& name) {
        return JsonSchema(
            nlohmann::json::parse(read_file(std::string(VRAMFIT_DATA_DIR) + "/schema/" + name + ".json")));
    }

    /// What is wrong with `document`: "/model/id: must be of type string", or nothing.
    std::vector<std::string> errors(const nlohmann::json& document) const {
        std::vector<std::string> found;
        check(document, root_, "", found);
        return found;
    }

private:
    using Json = nlohmann::json;

    static bool is_of_type(const Json& value, const std::string& type) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        if (type == "boolean") return value.is_boolean();
        if (type == "null") return value.is_null();
        throw std::runtime_error("schema: unknown type " + type);
    }

    static bool is_of_types(const Json& value, const Json& types) {
        if (types.is_string()) return is_of_type(value, types.get<std::string>());
        for (const Json& type : types) {
            if (is_of_type(value, type.get<std::string>())) return true;
        }
        return false;
    }

    void check(const Json& value, const Json& schema, const std::string& path, std::vector<std::string>& found) const {
        static const std::set<std::string> silent{"$schema", "$id", "$defs", "title", "description"};
        for (const auto& [keyword, rule] : schema.items()) {
            if (silent.count(keyword) > 0) continue;
            if (keyword == "$ref") {
                check(value, resolve(rule.get<std::string>()), path, found);
            } else if (keyword == "type") {
                if (!is_of_types(value, rule)) found.push_back(path + ": must be of type " + rule.dump());
            } else if (keyword == "const") {
                if (value != rule) found.push_back(path + ": must be " + rule.dump());
            } else if (keyword == "enum") {
                if (std::find(rule.begin(), rule.end(), value) == rule.end())
                    found.push_back(path + ": must be one of " + rule.dump());
            } else if (keyword == "minimum") {
                if (value.is_number() && value < rule) found.push_back(path + ": must be at least " + rule.dump());
            } else if (keyword == "required") {
                check_required(value, rule, path, found);
            } else if (keyword == "items") {
                check_items(value, rule, path, found);
            } else if (keyword != "properties" && keyword != "additionalProperties") {
                throw std::runtime_error("schema: unknown keyword " + keyword);
            }
        }
        if (schema.contains("properties") || schema.contains("additionalProperties"))
            check_properties(value, schema, path, found);
    }

    const Json& resolve(const std::string& reference) const {
        if (reference.rfind("#/", 0) != 0) throw std::runtime_error("schema: not a reference of its own: " + reference);
        return root_.at(Json::json_pointer(reference.substr(1)));
    }

    static void check_required(const Json& value, const Json& names, const std::string& path,
                               std::vector<std::string>& found) {
        if (!value.is_object()) return;
        for (const Json& name : names) {
            if (!value.contains(name.get<std::string>())) found.push_back(path + ": misses " + name.dump());
        }
    }

    void check_items(const Json& value, const Json& schema, const std::string& path,
                     std::vector<std::string>& found) const {
        if (!value.is_array()) return;
        for (std::size_t i = 0; i < value.size(); ++i) check(value[i], schema, path + "/" + std::to_string(i), found);
    }

    void check_properties(const Json& value, const Json& schema, const std::string& path,
                          std::vector<std::string>& found) const {
        if (!value.is_object()) return;
        static const Json none = Json::object();
        const Json& known = schema.contains("properties") ? schema["properties"] : none;
        for (const auto& [name, member] : value.items()) {
            const std::string member_path = path + "/" + name;
            if (known.contains(name)) {
                check(member, known[name], member_path, found);
            } else if (schema.contains("additionalProperties")) {
                check(member, schema["additionalProperties"], member_path, found);
            } else {
                found.push_back(member_path + ": is not described");
            }
        }
    }

    Json root_;
};

} // namespace vramfit::test
