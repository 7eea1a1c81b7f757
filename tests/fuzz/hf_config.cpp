// A config.json of Hugging Face: any text is a model or an Error, and a model has an estimate or an Error.
#include "vramfit/model/hf_config.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/estimate.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        vramfit::Estimator estimator(vramfit::model_from_hf_config(text, "config.json", "fuzz").model);
        vramfit::Deployment deployment;
        deployment.settings.n_ctx = 512;
        estimator.estimate(deployment);
    } catch (const vramfit::Error&) {
    }
    return 0;
}
