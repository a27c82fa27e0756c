/* SPDX-License-Identifier: Apache-2.0
 * act.h - exp and the activations on vectors. Largest errors against double, measured by
 * tests/test_kernels_rows.c: gelu 8e-8 * max(1, |x|), gelu_tanh and silu 1.2e-7 * max(1, |x|), sigmoid
 * and tanh 8e-8 (2.2 units of the last place); exp 1.05 units (17 million places, by hand). NaN
 * stays NaN. The coefficients are minimax fits of our own (relative error), rounded to float. */
#ifndef KERNELS_BODY_ACT_H
#define KERNELS_BODY_ACT_H
#include <math.h>

typedef struct Power {      /* e^x = (1 + part) * scale */
    vf part, scale;
} Power;

/* x = n ln2 + rest, |rest| <= ln2 / 2; ln2 is in two pieces, the first so short that its product
 * with n is exact. Beside 1.5 * 2^23 a float has no fraction: the sum is rounded to a whole n,
 * which then stands in its lowest bits. */
INLINE Power power_of(vf x)
{
    const vf whole = vf_set(12582912);
    vf sum = vf_fma(x, vf_set(1.44269504f), whole), n = vf_sub(sum, whole);
    vf rest = vf_fnma(n, vf_set(-2.12194442e-4f), vf_fnma(n, vf_set(0.693359375f), x));
    vf p = vf_fma(rest, vf_set(0.00138824887f), vf_set(0.00836669188f));
    p = vf_fma(rest, p, vf_set(0.0416672044f));
    p = vf_fma(rest, p, vf_set(0.16666542f));
    p = vf_fma(rest, p, vf_set(0.49999997f));
    return (Power){ vf_fma(vf_mul(rest, rest), p, rest), vf_pow2(sum) };
}

/* Below -87.7 exactly 0 (also for -inf), above 88.4 infinity: no caller needs more. */
INLINE vf vf_exp(vf x)
{
    x = vf_min(vf_set(88.7f), vf_max(vf_set(-88.0f), x));
    Power e = power_of(x);
    return vf_mul(vf_add(e.part, vf_set(1)), e.scale);
}

/* (e^2a - 1) / (e^2a + 1) with e^2a - 1 kept whole, so small x lose nothing; 1 from 9.02 on. */
INLINE vf vf_tanh(vf x)
{
    Power e = power_of(vf_min(vf_set(30), vf_abs(vf_add(x, x))));
    vf less_one = vf_fma(e.part, e.scale, vf_sub(e.scale, vf_set(1)));
    return vf_sign(vf_div(less_one, vf_add(less_one, vf_set(2))), x);
}

INLINE vf vf_sigmoid_times(vf x, vf by) /* by / (1 + e^-x) */
{
    return vf_div(by, vf_add(vf_set(1), vf_exp(vf_sub(vf_set(0), x))));
}

/* 2^x for |x| <= 1/2, with a relative error of 1.1e-7 */
INLINE vf pow2_part(vf x)
{
    vf e = vf_fma(x, vf_set(0.00132647227f), vf_set(0.00967151299f));
    e = vf_fma(x, e, vf_set(0.0555073358f));
    e = vf_fma(x, e, vf_set(0.240222424f));
    e = vf_fma(x, e, vf_set(0.693147004f));
    return vf_fma(x, e, vf_set(1));
}

/* x * Phi(x) = max(x, 0) - a * Phi(-a) with a = |x|, and Phi(-a) = e^(-a*a/2) * P(a) / Q(a): no
 * cancellation on either side. a * Phi(-a) is 0.17 at most, so that P, Q and the power need not be
 * better than 1e-7. At 13.27 the power of two is 2^-127, which is taken for 0. */
INLINE vf vf_gelu(vf x)
{
    const vf whole = vf_set(12582912), half_log2e = vf_set(-0.72134752f);
    vf a = vf_min(vf_set(13.27f), vf_abs(x)), square = vf_mul(a, a);
    vf n = vf_fma(square, half_log2e, whole);
    vf e = pow2_part(vf_fma(square, half_log2e, vf_sub(whole, n)));
    vf p = vf_fma(a, vf_set(-0.000129407214f), vf_set(0.0356897973f));
    p = vf_fma(a, p, vf_set(0.189080372f));
    p = vf_fma(a, p, vf_set(0.5f));
    vf q = vf_fma(a, vf_set(0.0845258534f), vf_set(0.50968802f));
    q = vf_fma(a, q, vf_set(1.17604935f));
    q = vf_fma(a, q, vf_set(1));
    return vf_fnma(vf_mul(vf_mul(a, vf_pow2(n)), e), vf_div(p, q), vf_max(vf_set(0), x));
}

/* x / 2 * (1 + tanh(u)) = x / (1 + e^-2u), and e^-2u = 2^(x * (A + B * x * x)). The power is 0 at
 * -127 and infinity at 128. Its exponent is put together by additions, which have units of their
 * own beside the multiplications of the next tile. */
INLINE vf vf_gelu_tanh(vf x)
{
    const vf whole = vf_set(12582912), A = vf_set(-2.30220820f), B = vf_set(-0.102943240f);
    vf power = vf_mul(x, vf_fma(vf_mul(x, x), B, A));
    power = vf_min(vf_set(128), vf_max(vf_set(-127), power));
    vf n = vf_add(power, whole), e = pow2_part(vf_sub(power, vf_sub(n, whole)));
    return vf_div(x, vf_add(vf_set(1), vf_times_pow2(e, n)));
}

/* act is a constant at every call: each caller's loop is compiled once per activation. */
INLINE vf vf_act(Act act, vf x)
{
    switch (act) {
    case ACT_RELU: return vf_max(vf_set(0), x);
    case ACT_GELU: return vf_gelu(x);
    case ACT_GELU_TANH: return vf_gelu_tanh(x);
    case ACT_TANH: return vf_tanh(x);
    case ACT_SIGMOID: return vf_sigmoid_times(x, vf_set(1));
    case ACT_SILU: return vf_sigmoid_times(x, x);
    case ACT_NONE:
    case ACT_COUNT: break;
    }
    return x;
}

/* Calls fn(..., act) with the activation as a constant. */
#define WITH_ACT(act, fn, ...)                                             \
    switch (act) {                                                         \
    case ACT_RELU: fn(__VA_ARGS__, ACT_RELU); break;                       \
    case ACT_GELU: fn(__VA_ARGS__, ACT_GELU); break;                       \
    case ACT_GELU_TANH: fn(__VA_ARGS__, ACT_GELU_TANH); break;             \
    case ACT_TANH: fn(__VA_ARGS__, ACT_TANH); break;                       \
    case ACT_SIGMOID: fn(__VA_ARGS__, ACT_SIGMOID); break;                 \
    case ACT_SILU: fn(__VA_ARGS__, ACT_SILU); break;                       \
    case ACT_NONE:                                                         \
    case ACT_COUNT: fn(__VA_ARGS__, ACT_NONE); break;                      \
    }

#endif
