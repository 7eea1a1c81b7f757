#include "ask.hpp"

#include "vramfit/answer/solve.hpp"
#include "vramfit/memory/runtime.hpp"

#include "catch.hpp"

#include <variant>

using namespace vramfit;
using namespace vramfit::test;

namespace {

Table compared(Request request) {
    request.runtime = "all";
    return std::get<Table>(solve(request));
}

const TableRow& row_of(const Table& table, const std::string& runtime) {
    return *std::ranges::find_if(table.rows, [&](const TableRow& row) { return row.cells.front() == Cell(runtime); });
}

Cell cell(const Table& table, const std::string& runtime, std::string_view key) {
    const auto column = std::ranges::find(table.columns, key, &TableColumn::key);
    return row_of(table, runtime).cells[static_cast<std::size_t>(column - table.columns.begin())];
}

} // namespace

TEST_CASE("all runtimes: a row a runtime, each what it would answer alone") {
    Request request = llama_8b(0, "24GB");
    request.n_ctx.reset();
    const Table table = compared(request);
    CHECK(table.kind == "runtime");
    REQUIRE(table.rows.size() == runtimes().size());
    for (const char* runtime : {"llama.cpp", "llama-cli", "ollama", "lmstudio", "koboldcpp"}) {
        INFO(runtime);
        request.runtime = runtime;
        const Answer alone = answer(request);
        CHECK(cell(table, runtime, "n_ctx") == Cell(alone.settings.n_ctx));
        CHECK(cell(table, runtime, "required") == Cell(alone.devices[0].required));
        CHECK(cell(table, runtime, "verdict") == Cell(alone.verdict));
        CHECK(cell(table, runtime, "max_ctx") == Cell(alone.max_ctx.fit));
    }
    CHECK(cell(table, "ollama", "n_ctx") == Cell(std::uint64_t{32768})); // 24 GiB
    CHECK(cell(table, "llama.cpp", "why") == Cell());
    CHECK(std::get<std::string>(cell(table, "ollama", "why")) == "own ctx, batch 1024");
    CHECK(std::get<std::string>(cell(table, "koboldcpp", "why")) == "own ctx, +128 cells");
}

TEST_CASE("all runtimes: a cache without windows is a difference, where the model has some") {
    const Table table = compared(question("gemma3-27b", "q4_k_m", 8192, "24GB"));
    CHECK(std::get<std::string>(cell(table, "koboldcpp", "why")) == "no windows, +128 cells");
    CHECK(cell(table, "lmstudio", "why") == Cell());
}

TEST_CASE("all runtimes: what a runtime has not is said in its row") {
    Request request = llama_8b(8192, "24GB");
    request.type_k = request.type_v = TensorType::q5_1;
    const Table table = compared(request);
    CHECK(row_of(table, "llama.cpp").remark.empty());
    CHECK(row_of(table, "ollama").remark == "Ollama has no KV cache of type q5_1; f16, q8_0 or q4_0 would be right");
    CHECK(cell(table, "ollama", "verdict") == Cell());
}

TEST_CASE("runtime all is about one deployment") {
    Request request = llama_8b(8192, "24GB");
    request.runtime = "all";
    request.gpus.clear();
    CHECK_THROWS_AS(solve(request), Error);
    request = llama_8b(8192, "24GB");
    request.runtime = "all";
    request.table = TableAxis::quant;
    CHECK_THROWS_AS(solve(request), Error);
}

TEST_CASE("all runtimes without a quantization: what a download without a type is") {
    Request request = llama_8b(8192, "24GB");
    request.quant.reset();
    const Table table = compared(request);
    CHECK(cell(table, "llama.cpp", "required") == cell(compared(llama_8b(8192, "24GB")), "llama.cpp", "required"));
    CHECK(table.subject->quant == "Q4_K_M");
    REQUIRE(table.notes.size() == 1);
    CHECK(table.notes[0].starts_with("no quantization was given: Q4_K_M"));

    request.model = "gpt-oss-20b"; // which OpenAI publishes in MXFP4
    CHECK(compared(request).subject->quant == "MXFP4_MOE");
}
