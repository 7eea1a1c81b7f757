// Files that lie, break off or were never GGUF: one line each that says where and what is wrong.
#include "support/errors.hpp"
#include "support/gguf_of_model.hpp"
#include "support/temp_folder.hpp"
#include "support/text_stream.hpp"
#include "vramfit/model/gguf_model.hpp"

#include "catch.hpp"

#include <functional>
#include <limits>

#ifndef _WIN32
#include <sys/stat.h>
#endif

using namespace vramfit;
using namespace vramfit::test;

namespace {

using Lie = std::function<void(GgufWriter&)>;

/// One file that must be refused: what was done to a correct one, and part of the message.
struct BadFile {
    const char* name;
    Lie lie;
    const char* message;
};

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

/// A text value whose length is a lie.
void lying_text(GgufWriter& w, std::uint64_t length) { w.key_of("a.text", 8).raw(length).raw(std::uint32_t{0}); }

void tensor(GgufWriter& w, std::vector<std::uint64_t> ne, std::uint32_t type = 0, std::uint64_t offset = 0) {
    w.raw_tensor({"t", std::move(ne), type, offset});
}

/// The message for a head of `bytes`, as a file of that size, and that it is one line.
std::string head_error(const std::string& bytes) {
    TextStream text{bytes};
    std::string error = error_of([&] { read_gguf(text.stream(), "\"bad.gguf\"", bytes.size()); });
    CHECK(contains(error, "\"bad.gguf\""));
    CHECK(error.find('\n') == std::string::npos);
    // Without the size, as on standard input: another message perhaps, but never a model.
    TextStream again{bytes};
    CHECK(error_of([&] { read_gguf(again.stream(), "standard input"); }) != "no error");
    return error;
}

std::string model_error(const Lie& lie, const std::string& architecture = "llama") {
    GgufWriter w;
    if (!architecture.empty()) w = small_gguf(architecture);
    lie(w);
    if (w.n_tensors == 0) put_ends(w, TensorType::f16);
    TextStream text{w.head()};
    return error_of([&] { model_from_gguf_stream(text.stream()); });
}

const std::vector<BadFile>& bad_files() {
    static const std::vector<BadFile> files{
        {"version 0", [](GgufWriter& w) { w.version = 0; }, "version 0 cannot be read"},
        {"version 1", [](GgufWriter& w) { w.version = 1; }, "byte 4: GGUF version 1 cannot be read: 2 or 3"},
        {"version 4", [](GgufWriter& w) { w.version = 4; }, "version 4 cannot be read"},
        {"all tensors there are", [](GgufWriter& w) { w.n_tensors = huge; }, "byte 8: 18446744073709551615 tensors"},
        {"negative keys", [](GgufWriter& w) { w.n_values = huge - 5; }, "more than any file has"},
        {"a million tensors", [](GgufWriter& w) { w.n_tensors = 1000000; },
         "1000000 tensors of at least 24000000 bytes"},
        {"a million keys", [](GgufWriter& w) { w.n_values = 1000000; }, "1000000 metadata keys"},
        {"a key without end", [](GgufWriter& w) { w.raw(huge).raw(huge), w.n_values = 1; },
         "a key of at least 1844674407370955"},
        {"a key beyond the file", [](GgufWriter& w) { w.raw(std::uint64_t{5000}).raw(huge), w.n_values = 1; },
         "byte 32: a key of at least 5000 bytes, more than the"},
        {"a long key", [](GgufWriter& w) { w.u32(std::string(70000, 'k'), 1); }, "a key of 70000 bytes: at most 65535"},
        {"a type that is none", [](GgufWriter& w) { w.key_of("k", 13).raw(huge); }, "key \"k\" has type 13: 0 to 12"},
        {"a negative type", [](GgufWriter& w) { w.key_of("k", 0xffffffff).raw(huge); }, "has type 4294967295"},
        {"an array of arrays", [](GgufWriter& w) { w.key_of("k", 9).raw(9).raw(std::uint64_t{1}).raw(huge); },
         "is an array of type 9"},
        {"an array of nothing known", [](GgufWriter& w) { w.key_of("k", 9).raw(77).raw(std::uint64_t{1}).raw(huge); },
         "is an array of type 77"},
        {"an endless array", [](GgufWriter& w) { w.key_of("k", 9).raw(4).raw(huge).raw(huge); },
         "18446744073709551615 elements, more than any file has"},
        {"an array beyond the file", [](GgufWriter& w) { w.key_of("k", 9).raw(4).raw(std::uint64_t{1000000}); },
         "is an array of at least 4000000 bytes, more than the"},
        {"a product that wraps around",
         [](GgufWriter& w) { w.key_of("k", 9).raw(10).raw(std::uint64_t{1} << 61).raw(0); }, "more than any file has"},
        {"texts beyond the file", [](GgufWriter& w) { w.key_of("k", 9).raw(8).raw(std::uint64_t{100000}).raw(huge); },
         "is an array of at least 800000 bytes"},
        {"a text in an array that lies", [](GgufWriter& w) { w.key_of("k", 9).raw(8).raw(std::uint64_t{1}).raw(huge); },
         "a text of at least 18446744073709551615 bytes"},
        {"a text beyond the file", [](GgufWriter& w) { lying_text(w, 100000); }, "a text of at least 100000 bytes"},
        {"a text without end", [](GgufWriter& w) { lying_text(w, huge); }, "a text of at least 184467440737"},
        {"the same key twice", [](GgufWriter& w) { w.u32("k", 1).u32("j", 1).u32("k", 1); }, "has the key \"k\" twice"},
        {"a key twice, two types", [](GgufWriter& w) { w.u32("k", 1).text("k", "v"); }, "has the key \"k\" twice"},
        {"alignment 0", [](GgufWriter& w) { w.u32("general.alignment", 0); }, "general.alignment is no power of two"},
        {"alignment 24", [](GgufWriter& w) { w.u32("general.alignment", 24); }, "no power of two"},
        {"alignment -32", [](GgufWriter& w) { w.i32("general.alignment", -32); }, "no power of two"},
        {"alignment 0.5", [](GgufWriter& w) { w.f32("general.alignment", 0.5F); }, "no power of two"},
        {"alignment of nothing", [](GgufWriter& w) { w.f32("general.alignment", NAN); }, "no power of two"},
        {"alignment 2^40", [](GgufWriter& w) { w.u64("general.alignment", std::uint64_t{1} << 40); },
         "no power of two"},
        {"alignment in words", [](GgufWriter& w) { w.text("general.alignment", "32"); }, "no power of two"},
        {"several alignments", [](GgufWriter& w) { w.array<std::uint32_t>("general.alignment", 4, {32}); },
         "no power of two"},
        {"a tensor's long name", [](GgufWriter& w) { w.tensor(std::string(2000, 'n'), {1}, TensorType::f32); },
         "a tensor's name of 2000 bytes: at most 1024"},
        {"five dimensions",
         [](GgufWriter& w) {
             tensor(w, {1, 1, 1, 1, 1});
         },
         "\"t\" has 5 dimensions: at most 4"},
        {"a dimension of 0",
         [](GgufWriter& w) {
             tensor(w, {4, 0});
         },
         "dimension 1 is 0: 1 or more"},
        {"a negative dimension", [](GgufWriter& w) { tensor(w, {huge}); }, "dimension 0 is -1: no tensor has so many"},
        {"dimensions that wrap around",
         [](GgufWriter& w) {
             tensor(w, {1ULL << 32, 1ULL << 32});
         },
         "dimension 1 is 4294967296: no tensor has so many elements"},
        {"four that wrap around",
         [](GgufWriter& w) {
             tensor(w, {65536, 65536, 65536, 65536});
         },
         "dimension 3 is 65536"},
        {"a type that ggml gave up", [](GgufWriter& w) { tensor(w, {32}, 4); }, "has type 4, which ggml does not know"},
        {"a type of the future", [](GgufWriter& w) { tensor(w, {32}, 1000); }, "has type 1000"},
        {"a negative tensor type", [](GgufWriter& w) { tensor(w, {32}, 0xffffffff); }, "has type 4294967295"},
        {"half a block", [](GgufWriter& w) { tensor(w, {48}, 2); }, "rows of 48 elements: a multiple of 32"},
        {"a tensor twice", [](GgufWriter& w) { tensor(w, {8}), tensor(w, {8}, 0, 32); }, "has the tensor \"t\" twice"},
        {"tensors on each other", [](GgufWriter& w) { tensor(w, {16}), tensor(w, {16}); },
         "\"t\" lies at offset 0: 64 would be right"},
        {"an offset beyond all", [](GgufWriter& w) { tensor(w, {16}, 0, huge); }, "lies at offset 1844674407370955"},
        {"a gap", [](GgufWriter& w) { tensor(w, {16}, 0, 4096); }, "lies at offset 4096: 0 would be right"},
        {"an offset between steps", [](GgufWriter& w) { tensor(w, {3}), tensor(w, {3}, 0, 12); },
         "lies at offset 12: 32 would be right"},
        {"more than any model",
         [](GgufWriter& w) {
             for (std::uint64_t i = 0; i < 3; ++i) tensor(w, {1ULL << 56}, 28, i << 59);
         },
         "larger than any model"},
    };
    return files;
}

} // namespace

