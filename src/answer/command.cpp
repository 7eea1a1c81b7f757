#include "command.hpp"

#include "serving_command.hpp"

#include "vramfit/base/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace vramfit {
namespace {

constexpr std::int64_t common_all = 99; // what people write for all layers
constexpr std::int64_t safe_all = 999;  // for the models that have more

/// Puts words behind each other, a flag only where its setting was said.
class Line {
public:
    Line(const RuntimeProfile& runtime, const std::string& file) : runtime_(runtime), alone_(runtime.alone) {
        constexpr std::string_view model = "{model}";
        if (const auto at = alone_.find(model); at != std::string::npos) alone_.replace(at, model.size(), file);
    }

    void value(std::string_view setting, const std::string& value) {
        if (!runtime_.can_set(setting)) {
            add(command_.unsaid, std::string(setting));
            return;
        }
        const RuntimeProfile::Written written = runtime_.written(setting, value);
        std::string text;
        for (const std::string& word : written.words) text += (text.empty() ? "" : " ") + word;
        if (!text.empty()) add(said_[static_cast<std::size_t>(written.style)], text);
    }
    void number(std::string_view setting, const std::optional<std::uint64_t>& number) {
        if (number) value(setting, std::to_string(*number));
    }
    void type(std::string_view setting, const std::optional<TensorType>& type) {
        if (type) value(setting, std::string(traits(*type).name));
    }
    void bare(std::string_view setting, bool said) {
        if (said) value(setting, "");
    }
    Command command() const {
        Command command = command_;
        for (const std::string& variable : said(RuntimeProfile::Style::environment)) command.text += variable + ' ';
        command.has_variables = !command.text.empty();
        command.text += command.has_variables || alone_.empty() ? runtime_.program : alone_;
        for (const std::string& flag : said(RuntimeProfile::Style::flag)) command.text += ' ' + flag;
        command.elsewhere = said(RuntimeProfile::Style::elsewhere);
        return command;
    }

private:
    const std::vector<std::string>& said(RuntimeProfile::Style style) const {
        return said_[static_cast<std::size_t>(style)];
    }
    /// Two settings may be one to the runtime.
    static void add(std::vector<std::string>& texts, const std::string& text) {
        if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }

    const RuntimeProfile& runtime_;
    std::array<std::vector<std::string>, 3> said_; ///< by style
    std::string alone_;                            ///< the command where no variable is set
    Command command_;
};

std::string shares_text(const std::vector<double>& shares) {
    std::string text;
    for (const double share : shares) text += fmt::format("{}{:g}", text.empty() ? "" : ",", share);
    return text;
}

const char* split_mode_text(SplitMode mode) {
    switch (mode) {
    case SplitMode::none: return "none";
    case SplitMode::row: return "row";
    case SplitMode::layer: break;
    }
    return "layer";
}

/// The name of a model to a runtime that has a store of its own: a name as that runtime has them, else MODEL.
std::string model_name(const Request& request) {
    if (is_as_said(request, "ollama") || is_as_said(request, "lmstudio")) return shell_word(request.said_model->text);
    constexpr std::string_view store = "ollama:";
    const std::string_view name = request.model;
    if (name.starts_with(store)) return shell_word(std::string(name.substr(store.size())));
    const bool tagged = name.find(':') != std::string_view::npos && !names_a_file(request.model);
    return tagged ? shell_word(request.model) : "MODEL";
}

/// A file as it was given; the catalog's names stand for files that are somewhere.
std::string file_of(const std::string& name, const char* placeholder) {
    return names_a_file(name) ? shell_word(name) : placeholder;
}

/// As it was named, if by a file or a repository.
void add_draft_model(Line& line, const DraftRequest& draft) {
    const bool as_said = draft.said && draft.said->quant == draft.quant;
    if (as_said && draft.said->kind == "gguf_repository")
        line.value("hf_repo_draft", shell_word(draft.said->text));
    else if (as_said && draft.said->kind == "file")
        line.value("model_draft", shell_word(draft.said->text));
    else
        line.value("model_draft", file_of(draft.model, "DRAFT.gguf"));
}

void add_companions(Line& line, const Request& request, bool from_repository) {
    // llama.cpp takes a repository's projector along by itself (common/arg.cpp, mmproj_auto), Ollama a model's own one.
    const bool along = request.projector == "auto" && (from_repository || is_as_said(request, "ollama"));
    if (request.projector && !along) {
        line.value("mmproj", file_of(*request.projector, "MMPROJ.gguf"));
    }
    if (request.projector) line.bare("no_mmproj", !request.projector_offload);
    if (request.draft) {
        const DraftRequest& draft = *request.draft;
        add_draft_model(line, draft);
        if (draft.n_gpu_layers >= 0) line.value("ngl_draft", std::to_string(*draft.n_gpu_layers));
        line.type("cache_type_k_draft", draft.type_k);
        line.type("cache_type_v_draft", draft.type_v);
    }
    for (const std::string& adapter : request.adapters) line.value("lora", shell_word(adapter));
}

/// All layers, where the runtime has a word for them; else a number, and only where somebody asked or it is a flag: a
/// runtime that is told elsewhere needs not be told what it tries anyway.
void add_gpu_layers(Line& line, const Judge& judge, const Request& request) {
    const RuntimeProfile& runtime = judge.runtime();
    const std::int64_t n_layers = request.n_gpu_layers.value_or(gpu_layers_all);
    if (n_layers < 0 && runtime.can_set("gpu_layers_all"))
        line.bare("gpu_layers_all", true);
    else if (n_layers >= 0 || runtime.flags.contains("gpu_layers"))
        line.value("gpu_layers", gpu_layers_text(judge.model(), n_layers));
}

} // namespace

