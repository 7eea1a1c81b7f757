#pragma once

#include "vramfit/model/architecture.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace vramfit {

/// Evaluates an architecture's expressions for one model. Holds the values of symbols that it has worked out, so
/// that a symbol costs its arithmetic once a layer, or once at all where no layer changes it.
class Evaluator {
public:
    /// For a model whose tensors are known. `model` and its architecture must outlive the evaluator.
    explicit Evaluator(const Model& model);
    /// While the tensors are being made from templates: `has()` answers from the list of optional ones.
    Evaluator(const Model& model, const std::vector<std::string>& optional);

    const Model& model() const { return model_; }
    const Architecture& architecture() const { return arch_; }

    void set(Builtin name, double value);
    double get(Builtin name) const { return values_[static_cast<std::uint32_t>(name)]; }

    /// Moves to layer `il`: arrays, `il`, `first` and `last` follow.
    void enter_layer(std::int32_t il);

    double eval(const Expression& e);
    bool holds(const Expression& e) { return e.empty() || eval(e) != 0; }
    /// `eval` as a count; `what` names the place in the message of the Error.
    std::uint64_t count(const Expression& e, std::string_view what);
    /// Value of the symbol or hyperparameter `name` in the current layer, or `otherwise` where nothing has that name.
    double value_or(std::string_view name, double otherwise);

    /// Index into Model::tensors of the tensor with the name of `slot` in layer `il` (-1: outside the layers), or -1.
    std::int32_t tensor(std::uint32_t slot, std::int32_t il) const;

    /// What tells the layers of this model apart in the expressions `e` and everything that they need, whatever the
    /// settings: adds names whose values no setting changes, and tensors that may be there or not, by slot.
    struct LayerTerms {
        std::vector<std::uint32_t> names;
        std::vector<std::uint32_t> tensors;
        std::int32_t ahead = 0; ///< how many of the following layers may matter, too (`next(...)`)
    };
    void collect_layer_terms(const Expression& e, LayerTerms& terms) const;
    /// Value of the name of `slot` in the current layer.
    double value(std::uint32_t slot) { return name(slot); }

private:
    enum class SlotKind : std::uint8_t { builtin, symbol, scalar, array, missing };
    struct Slot {
        SlotKind kind = SlotKind::missing;
        bool layered = false;  ///< differs between layers
        bool deployed = false; ///< differs between deployments
        const Hparams::Value* value = nullptr;
    };

    void bind_names();
    void bind_layers();
    bool mark_layered(std::uint32_t slot, std::vector<std::uint8_t>& state);
    bool code_layered(const Expression& e, std::vector<std::uint8_t>& state);
    double name(std::uint32_t slot);
    bool has_tensor(std::uint32_t slot) const;
    double run(const std::vector<Expression::Instruction>& code, std::size_t begin, std::size_t end);
    double over_layers(const std::vector<Expression::Instruction>& code, std::size_t begin, std::size_t end,
                       bool maximum);

    const Model& model_;
    const Architecture& arch_;
    std::vector<Slot> slots_;
    std::vector<double> values_;
    std::vector<std::uint64_t> stamps_;
    std::uint64_t layer_stamp_ = 1;
    std::uint64_t global_stamp_ = 1;
    std::uint64_t clock_ = 1;
    std::int32_t il_ = -1;
    std::vector<std::vector<std::int32_t>> tensor_index_; ///< by canonical slot: index by layer + 1
    std::vector<bool> optional_;                          ///< by slot, while tensors are being made
    bool making_tensors_ = false;
    bool deployed_ = false; ///< while binding: the code walked so far needs a setting
};

} // namespace vramfit
