#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

/// Small readers of what logs say: numbers, sizes, names. None throws; what cannot be read is nothing.
namespace vramfit::log_text {

/// The text behind `mark`, or nothing where it does not stand in `text`.
std::optional<std::string_view> after(std::string_view text, std::string_view mark);

/// The text before `mark`; all of it where the mark is missing.
std::string_view before(std::string_view text, std::string_view mark);

/// The number at the start of `text`, behind blanks, `=`, `:`, `"`, `'`, `(`, `[` and `~`: "16384", "20,992", "-3.03".
std::optional<double> number(std::string_view text);

/// The whole number there, not negative.
std::optional<std::uint64_t> count(std::string_view text);

/// The size there: a number and its unit ("5.33 GiB", "1022MiB", "0 bytes"). A whole number without a unit is of bytes;
/// one with a fraction has lost its unit and is nothing. Units are binary, as every runtime means them in its log
/// (`ollama ps` is the exception). A fraction of a byte is dropped.
std::optional<std::uint64_t> size_in(std::string_view text);

/// The size behind `mark`; nothing where the mark is missing.
std::optional<std::uint64_t> size_after(std::string_view text, std::string_view mark);

/// The size in front of `mark`, without blanks: "4.61GiBalreadyallocated".
std::optional<std::uint64_t> size_before(std::string_view text, std::string_view mark);

/// So many units of `unit` bytes.
std::optional<std::uint64_t> bytes_of(double amount, double unit);

/// The value of `key=` in a line of Ollama's: `key=value`, `key="a value"` or `"key"=value`. Brackets are taken off.
std::optional<std::string_view> field(std::string_view line, std::string_view key);

/// What stands between the last ": " before `end` and `end`: the device in "llama_kv_cache:      CUDA0 KV buffer size".
std::string_view name_before(std::string_view line, std::size_t end);

/// The quoted or blank-ended word at the start of `text`.
std::string_view word(std::string_view text);

/// `line` without the colours of terminals.
std::string without_colors(std::string_view line);

/// Whether `line` has characters that have no width (web pages put them into long words), and the line without them.
bool has_hidden(std::string_view line);
std::string without_hidden(std::string_view line);

/// `line` without what wrappers put in front: quotation marks of mail, the columns of journald, docker, kubernetes and
/// worker processes, timestamps and levels.
std::string_view without_prefix(std::string_view line);

/// `text` without blanks: wrapped lines can then be put together wherever they were broken.
std::string squeezed(std::string_view text);

/// Whether what stands at `at` is part of a path or an address: a folder's name does not tell who wrote a log.
bool in_path(std::string_view line, std::size_t at);

/// Whether the path that ends at `at` is that of a frame of Python's traceback in a library: "File
/// ".../site-packages/vllm/worker/worker.py", line 223, in profile_run". Other paths do not tell whose log it is:
/// `modules` are of the library alone.
bool is_frame_of(std::string_view line, std::size_t at, std::string_view rest,
                 std::initializer_list<std::string_view> modules);

/// The file's name in a path of any system.
std::string_view file_name(std::string_view path);

/// The same of a model's file; where it is called "model.gguf", as Jan's are, the folder has the name.
std::string_view model_file_name(std::string_view path);

} // namespace vramfit::log_text
