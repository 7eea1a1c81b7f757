#include "vramfit/answer/check.hpp"

#include "found_deployment.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/memory/runtime.hpp"

namespace vramfit {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024;
constexpr std::size_t most_deployments = 10000;

CheckedDeployment checked(FoundDeployment found, const std::string& file, const std::vector<SettingText>& options,
                          const ModelSources& sources, bool use_environment) {
    CheckedDeployment result;
    result.file = file;
    result.line = found.line;
    result.name = std::move(found.name);
    result.notes = std::move(found.notes);
    found.text.options = options;
    result.error = std::move(found.error);
    if (!result.error.empty()) return result;
    try {
        result.request = request_of(found.text, sources);
        result.request.use_environment = use_environment;
        result.no_model = result.request.model.empty() && find_runtime(result.request.runtime).id == "ollama";
        if (result.no_model) {
            result.notes.emplace_back("a server that loads whatever is asked for: --model says what to check it with");
            return result;
        }
        if (result.request.model.empty()) throw Error("it names no model; give one with --model");
        result.answer = answer(result.request, sources);
    } catch (const Error& error) {
        result.error = error.what();
        const std::string& where = found.text.where; // the row says it already
        if (result.error.starts_with(where)) result.error.erase(0, where.size());
    }
    return result;
}

} // namespace

std::vector<CheckedDeployment> check_file(std::string_view text, const std::string& file,
                                          const std::vector<SettingText>& options, const ModelSources& sources,
                                          bool use_environment) {
    if (text.size() > most_bytes) throw Error(quote(file) + " has more than 16 MiB");
    FoundDeployments found =
        find_deployments(text, printable(file), use_environment ? sources.environment : empty_environment());
    if (found.empty())
        throw Error(
            "no runtime's command was found in " + quote(file) +
            "; a compose file, a systemd unit, a llama-swap configuration, a preset, a Modelfile, a script or a "
            "manifest would be right");
    if (found.size() > most_deployments) throw Error(quote(file) + " has more than 10000 deployments");
    std::vector<CheckedDeployment> rows;
    rows.reserve(found.size());
    for (FoundDeployment& deployment : found)
        rows.push_back(checked(std::move(deployment), printable(file), options, sources, use_environment));
    return rows;
}

} // namespace vramfit
