#include "vramfit/model/hf_config.hpp"

#include "model/hf_mapping.hpp"
#include "support/data_file.hpp"
#include "support/errors.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace vramfit;
using test::contains;
using test::error_of;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Model from_config(const std::string& text) { return model_from_hf_config(text, "config.json", "m").model; }

std::string error_in(const std::string& text) {
    return error_of([&] { from_config(text); });
}

/// Every tensor as text, sorted: name, shape, type, where it lies.
std::vector<std::string> tensors_of(const Model& model) {
    std::vector<std::string> tensors;
    for (const Tensor& t : model.tensors) {
        std::string text = model.full_name_of(t) + " " + std::to_string(t.n_dims);
        for (const std::uint64_t ne : t.ne) text += " " + std::to_string(ne);
        tensors.push_back(text + " " + std::string(traits(t.type).name) + " " +
                          std::to_string(static_cast<int>(t.section)));
    }
    std::ranges::sort(tensors);
    return tensors;
}

/// The first tensor in which the two differ; empty where none does.
std::string difference(const Model& a, const Model& b) {
    const std::vector<std::string> ours = tensors_of(a), theirs = tensors_of(b);
    std::vector<std::string> only;
    std::ranges::set_symmetric_difference(ours, theirs, std::back_inserter(only));
    return only.empty() ? "" : only.front();
}

/// What matters of a deployment, as text: bytes on the device and on the host, or why there is none.
std::string memory_of(Model model, std::uint64_t n_ctx, bool embeddings) {
    try {
        Estimator estimator(std::move(model));
        Deployment deployment;
        deployment.settings.n_ctx = n_ctx;
        deployment.settings.embeddings = embeddings;
        const MemoryEstimate e = estimator.estimate(deployment);
        const DeviceMemory& d = e.devices.at(0);
        std::string text = std::to_string(e.tensor_bytes) + " file";
        for (const std::uint64_t bytes : {d.weights, d.kv_cache, d.recurrent_state, d.compute, e.host.compute,
                                          estimator.kv_bytes_per_token(deployment)})
            text += " " + std::to_string(bytes);
        return text;
    } catch (const Error& e) {
        return e.what();
    }
}

/// A small llama with `more` keys, which replace the usual ones.
std::string llama_with(const std::string& more) {
    Json config = {{"model_type", "llama"},          {"hidden_size", 256},       {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},       {"intermediate_size", 512}, {"vocab_size", 1000},
                   {"max_position_embeddings", 2048}};
    config.update(Json::parse(more));
    return config.dump();
}

bool has_tensor(const Model& model, const std::string& name) {
    return std::ranges::find(model.tensor_names, name) != model.tensor_names.end();
}

} // namespace

// The configs spell the dimensions that their publishers gave; the catalog's models were measured.
TEST_CASE("a config gives the tensors and the memory of the catalog's model", "[hf]") {
    std::set<std::string> architectures, model_types;
    for (const std::string& line : test::read_lines(VRAMFIT_TEST_DATA "/hf/configs.jsonl")) {
        const Json row = Json::parse(line);
        const auto id = row["catalog"].get<std::string>();
        INFO(id);
        Model expected = catalog_model(id);
        Model model = from_config(row["config"].dump());
        REQUIRE(model.architecture->name == expected.architecture->name);
        CHECK(difference(expected, model) == "");
        CHECK(model.n_parameters() == expected.n_parameters());
        CHECK(model.n_ctx_train() == expected.n_ctx_train());
        architectures.insert(model.architecture->name);
        model_types.insert(row["config"]["model_type"].get<std::string>());
        CHECK(memory_of(std::move(model), 4096, false) == memory_of(std::move(expected), 4096, false));
    }
    CHECK(architectures.size() > 85);
    CHECK(model_types.size() > 100);
}

TEST_CASE("every model_type has a mapping, and every mapping an architecture", "[hf]") {
    for (const std::string& type : hf_model_types()) {
        INFO(type);
        HfModelType known = hf_model_type(type);
        if (!known.wraps.empty()) known = hf_model_type(known.wraps);
        REQUIRE_FALSE(known.mapping.empty());
        const HfMapping mapping = hf_mapping(known.mapping);
        CHECK(bundled_architecture(mapping.architecture) != nullptr);
        for (const auto& [when, use] : mapping.variants) CHECK_FALSE(hf_mapping(use).architecture.empty());
    }
}

