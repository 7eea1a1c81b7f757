#pragma once

#include "conclude.hpp"
#include "subject.hpp"

namespace vramfit {

/// The question that a load asked of the hardware: the settings that its log shows, under what `hints` say and above
/// what the model's source wants. Quantization and figures are those of the diagnosis; what is not known stays open.
/// Versions of llama.cpp that print less behave otherwise, so what is missing tells, too.
Request request_of(const Load& load, const Diagnosis& diagnosis, const Request& hints, const Subject& subject);

/// Whether the log shows the settings of llama.cpp's context, but none of what newer versions print of its outputs:
/// those versions reserve logits for every token of a physical batch, and read one a sequence (llama-context.cpp).
bool reserves_all_outputs(const Load& load);

} // namespace vramfit
