#pragma once

#include "vramfit/answer/answer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// A question, the model that it names, and what the model's source says where the person says nothing else.
struct SourcedRequest {
    Request request; ///< with the source's projector and adapters
    Model model;
    std::optional<std::uint64_t> n_ctx; ///< the context that the source wants the model to run with
    std::vector<std::string> notes;     ///< what an answer should mention
};

/// Loads the model that the question names. Throws Error as `load_model` and `ask_for_quant` do.
SourcedRequest with_source(const Request& request, const ModelSources& sources);

/// The answer, at the source's context where the question has none. `estimator` is of the model.
Answer answer(const SourcedRequest& asked, Estimator& estimator);

} // namespace vramfit
