/* SPDX-License-Identifier: Apache-2.0
 * table.c - NEON with dot products (Cortex-A55 and A75 2017, Graviton 2 2019, Apple M1 2020):
 * changes the int8 GEMM only. */
#include "kernels/tables.h"

const Kernels kern_dotprod = {
    .isa = "dotprod",
    .needs = CPU_NEON | CPU_DOTPROD,
    .gemm_i8 = &dotprod_gemm_i8,
};
