/* SPDX-License-Identifier: Apache-2.0
 * peak.h - what one core can do: independent chains of the instruction a GEMM lives on, nothing
 * loaded, nothing stored. A row per instruction; an FMA is two operations. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H
#include "kernels/tables.h"

typedef struct Peak {
    const char *isa;            /* the kernel table whose instruction it is */
    const char *slot;           /* the GEMM */
    uint64_t needs;             /* CPU_* */
    double ops;                 /* of one turn */
    void (*run)(int turns);
    double best;                /* filled while the benchmark runs */
} Peak;

extern Peak peaks[];
extern const size_t peak_count;

#endif
