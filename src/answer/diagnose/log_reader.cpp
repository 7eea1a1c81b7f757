#include "log_reader.hpp"

#include "keyword_search.hpp"
#include "log_envelope.hpp"
#include "log_text.hpp"
#include "programs.hpp"
#include "wrapped_lines.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::size_t most_buffers = 512;
constexpr std::size_t most_notes = 8;
constexpr std::size_t most_evidence = 80;
constexpr std::size_t most_names = 32;
constexpr std::size_t most_mentions = 64;    ///< of keywords in a line: each may look at all of it
constexpr std::size_t longest_text = 400;    ///< of a line or value that is kept
constexpr std::uint64_t decided_within = 30; ///< lines between a refusal and the line that tells what it was for

std::string kept(std::string_view text) { return std::string(text.substr(0, longest_text)); }

/// What is left out of a line is marked.
constexpr std::string_view cut_mark = "\u2026";

std::string kept_line(std::string_view line) {
    return line.size() <= longest_text ? std::string(line) : kept(line).append(cut_mark);
}

/// The same of a line that matters for what stands at `at`: its front is cut where that is far behind.
std::string kept_with(std::string_view line, std::size_t at) {
    constexpr std::size_t behind = 160; // room for the reason
    if (line.size() <= longest_text || at + behind <= longest_text) return kept_line(line);
    const std::size_t from = std::min(at + behind, line.size()) - longest_text;
    return std::string(cut_mark) + kept_line(line.substr(from));
}

/// What is told once, where a server starts: the GPU, and what was free of it before it held anything.
void keep_machine(Load& load, const Load& before) {
    if (load.gpu.empty()) load.gpu = before.gpu;
    for (const std::string_view key : {"gpu_total", "gpu_free", "host_total"}) {
        const bool taken = key == "gpu_free" && before.ready;
        if (const auto known = before.number(key); known && !taken) load.numbers.try_emplace(std::string(key), *known);
    }
}

/// The first one counts: programs name others that they are built on.
void read_program(LogReader& reader, const Mention& mention) {
    if (!reader.load().program.empty()) return;
    const std::string_view text = mention.line.substr(mention.at);
    for (const ProgramInfo& program : programs()) {
        for (const std::string_view mark : program.marks)
            if (text.starts_with(mark)) reader.load().program = program.name;
    }
}

} // namespace

LogRefusal refusal_of(const Mention& mention, std::string_view device, std::optional<std::uint64_t> bytes) {
    LogRefusal refusal;
    refusal.device = std::string(device.substr(0, 100));
    if (bytes) refusal.bytes = Logged{*bytes, mention.number};
    refusal.line = mention.number;
    return refusal;
}

LogReader::LogReader() {
    for (const auto rules :
         {llama_model_rules(), llama_metadata_rules(), llama_context_rules(), llama_failure_rules(), device_rules(),
          ollama_rules(), python_rules(), vllm_rules(), sglang_rules(), system_rules(), other_rules(), speech_rules()})
        rules_.insert(rules_.end(), rules.begin(), rules.end());
    for (const ProgramInfo& program : programs())
        for (const std::string_view mark : program.marks) rules_.push_back({mark, read_program});
    load_.first_line = 1;
}

LogFacts LogReader::read(const ByteStream& log) {
    LogReader reader;
    std::vector<std::string_view> keywords;
    keywords.reserve(reader.rules_.size());
    for (const Rule& rule : reader.rules_) keywords.push_back(rule.keyword);
    const KeywordSearch search(keywords);
    WrappedLines lines(log);
    for (std::string_view line; lines.next(line);) {
        line = without_broken_end(line);
        reader.facts_.n_bytes += line.size();
        reader.read_line(search, lines, line);
    }
    reader.finish_collecting();
    reader.facts_.n_lines = lines.number();
    reader.finish_load();
    reader.keep_command_below();
    reader.facts_.last = std::move(reader.load_);
    return std::move(reader.facts_);
}

