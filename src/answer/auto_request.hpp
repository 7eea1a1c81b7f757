#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// What `--gpu-layers auto` stands for: the request with the context and the places that llama.cpp's `--fit` ends
/// with (auto_fit.hpp), and notes that say so.
struct AutoRequest {
    Request request;
    std::vector<std::string> notes;
};

AutoRequest resolve_auto(Judge& judge, const Request& asked);

/// Parts of layers as overrides that `-ot` takes: "REGEX=BUFFER", those of the experts on the host in one.
/// `buffers`: by device.
std::vector<std::string> override_texts(const std::vector<PartOverride>& parts, std::uint32_t n_block,
                                        const std::vector<std::string>& buffers);

} // namespace vramfit
