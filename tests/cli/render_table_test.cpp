#include "catch.hpp"
#include "cli/answer_table.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/render_table.hpp"
#include "cli/sample_answers.hpp"
#include "vramfit/base/bytes.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::Format;
using nlohmann::json;
using Errors = std::vector<std::string>;

namespace {

cli::Terminal colored() { return utf8_pipe().with(cli::ColorMode::always); }

/// Quantization against context, put together by hand.
Table by_context() {
    Table table;
    table.kind = "quant_ctx";
    table.subject =
        TableSubject{"llama3.1-8b", "", std::nullopt, TensorType::f16, TensorType::q8_0, {"8GB", "8GB"}, "llama.cpp"};
    table.columns = {{"quant", "quant"},
                     {"ctx_4096", "4096", Unit::gibibytes},
                     {"ctx_131072", "131072", Unit::gibibytes},
                     {"max_ctx", "largest", Unit::count}};
    const SizedVerdict refused{std::nullopt, Verdict::refused};
    table.rows.push_back(
        {cells_of(std::string("F16"), SizedVerdict{100 * gib, Verdict::oom}, refused, std::monostate())});
    table.rows.push_back({cells_of(std::string("Q4_K_M"), SizedVerdict{5 * gib + gib / 2, Verdict::fit},
                                   SizedVerdict{15 * gib, Verdict::tight}, std::uint64_t{65536})});
    table.legend = "GiB required.";
    table.notes = {"a note"};
    return table;
}

/// A listing with one cell of each kind, and names that a terminal or Markdown would act upon.
Table of_every_kind() {
    Table table;
    table.kind = "model";
    table.subject = TableSubject{};
    table.subject->runtime = "llama.cpp";
    table.subject->n_ctx = 0;
    table.columns = {{"name", "name"},
                     {"parameters", "params", Unit::parameters},
                     {"bits", "bits", Unit::bits},
                     {"size", "size", Unit::bytes},
                     {"headroom", "headroom", Unit::bytes},
                     {"total", "total", Unit::mebibytes},
                     {"memory", "memory", Unit::gigabytes},
                     {"verdict", "verdict", Unit::verdict},
                     {"family", "family", Unit::none, true},
                     {"best", "", Unit::mark}};
    constexpr std::monostate nothing;
    table.rows.push_back({cells_of(std::string("a|b\t\033[1m"), std::uint64_t{8030261312}, 4.894,
                                   std::uint64_t{4912898304}, -static_cast<std::int64_t>(gib + gib / 2), 24564 * mib,
                                   24 * gib, Verdict::tight, std::string("fam"), true)});
    table.rows.push_back({cells_of(std::string("c"), nothing, nothing, nothing, nothing, nothing, nothing, Verdict::fit,
                                   nothing, false)});
    return table;
}

} // namespace

TEST_CASE("a table as text: letters and figures below one another, how to read it below") {
    CHECK(cli::render_table_text(by_context(), utf8_pipe()) ==
          "llama3.1-8b  KV f16/q8_0                                      2 x 8GB, llama.cpp\n"
          "\n"
          "quant      4096  131072  largest\n"
          "F16     O 100.0  R\n"
          "Q4_K_M  F   5.5  T 15.0    65536\n"
          "\n"
          "GiB required.\n"
          "note: a note\n");
}

TEST_CASE("a table in colours says the same") {
    const std::string text = cli::render_table_text(by_context(), colored());
    CHECK(text == "llama3.1-8b  KV f16/q8_0                                      2 x 8GB, llama.cpp\n"
                  "\n"
                  "\033[1mquant      4096  131072  largest\033[0m\n"
                  "F16     \033[1;31mO 100.0\033[0m  \033[1;31mR     \033[0m\n"
                  "Q4_K_M  \033[1;32mF   5.5\033[0m  \033[1;33mT 15.0\033[0m    65536\n"
                  "\n"
                  "GiB required.\n"
                  "note: a note\n");
}

TEST_CASE("every kind of cell, as a person reads it") {
    CHECK(cli::render_table_text(of_every_kind(), utf8_pipe()) ==
          "models  ctx max                                                        llama.cpp\n"
          "\n"
          "name      params  bits     size  headroom      total  memory  verdict\n"
          "a|b ?[1m    8.0B  4.89  4.6 GiB  -1.5 GiB  24564 MiB   24 GB  tight    *\n"
          "c                                                             fit\n");
}

TEST_CASE("tab-separated values are raw, with every column") {
    CHECK(cli::render_tsv(of_every_kind()) ==
          "name\tparameters\tbits\tsize\theadroom\ttotal\tmemory\tverdict\tfamily\tbest\n"
          "a|b ?[1m\t8030261312\t4.89\t4912898304\t-1610612736\t25757220864\t25769803776\ttight\tfam\ttrue\n"
          "c\t\t\t\t\t\t\tfit\t\tfalse\n");
    // A verdict with a size has two fields.
    CHECK(cli::render_tsv(by_context()) ==
          "quant\tctx_4096\tctx_4096_verdict\tctx_131072\tctx_131072_verdict\tmax_ctx\n"
          "F16\t107374182400\toom\t\trefused\t\n"
          "Q4_K_M\t5905580032\tfit\t16106127360\ttight\t65536\n");
}

