/* SPDX-License-Identifier: Apache-2.0
 * cpu.h - what this CPU and its operating system can run. Compiled without ISA flags. */
#ifndef BASE_CPU_H
#define BASE_CPU_H
#include "base.h"

enum {
    CPU_SHA = 1 << 0,
    CPU_AVX2 = 1 << 1,        /* with FMA and F16C; the OS saves ymm */
    CPU_AVXVNNI = 1 << 2,
    CPU_AVX512 = 1 << 3,      /* F, BW, DQ, VL; the OS saves zmm */
    CPU_AVX512VNNI = 1 << 4,
    CPU_AVX512BF16 = 1 << 5,
    CPU_AMX = 1 << 6,         /* tile, int8, bf16; permission granted */
    CPU_NEON = 1 << 7,
    CPU_DOTPROD = 1 << 8,
    CPU_I8MM = 1 << 9,        /* products of int8 matrices; no kernels yet */
    CPU_BF16 = 1 << 10,       /* of ARM; no kernels yet */
};
/* level: hides everything above it ("avx2"; "scalar" hides all; an unknown name hides nothing).
 * NULL: the level that $EF_CPU names, or none. */
uint64_t cpu_features(const char *level);
/* The name of the lowest of these bits ("avx2"), which is then cleared; NULL: none is left. */
const char *cpu_next(uint64_t *features);
/* The same mask for a name ("scalar", "avx2", "avx512", ...); false: unknown name. */
bool cpu_level(const char *name, uint64_t *mask);

#endif
