#include "ask.hpp"

#include "support/errors.hpp"
#include "support/small_model.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/answer/solve.hpp"
#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

#include <set>

using namespace vramfit;
using namespace vramfit::test;

namespace {

Table table_of(const Request& request, const ModelSources& sources = {}) {
    const Solution solution = solve(request, sources);
    REQUIRE(std::holds_alternative<Table>(solution));
    return std::get<Table>(solution);
}

/// A question about a model, without quantization, context and GPU.
Request about(std::string model) {
    Request request;
    request.model = std::move(model);
    return request;
}

std::size_t column(const Table& table, const std::string& key) {
    const auto found = std::ranges::find(table.columns, key, &TableColumn::key);
    REQUIRE(found != table.columns.end());
    return static_cast<std::size_t>(found - table.columns.begin());
}

const Cell& cell(const Table& table, const TableRow& row, const std::string& key) {
    return row.cells[column(table, key)];
}

/// The row whose first cell says `name`.
const TableRow& row_of(const Table& table, const std::string& name) {
    const auto found =
        std::ranges::find_if(table.rows, [&](const TableRow& row) { return row.cells[0] == Cell(name); });
    REQUIRE(found != table.rows.end());
    return *found;
}

std::vector<std::string> names_of(const Table& table) {
    std::vector<std::string> names;
    for (const TableRow& row : table.rows) names.push_back(std::get<std::string>(row.cells[0]));
    return names;
}

std::uint64_t bytes_at(const Table& table, const TableRow& row, const std::string& key) {
    return std::get<std::uint64_t>(cell(table, row, key));
}

SizedVerdict sized_at(const Table& table, const TableRow& row, const std::string& key) {
    return std::get<SizedVerdict>(cell(table, row, key));
}

std::uint64_t required(const Answer& answer) {
    std::uint64_t sum = 0;
    for (const DeviceAnswer& device : answer.devices) sum += device.required;
    return sum;
}

/// MiB with two decimals, as logs and comments have them.
std::uint64_t hundredths_of_mib(std::uint64_t bytes) { return (bytes * 100 + mib / 2) / mib; }

} // namespace

TEST_CASE("a complete question has an answer, a question without context too") {
    CHECK(std::holds_alternative<Answer>(solve(llama_8b(8192, "24GB"))));
    Request open = llama_8b(0, "8GB");
    open.n_ctx.reset();
    const Solution solution = solve(open);
    REQUIRE(std::holds_alternative<Answer>(solution));
    CHECK(std::get<Answer>(solution).settings.n_ctx == 15104); // as max_ctx_test has it
}

TEST_CASE("contexts of a table: doubles of 4096 up to the trained one, six at most") {
    using Contexts = std::vector<std::uint64_t>;
    CHECK(table_contexts(131072) == Contexts{4096, 8192, 16384, 32768, 65536, 131072});
    CHECK(table_contexts(40960) == Contexts{4096, 8192, 16384, 32768, 40960});
    CHECK(table_contexts(4096) == Contexts{4096});
    CHECK(table_contexts(512) == Contexts{512});
    CHECK(table_contexts(0) == table_contexts(131072));
    CHECK(table_contexts(262144) == Contexts{8192, 16384, 32768, 65536, 131072, 262144}); // without the smallest
    CHECK(table_contexts(1048576) == Contexts{4096, 16384, 65536, 262144, 1048576});      // every second
    for (const std::uint64_t trained : {1ULL, 5000ULL, 524288ULL, 10485760ULL, 0x7FFFFFFFULL}) {
        const Contexts contexts = table_contexts(trained);
        CHECK(contexts.size() <= 6);
        CHECK(contexts.back() == trained);
        CHECK(std::ranges::is_sorted(contexts));
    }
}

