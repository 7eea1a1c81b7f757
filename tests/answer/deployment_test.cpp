#include "vramfit/answer/deployment.hpp"
#include "vramfit/answer/solve.hpp"

#include "ask.hpp"
#include "catch.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/shell_words.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

using namespace vramfit;
using test::variables;
using Words = std::vector<std::string>;

namespace {

/// Where nothing is installed: the store of Ollama is looked for in a folder that is not there.
ModelSources nothing_here() {
    ModelSources sources;
    sources.environment = variables({{"OLLAMA_MODELS", "/no/such/folder"}});
    return sources;
}

Request read(const std::string& command, std::vector<SettingText> options = {}, Environment environment = {}) {
    DeploymentText text;
    text.options = std::move(options);
    text.command = shell_words(command);
    if (environment) text.environment = std::move(environment);
    return request_of(text, nothing_here());
}

std::string error(const std::string& command) {
    return test::error_of([&] { read(command); });
}

bool notes(const Request& request, const std::string& part) {
    return std::ranges::any_of(request.notes, [&](const auto& note) { return note.find(part) != note.npos; });
}

const std::string llama = "llama-server -m Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf ";

} // namespace

TEST_CASE("a llama-server command line is read") {
    const Request request = read(llama + "-c 65536 -ngl 99 -ctk q8_0 -ctv q8_0 -fa on -np 4");
    CHECK(request.runtime == "llama.cpp");
    CHECK(request.model == "Meta-Llama-3.1-8B-Instruct"); // the catalog knows the repository without its owner
    CHECK(request.quant == "Q4_K_M");
    CHECK(request.n_ctx == 65536);
    CHECK(request.n_gpu_layers == 99);
    CHECK(request.type_k == TensorType::q8_0);
    CHECK(request.type_v == TensorType::q8_0);
    CHECK(request.flash_attn == FlashAttention::on);
    CHECK(request.parallel == 4);
    CHECK(request.notes == Words{"\"Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf\" is not here: sized from the catalog as "
                                 "llama3.1-8b, Q4_K_M"});
}

TEST_CASE("every spelling that llama.cpp takes") {
    CHECK(read(llama + "--ctx_size 4096").n_ctx == 4096);
    CHECK(read(llama + "--ctx-size=4096").n_ctx == 4096);
    CHECK(read(llama + "-c 1 -c 2").n_ctx == 2);                      // the last one counts
    CHECK(read(llama + "-fa -c 8").flash_attn == FlashAttention::on); // without a value until August 2025
    CHECK(read(llama + "-fa").flash_attn == FlashAttention::on);
    CHECK(read(llama + "-fa auto").flash_attn == FlashAttention::automatic);
    CHECK_FALSE(read(llama + "-np -1").parallel);
    CHECK(read(llama + "--no-kv-unified").kv_unified == false);
    CHECK(read(llama + "-kvu").kv_unified == true);
    CHECK_FALSE(read(llama + "-nkvo").kv_offload);
    CHECK_FALSE(read(llama + "--no-op-offload").op_offload);
    CHECK(read(llama + "-cmoe").n_cpu_moe == std::numeric_limits<std::uint32_t>::max());
    CHECK(read(llama + "-ncmoe 5").n_cpu_moe == 5);
    CHECK(read(llama + "-ot exps=CPU -ot 'a=CUDA1'").override_tensors == Words{"exps=CPU", "a=CUDA1"});
    CHECK(read(llama + "--spec-type draft-mtp").mtp);
    CHECK(read(llama + "--lora a.gguf,b.gguf").adapters == Words{"a.gguf", "b.gguf"});
    CHECK(read(llama + "-ts 3,1 -sm row -mg 1").tensor_split == std::vector<double>{3, 1});
    CHECK(read(llama + "-fitt 512").margin == 512 * mib);
}

