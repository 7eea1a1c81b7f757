#pragma once

#include "support/environment.hpp"
#include "support/small_model.hpp"
#include "support/temp_folder.hpp"

#include <string>
#include <string_view>

namespace vramfit::test {

/// A store of Ollama in a folder that goes with the test.
class OllamaFolder {
public:
    Environment environment() const { return variables({{"OLLAMA_MODELS", folder_.path().string()}}); }
    std::filesystem::path path() const { return folder_.path(); }

    /// 64 hex digits that end in `n`.
    static std::string hex(int n) {
        std::string digits(64, '0');
        digits.back() = "0123456789abcdef"[n % 16];
        return digits;
    }
    std::filesystem::path blob(int n) const { return path() / "blobs" / ("sha256-" + hex(n)); }

    static std::string layer(std::string_view kind, int n, std::string_view size = "1000") {
        return R"({"mediaType": "application/vnd.ollama.image.)" + std::string(kind) + R"(", "digest": "sha256:)" +
               hex(n) + R"(", "size": )" + std::string(size) + "}";
    }
    static std::string manifest_text(const std::string& layers) {
        return R"({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
  "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": "sha256:)" +
               hex(15) + R"(", "size": 5}, "layers": [)" + layers + "]}";
    }
    void manifest(const std::string& name, const std::string& layers) const {
        write_text(path() / "manifests" / name, manifest_text(layers));
    }

    /// "small:q8": the model as blob 1, parameters as blob 2, a projector as blob 3.
    void add_small(const std::string& name = "registry.ollama.ai/library/small/q8") const {
        write_small_gguf(blob(1));
        write_text(blob(2), R"({"num_ctx": 2048, "stop": ["<|end|>"]})");
        write_text(blob(3), "projector");
        manifest(name, layer("model", 1) + "," + layer("params", 2, "40") + "," + layer("projector", 3, "9") + "," +
                           layer("license", 4, "1"));
    }

private:
    TempFolder folder_;
};

} // namespace vramfit::test
