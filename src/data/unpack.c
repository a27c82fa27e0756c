/* SPDX-License-Identifier: Apache-2.0
 * unpack.c - see unpack.h. Snappy and LZ4 are copies of what came before, so both are one loop over a pair of
 * cursors. */
#include "unpack.h"

#include <zstd.h>

#include "wire.h"

typedef struct Unpacking {
    const uint8_t *p, *end;   /* packed bytes */
    uint8_t *out, *out_end;
    const uint8_t *begin;     /* of what was unpacked: copies reach back to it */
} Unpacking;

static Unpacking unpack_over(Str packed, void *to, size_t n)
{
    const Wire w = wire_over(packed);
    return (Unpacking){ .p = w.p, .end = w.end, .out = to, .out_end = (uint8_t *)to + n, .begin = to };
}

static bool unpack_literal(Unpacking *u, uint64_t n)
{
    if (n > (uint64_t)(u->end - u->p) || n > (uint64_t)(u->out_end - u->out)) return false;
    if (n) memcpy(u->out, u->p, n);
    u->p += n, u->out += n;
    return true;
}

/* What is copied may be what the copy writes: a distance of 1 repeats a byte. */
static bool unpack_copy(Unpacking *u, uint64_t distance, uint64_t n)
{
    if (distance == 0 || distance > (uint64_t)(u->out - u->begin) || n > (uint64_t)(u->out_end - u->out)) return false;
    const uint8_t *from = u->out - distance;
    if (distance >= n) memcpy(u->out, from, n);
    else for (uint64_t i = 0; i < n; i++) u->out[i] = from[i];
    u->out += n;
    return true;
}

static bool unpack_little(Unpacking *u, int bytes, uint64_t *out)
{
    *out = 0;
    if (u->end - u->p < bytes) return false;
    for (int i = 0; i < bytes; i++) *out |= (uint64_t)*u->p++ << 8 * i;
    return true;
}

/* ---- Snappy ---- */
static bool snappy_element(Unpacking *u)
{
    enum { LITERAL, NEAR, FAR, FURTHEST, SHORT = 60 };
    const unsigned tag = *u->p++;
    uint64_t n = (tag >> 2) + 1, distance = 0;
    switch (tag & 3) {
    case LITERAL:
        if (n > SHORT && !unpack_little(u, (int)n - SHORT, &distance)) return false;
        return unpack_literal(u, n > SHORT ? distance + 1 : n);
    case NEAR:
        if (!unpack_little(u, 1, &distance)) return false;
        return unpack_copy(u, (uint64_t)(tag >> 5) << 8 | distance, (tag >> 2 & 7) + 4);
    default:
        return unpack_little(u, (tag & 3) == FAR ? 2 : 4, &distance) && unpack_copy(u, distance, n);
    }
}

bool unpack_snappy(Str packed, void *to, size_t n)
{
    uint64_t size;
    Wire head = wire_over(packed);
    if (!wire_varint(&head, &size) || size != n) return false;
    Unpacking u = unpack_over(packed, to, n);
    for (u.p = head.p; u.p < u.end;)
        if (!snappy_element(&u)) return false;
    return u.out == u.out_end;
}

/* ---- LZ4 ---- */
static bool lz4_length(Unpacking *u, uint64_t *n)
{
    uint64_t more = 255;
    if (*n < 15) return true;
    while (more == 255) {
        if (!unpack_little(u, 1, &more)) return false;
        *n += more;
    }
    return true;
}

/* Pairs of literals and a copy; the last one has no copy. */
static bool lz4_sequences(Unpacking *u)
{
    enum { LEAST = 4 };
    while (u->p < u->end) {
        const unsigned token = *u->p++;
        uint64_t literals = token >> 4, n = token & 15, distance;
        if (!lz4_length(u, &literals) || !unpack_literal(u, literals)) return false;
        if (u->p == u->end) return true;
        if (!unpack_little(u, 2, &distance) || !lz4_length(u, &n) || !unpack_copy(u, distance, n + LEAST)) return false;
    }
    return true;
}

bool unpack_lz4_block(Str packed, void *to, size_t n)
{
    Unpacking u = unpack_over(packed, to, n);
    return lz4_sequences(&u) && u.out == u.out_end;
}