TEST_CASE("what nobody says is what llama.cpp does then") {
    // common/common.h: n_gpu_layers -1 is auto while --fit is on; without it all layers and the trained context.
    CHECK(read(llama).n_gpu_layers == gpu_layers_auto);
    CHECK_FALSE(read(llama).n_ctx);
    CHECK(read(llama + "--fit off").n_gpu_layers == gpu_layers_all);
    CHECK(read(llama + "-fit off").n_ctx == 0);
    CHECK(read(llama + "-fit on").n_gpu_layers == gpu_layers_auto);
    CHECK(read(llama + "--fit off -c 4096").n_ctx == 4096);
}

TEST_CASE("flags that cannot change memory are not mentioned, those that may are") {
    const Request request = read(llama + "--jinja --port 8080 -t 8 --temp -0.5 -r -x --host 0.0.0.0 --no-mmap --mlock");
    CHECK(request.notes.size() == 1); // of the model
    CHECK(notes(
        read(llama + "--cache-ram 0 --frobnicate 3 -c 8 --brrr"),
        "not understood, and not counted, though it may change memory: --cache-ram 0, --frobnicate 3 and --brrr"));
    CHECK(read(llama + "--frobnicate 3 -c 8").n_ctx == 8);
    CHECK(notes(read(llama + "--spec-type ngram-mod"), "--spec-type ngram-mod"));
}

TEST_CASE("the program may stand behind others") {
    for (const char* const before :
         {"/usr/bin/", "./", "sudo -u llm ", "env A=B ", "nice -n 10 ", "CUDA_VISIBLE_DEVICES=0 ", "C:/llama/"}) {
        INFO(before);
        CHECK(read(before + llama + "-c 512").n_ctx == 512);
    }
    CHECK(read("'C:\\llama\\llama-server.exe' -m gpt-oss-20b-mxfp4.gguf -c 512").n_ctx == 512);
    CHECK(read("bash -lc 'cd /x && exec " + llama + "-c 512 2>log'").n_ctx == 512);
    CHECK(read("docker run --gpus all --name x -p 8080:8080 -e LLAMA_ARG_CTX_SIZE=512 -v /m:/models --rm "
               "ghcr.io/ggml-org/llama.cpp:server-cuda -m /models/gpt-oss-20b-mxfp4.gguf")
              .n_ctx == 512);
    CHECK(read("podman run --entrypoint llama-cli x/y:latest -m gpt-oss-20b-mxfp4.gguf").runtime == "llama-cli");
}

TEST_CASE("a name of Ollama's library without a tag") {
    // Ollama's README: `ollama run gemma3` is the 4B, `llama3.2` the 3B, `mistral` the 7B.
    CHECK(read("ollama run gemma3").model == "gemma3:4b");
    CHECK(read("ollama run gemma3").projector == "auto"); // a layer of the library's model
    CHECK_FALSE(read("ollama run llama3.2").projector);
    CHECK(read("ollama run llama3.2:latest").model == "llama3.2:3b");
    CHECK(read("ollama run mistral").model == "mistral:7b");
    CHECK(test::error_of([] {
              read("ollama run qwen3");
          }).starts_with("\"qwen3\" is not in Ollama's store here, and says no size; give it one, such as qwen3:"));
}

TEST_CASE("a name without a type: Q4_K_M, or what the makers publish") {
    CHECK(read("llama-server -hf ggml-org/gpt-oss-20b-GGUF").quant == "MXFP4_MOE");
    CHECK(read("ollama run gpt-oss:20b").quant == "MXFP4_MOE");
    CHECK(read("ollama run llama3.1:8b").quant == "Q4_K_M");
}

TEST_CASE("the command that is printed names the model as the command that was read") {
    const auto printed = [](const std::string& command) {
        Request request = read(command);
        request.gpus = {"24GB"};
        return answer(request).command;
    };
    CHECK(printed("llama-server -m models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99") ==
          "llama-server -m models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf -c 8192 -ngl 99");
    CHECK(printed("llama-server -hf bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q5_K_M -c 8192 -ngl 99") ==
          "llama-server -hf bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q5_K_M -c 8192 -ngl 99");
    CHECK(printed("llama-server -hf ggml-org/gemma-3-4b-it-GGUF -c 8192 -ngl 99") ==
          "llama-server -hf ggml-org/gemma-3-4b-it-GGUF -c 8192 -ngl 99");
    CHECK(printed("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 16384") ==
          "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 16384");
    // A change of the weights is another file.
    Request large = read("llama-server -m Meta-Llama-3.1-8B-Instruct-Q8_0.gguf -c 8192 -ngl 99");
    large.gpus = {"9GB"};
    const Answer answered = answer(large);
    const auto smaller = std::ranges::find(answered.suggestions, "quant", &Suggestion::kind);
    REQUIRE(smaller != answered.suggestions.end());
    CHECK(smaller->command.find("-m MODEL-Q") != std::string::npos);
}

