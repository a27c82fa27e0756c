/* SPDX-License-Identifier: Apache-2.0
 * table.c - NEON, which every 64-bit ARM has. */
#include "kernels/tables.h"

const Kernels kern_neon = {
    .isa = "neon",
    .needs = CPU_NEON,
    .gemm_f32 = &neon_gemm_f32,
    .gemm_bf16 = &neon_gemm_bf16,
    .gemm_i8 = &neon_gemm_i8,
    .quantize_rows = neon_quantize_rows,
    .bf16_rows = neon_bf16_rows,
    .attention = neon_attention,
    .attention_bf16 = neon_attention,
    .layer_norm = neon_layer_norm,
    .standardize = neon_standardize,
    .depthwise = neon_depthwise,
    .softmax = neon_softmax,
    .activate = neon_activate,
    .blend_rows = neon_blend_rows,
};