/// Whatever stands in a record of a log collector, which may be several lines, is read in its place.
void LogReader::read_line(const KeywordSearch& search, const WrappedLines& lines, std::string_view line) {
    const auto carried = line.find('"') == std::string_view::npos ? std::nullopt : text_of_record(line);
    if (!carried) return read_piece(search, lines, line);
    for (std::string_view rest = *carried; !rest.empty();) {
        const std::string_view piece = log_text::before(rest, "\n");
        rest.remove_prefix(std::min(piece.size() + 1, rest.size()));
        read_piece(search, lines, piece);
    }
}

void LogReader::read_piece(const KeywordSearch& search, const WrappedLines& lines, std::string_view line) {
    std::string cleaned;
    if (line.find('\x1b') != std::string_view::npos) {
        cleaned = log_text::without_colors(line);
        line = cleaned;
    }
    if (log_text::has_hidden(line)) {
        cleaned = log_text::without_hidden(line);
        line = cleaned;
    }
    if (is_ignored(line)) return;
    feed(line);
    rest_ignored_ = false;
    std::size_t n_mentions = 0;
    search.each(line, [&](std::size_t rule, std::size_t at) {
        if (rest_ignored_ || ++n_mentions > most_mentions) return;
        const std::string_view rest = line.substr(at + rules_[rule].keyword.size());
        line_ = lines.number_at(at);
        rules_[rule].read(*this, {line, at, rest, line_});
        note_origins();
    });
}

void LogReader::ignore_lines(std::span<const std::string_view> ends) {
    constexpr int most_lines = 64; // what has not ended by then was cut
    speech_ends_ = ends;
    to_ignore_ = most_lines;
}

bool LogReader::is_ignored(std::string_view line) {
    if (to_ignore_ == 0) return false;
    --to_ignore_;
    const bool ends = std::ranges::any_of(
        speech_ends_, [&](std::string_view end) { return line.find(end) != std::string_view::npos; });
    if (ends) to_ignore_ = 0;
    return true;
}

void LogReader::feed(std::string_view line) {
    if (to_collect_ == 0) return;
    collected_ += log_text::squeezed(log_text::without_prefix(line.substr(0, 2000)));
    if (--to_collect_ == 0) finish_collecting();
}

void LogReader::collect(const Mention& mention, void (*collector)(LogReader&, const Mention&)) {
    constexpr int lines_collected = 12;
    finish_collecting();
    collected_ = log_text::squeezed(mention.line.substr(mention.at, 4000));
    collected_line_ = mention.number;
    to_collect_ = lines_collected;
    collector_ = collector;
}

void LogReader::finish_collecting() {
    to_collect_ = 0;
    if (collector_ == nullptr) return;
    auto* const collector = std::exchange(collector_, nullptr);
    const std::string text = std::move(collected_);
    const std::uint64_t here = std::exchange(line_, collected_line_);
    reads_collected_ = true;
    collector(*this, {text, 0, text, collected_line_});
    reads_collected_ = false;
    note_origins();
    line_ = here;
}

void LogReader::note_origins() {
    const auto note = [&](const std::string& now, LoggedText& seen) {
        if (now != seen.text) seen = {now, line_};
    };
    note(load_.path, load_.path_seen);
    note(load_.name, load_.name_seen);
    note(load_.quant, load_.quant_seen);
}

void LogReader::finish_load() {
    Load& load = load_;
    if (!load.failure && load.refusal && !load.ready) { // nothing in the log tells what it was for
        const Asker asker = load.refusal->asker;
        const FailureStage stage = asker == Asker::graph                         ? FailureStage::compute
                                   : load.has_cache() && asker != Asker::tensors ? FailureStage::compute
                                   : load.has_context                            ? FailureStage::kv_cache
                                                                                 : FailureStage::weights;
        const bool lends = asker == Asker::unknown && load.number("rpc_server");
        failed(lends ? FailureStage::generation : stage, {"", 0, "", load.refusal->line});
        if (lends && load.failure) load.failure->time_known = false;
    }
    if (load.retried) load.failure.reset();
}