TEST_CASE("where somebody says which model it is, the file's name still says the type") {
    DeploymentText text;
    text.command = shell_words("llama-server -m /models/my-finetune-Q5_K_M.gguf -c 4096");
    text.options = {{"model", "llama3.1-8b", "--model"}};
    ModelSources sources;
    sources.environment = empty_environment();
    CHECK(request_of(text, sources).quant == "Q5_K_M");
    text.options.push_back({"quant", "q8_0", "--quant"});
    CHECK(request_of(text, sources).quant == "q8_0");
}

TEST_CASE("a command sees the GPUs that it names") {
    const auto devices = [](const std::string& command) {
        Request request = read(command);
        request.gpus = {"24GB", "12GB"};
        std::vector<std::string> names;
        for (const DeviceAnswer& device : answer(request).devices) names.push_back(device.name);
        return names;
    };
    const std::string server = "llama-server -hf x/Llama-3.1-8B-GGUF:Q4_K_M -c 4096 -ngl 99";
    using Names = std::vector<std::string>;
    CHECK(devices(server) == Names{"24GB", "12GB"});
    CHECK(devices("CUDA_VISIBLE_DEVICES=1 " + server) == Names{"12GB"});
    CHECK(devices("CUDA_VISIBLE_DEVICES=1,0 " + server) == Names{"12GB", "24GB"});
    CHECK(devices(server + " --device CUDA0") == Names{"24GB"});
    CHECK(notes(read("CUDA_VISIBLE_DEVICES=GPU-8932f937 " + server), "not understood"));
    CHECK(test::error_of([&] { devices("CUDA_VISIBLE_DEVICES=2 " + server); }) ==
          "the command runs on GPU 2, and there are 2 GPUs, numbered from 0");
}

TEST_CASE("on Windows what does not fit may load all the same, and a note says so") {
    DeploymentText text;
    text.command = shell_words("llama-server -hf x/Llama-3.1-8B-GGUF:Q8_0 -c 4096 -ngl 99");
    ModelSources sources;
    sources.environment = empty_environment();
    text.environment = test::variables({{"OS", "Windows_NT"}});
    Request request = request_of(text, sources);
    request.gpus = {"8GB"};
    CHECK(test::has_note(answer(request), "on Windows the driver lends a full GPU the computer's memory"));
    request.gpus = {"24GB"};
    CHECK_FALSE(test::has_note(answer(request), "on Windows"));
    request.spills = false;
    request.gpus = {"8GB"};
    CHECK_FALSE(test::has_note(answer(request), "on Windows"));
}

