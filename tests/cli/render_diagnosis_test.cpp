#include "catch.hpp"
#include "cli/commands.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/render_diagnosis.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"

#include <filesystem>

using namespace vramfit;
using namespace vramfit::cli;
using vramfit::test::JsonSchema;
using vramfit::test::log_stream;

namespace {

const Terminal plain(false, [](const char*) { return std::string(); });

Diagnosis diagnosis_of(const std::string& text) { return diagnose(log_stream(text), {}); }

} // namespace

TEST_CASE("every diagnosis keeps to its schema and to 80 columns", "[diagnose]") {
    const JsonSchema schema = JsonSchema::of_file("diagnosis");
    for (const auto& entry : std::filesystem::directory_iterator(std::string(VRAMFIT_TEST_DATA) + "/logs")) {
        if (entry.path().extension() != ".log") continue;
        const Diagnosis found = diagnosis_of(test::read_file(entry.path().string()));
        CHECK(schema.errors(nlohmann::json::parse(render_diagnosis_json(found))) == std::vector<std::string>{});
        for (const std::string& line : test::split(render_diagnosis_text(found, plain), "\n")) {
            if (line.find(' ', 4) != std::string::npos) CHECK(display_width(line) <= screen_width);
        }
    }
}

TEST_CASE("the text says what failed, the sums, and what to do", "[diagnose]") {
    const std::string text = render_diagnosis_text(
        diagnosis_of("llama-server: failed to allocate KV cache, requested ctx=262144, gpu memory free=1024 MiB\n"),
        plain);
    CHECK(text.starts_with("OUT OF MEMORY  KV cache"));
    CHECK(text.find("  - free then: 1024 MiB (line 1)\n") != std::string::npos);
    CHECK(text.find("  1. -c 4096: ") != std::string::npos);
    CHECK(text.find("add --model, --quant and --gpu") != std::string::npos);
}

TEST_CASE("nothing of a log reaches the terminal as a command", "[diagnose]") {
    const std::string log =
        "load_tensors: \x1b]0;evil\x07"
        "CUDA\x9b"
        "31m0 model buffer size = 10.00 MiB\nsrv load_model: loading model '/m/\x1b]52;c;x\x07.gguf'\n"
        "alloc_tensor_range: failed to allocate \xe2\x80\xae\x01"
        "CUDA0 buffer of size 1073741824\nunable to allocate backend buffer\n";
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.oom);
    for (const std::string& text :
         {render_diagnosis_text(found, plain), render_diagnosis_json(found), render_report(found)}) {
        CHECK(text.find('\x1b') == std::string::npos);
        CHECK(text.find('\x07') == std::string::npos);
        CHECK(text.find('\x01') == std::string::npos);
    }
}

TEST_CASE("neither one-byte commands of terminals nor changes of direction come out, in any format", "[diagnose]") {
    // U+009B is a terminal's ESC [, U+202E and U+2066 turn what follows around
    for (const std::string evil : {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6", "\x7f"}) {
        const std::string log = "srv load_model: loading model '/m/a" + evil + "b.gguf'\nload_tensors: CUDA" + evil +
                                "0 model buffer size = 10.00 MiB\nprint_info: arch = a" + evil +
                                "b\nprint_info: n_layer = 2\nprint_info: n_embd = 64\nprint_info: n_head = 2\n"
                                "llama_context: n_ctx = 256\nllama_context: flash_attn = a" +
                                evil + "b\nllama_kv_cache: CUDA" + evil +
                                "0 KV buffer size = 10.00 MiB\nalloc_tensor_range: failed to allocate CUDA" + evil +
                                "0 buffer of size 1073741824\nfailed to allocate buffer for kv cache\n";
        const Diagnosis found = diagnosis_of(log);
        CHECK(found.oom);
        CHECK(found.model_name.find(evil) != std::string::npos);
        for (const std::string& text :
             {render_diagnosis_text(found, plain), render_diagnosis_json(found), render_report(found)})
            CHECK(text.find(evil) == std::string::npos);
        CHECK(nlohmann::json::parse(render_diagnosis_json(found))["model"]["name"] == found.model_name);
        ModelSources sources;
        sources.standard_input = log_stream(log);
        CHECK(compare_command({}, plain, sources).text.find(evil) == std::string::npos);
        sources.standard_input = log_stream(log);
        const std::vector<std::string> arguments{"--json"};
        const CommandResult json = compare_command(arguments, plain, sources);
        CHECK(json.text.find(evil) == std::string::npos);
        CHECK(JsonSchema::of_file("comparison").errors(nlohmann::json::parse(json.text)) == std::vector<std::string>{});
    }
}

TEST_CASE("a report has the error's lines and no private names", "[diagnose]") {
    const std::string report =
        render_report(diagnosis_of("srv load_model: loading model '/home/alice/x-Q4_K_M.gguf'\n"
                                   "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 0: "
                                   "cudaMalloc failed: out of memory\n"
                                   "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
                                   "srv load_model: failed to load model, '/home/alice/x-Q4_K_M.gguf'\n"));
    CHECK(report.find("2: ggml_backend_cuda_buffer_type_alloc_buffer: allocating 512.00 MiB on device 0") !=
          std::string::npos);
    CHECK(report.find("quant         Q4_K_M") != std::string::npos);
    CHECK(report.find("alice") == std::string::npos);
}

TEST_CASE("names longer than a line are cut where it ends", "[diagnose]") {
    const std::string name(150, 'n');
    const std::string log =
        "using device CUDA0 (NVIDIA " + name + ") - 24000 MiB free\nsrv load_model: loading model '/m/" + name +
        "-Q4_K_M.gguf'\nllama_kv_cache: RPC0[" + name +
        ":1] KV buffer size = 1024.00 MiB\nllama_model_load: error loading model: " + name + name + "\n";
    const std::string text = render_diagnosis_text(diagnosis_of(log), plain);
    for (const std::string& line : test::split(text, "\n")) CHECK(display_width(line) <= screen_width);
    CHECK(text.find("nn-Q4_K_M.gguf") != std::string::npos); // nothing is lost of it
}
