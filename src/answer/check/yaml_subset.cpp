#include "yaml_subset.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace vramfit {
namespace {

using Kind = YamlNode::Kind;
using Node = std::shared_ptr<const YamlNode>;

constexpr std::size_t most_bytes = std::size_t{1024} * 1024;
constexpr int most_depth = 64;

struct Line {
    std::size_t indent = 0;
    std::string content; ///< without indentation; comments still in it
    std::size_t number = 0;
    bool empty() const { return content.empty() || content.front() == '#'; }
};

[[noreturn]] void fail(std::size_t line, const std::string& message) {
    throw Error("line " + std::to_string(line) + ": " + message);
}

std::string_view without_right_blanks(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// Up to a comment: '#' at the beginning, or behind a blank.
std::string_view without_comment(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t'))
            return without_right_blanks(text.substr(0, i));
    return without_right_blanks(text);
}

/// Where the quoted text that begins at `from` ends: behind its closing quote; npos where it is not closed.
std::size_t end_of_quoted(std::string_view text, std::size_t from) {
    const char quote = text[from];
    for (std::size_t i = from + 1; i < text.size(); ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            if (quote == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
                ++i;
            else
                return i + 1;
        }
    }
    return std::string_view::npos;
}

std::string unquoted(std::string_view text) {
    std::string result;
    const char quote = text.front();
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (quote == '\'' && text[i] == '\'') ++i;
        if (quote != '"' || text[i] != '\\') {
            result += text[i];
            continue;
        }
        const char c = text[++i];
        if (c != '\n') result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
    }
    return result;
}

/// A mapping's key and what stands behind its colon; nothing where the line is none.
std::optional<std::pair<std::string, std::string_view>> key_of(std::string_view text) {
    std::size_t from = 0;
    const bool quoted = !text.empty() && (text.front() == '"' || text.front() == '\'');
    if (quoted) {
        from = end_of_quoted(text, 0);
        if (from == std::string_view::npos) return std::nullopt;
    }
    for (std::size_t i = from; i < text.size(); ++i) {
        if (text[i] == '#' && i > 0 && text[i - 1] == ' ') return std::nullopt;
        if (text[i] != ':' || (i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != '\t')) continue;
        const std::string_view key = trimmed(text.substr(0, i));
        if (quoted && key.size() != from) return std::nullopt;
        return std::pair(quoted ? unquoted(key) : std::string(key), trimmed(text.substr(i + 1)));
    }
    return std::nullopt;
}

class Parser {
public:
    explicit Parser(std::string_view text) {
        std::size_t number = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view content = without_right_blanks(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
            ++number;
            const std::size_t indent = std::min(content.find_first_not_of(' '), content.size());
            if (content.starts_with("---") || content.starts_with("...") || content.starts_with('%')) content = "";
            lines_.push_back({std::min(indent, content.size()),
                              std::string(content.substr(std::min(indent, content.size()))), number});
        }
    }

    Node run() {
        Node root = block(0, 0);
        skip_empty();
        if (at_ < lines_.size()) fail(lines_[at_].number, "this belongs to nothing that stands above it");
        return root;
    }

private:
    friend class FlowParser;

    void skip_empty() {
        while (at_ < lines_.size() && lines_[at_].empty()) ++at_;
    }

    static bool is_item(const Line& line) { return line.content == "-" || line.content.starts_with("- "); }

    /// The block that stands at `least` columns or more to the right; null where there is none.
    Node block(std::size_t least, int depth) {
        skip_empty();
        if (at_ == lines_.size() || lines_[at_].indent < least) return std::make_shared<YamlNode>();
        if (depth > most_depth) fail(lines_[at_].number, "nested too deeply");
        const Line& line = lines_[at_];
        if (is_item(line)) return list(line.indent, depth);
        const char first = line.content.front();
        if (first != '{' && first != '[' && key_of(line.content)) return map(line.indent, depth);
        const Line own = lines_[at_++];
        return value(own.content, own.indent == 0 ? 0 : own.indent - 1, own.number, depth);
    }

