#pragma once

#include "vramfit/answer/table.hpp"

#include <variant>

namespace vramfit {

/// Of the four, model, quantization, context and GPU, a question may leave some open. The answer is then a table of what
/// they can be, every row and cell of it what `answer` would say to the question with that filled in:
///
///     model, quant, ctx, gpu   the answer itself
///     model, quant, gpu        the answer at the largest context that fits
///     model, ctx, gpu          every quantization, the best one that fits marked
///     model, quant, ctx        the GPUs of the catalog that hold it, smallest first
///     model, gpu               quantization against context: verdict, memory, the largest context
///     model (and quant)        quantization against context: the memory needed
///     model, ctx               every quantization: the memory needed
///     ctx, gpu (and quant)     the models of the catalog that fit, largest first
///
/// A GGUF file has its quantization with it: where there is one of them, its table has one row. Request::table asks for a
/// table where the question is complete without. With the runtime `all_runtimes` a complete question has a row a runtime.
using Solution = std::variant<Answer, Table>;

/// Answers a question and looks for what it leaves open. Throws Error as `answer` does, and where too much is left open.
Solution solve(const Request& request, const ModelSources& sources = {});

/// The contexts that tables show for a model that was trained for `n_ctx_train` tokens (0: not known): 4096 and its
/// doubles up to that, at most six, the trained one among them.
std::vector<std::uint64_t> table_contexts(std::uint64_t n_ctx_train);

} // namespace vramfit
