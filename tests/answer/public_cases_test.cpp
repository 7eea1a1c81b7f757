// KV caches of public logs: tests/data/logs/public_kv.tsv.
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <cmath>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

/// A row as the lines of llama.cpp that it was read from.
std::string log_of(const std::vector<std::string>& row) {
    std::string log = "print_info: general.name = public case\n";
    const auto line = [&](const std::string& front, const std::string& key, const std::string& value) {
        if (value != "-") log += front + ": " + key + " = " + value + "\n";
    };
    static constexpr const char* metadata[] = {"arch",   "n_layer", "n_head_kv", "n_embd_head_k", "n_embd_head_v",
                                               "n_embd", "n_head",  "n_swa",     "n_ctx_train"};
    for (std::size_t i = 0; i < std::size(metadata); ++i) line("print_info", metadata[i], row[1 + i]);
    line("llama_context", "n_seq_max", row[11]);
    line("llama_context", "n_ctx", row[10]);
    line("llama_context", "n_ubatch", row[13]);
    line("llama_context", "flash_attn", row[16]);
    line("llama_context", "kv_unified", row[12]);
    log += "llama_kv_cache_init: " + row[19] + " KV buffer size = " + row[18] + " MiB\n";
    const std::string k = row[14], v = row[15] == "-" ? row[14] : row[15];
    if (row[17] == "self")
        log += "llama_context: KV self size = " + row[18] + " MiB, K (" + k + "): 1 MiB, V (" + v + "): 1 MiB\n";
    else
        log += "llama_kv_cache: size = " + row[18] + " MiB ( 1 cells, 1 layers, 1/1 seqs), K (" + k + "): 1 MiB, V (" +
               v + "): 1 MiB\n";
    return log;
}

double predicted_mib(const Comparison& comparison) {
    for (const ComparedFigure& figure : comparison.figures) {
        if (figure.component == "kv_cache") return static_cast<double>(figure.predicted) / 1048576;
    }
    return 0;
}

} // namespace

TEST_CASE("the cache of public logs is predicted as it was logged", "[diagnose]") {
    const std::string file = std::string(VRAMFIT_TEST_DATA) + "/logs/public_kv.tsv";
    std::size_t n_equal = 0, n_different = 0;
    for (const std::string& text : test::read_lines(file)) {
        const auto row = test::split(text, "\t");
        REQUIRE(row.size() >= 20);
        const double predicted = predicted_mib(compare(log_stream(log_of(row)), {}));
        const bool equal = std::abs(predicted - std::stod(row[18])) <= 0.011; // two decimals
        const bool expected = row.size() == 20;                               // else a reason stands there
        CHECK(row[0] + (equal ? " is equal" : " differs: " + std::to_string(predicted)) ==
              row[0] + (expected ? " is equal" : " differs: " + std::to_string(predicted)));
        equal ? ++n_equal : ++n_different;
    }
    CHECK(n_equal + n_different == 105);
    CHECK(n_equal == 80);
}