TEST_CASE("a head that lies is refused, and the message says where", "[gguf]") {
    for (const BadFile& bad : bad_files()) {
        GgufWriter w;
        bad.lie(w);
        std::string error = head_error(w.head());
        INFO(bad.name << ": " << error);
        CHECK(contains(error, bad.message));
    }
    CHECK(bad_files().size() >= 40);
}

TEST_CASE("what is no GGUF file is said to be none", "[gguf]") {
    CHECK(head_error("") == "\"bad.gguf\" is empty");
    CHECK(head_error("GG") == "\"bad.gguf\" ends at byte 2, in the preamble: it needs at least 22 bytes more");
    CHECK(head_error("GGUF") == "\"bad.gguf\" ends at byte 4, in the preamble: it needs at least 20 bytes more");
    CHECK(head_error("{\"model_type\": \"llama\"}") ==
          "\"bad.gguf\" is no GGUF file: it begins with \"{\"mo\" instead of \"GGUF\"");
    CHECK(contains(head_error(std::string("\x1b[2J\0\0\0\0", 8)), "it begins with \"?[2J\""));
    CHECK(contains(head_error(std::string(100, '\0')), "is no GGUF file"));
}

TEST_CASE("a big-endian head that lies is refused as well", "[gguf]") {
    GgufWriter w;
    w.order = std::endian::big;
    w.n_tensors = std::uint64_t{1} << 50;
    CHECK(contains(head_error(w.head()), "1125899906842624 tensors"));
    w.version = 7;
    CHECK(contains(head_error(w.head()), "version 7 cannot be read"));
}

