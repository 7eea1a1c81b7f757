#include "vramfit/model/safetensors.hpp"

#include "support/errors.hpp"
#include "support/temp_folder.hpp"

#include "catch.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace vramfit;
using test::contains;
using test::error_of;

namespace {

namespace fs = std::filesystem;

/// The bytes of a safetensors file: the header's length, the header, `n` bytes of data.
std::string file_of(const std::string& header, std::size_t n) {
    std::string text;
    for (unsigned i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
    return text + header + std::string(n, '\0');
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// One tensor of a header.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, std::uint64_t begin,
                  std::uint64_t end) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::string error_in(const std::string& header, std::uint64_t data_bytes) {
    return error_of([&] { parse_safetensors_header(header, data_bytes, "x.safetensors"); });
}

std::string error_in(const fs::path& folder) {
    return error_of([&] { hf_weights(folder); });
}

} // namespace

TEST_CASE("the header of a safetensors file gives each tensor's type, shape and place", "[safetensors]") {
    const std::string header = R"({"__metadata__":{"format":"pt","n":{"deep":[1,2.5,-3]}},)" +
                               entry("b", "F8_E4M3", "[2,8]", 24, 40) + "," + entry("a", "BF16", "[3,4]", 0, 24) + "}";
    const SafetensorsHeader read = parse_safetensors_header(header, 40, "x.safetensors");
    REQUIRE(read.tensors.size() == 2);
    CHECK(read.data_bytes == 40);
    CHECK(read.tensors[0].name == "b");
    CHECK(read.tensors[0].dtype == "F8_E4M3");
    CHECK(read.tensors[1].shape == std::vector<std::uint64_t>{3, 4});
    CHECK(read.tensors[1].begin == 0);
    CHECK(read.tensors[1].end == 24);
}

TEST_CASE("scalars, empty tensors and types below a byte have their sizes", "[safetensors]") {
    // 4 x 3 elements of four bits are 6 bytes; a scalar of F32 is 4, a tensor with a dimension of 0 is none.
    const std::string header = "{" + entry("s", "F32", "[]", 0, 4) + "," + entry("e", "I64", "[0,7]", 4, 4) + "," +
                               entry("q", "F4", "[4,3]", 4, 10) + "}";
    CHECK(parse_safetensors_header(header, 10, "x").tensors.size() == 3);
    CHECK(parse_safetensors_header("{}", 0, "x").tensors.empty());
}

TEST_CASE("a header that lies is an error with file and tensor", "[safetensors]") {
    const std::string a = entry("a", "F32", "[2]", 0, 8);
    CHECK(error_in("{" + a + "}", 8) == "no error");
    CHECK(error_in("{" + a + "}", 5) == "x.safetensors ends 3 bytes early: its download is not complete");
    CHECK(error_in("{" + a + "}", 9) == "x.safetensors has 1 bytes that no tensor uses");
    CHECK(error_in("{" + a + "," + a + "}", 8) == "x.safetensors: tensor \"a\" stands twice");
    CHECK(contains(error_in("{" + entry("a", "F32", "[2]", 0, 7) + "}", 7),
                   "has 7 bytes where its shape and type need 8"));
    CHECK(contains(error_in("{" + entry("a", "F32", "[2]", 8, 0) + "}", 8), "ends before it begins"));
    CHECK(contains(error_in("{" + a + "," + entry("b", "F32", "[2]", 4, 12) + "}", 12), "\"b\" overlaps another"));
    CHECK(contains(error_in("{" + a + "," + entry("b", "F32", "[1]", 12, 16) + "}", 16), "\"b\" leaves a hole"));
    CHECK(contains(error_in("{" + entry("a", "F99", "[2]", 0, 8) + "}", 8), "unknown type \"F99\""));
    CHECK(contains(error_in("{" + entry("a", "F32", "[4294967296,4294967296,2]", 0, 8) + "}", 8), "too large"));
    CHECK(contains(error_in("{" + entry("a", "F32", "[-2]", 0, 8) + "}", 8), "\"shape\" is a negative number"));
    CHECK(contains(error_in("{" + entry("a", "F32", "[2.5]", 0, 8) + "}", 8), "\"shape\" is a fraction"));
    CHECK(contains(error_in("{" + entry("a", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", 0, 4) + "}", 4),
                   "more than 16"));
    CHECK(contains(error_in(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4), "not two elements"));
    CHECK(contains(error_in(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "data_offsets is missing"));
    CHECK(contains(error_in(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4), "\"dtype\" is a number"));
    CHECK(contains(error_in(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4),
                   "shape stands twice"));
    CHECK(contains(error_in(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4), "\"shape\" is a list"));
    CHECK(contains(error_in(R"({"a":null})", 4), "null where a tensor would be right"));
    CHECK(contains(error_in("[]", 4), "where a tensor would be right"));
    CHECK(contains(error_in("{\"a\":", 4), "not valid JSON"));
    CHECK(contains(error_in("", 4), "not valid JSON"));
    CHECK(contains(error_in(std::string(100'000, '['), 4), "nested too deeply"));
    CHECK(error_in(R"({"a":{"dtype":"F32","shape":[1e999],"data_offsets":[0,4]}})", 4) != "no error");
}

TEST_CASE("a safetensors file is read up to the end of its header", "[safetensors]") {
    const test::TempFolder folder;
    const std::string header = "{" + entry("a", "F32", "[2]", 0, 8) + "}";
    write(folder.path() / "good.safetensors", file_of(header, 8));
    CHECK(read_safetensors_header(folder.path() / "good.safetensors").tensors.size() == 1);

    const auto error_of_file = [&](const std::string& text) {
        write(folder.path() / "bad.safetensors", text);
        return error_of([&] { read_safetensors_header(folder.path() / "bad.safetensors"); });
    };
    CHECK(contains(error_of_file(""), "too short"));
    CHECK(contains(error_of_file("1234567"), "too short"));
    CHECK(contains(error_of_file(file_of(header, 0)), "ends 8 bytes early"));
    CHECK(contains(error_of_file(file_of(header, 8).substr(0, 20)), "its download is not complete"));
    CHECK(contains(error_of_file("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "a header of 18446744073709551615 bytes"));
    CHECK(contains(error_of([&] { read_safetensors_header(folder.path()); }), "folder"));
    CHECK(contains(error_of([&] { read_safetensors_header(folder.path() / "none"); }), "no file"));
}

TEST_CASE("the weights of a folder are added up by type", "[safetensors]") {
    const test::TempFolder folder;
    CHECK_FALSE(hf_weights(folder.path()).has_value());
    write(folder.path() / "model.safetensors",
          file_of("{" + entry("q", "I32", "[4]", 0, 16) + "," + entry("s", "F16", "[2]", 16, 20) + "}", 20));
    write(folder.path() / "config.json", R"({"quantization_config":{"quant_method":"awq","bits":4,"group_size":128}})");
    const auto weights = hf_weights(folder.path());
    REQUIRE(weights.has_value());
    CHECK(weights->bytes == 20);
    CHECK(weights->n_tensors == 2);
    CHECK(weights->n_files == 1);
    REQUIRE(weights->by_dtype.size() == 2);
    CHECK(weights->by_dtype[0] == std::pair<std::string, std::uint64_t>("I32", 16));
    CHECK(weights->quantization == "awq");
    CHECK(weights->bits == 4);
}

TEST_CASE("a set of shards is read as its index says", "[safetensors]") {
    const test::TempFolder folder;
    const fs::path index = folder.path() / "model.safetensors.index.json";
    const std::string first = "model-00001-of-00002.safetensors", second = "model-00002-of-00002.safetensors";
    write(index, R"({"metadata":{"total_size":12},"weight_map":{"a":")" + first + R"(","b":")" + second + R"("}})");

    // Nothing but the index, as after a download without the weights: its total is what counts.
    CHECK(hf_weights(folder.path())->bytes == 12);
    CHECK(hf_weights(folder.path())->n_files == 2);
    CHECK(hf_weights(folder.path())->n_tensors == 0);

    write(folder.path() / first, file_of("{" + entry("a", "F32", "[2]", 0, 8) + "}", 8));
    CHECK(contains(error_in(folder.path()), "\"" + second + "\", which its index names, is missing"));
    write(folder.path() / second, file_of("{" + entry("b", "F32", "[1]", 0, 4) + "}", 4));
    CHECK(hf_weights(folder.path())->bytes == 12);
    CHECK(hf_weights(folder.path())->n_tensors == 2);

    write(folder.path() / second, file_of("{" + entry("a", "F32", "[1]", 0, 4) + "}", 4));
    CHECK(contains(error_in(folder.path()), "tensor \"a\" stands in two files"));
    write(folder.path() / second, file_of("{" + entry("c", "F32", "[1]", 0, 4) + "}", 4));
    CHECK(contains(error_in(folder.path()), "1 of the tensors that the index says are in it are not"));

    write(index, R"({"weight_map":{"a":"../other.safetensors"}})");
    CHECK(contains(error_in(folder.path()), "\"../other.safetensors\" is no name of a safetensors file"));
    write(index, R"({"weight_map":{"a":3}})");
    CHECK(contains(error_in(folder.path()), "the file of tensor \"a\" is no text"));
    write(index, R"({"weight_map":{}})");
    CHECK(contains(error_in(folder.path()), "\"weight_map\" is empty"));
    write(index, "{}");
    CHECK(contains(error_in(folder.path()), "no \"weight_map\""));
    write(index, "");
    CHECK(contains(error_in(folder.path()), "is empty"));
}

TEST_CASE("a set without an index names its missing part", "[safetensors]") {
    const test::TempFolder folder;
    write(folder.path() / "model-00001-of-00003.safetensors", file_of("{}", 0));
    write(folder.path() / "model-00003-of-00003.safetensors", file_of("{}", 0));
    write(folder.path() / "model-1-of-3.safetensors", "not one of them");
    CHECK(contains(error_in(folder.path()), "part 2 of 3"));
    write(folder.path() / "model-00002-of-00003.safetensors", file_of("{}", 0));
    CHECK(hf_weights(folder.path())->n_files == 3);
}

TEST_CASE("a cycle of links is an error, not a hang", "[safetensors]") {
    const test::TempFolder folder;
    std::error_code failed;
    fs::create_symlink("model.safetensors", folder.path() / "model.safetensors", failed);
    if (failed) return; // no links here
    CHECK(error_in(folder.path()) != "no error");
}

TEST_CASE("quantizations have the names that --quant knows", "[safetensors]") {
    const test::TempFolder folder;
    write(folder.path() / "model.safetensors", file_of("{}", 0));
    const auto name_of = [&](const std::string& config) {
        write(folder.path() / "config.json", config);
        return hf_weights(folder.path())->quantization;
    };
    CHECK(name_of("{}").empty());
    CHECK(name_of(R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})") == "fp8");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"gptq","bits":8}})") == "gptq");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"mxfp4"}})") == "mxfp4");
    CHECK(
        name_of(
            R"({"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"nf4"}})") ==
        "bnb-nf4");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"bitsandbytes","load_in_8bit":true}})") == "bnb-int8");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})") == "nvfp4");
    CHECK(
        name_of(
            R"({"text_config":{"quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized"}}})") ==
        "fp8");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"}})") ==
          "nvfp4");
    CHECK(name_of(R"({"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized"}})") ==
          "compressed-tensors");
    CHECK(name_of("{\"quantization_config\":{\"quant_method\":\"\\u001b[31m\"}}") == "unknown");
    write(folder.path() / "hf_quant_config.json", R"({"quantization":{"quant_algo":"NVFP4"}})");
    CHECK(name_of("{}") == "nvfp4");
}
