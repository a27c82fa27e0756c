/* SPDX-License-Identifier: Apache-2.0
 * half.h - float16 (IEEE 754 binary16). */
#ifndef DATA_HALF_H
#define DATA_HALF_H
#include <stdint.h>
#include <string.h>

/* To the nearest, ties to even; what is too large is infinite, a NaN stays one. */
static inline uint16_t f32_to_half(float f)
{
    uint32_t x;
    memcpy(&x, &f, sizeof x);
    const uint32_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to 65536 or more */
    if (magnitude < 0x38800000) { /* below 2^-14: a multiple of 2^-24, which adding 0.5 rounds to */
        float small, bias = 0.5f;
        memcpy(&small, &magnitude, sizeof small);
        small += bias;
        memcpy(&x, &small, sizeof x);
        return (uint16_t)(sign | (x - 0x3f000000));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

static inline double half_to_double(uint32_t h)
{
    const int exponent = (int)(h >> 10 & 31);
    const double mantissa = h & 1023, sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? __builtin_nan("") : sign * __builtin_inf();
    if (exponent == 0) return sign * mantissa * 0x1p-24;
    return sign * (1024 + mantissa) * __builtin_ldexp(1, exponent - 25);
}

#endif
