#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramfit {

/// The operations of ggml's compute graphs (ggml.h, `enum ggml_op`) that occur in llama.cpp's prompt graphs.
enum class Op : std::uint8_t {
    none,
    view,
    reshape,
    permute,
    transpose,
    add,
    add_id,
    add1,
    sub,
    mul,
    div,
    sqr,
    sqrt,
    log,
    sum_rows,
    mean,
    cumsum,
    repeat,
    concat,
    norm,
    rms_norm,
    rms_norm_back,
    l2_norm,
    group_norm,
    mul_mat,
    mul_mat_id,
    scale,
    cpy,
    cont,
    get_rows,
    set_rows,
    diag_mask_inf,
    diag_mask_zero,
    soft_max,
    soft_max_back,
    rope,
    rope_back,
    clamp,
    pool_2d,
    pad,
    argsort,
    top_k,
    fill,
    tri,
    solve_tri,
    flash_attn_ext,
    ssm_conv,
    ssm_scan,
    gated_linear_attn,
    gated_delta_net,
    rwkv_wkv6,
    rwkv_wkv7,
    unary,
    silu_back,
    glu,
    lightning_indexer,
    dsv4_hc_pre,
    dsv4_hc_post,
    dsv4_hc_comb,
    sum_experts, ///< not ggml's: the k views and k - 1 ADDs that sum a MoE's experts, see data/architectures/README.md
};

struct OpTraits {
    Op op;
    std::string_view name; ///< ggml's name: "MUL_MAT"
    bool in_place;         ///< the result may take over a source's memory (ggml-alloc.c, `ggml_op_can_inplace`)
    bool view;             ///< no work of its own: the scheduler skips it (ggml-backend.cpp, `ggml_is_view_op`)
};

/// The traits of `op`.
const OpTraits& traits(Op op);

/// Op by ggml's name ("MUL_MAT"), or nothing.
std::optional<Op> parse_op(std::string_view name);

} // namespace vramfit
