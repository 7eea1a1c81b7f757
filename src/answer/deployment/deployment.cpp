#include "vramfit/answer/deployment.hpp"

#include "command_reader.hpp"
#include "published_model.hpp"

#include "answer/model_name.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/memory/projector.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace vramfit {
namespace {

/// Everything that was said, the weakest first.
class Layers {
public:
    Layers(const DeploymentText& text, const ModelSources& sources) : text_(text), sources_(sources) {}

    Request request() {
        find_command();
        read();
        choose_model();
        Request request;
        for (const Layer& layer : layers_) {
            std::vector<SettingText> settings;
            settings.reserve(layer.size());
            for (const ReadSetting& setting : layer) settings.push_back(setting.said);
            apply_settings(request, settings);
        }
        if (said_model_ && request.model == resolved_model_) {
            request.said_model = said_model_;
            request.said_model->quant = request.quant;
        }
        if (request.draft && request.draft->model.empty()) request.draft.reset(); // of a draft that nobody asks for
        if (said_draft_ && request.draft && request.draft->model == resolved_draft_) {
            request.draft->said = said_draft_;
            request.draft->said->quant = request.draft->quant;
        }
        request.notes = std::move(notes_);
        request.spills = lends_memory(text_.environment);
        return request;
    }

private:
    using Layer = std::vector<ReadSetting>;

    /// Windows, or Linux inside it: the driver lends a GPU the computer's memory (NVIDIA's sysmem fallback policy).
    static bool lends_memory(const Environment& environment) {
        const auto windows = environment("OS");
        const auto inside = environment("WSL_DISTRO_NAME");
        return (windows && *windows == "Windows_NT") || (inside && !inside->empty());
    }

    /// Which GPUs the command sees: its own variables, the drivers' and no runtime's.
    void read_visible(ReadSettings& assigned) const {
        for (const auto& [name, value] : command_->assignments) {
            if (name != "CUDA_VISIBLE_DEVICES" && name != "HIP_VISIBLE_DEVICES" && name != "ROCR_VISIBLE_DEVICES")
                continue;
            if (value.find_first_not_of("0123456789, ") == std::string::npos && !value.empty())
                assigned.settings.push_back({{"visible-devices", value, text_.where + name}});
            else // of a GPU's UUID nobody here knows which one it is
                assigned.not_understood.push_back(name + "=" + value);
        }
    }

    void find_command() {
        if (text_.command.empty()) return;
        command_ = find_runtime_command(text_.command);
        if (!command_)
            throw Error(text_.where + quote(text_.command.front()) + " starts no runtime that is known; " +
                        known_programs() + " are");
    }

    /// The runtime by the options, else by the command, else by the environment.
    std::string runtime() const {
        for (const auto* const settings : {&text_.options, &text_.settings}) {
            const auto said = std::find_if(settings->rbegin(), settings->rend(),
                                           [](const SettingText& setting) { return setting.setting == "runtime"; });
            if (said != settings->rend()) return said->text;
        }
        if (command_) return command_->program->runtime;
        if (const auto said = text_.environment("VRAMFIT_RUNTIME"); said && !said->empty()) return *said;
        return Request{}.runtime;
    }

