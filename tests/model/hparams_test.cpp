#include "vramfit/model/hparams.hpp"

#include "vramfit/model/model.hpp"

#include "catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using vramfit::Hparams;
using vramfit::Model;
using vramfit::Tensor;
using vramfit::TensorType;

TEST_CASE("a scalar holds for every layer, an array for its own") {
    Hparams h;
    h.set("attention.head_count", 32);
    h.set("attention.head_count_kv", Hparams::Value{8, 0, 4});
    CHECK(h.get("attention.head_count", -1) == 32);
    CHECK(h.get("attention.head_count", -1, 79) == 32);
    CHECK(h.get("attention.head_count_kv", -1) == 8);
    CHECK(h.get("attention.head_count_kv", -1, 2) == 4);
    CHECK(h.get("attention.head_count_kv", -1, 3) == -1);
    CHECK(h.get("block_count", 7) == 7);
}

TEST_CASE("a key that is set again is replaced, an empty array removes it") {
    Hparams h;
    h.set("b", 1);
    h.set("a", 2);
    h.set("b", 3);
    REQUIRE(h.entries().size() == 2);
    CHECK(h.entries().front().first == "a"); // sorted
    CHECK(h.get("b", 0) == 3);
    h.set("b", Hparams::Value{});
    CHECK(h.find("b") == nullptr);
    h.set("c", Hparams::Value{});
    CHECK(h.find("c") == nullptr);
    CHECK(h.find("a") != nullptr);
}

TEST_CASE("a model counts its blocks with and its layers without the MTP blocks") {
    Model model;
    CHECK(model.n_block() == 0);
    CHECK(model.n_layer() == 0);
    CHECK(model.n_ctx_train() == 0);
    model.hparams.set("block_count", 47); // GLM-4.5-Air
    model.hparams.set("nextn_predict_layers", 1);
    model.hparams.set("context_length", 131072);
    CHECK(model.n_block() == 47);
    CHECK(model.n_layer() == 46);
    CHECK(model.n_ctx_train() == 131072);
    model.hparams.set("nextn_predict_layers", 99); // a broken file
    CHECK(model.n_layer() == 0);
    model.hparams.set("block_count", -1);
    CHECK(model.n_block() == 0);
}

TEST_CASE("a tensor's full name carries its block, and parameters add up") {
    Model model;
    model.tensor_names = {"output.weight", "attn_q.weight"};
    Tensor output;
    output.ne = {4096, 128256, 1, 1};
    Tensor attn_q;
    attn_q.name = 1;
    attn_q.layer = 12;
    attn_q.ne = {4096, 4096, 1, 1};
    model.tensors = {output, attn_q};
    CHECK(model.full_name_of(model.tensors[0]) == "output.weight");
    CHECK(model.full_name_of(model.tensors[1]) == "blk.12.attn_q.weight");
    CHECK(model.name_of(model.tensors[1]) == "attn_q.weight");
    CHECK(model.n_parameters() == 525336576 + 16777216);
    CHECK(vramfit::tensor_bytes(attn_q, TensorType::q6_k) == 13762560); // 4096 rows of 16 blocks of 210
}
