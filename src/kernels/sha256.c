/* SPDX-License-Identifier: Apache-2.0
 * sha256.c - SHA-256 (FIPS 180-4) of a stream: bytes are gathered into 64-byte blocks for the
 * kernel, and the end is marked by a 1 bit, zeros, and the length in bits. */
#include "kernels.h"

enum { BLOCK = 64 };

void sha256_start(Sha256 *s)
{
    *s = (Sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(Sha256 *s, const void *data, size_t n)
{
    if (n == 0) return; /* then there may be no data */
    const uint8_t *p = data;
    size_t held = s->length % BLOCK;
    s->length += n;
    if (held) {
        size_t take = MIN(n, BLOCK - held);
        memcpy(s->tail + held, p, take);
        if (held + take < BLOCK) return;
        kernels()->sha256(s->state, s->tail, 1);
        p += take;
        n -= take;
    }
    kernels()->sha256(s->state, p, n / BLOCK);
    if (n % BLOCK) memcpy(s->tail, p + n / BLOCK * BLOCK, n % BLOCK);
}

void sha256_end(Sha256 *s, uint8_t out[32])
{
    uint64_t bits = s->length * 8;
    uint8_t mark[2 * BLOCK] = { 0x80 };
    size_t zeros = (BLOCK + 55 - s->length % BLOCK) % BLOCK; /* to 8 bytes before a block's end */
    for (int i = 0; i < 8; i++) mark[1 + zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, mark, 1 + zeros + 8);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
