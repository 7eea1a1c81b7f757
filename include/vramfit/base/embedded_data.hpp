#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// The files of `data/`, compiled into the binary (by `src/data/embed_data.cpp`) as minified JSON text.
///
/// Models and GPUs are cut into one text an entry, found by name through a sorted index, so that a question parses only
/// the entry that it names. Everything is constant data: nothing runs at start-up, untouched entries stay on disk.
namespace vramfit::embedded {

/// The text of a file by its path under `data/`: "architectures/llama.json", "runtimes.json", "schema/estimate.json".
/// Nothing for an unknown path, and for `models/` and `gpus.json`, which exist only as entries.
std::optional<std::string_view> file(std::string_view path);

/// The paths that `file` knows, sorted.
std::span<const std::string_view> files();

/// One model or GPU.
struct Entry {
    std::string_view id;
    std::string_view group; ///< family of the model, vendor of the GPU
    std::string_view json;  ///< the entry's own JSON object
};

/// Every bundled model, sorted by id.
std::span<const Entry> models();

/// Every bundled GPU, sorted by id.
std::span<const Entry> gpus();

/// One of the names (id, name, alias) under which an entry is known.
struct Name {
    std::string_view key;     ///< `normalize_name(written)`
    std::string_view written; ///< as the data file spells it
    std::uint32_t entry = 0;  ///< index into `models()` or `gpus()`
};

/// Every name of every model, sorted by key, then spelling. A spelling belongs to one model only.
std::span<const Name> model_names();

/// Every name of every GPU, sorted by key, then spelling. Drivers call several cards "NVIDIA GeForce RTX 3060", so a
/// name may belong to several; an id never does.
std::span<const Name> gpu_names();

/// The names in `names` (one of the two lists above) whose key is `key`; `key` must be normalised.
std::span<const Name> with_key(std::span<const Name> names, std::string_view key);

} // namespace vramfit::embedded
