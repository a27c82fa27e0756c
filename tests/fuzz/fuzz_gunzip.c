/* SPDX-License-Identifier: Apache-2.0
 * fuzz_gunzip.c - any bytes as a gzip stream, in pieces of any size: what comes out does not depend on the
 * pieces, and a failure has its reason. */
#include <stdlib.h>

#include "data/gunzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Source {
    Str left;
    size_t piece;
} Source;

static bool give(void *context, void *to, size_t room, size_t *got, Err *err)
{
    Source *s = context;
    (void)err;
    *got = MIN(MIN(room, s->piece), s->left.n);
    if (*got) memcpy(to, s->left.p, *got);
    s->left.p += *got, s->left.n -= *got;
    return true;
}

static bool unpack(Arena *arena, Str packed, size_t head, size_t piece, size_t room, Buf *out)
{
    enum { MOST = 1 << 20 }; /* of a bomb: enough */
    char block[4096];
    Err err = { 0 };
    Source s = { { packed.p + head, packed.n - head }, piece };
    Gunzip *g = gunzip_open(arena, (Str){ packed.p, head }, give, &s);
    size_t got = 1;
    bool ok = true;
    while (ok && got && out->n < MOST) {
        ok = gunzip_read(g, block, MIN(room, sizeof block), &got, &err);
        if (ok) buf_add(out, block, got);
    }
    if (!ok && err.code != EF_INVALID_INPUT) abort();
    gunzip_close(g);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Buf whole = { 0 }, pieces = { 0 };
    Str packed = { size ? (const char *)data : "", size };
    bool one = unpack(&arena, packed, size, 1, 4096, &whole);
    bool other = unpack(&arena, packed, size / 3, size % 7 + 1, 4096, &pieces);
    size_t n = MIN(whole.n, pieces.n);
    if (one != other || (n && memcmp(whole.p, pieces.p, n) != 0) || (one && whole.n != pieces.n)) abort();
    buf_free(&whole), buf_free(&pieces);
    arena_free(&arena);
    return 0;
}
