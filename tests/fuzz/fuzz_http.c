/* SPDX-License-Identifier: Apache-2.0
 * fuzz_http.c - any bytes in any pieces to the request parser: no crash, views inside the buffer, and
 * the same outcome as the whole at once. The first two bytes choose the pieces. */
#include <stdlib.h>

#include "server/http1.h"
#include "server/origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Outcome {
    Http1Event event;
    Http1 http;
    Buf in;
} Outcome;

static void need(bool condition)
{
    if (!condition) abort();
}

static void feed(Outcome *o, const uint8_t *data, size_t size, bool split, unsigned random)
{
    Err err;
    *o = (Outcome){ .event = HTTP1_MORE };
    http1_start(&o->http, (Http1Limits){ 1024, 4096 });
    while (size && (o->event == HTTP1_MORE || o->event == HTTP1_HEAD)) {
        random = random * 1103515245u + 12345u;
        size_t piece = split ? MIN(size, 1 + (random >> 16) % 37) : size;
        buf_add(&o->in, data, piece);
        data += piece;
        size -= piece;
        do o->event = http1_feed(&o->http, &o->in, &err);
        while (o->event == HTTP1_HEAD);
    }
}

static bool same_text(const Outcome *a, HttpSpan x, const Outcome *b, HttpSpan y)
{
    need(x.at + x.n <= a->in.n && y.at + y.n <= b->in.n);
    return str_eq(http1_view(x, &a->in), http1_view(y, &b->in));
}

static void compare(const Outcome *a, const Outcome *b)
{
    const Http1 *x = &a->http, *y = &b->http;
    need(a->event == b->event && x->status == y->status);
    if (a->event != HTTP1_DONE) return;
    need(x->at <= a->in.n && y->at <= b->in.n);
    need(same_text(a, x->method, b, y->method) && same_text(a, x->path, b, y->path));
    need(same_text(a, x->body, b, y->body) && same_text(a, x->field[HEADER_CONTENT_TYPE], b, y->field[HEADER_CONTENT_TYPE]));
    need(x->body.n <= 4096 && x->keep_alive == y->keep_alive);
}

/* An address is all of its text, and few texts are those of this machine. */
static void read_origins(const Outcome *o)
{
    static const Header fields[] = { HEADER_HOST, HEADER_AUTHORITY, HEADER_ORIGIN };
    for (size_t i = 0; i < COUNT(fields); i++) {
        Str text = http1_view(o->http.field[fields[i]], &o->in);
        Origin at;
        bool ok = fields[i] == HEADER_ORIGIN ? origin_read(text, &at) : origin_read_host(text, &at);
        if (!ok) continue;
        need(at.host.n && at.host.p >= text.p && at.host.p + at.host.n <= text.p + text.n);
        need(at.port >= -1 && at.port <= 65535 && !memchr(text.p, '@', text.n));
        need(!origin_host_is_local(at.host) || strchr("lL10:", at.host.p[0]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    unsigned random = data[0] + 256u * data[1] + 1;
    Outcome whole, pieces;
    feed(&whole, data + 2, size - 2, false, 0);
    feed(&pieces, data + 2, size - 2, true, random);
    compare(&whole, &pieces);
    if (whole.event == HTTP1_DONE) read_origins(&whole);
    buf_free(&whole.in);
    buf_free(&pieces.in);
    return 0;
}
