// What llama.cpp and its forks print while they load a model: metadata, devices, weights.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace vramfit {
namespace {

using namespace log_text;

constexpr double mebibyte = 1024.0 * 1024;
constexpr std::size_t longest_name = 200;

std::string name_of_value(std::string_view value) { return std::string(trimmed(value).substr(0, longest_name)); }

/// "8.03 B", "137.02 M", "1.5 T".
std::optional<std::uint64_t> parameters(std::string_view value) {
    const auto amount = number(value);
    if (!amount) return std::nullopt;
    const double unit = value.find('T') != std::string_view::npos   ? 1e12
                        : value.find('B') != std::string_view::npos ? 1e9
                        : value.find('M') != std::string_view::npos ? 1e6
                                                                    : 1;
    return bytes_of(std::round(*amount * unit), 1);
}

/// "print_info: n_layer = 32": the keys that tell what model it is.
void read_metadata(LogReader& reader, const Mention& mention) {
    const std::size_t equals = mention.rest.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view key = trimmed(mention.rest.substr(0, equals));
    const std::string_view value = trimmed(mention.rest.substr(equals + 1));
    reader.sign(LogRuntime::llama_cpp);
    if (reader.load().dead) reader.new_model(mention.number);
    Load& load = reader.load();
    if (load.part != LoadPart::model) return; // a draft model's or a projector's
    if (key == "arch") load.arch = name_of_value(value);
    if (key == "general.name") load.name = name_of_value(value);
    if (key == "file type" || key == "model ftype" || key == "ftype") {
        const std::string quant = file_type_of_text(value);
        if (!quant.empty()) load.quant = quant;
    }
    if (key == "model params") reader.set("parameters", parameters(value), mention.number);
    if (key == "file size" || (key == "model size" && value.find("iB") != std::string_view::npos))
        reader.set("file_size", size_in(value), mention.number);
    if (key == "n_ctx" && !load.has_context) reader.set_once("n_ctx", count(value), mention.number);
    static constexpr std::array<std::string_view, 8> kept{"n_ctx_train", "n_layer", "n_embd",   "n_head",
                                                          "n_head_kv",   "n_vocab", "n_expert", "n_swa"};
    if (std::ranges::find(kept, key) != kept.end() && !value.starts_with('['))
        reader.set(key, count(value), mention.number);
}

/// "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from FILE (version GGUF V3 (latest))".
void read_loader(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    const bool loads_model = mention.line.find("llama_model_loader") != std::string_view::npos;
    if (loads_model && reader.load().part == LoadPart::projector)
        reader.load().part = LoadPart::model; // that was before
    if (loads_model)
        reader.starts_over(mention.number);
    else
        reader.new_model(mention.number);
    if (reader.load().part != LoadPart::model) return;
    if (const auto path = after(mention.rest, " from ")) reader.load().path = name_of_value(before(*path, " (version"));
}

/// "srv    load_model: loading model '/models/x.gguf'".
void read_loading(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    const Load& load = reader.load();
    if (load.dead || load.ready || load.failure) reader.new_process(mention.number);
    reader.load().path = name_of_value(before(mention.rest, "'"));
}

void read_failed_path(LogReader& reader, const Mention& mention) {
    if (reader.load().path.empty()) reader.load().path = name_of_value(before(mention.rest, "'"));
}

/// "- kv  0: general.architecture str = llama".
void read_architecture(LogReader& reader, const Mention& mention) {
    const auto value = after(mention.rest, "= ");
    if (value && reader.load().part == LoadPart::model) reader.load().arch = name_of_value(*value);
}

void read_general_name(LogReader& reader, const Mention& mention) {
    const auto value = after(mention.rest, "= ");
    if (value && reader.load().part == LoadPart::model) reader.load().name = name_of_value(*value);
}

void read_file_type(LogReader& reader, const Mention& mention) {
    const auto value = after(mention.rest, "= ");
    const auto id = value ? count(*value) : std::nullopt;
    if (!id || *id > 1000 || reader.load().part != LoadPart::model) return;
    if (const auto type = file_type_from_number(static_cast<std::uint32_t>(*id)))
        reader.load().quant = traits(*type).name;
}

void read_process(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.new_process(mention.number);
}

void read_build(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    const Load& load = reader.load();
    if ((load.dead || load.ready || load.failed()) && mention.rest.find(" with ") != std::string_view::npos)
        reader.new_process(mention.number); // the first line of a program
    if (mention.line.substr(0, mention.at).find("ollama") == std::string_view::npos)
        reader.load().version = "build " + name_of_value(before(mention.rest.substr(0, 40), " with "));
}

/// "using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 24052 MiB free", or of a list
/// "  - CUDA0   : NVIDIA GeForce RTX 4090 (24564 MiB, 24052 MiB free)".
void read_free(LogReader& reader, const Mention& mention) {
    const std::string_view head = mention.line.substr(0, mention.at);
    const std::size_t digits = head.find_last_not_of("0123456789");
    const auto free = size_in(std::string(head.substr(digits + 1)) + "MiB"); // all of it where there is nothing else
    if (!free) return;
    if (const auto device = after(mention.line, "using device ")) {
        reader.sign(LogRuntime::llama_cpp);
        reader.starts_over(mention.number);
        const std::string_view name = before(*device, " (");
        LogDevice& found = reader.load().device(name.substr(0, longest_name));
        const std::string_view rest = device->substr(std::min(device->size(), name.size() + 2));
        // The name may hold brackets itself; what follows it is ") - " or ") (pci) - ".
        const std::size_t pci = rest.find(") (0");
        found.description = name_of_value(rest.substr(0, std::min(pci, rest.rfind(") - "))));
        const bool first =
            reader.load().part == LoadPart::model || !found.free; // a draft comes when the model lies there
        if (first) found.free = Logged{*free, mention.number};
        return;
    }
    if (head.find(" layers") != std::string_view::npos) return; // what --fit puts there
    const std::size_t open = head.rfind(" (");
    const std::size_t colon = head.find(": ", head.rfind("- ") == std::string_view::npos ? 0 : head.rfind("- "));
    if (open == std::string_view::npos || colon == std::string_view::npos || colon > open) return;
    std::string_view name = trimmed(head.substr(0, colon));
    name = trimmed(name.substr(name.find_last_of(" \t") + 1));
    if (name.empty() || name == "CPU") return;
    LogDevice& found = reader.load().device(name);
    found.description = name_of_value(head.substr(colon + 2, open - colon - 2));
    if (const auto total = size_in(head.substr(open + 2))) found.total = Logged{*total, mention.number};
    found.free = Logged{*free, mention.number};
}

/// "  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes".
void read_cuda_device(LogReader& reader, const Mention& mention) {
    const auto device = after(mention.line.substr(0, mention.at), "Device ");
    if (!device) return;
    const auto id = count(*device);
    const auto name = after(*device, ": ");
    if (!id || !name) return;
    const bool amd = name->find("AMD") != std::string_view::npos || name->find("Radeon") != std::string_view::npos;
    LogDevice& found = reader.load().device((amd ? "ROCm" : "CUDA") + std::to_string(*id));
    found.description = name_of_value(before(*name, ", "));
    if (const auto total = after(mention.rest, "VRAM: ")) {
        if (const auto bytes = size_in(*total)) found.total = Logged{*bytes, mention.number};
    }
}

/// "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32".
void read_rocm_device(LogReader& reader, const Mention& mention) {
    const auto device = after(mention.line.substr(0, mention.at), "Device ");
    const auto id = device ? count(*device) : std::nullopt;
    const auto name = device ? after(*device, ": ") : std::nullopt;
    if (!id || !name) return;
    reader.load().device("ROCm" + std::to_string(*id)).description = name_of_value(before(*name, ", "));
}

/// "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0 | fp16: 1 | ...".
void read_vulkan_device(LogReader& reader, const Mention& mention) {
    const auto device = after(mention.line.substr(0, mention.at), "ggml_vulkan: ");
    const auto id = device ? count(*device) : std::nullopt;
    const auto name = device ? after(*device, "= ") : std::nullopt;
    if (!id || !name) return;
    reader.load().device("Vulkan" + std::to_string(*id)).description =
        name_of_value(name->substr(0, name->rfind(" (")));
    if (mention.rest.starts_with('1')) reader.note("the GPU shares the computer's memory");
}

/// "recommendedMaxWorkingSetSize = 12884.92 MB": 10^6 bytes in newer builds, 2^20 in older ones, whose figures are two
/// thirds or three quarters of a whole number of GiB.
void read_working_set(LogReader& reader, const Mention& mention) {
    const auto amount = number(mention.rest);
    if (!amount) return;
    const auto whole = [](double gibibytes) { return std::abs(gibibytes - std::round(gibibytes)) < 0.001; };
    const bool binary = whole(*amount * 1.5 / 1024) || whole(*amount / 0.75 / 1024);
    if (const auto total = bytes_of(*amount, binary ? mebibyte : 1e6))
        reader.load().device("Metal").total = Logged{*total, mention.number};
}

void read_metal_name(LogReader& reader, const Mention& mention) {
    std::string_view name = trimmed(mention.rest);
    if (name.starts_with("MTL0 (")) name = before(name.substr(6), ")");
    reader.load().device("Metal").description = name_of_value(name);
}

/// "offloaded 33/33 layers to GPU".
void read_offloaded(LogReader& reader, const Mention& mention) {
    const auto layers = count(mention.rest);
    const auto of = after(mention.rest, "/");
    if (!layers || !of || reader.load().part != LoadPart::model) return;
    const Load& load = reader.load();
    const bool of_engine = mention.line.find("source=") != std::string_view::npos; // Ollama's, once for each try
    if (load.dead || (load.number("gpu_layers") && !of_engine && load.failure)) reader.starts_over(mention.number);
    reader.set("gpu_layers", layers, mention.number);
    reader.set("gpu_layers_of", count(*of), mention.number);
}

/// "mem required  = 5407.71 MB (+ 1026.00 MB per state)", 2023.
void read_required(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.set("host_required", size_in(mention.rest), mention.number);
}

/// "llm_load_tensors: VRAM used: 3648.31 MB", 2023.
void read_weights_of_2023(LogReader& reader, const Mention& mention) {
    reader.set("vram_model", size_in(mention.rest), mention.number);
}

/// "ggml_metal_add_buffer: allocated 'data            ' buffer, size =  3648.31 MB, offs = 0", 2023.
void read_metal_data(LogReader& reader, const Mention& mention) {
    if (const auto size = after(mention.rest, "size = "))
        reader.add_buffer(BufferKind::weights, "Metal", size_in(*size), mention.number);
}

/// "n_ctx_seq (8192) < n_ctx_train (131072) -- the full capacity of the model will not be utilized", and the other way
/// round: "slot context (524288) exceeds training context (262144) - capping".
void read_trained(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    if (reader.load().part == LoadPart::model) reader.set_once("n_ctx_train", count(mention.rest), mention.number);
}

void read_sign(LogReader& reader, const Mention&) { reader.sign(LogRuntime::llama_cpp); }

/// Names of functions until the beginning of 2025.
void read_of_2024(LogReader& reader, const Mention& mention) {
    reader.set_once("prints_of_2024", mention.number, mention.number);
}

/// "llama_model_load_internal: total VRAM used: 17223 MB", 2023: weights, scratch buffers and what lies there of the cache.
void read_total_of_2023(LogReader& reader, const Mention& mention) {
    if (mention.line.find("model_load_internal:") != std::string_view::npos)
        reader.set("estimate_required", size_in(mention.rest), mention.number);
}

constexpr std::array rules{
    Rule{"llm_load_tensors: ", read_of_2024},
    Rule{"model_load_internal: ", read_of_2024},
    Rule{"total VRAM used: ", read_total_of_2023},
    Rule{"load_tensors:", read_sign},
    Rule{"llama_model_load", read_sign},
    Rule{"llama_new_context", read_sign},
    Rule{"llama_init_from", read_sign},
    Rule{"llama_kv_cache", read_sign},
    Rule{"llama-server:", read_sign},
    Rule{"ggml_backend_", read_sign},
    Rule{"ggml_gallocr_", read_sign},
    Rule{"ggml_vulkan:", read_sign},
    Rule{"ggml_metal_", read_sign},
    Rule{"ggml_cuda_", read_sign},
    Rule{"ggml-cuda.cu", read_sign},
    Rule{"print_info: ", read_metadata},
    Rule{"load_print_meta: ", read_metadata},
    Rule{"model_load_internal: ", read_metadata},
    Rule{"loaded meta data with", read_loader},
    Rule{"load_model: loading model '", read_loading},
    Rule{"failed to load model '", read_failed_path},
    Rule{"failed to create context with model '", read_failed_path},
    Rule{"general.architecture str", read_architecture},
    Rule{"general.name str", read_general_name},
    Rule{"general.file_type u32", read_file_type},
    Rule{"device_info:", read_process},
    Rule{"main: build = ", read_process},
    Rule{"main: build = ", read_build},
    Rule{"print_info: build ", read_build},
    Rule{"build: ", read_build},
    Rule{" MiB free", read_free},
    Rule{", compute capability", read_cuda_device},
    Rule{"Wave Size: ", read_rocm_device},
    Rule{"| uma: ", read_vulkan_device},
    Rule{"recommendedMaxWorkingSetSize", read_working_set},
    Rule{"GPU name: ", read_metal_name},
    Rule{"offloaded ", read_offloaded},
    Rule{"mem required", read_required},
    Rule{": VRAM used: ", read_weights_of_2023},
    Rule{"allocated 'data", read_metal_data},
    Rule{"exceeds training context (", read_trained},
    Rule{"exceeds the training context of the model (", read_trained},
    Rule{") < n_ctx_train (", read_trained},
    Rule{"params_fit_impl: ", read_sign},
};

} // namespace

std::span<const Rule> llama_model_rules() { return rules; }

} // namespace vramfit
