/* SPDX-License-Identifier: Apache-2.0
 * gunzip.c - zlib's inflate over a source that gives a block at a time. */
#include "gunzip.h"

#include <zlib.h>

enum { BLOCK = 1 << 16, GZIP_FORM = 15 + 16 /* the largest window, gzip's header */ };

struct Gunzip {
    z_stream z;
    GunzipSource *source;
    void *context;
    bool between;           /* no member is open */
    bool end;               /* of the source */
    Bytef block[BLOCK];
};

bool gunzip_is(Str head)
{
    return str_starts(head, "\x1f\x8b");
}

Gunzip *gunzip_open(Arena *arena, Str head, GunzipSource *source, void *context)
{
    Gunzip *g = NEW(arena, Gunzip);
    assert(head.n <= UINT32_MAX);
    g->source = source, g->context = context, g->between = true;
    g->z.next_in = (Bytef *)(uintptr_t)head.p, g->z.avail_in = (uInt)head.n;
    int state = inflateInit2(&g->z, GZIP_FORM);
    assert(state == Z_OK);
    (void)state;
    return g;
}

static bool gunzip_refill(Gunzip *g, Err *err)
{
    size_t n = 0;
    if (g->z.avail_in || g->end) return true;
    if (!g->source(g->context, g->block, BLOCK, &n, err)) return false;
    g->z.next_in = g->block, g->z.avail_in = (uInt)n;
    g->end = n == 0;
    return true;
}

/* One step of zlib; a member that ends makes room for the next. */
static bool gunzip_step(Gunzip *g, Err *err)
{
    if (g->between && g->z.next_in[0] != 0x1f)
        return fail(err, EF_INVALID_INPUT, "gzip: found other bytes behind the end of the stream");
    g->between = false;
    int state = inflate(&g->z, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
        g->between = true;
        inflateReset(&g->z);
    }
    return state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR ||
           fail(err, EF_INVALID_INPUT, "gzip: found damaged data (%s)", g->z.msg ? g->z.msg : "?");
}

bool gunzip_read(Gunzip *g, void *to, size_t room, size_t *got, Err *err)
{
    *got = 0;
    room = MIN(room, (size_t)1 << 30); /* zlib counts in unsigned int */
    g->z.next_out = to, g->z.avail_out = (uInt)room;
    while (g->z.avail_out == room) {
        if (!gunzip_refill(g, err)) return false;
        if (!g->z.avail_in && g->between) return true;
        if (!g->z.avail_in) return fail(err, EF_INVALID_INPUT, "gzip: the data is cut short");
        if (!gunzip_step(g, err)) return false;
    }
    *got = room - g->z.avail_out;
    return true;
}

void gunzip_close(Gunzip *g)
{
    if (g) inflateEnd(&g->z);
}
