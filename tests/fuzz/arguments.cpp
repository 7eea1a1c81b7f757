// A command line, an argument a line: it becomes a question or an Error, and bringing it into normal form twice is the
// same as once.
#include "cli/fit_options.hpp"
#include "cli/normalise.hpp"
#include "vramfit/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return lines;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace vramfit::cli;
    const auto arguments = lines_of({reinterpret_cast<const char*>(data), size});
    for (const auto table : {fit_options(), listing_options()}) {
        try {
            const auto normal = normalise(arguments, table);
            if (normalise(normal, table) != normal) std::abort();
            const ParsedArguments parsed = parse(arguments, table);
            if (table.data() == fit_options().data()) read_fit_options(parsed);
        } catch (const vramfit::Error&) {
        }
    }
    return 0;
}
