#include "vramfit/memory/allocator.hpp"

#include "catch.hpp"

using namespace vramfit;

namespace {

/// The free blocks but the endless last one, as (offset, size).
std::vector<Pool::Block> holes(const Pool& pool) {
    std::vector<Pool::Block> blocks(pool.blocks().begin(), pool.blocks().end());
    blocks.pop_back();
    return blocks;
}

using Blocks = std::vector<Pool::Block>;

} // namespace

TEST_CASE("a pool grows at its end, in multiples of the alignment") {
    Pool pool(128);
    CHECK(pool.max_size() == 0);
    CHECK(pool.alloc(100) == 0);
    CHECK(pool.alloc(128) == 128);
    CHECK(pool.alloc(129) == 256);
    CHECK(pool.max_size() == 512);
    CHECK(holes(pool).empty());
}

TEST_CASE("a request takes the smallest hole that holds it") {
    Pool pool(32);
    pool.alloc(320); // 0
    pool.alloc(32);  // 320
    pool.alloc(96);  // 352
    pool.alloc(32);  // 448
    pool.free(0, 320);
    pool.free(352, 96);
    REQUIRE(holes(pool) == Blocks{{0, 320}, {352, 96}});
    CHECK(pool.alloc(64) == 352); // 96 is closer to 64 than 320
    CHECK(holes(pool) == Blocks{{0, 320}, {416, 32}});
    CHECK(pool.alloc(64) == 0);
    CHECK(pool.alloc(512) == 480); // no hole holds it: the end
    CHECK(pool.max_size() == 992);
}

TEST_CASE("of equal holes the one at the highest offset is taken") {
    Pool pool(32);
    for (int i = 0; i < 6; ++i) pool.alloc(64); // 0, 64, ... 320
    pool.free(0, 64);
    pool.free(128, 64);
    pool.free(256, 64);
    CHECK(pool.alloc(64) == 256);
    CHECK(pool.alloc(64) == 128);
    CHECK(pool.alloc(64) == 0);
    CHECK(pool.max_size() == 384);
}

TEST_CASE("the end is used only where no hole is large enough, however close it would fit") {
    Pool pool(32);
    pool.alloc(1024);
    pool.alloc(32);
    pool.free(0, 1024);
    CHECK(pool.alloc(32) == 0);
}

TEST_CASE("what is freed joins the holes before and behind it") {
    Pool pool(32);
    for (int i = 0; i < 5; ++i) pool.alloc(64);
    pool.free(0, 64);
    pool.free(128, 64);
    CHECK(holes(pool) == Blocks{{0, 64}, {128, 64}});
    pool.free(64, 64); // between them
    CHECK(holes(pool) == Blocks{{0, 192}});
    pool.free(256, 64); // the last one: joins the end
    CHECK(holes(pool) == Blocks{{0, 192}});
    CHECK(pool.blocks().back().offset == 256);
    pool.free(192, 64); // everything is free
    CHECK(pool.blocks().size() == 1);
    CHECK(pool.blocks().back().offset == 0);
    CHECK(pool.max_size() == 320); // the high-water mark stays
}

TEST_CASE("a hole that is used up disappears, one that is not keeps its end") {
    Pool pool(32);
    pool.alloc(96);
    pool.alloc(32);
    pool.free(0, 96);
    CHECK(pool.alloc(32) == 0);
    CHECK(holes(pool) == Blocks{{32, 64}});
    CHECK(pool.alloc(64) == 32);
    CHECK(holes(pool).empty());
}

TEST_CASE("freed blocks that touch no other stay sorted by offset") {
    Pool pool(32);
    for (int i = 0; i < 7; ++i) pool.alloc(32);
    pool.free(160, 32);
    pool.free(32, 32);
    pool.free(96, 32);
    CHECK(holes(pool) == Blocks{{32, 32}, {96, 32}, {160, 32}});
}

TEST_CASE("an empty request takes no room, but has a place") {
    // llama.cpp's recurrent models make them (ggml-alloc.c has no case of its own for them).
    Pool pool(32);
    CHECK(pool.alloc(0) == 0);
    CHECK(pool.max_size() == 0);
    CHECK(pool.alloc(64) == 0);
    CHECK(pool.alloc(0) == 64);
    pool.alloc(32); // 64
    pool.free(0, 64);
    CHECK(pool.alloc(0) == 0); // the smallest hole
    CHECK(holes(pool) == Blocks{{0, 64}});
}

TEST_CASE("flash attention takes room behind its result for f16 copies of a cache that is not f16") {
    Graph graph;
    graph.tensors.resize(4);
    for (std::int32_t i = 0; i < 3; ++i) graph.sources.push_back(i);
    graph.tensors[1].type = TensorType::q8_0;
    graph.tensors[2].type = TensorType::f16;
    GraphTensor& node = graph.tensors[3];
    node.op = Op::flash_attn_ext;
    node.n_sources = 3;
    node.ne = {64, 1, 1, 1};
    node.nbytes = 100;
    graph.tensors[1].ne = {10, 50, 2, 1};
    graph.tensors[2].ne = {5, 50, 2, 1};
    CHECK(cuda_graph_alloc_size(graph, node) == 128 + 2000); // K alone
    graph.tensors[2].type = TensorType::q4_0;
    CHECK(cuda_graph_alloc_size(graph, node) == 2128 + 48 + 1000); // 2128 is padded to 2176
    graph.tensors[1].view_root = graph.tensors[2].view_root = 0;
    CHECK(cuda_graph_alloc_size(graph, node) == 128 + 2000); // V is a part of K's rows (MLA)
    graph.tensors[1].view_root = graph.tensors[2].view_root = -1;
    graph.tensors[1].type = TensorType::f16;
    graph.tensors[2].type = TensorType::f16;
    CHECK(cuda_graph_alloc_size(graph, node) == 100);
}
