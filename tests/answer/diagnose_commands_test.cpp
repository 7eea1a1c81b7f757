// Command lines in logs. Which flag is which setting is known from the runtimes' own lists of options (llama.cpp
// tools/server/README.md, koboldcpp.py).
#include "answer/diagnose/command_options.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include "catch.hpp"
#include "support/log_stream.hpp"

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

std::string option(std::string_view text, std::string_view name, std::string_view runtime = "llama.cpp") {
    const CommandOptions options = command_options(runtime, text);
    const auto found = options.find(name);
    return found == options.end() ? "" : found->second;
}

} // namespace

TEST_CASE("A command in a log is read with the table of its runtime") {
    const std::string line = "llama-server --ctx_size=131072 --parallel 2 -fa off -nkvo -ctk q8_0 --swa-full";
    CHECK(option(line, "ctx") == "131072");
    CHECK(option(line, "parallel") == "2");
    CHECK(option(line, "flash-attn") == "off");
    CHECK(option(line, "kv-offload") == "off");
    CHECK(option(line, "cache-type-k") == "q8_0");
    CHECK(option(line, "swa-full") == "on");
    CHECK(option("llama-server --gpu-layers 20", "gpu-layers") == "20");
    CHECK(option("llama-server -ot exps=CPU -ot 'blk.1=CUDA1'", "override-tensor") == "exps=CPU,blk.1=CUDA1");
}

TEST_CASE("KoboldCpp's commands have flags and numbers of its own") {
    const std::string line = "koboldcpp.py --contextsize 16384 --quantkv 1 --noflashattention";
    CHECK(option(line, "ctx", "koboldcpp") == "16384");
    CHECK(option(line, "cache-type", "koboldcpp") == "q8_0");
    CHECK(option(line, "flash-attn", "koboldcpp") == "off");
}

TEST_CASE("A command that a log cuts off or quotes says what is left of it") {
    CHECK(option("llama-server -m x.gguf -c 8192 -ngl", "ctx") == "8192");
    CHECK(option("llama-server -c -ngl 20", "gpu-layers") == "20");
    CHECK(option("llama-server -c -ngl 20", "ctx").empty());
    CHECK(option("llama-cli -c 4096 -p \"Building a website", "ctx") == "4096");
    CHECK(option("llama-server -c 8192` does not start", "ctx") == "8192");
    CHECK(option("llama-server -np 2, -c 8192", "parallel") == "2");
    CHECK(option("ollama runner --model /m/x --ctx-size 8192 --flash-attn --kv-cache-type q8_0 --parallel 4",
                 "parallel") == "4");
}

TEST_CASE("Hostile commands are read up to a bound") {
    std::string many = "llama-server";
    for (int i = 0; i < 5000; ++i) many += " -c 1";
    CHECK(option(many, "ctx") == "1");
    CHECK(option("llama-server -ctk " + std::string(5000, 'x'), "cache-type-k").empty()); // not a part of it
    CHECK(command_options("llama.cpp", "llama-server - -- --= ' \" \\").empty());
    CHECK(command_options("llama.cpp", "").empty());
}

TEST_CASE("The first flag behind the program counts, too") {
    const std::string failure =
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
    for (const char* const line :
         {"$ llama-server -c 131072 -m x.gguf\n",
          "level=INFO source=server.go:430 msg=\"starting runner\" cmd=\"/usr/bin/ollama runner --ctx-size 131072\" "
          "extra=\"--ctx-size 5\"\n"}) {
        const Diagnosis found = diagnose(log_stream(line + failure), {});
        REQUIRE(found.figure("n_ctx") != nullptr);
        CHECK(found.figure("n_ctx")->value == 131072);
    }
}

TEST_CASE("A command names the model where the load does not") {
    const std::string command = "$ ./llama-server -m /models/Llama-3.1-8B-Instruct-Q4_K_M.gguf -c 131072\n";
    const std::string error = "llama_init_from_model: failed to initialize the context: failed to allocate buffer for "
                              "kv cache\n";
    const Diagnosis found = diagnose(log_stream(command + error), {});
    CHECK(found.model_name == "Llama-3.1-8B-Instruct-Q4_K_M.gguf");
    CHECK(found.model_line == 1);
    CHECK(found.model_id == "llama3.1-8b");
    CHECK(found.quant == "Q4_K_M");
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(found.figure("requested")->value == 17'179'869'184); // 131072 tokens of 128 KiB
    const std::string loader = "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from "
                               "other.gguf (version GGUF V3 (latest))\n";
    CHECK(diagnose(log_stream(command + loader + error), {}).model_name == "other.gguf");
    CHECK(diagnose(log_stream("run llama-server -m x.gguf\n" + error), {}).model_name.empty()); // only spoken of
}

TEST_CASE("Where everything fits by the estimator, the unknown context or another process is the reason") {
    Request hints;
    hints.model = "llama3.1-8b";
    hints.quant = "q4_k_m";
    hints.gpus = {"24GB"};
    const Diagnosis found = diagnose(log_stream("llama_new_context_with_model: failed to allocate KV cache\n"), hints);
    REQUIRE_FALSE(found.actions.empty());
    CHECK(found.actions[0].kind == "ctx");
    bool noted = false;
    for (const std::string& note : found.notes)
        noted = noted || note.find("does not show the context that failed") == 8;
    CHECK(noted);
}
