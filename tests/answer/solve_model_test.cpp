#include "ask.hpp"

#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/small_model.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/answer/solve.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <limits>

using namespace vramfit;
using namespace vramfit::test;

namespace {

struct Found {
    std::string model, quant, family, license;
    std::uint64_t parameters = 0, required = 0, context = 0;
    std::int64_t headroom = 0;
    Verdict verdict = Verdict::fit;
};

template <typename T>
T value(const Table& table, const TableRow& row, const std::string& key) {
    const auto found = std::ranges::find(table.columns, key, &TableColumn::key);
    REQUIRE(found != table.columns.end());
    const T* held = std::get_if<T>(&row.cells[static_cast<std::size_t>(found - table.columns.begin())]);
    return held == nullptr ? T() : *held;
}

std::vector<Found> models_in(const Table& table) {
    std::vector<Found> found;
    for (const TableRow& row : table.rows) {
        Found f;
        f.model = value<std::string>(table, row, "model");
        f.quant = value<std::string>(table, row, "quant");
        f.family = value<std::string>(table, row, "family");
        f.license = value<std::string>(table, row, "license");
        f.parameters = value<std::uint64_t>(table, row, "parameters");
        f.required = value<std::uint64_t>(table, row, "required");
        f.context = value<std::uint64_t>(table, row, "context_length");
        f.headroom = value<std::int64_t>(table, row, "headroom");
        f.verdict = value<Verdict>(table, row, "verdict");
        found.push_back(f);
    }
    return found;
}

Request on(std::string gpu, std::uint64_t n_ctx) {
    Request request;
    request.gpus = {std::move(gpu)};
    request.n_ctx = n_ctx;
    return request;
}

std::vector<Found> models_for(const Request& request) { return models_in(std::get<Table>(solve(request))); }

const Found* find(const std::vector<Found>& models, std::string_view id) {
    const auto found = std::ranges::find(models, id, &Found::model);
    return found == models.end() ? nullptr : &*found;
}

/// What the table says of a model is what its answer says.
void check_row(const Found& f, Request request) {
    request.model = f.model;
    request.quant = f.quant;
    request.models = {};
    const Answer a = answer(request);
    INFO(f.model << ' ' << f.quant);
    CHECK(a.verdict == f.verdict);
    std::uint64_t required = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const DeviceAnswer& device : a.devices) {
        required += device.required;
        least = std::min(least, device.headroom);
    }
    CHECK(required == f.required);
    CHECK(least == f.headroom);
}

} // namespace

TEST_CASE("models that fit with a quantization: largest first, each as its answer says") {
    Request request = on("24GB", 8192);
    request.quant = "q4_k_m";
    const std::vector<Found> models = models_for(request);
    REQUIRE(models.size() > 50);
    CHECK(find(models, "llama3.1-8b"));
    CHECK_FALSE(find(models, "llama3.1-70b")); // 40 GiB
    for (std::size_t i = 1; i < models.size(); ++i) {
        const Found& a = models[i - 1];
        const Found& b = models[i];
        CHECK((a.parameters > b.parameters || (a.parameters == b.parameters && a.model < b.model)));
    }
    for (std::size_t i = 0; i < models.size(); i += 11) check_row(models[i], request);
    for (const Found& f : models) {
        CHECK(f.context >= 8192); // the others were not trained for it
        CHECK(f.verdict <= Verdict::tight);
        CHECK(f.quant == "Q4_K_M");
        CHECK_FALSE(f.model.ends_with("+mtp"));
    }
}

TEST_CASE("without a quantization each model has the best that fits") {
    const Request request = on("12GB", 8192);
    const std::vector<Found> models = models_for(request);
    const Found* llama = find(models, "llama3.1-8b");
    REQUIRE(llama);
    CHECK(llama->quant == "Q8_0"); // see solve_test: best quantization
    CHECK(llama->verdict == Verdict::fit);
    for (std::size_t i = 0; i < models.size(); i += 29) {
        check_row(models[i], request);
        // None larger fits.
        Request one = request;
        one.model = models[i].model;
        const Table table = std::get<Table>(solve(one));
        for (const TableRow& row : table.rows)
            CHECK(value<bool>(table, row, "best") == (value<std::string>(table, row, "quant") == models[i].quant));
    }
}

