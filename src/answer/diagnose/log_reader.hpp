#pragma once

#include "log_facts.hpp"

#include <span>
#include <string>
#include <string_view>

namespace vramfit {

class KeywordSearch;
class LogReader;
class WrappedLines;

/// A keyword in a line: `line` is the whole line, `at` where the keyword stands, `rest` what comes behind it.
struct Mention {
    std::string_view line;
    std::size_t at = 0;
    std::string_view rest;
    std::uint64_t number = 0; ///< of the line
};

/// Memory that the line of `mention` says was refused; `device` is empty where it does not say.
LogRefusal refusal_of(const Mention& mention, std::string_view device, std::optional<std::uint64_t> bytes);

/// What a keyword means. Function names in front of llama.cpp's messages change from version to version, so no rule
/// looks at them: the keyword is the part of the message that stayed.
struct Rule {
    std::string_view keyword;
    void (*read)(LogReader& reader, const Mention& mention);
};

// The rules, by whose messages they read.
std::span<const Rule> llama_model_rules();
std::span<const Rule> llama_metadata_rules();
std::span<const Rule> llama_context_rules();
std::span<const Rule> llama_failure_rules();
std::span<const Rule> ollama_rules();
std::span<const Rule> device_rules();
std::span<const Rule> python_rules();
std::span<const Rule> vllm_rules();
std::span<const Rule> sglang_rules();
std::span<const Rule> system_rules();
std::span<const Rule> other_rules();
std::span<const Rule> speech_rules();

/// Turns lines into facts.
class LogReader {
public:
    /// Reads the whole log.
    static LogFacts read(const ByteStream& log);

    // What rules do.
    Load& load() { return load_; }
    void sign(LogRuntime runtime) { ++facts_.signs[static_cast<std::size_t>(runtime)]; }
    void new_process(std::uint64_t line); ///< a program starts: whatever comes belongs to it
    void new_model(std::uint64_t line);   ///< a model begins to load; the same load where nothing has happened yet
    void starts_over(std::uint64_t line); ///< the same, of a line that no load goes on with once it has failed
    void ready(std::uint64_t line);       ///< the model answers
    void gave_up(const Mention& mention); ///< the load has failed for good
    void fit_pass(bool begins);           ///< llama.cpp's `--fit` prints sizes of what it only tries

    void set(std::string_view key, std::optional<std::uint64_t> value, std::uint64_t line); ///< the last one counts
    void set_once(std::string_view key, std::optional<std::uint64_t> value, std::uint64_t line);
    void set_text(std::string_view key, std::string_view value);
    void add_buffer(BufferKind kind, std::string_view device, std::optional<std::uint64_t> bytes, std::uint64_t line);
    void refused(LogRefusal refusal);
    void failed(FailureStage stage, const Mention& mention, std::optional<FailureCause> cause = std::nullopt) {
        decide(stage, mention, cause);
    }
    /// The same; the failure, to tell more of it, or nullptr where one that is known already says it better.
    LogFailure* decide(FailureStage stage, const Mention& mention, std::optional<FailureCause> cause = std::nullopt);
    void other_error(const Mention& mention);
    void note(std::string text); ///< once each
    void evidence(const Mention& mention);
    void private_name(std::string_view name); ///< of a user or a host

    /// Calls `collector` with what stands in this line from `mention` on and in the next few, without blanks: messages of
    /// Python are long, and get wrapped.
    void collect(const Mention& mention, void (*collector)(LogReader&, const Mention&));

    // Where a traceback of Python was last, of the stages that matter; the more telling one counts.
    void frame(int rank, FailureStage stage);
    FailureStage take_frame();

    bool in_fit_pass() const { return in_fit_pass_; }
    void ignore_rest_of_line() { rest_ignored_ = true; }       ///< it is what people wrote, not the program
    void ignore_lines(std::span<const std::string_view> ends); ///< the next ones too, until one holds one of `ends`

private:
    LogReader();
    void read_piece(const KeywordSearch& search, const WrappedLines& lines, std::string_view line);
    void read_line(const KeywordSearch& search, const WrappedLines& lines, std::string_view line);
    void feed(std::string_view line);
    bool is_ignored(std::string_view line);
    void finish_load();
    bool nothing_loaded() const;
    void keep_command_below();
    void forget_failure_of_retry();
    void finish_collecting();
    void note_origins();

    LogFacts facts_;
    Load load_;
    std::uint64_t line_ = 0; ///< that is being read
    bool in_fit_pass_ = false, rest_ignored_ = false;
    bool reads_collected_ = false; ///< what was put together is no line of the log
    std::vector<Rule> rules_;
    std::span<const std::string_view> speech_ends_; ///< while lines are ignored
    int to_ignore_ = 0;
    std::string collected_;
    std::uint64_t collected_line_ = 0;
    int to_collect_ = 0;
    void (*collector_)(LogReader&, const Mention&) = nullptr;
    int frame_rank_ = 0;
    FailureStage frame_ = FailureStage::none;
};

} // namespace vramfit
