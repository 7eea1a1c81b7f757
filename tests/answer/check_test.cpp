#include "vramfit/answer/check.hpp"

#include "catch.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"

using namespace vramfit;

namespace {

ModelSources nothing_here() {
    ModelSources sources;
    sources.environment = test::variables({{"OLLAMA_MODELS", "/no/such/folder"}, {"CTX", "4096"}});
    return sources;
}

std::vector<CheckedDeployment> check(const std::string& file, const std::string& text,
                                     std::vector<SettingText> options = {{"gpu", "24GB", "--gpu"}}) {
    return check_file(text, file, options, nothing_here());
}

std::string error(const std::string& file, const std::string& text) {
    return test::error_of([&] { check(file, text); });
}

} // namespace

TEST_CASE("services of a compose file") {
    const auto rows = check("compose.yaml", R"(services:
  db:
    image: postgres:16
  chat:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    environment:
      LLAMA_ARG_CTX_SIZE: ${CTX}
      LLAMA_ARG_N_GPU_LAYERS: 99
    command: >
      -m /models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf
      --port 8080 -np ${SLOTS:-2}
  big:
    image: x/y
    entrypoint: ["llama-server"]
    command:
      - -hf
      - bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M
      - "-c"
      - "8192"
      - -ngl
      - "99"
    environment: [LLAMA_ARG_UBATCH=256]
  ollama:
    image: ollama/ollama:latest
    environment:
      - OLLAMA_CONTEXT_LENGTH=8192
)");
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].name == "chat");
    CHECK(rows[0].line == 9);
    CHECK(rows[0].request.n_ctx == 4096);
    CHECK(rows[0].request.parallel == 2);
    REQUIRE(rows[0].answer);
    CHECK(rows[0].answer->model.id == "llama3.1-8b");
    CHECK(rows[0].answer->verdict == Verdict::fit);
    CHECK(rows[1].line == 16); // where the list begins
    CHECK(rows[1].request.n_ubatch == 256);
    CHECK(rows[1].answer->verdict == Verdict::oom); // more than 40 GiB of weights
    CHECK(rows[2].name == "ollama");
    CHECK(rows[2].no_model); // Ollama's server loads whatever it is asked for
    CHECK(rows[2].error.empty());
    CHECK(rows[2].request.n_ctx == 8192);
    CHECK(check("-", "services:\n  a:\n    image: ollama/ollama\n",
                {{"gpu", "24GB", "--gpu"}, {"model", "llama3.1-8b", "-m"}, {"quant", "q4_k_m", "-q"}})[0]
              .answer);
}

TEST_CASE("a service has what its merged maps and those that it extends have") {
    const auto rows = check("compose.yaml", R"(x-env: &env
  LLAMA_ARG_MODEL: /models/gpt-oss-20b-mxfp4.gguf
  LLAMA_ARG_CTX_SIZE: "4096"
services:
  merged:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    environment:
      <<: *env
      LLAMA_ARG_CTX_SIZE: "8192"
  base:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: -m /models/gpt-oss-20b-mxfp4.gguf
    environment: {LLAMA_ARG_CTX_SIZE: "4096", LLAMA_ARG_UBATCH: "256"}
  extended:
    extends: {service: base}
    environment: [LLAMA_ARG_CTX_SIZE=16384]
  elsewhere:
    extends: {file: other.yaml, service: base}
  itself:
    extends: itself
)");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].request.n_ctx == 8192); // its own, before what is merged
    CHECK(rows[2].name == "extended");
    CHECK(rows[2].request.n_ctx == 16384);
    CHECK(rows[2].request.n_ubatch == 256);
    CHECK(rows[3].error == "it extends a service of \"other.yaml\", which is not read");
}

TEST_CASE("models of llama-swap's configuration") {
    const auto rows = check("config.yaml", R"(healthCheckTimeout: 60
macros:
  server: llama-server --port ${PORT} -ngl 99
models:
  small:
    cmd: |
      ${server}
      # a remark
      -m /models/Qwen3-8B-Q4_K_M.gguf
      -c 8192
    env:
      - LLAMA_ARG_PARALLEL_X=1
      - LLAMA_ARG_N_PARALLEL=2
  "other":
    cmd: my-own-server --x
)");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].name == "small");
    CHECK(rows[0].line == 6);
    CHECK(rows[0].request.n_ctx == 8192);
    CHECK(rows[0].request.parallel == 2);
    CHECK(rows[0].answer->verdict == Verdict::fit);
    CHECK(rows[1].line == 15);
    CHECK(rows[1].error.starts_with("\"my-own-server\" starts no runtime"));
}

