// What operating systems, shells and containers say of a program that they ended.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

using namespace log_text;

void read_oom_killer(LogReader& reader, const Mention& mention) {
    if (!reader.load().failure) reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

/// Whose program it is, by the name that the kernel keeps of it: 15 characters at most. False where it is none that runs
/// models.
bool sign_program(LogReader& reader, std::string_view name) {
    using Program = std::pair<std::string_view, LogRuntime>;
    static constexpr std::array programs{
        Program("llama-", LogRuntime::llama_cpp),
        Program("ollama", LogRuntime::ollama),
        Program("koboldcpp", LogRuntime::koboldcpp),
        Program("lmstudio", LogRuntime::lmstudio),
        Program("LM Studio", LogRuntime::lmstudio),
        Program("VLLM::", LogRuntime::vllm),
        Program("vllm", LogRuntime::vllm),
        Program("sglang::", LogRuntime::sglang),
        Program("trtllm-", LogRuntime::tensorrt_llm),
        Program("mlx_lm", LogRuntime::mlx),
    };
    const auto* const found =
        std::ranges::find_if(programs, [&](const Program& program) { return name.starts_with(program.first); });
    if (found != programs.end()) reader.sign(found->second);
    static constexpr std::array<std::string_view, 12> others{
        "python", "pt_main_thread", "ray::",        "uvicorn",  "gunicorn",  "node",
        "main",   "server",         "tritonserver", "local-ai", "mistralrs", "llamafile"};
    return found != programs.end() ||
           std::ranges::any_of(others, [&](std::string_view other) { return name.starts_with(other); });
}

/// The kernel may have ended something else on a computer where a model runs.
bool is_another_program(LogReader& reader, const Mention& mention, std::string_view name) {
    if (sign_program(reader, name)) return false;
    const Load& load = reader.load();
    const bool runs_model = load.ready || load.has_buffers() || load.has_context || !load.path.empty();
    if (!runs_model) return false;
    reader.evidence(mention);
    reader.note("the system ended another program, " + printable(name.substr(0, 40)) +
                ", because the computer's own memory ran out");
    return true;
}

/// "Killed process 4242 (llama-server) total-vm:48123456kB, anon-rss:31234567kB, file-rss:0kB, shmem-rss:0kB": a kB of
/// the kernel's is 1024 bytes. What it held is the sum of the three (Linux, mm/oom_kill.c).
void read_killed_process(LogReader& reader, const Mention& mention) {
    const auto name = after(mention.rest, "(");
    if (name && is_another_program(reader, mention, before(*name, ")"))) return;
    std::optional<std::uint64_t> held;
    for (const std::string_view part : {"anon-rss:", "file-rss:", "shmem-rss:"}) {
        if (const auto bytes = size_after(mention.rest, part)) held = held.value_or(0) + *bytes;
    }
    if (held && *held > 0 && !reader.load().failure) reader.set("own", held, mention.number);
    if (mention.line.find("emory cgroup out of memory") != std::string_view::npos)
        reader.note("the limit was that of a control group: of a container, a service or a session, not all of the "
                    "computer's memory");
    read_oom_killer(reader, mention);
}

/// "oom-kill:constraint=CONSTRAINT_NONE,...,task=llama-server,pid=4242,uid=1000"
void read_kill_record(LogReader& reader, const Mention& mention) {
    const auto task = after(mention.rest, ",task=");
    if (task && is_another_program(reader, mention, before(*task, ","))) return;
    read_oom_killer(reader, mention);
}

/// "OOMKilled" of Kubernetes; Docker's `"OOMKilled": false` says the contrary.
void read_oom_killed(LogReader& reader, const Mention& mention) {
    if (mention.rest.substr(0, 12).find("false") == std::string_view::npos) read_oom_killer(reader, mention);
}

/// "systemd-oomd[900]: Killed /user.slice/... due to memory pressure for ...", before the kernel would have to.
void read_oomd(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("Killed /") != std::string_view::npos) read_oom_killer(reader, mention);
}