TEST_CASE("what a config leaves out is what transformers supplies", "[hf]") {
    const Model plain = from_config(llama_with("{}"));
    CHECK(plain.hparams.get("attention.head_count_kv", 0) == 4); // as many as heads
    CHECK(plain.hparams.get("attention.key_length", 0) == 64);   // hidden_size / heads
    CHECK(has_tensor(plain, "output.weight"));                   // not tied
    CHECK_FALSE(has_tensor(plain, "attn_q.bias"));

    const Model nulls = from_config(llama_with(R"({"head_dim":null,"num_key_value_heads":null,"rope_scaling":null})"));
    CHECK(difference(plain, nulls) == "");

    const Model other = from_config(
        llama_with(R"({"head_dim":32,"num_key_value_heads":2,"tie_word_embeddings":true,"attention_bias":true})"));
    CHECK(other.hparams.get("attention.key_length", 0) == 32);
    CHECK_FALSE(has_tensor(other, "output.weight"));
    CHECK(has_tensor(other, "attn_q.bias"));
    CHECK_FALSE(has_tensor(other, "rope_freqs.weight"));
    CHECK(has_tensor(from_config(llama_with(R"({"rope_scaling":{"rope_type":"llama3","factor":8.0}})")),
                     "rope_freqs.weight"));
    CHECK_FALSE(has_tensor(from_config(llama_with(R"({"rope_scaling":{"rope_type":"yarn","factor":8.0}})")),
                           "rope_freqs.weight"));
}

TEST_CASE("the text model of a config for more than text is the one that counts", "[hf]") {
    const std::string text = llama_with("{}");
    const std::string vision = R"("vision_config":{"hidden_size":64,"num_hidden_layers":9})";
    const Model plain = from_config(text);
    CHECK(difference(plain, from_config(R"({"model_type":"llava",)" + vision + R"(,"text_config":)" + text + "}")) ==
          "");
    CHECK(difference(plain, from_config(R"({"model_type":"internvl_chat",)" + vision + R"(,"llm_config":)" + text +
                                        "}")) == "");
    // A key that only the whole config has still counts.
    const Model tied = from_config(R"({"model_type":"llava","tie_word_embeddings":true,"text_config":)" + text + "}");
    CHECK_FALSE(has_tensor(tied, "output.weight"));
    // A wrapped model that does not say its type has the one that transformers supplies.
    Json untyped = Json::parse(text);
    untyped.erase("model_type");
    CHECK(difference(plain, from_config(R"({"model_type":"llava","text_config":)" + untyped.dump() + "}")) == "");
}

TEST_CASE("an unknown model_type is an error with near ones", "[hf]") {
    CHECK(contains(error_in(R"({"model_type":"qwen3_mo"})"),
                   "config.json: unknown model_type \"qwen3_mo\"; did you mean qwen3_moe"));
    CHECK(error_in(R"({"model_type":"zzzzzzzzzz"})") == "config.json: unknown model_type \"zzzzzzzzzz\"");
    CHECK(contains(error_in(R"({"model_type":"hy_v4"})"), "\"hy_v4\" cannot be sized: llama.cpp has no architecture"));
    CHECK(contains(error_in("{}"), "has no \"model_type\""));
    CHECK(contains(error_in(R"({"model_type":7})"), "has no \"model_type\""));
    CHECK(contains(error_in("{\"model_type\":\"\\u001b[31mred\"}"), "\"?[31mred\""));
}