bool LogReader::nothing_loaded() const {
    return !load_.failed() && !load_.ready && !load_.has_buffers() && !load_.refusal && load_.name.empty() &&
           load_.path.empty() && !load_.has_context;
}

/// A command that stands below a log is the one that wrote it.
void LogReader::keep_command_below() {
    auto& failed = facts_.last_failed;
    if (!nothing_loaded() || !failed || !failed->options.empty()) return;
    failed->options = load_.options;
    failed->options_line = load_.options_line;
}

void LogReader::new_process(std::uint64_t line) {
    finish_collecting();
    in_fit_pass_ = false;
    if (nothing_loaded()) return;
    finish_load();
    Load finished = std::move(load_);
    load_ = Load();
    load_.first_line = line;
    load_.version = finished.version;
    load_.program = finished.program;
    load_.windows = finished.windows;
    if (finished.failed()) facts_.last_failed = finished;
    const bool complete = finished.has_buffers() && finished.has_context && !finished.failed();
    if (complete) facts_.last_complete = std::move(finished);
}

void LogReader::new_model(std::uint64_t line) {
    if (load_.dead || load_.ready) {
        std::vector<LogDevice> devices = load_.devices; // the same machine; what has come up takes its memory
        if (load_.ready)
            for (LogDevice& device : devices) device.free.reset();
        const Load before = load_;
        new_process(line);
        if (load_.devices.empty()) load_.devices = std::move(devices);
        if (load_.options.empty()) load_.options = before.options, load_.options_line = before.options_line;
        keep_machine(load_, before);
    } else if (load_.has_context && load_.has_buffers() && !in_fit_pass_) {
        load_.part = LoadPart::draft; // a second model before the first one answers
    }
}

void LogReader::starts_over(std::uint64_t line) {
    if (!in_fit_pass_ && (load_.failure || load_.refusal)) load_.dead = true;
    new_model(line);
}

void LogReader::ready(std::uint64_t) {
    if (load_.dead) return;
    finish_collecting();
    load_.ready = true;
    in_fit_pass_ = false;
    if (load_.refusal || (load_.failure && load_.failure->stage != FailureStage::generation)) load_.survived = true;
    load_.refusal.reset();
    if (load_.failure && load_.failure->stage != FailureStage::generation) load_.failure.reset();
    load_.part = LoadPart::model;
    forget_failure_of_retry();
}

/// The same model with the same settings came up: what failed before was tried again, by a person or a supervisor.
void LogReader::forget_failure_of_retry() {
    if (!facts_.last_failed || !is_same_attempt(*facts_.last_failed, load_)) return;
    facts_.last_failed.reset();
    load_.survived = true;
}

void LogReader::gave_up(const Mention& mention) {
    if (in_fit_pass_) return;
    if (!load_.failure && load_.refusal) finish_load();
    load_.dead = true;
    if (load_.ready && !load_.failure) return;
    evidence(mention);
}

void LogReader::fit_pass(bool begins) {
    in_fit_pass_ = begins;
    if (begins) return;
    // Sizes of what was only tried.
    load_.buffers.clear();
    load_.has_context = false;
    load_.part = LoadPart::model;
    load_.refusal.reset();
}

void LogReader::set(std::string_view key, std::optional<std::uint64_t> value, std::uint64_t line) {
    if (value) load_.numbers.insert_or_assign(std::string(key), Logged{*value, line});
}

void LogReader::set_once(std::string_view key, std::optional<std::uint64_t> value, std::uint64_t line) {
    if (value) load_.numbers.try_emplace(std::string(key), Logged{*value, line});
}

void LogReader::set_text(std::string_view key, std::string_view value) {
    load_.texts.insert_or_assign(std::string(key), kept(value));
    load_.text_lines.insert_or_assign(std::string(key), line_);
}

