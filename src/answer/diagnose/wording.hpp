#pragma once

#include "programs.hpp"

#include "vramfit/answer/diagnosis.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How the program of the log is told something: kind "ctx", value "8192" are {"-c", "8192"} for llama.cpp and
/// {"OLLAMA_CONTEXT_LENGTH=8192"} for Ollama. Empty where it has no such setting, in its version.
std::vector<std::string> flags_of(const Diagnosis& diagnosis, std::string_view kind, std::string_view value);

/// The same of a runtime's newest version.
std::vector<std::string> flags_of(LogRuntime runtime, std::string_view kind, std::string_view value);

/// The same of a context of `n_ctx` tokens in all: Ollama counts those of one of its parallel requests.
std::vector<std::string> context_flags(const Diagnosis& diagnosis, std::uint64_t n_ctx);

/// What the estimator suggests in the words of the log's runtime. Empty where that lacks one of the settings, and for
/// another model or card, which is no option of a running program.
std::vector<std::string> flags_of(const Diagnosis& diagnosis, const Suggestion& suggestion);

/// Whether it runs llama.cpp's own memory code, so that the estimator speaks for it.
bool runs_llama_cpp(const Diagnosis& diagnosis);
bool runs_llama_cpp(LogRuntime runtime);

/// The estimator's name of an engine that reads checkpoints ("vllm", "transformers"); empty for others.
std::string_view engine_of(const Diagnosis& diagnosis);

/// The program of the log where it is none of the runtimes, and uses the code of one; or nullptr.
const ProgramInfo* program_of(const Diagnosis& diagnosis);

} // namespace vramfit
