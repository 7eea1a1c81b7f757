#include "serving_command.hpp"

#include "command.hpp"
#include "serving_text.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// "meta-llama/Llama-3.1-8B-Instruct": the model as Hugging Face names it, or a placeholder.
std::string published_name(const Model& model) {
    if (model.source != "catalog") return "MODEL";
    const std::vector<std::string> aliases = find_catalog_entry(model.id).aliases;
    const auto found =
        std::ranges::find_if(aliases, [](const std::string& alias) { return alias.find('/') != std::string::npos; });
    return found == aliases.end() ? "MODEL" : *found;
}

} // namespace

std::vector<std::string> serving_flags(const RuntimeProfile& runtime, std::string_view setting,
                                       const std::string& value) {
    return runtime.can_set(setting) ? runtime.written(setting, value).words : std::vector<std::string>();
}

std::vector<std::string> format_flags(const RuntimeProfile& runtime, const std::string& format) {
    const auto found = runtime.serving->format_flags.find(format);
    if (found == runtime.serving->format_flags.end()) return {};
    const std::size_t blank = found->second.find(' ');
    return {found->second.substr(0, blank), found->second.substr(blank + 1)};
}

std::string checkpoint_name(const Judge& judge, const std::string& format) {
    std::string name = published_name(judge.model());
    const bool as_published = format == published_format(judge.model()).id;
    if (as_published || !format_flags(judge.runtime(), format).empty()) return name;
    return "MODEL-" + format;
}

std::string serving_command(const Judge& judge, const Request& request) {
    const RuntimeProfile& runtime = judge.runtime();
    if (runtime.flags.empty()) return "";
    const Deployment d = judge.deployment(request);
    std::string text = runtime.program;
    const auto add = [&](const std::vector<std::string>& words) {
        for (const std::string& word : words) text += ' ' + word;
    };
    const bool as_said = is_as_said(request, "repository");
    const std::string name = as_said ? shell_word(request.said_model->text) : checkpoint_name(judge, d.weight_format);
    const std::vector<std::string> model = serving_flags(runtime, "model", name);
    add(model.empty() ? std::vector{name} : model);
    add(format_flags(runtime, d.weight_format));
    const auto number = [&](std::string_view setting, const std::optional<std::uint64_t>& value) {
        if (value) add(serving_flags(runtime, setting, std::to_string(*value)));
    };
    if (request.n_ctx != request.default_n_ctx) number("n_ctx", request.n_ctx);
    if (request.tensor_parallel > 1U && request.layers_parallel > 1U) {
        number("tensor_parallel", request.tensor_parallel);
        number("layers_parallel", request.layers_parallel);
    } else if (d.placement.n_devices > 1)
        number(d.placement.split_mode == SplitMode::layer ? "layers_parallel" : "tensor_parallel",
               d.placement.n_devices);
    if (request.memory_share) add(serving_flags(runtime, "memory_share", share_text(*request.memory_share)));
    if (request.cache_dtype)
        add(serving_flags(runtime, "cache_dtype", runtime.serving->dtype(*request.cache_dtype)->name));
    number("parallel", request.parallel);
    number("n_batch", request.n_batch);
    if (!request.cuda_graphs) add(serving_flags(runtime, "no_cuda_graphs", ""));
    return text;
}

} // namespace vramfit
