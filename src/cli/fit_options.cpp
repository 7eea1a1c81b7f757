#include "cli/fit_options.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace vramfit::cli {
namespace {

// KV cache types of llama.cpp (common/arg.cpp, kv_cache_types).
constexpr std::array<std::string_view, 9> cache_types{"f32",  "f16",  "bf16",   "q8_0", "q4_0",
                                                      "q4_1", "q5_0", "iq4_nl", "q5_1"};
constexpr std::uint64_t most_sequences = 256;        // llama.cpp's LLAMA_MAX_SEQ
constexpr std::uint64_t most_tokens = 0x7FFFFFFF;    // positions are 32-bit signed
constexpr std::uint64_t most_layers = 1'000'000'000; // "-ngl 999" is habit for "all of them"
constexpr std::size_t most_devices = 64;

struct Choice {
    std::string_view text;
    int value;
};

/// "on, off or auto".
std::string enumeration(const std::vector<std::string_view>& words, std::string_view last) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
        text += words[i];
    }
    return text;
}

/// The value of that name. Throws Error naming the first `shown` choices; the others are further spellings.
int choose(std::string_view option, const std::string& given, std::span<const Choice> choices, std::size_t shown) {
    std::vector<std::string_view> names;
    for (const Choice& choice : choices) {
        if (choice.text == given) return choice.value;
        if (names.size() < shown) names.push_back(choice.text);
    }
    throw Error(std::string(option) + " must be " + enumeration(names, "or") + ", not " + quote(given));
}

/// A whole number from `least` to `most`, or nothing.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
    return good ? std::optional(value) : std::nullopt;
}

/// Reads the values of one argument list, option by option.
class Reader {
public:
    explicit Reader(const ParsedArguments& arguments) : arguments_(arguments) {}

    bool has(std::string_view option) const { return arguments_.has(option); }