TEST_CASE("8B on 12 GB, quantization against context, by hand") {
    // Q4_K_M: 4403.49 MiB of weights on the device, 128 KiB of cache a token, 108.01 MiB and 1 KiB a token of compute
    // buffer (ask.hpp), 750 MiB for driver and process: 5261.50 MiB and 129 KiB a token.
    //   8192: 6293.50    65536: 13517.50, more than 12288
    // The margin is 1024: fit up to 11264, which is 47616 tokens (max_ctx_test).
    Request request = about("llama3.1-8b");
    request.gpus = {"12GB"};
    const Table table = table_of(request);
    CHECK(table.kind == "quant_ctx");
    const TableRow& row = row_of(table, "Q4_K_M");
    CHECK(sized_at(table, row, "ctx_8192").verdict == Verdict::fit);
    CHECK(hundredths_of_mib(*sized_at(table, row, "ctx_8192").bytes) == 629350);
    CHECK(sized_at(table, row, "ctx_32768").verdict == Verdict::fit); // 9389.50
    CHECK(sized_at(table, row, "ctx_65536").verdict == Verdict::oom);
    CHECK(hundredths_of_mib(*sized_at(table, row, "ctx_65536").bytes) == 1351750);
    CHECK(cell(table, row, "max_ctx") == Cell(std::uint64_t{47616}));
    // 16 bits for 8 billion weights are 15 GiB.
    CHECK(sized_at(table, row_of(table, "F16"), "ctx_4096").verdict == Verdict::oom);
    CHECK(cell(table, row_of(table, "F16"), "max_ctx") == Cell());
    CHECK(has_match(table, true));

    request.gpus = {"2GB"};
    CHECK_FALSE(has_match(table_of(request), false));
}

TEST_CASE("8B alone, the memory needed, by hand") {
    const Table table = table_of(about("llama3.1-8b"));
    CHECK(table.kind == "quant_ctx");
    CHECK(table.subject->devices.empty());
    CHECK(std::ranges::find(table.columns, "max_ctx", &TableColumn::key) == table.columns.end());
    CHECK(hundredths_of_mib(bytes_at(table, row_of(table, "Q4_K_M"), "ctx_8192")) == 629350); // as above
    CHECK(hundredths_of_mib(bytes_at(table, row_of(table, "Q4_K_M"), "ctx_131072")) == 2177350);
    CHECK(has_match(table, true));
    // One that a card of 48 GB does not hold: the driver keeps 750 MiB of larger ones instead of 450.
    const Table large = table_of(about("llama3.3-70b"));
    Request single = question("llama3.3-70b", "f16", 4096, "1000GB");
    CHECK(bytes_at(large, row_of(large, "F16"), "ctx_4096") == required(answer(single)));
}

TEST_CASE("the best quantization is the largest that fits") {
    Request request = about("llama3.1-8b");
    request.n_ctx = 8192;
    request.gpus = {"12GB"};
    const Table table = table_of(request);
    CHECK(table.kind == "quant");
    CHECK(has_match(table, true));
    // 1024 MiB of cache, 116.01 MiB of compute buffer and 750 MiB leave 10397.99 MiB of 12288 for weights, 9373.99 with
    // the margin. Q8_0 has 8.5 bits: 8030261312 weights without the embeddings (128256 x 4096) are 7605.34 MiB.
    for (const TableRow& row : table.rows) {
        const bool best = cell(table, row, "best") == Cell(true);
        CHECK(best == (row.cells[0] == Cell(std::string("Q8_0"))));
    }
    const TableRow& q4 = row_of(table, "Q4_K_M");
    CHECK(bytes_at(table, q4, "tensor_bytes") == 4912898304);
    CHECK(hundredths_of_mib(bytes_at(table, q4, "required")) == 629350);
    CHECK(std::get<std::int64_t>(cell(table, q4, "headroom")) ==
          static_cast<std::int64_t>(12 * gib - bytes_at(table, q4, "required")));
    CHECK(std::get<double>(cell(table, q4, "bits_per_weight")) == Approx(8.0 * 4912898304 / 8030261312));
    // Largest first.
    for (std::size_t i = 1; i < table.rows.size(); ++i)
        CHECK(bytes_at(table, table.rows[i], "tensor_bytes") <= bytes_at(table, table.rows[i - 1], "tensor_bytes"));
}

