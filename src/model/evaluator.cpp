#include "vramfit/model/evaluator.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vramfit {
namespace {

constexpr std::size_t stack_size = 64; // no expression of a template comes near

constexpr bool is_layer_builtin(Builtin name) {
    switch (name) {
    case Builtin::il:
    case Builtin::first:
    case Builtin::last:
    case Builtin::n_kv:
    case Builtin::rot_k:
    case Builtin::rot_v:
    case Builtin::n_rot_k:
    case Builtin::n_rot_v:
    case Builtin::v_pad:
    case Builtin::n_v_max: return true;
    default: return false;
    }
}

} // namespace

Evaluator::Evaluator(const Model& model) : model_(model), arch_(*model.architecture) {
    bind_names();
    tensor_index_.resize(arch_.tensors.size());
    const std::uint32_t n_block = model.n_block();
    std::vector<std::int32_t> slot_of(model.tensor_names.size(), -1);
    for (std::size_t i = 0; i < model.tensor_names.size(); ++i) {
        if (const auto slot = arch_.tensors.find(model.tensor_names[i])) slot_of[i] = static_cast<std::int32_t>(*slot);
    }
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        const std::int32_t slot = slot_of[tensor.name];
        if (slot < 0 || tensor.layer >= static_cast<std::int32_t>(n_block)) continue;
        auto& by_layer = tensor_index_[static_cast<std::size_t>(slot)];
        if (by_layer.empty()) by_layer.assign(n_block + 1, -1);
        by_layer[static_cast<std::size_t>(tensor.layer) + 1] = static_cast<std::int32_t>(i);
    }
    bind_layers();
}

Evaluator::Evaluator(const Model& model, const std::vector<std::string>& optional)
    : model_(model),
      arch_(*model.architecture),
      making_tensors_(true) {
    bind_names();
    optional_.assign(arch_.tensors.size(), false);
    for (const std::string& name : optional) {
        if (const auto slot = arch_.tensors.find(name)) optional_[*slot] = true;
    }
    bind_layers();
}

void Evaluator::bind_names() {
    const std::uint32_t n = arch_.names.size();
    slots_.resize(n);
    values_.assign(n, 0);
    stamps_.assign(n, 0);
    for (std::uint32_t slot = 0; slot < n; ++slot) {
        Slot& s = slots_[slot];
        if (slot < static_cast<std::uint32_t>(Builtin::count)) {
            s.kind = SlotKind::builtin;
            s.layered = is_layer_builtin(static_cast<Builtin>(slot));
            s.deployed = slot > static_cast<std::uint32_t>(Builtin::last);
        } else if (!arch_.symbols[slot].empty()) {
            s.kind = SlotKind::symbol;
        } else if ((s.value = model_.hparams.find(arch_.names.at(slot))) != nullptr) {
            s.kind = s.value->size() == 1 ? SlotKind::scalar : SlotKind::array;
            s.layered = s.kind == SlotKind::array;
            values_[slot] = s.value->front();
        }
    }
}

void Evaluator::bind_layers() {
    std::vector<std::uint8_t> state(slots_.size(), 0);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) mark_layered(slot, state);
    enter_layer(0);
}

bool Evaluator::mark_layered(std::uint32_t slot, std::vector<std::uint8_t>& state) {
    Slot& s = slots_[slot];
    if (s.kind != SlotKind::symbol || state[slot] == 2) return s.layered;
    if (state[slot] == 1)
        throw Error("symbol '" + arch_.names.at(slot) + "' of architecture " + arch_.name + " needs itself");
    state[slot] = 1;
    const bool outer = std::exchange(deployed_, false);
    s.layered = code_layered(arch_.symbols[slot], state);
    s.deployed = deployed_;
    deployed_ = outer;
    state[slot] = 2;
    return s.layered;
}

bool Evaluator::code_layered(const Expression& e, std::vector<std::uint8_t>& state) {
    bool layered = false;
    std::size_t same_until = 0; // up to there the value is the same in every layer, whatever stands inside
    const auto& code = e.code();
    for (std::size_t i = 0; i < code.size(); ++i) {
        const auto& in = code[i];
        bool here = false;
        switch (in.op) {
        case Expression::Op::name:
        case Expression::Op::coalesce:
            here = mark_layered(in.arg, state);
            deployed_ = deployed_ || slots_[in.arg].deployed;
            break;
        case Expression::Op::has_tensor:
        case Expression::Op::next_layer: here = true; break;
        case Expression::Op::layers_max:
        case Expression::Op::layers_sum: same_until = std::max<std::size_t>(same_until, in.target); break;
        default: break;
        }
        layered = layered || (here && i >= same_until);
    }
    return layered;
}

