// Predicted memory beside what a log shows.
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

std::string log_text_of(const std::string& name) {
    return test::read_file(std::string(VRAMFIT_TEST_DATA) + "/logs/" + name);
}

Comparison comparison_of(const std::string& name, const Request& hints = {}) {
    return compare(log_stream(log_text_of(name)), hints);
}

/// "weights CUDA0, compute host": what differs by more than the log rounds.
std::string differing(const Comparison& comparison) {
    std::string text;
    for (const ComparedFigure& figure : comparison.figures) {
        if (!figure.equal()) text += (text.empty() ? "" : ", ") + figure.component + " " + figure.device;
    }
    return text;
}

const ComparedFigure& figure_of(const Comparison& comparison, const std::string& component, const std::string& device) {
    const auto found = std::ranges::find_if(comparison.figures, [&](const ComparedFigure& figure) {
        return figure.component == component && figure.device == device;
    });
    REQUIRE(found != comparison.figures.end());
    return *found;
}

} // namespace

TEST_CASE("logs of llama.cpp v0.4.0 are predicted to the printed digit", "[diagnose]") {
    for (const std::string name :
         {"01_server_8b_24g_defaults.log", "13_server_gemma3_12b_32k.log", "24_fail_gemma27b_kv.log",
          "25_fail_compute_ub2048.log", "30_server_gptoss_120b_24g_moe.log", "31_server_mixed_sizes_2gpu.log"}) {
        const Comparison comparison = comparison_of(name);
        CHECK(name + " " + differing(comparison) == name + " ");
        CHECK(comparison.figures.size() >= 3);
    }
}

TEST_CASE("what llama.cpp's --fit moved lies where it was moved to", "[diagnose]") {
    const Comparison comparison = comparison_of("07_server_30b_a3b_12g_moe_fit.log");
    CHECK(differing(comparison) == "weights host");
    CHECK(figure_of(comparison, "weights", "host").reason.starts_with("CPU_Mapped"));
    CHECK(figure_of(comparison, "compute", "CUDA0").logged == 249340887); // 237.79 * 2^20, cut
}

TEST_CASE("a log without n_outputs_max is of a llama.cpp that reserves logits for every token", "[diagnose]") {
    // 519.50 MiB with 512 rows of 262,144 logits; today's server reserves two rows
    const Comparison comparison = comparison_of("011_llamacpp_healthy_iswa_2slots.log");
    CHECK(figure_of(comparison, "compute", "CUDA0").equal());
    CHECK(figure_of(comparison, "output", "host").equal());
    CHECK(figure_of(comparison, "kv_cache", "CUDA0").equal());
}

TEST_CASE("the table at the end is compared where no buffers are shown", "[diagnose]") {
    CHECK(comparison_of("014_llamacpp_exit_table_cuda.log").reason == "the log does not show the context; give --ctx");
    Request hints;
    hints.n_ctx = 16384;
    const Comparison comparison = comparison_of("014_llamacpp_exit_table_cuda.log", hints);
    CHECK(figure_of(comparison, "weights", "CUDA0").logged == 25011ULL << 20);
    CHECK(figure_of(comparison, "weights", "host").logged == 36058ULL << 20);
    CHECK(figure_of(comparison, "weights", "CUDA0").rounding == 1U << 20);
}

TEST_CASE("a model that no catalog has is compared by its own metadata", "[diagnose]") {
    std::string log = log_text_of("01_server_8b_24g_defaults.log");
    for (const std::string name : {"Llama-3.1-8B-Instruct", "Llama 3.1 8B Instruct", "Meta Llama 3.1 8B Instruct"}) {
        for (std::size_t at = log.find(name); at != std::string::npos; at = log.find(name))
            log.replace(at, name.size(), "x");
    }
    const std::string trained = "131072"; // a shape of its own: no entry of the catalog has that context
    for (std::size_t at = log.find("n_ctx_train"); at != std::string::npos; at = log.find("n_ctx_train", at + 1)) {
        const std::size_t number = log.find(trained, at);
        if (number < log.find('\n', at)) log.replace(number, trained.size(), "131073");
    }
    const Comparison comparison = compare(log_stream(log), {});
    CHECK(comparison.model_id.empty());
    CHECK(differing(comparison) == "");
    CHECK(comparison.figures.size() >= 5);
}

TEST_CASE("without a quantization or tensors the cache alone is compared", "[diagnose]") {
    const Comparison comparison = compare(log_stream("print_info: arch = newcomer\n"
                                                     "print_info: n_layer = 10\nprint_info: n_embd = 1024\n"
                                                     "print_info: n_head = 16\nprint_info: n_head_kv = 4\n"
                                                     "print_info: n_embd_head_k = 64\nprint_info: n_embd_head_v = 64\n"
                                                     "llama_context: n_ctx = 4096\nllama_context: flash_attn = 1\n"
                                                     "load_tensors: CUDA0 model buffer size = 100.00 MiB\n"
                                                     "llama_kv_cache_init: CUDA0 KV buffer size = 40.00 MiB\n"),
                                          {});
    REQUIRE(comparison.figures.size() == 1);
    CHECK(comparison.figures[0].predicted == 41943040); // 10 layers * 4096 cells * 4 heads * (64 + 64) * 2 bytes
    CHECK(comparison.figures[0].equal());
    CHECK(comparison.notes.size() == 1);
}

TEST_CASE("where nothing can be compared, why not", "[diagnose]") {
    const Comparison nothing = comparison_of("077_vllm_healthy_small_awq.log");
    CHECK(nothing.figures.empty());
    CHECK(nothing.reason == "the log shows no buffers of llama.cpp to compare with");
}

TEST_CASE("Windows that cache the whole context are seen in the log", "[diagnose]") {
    std::string text = log_text_of("13_server_gemma3_12b_32k.log");
    const std::size_t at = text.find("llama_kv_cache_iswa: creating non-SWA");
    REQUIRE(at != std::string::npos);
    text.insert(at, "llama_kv_cache_iswa: using full-size SWA cache (ref: https://github.com)\n");
    // 48 layers of 8 heads of 256 elements: 8 KiB a token for K and V in f16, 12 GiB for 32768 tokens.
    CHECK(figure_of(compare(log_stream(text), {}), "kv_cache", "CUDA0").predicted == 12'884'901'888);
}
