#pragma once

#include "vramfit/model/tensor_type.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vramfit {

/// The file types that llama-quantize makes (llama.h, `enum llama_ftype`; tools/quantize/quantize.cpp): each is a mix
/// of tensor types, see quant_mix.hpp. In order of size, largest file first, as measured on Llama 3.1 8B;
/// MXFP4_MOE, which only makes sense for mixtures of experts, stands where those put it.
enum class FileType : std::uint8_t {
    f32,
    f16,
    bf16,
    q8_0,
    q6_k,
    q5_1,
    q5_k_m,
    q5_0,
    q5_k_s,
    q4_1,
    q4_k_m,
    q4_k_s,
    iq4_nl,
    q4_0,
    mxfp4_moe,
    iq4_xs,
    q3_k_l,
    q3_k_m,
    iq3_m,
    iq3_s,
    q3_k_s,
    iq3_xs,
    iq3_xxs,
    q2_k,
    q2_k_s,
    iq2_m,
    iq2_s,
    q2_0,
    iq2_xs,
    tq2_0,
    iq2_xxs,
    tq1_0,
    iq1_m,
    iq1_s,
    q1_0,
};

struct FileTypeTraits {
    FileType type;
    std::string_view name;        ///< llama.cpp's: "Q4_K_M"
    std::uint32_t number;         ///< llama.cpp's, as `general.file_type` in GGUF files
    TensorType base;              ///< type of every tensor that no rule of the mix picks out
    bool needs_imatrix;           ///< llama.cpp refuses to make it without an importance matrix (of most models)
    std::string_view description; ///< one line
};