TEST_CASE("Markdown") {
    CHECK(cli::render_markdown(by_context()) == "llama3.1-8b  KV f16/q8_0  2 x 8GB, llama.cpp\n"
                                                "\n"
                                                "| quant | 4096 | 131072 | largest |\n"
                                                "| --- | ---: | ---: | ---: |\n"
                                                "| F16 | O 100.0 | R | |\n"
                                                "| Q4_K_M | F 5.5 | T 15.0 | 65536 |\n"
                                                "\n"
                                                "GiB required.\n"
                                                "\n"
                                                "a note\n");
    const std::string text = cli::render_markdown(of_every_kind());
    CHECK(text.find("| a\\|b ?[1m | 8.0B | 4.89 | 4.6 GiB | -1.5 GiB | 24564 MiB | 24 GB | tight | \\* |\n") !=
          std::string::npos);
}

TEST_CASE("JSON by the schema, bytes as integers") {
    const JsonSchema schema = JsonSchema::of_file("table");
    const json table = json::parse(cli::render_table_json(by_context()));
    CHECK(schema.errors(table) == Errors{});
    CHECK(table["columns"][1]["unit"] == "bytes_and_verdict");
    CHECK(table["columns"][3]["unit"] == "count");
    CHECK(table["rows"][1]["ctx_4096"] == json({{"bytes", 5905580032}, {"verdict", "fit"}}));
    CHECK(table["rows"][0]["ctx_131072"] == json({{"bytes", nullptr}, {"verdict", "refused"}}));
    CHECK(table["rows"][0]["max_ctx"].is_null());
    CHECK(table["subject"]["devices"] == json({"8GB", "8GB"}));
    CHECK(table["subject"]["quant"].is_null());
    const json every = json::parse(cli::render_table_json(of_every_kind()));
    CHECK(schema.errors(every) == Errors{});
    CHECK(every["rows"][0]["headroom"] == -1610612736);
    CHECK(every["rows"][0]["best"] == true);
    CHECK(every["columns"][1] == json({{"key", "parameters"}, {"unit", "count"}}));
}

TEST_CASE("of a long answer the first rows are shown, and what is left is said") {
    Table table = of_every_kind();
    table.rows.resize(1);
    table.rows.resize(40, table.rows[0]);
    const std::string text = cli::render_table_text(table, utf8_pipe());
    CHECK(std::count(text.begin(), text.end(), '\n') == 2 + 1 + 25 + 1);
    CHECK(text.ends_with("\nand 15 more, see --format tsv\n"));
    const std::string all = cli::render_tsv(table);
    CHECK(std::count(all.begin(), all.end(), '\n') == 41);
}

TEST_CASE("names give way to figures where a line would be wider than the screen") {
    Table table;
    table.kind = "gpu";
    table.columns = {{"name", "name"}, {"a", "a", Unit::bytes}, {"b", "b", Unit::bytes}, {"c", "c", Unit::count}};
    const std::string name(34, 'n');
    const std::uint64_t long_number = 1'000'000'000'000'000'000;
    table.rows.push_back({cells_of(name, 1023 * gib, 1023 * gib, long_number)});
    table.rows.push_back({cells_of(name, 1023 * gib, 1023 * gib, long_number)});
    CHECK(widest_line(cli::render_table_text(table, utf8_pipe()), cli::display_width) <= 80);
    table.columns.push_back({"d", "d", Unit::count});
    for (TableRow& row : table.rows) row.cells.emplace_back(long_number);
    const std::string text = cli::render_table_text(table, utf8_pipe());
    CHECK(widest_line(text, cli::display_width) <= 80);
    CHECK(text.find("1000000000000000000  1000000000000000000") != std::string::npos);
}

TEST_CASE("an answer as Markdown says what its rows do not") {
    const Answer answer = fitting_answer();
    const std::string text = cli::render_table(cli::table_of(answer), Format::markdown, utf8_pipe());
    CHECK(text.find("run: ") != std::string::npos);
    CHECK(text.find("largest context") != std::string::npos);
}

TEST_CASE("an answer as a table: a row a device, and one for the computer's memory") {
    const std::string text = cli::render_table(cli::table_of(split_answer()), Format::tsv, utf8_pipe());
    CHECK(text ==
          "model\tquant\tn_ctx\tdevice\tverdict\tavailable\trequired\theadroom\tweights\tkv_cache\trecurrent_state\t"
          "compute\tadapters\tprojector\tdraft\toutput\toverhead\tmax_ctx\n"
          "llama3.1-8b\tQ4_K_M\t32768\t4GB\toom\t4294967296\t5349834752\t-1054867456\t2281701376\t2147483648\t0\t"
          "134217728\t0\t0\t0\t\t786432000\t\n"
          "llama3.1-8b\tQ4_K_M\t32768\trtx3090\tfit\t25769803776\t5349834752\t20419969024\t2281701376\t2147483648\t0\t"
          "134217728\t0\t0\t0\t\t786432000\t\n"
          "llama3.1-8b\tQ4_K_M\t32768\tRAM\t\t\t347885568\t\t295501824\t0\t0\t50331648\t0\t0\t0\t2052096\t\t\n");
}
