// The head of a GGUF file: whatever it says, it is read or refused with one line; what is read is a model whose memory
// is estimated or refused likewise.
#include "vramfit/base/error.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/gguf_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

/// `bytes` in pieces of `step`.
vramfit::ByteStream stream_of(std::span<const std::uint8_t> bytes, std::size_t step) {
    return [bytes, step](std::span<std::byte> buffer) mutable {
        const std::size_t n = std::min({buffer.size(), bytes.size(), step});
        if (n > 0) std::memcpy(buffer.data(), bytes.data(), n);
        bytes = bytes.subspan(n);
        return n;
    };
}

void require(bool holds) {
    if (!holds) std::abort(); // the fuzzer then keeps the input
}

template <typename Read>
void read(Read&& reader) {
    try {
        reader();
    } catch (const vramfit::Error& e) {
        require(std::string_view(e.what()).find_first_of("\n\x1b") == std::string_view::npos);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(data, size);
    read([&] {
        const vramfit::GgufHeader header = vramfit::read_gguf(stream_of(bytes, size + 1), "\"file\"", size);
        require(header.tensors.size() <= size && header.values.size() <= size);
        require(header.data_bytes >= header.tensor_bytes);
    });
    read([&] {
        vramfit::Estimator estimator(vramfit::model_from_gguf_stream(stream_of(bytes, 37)).model);
        if (estimator.model().n_block() > 16) return; // a graph of thousands of layers takes its time
        vramfit::Deployment deployment;
        deployment.settings.n_ctx = 256;
        deployment.settings.n_ubatch = 16;
        estimator.estimate(deployment);
        deployment.placement.n_gpu_layers = 1;
        estimator.estimate(deployment);
    });
    return 0;
}