TEST_CASE("a config that makes no model is one line that names the key", "[hf]") {
    const auto with = [](const char* more) { return error_in(llama_with(more)); };
    CHECK(with("{}") == "no error");
    CHECK(with(R"({"hidden_size":null})") ==
          "config.json has no hyperparameter 'hidden_size', which architecture llama needs");
    CHECK(with(R"({"hidden_size":"wide"})") ==
          "config.json, key \"hidden_size\": the text \"wide\"; a number would be right");
    CHECK(contains(with(R"({"hidden_size":{"a":1}})"), "\"hidden_size\": an object; a number would be right"));
    CHECK(contains(with(R"({"hidden_size":-256})"), "embedding_length comes to -256"));
    CHECK(contains(with(R"({"hidden_size":0})"), "embedding_length comes to 0"));
    CHECK(contains(with(R"({"hidden_size":1e308})"), "\"hidden_size\": the number is too large"));
    CHECK(contains(with(R"({"vocab_size":9007199254740992})"), "vocab_size comes to 9007199254740992"));
    CHECK(contains(with(R"({"vocab_size":1000.5})"), "vocab_size comes to 1000.5"));
    CHECK(contains(with(R"({"num_hidden_layers":100000})"), "no model has 100000"));
    CHECK(contains(with(R"({"num_hidden_layers":0})"), "1 to 4096 would be right"));
    CHECK(contains(with(R"({"num_hidden_layers":-1})"), "1 to 4096 would be right"));
    CHECK(contains(with(R"({"num_attention_heads":0})"), "division by zero"));
    CHECK(contains(with(R"({"num_key_value_heads":-4})"), "attention.head_count_kv comes to -4"));
    CHECK(contains(with(R"({"intermediate_size":1e15,"vocab_size":2147483647})"), "vocab_size is out of range"));
    CHECK(contains(with(R"({"max_position_embeddings":0})"), "context_length comes to 0"));
    CHECK(contains(with(R"({"num_hidden_layers":[2]})"), "no error")); // a list of one is that one
    CHECK(contains(error_in("[1]"), "no JSON object"));
    CHECK(contains(error_in("{\n\"model_type\": ,"), "config.json, line 2: not valid JSON"));
    CHECK(contains(error_in(""), "not valid JSON"));
    CHECK(contains(error_in(R"({"hidden_size":1e999})"), "a number is too large"));
    CHECK(contains(error_in(std::string(100'000, '[')), "nested too deeply"));
    CHECK(contains(error_in(std::string((16U << 20U) + 1, ' ')), "more than 16 MiB"));
}

TEST_CASE("lists of layers must fit the layers", "[hf]") {
    const auto with = [](const char* more) {
        Json config = Json::parse(llama_with(more));
        return error_in(config.dump());
    };
    const std::string lfm = R"({"model_type":"lfm2","conv_L_cache":3,"block_auto_adjust_ff_dim":false,"layer_types":)";
    CHECK(with((lfm + R"(["conv","full_attention"]})").c_str()) == "no error");
    CHECK(contains(with((lfm + R"(["conv","conv","conv"]})").c_str()), "no error"));
    CHECK(
        contains(with(R"({"model_type":"lfm2","num_hidden_layers":3,"conv_L_cache":3,"layer_types":["conv","conv"]})"),
                 "has no element for layer 2"));
    CHECK(contains(with(R"({"model_type":"lfm2","conv_L_cache":3,"full_attn_idxs":[2]})"), "2 is no layer"));
    CHECK(contains(with(R"({"model_type":"lfm2","conv_L_cache":3,"full_attn_idxs":"all"})"),
                   "a list of layers would be right"));
    CHECK(contains(
        with(R"({"model_type":"nemotron_h","hybrid_override_pattern":"MX","mamba_num_heads":4,"mamba_head_dim":64})"),
        "the letter \"X\" stands for no kind of layer"));
}

TEST_CASE("a folder is a model by its config.json", "[hf]") {
    const test::TempFolder temp;
    const fs::path folder = temp.path() / "models--meta-llama--Tiny" / "snapshots" / "0123";
    fs::create_directories(folder);
    CHECK_FALSE(is_hf_model(folder));
    CHECK(contains(error_of([&] { model_from_hf(folder); }), "has no config.json"));
    std::ofstream(folder / "config.json") << llama_with(R"({"num_nextn_predict_layers":1})");
    CHECK(is_hf_model(folder));
    CHECK(is_hf_model(folder / "config.json"));
    const SourcedModel loaded = model_from_hf(folder);
    CHECK(loaded.model.id == "meta-llama/Tiny"); // as Hugging Face's cache names its folders
    CHECK(loaded.model.source == "hf");
    CHECK(loaded.model.file_type.empty()); // the type is still to be asked for
    REQUIRE(loaded.notes.size() == 1);
    CHECK(contains(loaded.notes[0], "MTP"));
    CHECK(model_from_hf(folder / "config.json").model.id == "meta-llama/Tiny");

    // Weights: 8 bytes of header length, the header, 1024^3 / 512 bytes would be too many: eight will do.
    const std::string header = R"({"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})";
    std::ofstream(folder / "model.safetensors", std::ios::binary)
        << static_cast<char>(header.size()) << std::string(7, '\0') << header << std::string(8, '\0');
    const SourcedModel with_weights = model_from_hf(folder);
    REQUIRE(with_weights.notes.size() == 2);
    CHECK(contains(with_weights.notes[1], "of weights (BF16)"));
}

TEST_CASE("a folder whose config.json is none is an error", "[hf]") {
    const test::TempFolder temp;
    const fs::path config = temp.path() / "config.json";
    const auto error = [&] { return error_of([&] { model_from_hf(temp.path()); }); };
    std::ofstream(config) << "";
    CHECK(contains(error(), "config.json\" is empty"));
    fs::remove(config);
    fs::create_directory(config);
    CHECK(contains(error(), "is a folder"));
    fs::remove(config);
    std::error_code failed;
    fs::create_symlink("config.json", config, failed);
    if (!failed) CHECK(error() != "no error");
    fs::remove(config);
    std::ofstream(config).close();
    fs::resize_file(config, (16U << 20U) + 1);
    CHECK(contains(error(), "at most 16 MiB would be right"));
}

TEST_CASE("the pooling of an embedding model comes from its folder", "[hf]") {
    const test::TempFolder temp;
    std::ofstream(temp.path() / "config.json") << llama_with(R"({"model_type":"bert"})");
    CHECK(model_from_hf(temp.path()).model.hparams.find("pooling_type") == nullptr);
    fs::create_directory(temp.path() / "1_Pooling");
    std::ofstream(temp.path() / "1_Pooling" / "config.json")
        << R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})";
    CHECK(model_from_hf(temp.path()).model.hparams.get("pooling_type", 0) == 2); // LLAMA_POOLING_TYPE_CLS
}