/// Every file type, in the order of the enum: largest first.
inline constexpr std::array<FileTypeTraits, 35> file_types{{
    {FileType::f32, "F32", 0, TensorType::f32, false, "32-bit floats: twice the size of F16, no gain for inference"},
    {FileType::f16, "F16", 1, TensorType::f16, false, "16-bit floats, unquantized"},
    {FileType::bf16, "BF16", 32, TensorType::bf16, false, "16-bit brain floats, what most models are trained in"},
    {FileType::q8_0, "Q8_0", 7, TensorType::q8_0, false, "8 bits, hardly to be told from F16"},
    {FileType::q6_k, "Q6_K", 18, TensorType::q6_k, false, "6-bit K-quant, near lossless"},
    {FileType::q5_1, "Q5_1", 9, TensorType::q5_1, false, "5 bits with offset, older format"},
    {FileType::q5_k_m, "Q5_K_M", 17, TensorType::q5_k, false, "5-bit K-quant, half of attn_v and ffn_down in 6 bits"},
    {FileType::q5_0, "Q5_0", 8, TensorType::q5_0, false, "5 bits, older format"},
    {FileType::q5_k_s, "Q5_K_S", 16, TensorType::q5_k, false, "5-bit K-quant throughout"},
    {FileType::q4_1, "Q4_1", 3, TensorType::q4_1, false, "4 bits with offset, older format"},
    {FileType::q4_k_m, "Q4_K_M", 15, TensorType::q4_k, false, "4-bit K-quant, half of attn_v and ffn_down in 6 bits"},
    {FileType::q4_k_s, "Q4_K_S", 14, TensorType::q4_k, false, "4-bit K-quant, the first layers in 5 bits"},
    {FileType::iq4_nl, "IQ4_NL", 25, TensorType::iq4_nl, false, "4 bits on a non-linear scale, blocks of 32"},
    {FileType::q4_0, "Q4_0", 2, TensorType::q4_0, false, "4 bits, older format, fast on CPUs"},
    {FileType::mxfp4_moe, "MXFP4_MOE", 38, TensorType::mxfp4, false,
     "experts in 4-bit microscaling floats, the rest in 8 bits"},
    {FileType::iq4_xs, "IQ4_XS", 30, TensorType::iq4_xs, false, "4 bits on a non-linear scale, blocks of 256"},
    {FileType::q3_k_l, "Q3_K_L", 13, TensorType::q3_k, false,
     "3-bit K-quant, attn_v, attn_output and ffn_down in 5 bits"},
    {FileType::q3_k_m, "Q3_K_M", 12, TensorType::q3_k, false,
     "3-bit K-quant, attn_v, attn_output and ffn_down in 4 bits"},
    {FileType::iq3_m, "IQ3_M", 27, TensorType::iq3_s, false, "3.4-bit codebook, attention values and output in 4 bits"},
    {FileType::iq3_s, "IQ3_S", 26, TensorType::iq3_s, false, "3.4-bit codebook"},
    {FileType::q3_k_s, "Q3_K_S", 11, TensorType::q3_k, false, "3-bit K-quant throughout"},
    {FileType::iq3_xs, "IQ3_XS", 22, TensorType::iq3_s, true,
     "3.4-bit codebook, queries, keys and middle layers in 3.1 bits"},
    {FileType::iq3_xxs, "IQ3_XXS", 23, TensorType::iq3_xxs, true, "3.1-bit codebook"},
    {FileType::q2_k, "Q2_K", 10, TensorType::q2_k, false, "2-bit K-quant, attention and ffn_down in 3 or 4 bits"},
    {FileType::q2_k_s, "Q2_K_S", 21, TensorType::q2_k, true, "2-bit K-quant nearly throughout"},
    {FileType::iq2_m, "IQ2_M", 29, TensorType::iq2_s, true,
     "2.6-bit codebook, attention values and output in more bits"},
    {FileType::iq2_s, "IQ2_S", 28, TensorType::iq2_xs, true,
     "2.3-bit codebook, attention values and output in more bits"},
    {FileType::q2_0, "Q2_0", 41, TensorType::q2_0, false, "2 bits, blocks of 64"},
    {FileType::iq2_xs, "IQ2_XS", 20, TensorType::iq2_xs, true, "2.3-bit codebook"},
    {FileType::tq2_0, "TQ2_0", 37, TensorType::tq2_0, false,
     "ternary in 2.1 bits, for models trained with ternary weights"},
    {FileType::iq2_xxs, "IQ2_XXS", 19, TensorType::iq2_xxs, true, "2.1-bit codebook"},
    {FileType::tq1_0, "TQ1_0", 36, TensorType::tq1_0, false,
     "ternary in 1.7 bits, for models trained with ternary weights"},
    {FileType::iq1_m, "IQ1_M", 31, TensorType::iq1_m, true, "1.75-bit codebook"},
    {FileType::iq1_s, "IQ1_S", 24, TensorType::iq1_s, true, "1.6-bit codebook, the last resort"},
    {FileType::q1_0, "Q1_0", 40, TensorType::q1_0, false, "1 bit, for models trained with binary weights"},
}};

constexpr const FileTypeTraits& traits(FileType type) { return file_types[static_cast<std::size_t>(type)]; }

/// The file types that people publish and choose between, largest first: what is not among them must be made by hand.
/// MXFP4_MOE is of mixtures of experts; BF16 is as large as F16.
inline constexpr std::array published_file_types{
    FileType::f16,    FileType::q8_0,    FileType::q6_k,    FileType::q5_k_m, FileType::q5_k_s,
    FileType::q4_k_m, FileType::q4_k_s,  FileType::iq4_xs,  FileType::q3_k_l, FileType::q3_k_m,
    FileType::iq3_m,  FileType::q3_k_s,  FileType::iq3_xxs, FileType::q2_k,   FileType::iq2_m,
    FileType::iq2_xs, FileType::iq2_xxs, FileType::iq1_m,   FileType::iq1_s,  FileType::mxfp4_moe,
};

/// File type by its name. Letter case and `-`, `_` are forgiven ("q4-k-m"), and names that llama-quantize or habit use
/// for another are known ("q4_k" is Q4_K_M, "mxfp4" MXFP4_MOE, "fp16" F16). Throws Error naming near matches, or the
/// runtimes that a format belongs to where it is none of GGUF's ("awq").
FileType parse_file_type(std::string_view name);

/// File type by llama.cpp's number (`general.file_type`), or nothing.
std::optional<FileType> file_type_from_number(std::uint32_t number);

} // namespace vramfit
