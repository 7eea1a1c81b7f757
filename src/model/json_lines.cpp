#include "json_lines.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace vramfit {
namespace {

using Json = nlohmann::json;

/// The characters of a text; the lines behind them are counted as the parser takes them.
class CountedCharacters {
public:
    // NOLINTBEGIN(readability-identifier-naming): what the standard library asks an iterator for
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    // NOLINTEND(readability-identifier-naming)

    CountedCharacters(const char* at, std::size_t* line) : at_(at), line_(line) {}

    reference operator*() const { return *at_; }
    CountedCharacters& operator++() {
        if (*at_ == '\n') ++*line_;
        ++at_;
        return *this;
    }
    CountedCharacters operator++(int) {
        CountedCharacters before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountedCharacters& other) const { return at_ == other.at_; }
    bool operator!=(const CountedCharacters& other) const { return at_ != other.at_; }

private:
    const char* at_;
    std::size_t* line_;
};

std::string escaped(std::string_view key) {
    std::string text;
    for (const char c : key) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return text;
}

/// Follows the parser through a text and knows where it is.
class Walk {
public:
    explicit Walk(std::string_view text) : text_(text) {}

    /// Calls `visit(pointer, line, repeated)` for every key and every structured element of an array.
    template <typename Visit>
    void run(const Visit& visit) {
        const auto follow = [&](int, Json::parse_event_t event, Json& parsed) {
            switch (event) {
            case Json::parse_event_t::key: {
                Level& level = levels_.back();
                level.key = parsed.get<std::string>();
                visit(here(), line_, !level.keys.insert(level.key).second);
                break;
            }
            case Json::parse_event_t::object_start:
            case Json::parse_event_t::array_start:
                if (!levels_.empty() && levels_.back().is_array) visit(here(), line_, false);
                levels_.emplace_back().is_array = event == Json::parse_event_t::array_start;
                break;
            case Json::parse_event_t::object_end:
            case Json::parse_event_t::array_end: levels_.pop_back(); [[fallthrough]];
            case Json::parse_event_t::value:
                if (!levels_.empty()) ++levels_.back().index;
                break;
            }
            return true;
        };
        const CountedCharacters first(text_.data(), &line_);
        const CountedCharacters last(text_.data() + text_.size(), &line_);
        [[maybe_unused]] const Json whole = Json::parse(first, last, follow); // the walk is what is wanted
    }

private:
    struct Level {
        bool is_array = false;
        std::size_t index = 0;
        std::string key;
        std::set<std::string> keys;
    };

    std::string here() const {
        std::string pointer;
        for (const Level& level : levels_)
            pointer += "/" + (level.is_array ? std::to_string(level.index) : escaped(level.key));
        return pointer;
    }

    std::string_view text_;
    std::size_t line_ = 1;
    std::vector<Level> levels_;
};

} // namespace

std::size_t line_of(std::string_view text, std::string_view pointer) {
    std::size_t found = 0;
    Walk(text).run([&](const std::string& here, std::size_t line, bool) {
        if (here == pointer) found = line;
    });
    return found == 0 ? 1 : found;
}

std::optional<std::string> repeated_key(std::string_view text) {
    std::optional<std::string> found;
    Walk(text).run([&](const std::string& here, std::size_t, bool repeated) {
        if (repeated && !found) found = here;
    });
    return found;
}

} // namespace vramfit
