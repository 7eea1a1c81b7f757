#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
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

/// In the order of the enum, so that a look-up is an index.
inline constexpr OpTraits op_table[] = {
    {Op::none, "NONE", false, true},
    {Op::view, "VIEW", false, true},
    {Op::reshape, "RESHAPE", false, true},
    {Op::permute, "PERMUTE", false, true},
    {Op::transpose, "TRANSPOSE", false, true},
    {Op::add, "ADD", true, false},
    {Op::add_id, "ADD_ID", true, false},
    {Op::add1, "ADD1", true, false},
    {Op::sub, "SUB", true, false},
    {Op::mul, "MUL", true, false},
    {Op::div, "DIV", true, false},
    {Op::sqr, "SQR", true, false},
    {Op::sqrt, "SQRT", true, false},
    {Op::log, "LOG", true, false},
    {Op::sum_rows, "SUM_ROWS", false, false},
    {Op::mean, "MEAN", false, false},
    {Op::cumsum, "CUMSUM", false, false},
    {Op::repeat, "REPEAT", false, false},
    {Op::concat, "CONCAT", false, false},
    {Op::norm, "NORM", false, false},
    {Op::rms_norm, "RMS_NORM", true, false},
    {Op::rms_norm_back, "RMS_NORM_BACK", true, false},
    {Op::l2_norm, "L2_NORM", false, false},
    {Op::group_norm, "GROUP_NORM", false, false},
    {Op::mul_mat, "MUL_MAT", false, false},
    {Op::mul_mat_id, "MUL_MAT_ID", false, false},
    {Op::scale, "SCALE", true, false},
    {Op::cpy, "CPY", false, false},
    {Op::cont, "CONT", false, false},
    {Op::get_rows, "GET_ROWS", false, false},
    {Op::set_rows, "SET_ROWS", false, false},
    {Op::diag_mask_inf, "DIAG_MASK_INF", true, false},
    {Op::diag_mask_zero, "DIAG_MASK_ZERO", true, false},
    {Op::soft_max, "SOFT_MAX", true, false},
    {Op::soft_max_back, "SOFT_MAX_BACK", true, false},
    {Op::rope, "ROPE", true, false},
    {Op::rope_back, "ROPE_BACK", true, false},
    {Op::clamp, "CLAMP", true, false},
    {Op::pool_2d, "POOL_2D", false, false},
    {Op::pad, "PAD", false, false},
    {Op::argsort, "ARGSORT", false, false},
    {Op::top_k, "TOP_K", false, false},
    {Op::fill, "FILL", true, false},
    {Op::tri, "TRI", false, false},
    {Op::solve_tri, "SOLVE_TRI", false, false},
    {Op::flash_attn_ext, "FLASH_ATTN_EXT", false, false},
    {Op::ssm_conv, "SSM_CONV", false, false},
    {Op::ssm_scan, "SSM_SCAN", false, false},
    {Op::gated_linear_attn, "GATED_LINEAR_ATTN", false, false},
    {Op::gated_delta_net, "GATED_DELTA_NET", false, false},
    {Op::rwkv_wkv6, "RWKV_WKV6", false, false},
    {Op::rwkv_wkv7, "RWKV_WKV7", false, false},
    {Op::unary, "UNARY", true, false},
    {Op::silu_back, "SILU_BACK", true, false},
    {Op::glu, "GLU", false, false},
    {Op::lightning_indexer, "LIGHTNING_INDEXER", false, false},
    {Op::dsv4_hc_pre, "DSV4_HC_PRE", false, false},
    {Op::dsv4_hc_post, "DSV4_HC_POST", false, false},
    {Op::dsv4_hc_comb, "DSV4_HC_COMB", false, false},
    {Op::sum_experts, "SUM_EXPERTS", false, false},
};

constexpr bool op_table_in_order() {
    for (std::size_t i = 0; i < std::size(op_table); ++i) {
        if (op_table[i].op != static_cast<Op>(i)) return false;
    }
    return std::size(op_table) == static_cast<std::size_t>(Op::sum_experts) + 1;
}
static_assert(op_table_in_order());

/// The traits of `op`.
constexpr const OpTraits& traits(Op op) { return op_table[static_cast<std::size_t>(op)]; }

/// Op by ggml's name ("MUL_MAT"), or nothing.
std::optional<Op> parse_op(std::string_view name);

} // namespace vramfit
