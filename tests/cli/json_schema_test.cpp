#include "catch.hpp"
#include "cli/json_schema.hpp"

#include <stdexcept>

using nlohmann::json;
using vramfit::test::JsonSchema;
using Errors = std::vector<std::string>;

TEST_CASE("the schema validator finds what is wrong, and where") {
    const JsonSchema schema(json::parse(R"({
        "type": "object", "required": ["a"],
        "properties": {"a": {"$ref": "#/$defs/size"}, "b": {"enum": ["x", "y"]}, "c": {"type": ["string", "null"]},
                       "d": {"type": "array", "items": {"type": "integer"}},
                       "e": {"type": "object", "additionalProperties": {"type": "integer"}}},
        "$defs": {"size": {"type": "integer", "minimum": 0}}})"));

    CHECK(schema.errors(json::parse(R"({"a": 0, "b": "x", "c": null, "d": [1, 2], "e": {"f": 1}})")).empty());
    CHECK(schema.errors(json::parse("[]")) == Errors{R"(: must be of type "object")"});
    CHECK(schema.errors(json::parse("{}")) == Errors{R"(: misses "a")"});
    CHECK(schema.errors(json::parse(R"({"a": -1})")) == Errors{"/a: must be at least 0"});
    CHECK(schema.errors(json::parse(R"({"a": 1.5})")) == Errors{R"(/a: must be of type "integer")"});
    CHECK(schema.errors(json::parse(R"({"a": 1, "b": "z"})")) == Errors{R"(/b: must be one of ["x","y"])"});
    CHECK(schema.errors(json::parse(R"({"a": 1, "c": 2})")) == Errors{R"(/c: must be of type ["string","null"])"});
    CHECK(schema.errors(json::parse(R"({"a": 1, "d": [1, "2"]})")) == Errors{R"(/d/1: must be of type "integer")"});
    CHECK(schema.errors(json::parse(R"({"a": 1, "e": {"f": "g"}})")) == Errors{R"(/e/f: must be of type "integer")"});
    CHECK(schema.errors(json::parse(R"({"a": 1, "new": 2})")) == Errors{"/new: is not described"});
}

TEST_CASE("the schema validator refuses a schema that it cannot check") {
    CHECK_THROWS_AS(JsonSchema(json::parse(R"({"pattern": "x"})")).errors("x"), std::runtime_error);
}