    std::optional<std::uint64_t> count(std::string_view option, std::uint64_t least, std::uint64_t most) const {
        const auto given = arguments_.value(option);
        if (!given) return std::nullopt;
        const auto value = whole_number(*given, least, most);
        if (!value) {
            throw Error(std::string(option) + " must be a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most) + ", not " + quote(*given));
        }
        return value;
    }

    std::optional<std::uint64_t> size(std::string_view option) const { return read(option, parse_size); }

    std::optional<std::uint64_t> tokens(std::string_view option) const { return read(option, parse_tokens); }

    std::optional<std::uint64_t> parameters(std::string_view option) const { return read(option, parse_parameters); }

    std::optional<TensorType> cache_type(std::string_view option) const {
        const auto given = arguments_.value(option);
        if (!given) return std::nullopt;
        const auto type = parse_tensor_type(*given);
        if (type && std::count(cache_types.begin(), cache_types.end(), traits(*type).name) > 0) return type;
        std::string hint = did_you_mean(*given, cache_types);
        if (hint.empty()) hint = "; f16, q8_0, q4_0 and others of llama.cpp's are known";
        throw Error(std::string(option) + ": unknown cache type " + quote(*given) + hint);
    }

private:
    std::optional<std::uint64_t> read(std::string_view option, std::uint64_t (*parse)(std::string_view)) const {
        const auto given = arguments_.value(option);
        if (!given) return std::nullopt;
        try {
            return parse(*given);
        } catch (const Error& error) {
            throw Error(std::string(option) + ": " + error.what());
        }
    }

    const ParsedArguments& arguments_;
};

std::optional<FlashAttention> flash_attention(const ParsedArguments& arguments) {
    const auto given = arguments.value("--flash-attn");
    if (!given) return std::nullopt;
    const auto value = [](FlashAttention mode) { return static_cast<int>(mode); };
    // The last of each kind are llama.cpp's other spellings (common/arg.cpp, is_truthy and is_falsey).
    const std::array<Choice, 11> choices{{{"on", value(FlashAttention::on)},
                                          {"off", value(FlashAttention::off)},
                                          {"auto", value(FlashAttention::automatic)},
                                          {"enabled", value(FlashAttention::on)},
                                          {"true", value(FlashAttention::on)},
                                          {"1", value(FlashAttention::on)},
                                          {"disabled", value(FlashAttention::off)},
                                          {"false", value(FlashAttention::off)},
                                          {"0", value(FlashAttention::off)},
                                          {"-1", value(FlashAttention::automatic)},
                                          {"automatic", value(FlashAttention::automatic)}}};
    return static_cast<FlashAttention>(choose("--flash-attn", *given, choices, 3));
}

std::optional<std::int64_t> gpu_layers(const ParsedArguments& arguments, std::string_view option) {
    const auto given = arguments.value(option);
    if (!given) return std::nullopt;
    if (*given == "all") return gpu_layers_all;
    if (*given == "auto") return gpu_layers_auto;
    const auto layers = whole_number(*given, 0, most_layers);
    if (!layers) throw Error(std::string(option) + " must be a number of layers, all or auto, not " + quote(*given));
    return static_cast<std::int64_t>(*layers);
}

std::optional<SplitMode> split_mode(const ParsedArguments& arguments) {
    const auto given = arguments.value("--split-mode");
    if (!given) return std::nullopt;
    const auto value = [](SplitMode mode) { return static_cast<int>(mode); };
    const std::array<Choice, 3> choices{
        {{"none", value(SplitMode::none)}, {"layer", value(SplitMode::layer)}, {"row", value(SplitMode::row)}}};
    return static_cast<SplitMode>(choose("--split-mode", *given, choices, 3));
}

std::optional<DraftRequest> draft(const ParsedArguments& arguments) {
    const Reader reader(arguments);
    const auto model = arguments.value("--model-draft");
    if (!model) {
        for (const std::string_view option :
             {"--quant-draft", "--gpu-layers-draft", "--cache-type-k-draft", "--cache-type-v-draft"}) {
            if (arguments.has(option))
                throw Error(std::string(option) + " is about a draft model: name it with --model-draft");
        }
        return std::nullopt;
    }
    DraftRequest request;
    request.model = *model;
    request.quant = arguments.value("--quant-draft");
    request.n_gpu_layers = gpu_layers(arguments, "--gpu-layers-draft");
    request.type_k = reader.cache_type("--cache-type-k-draft");
    request.type_v = reader.cache_type("--cache-type-v-draft");
    return request;
}

/// "3,1" or "3/1", as llama.cpp has it.
std::vector<double> tensor_split(const ParsedArguments& arguments) {
    std::vector<double> shares;
    const auto given = arguments.value("--tensor-split");
    if (!given) return shares;
    double sum = 0;
    for (std::string_view rest = *given; shares.size() <= most_devices;) {
        const std::string_view item = rest.substr(0, rest.find_first_of(",/"));
        double share = 0;
        const auto [end, error] =
            std::from_chars(item.data(), item.data() + item.size(), share, std::chars_format::fixed);
        if (error != std::errc{} || end != item.data() + item.size() || !(share >= 0 && share <= 1e9)) break;
        sum += shares.emplace_back(share);
        if (item.size() == rest.size()) {
            if (sum > 0) return shares;
            break;
        }
        rest.remove_prefix(item.size() + 1);
    }
    throw Error("--tensor-split must be the shares of the GPUs, such as 3,1, not " + quote(*given));
}

std::optional<double> memory_share(const ParsedArguments& arguments) {
    const auto given = arguments.value("--gpu-memory-utilization");
    if (!given) return std::nullopt;
    double share = 0;
    const auto [end, error] =
        std::from_chars(given->data(), given->data() + given->size(), share, std::chars_format::fixed);
    if (error == std::errc{} && end == given->data() + given->size() && share > 0 && share <= 1) return share;
    throw Error("--gpu-memory-utilization must be a share of the GPU, such as 0.9, not " + quote(*given));
}

void read_cache_types(const ParsedArguments& arguments, Request& request) {
    const Reader reader(arguments);
    request.type_k = reader.cache_type(arguments.last_of({"--cache-type", "--cache-type-k"}));
    request.type_v = reader.cache_type(arguments.last_of({"--cache-type", "--cache-type-v"}));
}

void read_settings(const ParsedArguments& arguments, Request& request) {
    const Reader reader(arguments);
    read_cache_types(arguments, request);
    request.cache_dtype = arguments.value("--kv-cache-dtype");
    request.memory_share = memory_share(arguments);
    request.flash_attn = flash_attention(arguments);
    // llama-server's own default, -1: as many as it likes.
    if (arguments.value("--parallel") != "-1") request.parallel = reader.count("--parallel", 1, most_sequences);
    const std::string_view slots = arguments.last_of({"--kv-unified", "--no-kv-unified"});
    if (!slots.empty()) request.kv_unified = slots == "--kv-unified";
    request.n_batch = reader.count("--batch-size", 1, most_tokens);
    request.n_ubatch = reader.count("--ubatch-size", 1, most_tokens);
    request.n_gpu_layers = gpu_layers(arguments, "--gpu-layers");
    request.tensor_split = tensor_split(arguments);
    request.split_mode = split_mode(arguments);
    request.main_gpu = static_cast<std::uint32_t>(reader.count("--main-gpu", 0, most_devices - 1).value_or(0));
    request.override_tensors = arguments.values("--override-tensor");
    const auto layers = reader.count("--n-cpu-moe", 0, most_layers);
    const bool all_experts = arguments.last_of({"--cpu-moe", "--n-cpu-moe"}) == "--cpu-moe";
    request.n_cpu_moe =
        all_experts ? std::numeric_limits<std::uint32_t>::max() : static_cast<std::uint32_t>(layers.value_or(0));
    request.kv_offload = !reader.has("--no-kv-offload");
    request.op_offload = !reader.has("--no-op-offload");
    request.swa_full = reader.has("--swa-full");
    request.embeddings = reader.has("--embeddings");
    request.mtp = reader.has("--mtp");
    request.projector = arguments.value("--mmproj");
    request.projector_offload = !reader.has("--no-mmproj-offload");
    request.draft = draft(arguments);
    request.adapters = arguments.values("--lora");
    request.imatrix = !reader.has("--no-imatrix");
}

/// Says what is missing: a model may be looked for where GPU and context are given, everything else where a model is.
void require_enough(const ParsedArguments& arguments) {
    if (arguments.has("--model")) return;
    if (!arguments.has("--gpu"))
        throw Error("give a model or a GPU, such as --model llama3.1-8b, or --gpu 24GB --ctx 8192");
    if (!arguments.has("--ctx")) throw Error("give a model or a context, such as --model llama3.1-8b or --ctx 8192");
}

/// What is said of tables and of models that are looked for.
void read_sweep(const ParsedArguments& arguments, Request& request) {
    const Reader reader(arguments);
    if (const auto given = arguments.value("--table")) {
        constexpr std::array<Choice, 2> axes{{{"quant", 0}, {"cache", 1}}};
        request.table = static_cast<TableAxis>(choose("--table", *given, axes, 2));
    }
    ModelFilter& filter = request.models;
    filter.family = arguments.value("--family").value_or("");
    filter.license = arguments.value("--license").value_or("");
    filter.min_parameters = reader.parameters("--min-params").value_or(0);
    filter.moe = reader.has("--moe");
    if (const auto given = arguments.value("--sort")) {
        const auto value = [](ModelOrder order) { return static_cast<int>(order); };
        const std::array<Choice, 4> orders{{{"params", value(ModelOrder::parameters)},
                                            {"headroom", value(ModelOrder::headroom)},
                                            {"context", value(ModelOrder::context)},
                                            {"name", value(ModelOrder::name)}}};
        filter.order = static_cast<ModelOrder>(choose("--sort", *given, orders, 4));
    }
}

void read_question(const ParsedArguments& arguments, Request& request) {
    const Reader reader(arguments);
    require_enough(arguments);
    request.model = arguments.value("--model").value_or("");
    request.quant = arguments.value("--quant");
    request.n_ctx = reader.tokens("--ctx");
    request.gpus = arguments.values("--gpu");
    request.free = reader.size("--free");
    request.reserve = reader.size("--reserve");
    request.margin = reader.size("--margin");
    request.ram = reader.size("--ram");
    request.catalogs = arguments.values("--catalog");
    if (const auto runtime = arguments.value("--runtime")) request.runtime = *runtime;
    request.runtime_version = arguments.value("--runtime-version");
}

std::string format_name(const FitOptions& options) {
    switch (options.output.format) {
    case Format::json: return "JSON";
    case Format::tsv: return "TSV";
    case Format::markdown: return "Markdown";
    case Format::text: break;
    }
    return "text";
}

} // namespace

