#include "cli/commands.hpp"
#include "cli/render_inspect.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/user_catalog.hpp"

namespace vramfit::cli {
namespace {

/// The model's name: the one argument, or the value of --model.
std::string model_name(const ParsedArguments& arguments) {
    std::vector<std::string> names = arguments.positionals();
    if (const auto given = arguments.value("--model")) names.insert(names.begin(), *given);
    if (names.empty()) throw Error("give a model, such as vramfit inspect llama3.1-8b");
    if (names.size() > 1) throw Error("unexpected argument " + quote(names[1]) + "; give one model");
    return names.front();
}

SourcedModel load(const ParsedArguments& arguments, ModelSources sources) {
    const auto& catalogs = arguments.values("--catalog");
    sources.catalogs.insert(sources.catalogs.begin(), catalogs.begin(), catalogs.end());
    return load_model(model_name(arguments), sources);
}

} // namespace

CommandResult inspect_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources) {
    const ParsedArguments parsed = parse(arguments, inspect_options());
    const OutputOptions output = read_output_options(parsed);
    const auto quant = parsed.value("--quant");
    const bool as_catalog = parsed.has("--as-catalog");
    if (as_catalog && (quant || output.format == Format::json))
        throw Error("--as-catalog prints an entry, which is JSON and has no quantization: leave " +
                    std::string(quant ? "--quant" : "--json") + " out");
    SourcedModel loaded = load(parsed, sources);
    if (as_catalog) return {catalog_entry_of(loaded.model)};
    std::optional<FileType> file_type;
    if (quant) {
        ask_for_quant(loaded, *quant);
        file_type = parse_file_type(*quant);
    }
    const Inspection inspection = inspect(loaded.model, file_type, find_runtime("llama.cpp").cache_types);
    if (output.format == Format::json) return {render_inspect_json(loaded, inspection)};
    return {render_inspect_text(loaded, inspection, terminal.with(output.color))};
}

} // namespace vramfit::cli