TEST_CASE("variables of Ollama's server as it reads them") {
    // envconfig/config.go: bytes on every GPU; a type that it does not have is f16 to it; Go's words for true and false.
    const Request ollama = read("OLLAMA_GPU_OVERHEAD=536870912 OLLAMA_FLASH_ATTENTION=T OLLAMA_KV_CACHE_TYPE=q5_1 "
                                "ollama run llama3.1:8b");
    CHECK(ollama.tier_overhead == 536870912U);
    CHECK_FALSE(ollama.reserve); // llama-server's own --fit knows nothing of it
    CHECK(ollama.flash_attn == FlashAttention::on);
    CHECK_FALSE(ollama.type_k);
    CHECK(notes(ollama, "not understood, and not counted, though it may change memory: OLLAMA_KV_CACHE_TYPE"));
    CHECK_FALSE(read("OLLAMA_GPU_OVERHEAD=0 ollama run llama3.1:8b").tier_overhead);
    // server/routes.go: 48 - 3 GiB are less than 47, 24 - 2 less than 23; the placement has all of the card.
    const auto with_overhead = [](const char* gpu, const std::string& bytes) {
        return answer(read("OLLAMA_GPU_OVERHEAD=" + bytes + " ollama run llama3.1:8b", {{"gpu", gpu, "--gpu"}}));
    };
    CHECK(with_overhead("48GB", "3221225472").settings.n_ctx == 32768);
    CHECK(with_overhead("24GB", "2147483648").settings.n_ctx == 4096);
    CHECK(with_overhead("24GB", "1073741824").settings.n_ctx == 32768);
    CHECK(with_overhead("24GB", "2147483648").devices[0].available == 24 * gib);
    // strconv reads digits alone, and else the default stays (envconfig.Uint).
    const Request lettered = read("OLLAMA_CONTEXT_LENGTH=8k ollama run llama3.1:8b");
    CHECK_FALSE(lettered.n_ctx);
    CHECK(notes(lettered, "OLLAMA_CONTEXT_LENGTH 8k"));
}

TEST_CASE("zero is no number of Ollama's: it chooses by itself") {
    const Request ollama = read("OLLAMA_CONTEXT_LENGTH=0 OLLAMA_NUM_PARALLEL=0 ollama run llama3.1:8b");
    CHECK_FALSE(ollama.n_ctx);
    CHECK_FALSE(ollama.parallel);
}

TEST_CASE("other runtimes' command lines") {
    const Request ollama =
        read("OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_KV_CACHE_TYPE=q8_0 ollama run llama3.1:8b --verbose");
    CHECK(ollama.runtime == "ollama");
    CHECK(ollama.model == "llama3.1:8b");
    CHECK(ollama.quant == "Q4_K_M");
    CHECK(ollama.n_ctx == 8192);
    CHECK(ollama.type_v == TensorType::q8_0);
    CHECK(notes(ollama, "\"llama3.1:8b\" is not in Ollama's store here: sized from the catalog as llama3.1-8b, Q4_K_M "
                        "(the name says no type)"));
    CHECK(read("ollama run llama3.1:8b-instruct-q8_0").quant == "Q8_0");
    CHECK(read("ollama run hf.co/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:IQ4_XS").quant == "IQ4_XS");

    const Request vllm = read("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 32k --port 8000");
    CHECK(vllm.runtime == "vllm");
    CHECK(vllm.model == "meta-llama/Llama-3.1-8B-Instruct");
    CHECK(vllm.n_ctx == 32000); // human_readable_int: k is 1000, K is 1024
    CHECK(read("vllm serve Qwen/Qwen3-8B --max-model-len 32K").n_ctx == 32768);
    CHECK_FALSE(read("vllm serve Qwen/Qwen3-8B --max-model-len auto").n_ctx);
    const Answer filled = answer(read("vllm serve Qwen/Qwen3-8B --max-model-len auto", {{"gpu", "24GB", "--gpu"}}));
    CHECK(filled.settings.n_ctx == filled.max_ctx.tight); // it starts with what its cache holds
    CHECK(filled.verdict == Verdict::tight);
    CHECK(test::has_note(filled, "the context is as many tokens as the cache holds"));
    CHECK(read("vllm serve Qwen/Qwen3-8B --max-model-len -1").fits_ctx);
    CHECK(vllm.tensor_parallel == 1U); // as many as nobody says (vllm/config/parallel.py)
    const Request wide = read("vllm serve Qwen/Qwen3-8B -tp 2 -pp 2 --max-num-seqs 512 --max-num-batched-tokens 8k "
                              "--enforce-eager");
    CHECK(wide.tensor_parallel == 2U);
    CHECK(wide.layers_parallel == 2U);
    CHECK(wide.parallel == 512U);
    CHECK(wide.n_batch == 8000U);
    CHECK_FALSE(wide.cuda_graphs);
    const Request sglang = read("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 4 "
                                "--max-running-requests 64 --chunked-prefill-size 4096");
    CHECK(sglang.tensor_parallel == 4U);
    CHECK(sglang.parallel == 64U);
    CHECK(sglang.n_batch == 4096U);
    CHECK(read("vllm serve Qwen/Qwen3-8B-AWQ").quant == "awq");
    CHECK(read("python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B").model == "Qwen/Qwen3-8B");
    CHECK(read("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --context-length 8192").n_ctx == 8192);
    CHECK(read("mlx_lm.server --model mlx-community/Qwen3-8B-4bit").quant == "mlx-4bit");
    CHECK(read("python -m mlx_lm server --model mlx-community/Qwen3-8B-4bit").runtime == "mlx");

    const Request kobold =
        read("python koboldcpp.py Qwen3-8B-Q4_K_M.gguf 5001 --contextsize 16384 --usecublas normal 0 "
             "--gpulayers 20 --flashattention --quantkv 1 --tensor_split 7 3");
    CHECK(kobold.runtime == "koboldcpp");
    CHECK(kobold.model == "Qwen3-8B");
    CHECK(kobold.n_ctx == 16384);
    CHECK(kobold.n_gpu_layers == 20);
    CHECK(kobold.type_k == TensorType::q8_0);
    CHECK(kobold.tensor_split == std::vector<double>{7, 3});
    CHECK(read("koboldcpp --model Qwen3-8B-Q4_K_M.gguf --noflashattention").flash_attn == FlashAttention::off);
    CHECK_FALSE(read("koboldcpp Qwen3-8B-Q4_K_M.gguf --gpulayers -1").n_gpu_layers);

    const Request lms = read("lms load qwen3-8b@q8_0 --context-length 8192 --gpu max --ttl 60");
    CHECK(lms.runtime == "lmstudio");
    CHECK(lms.quant == "Q8_0");
    CHECK(lms.n_gpu_layers == gpu_layers_all);
    CHECK(notes(read("lms load qwen3-8b --gpu 0.5"), "--gpu 0.5"));
}