bool is_as_said(const Request& request, std::string_view kind) {
    return request.said_model && request.said_model->kind == kind && request.said_model->quant == request.quant;
}

std::string gpu_layers_text(const Model& model, std::int64_t n_gpu_layers) {
    if (n_gpu_layers >= 0) return std::to_string(n_gpu_layers);
    return std::to_string(std::int64_t{model.n_block()} < common_all ? common_all : safe_all);
}

std::string flash_attn_text(FlashAttention flash_attn) {
    switch (flash_attn) {
    case FlashAttention::off: return "off";
    case FlashAttention::on: return "on";
    case FlashAttention::automatic: break;
    }
    return "auto";
}

std::string model_file(const RuntimeProfile& runtime, const Model& model, const Request& request) {
    if (!runtime.takes_files) return model_name(request);
    if (is_as_said(request, "file")) return shell_word(request.said_model->text);
    const bool is_that_file = model.source == "gguf" && !model.file_type.empty() && request.model != "-";
    return is_that_file ? shell_word(request.model) : "MODEL.gguf";
}

std::string model_file(const RuntimeProfile& runtime, FileType file_type) {
    return "MODEL-" + std::string(traits(file_type).name) + (runtime.takes_files ? ".gguf" : "");
}

Command command_of(const Judge& judge, const Request& request, const std::string& file) {
    const RuntimeProfile& runtime = judge.runtime();
    if (runtime.serving) {
        Command command;
        command.text = serving_command(judge, request);
        return command;
    }
    Line line(runtime, file);
    // The file of a change is another one.
    const bool from_repository = runtime.can_set("hf_repo") && is_as_said(request, "gguf_repository") &&
                                 file == model_file(runtime, judge.model(), request);
    if (from_repository)
        line.value("hf_repo", shell_word(request.said_model->text));
    else if (runtime.can_set("model"))
        line.value("model", file);
    if (request.n_ctx != request.default_n_ctx) line.number("n_ctx", request.n_ctx);
    add_gpu_layers(line, judge, request);
    if (!request.tensor_split.empty()) line.value("tensor_split", shares_text(request.tensor_split));
    if (request.split_mode) line.value("split_mode", split_mode_text(*request.split_mode));
    if (request.main_gpu > 0) line.number("main_gpu", request.main_gpu);
    for (const std::string& overrides : request.override_tensors) line.value("override_tensor", shell_word(overrides));
    const bool all_experts = request.n_cpu_moe == std::numeric_limits<std::uint32_t>::max();
    line.bare("cpu_moe", all_experts);
    if (request.n_cpu_moe > 0 && !all_experts) line.number("n_cpu_moe", request.n_cpu_moe);
    line.type("cache_type_k", request.type_k);
    line.type("cache_type_v", request.type_v);
    if (request.flash_attn) line.value("flash_attn", flash_attn_text(*request.flash_attn));
    line.number("parallel", request.parallel);
    if (request.kv_unified) line.bare(*request.kv_unified ? "kv_unified" : "no_kv_unified", true);
    line.number("n_batch", request.n_batch);
    line.number("n_ubatch", request.n_ubatch);
    line.bare("no_op_offload", !request.op_offload);
    line.bare("no_kv_offload", !request.kv_offload);
    line.bare("swa_full", request.swa_full);
    line.bare("embeddings", request.embeddings);
    line.bare("mtp", request.mtp);
    add_companions(line, request, from_repository);
    return line.command();
}

std::string command_line(const Judge& judge, const Request& request, const std::string& file) {
    return command_of(judge, request, file).text;
}

} // namespace vramfit