TEST_CASE("where only a tight fit is left it is the best, unless it counts as a failure") {
    Request request = about("llama3.1-8b");
    request.n_ctx = 8192;
    request.gpus = {"4608MiB"};
    request.margin = 3 * gib; // nothing leaves that
    const Table table = table_of(request);
    const auto best =
        std::ranges::find_if(table.rows, [&](const TableRow& row) { return cell(table, row, "best") == Cell(true); });
    REQUIRE(best != table.rows.end());
    CHECK(cell(table, *best, "verdict") == Cell(Verdict::tight));
    request.strict = true;
    const Table strict = table_of(request);
    for (const TableRow& row : strict.rows) CHECK(cell(strict, row, "best") == Cell(false));
    CHECK_FALSE(has_match(strict, true));
    CHECK(strict.legend == "no quantization fits with room to spare");
}

TEST_CASE("settings that the runtime refuses are refused for every quantization") {
    Request request = about("llama3.1-8b");
    request.gpus = {"24GB"};
    request.flash_attn = FlashAttention::off;
    request.type_v = TensorType::q8_0;
    const Table by_context = table_of(request);
    CHECK(sized_at(by_context, row_of(by_context, "Q4_K_M"), "ctx_4096") ==
          SizedVerdict{std::nullopt, Verdict::refused});
    CHECK_FALSE(has_match(by_context, false));
    request.n_ctx = 4096;
    const Table at_context = table_of(request);
    CHECK(cell(at_context, row_of(at_context, "Q4_K_M"), "required") == Cell());
    CHECK(cell(at_context, row_of(at_context, "Q4_K_M"), "verdict") == Cell(Verdict::refused));
}

TEST_CASE("cache type against context") {
    Request request = llama_8b(0, "12GB");
    request.n_ctx.reset();
    request.table = TableAxis::cache;
    const Table table = table_of(request);
    CHECK(table.kind == "cache_ctx");
    CHECK(names_of(table) == std::vector<std::string>{"f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"});
    // 8.5 of 16 bits: 68 KiB a token instead of 128, so 60 KiB x 8192 = 480 MiB less.
    const std::uint64_t f16 = *sized_at(table, row_of(table, "f16"), "ctx_8192").bytes;
    CHECK(hundredths_of_mib(f16) == 629350);
    request.table.reset();
    request.n_ctx = 8192;
    for (const char* type : {"q8_0", "q4_0"}) {
        request.type_k = request.type_v = parse_tensor_type(type);
        CHECK(*sized_at(table, row_of(table, type), "ctx_8192").bytes == required(answer(request)));
    }
    // The compute buffer of a quantized cache is 80 KiB larger.
    CHECK(f16 - *sized_at(table, row_of(table, "q8_0"), "ctx_8192").bytes == 480 * mib - 80 * kib);
}

TEST_CASE("a file has its quantization with it: one row") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "small.gguf");
    Request request = about((folder.path() / "small.gguf").string());
    const Table alone = table_of(request);
    CHECK(names_of(alone) == std::vector<std::string>{"Q8_0"});
    CHECK(alone.subject->quant == "Q8_0");
    request.gpus = {"2GB"};
    CHECK(std::holds_alternative<Answer>(solve(request)));
    request.table = TableAxis::quant;
    CHECK(names_of(table_of(request)) == std::vector<std::string>{"Q8_0"});
    request.table.reset();
    request.gpus.clear();
    request.n_ctx = 4096;
    CHECK(table_of(request).kind == "gpu");
}

