#pragma once

#include "answer/judge.hpp"
#include "answer/source_request.hpp"
#include "vramfit/answer/table.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

// What the tables have in common: what they try, and how they write it down.

/// A file type that a model can be had in, and the exact size of such a file's tensors.
struct Quant {
    std::string name;
    std::uint64_t tensor_bytes = 0;
};

/// The file types that people publish, those alone that can be made of the estimator's model, largest first. Where
/// `request` names one, or the model's file holds one, that one.
std::vector<Quant> quants_of(Estimator& estimator, const Request& request);

/// The request on a device that holds everything, for questions of how much is needed. Throws Error for settings of
/// devices that are not given.
Request on_any_device(Request request);

/// What a GPU must have for `trial`, one of `on_any_device`: with what the driver and the process take of it.
std::uint64_t needed_bytes(const Trial& trial);
inline constexpr std::string_view needed_legend = "required: on one GPU, what its driver and the process take included";

/// What a trial takes of all devices together, what it leaves on the worst one, and the verdict with the former.
std::uint64_t required_bytes(const Trial& trial);
std::int64_t least_headroom(const Trial& trial);
SizedVerdict sized_verdict(const Trial& trial);

/// Notes what slots that were asked for make of the contexts.
void note_slots(Table& table, const Request& request, const Trial& trial);

/// Notes once why the runtime refuses what was tried, where it does.
void note_refusal(Table& table, const Trial& trial);

double bits_per_weight(const Model& model, std::uint64_t tensor_bytes);

/// Does it fit as well as the request wants it to?
bool is_good(Verdict verdict, const Request& request);

/// The part of the question that is given: of any model, and of the judge's one.
TableSubject subject_of(const Request& request);
TableSubject subject_of(const Request& request, const Judge& judge);

// The tables, each in a file of its own. An estimator is of the request's model.

/// Every quantization at the request's context, the best one that fits marked.
Table quants_that_fit(const Request& request, Estimator& estimator);
/// The same without a GPU: the memory that each needs.
Table quants_by_need(const Request& request, Estimator& estimator);
/// Quantization, or type of the KV cache, against context.
Table quants_by_context(const Request& request, Estimator& estimator);
Table caches_by_context(const Request& request, Estimator& estimator);
/// The GPUs of the catalog that hold it.
Table gpus_that_hold(const Request& request, Estimator& estimator);
/// Every runtime, by its own rules.
Table runtimes_compared(const SourcedRequest& asked, Estimator& estimator);
/// The models of the catalogs that fit.
Table models_that_fit(const Request& request, const ModelSources& sources);

} // namespace vramfit
