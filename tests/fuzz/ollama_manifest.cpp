// A manifest or a params layer of Ollama's store: any text is one or an Error.
#include "vramfit/base/error.hpp"
#include "vramfit/model/ollama_store.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        vramfit::parse_ollama_manifest(text, "manifest");
    } catch (const vramfit::Error&) {
    }
    try {
        vramfit::parse_ollama_params(text, "parameters");
    } catch (const vramfit::Error&) {
    }
    try {
        vramfit::parse_ollama_name(text);
    } catch (const vramfit::Error&) {
    }
    return 0;
}