/* In big endian. */
static bool unpack_size(Unpacking *u, uint64_t *n)
{
    if (!unpack_little(u, 4, n)) return false;
    *n = __builtin_bswap32((uint32_t)*n);
    return true;
}

/* A size unpacked, then blocks that make so much, each behind its size packed. */
static bool lz4_hadoop_frame(Unpacking *u)
{
    uint64_t size;
    bool ok = unpack_size(u, &size) && size <= (uint64_t)(u->out_end - u->out);
    uint8_t *const end = ok ? u->out + size : u->out;
    while (ok && u->out < end) {
        if (!unpack_size(u, &size) || size > (uint64_t)(u->end - u->p)) return false;
        Unpacking block = { .p = u->p, .end = u->p + size, .out = u->out, .out_end = end, .begin = u->out };
        ok = lz4_sequences(&block);
        u->p += size, u->out = block.out;
    }
    return ok;
}

bool unpack_lz4_hadoop(Str packed, void *to, size_t n)
{
    Unpacking u = unpack_over(packed, to, n);
    while (u.p < u.end && lz4_hadoop_frame(&u)) continue;
    return (u.p == u.end && u.out == u.out_end) || unpack_lz4_block(packed, to, n);
}

/* The frame's descriptor; sums: each block is followed by a checksum. */
static bool lz4_head(Unpacking *u, bool *sums)
{
    enum { MAGIC_LZ4 = 0x184D2204, SIZE = 8, BLOCK_SUMS = 16, DICTIONARY = 1, VERSION = 1 };
    uint64_t magic, flags, more;
    if (!unpack_little(u, 4, &magic) || magic != MAGIC_LZ4 || !unpack_little(u, 2, &flags)) return false;
    if ((flags >> 6 & 3) != VERSION || flags & DICTIONARY) return false;
    *sums = flags & BLOCK_SUMS;
    return (!(flags & SIZE) || unpack_little(u, 8, &more)) && unpack_little(u, 1, &more);
}

bool unpack_lz4_frame(Str packed, void *to, size_t n)
{
    const uint32_t stored = (uint32_t)1 << 31;
    Unpacking u = unpack_over(packed, to, n);
    bool sums, ok = lz4_head(&u, &sums);
    for (uint64_t size = 1, sum; ok && size;) {
        if (!unpack_little(&u, 4, &size)) return false;
        const uint64_t bytes = size & ~stored;
        if (!size) break;
        if (bytes > (uint64_t)(u.end - u.p)) return false;
        Unpacking block = u; /* copies may reach into the blocks before it */
        block.end = u.p + bytes;
        ok = size & stored ? unpack_literal(&block, bytes) : lz4_sequences(&block);
        u.p += bytes, u.out = block.out;
        ok = ok && (!sums || unpack_little(&u, 4, &sum));
    }
    return ok && u.out == u.out_end;
}

/* ---- ZSTD ---- */
/* Frames of today's format, or such as are to be skipped. Those of before 2016 have other numbers: what reads them is
 * left out of the program (tools/unused), and must never be called. */
bool unpack_zstd_begins(Str packed)
{
    const uint32_t frame = 0xfd2fb528, skipped = 0x184d2a50;
    uint32_t magic = 0;
    for (size_t i = 0; i < MIN(packed.n, sizeof magic); i++) magic |= (uint32_t)(uint8_t)packed.p[i] << 8 * i;
    return packed.n >= sizeof magic && (magic == frame || (magic & ~(uint32_t)15) == skipped);
}

bool unpack_zstd(Str packed, void *to, size_t n)
{
    size_t at = 0;
    while (packed.n) {
        const size_t frame = unpack_zstd_begins(packed) ? ZSTD_findFrameCompressedSize(packed.p, packed.n) : 0;
        if (frame == 0 || ZSTD_isError(frame)) return false;
        const size_t got = ZSTD_decompress((char *)to + at, n - at, packed.p, frame);
        if (ZSTD_isError(got)) return false;
        at += got;
        packed.p += frame, packed.n -= frame;
    }
    return at == n;
}
