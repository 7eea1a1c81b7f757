// The tensors that the templates give each catalog model, against the inventories of llama.cpp's own loader.
#include "support/data_file.hpp"
#include "support/errors.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <algorithm>
#include <set>

using namespace vramfit;

namespace {

/// 64-bit FNV-1a over the sorted lines "NAME NE0,NE1,... TYPE\n" of all tensors, trailing ones left out.
std::uint64_t inventory_hash(const Model& model) {
    std::vector<std::string> lines;
    for (const Tensor& t : model.tensors) {
        std::size_t n = 4;
        while (n > 1 && t.ne[n - 1] == 1) --n;
        std::string line = model.full_name_of(t) + ' ' + std::to_string(t.ne[0]);
        for (std::size_t i = 1; i < n; ++i) line += ',' + std::to_string(t.ne[i]);
        lines.push_back(line + ' ' + std::string(traits(t.type).name) + '\n');
    }
    std::ranges::sort(lines);
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::string& line : lines) {
        for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return hash;
}

} // namespace

TEST_CASE("the tensors of 229 measured models are those that llama.cpp loads", "[golden]") {
    std::size_t n = 0;
    for (const std::string& line : test::read_lines(std::string(VRAMFIT_TEST_DATA) + "/inventories/inventories.txt")) {
        const auto cells = test::split(line, " ");
        INFO(cells.at(0));
        ++n;
        try {
            const Model model = catalog_model(cells.at(0));
            CHECK(model.tensors.size() == std::stoull(cells.at(1)));
            CHECK(model.n_parameters() == std::stoull(cells.at(2)));
            CHECK(inventory_hash(model) == std::stoull(cells.at(3), nullptr, 16));
        } catch (const Error& e) {
            FAIL_CHECK(e.what());
        }
    }
    CHECK(n == 229);
}

TEST_CASE("every catalog model can be made, and has the parameters that its entry states") {
    for (const CatalogEntry& entry : catalog_entries()) {
        if (!entry.unsupported.empty()) continue;
        INFO(entry.id);
        try {
            const Model model = catalog_model(entry.id);
            CHECK(model.n_layer() > 0);
            CHECK(model.n_ctx_train() > 0);
            CHECK(model.architecture->name == entry.architecture);
            CHECK(entry.context_length == model.n_ctx_train());
            if (entry.parameters != 0) CHECK(model.n_parameters() == entry.parameters);
            std::set<std::string> names;
            for (const Tensor& t : model.tensors) names.insert(model.full_name_of(t));
            CHECK(names.size() == model.tensors.size()); // no tensor twice
        } catch (const Error& e) {
            FAIL_CHECK(e.what());
        }
    }
}

TEST_CASE("what has one dimension or is a norm stays f32, the rest of an F16 file is f16") {
    const Model model = catalog_model("llama3.1-8b");
    for (const Tensor& t : model.tensors) {
        INFO(model.full_name_of(t));
        CHECK((t.type == TensorType::f32) == (t.n_dims == 1));
    }
}

TEST_CASE("hostile hyperparameters are refused, not wrapped around") {
    const auto with = [](const std::string& hparams) {
        return test::error_of(
            [&] { model_from_entry(R"({"id": "x", "architecture": "llama", "hparams": )" + hparams + "}"); });
    };
    CHECK(with(R"({"block_count": 4294967295})") == "block_count of x is 4294967295; 1 to 4096 would be right");
    CHECK(with(R"({"block_count": -3})") == "block_count of x is 0; 1 to 4096 would be right");
    const std::string rest = R"("feed_forward_length": 1, "attention.head_count": 1, "vocab_size": )";
    CHECK(with(R"({"block_count": 1, "embedding_length": 4294967296, )" + rest + "4294967296}") != "no error");
    CHECK(with(R"({"block_count": 1, "embedding_length": -4, )" + rest + "8}") != "no error");
    CHECK(with(R"({"block_count": 1, "embedding_length": 1.5, )" + rest + "8}") != "no error");
    CHECK(with(R"({"block_count": 1, "embedding_length": 1e300, )" + rest + "8}") != "no error");
    CHECK(with(R"({"block_count": 1, "embedding_length": 4, "feed_forward_length": 1, "attention.head_count": 0})") !=
          "no error");
}
