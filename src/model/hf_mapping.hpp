#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// How the configs of some model_types become the hyperparameters of a llama.cpp architecture: an entry of "mappings" in
/// data/hf_model_types.json. What the converter does for each: conversion/*.py of llama.cpp.
///
///     "qwen3_next": {"like": "qwen3_5_moe", "architecture": "qwen3next", "model_types": ["qwen3_next"],
///                    "hparams": {"feed_forward_length": "ff"}, "optional": {"output.weight": "!tied"}}
///
/// * `like`: an entry whose parts hold unless this one has its own; null takes one away.
/// * `hparams`: hyperparameters under their GGUF keys. `KEY[]` is worked out for every block, `KEY?` is absent where it
///   comes to 0 (both: where it is 0 in every block).
/// * `optional`: the optional tensors of the architecture, and when the file has them.
/// * `symbols`: names for expressions used above.
/// * `variants`: the first whose `when` holds is used instead of this entry.
/// * `index_lists`: keys of lists that number the layers, with the number of the first: they become a 0 or 1 per layer.
/// * `letters`: keys of texts with a letter a layer, and a word for each letter: KEY.WORD is a 0 or 1 per layer.
///
/// An expression is of the language of data/architectures (see its README). A name in it is a symbol, else a key of the
/// config: `rope_scaling.factor` is one in an object, `layer_types.sliding_attention` is 1 where the text (of that layer)
/// reads "sliding_attention", `KEY.length` the length of a list. The keys of a nested text_config come first. A key
/// with null, and the text "auto", is absent. Two keys come from the files beside the config: `stored.lm_head` (the
/// weights have an output matrix) and `pooling` (sentence-transformers' 1_Pooling/config.json). The language's built-in
/// names (`il`, `n_ctx`, ...) hide keys of the same name.
struct HfMapping {
    struct Rule {
        std::string key;
        std::string expression;
        bool per_layer = false;
        bool omit_zero = false;
    };
    using Texts = std::vector<std::pair<std::string, std::string>>;

    std::string architecture;
    Texts symbols;           ///< name, expression
    std::vector<Rule> rules; ///< `hparams`
    Texts optional;          ///< tensor, expression
    Texts variants;          ///< expression, name of the mapping
    std::vector<std::pair<std::string, double>> index_lists;
    std::vector<std::pair<std::string, Texts>> letters; ///< key; letter, word
};

/// The mapping of the entry `name`. Throws Error for a mistake in the data.
HfMapping hf_mapping(std::string_view name);

/// What a model_type is.
struct HfModelType {
    std::string mapping;     ///< name of its entry; empty where there is none
    std::string wraps;       ///< for one that wraps any text model: the model_type of that where the config has none
    std::string unsupported; ///< why llama.cpp cannot load it
};

HfModelType hf_model_type(std::string_view model_type);

/// Every model_type that has a mapping or wraps one that has, sorted.
std::vector<std::string> hf_model_types();

} // namespace vramfit
