/* SPDX-License-Identifier: Apache-2.0
 * table.c - the tile unit (Sapphire Rapids 2023): the products of low precision. */
#include "kernels/tables.h"

const Kernels kern_amx = {
    .isa = "amx",
    .needs = CPU_AVX512 | CPU_AVX512BF16 | CPU_AMX,
    .gemm_bf16 = &amx_gemm_bf16,
    .gemm_i8 = &amx_gemm_i8,
    .attention_bf16 = amx_attention_bf16,
};
