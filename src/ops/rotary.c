/* SPDX-License-Identifier: Apache-2.0
 * rotary.c - the turn itself, for any number type, and for floats with angles of their own. */
#include "ops/rotary.h"

int64_t rotary_place(const Rotary *r, int64_t i)
{
    const int64_t b = i / (r->S * r->H), s = i / r->H % r->S, head = i % r->H;
    return (r->flat ? i : (b * r->H + head) * r->S + s) * r->D;
}

void rotary_head(OpCall *call, const Rotary *r, int64_t base, const Tensor *cos, const Tensor *sin,
                 int64_t angle)
{
    const Tensor *t = call->in[0];
    const int64_t half = r->turned / 2;
    for (int64_t i = 0; i < half; i++) {
        const int64_t a = base + (r->interleaved ? 2 * i : i),
                      b = base + (r->interleaved ? 2 * i + 1 : i + half);
        const double c = tensor_get(cos, angle * half + i), s = tensor_get(sin, angle * half + i);
        const double x = tensor_get(t, a), y = tensor_get(t, b), real = c * x - s * y,
                     imaginary = s * x + c * y;
        tensor_store(&call->out[0], a, 1, &real);
        tensor_store(&call->out[0], b, 1, &imaginary);
    }
    tensor_convert(t, base + r->turned, &call->out[0], base + r->turned, r->D - r->turned);
}

void rotary_halves(const float *x, const float *cos, const float *sin, int64_t D, float *y)
{
    const int64_t half = D / 2;
    for (int64_t i = 0; i < half; i++) {
        y[i] = x[i] * cos[i] - x[i + half] * sin[i];
        y[i + half] = x[i + half] * cos[i + half] + x[i] * sin[i + half];
    }
}