/// "earlyoom[700]: sending SIGTERM to process 1234 uid 1000 "llama-server": badness 900, VmRSS 30000 MiB"
void read_earlyoom(LogReader& reader, const Mention& mention) {
    const auto held = after(mention.rest, "VmRSS ");
    if (!held) return;
    const auto name = after(mention.rest, "\"");
    if (name && is_another_program(reader, mention, before(*name, "\""))) return;
    if (!reader.load().failure) reader.set("own", size_in(*held), mention.number);
    read_oom_killer(reader, mention);
}

void read_cannot_allocate(LogReader& reader, const Mention& mention) {
    if (mention.line.find("mlock") != std::string_view::npos)
        return reader.note("mlock was refused: the model is not pinned in RAM, which is no failure");
    read_oom_killer(reader, mention);
}

void note_kill(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.note(
        "the program was killed, which the log gives no reason for: the system may have done it for lack of the "
        "computer's memory; \"dmesg | grep -i oom\" or \"journalctl -k\" would show it");
}

/// A shell's word, which tells no reason: alone on a line, behind a bar of progress ("11.41s/it]Killed"), or
/// "./run.sh: line 3:  1234 Killed   python x.py".
void read_killed(LogReader& reader, const Mention& mention) {
    const std::string_view rest = trimmed(mention.rest);
    const std::string_view head = trimmed(mention.line.substr(0, mention.at));
    const bool ends = rest.empty() || rest == ": 9"; // macOS tells the signal, too
    const bool alone = ends && trimmed(without_prefix(mention.line)) == trimmed(mention.line.substr(mention.at));
    const bool behind_bar = ends && head.ends_with(']');
    const bool of_script =
        head.find(": line ") != std::string_view::npos && !head.empty() && head.back() >= '0' && head.back() <= '9';
    if (alone || behind_bar || of_script) note_kill(reader, mention);
}

/// "exited with code 137", of docker and compose: 128 and the signal 9.
void read_code_137(LogReader& reader, const Mention& mention) {
    const bool longer = !mention.rest.empty() && mention.rest[0] >= '0' && mention.rest[0] <= '9';
    if (!longer) note_kill(reader, mention);
}

/// "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': -9}", vLLM's: by
/// signal 9.
void read_core_died(LogReader& reader, const Mention& mention) {
    if (mention.rest.find(": -9") != std::string_view::npos) note_kill(reader, mention);
}

/// "The paging file is too small for this operation to complete. (os error 1455)"
void read_paging_file(LogReader& reader, const Mention& mention) {
    reader.load().windows = true;
    read_oom_killer(reader, mention);
    reader.note("Windows counts memory that is asked for before it is used: a larger paging file helps, too");
}

/// "MapViewOfFile failed: Not enough memory resources are available to process this command.": Windows' error 8.
void read_windows_memory(LogReader& reader, const Mention& mention) {
    reader.load().windows = true;
    read_oom_killer(reader, mention);
}

constexpr std::array rules{
    Rule{"Not enough memory resources are available", read_windows_memory},
    Rule{"oom-kill:", read_kill_record},
    Rule{"Killed process ", read_killed_process},
    Rule{"Kill process ", read_killed_process}, // until 2019
    Rule{"killed by the OOM killer", read_oom_killer},
    Rule{"with result 'oom-kill'", read_oom_killer},
    Rule{"OOMKilled", read_oom_killed},
    Rule{"systemd-oomd", read_oomd},
    Rule{"sending SIG", read_earlyoom},
    Rule{"node running low on memory", read_oom_killer}, // Ray
    Rule{"Cannot allocate memory", read_cannot_allocate},
    Rule{"paging file is too small", read_paging_file},
    Rule{"Killed", read_killed},
    Rule{"zsh: killed", note_kill},
    Rule{"exited with code 137", read_code_137},
    Rule{"exit code 137", read_code_137},
    Rule{"exit status 137", read_code_137},
    Rule{"status=9/KILL", note_kill},
    Rule{"Failed core proc(s): ", read_core_died},
    Rule{"exit code -9", note_kill},
    Rule{"exitcode: -9", note_kill},
    Rule{"exit status -9", note_kill},
    Rule{"(SIGKILL)", note_kill},        // PyTorch's launcher
    Rule{"was sent SIGKILL", note_kill}, // gunicorn
    Rule{"by signal: Killed", note_kill},
};

} // namespace

std::span<const Rule> system_rules() { return rules; }

} // namespace vramfit
