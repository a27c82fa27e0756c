/* SPDX-License-Identifier: Apache-2.0
 * table.c - AVX2 with VNNI (Alder Lake 2021, Zen 5 2024), where AVX-512 is not: changes the int8
 * GEMM only. */
#include "kernels/tables.h"

const Kernels kern_avxvnni = {
    .isa = "avxvnni",
    .needs = CPU_AVX2 | CPU_AVXVNNI,
    .gemm_i8 = &avxvnni_gemm_i8,
};
