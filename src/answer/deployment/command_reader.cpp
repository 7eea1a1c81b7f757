#include "command_reader.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace vramfit {
namespace {

using Effect = CommandOption::Effect;
using Takes = CommandOption::Takes;
using Found = std::vector<const CommandOption*>;

bool has(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

bool is_flag(std::string_view word) {
    return word.size() > 1 && word.front() == '-' && (word[1] < '0' || word[1] > '9');
}

bool is_falsey(const std::string& text) {
    const std::string small = lower(text);
    return small == "0" || small == "false" || small == "off" || small == "disabled" || small == "no";
}

/// vLLM's numbers: k, m and g are powers of 1000, K, M and G of 1024 (vllm/engine/arg_utils.py, human_readable_int).
std::string plain_number(const std::string& text) {
    static constexpr std::string_view letters = "kmgKMG";
    const std::size_t letter = text.empty() ? std::string::npos : letters.find(text.back());
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (letter == std::string::npos || end != text.c_str() + text.size() - 1 || !(number >= 0 && number < 1e6))
        return text;
    const double base = letter < 3 ? 1000.0 : 1024.0;
    return std::to_string(static_cast<std::uint64_t>(number * std::pow(base, static_cast<double>(letter % 3) + 1)));
}

void check_whole(const std::string& where, const std::string& text) {
    // llama.cpp reads the digits and forgets the rest (std::stoi): of "32k" it takes 32.
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits > 0 && digits < text.size())
        throw Error(where + ": llama.cpp takes whole numbers only, and " + text.substr(0, digits) + " of " +
                    quote(text));
}

/// What is read, one saying after the other.
class Reading {
public:
    /// `text`: of a flag that takes nothing, nothing.
    void add(const CommandOption& option, const std::string& spelling, std::optional<std::string> text,
             const std::string& where) {
        if (option.effect == Effect::harmless) return;
        if (option.effect == Effect::not_understood) return not_understood(spelling, text);
        const bool off = has(option.off, spelling) || has(option.off_variables, spelling);
        if (off) return say(option, !text || !is_falsey(*text) ? "off" : "on", where);
        if (!text) {
            if (!option.bare.empty()) read_.notes.push_back(spelling + " without a value " + option.bare);
            return say(option, option.implied.empty() ? "on" : option.implied, where);
        }
        if (const auto word = option.words.find(lower(*text)); word != option.words.end()) {
            if (!word->second.empty()) say(option, word->second, where);
            return;
        }
        if (!option.other_words) return not_understood(spelling, text);
        if (option.number == "digits" && text->find_first_not_of("0123456789") != std::string::npos)
            return not_understood(spelling, text);
        if (!option.unit.empty() && text->find(',') != std::string::npos) return not_understood(spelling, text);
        for (const std::string& part : parts_of(option, *text)) say(option, part, where);
    }

    void not_understood(const std::string& spelling, const std::optional<std::string>& text) {
        read_.not_understood.push_back(spelling + (text ? " " + *text : ""));
    }

    void say(const CommandOption& option, std::string text, const std::string& where) {
        if (const auto defaults = option.defaults.find(text); defaults != option.defaults.end())
            read_.defaults = defaults->second;
        if (!is_setting(option.setting)) return; // one that only changes defaults
        if (option.number == "whole") check_whole(where, text);
        if (option.number == "decimal") text = plain_number(text);
        read_.settings.push_back({{option.setting, text + option.unit, where}, option.names});
    }

    void say(const std::string& setting, const std::string& text, const std::string& where, const std::string& names) {
        read_.settings.push_back({{setting, text, where}, names});
    }

    ReadSettings take() { return std::move(read_); }

private:
    static std::vector<std::string> parts_of(const CommandOption& option, const std::string& text) {
        if (option.separator.empty()) return {text};
        std::vector<std::string> parts;
        for (std::string_view rest = text;;) {
            const std::size_t end = rest.find(option.separator);
            parts.emplace_back(rest.substr(0, end));
            if (end == std::string_view::npos) return parts;
            rest.remove_prefix(end + option.separator.size());
        }
    }

    ReadSettings read_;
};

/// Walks through the arguments of a command.
class Walk {
public:
    Walk(const RuntimeCommand& command, const std::string& where, Mistakes mistakes)
        : command_(command),
          words_(command.arguments),
          where_(where),
          mistakes_(mistakes) {}

    ReadSettings run() {
        while (at_ < words_.size()) {
            try {
                step(words_[at_++]);
            } catch (const Error&) {
                if (mistakes_ == Mistakes::stop) throw;
            }
        }
        return reading_.take();
    }

private:
    void step(const std::string& word) { is_flag(word) ? flag(word) : positional(word); }

