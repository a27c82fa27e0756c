/* SPDX-License-Identifier: Apache-2.0
 * fuzz_reply.c - any bytes as an HTTP reply to a client: a head that is taken has a status, and the
 * body is the same in whatever pieces it comes. A Location becomes a URL, or is refused. */
#include <stdlib.h>

#include "net/reply.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Got {
    Buf body;
    bool ok, done;
} Got;

static Got read_body(const ReplyHead *h, Str bytes, size_t piece)
{
    Got got = { .ok = true };
    ReplyBody b;
    reply_body_start(&b, h, false);
    for (size_t at = 0; at < bytes.n && got.ok && !b.done;) {
        Str data, part = { bytes.p + at, MIN(piece, bytes.n - at) };
        size_t taken = reply_body_take(&b, part, &data, &got.ok);
        if (taken > part.n || data.n > part.n || (got.ok && !b.done && taken == 0)) abort();
        buf_str(&got.body, data);
        at += taken;
    }
    got.done = b.done;
    return got;
}

static void compare_bodies(const ReplyHead *h, Str bytes)
{
    Got one = read_body(h, bytes, bytes.n + 1), other = read_body(h, bytes, bytes.n % 7 + 1);
    if (one.ok != other.ok || one.done != other.done || one.body.n != other.body.n ||
        (one.body.n && memcmp(one.body.p, other.body.p, one.body.n) != 0))
        abort();
    buf_free(&one.body), buf_free(&other.body);
}

static void follow(Str location)
{
    Arena arena = { 0 };
    Err err;
    Url from = { .tls = true, .host = "hub.test", .port = 443, .path = "/a/b?c" }, to;
    if (url_follow(&arena, &from, location, &to, &err)) {
        if (to.port < 1 || to.port > 65535 || to.path[0] != '/' || !to.host[0]) abort();
        if (strpbrk(to.path, " \r\n") || strpbrk(to.host, " \r\n/")) abort();
    }
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str bytes = { size ? (const char *)data : "", size };
    ReplyHead h;
    Err err;
    size_t n = reply_head_length(bytes);
    follow((Str){ bytes.p, MIN(bytes.n, 100) });
    if (n == 0 || !reply_head_read((Str){ bytes.p, n }, &h, &err)) return 0;
    if (h.status < 100 || h.status > 999 || h.length < -1 || (h.chunked && h.length >= 0)) abort();
    follow(reply_field(&h, "Location"));
    compare_bodies(&h, (Str){ bytes.p + n, bytes.n - n });
    return 0;
}
