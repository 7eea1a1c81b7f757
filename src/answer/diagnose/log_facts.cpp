#include "log_facts.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"

#include "vramfit/hardware/device.hpp"

#include <algorithm>

namespace vramfit {
namespace {} // namespace

OptionalLogged Load::number(std::string_view key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::nullopt : OptionalLogged(found->second);
}

const LogDevice* Load::find_device(std::string_view wanted) const {
    const auto found = std::ranges::find(devices, wanted, &LogDevice::name);
    return found == devices.end() ? nullptr : &*found;
}

LogDevice& Load::device(std::string_view wanted) {
    const auto found = std::ranges::find(devices, wanted, &LogDevice::name);
    if (found != devices.end()) return *found;
    if (devices.size() >= max_devices) return devices.back();
    devices.emplace_back();
    devices.back().name = wanted;
    return devices.back();
}

OptionalLogged Load::sum(BufferKind kind, bool host) const {
    OptionalLogged total;
    for (const LogBuffer& buffer : buffers) {
        if (buffer.kind != kind || buffer.part != LoadPart::model || is_host_buffer(buffer.device) != host) continue;
        if (!total) total = Logged{0, buffer.line};
        total->value += buffer.bytes;
    }
    return total;
}

std::uint64_t Load::on_device(std::string_view wanted) const {
    std::uint64_t total = 0;
    for (const LogBuffer& buffer : buffers) {
        if (device_of_buffer(buffer.device) == wanted) total += buffer.bytes;
    }
    return total;
}

bool Load::has_cache() const {
    return std::ranges::any_of(buffers, [](const LogBuffer& buffer) {
        return buffer.kind == BufferKind::kv_cache || buffer.kind == BufferKind::recurrent_state;
    });
}

bool runs_pytorch(LogRuntime runtime) {
    return runtime == LogRuntime::pytorch || runtime == LogRuntime::vllm || runtime == LogRuntime::sglang;
}

FailureStage stage_of_progress(const Load& load) {
    if (load.ready) return FailureStage::generation;
    if (load.has_context) return FailureStage::compute;
    const bool loads = load.has_buffers() || !load.path.empty() || load.number("n_layer") || load.number("gpu_layers");
    return loads ? FailureStage::weights : FailureStage::generation;
}

bool is_same_attempt(const Load& a, const Load& b) {
    const bool named = !a.path.empty() || !a.name.empty();
    if (!named || a.path != b.path || a.name != b.name || a.options != b.options) return false;
    for (const std::string_view key : {"n_ctx", "n_parallel", "n_batch", "n_ubatch", "gpu_layers"}) {
        const OptionalLogged mine = a.number(key), other = b.number(key);
        if (mine && other && mine->value != other->value) return false;
    }
    for (const std::string_view key : {"cache_type_k", "cache_type_v", "flash_attn", "kv_unified"}) {
        const auto mine = a.texts.find(key), other = b.texts.find(key);
        if (mine != a.texts.end() && other != b.texts.end() && mine->second != other->second) return false;
    }
    return true;
}

bool is_host_buffer(std::string_view name) {
    return name == "CPU" || name.starts_with("CPU_") || name == "BLAS" || name == "AMX" || name.ends_with("_Host");
}

std::string_view device_of_buffer(std::string_view name) {
    for (const std::string_view end : {"_Mapped", "_Split", "_Private", "_Shared"}) {
        if (name.ends_with(end) && !name.starts_with("CPU")) name.remove_suffix(end.size());
    }
    return name;
}

std::string file_type_of_text(std::string_view text) {
    text = trimmed(text);
    if (const auto mostly = text.find("mostly "); mostly != std::string_view::npos) text.remove_prefix(mostly + 7);
    if (text.starts_with("all ")) text.remove_prefix(4);
    std::string name(text.substr(0, text.find_first_of("(),")));
    while (name.ends_with(' ')) name.pop_back();
    if (const auto dash = name.find(" - "); dash != std::string::npos) {
        const std::string size = name.substr(dash + 3);
        name.resize(dash);
        if (size == "Small" || size == "Medium" || size == "Large") name = name + "_" + size.substr(0, 1);
    }
    std::replace(name.begin(), name.end(), ' ', '_');
    try {
        return std::string(traits(parse_file_type(name)).name);
    } catch (const Error&) {
        return "";
    }
}

LogRuntime LogFacts::runtime() const {
    // Whoever wraps another runtime writes its lines, too: the wrappers come first.
    for (const LogRuntime wrapper :
         {LogRuntime::lmstudio, LogRuntime::koboldcpp, LogRuntime::tensorrt_llm, LogRuntime::ollama, LogRuntime::sglang,
          LogRuntime::vllm, LogRuntime::llama_cpp, LogRuntime::mlx, LogRuntime::pytorch}) {
        if (signs[static_cast<std::size_t>(wrapper)] > 0) return wrapper;
    }
    return LogRuntime::unknown;
}

} // namespace vramfit
