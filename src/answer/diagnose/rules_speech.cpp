// What people and models said, which servers print when they are told to: words about memory in it are no failures.
#include "log_reader.hpp"

#include <array>

namespace vramfit {
namespace {

void read_speech(LogReader& reader, const Mention&) { reader.ignore_rest_of_line(); }

constexpr std::array rules{
    Rule{"\"content\":", read_speech},     // the chat API of OpenAI and everybody after it
    Rule{"\\\"content\\\":", read_speech}, // the same, within a string
    Rule{"'content': ", read_speech},      // and as Python prints it
    Rule{"\"prompt\":", read_speech},      Rule{"\\\"prompt\\\":", read_speech},
    Rule{"prompt=\"", read_speech}, // Ollama, OLLAMA_DEBUG=1
    Rule{"prompt: '", read_speech}, // vLLM, "Received request"
    Rule{"\"messages\":", read_speech},    Rule{"\"input\":", read_speech},
    Rule{"\"response\":", read_speech},    Rule{"\"text\":", read_speech},
    Rule{"\"delta\":", read_speech},
};

} // namespace

std::span<const Rule> speech_rules() { return rules; }

} // namespace vramfit
