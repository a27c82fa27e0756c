/* SPDX-License-Identifier: Apache-2.0
 * table.c - the reference: runs anywhere and fills every slot. */
#include "kernels/tables.h"

const Kernels kern_scalar = {
    .isa = "scalar",
#define X(type, slot) .slot = &scalar_##slot,
    KERNEL_SLOTS(X)
#undef X
};
