// The head of GGUF files: what is kept, what is passed over, and how much of a stream is read.
#include "support/errors.hpp"
#include "support/gguf_writer.hpp"
#include "support/temp_folder.hpp"
#include "support/text_stream.hpp"
#include "vramfit/model/gguf.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

GgufHeader header_of(const std::string& bytes) {
    TextStream text{bytes, 100};
    return read_gguf(text.stream(), "test", std::nullopt);
}

/// Every type of value, and two tensors.
GgufWriter sample(std::endian order = std::endian::little, std::uint32_t version = 3) {
    GgufWriter w;
    w.order = order;
    w.version = version;
    w.text("general.architecture", "toy").text("general.name", "Toy 1B");
    w.u32("toy.block_count", 2).u64("toy.context_length", 1 << 20).i32("toy.negative", -7).u16("split.no", 3);
    w.f32("toy.scale", 0.5F).boolean("toy.yes", true).boolean("toy.no", false);
    w.array<std::uint32_t>("toy.attention.head_count_kv", 4, {0, 8});
    w.array<std::uint8_t>("toy.pattern", 7, {1, 0, 1});
    w.array<std::int64_t>("toy.wide", 11, {-1, 5000000000});
    w.texts("tokenizer.ggml.tokens", {"<s>", "", "hello"}).array<float>("tokenizer.ggml.scores", 6, {1, 2, 3});
    w.tensor("token_embd.weight", {64, 3}, TensorType::q8_0).tensor("output_norm.weight", {5}, TensorType::f32);
    return w;
}

void check_sample(const GgufHeader& h) {
    CHECK(h.architecture() == "toy");
    CHECK(h.number("toy.block_count") == 2);
    CHECK(h.number("toy.context_length") == 1048576);
    CHECK(h.number("toy.negative") == -7);
    CHECK(h.number("split.no") == 3);
    CHECK(h.number("toy.scale") == 0.5);
    CHECK(h.number("toy.yes") == 1);
    CHECK(h.number("toy.no") == 0);
    CHECK(h.find("toy.attention.head_count_kv")->numbers == std::vector<double>{0, 8});
    CHECK(h.find("toy.pattern")->numbers == std::vector<double>{1, 0, 1});
    CHECK(h.find("toy.wide")->numbers == std::vector<double>{-1, 5e9});
    CHECK(h.find("tokenizer.ggml.tokens")->count == 3);
    CHECK(h.find("tokenizer.ggml.scores")->count == 3);
    CHECK(h.find("tokenizer.ggml.scores")->numbers.empty());
    CHECK(h.find("toy.absent") == nullptr);
    REQUIRE(h.tensors.size() == 2);
    CHECK(h.tensors[0].name == "token_embd.weight");
    CHECK(h.tensors[0].ne == std::array<std::uint64_t, 4>{64, 3, 1, 1});
    CHECK(h.tensors[0].n_dims == 2);
    CHECK(h.tensors[0].type == TensorType::q8_0);
    CHECK(h.tensors[0].bytes == 204); // 3 rows of 2 blocks of 34 bytes
    CHECK(h.tensors[1].offset == 224);
    CHECK(h.tensors[1].bytes == 20);
    CHECK(h.tensor_bytes == 224);
    CHECK(h.data_bytes == 244);
    CHECK(h.kind == GgufKind::model);
}

} // namespace

TEST_CASE("a GGUF head gives its keys and tensors: versions 2 and 3, either byte order", "[gguf]") {
    check_sample(header_of(sample().head()));
    check_sample(header_of(sample(std::endian::little, 2).head()));
    check_sample(header_of(sample(std::endian::big).head()));
    CHECK_FALSE(header_of(sample().head()).big_endian);
    CHECK(header_of(sample(std::endian::big).head()).big_endian);
    CHECK(header_of(sample(std::endian::big).head()).version == 3);
}

TEST_CASE("a GGUF file is read with its size", "[gguf]") {
    const TempFolder folder;
    const std::string path = folder.file("toy.gguf");
    sample().write(path);
    const GgufHeader h = read_gguf_file(path);
    check_sample(h);
    CHECK(h.file_bytes == std::filesystem::file_size(path));
    CHECK(h.header_bytes == sample().head().size());
}

TEST_CASE("a stream is read in pieces of any size, and no further than its table of tensors", "[gguf]") {
    const std::string head = sample().head();
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
        TextStream text{head + std::string(1 << 20, 'x'), step};
        check_sample(read_gguf(text.stream(), "standard input"));
        CHECK(text.at <= 65536);
        if (step == 1) CHECK(text.at <= head.size());
    }
}

TEST_CASE("a head that is cut off says how much it needs at least, wherever it is cut", "[gguf]") {
    const std::string head = sample().head();
    const std::size_t end = head.rfind(std::string("\xe0\0\0\0\0\0\0\0", 8)) + 8; // the last offset: 224
    for (std::size_t cut = 4; cut < end; ++cut) {
        TextStream text{head.substr(0, cut), 1000};
        const std::string error = error_of([&] { read_gguf(text.stream(), "standard input"); });
        REQUIRE(contains(error, "standard input ends at byte " + std::to_string(cut)));
        const std::string before = "needs at least ";
        const std::size_t missing = std::stoull(error.substr(error.find(before) + before.size()));
        CHECK(missing >= 1);
        CHECK(missing <= end - cut); // "at least" is true
    }
}

TEST_CASE("a long vocabulary is counted, not kept", "[gguf]") {
    GgufWriter w;
    w.text("general.architecture", "toy");
    w.texts("tokenizer.ggml.tokens", std::vector<std::string>(100000, "token"));
    w.text("tokenizer.chat_template", std::string(100000, 'x'));
    w.array<float>("tokenizer.ggml.scores", 6, std::vector<float>(100000, 1.0F));
    const GgufHeader h = header_of(w.head());
    CHECK(h.find("tokenizer.ggml.tokens")->count == 100000);
    CHECK(h.find("tokenizer.chat_template")->count == 100000);
    CHECK(h.text("tokenizer.chat_template").empty());
    CHECK(h.kind == GgufKind::vocabulary);
}

TEST_CASE("a GGUF file is known for what it is", "[gguf]") {
    const auto kind_of = [](std::string_view key, std::string_view value) {
        GgufWriter w;
        w.text(key, value).tensor("a", {1}, TensorType::f32);
        return header_of(w.head()).kind;
    };
    CHECK(kind_of("general.architecture", "llama") == GgufKind::model);
    CHECK(kind_of("general.type", "adapter") == GgufKind::adapter);
    CHECK(kind_of("adapter.type", "lora") == GgufKind::adapter);
    CHECK(kind_of("general.type", "mmproj") == GgufKind::projector);
    CHECK(kind_of("general.architecture", "clip") == GgufKind::projector);
    CHECK(kind_of("general.type", "imatrix") == GgufKind::imatrix);
    CHECK(kind_of("general.architecture", "controlvector") == GgufKind::control_vector);
}

TEST_CASE("another alignment moves the data of the tensors", "[gguf]") {
    GgufWriter w;
    w.alignment = 4096;
    w.u32("general.alignment", 4096).tensor("a", {1}, TensorType::f32).tensor("b", {1}, TensorType::f32);
    const GgufHeader h = header_of(w.head());
    CHECK(h.header_bytes == 4096);
    CHECK(h.tensors[1].offset == 4096);
}
