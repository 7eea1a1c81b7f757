#include "wrapped_lines.hpp"

#include "log_envelope.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace vramfit {
namespace {

constexpr std::size_t least_width = 40, largest_width = 512;
constexpr std::size_t longest_joined = 32768;
constexpr std::size_t n_compared = 6; ///< characters of a line's start

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Columns of a terminal; some programs count the bytes of a character in UTF-8, others the character.
struct Columns {
    std::size_t characters = 0, bytes = 0;
};

Columns columns_of(std::string_view line) {
    Columns columns;
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        const std::size_t characters = c == '\t' ? 8 - columns.characters % 8 : byte >= 0x80 && byte < 0xc0 ? 0 : 1;
        columns.characters += characters;
        columns.bytes += c == '\t' ? 8 - columns.bytes % 8 : 1;
    }
    return columns;
}

bool is_full(std::string_view line, std::size_t width) {
    const Columns whole = columns_of(line);
    if (whole.characters == width || whole.bytes == width) return true;
    const std::string_view inner = unquoted(line);
    return inner.size() != line.size() && columns_of(inner).characters == width;
}

/// A line that has no room for more. Some wrap at blanks: the blank ends the line, and the next word would not have
/// found room.
bool may_go_on(std::string_view line, std::string_view following, std::size_t width) {
    if (is_full(line, width)) return true;
    const std::string_view inner = unquoted(line);
    const std::size_t next_word = std::min(following.find(' '), following.size() - 1) + 1; // with the blank behind it
    return inner.ends_with(' ') && !following.empty() && columns_of(inner).characters + next_word > width;
}

/// Indented, a row of a table, a name and a colon, a bracket, a time: how lines of logs begin.
bool looks_begun(std::string_view line) {
    if (line.size() < 3) return line.empty();
    if (line.starts_with("  ") || line.starts_with('\t') || line.starts_with("- ") || line.starts_with("--"))
        return true;
    if (std::string_view("|+[{<$#*").find(line.front()) != std::string_view::npos) return true;
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (word.empty()) return false;
    if (is_digit(word.front())) {
        const auto is_mark = [](char c) { return c == ':' || c == '-' || c == '/' || c == '.'; };
        return std::count_if(word.begin(), word.end(), is_mark) >= 2;
    }
    if (line.front() == '(' && line.substr(0, 30).find(" pid=") != std::string_view::npos)
        return true; // a worker of vLLM
    if (!is_letter(word.front())) return false;
    for (const std::string_view level : {"INFO", "WARNING", "WARN", "ERROR", "DEBUG"}) {
        if (word == level) return true;
    }
    const std::size_t named = word.find_first_of(":=[");
    return named != std::string_view::npos && named >= 3;
}

/// Functions that print whole lines of llama.cpp and its forks (their LLAMA_LOG and GGML_LOG calls).
constexpr std::array known_heads{
    std::string_view("ggml_backend_cuda_buffer_type_alloc_buffer:"),
    std::string_view("alloc_tensor_range:"),
    std::string_view("ggml_gallocr_reserve_n:"),
    std::string_view("ggml_gallocr_reserve_n_impl:"),
    std::string_view("graph_reserve:"),
    std::string_view("sched_reserve:"),
    std::string_view("ggml_vulkan:"),
    std::string_view("ggml_cuda_init:"),
    std::string_view("llama_init_from_model:"),
    std::string_view("llama_new_context_with_model:"),
    std::string_view("llama_model_load:"),
    std::string_view("llama_model_load_from_file:"),
    std::string_view("llama_model_load_from_file_impl:"),
    std::string_view("llama_load_model_from_file:"),
    std::string_view("llama_kv_cache_init:"),
    std::string_view("llama_kv_cache_unified:"),
    std::string_view("llama_kv_cache:"),
    std::string_view("llama_context:"),
    std::string_view("llm_load_tensors:"),
    std::string_view("llm_load_print_meta:"),
    std::string_view("llama_model_loader:"),
    std::string_view("common_init_from_params:"),
    std::string_view("common_init_result:"),
    std::string_view("load_tensors:"),
    std::string_view("print_info:"),
};

std::string_view first_word(std::string_view line) { return line.substr(0, line.find(' ')); }

/// Lines that begin without a name and a colon: what comes below an error.
constexpr std::array known_lines{std::string_view("current device: "),
                                 std::string_view("Segmentation fault"),
                                 std::string_view("Aborted"),
                                 std::string_view("Killed"),
                                 std::string_view("terminate called"),
                                 std::string_view("CUDA error"),
                                 std::string_view("srv ")};

