// The choice of tensor types by llama-quantize: src/llama-quant.cpp of llama.cpp. It visits the tensors in natural
// order of their names and counts, for some groups of tensors, how many it has seen: the layer of a rule is often such
// a count and not the number in the name.
#include "vramfit/model/quant_mix.hpp"

#include "model/tensor_role.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <numeric>

namespace vramfit {

namespace {

using F = FileType;
using T = TensorType;
using Role = TensorRole;

// ---- The state of one run -------------------------------------------------------------------------------------------

struct Run {
    F file{};
    T base{};
    bool imatrix = false;
    bool falcon = false;
    bool is_70b = false;
    bool tied = true; // no output matrix of its own: the token embedding serves as one
    std::uint32_t n_block = 0;
    std::uint32_t n_value = 0;
    std::uint32_t n_expert = 0;
    std::uint32_t n_gqa = 0; // heads that share a KV head, in layer 0
    // tensors visited so far
    std::uint32_t i_value = 0;
    std::uint32_t i_down = 0;
    std::uint32_t i_gate = 0;
    std::uint32_t i_up = 0;

    bool grouped() const { return n_gqa >= 4; }
    bool eight_experts() const { return n_expert == 8; } // Mixtral: its attention is small beside the experts
};

bool is_one_of(F file, std::initializer_list<F> list) {
    return std::find(list.begin(), list.end(), file) != list.end();
}

// The file types of 1 and 2 bits that have rules of their own.
bool is_smallest(F file) { return is_one_of(file, {F::iq1_s, F::iq1_m, F::iq2_xxs, F::iq2_xs, F::iq2_s, F::iq2_m}); }

// The layers that the _M mixes give more bits: the first and last eighth, and every third between.
bool use_more_bits(std::uint32_t i, std::uint32_t n) {
    const std::uint32_t first = n / 8;
    return i < first || i >= 7 * n / 8 || (i - first) % 3 == 2;
}

// The layer of an FFN rule. Experts may be several tensors a layer, so there the block number in the name counts.
std::uint32_t ffn_layer(const Run& run, std::uint32_t visited, const Tensor& tensor) {
    return run.n_expert > 1 && tensor.layer >= 0 ? static_cast<std::uint32_t>(tensor.layer) : visited;
}

// ---- The rules, in the order in which they are tried ----------------------------------------------------------------

T output_type(const Run& run, const Tensor& tensor) {
    if (run.file == F::mxfp4_moe || run.falcon || tensor.ne[0] % traits(run.base).block != 0) return T::q8_0;
    if (is_smallest(run.file) || run.file == F::iq3_xxs) return T::q5_k;
    return run.base == T::q8_0 ? T::q8_0 : T::q6_k;
}

// MXFP4_MOE: experts are the tensors with a third dimension.
T mxfp4_moe_type(const Tensor& tensor) { return tensor.ne[2] > 1 ? T::mxfp4 : T::q8_0; }

T embedding_type(const Run& run) {
    if (is_one_of(run.file, {F::iq1_s, F::iq1_m, F::iq2_xxs, F::iq2_xs})) return T::q2_k;
    if (is_one_of(run.file, {F::iq2_s, F::iq2_m, F::iq3_xxs})) return T::iq3_s;
    if (is_one_of(run.file, {F::tq1_0, F::tq2_0, F::q2_0})) return T::q4_k;
    return run.base;
}

// Here ffn_down goes by the count, experts or not.
T smallest_type(Run& run, Role role) {
    const bool upper = run.file == F::iq2_s || run.file == F::iq2_m;
    const bool one_bit = run.file == F::iq1_s || run.file == F::iq1_m;
    const T lifted = upper ? T::iq3_s : T::q2_k;
    switch (role) {
    case Role::value: ++run.i_value; return run.grouped() || run.n_expert >= 4 ? T::q4_k : lifted;
    case Role::attn_k: return run.eight_experts() ? T::q4_k : run.base;
    case Role::ffn_down: return run.i_down++ < run.n_block / 8 ? lifted : run.base;
    case Role::attn_output:
        if (run.eight_experts()) return T::q5_k;
        return one_bit ? T::iq2_xxs : upper ? T::iq3_s : run.base;
    default: return run.base;
    }
}

T value_type_of_mix(const Run& run) {
    const std::uint32_t i = run.i_value;
    switch (run.file) {
    case F::q2_k: return run.grouped() ? T::q4_k : T::q3_k;
    case F::q2_k_s:
    case F::iq3_xs:
    case F::iq3_s: return run.grouped() ? T::q4_k : run.base;
    case F::iq3_xxs: return run.grouped() ? T::q4_k : run.imatrix ? T::iq3_xxs : T::iq3_s;
    case F::iq3_m: return T::q4_k;
    case F::q3_k_m: return i < 2 ? T::q5_k : T::q4_k;
    case F::q3_k_l: return T::q5_k;
    case F::iq4_nl:
    case F::iq4_xs: return run.grouped() ? T::q5_k : run.base;
    case F::q4_k_m:
    case F::q5_k_m: return use_more_bits(i, run.n_value) ? T::q6_k : run.base;
    case F::q4_k_s: return i < 4 ? T::q5_k : run.base;
    default: return run.base;
    }
}

T value_type(Run& run) {
    const T type = value_type_of_mix(run);
    ++run.i_value;
    if (run.eight_experts()) return T::q8_0;
    return run.is_70b && (type == T::q3_k || type == T::q4_k) ? T::q5_k : type;
}

T query_type(const Run& run) {
    switch (run.file) {
    case F::iq3_xs: return T::iq3_xxs;
    case F::iq3_xxs: return T::iq2_s;
    default: return run.base;
    }
}

T key_type(const Run& run) { return run.eight_experts() ? T::q8_0 : query_type(run); }

std::optional<T> falcon_down_type(const Run& run, std::uint32_t i) {
    const std::uint32_t n = run.n_block;
    switch (run.file) {
    case F::q3_k_m: return i < n / 16 ? T::q5_k : use_more_bits(i, n) ? T::q4_k : T::q3_k;
    case F::q3_k_l: return T::q4_k;
    case F::q4_k_m: return i < n / 16 ? T::q6_k : use_more_bits(i, n) ? T::q5_k : T::q4_k;
    case F::q4_k_s: return run.base;
    default: return std::nullopt; // as everywhere
    }
}

T down_type(Run& run, const Tensor& tensor) {
    const std::uint32_t n = run.n_block;
    const std::uint32_t i = ffn_layer(run, run.i_down++, tensor);
    const bool first_eighth = i < n / 8;
    if (run.falcon) {
        if (const auto type = falcon_down_type(run, i)) return *type;
    }
    switch (run.file) {
    case F::q2_k: return T::q3_k;
    case F::q2_k_s: return first_eighth ? T::q4_k : run.base;
    case F::q3_k_m: return i < n / 16 ? T::q5_k : T::q4_k;
    case F::q3_k_l: return T::q5_k;
    case F::q4_k_s: return first_eighth ? T::q5_k : run.base;
    case F::q4_k_m:
    case F::q5_k_m: return use_more_bits(i, n) ? T::q6_k : run.base;
    case F::q4_0: return first_eighth && run.imatrix ? T::q4_1 : run.base;
    case F::q5_0: return first_eighth && run.imatrix ? T::q5_1 : run.base;
    case F::iq3_xxs: return run.imatrix ? run.base : first_eighth ? T::q4_k : T::q3_k;
    case F::iq3_m: return first_eighth || (run.eight_experts() && use_more_bits(i, n)) ? T::q4_k : run.base;
    case F::iq4_nl:
    case F::iq4_xs: return first_eighth && !run.imatrix ? T::q5_k : run.base;
    default: return run.base;
    }
}

T attn_output_type(const Run& run) {
    if (run.falcon) return run.file == F::q3_k_l ? T::q4_k : run.base;
    if (run.eight_experts()) {
        const bool lifted = is_one_of(run.file, {F::q2_k, F::q3_k_s, F::q3_k_m, F::q4_k_s, F::q4_k_m, F::iq3_xxs,
                                                 F::iq3_xs, F::iq3_s, F::iq3_m, F::iq4_nl, F::iq4_xs});
        return lifted ? T::q5_k : run.base;
    }
    switch (run.file) {
    case F::q2_k: return T::q3_k;
    case F::iq3_xxs: return T::iq3_s;
    case F::q3_k_m:
    case F::iq3_m: return T::q4_k;
    case F::q3_k_l: return T::q5_k;
    default: return run.base;
    }
}

T gate_up_type(const Run& run, std::uint32_t i) {
    const std::uint32_t n = run.n_block;
    return run.file == F::iq3_xs && i >= n / 8 && i < 7 * n / 8 ? T::iq3_xxs : run.base;
}

T type_of_mix(Run& run, Role role, const Tensor& tensor) {
    if (role == Role::output || (role == Role::embedding && run.tied)) return output_type(run, tensor);
    if (run.file == F::mxfp4_moe) return mxfp4_moe_type(tensor);
    if (role == Role::embedding) return embedding_type(run);
    if (is_smallest(run.file)) return smallest_type(run, role);
    switch (role) {
    case Role::value: return value_type(run);
    case Role::attn_k: return key_type(run);
    case Role::attn_q: return query_type(run);
    case Role::ffn_down: return down_type(run, tensor);
    case Role::attn_output: return attn_output_type(run);
    case Role::ffn_gate: return gate_up_type(run, ffn_layer(run, run.i_gate++, tensor));
    case Role::ffn_up: return gate_up_type(run, ffn_layer(run, run.i_up++, tensor));
    default: return run.base;
    }
}

// ---- What the shape and the importance matrix forbid ----------------------------------------------------------------

// The type of smaller blocks for rows that are no multiple of the block of `type`; nothing where llama.cpp has none and
// gives up.
std::optional<T> fallback(T type) {
    switch (type) {
    case T::q2_0:
    case T::q2_k:
    case T::q3_k:
    case T::tq1_0:
    case T::tq2_0: return T::q4_0;
    case T::q4_k: return T::q5_0;
    case T::q5_k: return T::q5_1;
    case T::q6_k: return T::q8_0;
    case T::q1_0: return std::nullopt;
    default: return traits(type).block == 256 ? T::iq4_nl : type; // the IQ types; blocks of 32 are the last resort
    }
}

bool needs_imatrix(F file, Role role, T type) {
    if (role == Role::output || role == Role::embedding) return false;
    switch (type) {
    case T::iq1_s:
    case T::iq1_m:
    case T::iq2_xxs:
    case T::iq2_xs:
    case T::iq2_s:
    case T::iq3_xxs: return true;
    case T::q2_k: return file == F::q2_k_s;
    default: return false;
    }
}

std::string no_fallback_text(const Model& model, const Tensor& tensor, F file, T type) {
    return std::string(traits(file).name) + " is impossible: rows of " + std::to_string(tensor.ne[0]) + " in " +
           model.full_name_of(tensor) + " are no multiple of " + std::to_string(traits(type).block) +
           ", the block of " + std::string(traits(type).name);
}

std::string no_imatrix_text(const Model& model, const Tensor& tensor, F file, T type) {
    return std::string(traits(file).name) + " needs an importance matrix: " + model.full_name_of(tensor) +
           " would be " + std::string(traits(type).name);
}

// `type`, or what fits the rows of `tensor` in its place.
T fitting_type(QuantMix& mix, const Model& model, const Tensor& tensor, F file, T type) {
    if (tensor.ne[0] % traits(type).block == 0) return type;
    ++mix.n_fallback;
    const std::optional<T> smaller = fallback(type);
    if (!smaller && !mix.refused) {
        mix.refused = no_fallback_text(model, tensor, file, type);
    }
    return smaller && tensor.ne[0] % traits(*smaller).block == 0 ? *smaller : T::f16;
}

// ---- Set-up ---------------------------------------------------------------------------------------------------------

struct Of70b {
    std::string_view arch;
    std::uint32_t n_block;
};

// The models that llama.cpp's loader calls 70B, by architecture and blocks (llama-model.cpp, LLM_TYPE_70B).
constexpr std::array<Of70b, 5> models_of_70b{{{"llama", 80}, {"qwen2", 80}, {"deci", 80}, {"olmo", 80}, {"jais2", 68}}};

bool is_70b(std::string_view arch, const Run& run) {
    // LLaMA 1 65B has as many blocks but no grouped heads, and llama with eight experts is a Mixtral.
    if (arch == "llama" && (run.n_gqa == 1 || run.eight_experts())) return false;
    return std::any_of(models_of_70b.begin(), models_of_70b.end(),
                       [&](const Of70b& known) { return known.arch == arch && known.n_block == run.n_block; });
}

std::uint32_t gqa_of_first_layer(const Hparams& hparams) {
    const double n_head = hparams.get("attention.head_count", 0);
    const double n_head_kv = hparams.get("attention.head_count_kv", n_head);
    return n_head_kv >= 1 ? static_cast<std::uint32_t>(std::clamp(n_head / n_head_kv, 0.0, 65536.0)) : 0;
}

Run start(const Model& model, std::string_view arch, F file, bool imatrix) {
    Run run;
    run.file = file;
    run.base = traits(file).base;
    run.imatrix = imatrix;
    run.falcon = arch == "falcon";
    run.n_block = model.n_block();
    run.n_expert = static_cast<std::uint32_t>(std::clamp(model.hparams.get("expert_count", 0), 0.0, 65536.0));
    run.n_gqa = gqa_of_first_layer(model.hparams);
    run.is_70b = is_70b(arch, run);
    return run;
}

// Indices of the tensors in the order in which llama.cpp visits them: by block number, what belongs to no block first, then
// by the bytes of the name.
std::vector<std::uint32_t> visiting_order(const Model& model) {
    const auto n_names = static_cast<std::uint32_t>(model.tensor_names.size());
    std::vector<std::uint32_t> by_name(n_names);
    std::iota(by_name.begin(), by_name.end(), 0U);
    std::sort(by_name.begin(), by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return model.tensor_names[a] < model.tensor_names[b]; });
    std::vector<std::uint32_t> rank(n_names);
    for (std::uint32_t i = 0; i < n_names; ++i) {
        rank[by_name[i]] = i;
    }

    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const Tensor& x = model.tensors[a];
        const Tensor& y = model.tensors[b];
        return x.layer != y.layer ? x.layer < y.layer : rank[x.name] < rank[y.name];
    };
    std::vector<std::uint32_t> order(model.tensors.size());
    std::iota(order.begin(), order.end(), 0U);
    if (!std::is_sorted(order.begin(), order.end(), before)) {
        std::sort(order.begin(), order.end(), before);
    }
    return order;
}

} // namespace