    void read() {
        std::optional<CommandTable> table;
        if (command_)
            table = *command_->table;
        else
            table = table_of(runtime());
        const Environment seen = [this](std::string_view name) {
            return !command_ || command_->sees(name) ? text_.environment(name) : std::nullopt;
        };
        ReadSettings variables = table ? read_variables(*table, seen, text_.where) : ReadSettings{};
        Layer own = own_variables();
        ReadSettings assigned, keyed, argued;
        if (command_) {
            const auto given = command_->assignments;
            const Environment assignments = [&given](std::string_view name) -> std::optional<std::string> {
                const auto said = std::find_if(given.rbegin(), given.rend(),
                                               [&](const auto& assigned_one) { return assigned_one.first == name; });
                return said == given.rend() ? std::nullopt : std::optional(said->second);
            };
            assigned = read_variables(*table, assignments, text_.where);
            read_visible(assigned);
            keyed = read_keys(*table, keys());
            argued = read_arguments(*command_, text_.where);
        }
        add_defaults({&variables, &assigned, &keyed, &argued});
        if (command_) layers_.push_back({{{"runtime", runtime(), text_.where}}});
        const std::size_t n_environment = layers_.size() + 2;
        layers_.push_back(std::move(variables.settings));
        layers_.push_back(std::move(own));
        layers_.push_back(std::move(assigned.settings));
        layers_.push_back(std::move(keyed.settings));
        layers_.push_back(std::move(argued.settings));
        for (const auto* const settings : {&text_.settings, &text_.options}) {
            Layer layer;
            layer.reserve(settings->size());
            for (const SettingText& setting : *settings) layer.push_back({setting});
            layers_.push_back(std::move(layer));
        }
        note_variables(n_environment - 2, n_environment);
        note_not_understood({&variables, &assigned, &keyed, &argued});
        const bool of_a_version = std::ranges::any_of(
            text_.options, [](const SettingText& setting) { return setting.setting == "runtime-version"; });
        if (!of_a_version) notes_.insert(notes_.end(), argued.notes.begin(), argued.notes.end());
    }

    static std::optional<CommandTable> table_of(const std::string& runtime) {
        if (auto table = command_table_of(runtime)) return table;
        try {
            return command_table_of(find_runtime(runtime).id);
        } catch (const Error&) { // whoever asks for it says so
            return std::nullopt;
        }
    }

    std::vector<KeyText> keys() const {
        std::vector<KeyText> keys;
        for (const auto& [key, value] : text_.keys) keys.push_back({key, value, text_.where + key});
        return keys;
    }

    /// VRAMFIT_GPU and so on: the program's options under the same names.
    Layer own_variables() const {
        Layer layer;
        for (const std::string_view setting : setting_names()) {
            std::string name = "VRAMFIT_" + std::string(setting);
            std::ranges::transform(name, name.begin(), [](char c) {
                return c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
            });
            if (setting == "catalog") continue; // where catalogs are looked for, whatever is asked
            const auto text = text_.environment(name);
            if (text && !text->empty()) layer.push_back({{std::string(setting), *text, text_.where + name}});
        }
        return layer;
    }

    void add_defaults(std::initializer_list<const ReadSettings*> all) {
        if (!command_) return;
        std::map<std::string, std::string> defaults = command_->table->defaults;
        for (const ReadSettings* const read : all)
            for (const auto& [setting, text] : read->defaults) defaults[setting] = text;
        Layer layer;
        for (const auto& [setting, text] : defaults) layer.push_back({{setting, text, text_.where + setting}});
        layers_.push_back(std::move(layer));
    }

    bool said_later(std::size_t layer, const std::string& setting) const {
        for (std::size_t i = layer + 1; i < layers_.size(); ++i)
            if (std::ranges::any_of(layers_[i], [&](const auto& s) { return s.said.setting == setting; })) return true;
        return false;
    }

    /// The variables that count, that is, that no stronger layer says otherwise.
    void note_variables(std::size_t from, std::size_t to) {
        std::vector<std::string> names;
        for (std::size_t i = from; i < to; ++i) {
            for (const ReadSetting& setting : layers_[i]) {
                if (said_later(i, setting.said.setting)) continue;
                const std::string name = setting.said.where.substr(text_.where.size());
                const std::string shown = name + "=" + printable(text_.environment(name).value_or(""));
                if (std::ranges::find(names, shown) == names.end()) names.push_back(shown);
            }
        }
        if (!names.empty()) notes_.push_back("from the environment: " + enumerated(names, "and"));
    }

    void note_not_understood(std::initializer_list<const ReadSettings*> all) {
        std::vector<std::string> flags;
        for (const ReadSettings* const read : all)
            for (const std::string& flag : read->not_understood) flags.push_back(printable(flag));
        if (flags.empty()) return;
        notes_.push_back("not understood, and not counted, though it may change memory: " + enumerated(flags, "and"));
    }

