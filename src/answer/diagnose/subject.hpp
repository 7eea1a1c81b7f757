#pragma once

#include "log_facts.hpp"

#include "vramfit/memory/estimate.hpp"

#include <memory>
#include <string>

namespace vramfit {

/// The model that a log is about, as far as it can be sized.
struct Subject {
    std::string id;                       ///< of the catalog, or as a person said it; empty: what the log shows
    std::unique_ptr<Estimator> estimator; ///< nothing where the model is not known
    std::string shape_of;                 ///< of the catalog, where `id` is empty: only its shape is the log's
    bool named = false;                   ///< by a person
    bool weights_known = true;            ///< else only its cache can be sized
    bool agrees = true;                   ///< with the log's own figures; else nothing of it is confirmed
    Request request;                      ///< what its source wants: context, projector, adapters

    bool known() const { return estimator != nullptr; }
};

/// Throws Error for a file type or a GPU that is unknown, and for more free memory than the GPU has.
void check_hints(const Request& hints);

/// Completes the file type: the one that was said, else the one that the log or the file's name shows.
void identify_quant(Diagnosis& diagnosis, const Load& load, const Request& hints);

/// The model that `hints` name; else one of the catalog that has the log's name and shape; else one made of the log's
/// metadata. Throws Error where a person names a model that cannot be had.
Subject subject_of(const Load& load, const Request& hints);

} // namespace vramfit
