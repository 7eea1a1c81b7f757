// What people and models said, which servers print when they are told to: words about memory in it are no failures.
#include "log_reader.hpp"
#include "log_text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

/// A chat template's mark of what a person says, which may go on over several lines.
constexpr std::array<std::string_view, 5> turns{"<|im_start|>user", "user<|end_header_id|>", "<start_of_turn>user",
                                                "[INST]", "<|user|>"}; // ChatML, Llama 3, Gemma, Llama 2 and Mistral
constexpr std::array<std::string_view, 6> turn_ends{"<|im_end|>", "<|eot_id|>", "<end_of_turn>",
                                                    "[/INST]",    "<|end|>",    "<|assistant|>"};

bool holds_any(std::string_view text, std::span<const std::string_view> marks) {
    return std::ranges::any_of(marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

void read_turn(LogReader& reader, const Mention& mention) {
    reader.ignore_rest_of_line();
    if (!holds_any(mention.rest, turn_ends)) reader.ignore_lines(turn_ends);
}

void read_speech(LogReader& reader, const Mention& mention) {
    reader.ignore_rest_of_line();
    if (holds_any(mention.rest, turns)) read_turn(reader, mention);
}

/// "User: why ...", of a chat that was written down: where a line begins so.
void read_said(LogReader& reader, const Mention& mention) {
    if (log_text::without_prefix(mention.line).size() == mention.line.size() - mention.at) reader.ignore_rest_of_line();
}

constexpr std::array rules{
    Rule{"\"content\":", read_speech},     // the chat API of OpenAI and everybody after it
    Rule{"\\\"content\\\":", read_speech}, // the same, within a string
    Rule{"'content': ", read_speech},      // and as Python prints it
    Rule{"\"prompt\":", read_speech},
    Rule{"\\\"prompt\\\":", read_speech},
    Rule{"prompt=\"", read_speech}, // Ollama, OLLAMA_DEBUG=1
    Rule{"prompt: '", read_speech}, // vLLM, "Received request"
    Rule{"\"messages\":", read_speech},
    Rule{"\"input\":", read_speech},
    Rule{"\"response\":", read_speech},
    Rule{"\"text\":", read_speech},
    Rule{"\"delta\":", read_speech},
    Rule{"formatted prompt", read_speech}, // llama-cli, llama-server
    Rule{"User: ", read_said},
    Rule{"user: ", read_said},
    Rule{"USER: ", read_said},
    Rule{"Human: ", read_said},
    Rule{"<|im_start|>user", read_turn},      // ChatML
    Rule{"user<|end_header_id|>", read_turn}, // Llama 3
    Rule{"<start_of_turn>user", read_turn},   // Gemma
    Rule{"[INST]", read_turn},                // Llama 2, Mistral
    Rule{"<|user|>", read_turn},
    Rule{"### Instruction:", read_speech},
};

} // namespace

std::span<const Rule> speech_rules() { return rules; }

} // namespace vramfit
