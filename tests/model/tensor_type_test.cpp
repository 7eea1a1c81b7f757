#include "vramfit/model/tensor_type.hpp"

#include "vramfit/base/error.hpp"

#include "catch.hpp"

using vramfit::parse_tensor_type;
using vramfit::row_size;
using vramfit::tensor_type_from_id;
using vramfit::TensorType;
using vramfit::traits;

TEST_CASE("blocks and their bytes are those of ggml-common.h") {
    struct Row {
        TensorType type;
        unsigned block;
        unsigned bytes;
    };
    // A block of q4_0 is an f16 scale and 32 nibbles: 2 + 16. q6_K: 128 + 64 + 16 bytes and an f16 scale.
    const Row rows[] = {
        {TensorType::f32, 1, 4},        {TensorType::f16, 1, 2},       {TensorType::bf16, 1, 2},
        {TensorType::q4_0, 32, 18},     {TensorType::q4_1, 32, 20},    {TensorType::q5_0, 32, 22},
        {TensorType::q5_1, 32, 24},     {TensorType::q8_0, 32, 34},    {TensorType::q2_k, 256, 84},
        {TensorType::q3_k, 256, 110},   {TensorType::q4_k, 256, 144},  {TensorType::q5_k, 256, 176},
        {TensorType::q6_k, 256, 210},   {TensorType::iq1_s, 256, 50},  {TensorType::iq1_m, 256, 56},
        {TensorType::iq2_xxs, 256, 66}, {TensorType::iq2_xs, 256, 74}, {TensorType::iq2_s, 256, 82},
        {TensorType::iq3_xxs, 256, 98}, {TensorType::iq3_s, 256, 110}, {TensorType::iq4_xs, 256, 136},
        {TensorType::iq4_nl, 32, 18},   {TensorType::tq1_0, 256, 54},  {TensorType::tq2_0, 256, 66},
        {TensorType::mxfp4, 32, 17},    {TensorType::nvfp4, 64, 36},   {TensorType::q1_0, 128, 18},
        {TensorType::q2_0, 64, 18},     {TensorType::i32, 1, 4},       {TensorType::i64, 1, 8},
    };
    for (const Row& row : rows) {
        INFO(traits(row.type).name);
        CHECK(traits(row.type).block == row.block);
        CHECK(traits(row.type).block_bytes == row.bytes);
    }
}

TEST_CASE("every type that ggml has is found by number and by name") {
    int n = 0;
    for (unsigned id = 0; id < 300; ++id) {
        const auto type = tensor_type_from_id(id);
        if (!type) continue;
        ++n;
        CHECK(static_cast<unsigned>(*type) == id);
        CHECK(parse_tensor_type(traits(*type).name) == type);
    }
    CHECK(n == 35); // 43 numbers, 8 of them given up
}

TEST_CASE("numbers that ggml has given up or never had are no types") {
    for (const unsigned id : {4U, 5U, 31U, 33U, 36U, 38U, 43U, 255U, 4294967295U}) {
        CHECK_FALSE(tensor_type_from_id(id));
    }
    CHECK_THROWS_AS(traits(static_cast<TensorType>(4)), vramfit::Error);
    CHECK_THROWS_AS(traits(static_cast<TensorType>(43)), vramfit::Error);
}

TEST_CASE("letter case of a type's name is forgiven, other names are not") {
    CHECK(parse_tensor_type("q4_k") == TensorType::q4_k);
    CHECK(parse_tensor_type("Q8_0") == TensorType::q8_0);
    CHECK(parse_tensor_type("BF16") == TensorType::bf16);
    CHECK_FALSE(parse_tensor_type("q4_k_m"));
    CHECK_FALSE(parse_tensor_type("q8"));
    CHECK_FALSE(parse_tensor_type(""));
}

TEST_CASE("a row's size divides last, as in ggml_row_size") {
    CHECK(row_size(TensorType::f16, 4096) == 8192);
    CHECK(row_size(TensorType::q4_k, 4096) == 2304);                   // 16 blocks of 144
    CHECK(row_size(TensorType::q8_0, 1024) == 1088);                   // 32 blocks of 34
    CHECK(row_size(TensorType::q4_k, 128) == 72);                      // half a block
    CHECK(row_size(TensorType::q8_0, 1ULL << 40) == 1168231104512ULL); // more than 32 bits
}