TEST_CASE("what is left open too far, or contradicts itself, is an error") {
    Request nothing;
    nothing.n_ctx = 4096;
    CHECK(test::error_of([&] { solve(nothing); }) ==
          "to look for models, give a GPU and a context, such as 24GB and 8192");
    Request cache = about("llama3.1-8b");
    cache.table = TableAxis::cache;
    CHECK(test::error_of([&] { solve(cache); }) ==
          "a table of cache types needs a quantization; give a file type such as q4_k_m");
    cache.quant = "q4_k_m";
    cache.type_k = TensorType::q8_0;
    CHECK(test::error_of([&] { solve(cache); }) == "a table of cache types tries them all: leave --cache-type out");
    cache.type_k.reset();
    cache.n_ctx = 4096;
    CHECK(test::error_of([&] { solve(cache); }) == "a table has its own contexts: leave --ctx or --table out");
    Request automatic = about("llama3.1-8b");
    automatic.gpus = {"24GB"};
    automatic.n_gpu_layers = gpu_layers_auto;
    CHECK(contains(test::error_of([&] { solve(automatic); }), "--gpu-layers auto places one deployment"));
    automatic.gpus.clear();
    CHECK(contains(test::error_of([&] { solve(automatic); }), "give one, such as --gpu 24GB, or --gpu auto"));
    Request filtered = llama_8b(4096, "24GB");
    filtered.models.moe = true;
    CHECK(contains(test::error_of([&] { solve(filtered); }), "choose between models"));
    Request engine = about("llama3.1-8b");
    engine.runtime = "vllm";
    CHECK(contains(test::error_of([&] { solve(engine); }), "vLLM is answered for one deployment: give model and GPU"));
    engine.gpus = {"24GB"};
    engine.table = TableAxis::quant;
    CHECK(contains(test::error_of([&] { solve(engine); }), "vLLM is answered for one deployment"));
    engine.model.clear();
    engine.table.reset();
    engine.n_ctx = 4096;
    CHECK(contains(test::error_of([&] { solve(engine); }), "vLLM is answered for one deployment"));
}

TEST_CASE("a model published in MXFP4 is best as its makers have it: more bits only repeat it") {
    // gpt-oss-20b: 11.3 GiB as published (gguf_sizes: 12.1 GB), 14.7 GiB in Q4_K_M.
    Request request = about("gpt-oss-20b");
    request.gpus = {"16GB"};
    request.n_ctx = 8192;
    const Table table = table_of(request);
    REQUIRE(!table.rows.empty());
    CHECK(table.rows.front().cells.front() == Cell(std::string("MXFP4_MOE")));
    CHECK(table.rows.front().cells.back() == Cell(true));
    const auto names = names_of(table);
    for (const char* larger : {"F16", "Q8_0", "Q4_K_M"}) CHECK(std::ranges::count(names, larger) == 0);
    // Of other mixtures it is one type among many, and of a model without experts none at all.
    Request other = about("qwen3-30b-a3b");
    other.n_ctx = 8192;
    CHECK(names_of(table_of(other)).front() == "F16");
    other.model = "llama3.1-8b";
    CHECK(std::ranges::count(names_of(table_of(other)), "MXFP4_MOE") == 0);
}

TEST_CASE("cache types that the GPU has no kernel for are named") {
    // ggml-cuda's default build reads K and V in f16, bf16, q8_0 and q4_0 (fattn.cu, GGML_CUDA_FA_ALL_QUANTS).
    Request request = about("llama3.1-8b");
    request.quant = "q4_k_m";
    request.gpus = {"24GB"};
    request.table = TableAxis::cache;
    const Table table = table_of(request);
    REQUIRE(table.notes.size() == 1);
    CHECK(table.notes.front().starts_with("with q5_1, q5_0, q4_1 and iq4_nl attention runs on the CPU"));
}

TEST_CASE("tables say why all is refused, and what slots make of a context") {
    Request request = about("llama3.1-8b");
    request.gpus = {"24GB"};
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    const auto says = [](const Table& table, const std::string& part) {
        return std::ranges::any_of(table.notes, [&](const std::string& n) { return contains(n, part); });
    };
    CHECK(says(table_of(request), "llama.cpp refuses these settings: quantized V cache"));
    request.n_ctx = 8192;
    CHECK(says(table_of(request), "llama.cpp refuses these settings: quantized V cache"));
    request.model.clear();
    CHECK(says(std::get<Table>(solve(request)), "llama.cpp refuses these settings: quantized V cache"));
    Request slots = about("llama3.1-8b");
    slots.gpus = {"24GB"};
    slots.parallel = 5;
    CHECK(says(table_of(slots), "5 slots divide each context"));
    slots.kv_unified = true;
    CHECK(says(table_of(slots), "5 slots share each context"));
}

TEST_CASE("weights of three values can be had in the types made for them") {
    Request request = about("bitnet-b1.58-2b");
    request.n_ctx = 2048;
    const auto names = names_of(table_of(request));
    CHECK(std::ranges::count(names, "TQ2_0") == 1);
    CHECK(std::ranges::count(names, "TQ1_0") == 1);
}
