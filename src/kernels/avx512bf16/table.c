/* SPDX-License-Identifier: Apache-2.0
 * table.c - AVX512_BF16 (Cooper Lake 2020, Zen 4 2022): products and attention of bf16. */
#include "kernels/tables.h"

const Kernels kern_avx512bf16 = {
    .isa = "avx512bf16",
    .needs = CPU_AVX512 | CPU_AVX512BF16,
    .gemm_bf16 = &avx512bf16_gemm_bf16,
    .attention_bf16 = avx512bf16_attention_bf16,
};