TEST_CASE("a count that lies on a stream takes no memory before the bytes come", "[gguf]") {
    GgufWriter w;
    w.n_tensors = std::uint64_t{1} << 35; // a terabyte of tensors, were they there
    TextStream text{w.head()};
    CHECK(contains(error_of([&] { read_gguf(text.stream(), "standard input"); }), "it needs at least 824633720"));
}

TEST_CASE("metadata that makes no model is refused by its key", "[gguf]") {
    const auto nothing = [](GgufWriter&) {};
    CHECK(contains(model_error(nothing, ""), "has no key general.architecture"));
    const auto only = [](const char* architecture) {
        return [=](GgufWriter& w) { w.text("general.architecture", architecture); };
    };
    CHECK(contains(model_error(only("llama"), ""), "has no key llama.block_count, which llama.cpp needs"));
    CHECK(contains(model_error(only("\x1b]0;x"), ""), "has no key ?]0;x.block_count"));
    const auto blocks = [](double n) {
        return [=](GgufWriter& w) {
            w.text("general.architecture", "llama").u32("llama.context_length", 1).u32("llama.embedding_length", 1);
            w.f32("llama.block_count", static_cast<float>(n));
        };
    };
    for (const double n : {0.0, -1.0, 1e9, 0.5})
        CHECK(contains(model_error(blocks(n), ""), "llama.block_count is out"));
    CHECK(contains(model_error(blocks(NAN), ""), "the key llama.block_count is no number"));
    const auto text = [](GgufWriter& w) { w.text("general.architecture", "llama").text("llama.block_count", "2"); };
    CHECK(contains(model_error(text, ""), "the key llama.block_count is no number"));
    const auto heads = [](const char* key, double n) {
        return [=](GgufWriter& w) {
            w.text("general.architecture", "llama").u32("llama.context_length", 1).u32("llama.embedding_length", 64);
            w.u32("llama.block_count", 1).f32(key, static_cast<float>(n));
        };
    };
    for (const double n : {-1.0, 4294967295.0, 2.5})
        CHECK(contains(model_error(heads("llama.attention.head_count_kv", n), ""), "head_count_kv is out of range"));
    CHECK(contains(model_error(heads("llama.attention.head_count_kv", NAN), ""), "head_count_kv is no number"));
    const auto narrow = [](GgufWriter& w) {
        w.text("general.architecture", "llama").u32("llama.context_length", 1).u32("llama.embedding_length", 64);
        w.u32("llama.block_count", 1).tensor("token_embd.weight", {32, 8}, TensorType::f16);
    };
    CHECK(contains(model_error(narrow, ""),
                   "the rows of token_embd.weight have 32 elements, but embedding_length is 64"));
    const auto beyond = [](GgufWriter& w) { w.tensor("blk.2.attn_q.weight", {64, 64}, TensorType::f16); };
    CHECK(contains(model_error(beyond), "\"blk.2.attn_q.weight\" lies in block 2, and the model has 2"));
    const auto far = [](GgufWriter& w) { w.tensor("blk.99999999999.attn_q.weight", {64}, TensorType::f16); };
    CHECK(model_error(far) == "no error"); // no number of a block: a tensor like any other
}

