/* SPDX-License-Identifier: Apache-2.0
 * table.c - AVX2 with FMA: every x86 server and nearly every PC of the last ten years. */
#include "kernels/tables.h"

const Kernels kern_avx2 = {
    .isa = "avx2",
    .needs = CPU_AVX2,
    .gemm_f32 = &avx2_gemm_f32,
    .gemm_bf16 = &avx2_gemm_bf16,
    .gemm_i8 = &avx2_gemm_i8,
    .quantize_rows = avx2_quantize_rows,
    .bf16_rows = avx2_bf16_rows,
    .attention = avx2_attention,
    .attention_bf16 = avx2_attention,
    .layer_norm = avx2_layer_norm,
    .standardize = avx2_standardize,
    .depthwise = avx2_depthwise,
    .softmax = avx2_softmax,
    .activate = avx2_activate,
    .blend_rows = avx2_blend_rows,
};
