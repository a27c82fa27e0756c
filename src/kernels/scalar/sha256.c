/* SPDX-License-Identifier: Apache-2.0
 * sha256.c - the compression function of SHA-256 in the letters of FIPS 180-4. */
#include "kernels/sha256_k.h"
#include "kernels/tables.h"

static uint32_t rotate_right(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_schedule(const uint8_t *block, uint32_t w[64])
{
    memset(w, 0, 16 * sizeof(w[0]));
    for (int i = 0; i < 64; i++) w[i / 4] = w[i / 4] << 8 | block[i];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void sha256_compress_scalar(uint32_t state[8], const uint32_t w[64])
{
    enum { A, B, C, D, E, F, G, H };
    uint32_t v[8];
    memcpy(v, state, sizeof(v));
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = rotate_right(v[E], 6) ^ rotate_right(v[E], 11) ^ rotate_right(v[E], 25);
        uint32_t s0 = rotate_right(v[A], 2) ^ rotate_right(v[A], 13) ^ rotate_right(v[A], 22);
        uint32_t ch = (v[E] & v[F]) ^ (~v[E] & v[G]);
        uint32_t maj = (v[A] & v[B]) ^ (v[A] & v[C]) ^ (v[B] & v[C]);
        uint32_t t1 = v[H] + s1 + ch + sha256_k[t] + w[t];
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[E] += t1;
        v[A] = t1 + s0 + maj;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void scalar_sha256(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    uint32_t w[64];
    for (; count; count--, blocks += 64) {
        sha256_schedule(blocks, w);
        sha256_compress_scalar(state, w);
    }
}