    void flag(const std::string& word) {
        std::string spelling = word;
        std::optional<std::string> value;
        Found found = command_.table->find_flag(spelling);
        if (const std::size_t equals = word.find('='); found.empty() && equals != std::string::npos) {
            spelling = word.substr(0, equals);
            value = word.substr(equals + 1);
            found = command_.table->find_flag(spelling);
        }
        if (found.empty()) return unknown(spelling, std::move(value));
        if (!value) value = value_behind(*found.front(), spelling);
        for (const CommandOption* const option : found)
            reading_.add(*option, canonical(spelling), value, where_ + spelling);
    }

    /// Tables have `-` where llama.cpp forgives `_`.
    std::string canonical(std::string spelling) const {
        if (spelling.starts_with("--") && !known_as_it_is(spelling)) std::ranges::replace(spelling, '_', '-');
        return spelling;
    }

    bool known_as_it_is(const std::string& spelling) const {
        return std::ranges::any_of(command_.table->find_flag(spelling), [&](const CommandOption* option) {
            return has(option->flags, spelling) || has(option->off, spelling);
        });
    }

    std::optional<std::string> value_behind(const CommandOption& option, const std::string& spelling) {
        if (option.takes == Takes::nothing || has(option.off, canonical(spelling))) return std::nullopt;
        if (option.takes == Takes::several) return several(spelling);
        const bool there = at_ < words_.size() && !is_known_flag(words_[at_]);
        if (option.takes == Takes::maybe) {
            if (!there || !may_be_value(option, words_[at_])) return std::nullopt;
            return words_[at_++];
        }
        if (!there || words_[at_].empty()) throw Error(where_ + spelling + " needs a value");
        return words_[at_++];
    }

    /// llama.cpp's old "-fa" took no value: what follows is one only where it is one of its words.
    static bool may_be_value(const CommandOption& option, const std::string& word) {
        return !is_flag(word) && (option.other_words || option.words.contains(lower(word)));
    }

    std::optional<std::string> several(const std::string& spelling) {
        std::string all;
        while (at_ < words_.size() && !is_flag(words_[at_])) all += (all.empty() ? "" : ",") + words_[at_++];
        if (all.empty() && command_.table->find_flag(spelling).front()->effect == Effect::setting)
            throw Error(where_ + spelling + " needs a value");
        return all;
    }

    bool is_known_flag(const std::string& word) const {
        return is_flag(word) && !command_.table->find_flag(word.substr(0, word.find('='))).empty();
    }

    void unknown(const std::string& spelling, std::optional<std::string> value) {
        if (!value && at_ < words_.size() && !is_flag(words_[at_])) value = words_[at_++];
        reading_.not_understood(spelling, value);
    }

    void positional(const std::string& word) {
        const std::string& setting = command_.program->positional;
        if (setting.empty() || std::exchange(positional_seen_, true)) return;
        const auto& options = command_.table->options;
        const auto option = std::ranges::find(options, setting, &CommandOption::setting);
        reading_.say(setting, word, where_ + quote(word), option == options.end() ? "" : option->names);
    }

    const RuntimeCommand& command_;
    std::span<const std::string> words_;
    const std::string& where_;
    Mistakes mistakes_;
    std::size_t at_ = 0;
    bool positional_seen_ = false;
    Reading reading_;
};

} // namespace

ReadSettings read_arguments(const RuntimeCommand& command, const std::string& where, Mistakes mistakes) {
    return Walk(command, where, mistakes).run();
}

ReadSettings read_variables(const CommandTable& table, const Environment& environment, const std::string& where) {
    Reading reading;
    for (const CommandOption& option : table.options) {
        for (const auto* const names : {&option.variables, &option.off_variables}) {
            for (const std::string& name : *names) {
                const auto text = environment(name);
                if (!text || text->empty()) continue;
                // A flag without a value that has one of its own ("--no-mmproj") counts where the variable says so.
                const bool valueless = option.takes == Takes::nothing && !option.implied.empty();
                if (valueless && is_falsey(*text)) continue;
                reading.add(option, name, valueless ? std::nullopt : std::optional(*text), where + name);
            }
        }
    }
    return reading.take();
}

ReadSettings read_keys(const CommandTable& table, std::span<const KeyText> keys) {
    Reading reading;
    for (const KeyText& key : keys) {
        const Found found = table.find_key(key.key);
        if (found.empty()) reading.not_understood(key.key, key.text);
        for (const CommandOption* const option : found) {
            const bool off = has(option->off, "--" + key.key) || has(option->off, "-" + key.key);
            const std::string spelling = off ? option->off.front() : key.key;
            const bool valueless = option->takes == Takes::nothing && !option->implied.empty();
            if (valueless && is_falsey(key.text)) continue;
            reading.add(*option, spelling, valueless ? std::nullopt : std::optional(key.text), key.where);
        }
    }
    return reading.take();
}

} // namespace vramfit
