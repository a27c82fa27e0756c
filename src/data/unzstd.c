/* SPDX-License-Identifier: Apache-2.0
 * unzstd.c - libzstd over a source that gives a block at a time. */
#include "unzstd.h"

#include <zstd.h>

#include "unpack.h"

enum { BLOCK = 1 << 16, MAGIC_BYTES = 4 };

struct Unzstd {
    ZSTD_DStream *z;
    GunzipSource *source;
    void *context;
    Str in;                 /* packed bytes that have not been used */
    bool between;           /* no frame is open */
    bool end;               /* of the source */
    char block[BLOCK];
};

bool unzstd_is(Str head)
{
    return unpack_zstd_begins(head);
}

Unzstd *unzstd_open(Arena *arena, Str head, GunzipSource *source, void *context)
{
    Unzstd *u = NEW(arena, Unzstd);
    u->source = source, u->context = context, u->in = head, u->between = true;
    u->z = ZSTD_createDStream();
    assert(u->z);
    return u;
}

/* At least `wanted` bytes, or all that there are. */
static bool unzstd_refill(Unzstd *u, size_t wanted, Err *err)
{
    while (u->in.n < wanted && !u->end) {
        size_t n = 0;
        if (u->in.n) memmove(u->block, u->in.p, u->in.n);
        if (!u->source(u->context, u->block + u->in.n, BLOCK - u->in.n, &n, err)) return false;
        u->in = (Str){ u->block, u->in.n + n };
        u->end = n == 0;
    }
    return true;
}

/* A frame of another format must not reach the library. */
static bool unzstd_next(Unzstd *u, bool *more, Err *err)
{
    if (!unzstd_refill(u, MAGIC_BYTES, err)) return false;
    *more = u->in.n > 0;
    return !*more || unpack_zstd_begins(u->in) ||
           fail(err, EF_INVALID_INPUT, "zstd: found other bytes behind the end of the stream");
}

bool unzstd_read(Unzstd *u, void *to, size_t room, size_t *got, Err *err)
{
    ZSTD_outBuffer out = { to, room, 0 };
    for (bool more = true; more && out.pos == 0;) {
        if (u->between && !unzstd_next(u, &more, err)) return false;
        if (!more) break;
        if (!unzstd_refill(u, 1, err)) return false;
        ZSTD_inBuffer in = { u->in.p, u->in.n, 0 };
        const size_t state = ZSTD_decompressStream(u->z, &out, &in);
        if (ZSTD_isError(state))
            return fail(err, EF_INVALID_INPUT, "zstd: found damaged data (%s)", ZSTD_getErrorName(state));
        if (u->in.n == 0 && u->end && out.pos == 0 && state)
            return fail(err, EF_INVALID_INPUT, "zstd: the data is cut short");
        u->in.p += in.pos, u->in.n -= in.pos;
        u->between = state == 0;
    }
    *got = out.pos;
    return true;
}

void unzstd_close(Unzstd *u)
{
    if (u) ZSTD_freeDStream(u->z);
}