OutputOptions read_output_options(const ParsedArguments& arguments, Formats formats) {
    OutputOptions output;
    if (const auto given = arguments.value("--format")) {
        constexpr std::array<Choice, 4> all{{{"text", 0}, {"json", 1}, {"tsv", 2}, {"markdown", 3}}};
        const std::size_t n_formats = formats == Formats::plain ? 2 : 4;
        output.format = static_cast<Format>(choose("--format", *given, std::span(all).first(n_formats), n_formats));
    }
    if (arguments.last_of({"--json", "--format"}) == "--json") output.format = Format::json;
    if (const auto given = arguments.value("--color")) {
        constexpr std::array<Choice, 3> modes{{{"auto", 0}, {"always", 1}, {"never", 2}}};
        output.color = static_cast<ColorMode>(choose("--color", *given, modes, 3));
    }
    return output;
}

FitOptions read_fit_options(const ParsedArguments& arguments) {
    FitOptions options;
    options.output = read_output_options(arguments, Formats::with_rows);
    options.explain = arguments.has("--explain");
    options.strict = arguments.has("--strict");
    options.quiet = arguments.has("--quiet");
    const bool is_text = options.output.format == Format::text;
    if (options.quiet && (options.explain || !is_text)) {
        throw Error(std::string("--quiet shows nothing, ") + (options.explain ? "--explain" : format_name(options)) +
                    " is to be shown: give one of them");
    }
    if (options.explain && !is_text) {
        throw Error("--explain is text and has no " + format_name(options) + " form: give one of them");
    }
    if (!arguments.positionals().empty()) {
        throw Error("unexpected argument " + quote(arguments.positionals().front()) + "; see vramfit --help");
    }
    read_settings(arguments, options.request);
    read_sweep(arguments, options.request);
    read_question(arguments, options.request);
    options.request.strict = options.strict;
    return options;
}

} // namespace vramfit::cli
