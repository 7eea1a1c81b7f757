#include "answer/model_name.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace vramfit;

namespace {

bool has(const ModelName& name, const std::string& spelling) {
    return std::ranges::find(name.spellings, spelling) != name.spellings.end();
}

} // namespace

TEST_CASE("names of files and repositories are taken apart") {
    const ModelName file = take_apart("/models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf");
    CHECK(has(file, "Llama-3.1-8B-Instruct"));
    CHECK(has(file, "Llama-3.1-8B"));
    CHECK(file.quant == "Q4_K_M");
    CHECK_FALSE(file.near);
    const ModelName part = take_apart("gpt-oss-120b-mxfp4-00001-of-00003.gguf");
    CHECK(has(part, "gpt-oss-120b"));
    CHECK(part.quant == "MXFP4_MOE");
    const ModelName repository = take_apart("unsloth/Qwen3-8B-GGUF");
    CHECK(repository.spellings.front() == "unsloth/Qwen3-8B-GGUF");
    CHECK(has(repository, "unsloth/Qwen3-8B"));
    CHECK(has(repository, "Qwen3-8B"));
    CHECK(repository.type.empty());
}

TEST_CASE("types that are no file type of llama.cpp's are near to one") {
    const ModelName dynamic = take_apart("Qwen3-30B-A3B-UD-Q4_K_XL.gguf");
    CHECK(has(dynamic, "Qwen3-30B-A3B"));
    CHECK(dynamic.type == "Q4_K_XL");
    CHECK(dynamic.quant == "Q4_K_M");
    CHECK(dynamic.near);
    CHECK(has(take_apart("x.i1-IQ3_XXS.gguf"), "x"));
}

TEST_CASE("weight formats at the end of a repository's name") {
    CHECK(take_apart("Qwen/Qwen3-8B-AWQ").quant == "awq");
    CHECK(has(take_apart("Qwen/Qwen3-8B-AWQ"), "Qwen/Qwen3-8B"));
    CHECK(take_apart("mlx-community/Qwen3-8B-4bit").quant == "mlx-4bit");
    CHECK(take_apart("x/Y-FP8-dynamic").quant == "fp8");
}

TEST_CASE("a name that is nothing but a type stays") {
    CHECK(take_apart("Q4_K_M.gguf").quant.empty());
    CHECK(take_apart("").spellings == std::vector<std::string>{""});
}
