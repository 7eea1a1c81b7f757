#include "catch.hpp"
#include "cli/fit_options.hpp"
#include "support/errors.hpp"
#include "vramfit/base/bytes.hpp"

#include <limits>

using namespace vramfit;
using namespace vramfit::cli;
using test::error_of;
using Args = std::vector<std::string>;

namespace {

const Args question{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-g", "24GB"};

FitOptions options_of(Args args) {
    args.insert(args.begin(), question.begin(), question.end());
    return read_fit_options(parse(args, fit_options()));
}

Request request_of(Args args) { return options_of(std::move(args)).request; }

std::string error(Args args) {
    return error_of([&] { options_of(std::move(args)); });
}

std::string error_alone(const Args& args) {
    return error_of([&] { read_fit_options(parse(args, fit_options())); });
}

} // namespace

TEST_CASE("what is not said stays open") {
    const FitOptions options = options_of({});
    CHECK(options.request.model == "llama3.1-8b");
    CHECK(options.request.quant == "q4_k_m");
    CHECK(options.request.gpus == Args{"24GB"});
    CHECK(options.request.runtime == "llama.cpp");
    CHECK(!options.request.n_ctx);
    CHECK(!options.request.free);
    CHECK(!options.request.type_k);
    CHECK(!options.request.flash_attn);
    CHECK(!options.request.parallel);
    CHECK(!options.request.kv_unified);
    CHECK(!options.request.n_gpu_layers);
    CHECK(options.request.n_cpu_moe == 0);
    CHECK(options.request.op_offload);
    CHECK(options.request.kv_offload);
    CHECK(options.request.imatrix);
    CHECK(options.output.format == Format::text);
    CHECK(options.output.color == ColorMode::automatic);
    CHECK(!options.strict);
}

TEST_CASE("sizes and contexts are read with their units") {
    const Request request =
        request_of({"-c", "32k", "--free", "22GiB", "--reserve", "512MiB", "--margin", "0", "--runtime", "llama-cli"});
    CHECK(request.n_ctx == 32768);
    CHECK(request.free == 22 * gib);
    CHECK(request.reserve == 512 * mib);
    CHECK(request.margin == 0);
    CHECK(request.runtime == "llama-cli");
    CHECK(request_of({"-c", "max"}).n_ctx == 0);
}

TEST_CASE("settings are read under llama.cpp's names") {
    const Request request = request_of({"-ctk",       "q8_0",
                                        "-ctv",       "Q4_0",
                                        "-fa",        "-np",
                                        "4",          "-kvu",
                                        "-b",         "1024",
                                        "-ub",        "256",
                                        "-ngl",       "20",
                                        "-ts",        "3,1",
                                        "-ncmoe",     "5",
                                        "-nkvo",      "--no-op-offload",
                                        "--swa-full", "--embeddings",
                                        "--mtp",      "--no-imatrix"});
    CHECK(request.type_k == TensorType::q8_0);
    CHECK(request.type_v == TensorType::q4_0);
    CHECK(request.flash_attn == FlashAttention::on);
    CHECK(request.parallel == 4);
    CHECK(request.kv_unified == true);
    CHECK(request.n_batch == 1024);
    CHECK(request.n_ubatch == 256);
    CHECK(request.n_gpu_layers == 20);
    CHECK(request.tensor_split == std::vector<double>{3, 1});
    CHECK(request.n_cpu_moe == 5);
    CHECK(!request.kv_offload);
    CHECK(!request.op_offload);
    CHECK(request.swa_full);
    CHECK(request.embeddings);
    CHECK(request.mtp);
    CHECK(!request.imatrix);
}

TEST_CASE("settings with more than one form") {
    CHECK(request_of({"--cache-type", "q8_0"}).type_k == TensorType::q8_0);
    CHECK(request_of({"--cache-type", "q8_0"}).type_v == TensorType::q8_0);
    CHECK(request_of({"-fa", "off"}).flash_attn == FlashAttention::off);
    CHECK(request_of({"-fa", "auto"}).flash_attn == FlashAttention::automatic);
    CHECK(request_of({"-fa", "0"}).flash_attn == FlashAttention::off);
    CHECK(request_of({"-no-kvu"}).kv_unified == false);
    CHECK(request_of({"-ngl", "all"}).n_gpu_layers == -1);
    CHECK(request_of({"--cpu-moe"}).n_cpu_moe == std::numeric_limits<std::uint32_t>::max());
    CHECK(!request_of({"-np", "-1"}).parallel);
    CHECK(request_of({"-ts", "0.5/1.5/0"}).tensor_split == std::vector<double>{0.5, 1.5, 0});
    CHECK(options_of({"--json"}).output.format == Format::json);
    CHECK(options_of({"--format", "json", "--json"}).output.format == Format::json);
    CHECK(options_of({"--color", "never"}).output.color == ColorMode::never);
    CHECK(options_of({"--colour=always"}).output.color == ColorMode::always);
}

TEST_CASE("GPUs add up, of other options the last one counts") {
    CHECK(request_of({"-g", "rtx4090", "-g", "2x16GB"}).gpus == Args{"24GB", "rtx4090", "2x16GB"});
    CHECK(request_of({"-c", "1024", "-c", "2048"}).n_ctx == 2048);
    CHECK(options_of({"--json", "--json", "--strict", "--strict"}).strict);
}

TEST_CASE("unknown options name near ones") {
    CHECK(error({"--modle", "x"}) == "unknown option --modle; did you mean --model or --moe?");
    CHECK(error({"--gpu-layer=3"}) == "unknown option --gpu-layer; did you mean --gpu-layers or --gpu-layers-draft?");
    CHECK(error({"-ngll", "3"}) == "unknown option -ngll; did you mean -ngl or -ngld?");
    CHECK(error({"--xyzzy"}) == "unknown option --xyzzy; see vramfit --help");
    CHECK(error({"-z"}) == "unknown option -z; see vramfit --help");
    CHECK(error({"--no\nsense"}) == "unknown option \"--no?sense\"; see vramfit --help");
    CHECK(error({"-5"}) == "unknown option -5; see vramfit --help");
}

TEST_CASE("what stands by itself is no part of a question") {
    CHECK(error({"qwen3"}) == "unexpected argument \"qwen3\"; see vramfit --help");
    CHECK(error({"--", "llama-server"}) == "unexpected argument \"--\"; see vramfit --help");
}

TEST_CASE("values that make no sense") {
    CHECK(error({"-c", "32x"}) == "--ctx: \"32x\" is not a context size: \"x\" is neither k nor M; write tokens like "
                                  "32768, 32k, or max");
    CHECK(error({"-c", "-5"}) ==
          "--ctx: \"-5\" is not a context size: it is negative; write tokens like 32768, 32k, or max");
    CHECK(error({"--free", "12parsec"}) ==
          "--free: \"12parsec\" is not a size: the unit \"parsec\" is not known; write "
          "it like 24GB, 24564MiB or 1.5GiB");
    CHECK(error({"--reserve", "-1GB"}) ==
          "--reserve: \"-1GB\" is not a size: it is negative; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(error({"-np", "0"}) == "--parallel must be a whole number from 1 to 256, not \"0\"");
    CHECK(error({"-np", "257"}) == "--parallel must be a whole number from 1 to 256, not \"257\"");
    CHECK(error({"-b", "x"}) == "--batch-size must be a whole number from 1 to 2147483647, not \"x\"");
    CHECK(error({"-ub", "1.5"}) == "--ubatch-size must be a whole number from 1 to 2147483647, not \"1.5\"");
    CHECK(error({"-ncmoe", "-3"}) == "--n-cpu-moe must be a whole number from 0 to 1000000000, not \"-3\"");
    CHECK(error({"-ngl", "some"}) == "--gpu-layers must be a number of layers, all or auto, not \"some\"");
    CHECK(error({"-ngl", "99999999999999999999"}) ==
          "--gpu-layers must be a number of layers, all or auto, not \"99999999999999999999\"");
    CHECK(error({"-fa", "maybe"}) == "--flash-attn must be on, off or auto, not \"maybe\"");
    CHECK(error({"--format", "xml"}) == "--format must be text, json, tsv or markdown, not \"xml\"");
    CHECK(error({"--color", "blue"}) == "--color must be auto, always or never, not \"blue\"");
}

TEST_CASE("cache types are llama.cpp's") {
    CHECK(error({"-ctk", "q4_k"}) == "--cache-type-k: unknown cache type \"q4_k\"; did you mean q4_0 or q4_1?");
    CHECK(error({"-ctv", "fp8"}) ==
          "--cache-type-v: unknown cache type \"fp8\"; f16, q8_0, q4_0 and others of llama.cpp's are known");
}

TEST_CASE("shares of the GPUs") {
    for (const char* const bad : {"3,,1", "a", "3,-1", "0,0", "3,", "nan", "inf,1", "1e3"}) {
        CHECK(error({"-ts", bad}) ==
              "--tensor-split must be the shares of the GPUs, such as 3,1, not \"" + std::string(bad) + "\"");
    }
}

TEST_CASE("of options that say the opposite the last one counts") {
    CHECK(request_of({"-no-kvu", "-np", "2", "-kvu"}).kv_unified == true);
    CHECK(request_of({"-kvu", "--no-kv-unified"}).kv_unified == false);
    CHECK(request_of({"-kvu", "-no-kvu", "-kvu"}).kv_unified == true);
    CHECK(request_of({"-cmoe", "-ncmoe", "3"}).n_cpu_moe == 3);
    CHECK(request_of({"-ncmoe", "3", "-cmoe"}).n_cpu_moe == std::numeric_limits<std::uint32_t>::max());
    CHECK(options_of({"--json", "--format", "text"}).output.format == Format::text);
    CHECK(options_of({"--format", "text", "--json"}).output.format == Format::json);
    CHECK(error({"--json", "--format", "xml"}) == "--format must be text, json, tsv or markdown, not \"xml\"");
}

TEST_CASE("one cache type after both, both after one") {
    const Request one_last = request_of({"--cache-type", "q8_0", "-ctk", "f32"});
    CHECK(one_last.type_k == TensorType::f32);
    CHECK(one_last.type_v == TensorType::q8_0);
    const Request both_last = request_of({"-ctk", "f32", "-ctv", "q4_0", "--cache-type", "q8_0"});
    CHECK(both_last.type_k == TensorType::q8_0);
    CHECK(both_last.type_v == TensorType::q8_0);
    CHECK(request_of({"--cache-type", "q8_0", "--cache-type-v=q5_1"}).type_v == TensorType::q5_1);
}

TEST_CASE("nothing and something cannot both be shown") {
    CHECK(error({"-q", "--json"}) == "--quiet shows nothing, JSON is to be shown: give one of them");
    CHECK(error({"-q", "--explain"}) == "--quiet shows nothing, --explain is to be shown: give one of them");
    CHECK(error({"--explain", "--json"}) == "--explain is text and has no JSON form: give one of them");
}

TEST_CASE("what is missing is said, with an example") {
    const std::string neither = "give a model or a GPU, such as --model llama3.1-8b, or --gpu 24GB --ctx 8192";
    CHECK(error_alone({}) == neither);
    CHECK(error_alone({"-c", "8k"}) == neither);
    CHECK(error_alone({"--quant", "q4_0", "-c", "8k"}) == neither);
    CHECK(error_alone({"--quant", "q4_0", "-g", "8GB"}) ==
          "give a model or a context, such as --model llama3.1-8b or --ctx 8192");
    CHECK(error_alone({"-m", "x"}) == "no error");
    CHECK(error_alone({"-m", "x", "-c", "1k"}) == "no error");
    CHECK(error_alone({"-g", "24GB", "-c", "1k"}) == "no error");
}

TEST_CASE("tables, and which models are looked for") {
    const Request request = request_of({"--table", "cache", "--family", "qwen3", "--min-params", "7.5B", "--moe",
                                        "--licence", "apache", "--sort", "headroom"});
    CHECK(request.table == TableAxis::cache);
    CHECK(request.models.family == "qwen3");
    CHECK(request.models.min_parameters == 7'500'000'000);
    CHECK(request.models.moe);
    CHECK(request.models.license == "apache");
    CHECK(request.models.order == ModelOrder::headroom);
    CHECK(request_of({"--table", "quant"}).table == TableAxis::quant);
    CHECK(!request_of({}).table);
    CHECK(error({"--table", "gpu"}) == "--table must be quant or cache, not \"gpu\"");
    CHECK(error({"--sort", "size"}) == "--sort must be params, headroom, context or name, not \"size\"");
    CHECK(error({"--min-params", "many"}) ==
          "--min-params: \"many\" is not a number of parameters; write it like 8B, 500M or 1.5T");
    CHECK(error({"--min-params", "7"}) == "--min-params: \"7\" would be 7 weights; write it like 7B");
}

TEST_CASE("formats") {
    CHECK(options_of({"--format", "tsv"}).output.format == Format::tsv);
    CHECK(options_of({"--format", "markdown"}).output.format == Format::markdown);
    CHECK(options_of({"--format", "md"}).output.format == Format::markdown);
    CHECK(error({"-q", "--format", "tsv"}) == "--quiet shows nothing, TSV is to be shown: give one of them");
    CHECK(error({"--explain", "--format", "markdown"}) ==
          "--explain is text and has no Markdown form: give one of them");
}