QuantMix quant_mix(const Model& model, std::string_view arch, FileType file_type, bool imatrix) {
    std::vector<Role> roles;
    roles.reserve(model.tensor_names.size());
    for (const std::string& name : model.tensor_names) {
        roles.push_back(tensor_role(name));
    }
    Run run = start(model, arch, file_type, imatrix);
    for (const Tensor& tensor : model.tensors) {
        run.n_value += roles[tensor.name] == Role::value ? 1 : 0;
        run.tied = run.tied && roles[tensor.name] != Role::output;
    }

    QuantMix mix;
    mix.types.resize(model.tensors.size());
    for (const std::uint32_t index : visiting_order(model)) {
        const Tensor& tensor = model.tensors[index];
        const Role role = roles[tensor.name];
        if (role == Role::kept || tensor.n_rows() == 1) { // ggml counts a matrix of one row as a vector
            mix.types[index] = tensor.type;
        } else if (!traits(run.base).quantized) {
            mix.types[index] = run.base;
        } else {
            mix.types[index] = fitting_type(mix, model, tensor, run.file, type_of_mix(run, role, tensor));
            if (!imatrix && !mix.refused && needs_imatrix(run.file, role, mix.types[index])) {
                mix.refused = no_imatrix_text(model, tensor, run.file, mix.types[index]);
            }
        }
    }
    return mix;
}

} // namespace vramfit
