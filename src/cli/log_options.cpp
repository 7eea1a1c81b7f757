#include "cli/log_options.hpp"

#include "cli/help.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace vramfit::cli {
namespace {

constexpr std::string_view unknown = "What the log does not show";
constexpr std::string_view output = "Output";

constexpr OptionSpec model{"-m,--model", "MODEL", "llama3.1-8b", "", unknown, "model of the catalog, or a file"};
constexpr OptionSpec quant{"--quant", "TYPE", "q4_k_m", "", unknown, "file type of the weights"};
constexpr OptionSpec context{"-c,--ctx,--ctx-size", "N", "32768", "", unknown, "context in tokens"};
constexpr OptionSpec gpu{"-g,--gpu", "GPU", "24GB", "", unknown, "size or name of the GPU; repeatable"};
constexpr OptionSpec format{"--format", "text|json", "json", "", output, "how to answer (text)"};
constexpr OptionSpec json{"--json", "", "", "", output, "short for --format json"};
constexpr OptionSpec color{
    "--color,--colour", "auto|always|never", "never", "", output, "auto: on a terminal, unless NO_COLOR is set"};
constexpr OptionSpec help{"-h,--help", "", "", "", output, "this text"};

constexpr std::array diagnose_table{
    model,
    quant,
    context,
    gpu,
    OptionSpec{"--free", "SIZE", "22GiB", "", unknown, "memory that was free on the GPU when it failed"},
    OptionSpec{"--report", "", "", "", output, "what a bug report needs, without paths, users, hosts and keys"},
    format,
    json,
    color,
    help,
};

constexpr std::array compare_table{model, quant, context, gpu, format, json, color, help};

constexpr std::string_view diagnose_head =
    R"(Why did it run out of memory? Reads the log of llama.cpp, Ollama, LM Studio,
vLLM, SGLang, PyTorch, MLX, koboldcpp or TensorRT-LLM

  vramfit diagnose [FILE|-]... [OPTIONS]

)";

constexpr std::string_view diagnose_tail = R"(
Examples:
  vramfit diagnose server.log
  journalctl -u ollama | vramfit diagnose
  llama-server -m model.gguf 2>&1 | vramfit diagnose --json
  vramfit diagnose server.log --model llama3.1-8b --quant q4_k_m
  vramfit diagnose server.log --report

Exit code: 0 a memory failure was found and explained, 1 the log shows none,
2 it cannot be read.
)";

constexpr std::string_view compare_head = R"(Predicted memory beside what the log of llama.cpp shows, part by part

  vramfit compare [FILE|-]... [OPTIONS]

)";

constexpr std::string_view compare_tail = R"(
Examples:
  vramfit compare server.log
  vramfit compare server.log --model llama3.1-8b --quant q4_k_m --json

Exit code: 0 compared, 1 nothing to compare, 2 no answer.
)";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_log(const std::string& name) {
    std::error_code ignored;
    if (std::filesystem::is_directory(name, ignored)) throw Error(quote(name) + " is a folder; give the file of a log");
    File file(std::fopen(name.c_str(), "rb"), &std::fclose);
    if (!file) throw Error("cannot read " + quote(name) + ": " + std::strerror(errno));
    return file;
}

/// Reads one log after the other, with a line end between them.
struct Logs {
    std::vector<std::string> names;
    ByteStream standard_input;
    std::size_t next = 0;
    File file{nullptr, &std::fclose};
    bool from_input = false;

    std::size_t read_current(std::span<std::byte> buffer) {
        if (from_input) return standard_input ? standard_input(buffer) : 0;
        if (!file) return 0;
        const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
        if (got == 0 && std::ferror(file.get()) != 0)
            throw Error("cannot read " + quote(names[next - 1]) + ": " + std::strerror(errno));
        return got;
    }

    std::size_t read(std::span<std::byte> buffer) {
        for (;;) {
            if (const std::size_t got = read_current(buffer); got > 0) return got;
            if (next == names.size()) return 0;
            const bool first = next == 0;
            from_input = names[next] == "-";
            file = from_input ? File(nullptr, &std::fclose) : open_log(names[next]);
            ++next;
            if (first) continue;
            buffer[0] = std::byte{'\n'};
            return 1;
        }
    }
};

} // namespace

std::span<const OptionSpec> diagnose_options() { return diagnose_table; }
std::span<const OptionSpec> compare_options() { return compare_table; }

std::string diagnose_help() {
    return std::string(diagnose_head) + options_text(diagnose_options()) + std::string(diagnose_tail);
}

std::string compare_help() {
    return std::string(compare_head) + options_text(compare_options()) + std::string(compare_tail);
}

Request read_hints(const ParsedArguments& arguments) {
    Request request;
    apply_settings(request, settings_of(arguments));
    return request;
}

ByteStream open_logs(const std::vector<std::string>& names, const ByteStream& standard_input) {
    const auto logs = std::make_shared<Logs>();
    logs->names = names.empty() ? std::vector<std::string>{"-"} : names;
    logs->standard_input = standard_input;
    return [logs](std::span<std::byte> buffer) { return logs->read(buffer); };
}

} // namespace vramfit::cli