    Node list(std::size_t indent, int depth) {
        auto node = std::make_shared<YamlNode>();
        node->kind = Kind::list;
        node->line = lines_[at_].number;
        for (skip_empty(); at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_]); skip_empty()) {
            Line& line = lines_[at_];
            const std::string_view rest = trimmed(std::string_view(line.content).substr(1));
            if (rest.empty() || rest.front() == '#') {
                ++at_;
                node->items.push_back(block(indent + 1, depth + 1));
            } else if (rest.front() == '-' || (rest.front() != '{' && rest.front() != '[' && key_of(rest))) {
                // What stands behind the dash is a block of its own, further to the right.
                const std::size_t column = line.content.size() - rest.size();
                line = {indent + column, std::string(rest), line.number};
                node->items.push_back(block(indent + 1, depth + 1));
            } else {
                const Line own = lines_[at_++];
                node->items.push_back(value(rest_of(own.content, rest), indent, own.number, depth + 1));
            }
        }
        return node;
    }

    /// `rest`, a part of `content` that may be gone by now, again.
    static std::string rest_of(const std::string& content, std::string_view rest) {
        return content.substr(content.size() - rest.size());
    }

    Node map(std::size_t indent, int depth) {
        auto node = std::make_shared<YamlNode>();
        node->kind = Kind::map;
        node->line = lines_[at_].number;
        for (skip_empty(); at_ < lines_.size() && lines_[at_].indent == indent; skip_empty()) {
            const Line own = lines_[at_];
            if (is_item(own)) break;
            if (own.content.front() == '\t') fail(own.number, "YAML is indented by blanks, not by tabs");
            const auto key = key_of(own.content);
            if (!key) fail(own.number, "a key and a colon would be right, not " + quote(own.content));
            ++at_;
            node->entries.emplace_back(key->first, value(std::string(key->second), indent, own.number, depth + 1));
        }
        if (at_ < lines_.size() && lines_[at_].indent > indent)
            fail(lines_[at_].number, "this is further to the right than what it belongs to");
        return node;
    }

    /// What stands behind a key or a dash at `indent`.
    Node value(std::string text, std::size_t indent, std::size_t number, int depth) {
        if (depth > most_depth) fail(number, "nested too deeply");
        std::string anchor;
        while (text.starts_with('&') || text.starts_with('!')) {
            const std::size_t end = std::min(text.find(' '), text.size());
            if (text.front() == '&') anchor = text.substr(1, end - 1);
            text = std::string(trimmed(std::string_view(text).substr(end)));
        }
        Node node = plain_value(text, indent, number, depth);
        if (!anchor.empty()) anchors_[anchor] = node;
        return node;
    }

    Node plain_value(const std::string& text, std::size_t indent, std::size_t number, int depth) {
        if (text.empty() || text.front() == '#') return below(indent, depth);
        if (text.front() == '|' || text.front() == '>') return scalar(block_scalar(text, indent), number);
        if (text.front() == '*') return alias(std::string(without_comment(text).substr(1)), number);
        if (text.front() == '[' || text.front() == '{') return flow(text, number);
        if (text.front() == '"' || text.front() == '\'') return scalar(quoted(text, number), number);
        std::string whole(without_comment(text));
        for (; at_ < lines_.size() && !lines_[at_].empty() && lines_[at_].indent > indent; ++at_) {
            if (key_of(lines_[at_].content))
                fail(lines_[at_].number, "this is further to the right than what it belongs to");
            whole += " " + std::string(without_comment(lines_[at_].content));
        }
        return scalar(whole, number);
    }

    /// The value of a key whose line ends with the colon: a list may stand right below it.
    Node below(std::size_t indent, int depth) {
        skip_empty();
        if (at_ == lines_.size()) return std::make_shared<YamlNode>();
        const bool list_at_once = lines_[at_].indent == indent && is_item(lines_[at_]);
        return block(list_at_once ? indent : indent + 1, depth + 1);
    }

    static Node scalar(std::string text, std::size_t number) {
        auto node = std::make_shared<YamlNode>();
        node->kind = Kind::scalar;
        node->text = std::move(text);
        node->line = number;
        return node;
    }

    Node alias(const std::string& name, std::size_t number) const {
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) fail(number, "unknown alias " + quote(name));
        return found->second;
    }

    std::string block_scalar(const std::string& header, std::size_t indent) {
        const bool folded = header.front() == '>';
        std::string text;
        std::optional<std::size_t> margin;
        std::size_t n_empty = 0;
        for (; at_ < lines_.size(); ++at_) {
            const Line& line = lines_[at_];
            if (line.content.empty()) {
                ++n_empty;
                continue;
            }
            if (line.indent <= indent) break;
            if (!margin) margin = line.indent;
            if (!text.empty()) text += folded && n_empty == 0 ? std::string(" ") : std::string(n_empty + 1, '\n');
            n_empty = 0;
            text += std::string(line.indent - std::min(line.indent, *margin), ' ') + line.content;
        }
        return header.find('-') == std::string::npos && !text.empty() ? text + "\n" : text;
    }

    /// A quoted text, which may go on in further lines.
    std::string quoted(std::string text, std::size_t number) {
        while (end_of_quoted(text, 0) == std::string::npos) {
            if (at_ == lines_.size()) fail(number, "a quote is not closed");
            text += " " + lines_[at_++].content;
        }
        const std::size_t end = end_of_quoted(text, 0);
        if (!without_comment(" " + text.substr(end)).empty()) fail(number, "something stands behind the closing quote");
        return unquoted(std::string_view(text).substr(0, end));
    }

    Node flow(std::string text, std::size_t number);

    std::vector<Line> lines_;
    std::size_t at_ = 0;
    std::map<std::string, Node> anchors_;
};

