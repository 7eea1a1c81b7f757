#include "catch.hpp"
#include "cli/terminal.hpp"

#include <map>

using namespace vramfit::cli;

namespace {

Terminal terminal_of(bool is_terminal, std::map<std::string, std::string> variables) {
    return {is_terminal, [variables](const char* name) {
                const auto found = variables.find(name);
                return found == variables.end() ? std::string() : found->second;
            }};
}

} // namespace

TEST_CASE("colours: on a terminal only, and not where the environment asks for none") {
    CHECK(terminal_of(true, {}).colored());
    CHECK(!terminal_of(false, {}).colored());
    CHECK(!terminal_of(true, {{"NO_COLOR", "1"}}).colored());
    CHECK(terminal_of(true, {{"NO_COLOR", ""}}).colored());
    CHECK(!terminal_of(true, {{"TERM", "dumb"}}).colored());
    CHECK(terminal_of(true, {{"TERM", "xterm-256color"}}).colored());
}

TEST_CASE("colours: the option has the last word") {
    CHECK(terminal_of(false, {{"NO_COLOR", "1"}}).with(ColorMode::always).colored());
    CHECK(!terminal_of(true, {}).with(ColorMode::never).colored());
    CHECK(terminal_of(true, {}).with(ColorMode::automatic).colored());
    CHECK(!terminal_of(false, {}).with(ColorMode::automatic).colored());
}

TEST_CASE("colours are ANSI codes that end with the text") {
    const Terminal colored = terminal_of(true, {});
    CHECK(colored.paint(Color::green, "FIT") == "\033[1;32mFIT\033[0m");
    CHECK(colored.paint(Color::yellow, "TIGHT") == "\033[1;33mTIGHT\033[0m");
    CHECK(colored.paint(Color::red, "OOM") == "\033[1;31mOOM\033[0m");
    CHECK(colored.with(ColorMode::never).paint(Color::red, "OOM") == "OOM");
}

TEST_CASE("UTF-8 by the first variable of the locale that is set") {
    CHECK(terminal_of(false, {{"LANG", "en_GB.UTF-8"}}).utf8());
    CHECK(terminal_of(false, {{"LANG", "C.utf8"}}).utf8());
    CHECK(terminal_of(false, {{"LC_CTYPE", "C.UTF-8"}, {"LANG", "C"}}).utf8());
    CHECK(!terminal_of(false, {{"LC_ALL", "C"}, {"LC_CTYPE", "C.UTF-8"}, {"LANG", "C.UTF-8"}}).utf8());
    CHECK(terminal_of(false, {{"LC_ALL", ""}, {"LANG", "de_DE.UTF-8"}}).utf8());
    CHECK(!terminal_of(false, {{"LANG", "de_DE.ISO-8859-1"}}).utf8());
    CHECK(!terminal_of(false, {}).utf8());
}

TEST_CASE("bars in eighths of a character, or in whole ones without UTF-8") {
    const Terminal utf8 = terminal_of(false, {{"LANG", "C.UTF-8"}});
    CHECK(utf8.bar(0).empty());
    CHECK(utf8.bar(1) == "\u258f");
    CHECK(utf8.bar(20) == "\u2588\u2588\u258c");
    CHECK(utf8.light_bar(1) == "\u2591");
    CHECK(utf8.light_bar(20) == "\u2591\u2591\u2591"); // 2.5 characters round up
    const Terminal ascii = terminal_of(false, {});
    CHECK(ascii.bar(0).empty());
    CHECK(ascii.bar(1) == "#");
    CHECK(ascii.bar(19) == "##");
    CHECK(ascii.light_bar(24) == "...");
    CHECK(utf8.times() == "\u00d7");
    CHECK(ascii.times() == "x");
}