TEST_CASE("a bare -fa is of older builds") {
    CHECK(notes(read(llama + "-fa --jinja"), "-fa without a value is a switch of builds before b6343"));
    CHECK_FALSE(notes(read(llama + "-fa on"), "without a value"));
    CHECK_FALSE(notes(read(llama + "-fa", {{"runtime-version", "b5000", "--runtime-version"}}), "without a value"));
}

TEST_CASE("the least context that --fit comes to is that of --fit-ctx") {
    const std::vector<SettingText> gpu{{"gpu", "8GB", "--gpu"}};
    const std::string eight = "llama-server -m Qwen3-8B-Q4_K_M.gguf ";
    CHECK(answer(read(eight, gpu)).settings.n_ctx < 16384);
    const Answer held = answer(read(eight + "-fitc 16384", gpu));
    CHECK(held.settings.n_ctx == 16384); // and layers move instead
    CHECK(held.settings.gpu_layers == answer(read(eight + "-c 16384", gpu)).settings.gpu_layers);
}

TEST_CASE("builds from before --fit put all layers on the GPU, or none") {
    // Pull request 15434, of the same day as -fa with a value.
    const auto of_build = [](const char* build) {
        return answer(read("llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192",
                           {{"gpu", "24GB", "--gpu"}, {"runtime-version", build, "--runtime-version"}}));
    };
    CHECK(of_build("b7000").settings.gpu_layers == 37); // 36 and the output layer
    CHECK(of_build("b6000").settings.gpu_layers == 0);
    CHECK(test::has_note(of_build("b6000"), "it puts none on the GPU"));
}

TEST_CASE("a draft model is named as it was read") {
    const std::vector<SettingText> gpu{{"gpu", "24GB", "--gpu"}};
    const std::string line = "llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192 -ngl 99 ";
    const auto command = [&](const std::string& draft) { return answer(read(line + draft, gpu)).command; };
    CHECK(command("-md Qwen3-0.6B-Q8_0.gguf").ends_with("-md Qwen3-0.6B-Q8_0.gguf"));
    CHECK(command("-hfd unsloth/Qwen3-0.6B-GGUF:Q8_0").ends_with("-hfd unsloth/Qwen3-0.6B-GGUF:Q8_0"));
}

