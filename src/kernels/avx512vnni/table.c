/* SPDX-License-Identifier: Apache-2.0
 * table.c - AVX-512 with VNNI (Cascade Lake 2019, Zen 4 2022): changes the int8 GEMM only. */
#include "kernels/tables.h"

const Kernels kern_avx512vnni = {
    .isa = "avx512vnni",
    .needs = CPU_AVX512 | CPU_AVX512VNNI,
    .gemm_i8 = &avx512vnni_gemm_i8,
};
