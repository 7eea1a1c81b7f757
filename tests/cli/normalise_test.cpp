#include "catch.hpp"
#include "cli/normalise.hpp"
#include "support/errors.hpp"

using vramfit::cli::fit_options;
using vramfit::test::error_of;
using Args = std::vector<std::string>;

namespace {

Args normalised(const Args& args) { return vramfit::cli::normalise(args, fit_options()); }

std::string error(const Args& args) {
    return error_of([&] { normalised(args); });
}

} // namespace

TEST_CASE("llama.cpp's short forms of several letters become long ones") {
    CHECK(normalised({"-ngl", "99", "-ctk", "q8_0", "-ctv", "q4_0", "-np", "4", "-ts", "3,1"}) ==
          Args{"--gpu-layers=99", "--cache-type-k=q8_0", "--cache-type-v=q4_0", "--parallel=4", "--tensor-split=3,1"});
    CHECK(normalised({"-kvu", "-no-kvu", "-nkvo", "-cmoe", "-ncmoe", "3", "-ub", "256", "-b", "512"}) ==
          Args{"--kv-unified", "--no-kv-unified", "--no-kv-offload", "--cpu-moe", "--n-cpu-moe=3", "--ubatch-size=256",
               "--batch-size=512"});
    CHECK(normalised({"-m", "x", "-c", "1", "-g", "24GB", "-q"}) ==
          Args{"--model=x", "--ctx=1", "--gpu=24GB", "--quiet"});
}

TEST_CASE("llama.cpp's other long names mean the same") {
    CHECK(normalised({"--ctx-size", "1", "--n-gpu-layers", "2", "--embedding", "--cache_type_k", "f16"}) ==
          Args{"--ctx=1", "--gpu-layers=2", "--embeddings", "--cache-type-k=f16"});
}

TEST_CASE("flash attention (-fa) stands with and without its value") {
    CHECK(normalised({"-fa"}) == Args{"--flash-attn=on"});
    CHECK(normalised({"-fa", "-c", "1"}) == Args{"--flash-attn=on", "--ctx=1"});
    CHECK(normalised({"-fa", "off", "-c", "1"}) == Args{"--flash-attn=off", "--ctx=1"});
    CHECK(normalised({"-fa", "-1"}) == Args{"--flash-attn=-1"});
    CHECK(normalised({"--flash-attn=auto"}) == Args{"--flash-attn=auto"});
}

TEST_CASE("values may be joined to their option") {
    CHECK(normalised({"--ctx=1", "-ctk=q8_0"}) == Args{"--ctx=1", "--cache-type-k=q8_0"});
    CHECK(normalised({"-c8192", "-ngl99", "-g2x24GB"}) == Args{"--ctx=8192", "--gpu-layers=99", "--gpu=2x24GB"});
    CHECK(normalised({"--model", "a=b"}) == Args{"--model=a=b"});
}

TEST_CASE("values that begin with a minus are numbers") {
    CHECK(normalised({"-ngl", "-1", "-c", "-5"}) == Args{"--gpu-layers=-1", "--ctx=-5"});
}

TEST_CASE("what is no known option stays as it is") {
    CHECK(normalised({"qwen3", "--modle", "x", "-modle", "-"}) == Args{"qwen3", "--modle", "x", "-modle", "-"});
}

TEST_CASE("a missing value is said, with an example") {
    CHECK(error({"-m"}) == "-m needs a value, such as -m llama3.1-8b");
    CHECK(error({"--ctx", "--gpu", "24GB"}) == "--ctx needs a value, such as --ctx 32768");
    CHECK(error({"--quant="}) == "--quant needs a value, such as --quant q4_k_m");
    CHECK(error({"--model", ""}) == "--model needs a value, such as --model llama3.1-8b");
}

TEST_CASE("a value for an option that takes none is an error") {
    CHECK(error({"--json=yes"}) == "--json takes no value, but has \"yes\"");
}

TEST_CASE("every option has a name, a text and, where it takes a value, an example") {
    for (const auto& option : fit_options()) {
        INFO(option.spellings);
        CHECK(option.name().substr(0, 2) == "--");
        CHECK(!option.help.empty());
        CHECK(option.takes_value() == !option.example.empty());
        CHECK(vramfit::cli::find_option(fit_options(), option.name()) == &option);
    }
}