/// [a, "b", {c: d}]: takes further lines where brackets are still open.
class FlowParser {
public:
    FlowParser(Parser& parser, std::string text, std::size_t number)
        : parser_(parser),
          text_(std::move(text)),
          number_(number) {}

    Node run() {
        Node node = value(0);
        skip_blanks();
        if (at_ < text_.size() && text_[at_] != '#') fail(number_, "something stands behind the closing bracket");
        return node;
    }

private:
    /// The next character that is not blank, in this line or the next.
    char peek() {
        for (;;) {
            skip_blanks();
            if (at_ < text_.size() && text_[at_] != '#') return text_[at_];
            if (parser_.at_ == parser_.lines_.size()) fail(number_, "a bracket is not closed");
            text_ = parser_.lines_[parser_.at_++].content;
            at_ = 0;
        }
    }

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }

    Node value(int depth) {
        if (depth > most_depth) fail(number_, "nested too deeply");
        const char c = peek();
        if (c == '[' || c == '{') return collection(c, depth);
        const std::string text = word();
        return text.starts_with('*') ? parser_.alias(text.substr(1), number_) : Parser::scalar(text, number_);
    }

    std::string word() {
        if (text_[at_] == '"' || text_[at_] == '\'') {
            const std::size_t end = end_of_quoted(text_, at_);
            if (end == std::string::npos) fail(number_, "a quote is not closed");
            std::string result = unquoted(std::string_view(text_).substr(at_, end - at_));
            at_ = end;
            return result;
        }
        const std::size_t from = at_;
        while (at_ < text_.size() && std::string_view(",[]{}").find(text_[at_]) == std::string_view::npos &&
               !(text_[at_] == ':' && (at_ + 1 == text_.size() || text_[at_ + 1] == ' ')))
            ++at_;
        return std::string(without_right_blanks(std::string_view(text_).substr(from, at_ - from)));
    }

    Node collection(char open, int depth) {
        auto node = std::make_shared<YamlNode>();
        node->kind = open == '[' ? Kind::list : Kind::map;
        node->line = number_;
        const char close = open == '[' ? ']' : '}';
        ++at_;
        while (peek() != close) {
            if (open == '[') {
                node->items.push_back(value(depth + 1));
            } else {
                const std::string key = word();
                if (peek() != ':') fail(number_, "a colon would be right behind " + quote(key));
                ++at_;
                node->entries.emplace_back(key, value(depth + 1));
            }
            if (peek() == ',')
                ++at_;
            else if (peek() != close)
                fail(number_, std::string("a comma or ") + close + " would be right here");
        }
        ++at_;
        return node;
    }

    Parser& parser_;
    std::string text_;
    std::size_t number_;
    std::size_t at_ = 0;
};

Node Parser::flow(std::string text, std::size_t number) { return FlowParser(*this, std::move(text), number).run(); }

} // namespace

std::shared_ptr<const YamlNode> parse_yaml(std::string_view text) {
    if (text.size() > most_bytes) throw Error("YAML of more than 1 MiB");
    return Parser(text).run();
}

} // namespace vramfit
