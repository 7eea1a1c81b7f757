// What llama.cpp and its forks print about buffers, contexts and their fit, and the options of a command line.
#include "command_options.hpp"
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>
#include <cmath>

namespace vramfit {
namespace {

using namespace log_text;

constexpr double mebibyte = 1024.0 * 1024;

/// "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB". The device's name may hold blanks and brackets: it is
/// everything up to the kind of buffer. In 2024 buffers of weights had no kind.
void read_buffer(LogReader& reader, const Mention& mention) {
    const std::size_t equals = mention.rest.find('=');
    if (equals > 4) return;
    const auto bytes = size_in(mention.rest);
    if (!bytes) return;
    const std::string_view named = name_before(mention.line, mention.at);
    const std::size_t blank = named.find_last_of(' ');
    const std::string_view kind = blank == std::string_view::npos ? "" : named.substr(blank + 1);
    const std::string_view device = blank == std::string_view::npos ? "" : trimmed(named.substr(0, blank));
    if (kind == "model" && reader.load().dead) reader.new_model(mention.number);
    if (!reader.load().ready && !reader.in_fit_pass()) reader.evidence(mention);
    const bool of_projector = mention.line.find("compute_meta:") != std::string_view::npos;
    reader.sign(LogRuntime::llama_cpp);
    const auto add = [&](BufferKind what, std::string_view where) {
        const LoadPart part = reader.load().part;
        if (of_projector) reader.load().part = LoadPart::projector;
        reader.add_buffer(what, where, bytes, mention.number);
        reader.load().part = part;
    };
    if (kind == "model" || kind == "LoRA") return add(BufferKind::weights, device);
    if (kind == "KV") return add(BufferKind::kv_cache, device);
    if (kind == "RS") return add(BufferKind::recurrent_state, device);
    if (kind == "compute") return add(BufferKind::compute, device);
    if (kind == "output") return add(BufferKind::output, device);
    if (kind == "input") return;
    if (kind == "backend") return; // of a projector, read below
    if (mention.line.substr(0, mention.at).find("load_tensors:") != std::string_view::npos)
        add(BufferKind::weights, named);
}

/// "params backend buffer size = 833.51 MB (441 tensors)": a projector's.
void read_projector_buffer(LogReader& reader, const Mention& mention) {
    if (const auto text = after(mention.rest, "=")) reader.set("projector", size_in(*text), mention.number);
}

/// "KV self size  = 1024.00 MiB, K (f16):  512.00 MiB, V (f16):  512.00 MiB", and "size = 1024.00 MiB (  8192 cells,
/// 32 layers,  1/1 seqs), K (f16): ..., V (f16): ...".
void read_types(LogReader& reader, const Mention& mention) {
    if (reader.load().part != LoadPart::model) return;
    for (const auto& [mark, key] :
         {std::pair(" K (", "cache_type_k"), {" V (", "cache_type_v"}, {"c^KV (", "cache_type_k"}}) {
        if (const auto type = after(mention.line, mark)) reader.set_text(key, before(*type, ")"));
    }
}

void read_kv_self(LogReader& reader, const Mention& mention) {
    read_types(reader, mention);
    reader.sign(LogRuntime::llama_cpp);
    if (reader.load().part != LoadPart::model) return;
    reader.load().has_context = true;
    reader.set("kv_self", size_in(mention.rest), mention.number);
}

void read_cells(LogReader& reader, const Mention& mention) {
    if (mention.line.find(" seqs") == std::string_view::npos) return;
    read_types(reader, mention);
}

template <const auto& Key>
void read_type(LogReader& reader, const Mention& mention) {
    if (reader.load().part == LoadPart::model) reader.set_text(Key, word(mention.rest));
}

/// "llama_context: n_ctx         = 16384": a line of its own.
std::optional<std::string_view> own_value(const Mention& mention) {
    const std::string_view head = trimmed(mention.line.substr(0, mention.at));
    const std::string_view rest = trimmed(mention.rest);
    if (!rest.starts_with('=') || (!head.empty() && !head.ends_with(':'))) return std::nullopt;
    return trimmed(rest.substr(1));
}

void read_n_ctx(LogReader& reader, const Mention& mention) {
    const auto value = own_value(mention);
    if (!value) return;
    if (reader.load().part == LoadPart::model && !reader.in_fit_pass())
        reader.set("n_ctx", count(*value), mention.number);
    const bool of_model =
        mention.line.find("model_load_internal:") != std::string_view::npos; // 2023: before the weights
    if (!of_model) reader.load().has_context = true;
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
}

/// "n_ctx_per_seq = 4096" and "n_ctx_seq (4096) < n_ctx_train (131072)", where a log shows no more than warnings.
void read_n_ctx_seq(LogReader& reader, const Mention& mention) {
    if (reader.load().part == LoadPart::model && !reader.in_fit_pass())
        reader.set("n_ctx_seq", count(mention.rest), mention.number);
}

/// "new prompt, n_ctx_slot = 32768", "new slot, n_ctx = 32768": of one slot.
void read_n_ctx_slot(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.set_once("n_ctx_slot", count(mention.rest), mention.number);
}

/// "llama_kv_cache_init: kv_size = 23552, offload = 1, type_k = 'f16', ...", 2025: of all slots.
void read_kv_size(LogReader& reader, const Mention& mention) {
    if (reader.load().part != LoadPart::model || reader.in_fit_pass()) return;
    if (mention.line.find("offload") == std::string_view::npos) return;
    reader.set_once("n_ctx", count(mention.rest), mention.number);
}

void read_n_seq_max(LogReader& reader, const Mention& mention) {
    const auto value = own_value(mention);
    if (!value) return;
    reader.new_model(mention.number);
    if (reader.load().part == LoadPart::model) reader.set("n_parallel", count(*value), mention.number);
}

template <const auto& Key>
void read_number(LogReader& reader, const Mention& mention) {
    const auto value = own_value(mention);
    if (value && reader.load().part == LoadPart::model) reader.set(Key, count(*value), mention.number);
}

template <const auto& Key>
void read_text(LogReader& reader, const Mention& mention) {
    const auto value = own_value(mention);
    if (value && reader.load().part == LoadPart::model) reader.set_text(Key, word(*value));
}

constexpr std::string_view type_k_key = "cache_type_k", type_v_key = "cache_type_v";
constexpr std::string_view n_batch_key = "n_batch", n_ubatch_key = "n_ubatch", n_outputs_key = "n_outputs_max";
constexpr std::string_view llama_cpp = "llama.cpp", koboldcpp = "koboldcpp";
constexpr std::string_view flash_attn_key = "flash_attn", unified_key = "kv_unified", mla_key = "mla_attn";

/// "n_slots = 1, n_ctx_slot = 50176, kv_unified = 'false'": without the last two until 2026. Each slot has a context of
/// its own unless they share one.
void read_slots(LogReader& reader, const Mention& mention) {
    const auto slots = count(mention.rest);
    reader.sign(LogRuntime::llama_cpp);
    reader.set("n_slots", slots, mention.number);
    const auto text = after(mention.rest, "n_ctx_slot = "), shared = after(mention.rest, "kv_unified = ");
    const auto each = text ? count(*text) : std::nullopt;
    if (!slots || !each || !shared || *slots > 10'000 || *each > max_ctx) return;
    const bool unified = word(*shared) == "true";
    reader.set_once("n_ctx", unified ? *each : *each * *slots, mention.number);
    reader.set_text("kv_unified", unified ? "true" : "false");
}

/// "n_parallel is set to auto, using n_parallel = 4 and kv_unified = true".
void read_auto_slots(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.set("n_parallel", count(mention.rest), mention.number);
    if (const auto unified = after(mention.rest, "kv_unified = ")) reader.set_text("kv_unified", word(*unified));
}

void read_auto_flash(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    if (reader.load().part == LoadPart::model) reader.set_text("flash_attn", word(mention.rest));
}

void read_needed_flash(LogReader& reader, const Mention&) { reader.set_text("flash_attn", "enabled"); }

/// "load_hparams: model size: 818.00 MiB", "estimated worst-case memory usage of mmproj is 1024.00 MiB".
void read_projector_size(LogReader& reader, const Mention& mention) {
    reader.set_once("projector", size_in(mention.rest), mention.number);
}

/// "using full-size SWA cache": asked for, or KoboldCpp's default, and that of programs that use llama.cpp as a library.
void read_whole_windows(LogReader& reader, const Mention& mention) {
    if (reader.load().part == LoadPart::model) reader.set("swa_full", 1, mention.number);
}

void read_fit_begins(LogReader& reader, const Mention&) { reader.fit_pass(true); }
void read_fit_ends(LogReader& reader, const Mention&) { reader.fit_pass(false); }

/// "  - CUDA0 (NVIDIA GeForce RTX 3060): 49 layers (26 overflowing),  10661 MiB used,   1114 MiB free".
void read_overflow(LogReader& reader, const Mention& mention) { reader.set("overflowing", 1, mention.number); }

/// "projected to use 27402 MiB of device memory vs. 31590 MiB of free device memory".
void read_projected(LogReader& reader, const Mention& mention) {
    if (const auto free = after(mention.rest, "vs. ")) reader.set("fit_free", size_in(*free), mention.number);
    reader.set("fit_projected", size_in(mention.rest), mention.number);
}

/// A row of the table at the end: "(27402 = 25011 +    1233 +    1158)" and "36127 = 36058 +       0 +      69" of
/// "|   - Host               | 36127 = 36058 + 0 + 69 |".
void read_row(LogReader& reader, std::string_view device, std::string_view parts, std::uint64_t line) {
    constexpr std::size_t most_rows = 64;
    const auto weights = number(parts);
    const auto context = after(parts, "+ ");
    const auto compute = context ? after(*context, "+ ") : std::nullopt;
    if (reader.in_fit_pass() || !weights || !compute) return;
    const auto bytes = [](std::optional<double> amount) { return bytes_of(amount.value_or(0), mebibyte).value_or(0); };
    std::vector<LogTableRow>& table = reader.load().table;
    std::erase_if(table, [&](const LogTableRow& row) { return row.device == device; }); // the last one counts
    if (table.size() < most_rows)
        table.push_back({std::string(device), bytes(weights), bytes(number(*context)), bytes(number(*compute)), line});
}

/// "|   - CUDA0 (RTX 5090)   | 32109 = 3561 + (27402 = 25011 +    1233 +    1158) +        1146 |", in MiB. What `--fit`
/// only tries has a negative rest, or one that wrapped around.
void read_breakdown(LogReader& reader, const Mention& mention) {
    const auto row = after(mention.rest, "|   - ");
    const auto figures = row ? after(*row, "| ") : std::nullopt;
    if (!figures) return;
    if (row->starts_with("Host")) {
        const auto parts = after(*figures, "= ");
        return parts ? read_row(reader, "Host", *parts, mention.number) : void();
    }
    reader.sign(LogRuntime::llama_cpp);
    const auto free = after(*figures, "= ");
    const auto self = free ? after(*free, "(") : std::nullopt;
    const auto parts = self ? after(*self, "= ") : std::nullopt;
    const auto rest = parts ? after(*parts, ") + ") : std::nullopt;
    const auto context = parts ? after(*parts, "+ ") : std::nullopt;
    const auto compute = context ? after(*context, "+ ") : std::nullopt;
    if (!compute || !rest) return;
    const auto unaccounted = number(*rest);
    if (!unaccounted || *unaccounted < 0 || *unaccounted > 1e6) return;
    const auto mib_of = [](std::string_view text) {
        const auto amount = number(text);
        return amount ? bytes_of(*amount, mebibyte) : std::nullopt;
    };
    const std::string name(before(*row, " ("));
    LogDevice& device = reader.load().device(name);
    if (const auto total = mib_of(*figures)) device.total = Logged{*total, mention.number};
    if (device.description.empty()) device.description = before(after(*row, "(").value_or(""), ")");
    read_row(reader, name, *parts, mention.number);
    reader.set_once("table_free", mib_of(*free), mention.number);
    reader.set_once("table_weights", mib_of(*parts), mention.number);
    reader.set_once("table_kv_cache", mib_of(*context), mention.number);
    reader.set_once("table_compute", mib_of(*compute), mention.number);
}

/// Whether what stands at `at` was typed: "user@host:~$ ./bin/llama-server -m x.gguf", "PS C:\\x> llama-server.exe".
bool is_typed(std::string_view line, std::size_t at) {
    const std::string_view head = trimmed(line.substr(0, line.substr(0, at).find_last_of(" \t") + 1));
    if (head.size() < 2) return head == "$"; // ">" and "#" alone are marks of quotations and headings
    return std::string_view("$#%>").find(head.back()) != std::string_view::npos;
}

/// The command of a line from the program's name on; of `cmd="..."` up to its end.
std::string_view command_of(const Mention& mention) {
    const std::string_view text = mention.line.substr(mention.at);
    const std::size_t quote = mention.line.substr(0, mention.at).rfind('"');
    const bool field = quote != std::string_view::npos && quote > 0 && mention.line[quote - 1] == '=';
    return field ? before(text, "\"") : text;
}

/// Options of a command line in the log: "$ llama-server -m x.gguf -c 8192", Ollama's `cmd="..."`.
template <const auto& Runtime>
void read_command(LogReader& reader, const Mention& mention) {
    CommandOptions options = command_options(Runtime, command_of(mention));
    const bool model_alone = options.size() == 1 && options.contains("model");
    if (options.empty() || model_alone) return; // somebody speaks of the program
    if (is_typed(mention.line, mention.at)) reader.new_process(mention.number);
    reader.load().options = std::move(options);
    reader.load().options_line = mention.number;
}

void read_ready(LogReader& reader, const Mention& mention) { reader.ready(mention.number); }

void read_draft(LogReader& reader, const Mention&) {
    if (!reader.load().ready) reader.load().part = LoadPart::draft;
}

/// "failed to create draft context", below why: whose context that was, shows only now.
void read_draft_failed(LogReader& reader, const Mention& mention) {
    Load& load = reader.load();
    if (!load.failure || load.ready || mention.number - load.failure->line > 4) return;
    load.failure->part = LoadPart::draft;
    load.numbers.erase("n_ctx"); // the last one that was printed
}

void read_projector(LogReader& reader, const Mention&) {
    reader.sign(LogRuntime::llama_cpp);
    if (!reader.load().ready) reader.load().part = LoadPart::projector;
}

void read_projector_done(LogReader& reader, const Mention&) {
    if (reader.load().part == LoadPart::projector) reader.load().part = LoadPart::model;
}

/// "llama_new_context_with_model: total VRAM used: 4694.06 MiB (model: 3894.06 MiB, context: 800.00 MiB)", 2023.
void read_total_used(LogReader& reader, const Mention& mention) {
    if (const auto model = after(mention.rest, "model: ")) reader.set("vram_model", size_in(*model), mention.number);
}

/// "pipeline parallelism enabled (n_copies=4)": so many copies of what goes from one GPU to the next.
void read_copies(LogReader& reader, const Mention& mention) {
    reader.set("n_copies", count(mention.rest), mention.number);
}

void read_compute_total(LogReader& reader, const Mention& mention) {
    reader.set("compute_total", size_in(mention.rest), mention.number);
}

constexpr std::array rules{
    Rule{"buffer size", read_buffer},
    Rule{"params backend buffer size", read_projector_buffer},
    Rule{"KV self size", read_kv_self},
    Rule{"kv self size", read_kv_self},
    Rule{" VRAM kv self = ", read_kv_self},
    Rule{" cells, ", read_cells},
    Rule{"type_k = ", read_type<type_k_key>},
    Rule{"type_v = ", read_type<type_v_key>},
    Rule{"n_ctx ", read_n_ctx},
    Rule{"n_ctx_per_seq", read_n_ctx_seq},
    Rule{"n_ctx_seq", read_n_ctx_seq},
    Rule{"kv_size = ", read_kv_size},
    Rule{"n_ctx_slot", read_n_ctx_slot},
    Rule{"new slot, n_ctx", read_n_ctx_slot},
    Rule{"n_seq_max", read_n_seq_max},
    Rule{"n_batch", read_number<n_batch_key>},
    Rule{"n_ubatch", read_number<n_ubatch_key>},
    Rule{"n_outputs_max", read_number<n_outputs_key>},
    Rule{"flash_attn", read_text<flash_attn_key>},
    Rule{"kv_unified", read_text<unified_key>},
    Rule{"mla_attn", read_text<mla_key>},
    Rule{"n_slots = ", read_slots},
    Rule{"is set to auto, using n_parallel = ", read_auto_slots},
    Rule{"Flash Attention was auto, set to ", read_auto_flash},
    Rule{"enabling flash_attn since it is required", read_needed_flash},
    Rule{"using full-size SWA cache", read_whole_windows},
    Rule{"load_hparams: model size:", read_projector_size},
    Rule{"memory usage of mmproj is ", read_projector_size},
    Rule{"fitting params to device memory", read_fit_begins},
    Rule{"getting device memory data for initial parameters", read_fit_begins},
    Rule{"successfully fit params", read_fit_ends},
    Rule{" overflowing), ", read_overflow},
    Rule{"failed to fit params", read_fit_ends},
    Rule{"fitting params to free memory took", read_fit_ends},
    Rule{"projected to use ", read_projected},
    Rule{"memory_breakdown_print: ", read_breakdown},
    Rule{"llama-server -", read_command<llama_cpp>},
    Rule{"llama-server.exe -", read_command<llama_cpp>},
    Rule{"llama-cli -", read_command<llama_cpp>},
    Rule{"llama-cli.exe -", read_command<llama_cpp>},
    Rule{"llama-completion -", read_command<llama_cpp>},
    Rule{"koboldcpp.py -", read_command<koboldcpp>},
    Rule{"ollama runner -", read_command<llama_cpp>},
    Rule{"ollama_llama_server ", read_command<llama_cpp>}, // 2024
    Rule{"runner --model", read_command<llama_cpp>},
    Rule{"runner --ollama-engine", read_command<llama_cpp>},
    Rule{": model loaded", read_ready},
    Rule{" main] model loaded", read_ready}, // 2024
    Rule{"launch_slot_", read_ready},        // a request is worked on
    Rule{"server is listening on", read_ready},
    Rule{"all slots are idle", read_ready},
    Rule{"starting the main loop", read_ready},
    Rule{"sampler seed", read_ready},
    Rule{"generate: n_ctx", read_ready},        // 2023
    Rule{"llama server listening", read_ready}, // 2023
    Rule{"loading draft model", read_draft},
    Rule{"creating MTP draft context", read_draft},
    Rule{"failed to create draft context", read_draft_failed},
    Rule{"clip_model_load", read_projector},
    Rule{"clip_ctx: ", read_projector},
    Rule{"loading multimodal model", read_projector},
    Rule{"loaded multimodal model", read_projector_done},
    Rule{"total VRAM used:", read_total_used},
    Rule{"compute buffer total size", read_compute_total},
    Rule{"pipeline parallelism enabled (n_copies=", read_copies},
};

} // namespace

std::span<const Rule> llama_context_rules() { return rules; }

} // namespace vramfit
