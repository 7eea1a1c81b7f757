#pragma once

#include "vramfit/model/architecture.hpp"
#include "vramfit/model/hparams.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace vramfit {

/// Whether data/architectures describes the architecture of that GGUF name.
bool is_described(std::string_view architecture);

/// The plain transformer (data/architectures/standard.json) under the name of an architecture that is not described.
/// `where` names the model in messages. Throws Error where plain attention is not what it keeps, or cannot be sized.
std::shared_ptr<const Architecture> stand_in(std::string_view architecture, const Hparams& hparams,
                                             const std::string& where);

} // namespace vramfit