TEST_CASE("an unknown architecture whose keys do not suffice is refused by the key", "[gguf]") {
    const auto bare = [](GgufWriter& w) {
        w.text("general.architecture", "new").u32("new.block_count", 1).u32("new.context_length", 1);
        w.u32("new.embedding_length", 64);
    };
    CHECK(model_error(bare, "") ==
          "standard input has no key new.attention.head_count, from which its KV cache could be "
          "sized; the architecture \"new\" is not known here");
    const auto state = [](GgufWriter& w) { w.u32("new.ssm.state_size", 16); };
    CHECK(contains(model_error(state, "new"), "it has the key new.ssm.state_size"));
    const auto latent = [](GgufWriter& w) { w.u32("new.attention.kv_lora_rank", 512); };
    CHECK(contains(model_error(latent, "new"), "it has the key new.attention.kv_lora_rank"));
}

TEST_CASE("files that are no model are named for what they are", "[gguf]") {
    const auto error_with = [](const char* key, const char* value) {
        return model_error([&](GgufWriter& w) { w.text(key, value); }, "");
    };
    CHECK(error_with("general.type", "adapter") ==
          "standard input is a LoRA adapter, not a model: --lora puts it beside the model that it was made for");
    CHECK(contains(error_with("general.type", "mmproj"), "is a projector of images or sound, not a model: --mmproj"));
    CHECK(contains(error_with("general.architecture", "clip"), "is a projector"));
    CHECK(contains(error_with("general.type", "imatrix"), "is an importance matrix, not a model"));
    CHECK(contains(error_with("general.architecture", "controlvector"), "is a control vector, not a model"));
    GgufWriter vocabulary = small_gguf();
    vocabulary.texts("tokenizer.ggml.tokens", {"a"});
    TextStream text{vocabulary.head()};
    CHECK(error_of([&] { model_from_gguf_stream(text.stream()); }) ==
          "standard input is a vocabulary without weights, not a model");
    TextStream empty{small_gguf().head()};
    CHECK(contains(error_of([&] { model_from_gguf_stream(empty.stream()); }), "has no tensors"));
}

TEST_CASE("what is no regular file is not opened", "[gguf]") {
    const TempFolder folder;
    const auto error = [](const std::string& path) { return error_of([&] { model_from_gguf(path); }); };
    CHECK(contains(error(folder.file("absent.gguf")), "no file \""));
    CHECK(contains(error(folder.path().string()), "is a folder, not a file"));
    std::ofstream(folder.file("empty.gguf"));
    CHECK(contains(error(folder.file("empty.gguf")), "empty.gguf\" is empty"));
#ifndef _WIN32
    CHECK(error("/dev/zero") == "\"/dev/zero\" is a device or a pipe, not a file");
    REQUIRE(mkfifo(folder.file("pipe.gguf").c_str(), 0600) == 0);
    CHECK(contains(error(folder.file("pipe.gguf")), "is a device or a pipe"));
    std::filesystem::create_symlink(folder.file("loop.gguf"), folder.file("loop.gguf"));
    CHECK(contains(error(folder.file("loop.gguf")), "cannot read"));
#endif
}

TEST_CASE("a file whose tensors are not all there is incomplete", "[gguf]") {
    const TempFolder folder;
    const std::string path = folder.file("cut.gguf");
    GgufWriter w = small_gguf();
    put_ends(w, TensorType::f16);
    w.write(path);
    CHECK(error_of([&] { model_from_gguf(path); }) == "no error");
    const std::uint64_t whole = w.head().size() + 128000 + 256;
    std::filesystem::resize_file(path, whole - 1);
    CHECK(contains(error_of([&] { model_from_gguf(path); }), "is incomplete: it has " + std::to_string(whole - 1) +
                                                                 " bytes, and its tensors need " +
                                                                 std::to_string(whole)));
    std::filesystem::resize_file(path, 24 + 8);
    CHECK(contains(error_of([&] { model_from_gguf(path); }),
                   "cut.gguf\", byte 24: 8 metadata keys and 2 tensors of at least 152 bytes, more than the 8"));
}

TEST_CASE("a file that shrinks while it is read ends early, and crashes nothing", "[gguf]") {
    const TempFolder folder;
    const std::string path = folder.file("shrinking.gguf");
    GgufWriter w = small_gguf();
    w.text("padding", std::string(200000, ' '));
    put_ends(w, TensorType::f16);
    w.write(path);
    const ByteFile file = open_byte_file(path);
    const auto shrinking = [&, first = true](std::span<std::byte> buffer) mutable {
        const std::size_t n = file.stream(buffer);
        if (std::exchange(first, false)) std::filesystem::resize_file(path, n);
        return n;
    };
    CHECK(contains(error_of([&] { read_gguf(shrinking, "\"x\"", file.size); }), "\"x\" ends at byte"));
}