void LogReader::add_buffer(BufferKind kind, std::string_view device, std::optional<std::uint64_t> bytes,
                           std::uint64_t line) {
    if (!bytes || load_.buffers.size() >= most_buffers) return;
    if (kind == BufferKind::compute && load_.ready) return; // a graph that was reserved again
    if (kind == BufferKind::compute) { // reserved once more without pipeline parallelism: the last one counts
        std::erase_if(load_.buffers,
                      [&](const LogBuffer& b) { return b.kind == kind && b.device == device && b.part == load_.part; });
    }
    load_.buffers.push_back({kind, load_.part, kept(device), *bytes, line});
}

void LogReader::refused(LogRefusal refusal) {
    if (in_fit_pass_) return;
    auto& last = load_.refusal;
    const auto differ = [](const Logged& a, const Logged& b) { // one line rounds to MiB, the other counts bytes
        return std::max(a.value, b.value) - std::min(a.value, b.value) >= mib;
    };
    const bool same = last && refusal.line - last->line <= 3 &&
                      (!last->bytes || !refusal.bytes || !differ(*last->bytes, *refusal.bytes));
    if (!same) {
        last = std::move(refusal);
        return;
    }
    if (!refusal.device.empty()) last->device = refusal.device;
    if (refusal.bytes) last->bytes = refusal.bytes;
    if (refusal.asker != Asker::unknown) last->asker = refusal.asker;
    last->per_buffer_limit = last->per_buffer_limit || refusal.per_buffer_limit;
    if (refusal.limit) last->limit = refusal.limit;
    last->line = refusal.line;
}

LogFailure* LogReader::decide(FailureStage stage, const Mention& mention, std::optional<FailureCause> cause) {
    if (in_fit_pass_) return nullptr;
    Load& load = load_;
    const bool of_gpu = load.refusal && !load.refusal->device.empty() && !is_host_buffer(load.refusal->device);
    const bool elsewhere = stage == FailureStage::host && of_gpu; // the system ended the program, whatever it asked for
    const bool fresh = load.refusal && mention.number - load.refusal->line <= decided_within && !elsewhere;
    // The first line that explains a refusal knows best; what comes after repeats it in other words.
    if (load.failure && !fresh && (load.failure->refusal.bytes || load.failure->line == mention.number)) return nullptr;
    LogFailure failure;
    failure.stage = load.ready && !cause ? FailureStage::generation : stage;
    failure.cause = cause;
    failure.part = load.part;
    failure.line = mention.number;
    failure.text = kept(log_text::without_prefix(mention.line));
    if (fresh) failure.refusal = *load.refusal;
    if (fresh && failure.refusal.per_buffer_limit)
        failure.before_limit = std::exchange(failure.stage, FailureStage::per_buffer_limit);
    if (load.part == LoadPart::projector && failure.stage != FailureStage::settings)
        failure.stage = FailureStage::mmproj;
    load.failure = std::move(failure);
    load.refusal.reset();
    evidence(mention);
    return &*load.failure;
}

void LogReader::other_error(const Mention& mention) {
    if (in_fit_pass_ && load_.other_error) return;
    if (!load_.other_error) {
        const std::string_view text = log_text::without_prefix(mention.line);
        const std::size_t before = mention.line.size() - text.size();
        load_.other_error = LogLine{mention.number, kept_with(text, mention.at - std::min(mention.at, before))};
    }
    evidence(mention);
}

void LogReader::note(std::string text) {
    auto& notes = load_.notes;
    if (notes.size() < most_notes && std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
}

void LogReader::evidence(const Mention& mention) {
    auto& lines = load_.evidence;
    if (mention.line.empty() || reads_collected_) return;
    if (!lines.empty() && lines.back().number == mention.number) return;
    if (lines.size() >= most_evidence) lines.erase(lines.begin());
    lines.push_back({mention.number, kept_with(mention.line, mention.at)});
}

void LogReader::private_name(std::string_view name) {
    auto& names = facts_.private_names;
    if (names.size() < most_names && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
}

void LogReader::frame(int rank, FailureStage stage) {
    if (rank < frame_rank_) return;
    frame_rank_ = rank;
    frame_ = stage;
}

FailureStage LogReader::take_frame() {
    frame_rank_ = 0;
    return std::exchange(frame_, FailureStage::none);
}

} // namespace vramfit
