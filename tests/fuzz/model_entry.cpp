// A model's entry of a catalog: any text is a model or an Error, and a model has an estimate or an Error.
#include "vramfit/base/error.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto llama = vramfit::bundled_architecture("llama");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        vramfit::Estimator estimator(vramfit::model_from_entry(text, llama));
        vramfit::Deployment deployment;
        deployment.settings.n_ctx = 4096;
        estimator.estimate(deployment);
        estimator.kv_bytes_per_token(deployment);
    } catch (const vramfit::Error&) {
    }
    return 0;
}
