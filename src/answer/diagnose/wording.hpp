#pragma once

#include "vramfit/answer/diagnosis.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How `runtime` is told something: kind "ctx", value "8192" are {"-c", "8192"} for llama.cpp and
/// {"OLLAMA_CONTEXT_LENGTH=8192"} for Ollama. Empty where the runtime has no such setting.
std::vector<std::string> flags_of(LogRuntime runtime, std::string_view kind, std::string_view value);

/// The same of a context of `n_ctx` tokens in all: Ollama counts those of one of its parallel requests.
std::vector<std::string> context_flags(const Diagnosis& diagnosis, std::uint64_t n_ctx);

/// What the estimator suggests in the words of the log's runtime. Empty where that lacks one of the settings, and for
/// another model or card, which is no option of a running program.
std::vector<std::string> flags_of(const Diagnosis& diagnosis, const Suggestion& suggestion);

/// Which runtimes run llama.cpp's own memory code, so that the estimator speaks for them.
bool runs_llama_cpp(LogRuntime runtime);

/// The estimator's name of an engine that reads checkpoints ("vllm", "transformers"); empty for other runtimes.
std::string_view engine_of(LogRuntime runtime);

} // namespace vramfit
