#include "model/tensor_role.hpp"

#include <algorithm>
#include <array>

namespace vramfit {

namespace {

using Role = TensorRole;

// Small or touchy weights: norms, routers, convolutions, positions, AltUp and LAuReL of Gemma 3n, indexers, the small
// matrices of RWKV, and parts of image and sound encoders.
constexpr auto kept_parts = std::to_array<std::string_view>({
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
});

struct NamedRole {
    std::string_view name;
    Role role;
};

constexpr auto whole_names = std::to_array<NamedRole>({
    {"output.weight", Role::output},
    {"token_embd.weight", Role::embedding},
    {"per_layer_token_embd.weight", Role::embedding},
    {"position_embd.weight", Role::kept},
    {"token_types.weight", Role::kept},
});

// The first that is part of the name decides.
constexpr auto name_parts = std::to_array<NamedRole>({
    {"attn_qkv.weight", Role::value},
    {"attn_kv_b.weight", Role::value},
    {"attn_v.weight", Role::value},
    {"attn_k.weight", Role::attn_k},
    {"attn_q.weight", Role::attn_q},
    {"attn_output.weight", Role::attn_output},
    {"ffn_up", Role::ffn_up},
    {"ffn_gate", Role::ffn_gate},
    {"ffn_down", Role::ffn_down},
});

} // namespace

TensorRole tensor_role(std::string_view name) {
    if (!name.ends_with(".weight")) return Role::kept;
    const auto has_part = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    for (const NamedRole& whole : whole_names) {
        if (name == whole.name) return whole.role;
    }
    if (std::any_of(kept_parts.begin(), kept_parts.end(), has_part)) return Role::kept;
    for (const NamedRole& known : name_parts) {
        if (has_part(known.name)) return known.role;
    }
    return Role::other;
}

} // namespace vramfit
