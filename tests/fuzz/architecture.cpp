// An architecture's file that somebody wrote, or broke: whatever it says, it is read or refused with an Error; what is
// read describes a tiny model, whose memory is estimated or refused likewise.
#include "vramfit/model/architecture.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/estimate.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

vramfit::Model tiny_model(std::shared_ptr<const vramfit::Architecture> architecture) {
    vramfit::Model model;
    model.id = "tiny";
    model.architecture = std::move(architecture);
    for (const auto& [key, value] : {std::pair("block_count", 2.0), {"context_length", 512.0}, {"n", 64.0}})
        model.hparams.set(key, value);
    vramfit::instantiate_tensors(model, {});
    return model;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        vramfit::Estimator estimator(tiny_model(vramfit::Architecture::parse(text, "{}", "fuzz.json")));
        vramfit::Deployment deployment;
        deployment.settings.n_ctx = 256;
        deployment.settings.n_ubatch = 16;
        estimator.estimate(deployment);
        deployment.placement.n_gpu_layers = 1;
        estimator.estimate(deployment);
    } catch (const vramfit::Error&) {
    }
    return 0;
}