TEST_CASE("filters choose between models") {
    Request request = on("24GB", 4096);
    request.quant = "q4_k_m";
    request.models.family = "QWEN3";
    request.models.min_parameters = 8'000'000'000;
    const std::vector<Found> qwen = models_for(request);
    REQUIRE(!qwen.empty());
    for (const Found& f : qwen) {
        CHECK(contains(f.family, "qwen3"));
        CHECK(f.parameters >= 8'000'000'000);
    }
    CHECK(find(qwen, "qwen3-8b"));
    CHECK_FALSE(find(qwen, "qwen3-4b"));
    request.models.moe = true;
    const std::vector<Found> moe = models_for(request);
    CHECK(find(moe, "qwen3-30b-a3b"));
    CHECK_FALSE(find(moe, "qwen3-8b"));
    request.models = {};
    request.models.license = "apache";
    const std::vector<Found> apache = models_for(request);
    REQUIRE(!apache.empty());
    for (const Found& f : apache) CHECK(contains(f.license, "Apache"));
    request.models = {};
    request.models.family = "qwen3";
    request.models.min_parameters = 90'000'000'000'000;
    const Table none = std::get<Table>(solve(request));
    CHECK(none.rows.empty());
    CHECK(none.legend == "no model of the catalog is like that");
    CHECK_FALSE(has_match(none, false));
}

TEST_CASE("models in other orders") {
    Request request = on("24GB", 4096);
    request.quant = "q8_0";
    request.models.family = "llama";
    request.models.order = ModelOrder::headroom;
    const std::vector<Found> by_headroom = models_for(request);
    CHECK(std::ranges::is_sorted(by_headroom, std::ranges::greater{}, &Found::headroom));
    request.models.order = ModelOrder::context;
    CHECK(std::ranges::is_sorted(models_for(request), std::ranges::greater{}, &Found::context));
    request.models.order = ModelOrder::name;
    const std::vector<Found> by_name = models_for(request);
    CHECK(std::ranges::is_sorted(by_name, {}, &Found::model));
    CHECK(by_name.size() == by_headroom.size());
}

TEST_CASE("nothing fits; settings that no model can have") {
    const Table none = std::get<Table>(solve(on("760MiB", 8192)));
    CHECK(none.rows.empty());
    CHECK(none.legend == "no model of the catalog fits");
    Request request = on("24GB", 4096);
    request.models.family = "llama";
    request.override_tensors = {"exps=CUDA7"};
    CHECK(contains(test::error_of([&] { solve(request); }), "unknown buffer \"CUDA7\""));
    request.override_tensors.clear();
    request.quant = "q9";
    CHECK(contains(test::error_of([&] { solve(request); }), "unknown quantization \"q9\""));
    request.quant.reset();
    request.gpus = {"rtx9999"};
    request.models.family = "no such family";
    CHECK(contains(test::error_of([&] { solve(request); }), "unknown GPU \"rtx9999\""));
}

TEST_CASE("the user's own models are among those that fit") {
    const TempFolder folder;
    const auto catalog = folder.path() / "own.json";
    write_text(catalog, R"({"family": "mine", "models": [)" + small_entry("mine") + "]}");
    Request request = on("24GB", 4096);
    request.catalogs = {catalog.string()};
    request.models.family = "mine";
    const std::vector<Found> models = models_for(request);
    REQUIRE(models.size() == 1);
    CHECK(models[0].model == "mine");
    CHECK(models[0].quant == "F16");
}

TEST_CASE("a family or a licence that no model has is a mistake, and near ones are named") {
    Request request = on("24GB", 4096);
    request.models.family = "qwn3";
    CHECK(test::error_of([&] { solve(request); }) ==
          "--family: no model of the catalog has \"qwn3\"; did you mean qwen3?");
    request.models = {};
    request.models.license = "appache";
    CHECK(contains(test::error_of([&] { solve(request); }), "--license: no model of the catalog has \"appache\""));
}

TEST_CASE("contexts are shown where they order the models, or where each has its own") {
    const auto shows_context = [](const Request& request) {
        const Table table = std::get<Table>(solve(request));
        const auto found = std::ranges::find(table.columns, "context_length", &TableColumn::key);
        return !found->detail;
    };
    Request request = on("24GB", 4096);
    request.models.family = "gemma3";
    CHECK_FALSE(shows_context(request));
    request.models.order = ModelOrder::context;
    CHECK(shows_context(request));
    request.models.order = ModelOrder::parameters;
    request.n_ctx = 0;
    CHECK(shows_context(request));
}
