/* SPDX-License-Identifier: Apache-2.0
 * table.c - the SHA extensions, which CPUs have or lack independently of their vector width. */
#include "kernels/tables.h"

const Kernels kern_sha = { .isa = "sha", .needs = CPU_SHA, .sha256 = sha_sha256 };
