/* SPDX-License-Identifier: Apache-2.0
 * tables.h - one table per instruction set, and the name of every kernel in it: <isa>_<slot>. A
 * table leaves the slots it has nothing for at NULL; a name that no file defines costs nothing. */
#ifndef KERNELS_TABLES_H
#define KERNELS_TABLES_H
#include "base/cpu.h"
#include "kernels.h"

extern const Kernels kern_scalar, kern_sha, kern_avx2, kern_avxvnni, kern_avx512, kern_avx512vnni,
    kern_avx512bf16, kern_amx, kern_neon, kern_dotprod;

#define X(type, slot)                                                                        \
    extern type scalar_##slot, sha_##slot, avx2_##slot, avxvnni_##slot, avx512_##slot,       \
        avx512vnni_##slot, avx512bf16_##slot, amx_##slot, neon_##slot, dotprod_##slot;
KERNEL_SLOTS(X)
#undef X

/* Best first. Each slot is taken from the first table that has it and that the CPU can run. */
extern const Kernels *const kernel_tables[];
extern const size_t kernel_table_count;

#endif
