#include "vramfit/base/shell_words.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Takes a text apart, character by character.
class Splitter {
public:
    Splitter(std::string_view text, bool operators) : text_(text), operators_(operators) {}

    std::vector<std::vector<std::string>> commands() {
        while (at_ < text_.size()) step();
        end_command();
        return std::move(commands_);
    }

private:
    char next() { return text_[at_++]; }
    bool has(std::string_view part) const { return text_.substr(at_).starts_with(part); }

    void step() {
        const char c = next();
        if (c == '\\') return escape();
        if (c == '\'') return quoted('\'');
        if (c == '"') return quoted('"');
        if (c == '\n') return operators_ ? end_command() : end_word();
        if (is_blank(c)) return end_word();
        if (c == '#' && !in_word_ && operators_) return skip_line();
        if (operators_ && (c == '>' || c == '<')) return redirection();
        if (operators_ && std::string_view(";&|()").find(c) != std::string_view::npos) return end_command();
        add(c);
    }

    void escape() {
        if (at_ == text_.size()) return;
        if (has("\r\n")) ++at_;
        const char c = next();
        if (c != '\n') add(c);
    }

    void quoted(char quote) {
        in_word_ = true;
        while (at_ < text_.size()) {
            const char c = next();
            if (c == quote) return;
            // Between double quotes a backslash stands for itself but before these.
            if (c == '\\' && quote == '"' && at_ < text_.size()) {
                const char escaped = next();
                if (escaped == '\n') continue;
                if (std::string_view("\"\\$`").find(escaped) == std::string_view::npos) word_ += c;
                word_ += escaped;
                continue;
            }
            word_ += c;
        }
        throw Error(std::string("a ") + (quote == '"' ? "double" : "single") + " quote is not closed");
    }

    void skip_line() {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    }

    /// "2>&1", ">file", "> file": neither operator nor file is a word of the command.
    void redirection() {
        if (std::ranges::all_of(word_, [](char c) { return c >= '0' && c <= '9'; })) {
            word_.clear();
            in_word_ = false;
        }
        end_word();
        while (at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<' || text_[at_] == '&')) ++at_;
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
        drop_word_ = true;
    }

    void add(char c) {
        in_word_ = true;
        word_ += c;
    }

    void end_word() {
        if (!in_word_) return;
        if (!drop_word_) words_.push_back(std::move(word_));
        word_.clear();
        in_word_ = drop_word_ = false;
    }

    void end_command() {
        end_word();
        drop_word_ = false;
        if (!words_.empty()) commands_.push_back(std::move(words_));
        words_.clear();
    }

    std::string_view text_;
    bool operators_;
    std::size_t at_ = 0;
    std::string word_;
    bool in_word_ = false, drop_word_ = false;
    std::vector<std::string> words_;
    std::vector<std::vector<std::string>> commands_;
};

} // namespace

std::vector<std::vector<std::string>> shell_commands(std::string_view text) { return Splitter(text, true).commands(); }

std::vector<std::string> shell_words(std::string_view text) {
    auto commands = Splitter(text, false).commands();
    return commands.empty() ? std::vector<std::string>{} : std::move(commands.front());
}

std::string shell_word(const std::string& text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("=,._-/:+").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::ranges::all_of(text, plain)) return text;
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

} // namespace vramfit
