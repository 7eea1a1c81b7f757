#include "vramfit/answer/settings_text.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/choice.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

namespace vramfit {
namespace {

// KV cache types of llama.cpp (common/arg.cpp, kv_cache_types).
constexpr std::array<std::string_view, 9> cache_types{"f32",  "f16",  "bf16",   "q8_0", "q4_0",
                                                      "q4_1", "q5_0", "iq4_nl", "q5_1"};
constexpr std::uint64_t most_requests = 65536;       // that an engine serves at once
constexpr std::uint64_t most_tokens = 0x7FFFFFFF;    // positions are 32-bit signed
constexpr std::uint64_t most_layers = 1'000'000'000; // "-ngl 999" is habit for "all of them"

/// A whole number from `least` to `most`, or nothing.
std::optional<std::uint64_t> whole_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
    return good ? std::optional(value) : std::nullopt;
}

std::uint64_t count(const SettingText& said, std::uint64_t least, std::uint64_t most) {
    if (const auto value = whole_number(said.text, least, most)) return *value;
    throw Error(said.where + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                ", not " + quote(said.text));
}

std::uint64_t parsed(const SettingText& said, std::uint64_t (*parse)(std::string_view)) {
    try {
        return parse(said.text);
    } catch (const Error& error) {
        throw Error(said.where + ": " + error.what());
    }
}

std::uint64_t size(const SettingText& said) { return parsed(said, parse_size); }

TensorType cache_type(const SettingText& said) {
    const auto type = parse_tensor_type(said.text);
    if (type && std::ranges::count(cache_types, traits(*type).name) > 0) return *type;
    std::string hint = did_you_mean(said.text, cache_types);
    if (hint.empty()) hint = "; f16, q8_0, q4_0 and others of llama.cpp's are known";
    throw Error(said.where + ": unknown cache type " + quote(said.text) + hint);
}

FlashAttention flash_attention(const SettingText& said) {
    // The last of each kind are llama.cpp's other spellings (common/arg.cpp, is_truthy and is_falsey).
    static constexpr std::array<Choice<FlashAttention>, 11> choices{{{"on", FlashAttention::on},
                                                                     {"off", FlashAttention::off},
                                                                     {"auto", FlashAttention::automatic},
                                                                     {"enabled", FlashAttention::on},
                                                                     {"true", FlashAttention::on},
                                                                     {"1", FlashAttention::on},
                                                                     {"disabled", FlashAttention::off},
                                                                     {"false", FlashAttention::off},
                                                                     {"0", FlashAttention::off},
                                                                     {"-1", FlashAttention::automatic},
                                                                     {"automatic", FlashAttention::automatic}}};
    return choose(said.where, said.text, choices, 3);
}

/// On or off, in llama.cpp's words (common/arg.cpp, is_truthy and is_falsey).
bool is_on(const SettingText& said) {
    static constexpr std::array<Choice<bool>, 10> choices{{{"on", true},
                                                           {"off", false},
                                                           {"enabled", true},
                                                           {"true", true},
                                                           {"1", true},
                                                           {"yes", true},
                                                           {"disabled", false},
                                                           {"false", false},
                                                           {"0", false},
                                                           {"no", false}}};
    return choose(said.where, lower(said.text), choices, 2);
}

std::int64_t gpu_layers(const SettingText& said) {
    if (said.text == "all" || said.text == "-2") return gpu_layers_all; // the numbers are llama.cpp's (common/arg.cpp)
    if (said.text == "auto" || said.text == "-1") return gpu_layers_auto;
    const auto layers = whole_number(said.text, 0, most_layers);
    if (!layers) throw Error(said.where + " must be a number of layers, all or auto, not " + quote(said.text));
    return static_cast<std::int64_t>(*layers);
}

SplitMode split_mode(const SettingText& said) {
    static constexpr std::array<Choice<SplitMode>, 3> choices{
        {{"none", SplitMode::none}, {"layer", SplitMode::layer}, {"row", SplitMode::row}}};
    return choose(said.where, said.text, choices);
}

/// "3,1" or "3/1", as llama.cpp has it.
std::vector<double> tensor_split(const SettingText& said) {
    std::vector<double> shares;
    double sum = 0;
    for (std::string_view rest = said.text; shares.size() <= max_devices;) {
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
    throw Error(said.where + " must be the shares of the GPUs, such as 3,1, not " + quote(said.text));
}

/// "0,1" as in CUDA_VISIBLE_DEVICES, "CUDA0,CUDA1" as llama.cpp's --device has it.
std::vector<std::uint32_t> device_list(const SettingText& said) {
    static constexpr std::array<std::string_view, 5> backends{"CUDA", "ROCm", "Vulkan", "SYCL", "HIP"};
    std::vector<std::uint32_t> devices;
    for (std::string_view rest = said.text; devices.size() < max_devices;) {
        std::string_view item = trimmed(rest.substr(0, rest.find(',')));
        const std::size_t whole = rest.find(',');
        for (const std::string_view backend : backends) {
            if (lower(item).starts_with(lower(backend))) item.remove_prefix(backend.size());
        }
        const auto index = whole_number(item, 0, max_devices - 1);
        if (!index || std::ranges::find(devices, *index) != devices.end()) break;
        devices.push_back(static_cast<std::uint32_t>(*index));
        if (whole == std::string_view::npos) return devices;
        rest.remove_prefix(whole + 1);
    }
    throw Error(said.where + " must be numbers of GPUs from 0, each once, such as 0,1, not " + quote(said.text));
}

/// A share of a GPU: more than 0 and at most 1.
double memory_share(const SettingText& said) {
    double share = 0;
    const char* const end_of_text = said.text.data() + said.text.size();
    const auto [end, error] = std::from_chars(said.text.data(), end_of_text, share, std::chars_format::fixed);
    if (error == std::errc{} && end == end_of_text && share > 0 && share <= 1) return share;
    throw Error(said.where + " must be a share of the GPU, such as 0.9, not " + quote(said.text));
}

/// "auto" is as much as the memory holds.
void context(Request& request, const SettingText& said) {
    request.fits_ctx = lower(said.text) == "auto";
    request.n_ctx = request.fits_ctx ? std::nullopt : std::optional(parsed(said, parse_tokens));
}

DraftRequest& draft(Request& request) { return request.draft ? *request.draft : request.draft.emplace(); }

enum class Kind : std::uint8_t { value, adding, toggle };

struct Setting {
    std::string_view name;
    Kind kind;
    void (*apply)(Request& request, const SettingText& said);
};

using R = Request;
using S = SettingText;

constexpr std::array settings{
    Setting{"model", Kind::value, [](R& r, const S& s) { r.model = s.text; }},
    Setting{"quant", Kind::value, [](R& r, const S& s) { r.quant = s.text; }},
    Setting{"ctx", Kind::value, context},
    Setting{"fit-ctx", Kind::value, [](R& r, const S& s) { r.least_ctx = parsed(s, parse_tokens); }},
    Setting{"gpu-overhead", Kind::value, [](R& r, const S& s) { r.tier_overhead = size(s); }},
    Setting{"gpu", Kind::adding, [](R& r, const S& s) { r.gpus.push_back(s.text); }},
    Setting{"visible-devices", Kind::value, [](R& r, const S& s) { r.visible_devices = device_list(s); }},
    Setting{"free", Kind::value, [](R& r, const S& s) { r.free = size(s); }},
    Setting{"reserve", Kind::value, [](R& r, const S& s) { r.reserve = size(s); }},
    Setting{"margin", Kind::value, [](R& r, const S& s) { r.margin = size(s); }},
    Setting{"runtime", Kind::value, [](R& r, const S& s) { r.runtime = s.text; }},
    Setting{"runtime-version", Kind::value, [](R& r, const S& s) { r.runtime_version = s.text; }},
    Setting{"ram", Kind::value, [](R& r, const S& s) { r.ram = size(s); }},
    Setting{"catalog", Kind::adding, [](R& r, const S& s) { r.catalogs.push_back(s.text); }},
    Setting{"cache-type-k", Kind::value, [](R& r, const S& s) { r.type_k = cache_type(s); }},
    Setting{"cache-type-v", Kind::value, [](R& r, const S& s) { r.type_v = cache_type(s); }},
    Setting{"cache-type", Kind::value, [](R& r, const S& s) { r.type_k = r.type_v = cache_type(s); }},
    Setting{"kv-cache-dtype", Kind::value, [](R& r, const S& s) { r.cache_dtype = s.text; }},
    Setting{"gpu-memory-utilization", Kind::value, [](R& r, const S& s) { r.memory_share = memory_share(s); }},
    Setting{"tensor-parallel", Kind::value, [](R& r, const S& s) { r.tensor_parallel = count(s, 1, max_devices); }},
    Setting{"pipeline-parallel", Kind::value, [](R& r, const S& s) { r.layers_parallel = count(s, 1, max_devices); }},
    Setting{"cuda-graphs", Kind::toggle, [](R& r, const S& s) { r.cuda_graphs = is_on(s); }},
    Setting{"flash-attn", Kind::value, [](R& r, const S& s) { r.flash_attn = flash_attention(s); }},
    Setting{"parallel", Kind::value,
            [](R& r, const S& s) {
                // llama-server's own default, -1: as many as it likes.
                r.parallel = s.text == "-1" ? std::nullopt : std::optional(count(s, 1, max_sequences));
            }},
    // Sequences of an engine, which may have more of them than llama.cpp has slots.
    Setting{"max-num-seqs", Kind::value, [](R& r, const S& s) { r.parallel = count(s, 1, most_requests); }},
    Setting{"kv-unified", Kind::toggle, [](R& r, const S& s) { r.kv_unified = is_on(s); }},
    Setting{"batch-size", Kind::value, [](R& r, const S& s) { r.n_batch = count(s, 1, most_tokens); }},
    Setting{"ubatch-size", Kind::value, [](R& r, const S& s) { r.n_ubatch = count(s, 1, most_tokens); }},
    Setting{"gpu-layers", Kind::value, [](R& r, const S& s) { r.n_gpu_layers = gpu_layers(s); }},
    Setting{"tensor-split", Kind::value, [](R& r, const S& s) { r.tensor_split = tensor_split(s); }},
    Setting{"split-mode", Kind::value, [](R& r, const S& s) { r.split_mode = split_mode(s); }},
    Setting{"main-gpu", Kind::value,
            [](R& r, const S& s) { r.main_gpu = static_cast<std::uint32_t>(count(s, 0, max_devices - 1)); }},
    Setting{"n-cpu-moe", Kind::value,
            [](R& r, const S& s) { r.n_cpu_moe = static_cast<std::uint32_t>(count(s, 0, most_layers)); }},
    Setting{"cpu-moe", Kind::toggle,
            [](R& r, const S& s) { r.n_cpu_moe = is_on(s) ? std::numeric_limits<std::uint32_t>::max() : 0; }},
    Setting{"override-tensor", Kind::adding, [](R& r, const S& s) { r.override_tensors.push_back(s.text); }},
    Setting{"kv-offload", Kind::toggle, [](R& r, const S& s) { r.kv_offload = is_on(s); }},
    Setting{"op-offload", Kind::toggle, [](R& r, const S& s) { r.op_offload = is_on(s); }},
    Setting{"swa-full", Kind::toggle, [](R& r, const S& s) { r.swa_full = is_on(s); }},
    Setting{"embeddings", Kind::toggle, [](R& r, const S& s) { r.embeddings = is_on(s); }},
    Setting{"mtp", Kind::toggle, [](R& r, const S& s) { r.mtp = is_on(s); }},
    Setting{"mmproj", Kind::value,
            [](R& r, const S& s) { r.projector = s.text == "none" ? std::nullopt : std::optional(s.text); }},
    Setting{"mmproj-offload", Kind::toggle, [](R& r, const S& s) { r.projector_offload = is_on(s); }},
    Setting{"model-draft", Kind::value, [](R& r, const S& s) { draft(r).model = s.text; }},
    Setting{"quant-draft", Kind::value, [](R& r, const S& s) { draft(r).quant = s.text; }},
    Setting{"gpu-layers-draft", Kind::value, [](R& r, const S& s) { draft(r).n_gpu_layers = gpu_layers(s); }},
    Setting{"cache-type-k-draft", Kind::value, [](R& r, const S& s) { draft(r).type_k = cache_type(s); }},
    Setting{"cache-type-v-draft", Kind::value, [](R& r, const S& s) { draft(r).type_v = cache_type(s); }},
    Setting{"lora", Kind::adding, [](R& r, const S& s) { r.adapters.push_back(s.text); }},
    Setting{"imatrix", Kind::toggle, [](R& r, const S& s) { r.imatrix = is_on(s); }},
};

void forget(Request& request, std::string_view setting) {
    if (setting == "gpu") request.gpus.clear();
    if (setting == "catalog") request.catalogs.clear();
    if (setting == "override-tensor") request.override_tensors.clear();
    if (setting == "lora") request.adapters.clear();
}

struct Found {
    const Setting* setting = nullptr;
    bool opposite = false;
};

Found find(std::string_view given) {
    std::string name(given);
    std::ranges::replace(name, '_', '-');
    if (const auto known = std::ranges::find(settings, name, &Setting::name); known != settings.end())
        return {&*known, false};
    if (!name.starts_with("no-")) return {};
    const auto known = std::ranges::find(settings, std::string_view(name).substr(3), &Setting::name);
    if (known == settings.end() || known->kind != Kind::toggle) return {};
    return {&*known, true};
}

[[noreturn]] void throw_unknown(const SettingText& said) {
    const std::string hint = did_you_mean(said.setting, setting_names());
    throw Error(said.where + ": unknown setting " + quote(said.setting) +
                (hint.empty() ? "; see vramfit --help" : hint));
}

} // namespace

void apply_settings(Request& request, std::span<const SettingText> said) {
    std::set<std::string_view> started; // of those that add up
    for (const SettingText& one : said) {
        const Found found = find(one.setting);
        if (found.setting == nullptr) throw_unknown(one);
        if (found.setting->kind == Kind::adding && started.insert(found.setting->name).second)
            forget(request, found.setting->name);
        if (!found.opposite) {
            found.setting->apply(request, one);
            continue;
        }
        found.setting->apply(request, {one.setting, is_on(one) ? "off" : "on", one.where});
    }
}

bool is_setting(std::string_view name) { return find(name).setting != nullptr; }

bool is_switch(std::string_view name) {
    const Found found = find(name);
    return found.setting != nullptr && found.setting->kind == Kind::toggle;
}

bool adds_up(std::string_view name) {
    const Found found = find(name);
    return found.setting != nullptr && found.setting->kind == Kind::adding;
}

std::vector<std::string_view> setting_names() {
    std::vector<std::string_view> names;
    names.reserve(settings.size());
    for (const Setting& setting : settings) names.push_back(setting.name);
    return names;
}

} // namespace vramfit
