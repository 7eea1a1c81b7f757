// The content of a file that vramfit check reads, and its first line as a command line: each becomes questions or an
// Error.
#include "answer/check/found_deployment.hpp"
#include "answer/check/yaml_subset.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/shell_words.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

template <typename Action>
void or_error(Action&& action) {
    try {
        action();
    } catch (const vramfit::Error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace vramfit;
    if (size > 20000) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    ModelSources sources;
    sources.environment = empty_environment();
    const Environment environment = [](std::string_view name) -> std::optional<std::string> {
        return name.size() % 2 == 0 ? std::optional(std::string("4096")) : std::nullopt;
    };
    or_error([&] {
        for (const FoundDeployment& found : find_deployments(text, "file", environment))
            or_error([&] { request_of(found.text, sources); });
    });
    for (const auto read : {in_compose, in_llama_swap}) or_error([&] { read(text, "file", environment); });
    for (const auto read : {in_unit, in_preset, in_modelfile, in_manifest, in_script})
        or_error([&] { read(text, "file"); });
    or_error([&] {
        DeploymentText deployment;
        deployment.command = shell_words(text.substr(0, text.find('\n')));
        deployment.environment = environment;
        request_of(deployment, sources);
    });
    return 0;
}
