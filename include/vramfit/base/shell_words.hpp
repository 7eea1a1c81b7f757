#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The commands of a shell's text, each as its words: quotes and backslashes as a POSIX shell has them, a backslash at
/// the end of a line joins it to the next one, `#` starts a comment. `;`, `&`, `|`, `&&`, `||`, parentheses and line ends
/// stand between commands; redirections are left out. Nothing is expanded: "$HOME" stays. Throws Error for a quote that
/// is not closed.
std::vector<std::vector<std::string>> shell_commands(std::string_view text);

/// The words of a text that is one command: operators are characters like others.
std::vector<std::string> shell_words(std::string_view text);

/// `text` as a shell reads it back: in single quotes where it is more than letters, digits and what no shell minds.
std::string shell_word(const std::string& text);

} // namespace vramfit