TEST_CASE("a systemd unit") {
    const auto rows = check("llama.service", R"([Unit]
Description=x
[Service]
Environment="LLAMA_ARG_CTX_SIZE=16384" A=B
EnvironmentFile=/etc/default/llama
ExecStartPre=/bin/true
ExecStart=-/usr/local/bin/llama-server \
    -m /srv/gpt-oss-20b-mxfp4.gguf \
    # a remark
    -ngl 99 --host ${A}
)");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].line == 7);
    CHECK(rows[0].request.n_ctx == 16384);
    CHECK(rows[0].answer->model.id == "gpt-oss-20b");
    CHECK(rows[0].notes == std::vector<std::string>{"EnvironmentFile= is not read: its variables do not count"});
}

TEST_CASE("a preset of llama-server") {
    const auto rows = check("models.ini", R"(version = 1
[*]
c = 8192
n-gpu-layers = 99
jinja = 1
; a remark
[ggml-org/gemma-3-12b-it-GGUF:Q8_0]
no-mmproj = true
kv-unified = off
[mine]
hf = unsloth/Qwen3-8B-GGUF:Q6_K
LLAMA_ARG_CTX_SIZE = 4096
swa-full = 1
temp = 0.7
)");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].line == 7);
    CHECK(rows[0].answer->model.id == "gemma3-12b");
    CHECK(rows[0].request.quant == "Q8_0");
    CHECK(rows[0].request.n_ctx == 8192);
    CHECK(rows[0].request.kv_unified == false);
    CHECK_FALSE(rows[0].request.projector);
    CHECK(rows[1].name == "mine");
    CHECK(rows[1].request.n_ctx == 4096);
    CHECK(rows[1].request.swa_full);
    CHECK(rows[1].request.quant == "Q6_K");
    CHECK(rows[1].request.notes.size() == 1); // nothing that was not understood
    const auto others = check("models.ini", "[a]\nhff = Qwen3-8B-Q4_K_M.gguf\n"
                                            "[b]\nLLAMA_ARG_MODEL_URL = https://x.org/Qwen3-8B-Q6_K.gguf\n");
    REQUIRE(others.size() == 2);
    CHECK(others[0].answer->model.id == "qwen3-8b"); // and not the section's name
    CHECK(others[1].request.quant == "Q6_K");
    CHECK(error("x.ini", "[a]\nwhat\n") == "x.ini:2: a [section] or KEY = VALUE would be right, not \"what\"");
}

TEST_CASE("an Ollama Modelfile") {
    const auto rows = check("Modelfile", "# mine\nFROM llama3.1:8b\nPARAMETER num_ctx 8192\nPARAMETER temperature 1\n"
                                         "SYSTEM \"\"\"\nPARAMETER num_ctx 1\n\"\"\"\nparameter num_gpu 20\n");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].line == 2);
    CHECK(rows[0].request.runtime == "ollama");
    CHECK(rows[0].request.n_ctx == 8192);
    CHECK(rows[0].request.n_gpu_layers == 20);
    REQUIRE(rows[0].answer);
    CHECK(rows[0].answer->model.id == "llama3.1-8b");
    CHECK(error("Modelfile", "PARAMETER num_ctx 1\n") == "Modelfile: a Modelfile without a FROM line");
}