TEST_CASE("what MLX has of a draft is not counted") {
    CHECK(notes(read("mlx_lm.server --model mlx-community/Qwen3-8B-4bit --draft-model a/b"), "--draft-model a/b"));
}

TEST_CASE("what places a command's layers is none of an engine's") {
    const Request asked = read("llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192",
                               {{"gpu", "24GB", "--gpu"}, {"runtime", "all", "--runtime"}});
    const Solution found = solve(asked);
    for (const TableRow& row : std::get<Table>(found).rows) CHECK(row.remark.empty());
}

TEST_CASE("the printed command has a store's name as it was read") {
    const std::vector<SettingText> gpu{{"gpu", "24GB", "--gpu"}};
    CHECK(answer(read("lms load qwen3-8b -c 8192", gpu)).command ==
          "lms load qwen3-8b --context-length 8192 --gpu max");
    const Answer gemma = answer(read("ollama run gemma3:27b", gpu));
    CHECK(gemma.command == "ollama run gemma3:27b");
    CHECK(gemma.devices[0].memory.projector > 0);
    for (const std::string& note : gemma.notes) CHECK(note.find("no setting for") == std::string::npos);
    // The context that Ollama takes by itself goes without saying, in what helps, too; the type's name it says itself.
    const std::vector<SettingText> small{{"gpu", "16GB", "--gpu"}};
    for (const Suggestion& found : answer(read("ollama run gemma3:27b", small)).suggestions)
        if (found.kind == "quant") CHECK(found.command.find("gemma3:27b") == std::string::npos);
}

TEST_CASE("a repository brings its projector along") {
    CHECK(read("llama-server -hf ggml-org/gemma-3-12b-it-GGUF").projector == "auto");
    CHECK(read("llama-server -hf ggml-org/gemma-3-12b-it-GGUF").quant == "Q4_K_M"); // llama.cpp's own choice
    CHECK_FALSE(read("llama-server -hf ggml-org/gemma-3-12b-it-GGUF --no-mmproj").projector);
    CHECK_FALSE(
        read("llama-server -hf ggml-org/gemma-3-12b-it-GGUF", {}, variables({{"LLAMA_ARG_NO_MMPROJ", "1"}})).projector);
    CHECK_FALSE(read("llama-server -hf unsloth/Qwen3-8B-GGUF:Q6_K").projector);
    CHECK(read("llama-server -m gemma-3-12b-it-Q4_0.gguf --mmproj mmproj-F16.gguf").projector == "auto");
}

TEST_CASE("files that are here are taken as they are") {
    const test::TempFolder folder;
    const std::string file = folder.file("Qwen3-8B-Q4_K_M.gguf");
    std::ofstream(file) << "GGUF";
    const Request request = read("llama-server -m " + shell_word(file));
    CHECK(request.model == file);
    CHECK_FALSE(request.quant);
    CHECK(request.notes.empty());
}

TEST_CASE("variables count where the command sees them") {
    const Environment host = variables({{"LLAMA_ARG_CTX_SIZE", "4096"}, {"VRAMFIT_GPU", "24GB"}});
    const auto n_ctx = [&](const std::string& before) { return read(before + llama, {}, host).n_ctx; };
    CHECK(n_ctx("") == 4096);
    CHECK(n_ctx("env A=B nice ") == 4096);
    CHECK_FALSE(n_ctx("env -i "));
    CHECK_FALSE(n_ctx("env -u LLAMA_ARG_CTX_SIZE "));
    CHECK(n_ctx("env -u LLAMA_ARG_UBATCH ") == 4096);
    CHECK_FALSE(n_ctx("sudo "));
    CHECK(n_ctx("sudo -E ") == 4096);
    CHECK(n_ctx("sudo --preserve-env=PATH,LLAMA_ARG_CTX_SIZE ") == 4096);
    CHECK(n_ctx("sudo LLAMA_ARG_CTX_SIZE=8192 ") == 8192);
    const std::string image = "ghcr.io/ggml-org/llama.cpp:server-cuda -m /models/gpt-oss-20b-mxfp4.gguf";
    CHECK_FALSE(read("docker run --gpus all " + image, {}, host).n_ctx);
    CHECK(read("docker run --gpus all -e LLAMA_ARG_CTX_SIZE " + image, {}, host).n_ctx == 4096);
    CHECK(read("docker run --gpus all " + image, {}, host).gpus == Words{"24GB"}); // vramfit's own
}