void Evaluator::collect_layer_terms(const Expression& e, LayerTerms& terms) const {
    const auto add = [](std::vector<std::uint32_t>& list, std::uint32_t slot) {
        if (std::ranges::find(list, slot) == list.end()) list.push_back(slot);
    };
    for (const auto& in : e.code()) {
        switch (in.op) {
        case Expression::Op::has_tensor: add(terms.tensors, in.arg); break;
        case Expression::Op::next_layer: ++terms.ahead; break;
        case Expression::Op::name:
        case Expression::Op::coalesce: {
            const Slot& s = slots_[in.arg];
            // A symbol that settings change, or that looks ahead, is told apart by what it is made of. What the layer's
            // cache decides (`n_kv` and the like) is told apart by the cache.
            if (s.kind == SlotKind::symbol && s.deployed)
                collect_layer_terms(arch_.symbols[in.arg], terms);
            else if (s.layered && !s.deployed)
                add(terms.names, in.arg);
            break;
        }
        default: break;
        }
    }
}

void Evaluator::set(Builtin name, double value) {
    const auto slot = static_cast<std::uint32_t>(name);
    if (values_[slot] == value) return;
    values_[slot] = value;
    layer_stamp_ = ++clock_;
    if (!slots_[slot].layered) global_stamp_ = ++clock_;
}

void Evaluator::enter_layer(std::int32_t il) {
    if (il == il_) return;
    il_ = il;
    values_[static_cast<std::uint32_t>(Builtin::il)] = il;
    values_[static_cast<std::uint32_t>(Builtin::first)] = il == 0 ? 1 : 0;
    values_[static_cast<std::uint32_t>(Builtin::last)] = il + 1 == static_cast<std::int32_t>(model_.n_layer()) ? 1 : 0;
    layer_stamp_ = ++clock_;
}

double Evaluator::name(std::uint32_t slot) {
    const Slot& s = slots_[slot];
    switch (s.kind) {
    case SlotKind::builtin:
    case SlotKind::scalar: return values_[slot];
    case SlotKind::array:
        if (static_cast<std::size_t>(il_) >= s.value->size())
            throw Error("hyperparameter '" + arch_.names.at(slot) + "' of " + model_.id + " has no element for layer " +
                        std::to_string(il_));
        return (*s.value)[static_cast<std::size_t>(il_)];
    case SlotKind::missing:
        throw Error(model_.id + " has no hyperparameter '" + arch_.names.at(slot) + "', which architecture " +
                    arch_.name + " needs");
    case SlotKind::symbol: break;
    }
    const std::uint64_t stamp = s.layered ? layer_stamp_ : global_stamp_;
    if (stamps_[slot] != stamp) {
        const double value = eval(arch_.symbols[slot]); // ends: `mark_layered` has refused symbols that need themselves
        values_[slot] = value;
        stamps_[slot] = s.layered ? layer_stamp_ : global_stamp_;
    }
    return values_[slot];
}

bool Evaluator::has_tensor(std::uint32_t slot) const {
    const std::int32_t canonical = arch_.canonical[slot];
    if (canonical < 0) return false;
    if (making_tensors_) return optional_[static_cast<std::size_t>(canonical)];
    return tensor(slot, il_) >= 0 || tensor(slot, -1) >= 0;
}

std::int32_t Evaluator::tensor(std::uint32_t slot, std::int32_t il) const {
    const std::int32_t canonical = arch_.canonical[slot];
    if (canonical < 0) return -1;
    const auto& by_layer = tensor_index_[static_cast<std::size_t>(canonical)];
    const auto at = static_cast<std::size_t>(il) + 1;
    return at < by_layer.size() ? by_layer[at] : -1;
}

double Evaluator::eval(const Expression& e) { return run(e.code(), 0, e.code().size()); }

std::uint64_t Evaluator::count(const Expression& e, std::string_view what) { return to_count(eval(e), what); }

double Evaluator::value_or(std::string_view name_text, double otherwise) {
    const auto slot = arch_.names.find(name_text);
    if (!slot) return model_.hparams.get(name_text, otherwise, static_cast<std::size_t>(std::max(il_, 0)));
    return slots_[*slot].kind == SlotKind::missing ? otherwise : name(*slot);
}

