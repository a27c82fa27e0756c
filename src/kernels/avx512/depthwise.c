/* SPDX-License-Identifier: Apache-2.0
 * depthwise.c - convolution of every channel by itself over this ISA's vectors. */
#include "kernels/tables.h"
#include "vec.h"

#include "kernels/body/depthwise.h"

void avx512_depthwise(const Depthwise *d, int64_t from, int64_t to) { depthwise_body(d, from, to); }