/// `following` begins a line of its own, however long `line` is; "llm_" and "load_tensors:" are one word.
bool has_known_head(std::string_view line, std::string_view following) {
    const auto begins = [&](std::string_view known) { return unquoted(following).starts_with(known); };
    if (std::ranges::any_of(known_lines, begins)) return true;
    const std::string_view text = unquoted(following);
    if (text.size() < 3) return false;
    if (text[1] == ' ' && std::string_view("IWED").find(text[0]) != std::string_view::npos) return true;
    if (text.substr(1).starts_with(":\\")) return true; // "E srv  load_model: ...", "D:\\a\\x.c:12: ..."
    return !line.ends_with('_') && std::ranges::find(known_heads, first_word(unquoted(following))) != known_heads.end();
}

std::string_view last_word(std::string_view line) { return line.substr(line.find_last_of(' ') + 1); }

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// A line that had no room for the next word and the blank before it.
bool is_nearly_full(std::string_view line, std::string_view following, std::size_t width) {
    const std::size_t word = columns_of(first_word(following.substr(indent_of(following)))).characters;
    const std::size_t columns = columns_of(unquoted(line)).characters;
    return columns <= width && columns + 1 + word > width;
}

struct Lines {
    std::vector<std::string_view> all;
    std::size_t longest = 0;
};

