/* SPDX-License-Identifier: Apache-2.0
 * gzip.c - zlib's streams, a block at a time. */
#include "gzip.h"

#include <zlib.h>

enum { BLOCK = 1 << 16, GZIP_FORM = 15 + 16 /* the largest window, gzip's header */ };

struct Gzip {
    z_stream z;
    GzipSink *sink;
    void *context;
    bool failed;
    Bytef block[BLOCK];
};

/* zlib's memory comes from the arena, so there is nothing to free. */
static void *zlib_alloc(void *arena, unsigned items, unsigned size)
{
    return arena_raw(arena, (size_t)items * size);
}

static void zlib_free(void *arena, void *p)
{
    (void)arena, (void)p;
}

Gzip *gzip_open(Arena *arena, int level, GzipSink *sink, void *context)
{
    Gzip *g = NEW(arena, Gzip);
    g->sink = sink, g->context = context;
    g->z.zalloc = zlib_alloc, g->z.zfree = zlib_free, g->z.opaque = arena;
    int state = deflateInit2(&g->z, level, Z_DEFLATED, GZIP_FORM, 9, Z_DEFAULT_STRATEGY);
    assert(state == Z_OK);
    (void)state;
    return g;
}

/* Writes all output that zlib has for the input it was given. */
static bool gzip_pump(Gzip *g, int flush, Err *err)
{
    int state = Z_OK;
    do {
        g->z.next_out = g->block, g->z.avail_out = BLOCK;
        state = deflate(&g->z, flush);
        size_t n = BLOCK - g->z.avail_out;
        if (n && !g->sink(g->context, g->block, n, err)) return g->failed = true, false;
    } while (g->z.avail_in || !g->z.avail_out || (flush == Z_FINISH && state != Z_STREAM_END));
    return true;
}

bool gzip_add(Gzip *g, Str bytes, Err *err)
{
    for (size_t at = 0, n; at < bytes.n; at += n) {
        n = MIN(bytes.n - at, (size_t)1 << 30); /* zlib counts in unsigned int */
        g->z.next_in = (Bytef *)(uintptr_t)(bytes.p + at), g->z.avail_in = (uInt)n;
        if (!gzip_pump(g, Z_NO_FLUSH, err)) return false;
    }
    return true;
}

bool gzip_close(Gzip *g, Err *err)
{
    bool ok = !g->failed && gzip_pump(g, Z_FINISH, err);
    deflateEnd(&g->z);
    return ok;
}

static bool gzip_into_buf(void *context, const void *bytes, size_t n, Err *err)
{
    (void)err;
    buf_add(context, bytes, n);
    return true;
}

void gzip_pack(Buf *out, Str bytes, int level)
{
    Arena arena = { .local = true };
    Err never;
    Gzip *g = gzip_open(&arena, level, gzip_into_buf, out);
    gzip_add(g, bytes, &never);
    gzip_close(g, &never);
    arena_free(&arena);
}

/* One step; *state is zlib's. */
static bool gunzip_block(z_stream *z, Buf *out, size_t most, int *state, Err *err)
{
    Bytef block[BLOCK];
    z->next_out = block, z->avail_out = BLOCK;
    *state = inflate(z, Z_NO_FLUSH);
    size_t n = BLOCK - z->avail_out;
    if (*state != Z_OK && *state != Z_STREAM_END && *state != Z_BUF_ERROR)
        return fail(err, EF_BAD_MODEL, "gzip: found damaged data (%s)", z->msg ? z->msg : "?");
    if (n > most - MIN(out->n, most))
        return fail(err, EF_TOO_LARGE, "gzip: found more than %zu bytes inside", most);
    buf_add(out, block, n);
    if (*state == Z_STREAM_END || n || z->avail_in) return true;
    return fail(err, EF_BAD_MODEL, "gzip: the data is cut short");
}

/* The member at byte *at, which moves behind it. */
static bool gunzip_member(z_stream *z, Str compressed, size_t *at, Buf *out, size_t most, Err *err)
{
    size_t given = *at;
    z->avail_in = 0;
    for (int state = Z_OK; state != Z_STREAM_END;) {
        size_t n = z->avail_in ? 0 : MIN(compressed.n - given, (size_t)1 << 30);
        if (n) z->next_in = (Bytef *)(uintptr_t)(compressed.p + given), z->avail_in = (uInt)n;
        given += n;
        if (!gunzip_block(z, out, most, &state, err)) return false;
    }
    *at = given - z->avail_in;
    return true;
}

/* Whether another member begins at byte at; false and err: something else does. */
static bool has_member(Str compressed, size_t at, Err *err)
{
    size_t end = at;
    while (end < compressed.n && compressed.p[end] == '\0') end++;
    if (end == compressed.n) return false;
    if (compressed.n - at > 1 && !memcmp(compressed.p + at, "\x1f\x8b", 2)) return true;
    return fail(err, EF_BAD_MODEL, "gzip: found %zu bytes behind the end of the data, wanted none",
                compressed.n - at);
}

bool gzip_unpack(Buf *out, Str compressed, size_t most, Err *err)
{
    Arena arena = { .local = true };
    z_stream z = { .zalloc = zlib_alloc, .zfree = zlib_free, .opaque = &arena };
    Err behind = { 0 };
    size_t begin = out->n, limit = begin + most < begin ? SIZE_MAX : begin + most, at = 0;
    int state = inflateInit2(&z, GZIP_FORM);
    assert(state == Z_OK);
    bool ok = state == Z_OK && gunzip_member(&z, compressed, &at, out, limit, err);
    while (ok && has_member(compressed, at, &behind))
        ok = inflateReset(&z) == Z_OK && gunzip_member(&z, compressed, &at, out, limit, err);
    if (ok && behind.code) *err = behind, ok = false;
    arena_free(&arena);
    if (!ok) out->n = begin;
    return ok;
}
