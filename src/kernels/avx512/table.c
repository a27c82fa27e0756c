/* SPDX-License-Identifier: Apache-2.0
 * table.c - AVX-512 as of Skylake-X (F, BW, DQ, VL): servers since 2017, Zen 4. */
#include "kernels/tables.h"

const Kernels kern_avx512 = {
    .isa = "avx512",
    .needs = CPU_AVX512,
    .gemm_f32 = &avx512_gemm_f32,
    .gemm_bf16 = &avx512_gemm_bf16,
    .gemm_i8 = &avx512_gemm_i8,
    .quantize_rows = avx512_quantize_rows,
    .bf16_rows = avx512_bf16_rows,
    .attention = avx512_attention,
    .attention_bf16 = avx512_attention,
    .layer_norm = avx512_layer_norm,
    .standardize = avx512_standardize,
    .depthwise = avx512_depthwise,
    .softmax = avx512_softmax,
    .activate = avx512_activate,
    .blend_rows = avx512_blend_rows,
};