TEST_CASE("the program's own options come first, the environment last") {
    const Environment environment = variables({{"LLAMA_ARG_CTX_SIZE", "1024"},
                                               {"LLAMA_ARG_UBATCH", "256"},
                                               {"LLAMA_ARG_KV_OFFLOAD", "false"},
                                               {"VRAMFIT_CTX", "2k"},
                                               {"VRAMFIT_GPU", "24GB"},
                                               {"OLLAMA_NUM_PARALLEL", "3"}});
    const Request alone = read("", {{"model", "llama3.1-8b", "--model"}}, environment);
    CHECK(alone.n_ctx == 2048); // what is said to vramfit itself before what is said to the runtime
    CHECK(alone.n_ubatch == 256);
    CHECK_FALSE(alone.kv_offload);
    CHECK_FALSE(alone.parallel); // Ollama's variables are nothing to llama.cpp
    CHECK(alone.gpus == Words{"24GB"});
    CHECK(alone.notes == Words{"from the environment: LLAMA_ARG_UBATCH=256, LLAMA_ARG_KV_OFFLOAD=false, VRAMFIT_CTX=2k "
                               "and VRAMFIT_GPU=24GB"});
    const Request command = read("env LLAMA_ARG_CTX_SIZE=4096 " + llama, {}, environment);
    CHECK(command.n_ctx == 4096);
    CHECK(read(llama + "-c 8192", {}, environment).n_ctx == 8192);
    const Request own =
        read(llama + "-c 8192", {{"ctx", "16k", "--ctx"}, {"gpu", "12GB", "--gpu"}, {"quant", "q8_0", "--quant"}},
             environment);
    CHECK(own.n_ctx == 16384);
    CHECK(own.gpus == Words{"12GB"});
    CHECK(own.quant == "q8_0");
    CHECK(read("llama-cli -m nowhere.gguf", {{"model", "qwen3-8b", "--model"}}).model == "qwen3-8b");
    CHECK(read("", {{"runtime", "llama-server", "--runtime"}}, environment).n_ubatch == 256); // an alias
}

TEST_CASE("mistakes in a command line") {
    CHECK(error(llama + "-c") == "-c needs a value");
    CHECK(error(llama + "-c -ngl 99") == "-c needs a value");
    CHECK(error(llama + "--ctx-size=") ==
          "--ctx-size: \"\" is not a context size; write tokens like 32768, 32k, or max");
    CHECK(error(llama + "-ngl many") == "-ngl must be a number of layers, all or auto, not \"many\"");
    CHECK(error(llama + "-c 32k") == "-c: llama.cpp takes whole numbers only, and 32 of \"32k\"");
    CHECK(error("frobnicate -c 1").starts_with("\"frobnicate\" starts no runtime that is known; koboldcpp, "));
    CHECK(error("ollama list").starts_with("\"ollama\" starts no runtime"));
    CHECK(
        error("llama-server -m nowhere.gguf") ==
        "-m: no file \"nowhere.gguf\" here, and the catalog has no model of that name; say with vramfit's own --model "
        "which model it is");
    CHECK(error("docker run").starts_with("\"docker\" starts no runtime"));
}

TEST_CASE("a request's notes are the answer's first") {
    Request request = test::llama_8b(8192, "24GB");
    request.notes = {"one", "two"};
    const Answer a = answer(request);
    REQUIRE(a.notes.size() >= 2);
    CHECK(a.notes[0] == "one");
    CHECK(a.notes[1] == "two");
}