    /// What the strongest layer says of a setting, where it came from a runtime's own words.
    ReadSetting* strongest(std::string_view setting) {
        ReadSetting* found = nullptr;
        for (Layer& layer : layers_) {
            for (ReadSetting& one : layer)
                if (one.said.setting == setting) found = &one;
        }
        return found == nullptr || found->names.empty() ? nullptr : found;
    }

    /// The model as the command names it, whoever else names one.
    const ReadSetting* named_by_command() const {
        const ReadSetting* found = nullptr;
        for (const Layer& layer : layers_) {
            for (const ReadSetting& one : layer)
                if (one.said.setting == "model" && !one.names.empty()) found = &one;
        }
        return found;
    }

    /// Makes names of models those that can be asked about.
    void choose_model() {
        Layer found;
        if (ReadSetting* const model = strongest("model")) {
            const bool downloads = model->names == "gguf_repository" || model->names == "ollama";
            said_model_ = SaidModel{model->said.text, model->names, std::nullopt};
            const PublishedModel published = resolve(*model);
            resolved_model_ = published.name;
            if (published.quant) found.push_back({{"quant", *published.quant, model->said.where}});
            // llama.cpp takes the repository's projector along (common/arg.cpp, mmproj_auto), and Ollama's library has it
            // as a layer of the model (server/images.go, application/vnd.ollama.image.projector).
            if (downloads && has_projector(published.name)) found.push_back({{"mmproj", "auto", model->said.where}});
        } else if (const ReadSetting* const named = named_by_command()) {
            // Which model it is, somebody says; of which type, the file's name.
            const ModelName parts = take_apart(named->said.text);
            if (!parts.quant.empty()) found.push_back({{"quant", parts.quant, named->said.where}});
        }
        if (ReadSetting* const draft = strongest("model-draft")) {
            said_draft_ = SaidModel{draft->said.text, draft->names, std::nullopt};
            const PublishedModel published = resolve(*draft);
            resolved_draft_ = published.name;
            if (published.quant) found.push_back({{"quant-draft", *published.quant, draft->said.where}});
        }
        if (ReadSetting* const projector = strongest("mmproj"); projector != nullptr && projector->names == "projector")
            choose_projector(projector->said);
        layers_.insert(layers_.begin(), std::move(found));
    }

    PublishedModel resolve(ReadSetting& model) {
        PublishedModel published = find_published(model.said.text, model.names, sources_);
        if (model.names == "file" && published.name == model.said.text && !exists(published.name))
            throw Error(model.said.where + ": no file " + quote(model.said.text) +
                        " here, and the catalog has no model of that name; say with vramfit's own --" +
                        model.said.setting + " which model it is");
        model.said.text = published.name;
        if (!published.note.empty()) notes_.push_back(published.note);
        return published;
    }

    static bool has_projector(const std::string& name) {
        try {
            return known_projector(find_catalog_entry(name).id).has_value();
        } catch (const Error&) {
            return false;
        }
    }

    static bool exists(const std::string& path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored);
    }

    /// The file of a projector that is not here is taken for the model's usual one.
    void choose_projector(SettingText& said) {
        if (exists(said.text)) return;
        notes_.push_back(quote(said.text) + " is not here: the model's usual projector is counted");
        said.text = "auto";
    }

    const DeploymentText& text_;
    const ModelSources& sources_;
    std::optional<RuntimeCommand> command_;
    std::vector<Layer> layers_;
    std::vector<std::string> notes_;
    std::optional<SaidModel> said_model_; ///< of a command, and what it was taken for
    std::string resolved_model_;
    std::optional<SaidModel> said_draft_;
    std::string resolved_draft_;
};

} // namespace

Request request_of(const DeploymentText& text, const ModelSources& sources) { return Layers(text, sources).request(); }

bool has_runtime_command(const std::vector<std::string>& words) { return find_runtime_command(words).has_value(); }

} // namespace vramfit