double Evaluator::over_layers(const std::vector<Expression::Instruction>& code, std::size_t begin, std::size_t end,
                              bool maximum) {
    const std::int32_t here = il_;
    double result = 0;
    for (std::int32_t il = 0; il < static_cast<std::int32_t>(model_.n_block()); ++il) {
        enter_layer(il);
        const double value = run(code, begin, end);
        result = maximum ? std::max(result, value) : result + value;
    }
    enter_layer(here);
    return result;
}

double Evaluator::run(const std::vector<Expression::Instruction>& code, std::size_t begin, std::size_t end) {
    using Code = Expression::Op;
    double stack[stack_size];
    std::size_t top = 0; // stack[top - 1] is the newest value
    const auto binary = [&](auto operation) {
        stack[top - 2] = operation(stack[top - 2], stack[top - 1]);
        --top;
    };
    for (std::size_t i = begin; i < end; ++i) {
        const auto& in = code[i];
        if (top + 1 >= stack_size) throw Error("an expression of architecture " + arch_.name + " is too large");
        switch (in.op) {
        case Code::constant: stack[top++] = in.value; break;
        case Code::name: stack[top++] = name(in.arg); break;
        case Code::has_tensor: stack[top++] = has_tensor(in.arg) ? 1 : 0; break;
        case Code::has_key: stack[top++] = slots_[in.arg].kind == SlotKind::missing ? 0 : 1; break;
        case Code::coalesce:
            if (slots_[in.arg].kind != SlotKind::missing) {
                stack[top++] = name(in.arg);
                i = in.target - 1;
            }
            break;
        case Code::negate: stack[top - 1] = -stack[top - 1]; break;
        case Code::logical_not: stack[top - 1] = stack[top - 1] == 0 ? 1 : 0; break;
        case Code::to_bool: stack[top - 1] = stack[top - 1] != 0 ? 1 : 0; break;
        case Code::add: binary([](double a, double b) { return a + b; }); break;
        case Code::subtract: binary([](double a, double b) { return a - b; }); break;
        case Code::multiply: binary([](double a, double b) { return a * b; }); break;
        case Code::divide:
        case Code::modulo:
        case Code::pad:
            if (stack[top - 1] == 0)
                throw Error("a division by zero in architecture " + arch_.name + " for " + model_.id);
            if (in.op == Code::divide)
                binary([](double a, double b) { return std::floor(a / b); });
            else if (in.op == Code::modulo)
                binary([](double a, double b) { return a - std::floor(a / b) * b; });
            else
                binary([](double a, double b) { return std::ceil(a / b) * b; });
            break;
        case Code::equal: binary([](double a, double b) { return a == b ? 1.0 : 0.0; }); break;
        case Code::not_equal: binary([](double a, double b) { return a != b ? 1.0 : 0.0; }); break;
        case Code::less: binary([](double a, double b) { return a < b ? 1.0 : 0.0; }); break;
        case Code::less_equal: binary([](double a, double b) { return a <= b ? 1.0 : 0.0; }); break;
        case Code::greater: binary([](double a, double b) { return a > b ? 1.0 : 0.0; }); break;
        case Code::greater_equal: binary([](double a, double b) { return a >= b ? 1.0 : 0.0; }); break;
        case Code::minimum: binary([](double a, double b) { return std::min(a, b); }); break;
        case Code::maximum: binary([](double a, double b) { return std::max(a, b); }); break;
        case Code::jump: i = in.target - 1; break;
        case Code::jump_false:
            if (stack[--top] == 0) i = in.target - 1;
            break;
        case Code::and_jump:
            if (stack[top - 1] == 0)
                i = in.target - 1;
            else
                --top;
            break;
        case Code::or_jump:
            if (stack[top - 1] != 0) {
                stack[top - 1] = 1;
                i = in.target - 1;
            } else {
                --top;
            }
            break;
        case Code::next_layer: {
            const std::int32_t here = il_;
            double value = 0;
            if (here + 1 < static_cast<std::int32_t>(model_.n_layer())) {
                enter_layer(here + 1);
                value = run(code, i + 1, in.target);
                enter_layer(here);
            }
            stack[top++] = value;
            i = in.target - 1;
            break;
        }
        case Code::layers_max:
        case Code::layers_sum:
            stack[top++] = over_layers(code, i + 1, in.target, in.op == Code::layers_max);
            i = in.target - 1;
            break;
        }
    }
    return top == 0 ? 0 : stack[top - 1];
}

} // namespace vramfit