Lines lines_of(std::string_view head) {
    Lines lines;
    while (!head.empty()) {
        std::string_view line = head.substr(0, head.find('\n'));
        head.remove_prefix(std::min(line.size() + 1, head.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.all.push_back(line);
        lines.longest = std::max(lines.longest, columns_of(unquoted(line)).characters);
        if (lines.longest > largest_width) break;
    }
    return lines;
}

/// What lines begin with that follow a line which had room left, each seen twice at least; nothing where most begin with
/// something else.
std::set<std::string> common_starts(const Lines& lines, bool at_blanks) {
    std::map<std::string, std::size_t> seen;
    std::size_t n_seen = 0, n_common = 0;
    for (std::size_t i = 0; i + 1 < lines.all.size(); ++i) {
        const std::string_view following = unquoted(lines.all[i + 1]);
        if (following.empty() || may_go_on(lines.all[i], following, lines.longest)) continue;
        if (at_blanks && is_nearly_full(lines.all[i], following, lines.longest)) continue;
        ++n_seen;
        if (!following.starts_with(' ')) ++seen[start_of(following)];
    }
    std::set<std::string> starts;
    std::size_t most = 0;
    for (const auto& [start, n] : seen) most = std::max(most, n);
    // Where most lines begin alike, with a time, what is seldom is the rest of a line.
    const std::size_t least = at_blanks && 2 * most >= n_seen ? std::max<std::size_t>(n_seen / 5, 2) : 2;
    for (const auto& [start, n] : seen) {
        if (n < least) continue;
        n_common += n;
        starts.insert(start);
    }
    return (at_blanks ? 2 * n_common >= n_seen : 4 * n_common >= 3 * n_seen) ? starts : std::set<std::string>();
}

bool begins(std::string_view line, const std::set<std::string>& starts) {
    const std::string_view inner = unquoted(line);
    return starts.empty() ? line.starts_with('|') || looks_begun(inner) : starts.contains(start_of(inner));
}

/// How often wrapped lines would have to be told from whole ones before anybody believes it: where blanks are dropped,
/// and where what goes on is indented, whole lines can look the same.
constexpr std::size_t least_broken = 3;

/// A way of wrapping, and how many lines speak for it and against it.
struct Guess {
    Wrapping wrapping;
    std::size_t n_broken = 0, n_whole = 0;
};

/// Lines broken where they are full, or at blanks that are gone.
Guess guess_of(const Lines& lines, bool at_blanks) {
    Guess guess{{lines.longest, common_starts(lines, at_blanks), at_blanks}};
    for (std::size_t i = 0; i + 1 < lines.all.size(); ++i) {
        const std::string_view following = unquoted(lines.all[i + 1]);
        if (following.empty()) continue;
        const bool full = may_go_on(lines.all[i], following, lines.longest);
        if (at_blanks ? full || !is_nearly_full(lines.all[i], following, lines.longest) : !full) continue;
        const bool whole =
            begins(lines.all[i + 1], guess.wrapping.starts) || has_known_head(lines.all[i], lines.all[i + 1]);
        ++(whole ? guess.n_whole : guess.n_broken);
    }
    return guess;
}

/// A log that indents what goes on, always by as much.
std::optional<Wrapping> wrapping_with_indent(const Lines& lines) {
    struct Seen {
        std::size_t full = 0, nearly = 0;
    };
    std::map<std::size_t, Seen> by_indent;
    Seen flat;
    for (std::size_t i = 0; i + 1 < lines.all.size(); ++i) {
        const std::string_view line = lines.all[i], following = lines.all[i + 1];
        if (following.empty() || line.find("File \"") != std::string_view::npos) continue; // a traceback has steps
        const bool full = is_full(line, lines.longest);
        if (!full && !is_nearly_full(line, following, lines.longest)) continue;
        const std::size_t indent = indent_of(following);
        Seen& seen = indent < 2 || indent > least_width / 2 ? flat : by_indent[indent];
        ++(full ? seen.full : seen.nearly);
    }
    for (const auto& [indent, seen] : by_indent) {
        if (seen.full >= least_broken && seen.full >= 2 * flat.full && seen.full > seen.nearly)
            return Wrapping{lines.longest, {}, false, indent};
        const std::size_t n = seen.full + seen.nearly;
        if (n >= least_broken && n >= 2 * (flat.full + flat.nearly)) return Wrapping{lines.longest, {}, true, indent};
    }
    return std::nullopt;
}

} // namespace

std::string start_of(std::string_view line) {
    std::string start(line.substr(0, n_compared));
    std::replace_if(start.begin(), start.end(), is_digit, '0');
    return start;
}

Wrapping wrapping_of(std::string_view head) {
    const Lines lines = lines_of(head);
    if (lines.longest < least_width || lines.longest > largest_width) return {};
    if (const auto indented = wrapping_with_indent(lines)) return *indented;
    const Guess full = guess_of(lines, false), at_blanks = guess_of(lines, true);
    // Where lines begin with a time, it tells the whole ones.
    const std::size_t weight = at_blanks.wrapping.starts.empty() ? 1 : 3;
    if (at_blanks.n_broken >= least_broken && weight * at_blanks.n_broken >= at_blanks.n_whole &&
        at_blanks.n_broken > full.n_broken)
        return at_blanks.wrapping;
    return full.n_broken > 0 && full.n_broken >= full.n_whole ? full.wrapping : Wrapping{};
}

WrappedLines::WrappedLines(ByteStream log) : lines_(std::move(log)) {}

/// The next line as it stands in the log, from the one that was read ahead on.
bool WrappedLines::read(std::string_view& line) {
    pieces_.clear();
    if (has_ahead_) {
        has_ahead_ = false;
        joined_.swap(ahead_);
        pieces_.push_back({0, ahead_number_});
        line = joined_;
        return true;
    }
    if (!lines_.next(line)) return false;
    pieces_.push_back({0, lines_.number()});
    return true;
}

bool WrappedLines::goes_on(std::string_view line, std::string_view following) const {
    following = unquoted(following);
    if (wrapping_.indent > 0) {
        if (indent_of(following) != wrapping_.indent || following.size() == wrapping_.indent) return false;
        return is_full(line, wrapping_.width) ||
               (wrapping_.at_blanks && is_nearly_full(line, following, wrapping_.width));
    }
    if (wrapping_.at_blanks && !following.empty() && is_nearly_full(line, following, wrapping_.width))
        return !begins(following, wrapping_.starts) && !has_known_head(line, following);
    if (has_known_head(line, following)) return false;
    return !wrapping_.starts.contains(start_of(following)) && may_go_on(line, following, wrapping_.width);
}

/// Puts `following` behind what is joined already, with the blank that was dropped. Where the two words make one that
/// is longer than a line, there was none.
void WrappedLines::append(std::string_view last, std::string_view following, bool is_quoted) {
    std::string_view piece =
        is_quoted || wrapping_.at_blanks ? unquoted(following) : following; // bars may be the line's own
    piece.remove_prefix(std::min(wrapping_.indent, piece.size()));
    const std::size_t word = columns_of(last_word(last)).characters + columns_of(first_word(piece)).characters;
    if (wrapping_.at_blanks && !joined_.ends_with(' ') && word + wrapping_.indent <= wrapping_.width) joined_ += ' ';
    joined_ += piece;
}

bool WrappedLines::next(std::string_view& line) {
    if (!begun_) {
        begun_ = true;
        wrapping_ = wrapping_of(lines_.head());
    }
    if (!read(line)) return false;
    if (wrapping_.width == 0) {
        line = unquoted(line);
        return true;
    }
    std::string last(line); // the piece that may go on
    joined_ = unquoted(last);
    const bool is_quoted = joined_.size() < last.size();
    for (std::string_view following; joined_.size() < longest_joined && lines_.next(following);) {
        if (columns_of(unquoted(following)).characters > wrapping_.width)
            wrapping_.width = 0; // not wrapped from here on
        if (wrapping_.width == 0 || !goes_on(last, following)) {
            ahead_ = following;
            ahead_number_ = lines_.number();
            has_ahead_ = true;
            break;
        }
        pieces_.push_back({joined_.size(), lines_.number()});
        append(last, following, is_quoted);
        last = following;
    }
    line = joined_;
    return true;
}

std::uint64_t WrappedLines::number_at(std::size_t at) const {
    const auto behind = std::ranges::upper_bound(pieces_, at, {}, &Piece::at);
    return behind == pieces_.begin() ? 0 : std::prev(behind)->number;
}

} // namespace vramfit
