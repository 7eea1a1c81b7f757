#include "vramfit/model/file_type.hpp"

#include "vramfit/base/error.hpp"

#include "catch.hpp"

#include <string>
#include <string_view>

using vramfit::file_type_from_number;
using vramfit::file_types;
using vramfit::FileType;
using vramfit::parse_file_type;
using vramfit::TensorType;
using vramfit::traits;

namespace {

std::string error_for(std::string_view name) {
    try {
        parse_file_type(name);
    } catch (const vramfit::Error& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("every file type is found by its place, name and number") {
    for (std::size_t i = 0; i < file_types.size(); ++i) {
        const auto& known = file_types[i];
        INFO(known.name);
        CHECK(static_cast<std::size_t>(known.type) == i);
        CHECK(&traits(known.type) == &known);
        CHECK(parse_file_type(known.name) == known.type);
        CHECK(file_type_from_number(known.number) == known.type);
        CHECK_FALSE(known.description.empty());
        CHECK(known.description.size() <= 64);
    }
}

TEST_CASE("numbers are those of llama.h") {
    CHECK(file_type_from_number(15) == FileType::q4_k_m);
    CHECK(file_type_from_number(7) == FileType::q8_0);
    CHECK(file_type_from_number(32) == FileType::bf16);
    CHECK(file_type_from_number(38) == FileType::mxfp4_moe);
    CHECK_FALSE(file_type_from_number(5));    // Q4_2, removed
    CHECK_FALSE(file_type_from_number(39));   // NVFP4: llama-quantize cannot make it
    CHECK_FALSE(file_type_from_number(1024)); // "guessed"
}

TEST_CASE("IQ2_S and IQ2_M are made of the type below their name") {
    CHECK(traits(FileType::iq2_s).base == TensorType::iq2_xs);
    CHECK(traits(FileType::iq2_m).base == TensorType::iq2_s);
    CHECK(traits(FileType::iq3_xs).base == TensorType::iq3_s);
}

TEST_CASE("case and separators are forgiven, aliases known") {
    CHECK(parse_file_type("q4_k_m") == FileType::q4_k_m);
    CHECK(parse_file_type("Q4-K-M") == FileType::q4_k_m);
    CHECK(parse_file_type("iq2_xxs") == FileType::iq2_xxs);
    CHECK(parse_file_type("q3_k") == FileType::q3_k_m);
    CHECK(parse_file_type("q4_k") == FileType::q4_k_m);
    CHECK(parse_file_type("Q5_K") == FileType::q5_k_m);
    CHECK(parse_file_type("q2_k") == FileType::q2_k); // a file type of its own
    CHECK(parse_file_type("mxfp4") == FileType::mxfp4_moe);
    CHECK(parse_file_type("fp16") == FileType::f16);
}

TEST_CASE("an unknown quantization names what is near") {
    CHECK(error_for("q4_k_x") == "unknown quantization \"q4_k_x\"; did you mean Q4_K_M or Q4_K_S?");
    CHECK(error_for("Q4_K_XL").find("; did you mean Q4_K_M, Q4_K_S") != std::string::npos);
    CHECK(error_for("banana") == "unknown quantization \"banana\"; 'vramfit quants' lists all, such as Q4_K_M or Q8_0");
    CHECK(error_for("UD-Q4_K_XL").find("give the .gguf file itself") != std::string::npos);
    CHECK(error_for("").find("unknown quantization \"\"") == 0);
}

TEST_CASE("formats of other runtimes are told from typing errors") {
    for (const std::string_view name : {"awq", "GPTQ", "fp8", "nvfp4", "bnb-nf4", "mlx-4bit", "exl2"}) {
        INFO(name);
        CHECK(error_for(name).find("is no GGUF file type: it belongs to other runtimes") != std::string::npos);
    }
}