TEST_CASE("a manifest has the program's own settings") {
    const std::string list = R"([
  {"name": "a", "model": "qwen3-8b", "quant": "q4_k_m", "ctx": "32k", "gpu": ["12GB", "8GB"], "kv-unified": true},
  {"model": "qwen3-8b", "quant": "q8_0", "ctx": 4096, "gpu": "rtx4090", "no_kv_offload": false},
  {"command": "llama-server -hf unsloth/Qwen3-8B-GGUF -ngl 99 -c 8192", "gpu": "24GB", "ctx": 1024},
  {"model": "qwen3-8b", "gpus": 1}
])";
    const auto rows = check("fleet.json", list, {});
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].name == "a");
    CHECK(rows[0].line == 2);
    CHECK(rows[0].request.gpus == std::vector<std::string>{"12GB", "8GB"});
    CHECK(rows[0].request.kv_unified == true);
    CHECK(rows[0].answer->settings.n_ctx == 32768);
    CHECK(rows[1].line == 3);
    CHECK(rows[1].request.kv_offload);
    CHECK(rows[2].request.n_ctx == 1024); // the manifest before the command in it
    CHECK(rows[3].error == "gpus: unknown setting \"gpus\"; did you mean gpu?");
    // The command line wins.
    CHECK(check("fleet.json", list)[0].request.gpus == std::vector<std::string>{"24GB"});
    const auto lines = check("-", "{\"model\": \"qwen3-8b\", \"quant\": \"q4_0\"}\n\n{\"model\": \"nothing-such\"}\n");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].answer);
    CHECK(lines[1].line == 3);
    CHECK(lines[1].error.find("nothing-such") != std::string::npos);
    CHECK(error("x.json", "{\"a\": \n\n}x") == "x.json:1: this is no JSON: \"{\"a\":\"");
    CHECK(error("x.json", "[1]").starts_with("x.json:1: a deployment must be an object"));
}

TEST_CASE("a shell script") {
    const auto rows =
        check("run.sh", "#!/bin/sh\nset -e\ncd /models && exec llama-server \\\n  -m gpt-oss-20b-mxfp4.gguf \\\n"
                        "  -c 8192 -ngl 99 >log 2>&1\necho it\\'s\n");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].line == 3);
    CHECK(rows[0].request.n_ctx == 8192);
    CHECK(check("run.sh", "llama-server -m gpt-oss-20b-mxfp4.gguf \\").size() == 1); // with nothing behind it
    const auto written = check("run.sh", "cat >a <<EOF; cat <<-'END'\nllama-server -m nothing.gguf\nEOF\n"
                                         "llama-server -m nothing.gguf\n\tEND\necho '<<X' <<<Y # <<Z\n"
                                         "llama-server -m gpt-oss-20b-mxfp4.gguf -c 4096\n");
    REQUIRE(written.size() == 1); // a file's text is no command
    CHECK(written[0].line == 7);
}

TEST_CASE("a file without a deployment") {
    CHECK(error("x.txt", "hello\n").starts_with("no runtime's command was found in \"x.txt\"; "));
    CHECK(error("c.yaml", "services:\n  a:\n    image: postgres\n").starts_with("no runtime's command"));
    CHECK(error("c.yaml", "services:\n  a:\n b: 1\n") ==
          "c.yaml:3: this is further to the right than what it belongs to");
}

TEST_CASE("mistakes in a file are the row's, with their place said once") {
    const auto rows = check("run.sh", "llama-server -m gpt-oss-20b-mxfp4.gguf -c\nllama-server -m x.gguf\n");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].error == "-c needs a value");
    CHECK(rows[1].line == 2);
    CHECK(rows[1].error.starts_with("-m: no file \"x.gguf\" here"));
}

TEST_CASE("a quote that is not closed spoils its own deployment alone") {
    const auto unit = check("x.service", R"([Service]
Environment="A=b
ExecStart=llama-server -hf x/Llama-3.1-8B-GGUF:Q4_K_M -c 8192 -ngl 99
ExecStart=llama-server -hf "x/Llama-3.1-8B-GGUF -c 8192
)");
    REQUIRE(unit.size() == 2);
    CHECK(unit[0].answer);
    REQUIRE_FALSE(unit[0].notes.empty());
    CHECK(unit[0].notes[0] == "Environment= in line 2 does not count: a double quote is not closed");
    CHECK(unit[1].error == "a double quote is not closed");
    CHECK(unit[1].line == 4);
    const auto compose = check("compose.yaml", R"(services:
  bad:
    image: ghcr.io/ggml-org/llama.cpp:server
    command: -m "x.gguf
  good:
    image: ghcr.io/ggml-org/llama.cpp:server
    command: -hf x/Llama-3.1-8B-GGUF:Q4_K_M -c 8192 -ngl 99
)");
    REQUIRE(compose.size() == 2);
    CHECK(compose[0].error == "a double quote is not closed");
    CHECK(compose[1].answer);
}

TEST_CASE("a script's own variables are what its commands mean") {
    const auto rows = check("start.sh", "CTX=16384\nexport LAYERS=99\n"
                                        "llama-server -hf x/Llama-3.1-8B-GGUF:Q4_K_M -c $CTX -ngl ${LAYERS}\n");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].request.n_ctx == 16384);
    CHECK(rows[0].request.n_gpu_layers == 99);
}
