// Logs are hostile: whatever stands in one, it is diagnosed or refused with an Error, and nothing of it reaches the
// terminal as a command.
#include "cli/render_diagnosis.hpp"
#include "support/log_stream.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

void require_harmless(const std::string& text) {
    if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' ' && c != '\n'; })) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace vramfit;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const cli::Terminal terminal(false, [](const char*) { return std::string(); });
    try {
        const Diagnosis found = diagnose(test::log_stream(text), {});
        require_harmless(cli::render_diagnosis_text(found, terminal));
        require_harmless(cli::render_diagnosis_json(found));
        require_harmless(cli::render_report(found));
        compare(test::log_stream(text), {});
    } catch (const Error&) {
    }
    return 0;
}
