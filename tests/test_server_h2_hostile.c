/* SPDX-License-Identifier: Apache-2.0
 * test_server_h2_hostile.c - clients of HTTP/2 that want to hurt: floods of every kind of frame, heads
 * without end, windows that never open, lengths that lie. After each of them: memory is bounded, the
 * connection is closed or no longer read where it must be, and the server answers others. */
#include <unistd.h>

#include "h2_client.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MEMORY_TOLD = 0 };        /* their shadow grows with every page that was ever touched */
#else
enum { MEMORY_TOLD = 1 };
#endif

#define POST_JSON REQUEST("POST", "/predict") "content-type: application/json\n"
#define GRPC_PREDICT                                                                              \
    REQUEST("POST", "/encoderfile.embedding.EmbeddingInference/Predict")                          \
    "content-type: application/grpc\nte: trailers\n"

/* ---- memory of this process: the server's, and what little the clients here keep ---- */
static long resident(void)
{
    long all, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static bool grew_less(long before, long most)
{
    long more = resident() - before;
    if (!MEMORY_TOLD || more < most) return true;
    printf("  %ld bytes more than before, wanted less than %ld\n", more, most);
    return false;
}

static bool still_there(const Running *r)
{
    return strcmp(h2_ask(r, REQUEST("GET", "/health"), NULL)->body.p, "\"OK!\"") == 0;
}

/* ---- floods: one frame, again and again, and nothing is read ---- */
typedef enum { TAKEN = 1, DEAF = 2, CLOSED = 4 } Fate; /* DEAF: the server reads no more for now */

static void patience(const Client *c, int ms)
{
    struct timeval t = { ms / 1000, ms % 1000 * 1000 };
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* The frame as often as it goes into `bytes`; what became of it. */
static Fate flood(const Client *c, Frame f, size_t bytes)
{
    Buf many = { 0 };
    uint8_t head[9] = { (uint8_t)(f.n >> 16), (uint8_t)(f.n >> 8), (uint8_t)f.n, (uint8_t)f.type,
                        (uint8_t)f.flags, 0, 0, 0, (uint8_t)f.id };
    while (many.n < 1 << 16) buf_add(&many, head, 9), buf_add(&many, f.p, f.n);
    Fate fate = TAKEN;
    patience(c, 1000);
    for (size_t sent = 0; sent < bytes && fate == TAKEN; sent += many.n)
        for (size_t at = 0; at < many.n && fate == TAKEN;) {
            ssize_t n = send(c->fd, many.p + at, many.n - at, MSG_NOSIGNAL);
            if (n < 0) fate = errno == EAGAIN ? DEAF : CLOSED;
            else at += (size_t)n;
        }
    buf_free(&many);
    return fate;
}

/* What was sent behind the server's last word is thrown away, so a flood may seem to be taken. */
static bool closes(Client *c)
{
    while (next_frame(c).type >= 0) continue;
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static const uint8_t zeros[16384];
static const struct Flood {
    const char *name;
    Frame frame;
    size_t bytes;
    int fates;                   /* those that are well */
    const char *head;            /* of stream 1, sent before; or NULL */
} floods[] = {
    { "SETTINGS", { F_SETTINGS, 0, 0, 0, zeros }, 30 << 20, DEAF | CLOSED, NULL },
    { "SETTINGS of 2730 entries", { F_SETTINGS, 0, 0, 16380, zeros }, 30 << 20, CLOSED, NULL },
    { "SETTINGS ACK", { F_SETTINGS, ACK, 0, 0, zeros }, 5 << 20, TAKEN | CLOSED, NULL },
    { "PING", { F_PING, 0, 0, 8, zeros }, 40 << 20, DEAF | CLOSED, NULL },
    { "PING ACK", { F_PING, ACK, 0, 8, zeros }, 5 << 20, TAKEN | CLOSED, NULL },
    { "PRIORITY", { F_PRIORITY, 0, 3, 5, zeros }, 5 << 20, TAKEN | CLOSED, NULL },
    { "WINDOW_UPDATE", { F_WINDOW, 0, 0, 4, (const uint8_t *)"\0\0\0\1" }, 5 << 20, TAKEN | CLOSED,
      NULL },
    { "unknown frames", { 99, 0, 0, 16384, zeros }, 100 << 20, TAKEN | CLOSED, NULL },
    { "RST_STREAM of one that is over", { F_RST, 0, 1, 4, zeros }, 5 << 20, TAKEN | CLOSED,
      REQUEST("GET", "/health") },
    { "empty DATA", { F_DATA, 0, 1, 0, zeros }, 10 << 20, TAKEN | DEAF | CLOSED, POST_JSON },
    { "DATA beyond the limit", { F_DATA, 0, 1, 16384, zeros }, 100 << 20, TAKEN | DEAF | CLOSED,
      POST_JSON },
    { "DATA of a stream that is over", { F_DATA, 0, 1, 16384, zeros }, 100 << 20, DEAF | CLOSED,
      REQUEST("GET", "/health") },
    { "padding", { F_DATA, PADDED, 1, 256, (const uint8_t *)"\xff" }, 10 << 20,
      TAKEN | DEAF | CLOSED, POST_JSON },
    { "empty CONTINUATION", { F_CONTINUATION, 0, 1, 0, zeros }, 5 << 20, CLOSED, "" },
    { "long CONTINUATION", { F_CONTINUATION, 0, 1, 16384, zeros }, 30 << 20, CLOSED, "" },
};

static void test_floods(const Running *r)
{
    for (size_t i = 0; i < COUNT(floods); i++) {
        const struct Flood *f = &floods[i];
        TEST(f->name);
        long before = resident();
        Client c = h2_connect(r);
        static uint8_t padded[256] = { 0xff };
        Frame frame = f->frame;
        if (frame.flags & PADDED && frame.type == F_DATA) frame.p = padded;
        if (f->head && *f->head)
            put_head(&c, 1, f->head, strstr(f->head, "GET") ? END_STREAM : 0);
        else if (f->head) /* a head that has no end */
            put_frame(&c, (Frame){ F_HEADERS, 0, 1, 3, (const uint8_t *)"\x82\x84\x86" });
        Fate fate = flood(&c, frame, f->bytes);
        if (fate == TAKEN && !(f->fates & TAKEN) && closes(&c)) fate = CLOSED;
        if (!CHECK(fate & f->fates)) printf("  fate %d\n", fate);
        CHECK(grew_less(before, 8 << 20));
        CHECK(still_there(r));
        h2_close(&c);
        CHECK(jobs_wait(r, 0));
    }
}

/* Lines that cannot be run now are not read; who sends them all the same breaks the rules. */
static void test_window(const Running *r)
{
    TEST("DATA beyond the window");
    static uint8_t lines[16384];
    for (size_t i = 0; i < sizeof lines; i += 4) memcpy(lines + i, "\"a\"\n", 4);
    long before = resident();
    __atomic_store_n(&closed, true, __ATOMIC_RELEASE); /* the model runs nothing */
    Client c = h2_connect(r);
    put_head(&c, 1, REQUEST("POST", "/predict") "content-type: application/x-ndjson\n", 0);
    Fate fate = flood(&c, (Frame){ F_DATA, 0, 1, sizeof lines, lines }, 50 << 20);
    Answer a = answer(&c, 1);
    CHECK(fate != TAKEN || a.reset == NGHTTP2_FLOW_CONTROL_ERROR || c.goaway == NGHTTP2_FLOW_CONTROL_ERROR);
    answer_free(&a);
    CHECK(grew_less(before, 8 << 20) && still_there(r));
    __atomic_store_n(&closed, false, __ATOMIC_RELEASE);
    h2_close(&c);
    CHECK(jobs_wait(r, 0));
}

/* ---- streams ---- */
static void test_resets(const Running *r)
{
    TEST("rapid reset");
    long before = resident();
    for (int round = 0; round < 5; round++) {
        Client c = h2_connect(r);
        patience(&c, 1000);
        for (uint32_t i = 0; i < 1 << 20 && !is_over(&c); i++) {
            put_head(&c, 2 * i + 1, POST_JSON, 0);
            put_data(&c, 2 * i + 1, "{\"inputs\":[\"a\"]}", END_STREAM);
            put_number(&c, F_RST, 2 * i + 1, NGHTTP2_CANCEL);
        }
        CHECK(closes(&c) && (c.goaway == NGHTTP2_ENHANCE_YOUR_CALM || c.goaway < 0));
        h2_close(&c);
    }
    CHECK(grew_less(before, 8 << 20) && still_there(r) && jobs_wait(r, 0));
}

/* Each announces much and sends little; nothing is kept for what has not come. */
static void test_lies(const Running *r)
{
    static const struct { const char *name, *head, *body; size_t n; } rows[] = {
        { "gRPC lengths that lie", GRPC_PREDICT, "\0\0\x0f\xff\xff" "abc", 8 },
        { "gRPC lengths beyond all", GRPC_PREDICT, "\0\xff\xff\xff\xff" "abc", 8 },
        { "packed gRPC lengths that lie", GRPC_PREDICT "grpc-encoding: gzip\n", "\1\0\x0f\xff\xff\x1f\x8b", 7 },
        { "content-length that lies", POST_JSON "content-length: 1048575\n", "{", 1 },
    };
    enum { CONNECTIONS = 10, STREAMS = 100 };
    for (size_t k = 0; k < COUNT(rows); k++) {
        TEST(rows[k].name);
        Client c[CONNECTIONS];
        long before = resident();
        for (int i = 0; i < CONNECTIONS; i++) {
            c[i] = h2_connect(r);
            patience(&c[i], 1000);
            for (uint32_t s = 0; s < STREAMS; s++) {
                put_head(&c[i], 2 * s + 1, rows[k].head, 0);
                put_frame(&c[i], (Frame){ F_DATA, 0, 2 * s + 1, rows[k].n,
                                          (const uint8_t *)rows[k].body });
            }
        }
        CHECK(still_there(r));
        CHECK(grew_less(before, 24 << 20)); /* a thousand of a megabyte each, as they say */
        for (int i = 0; i < CONNECTIONS; i++) h2_close(&c[i]);
        CHECK(jobs_wait(r, 0));
    }
}

/* ---- windows ---- */
static void put_long(const Client *c, uint32_t id, const Buf *body)
{
    for (size_t at = 0, n; at < body->n; at += n) {
        n = MIN(body->n - at, 16384);
        put_frame(c, (Frame){ F_DATA, at + n == body->n, id, n, (uint8_t *)body->p + at });
    }
}

/* Takes a reply byte by byte: one stream's window, again and again. */
static void test_dribble(const Running *r)
{
    TEST("a window of one byte");
    Client c = h2_connect(r);
    put_frame(&c, (Frame){ F_SETTINGS, 0, 0, 6, (const uint8_t *)"\0\4\0\0\0\1" });
    c.hold = true;
    Buf body = long_request(20, 100);
    put_head(&c, 1, POST_JSON, 0);
    put_long(&c, 1, &body);
    size_t got = 0;
    long before = 0;
    while (got < 3000) {
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        if (f.type != F_DATA) continue;
        got += f.n;
        if (got == 500) before = resident();
        put_number(&c, F_WINDOW, 1, 1);
    }
    CHECK(got == 3000 && grew_less(before, 4 << 20) && still_there(r));
    h2_close(&c);
    TEST("windows that stay shut");
    before = resident();
    c = h2_connect(r);
    put_frame(&c, (Frame){ F_SETTINGS, 0, 0, 6, (const uint8_t *)"\0\4\0\0\0\0" });
    Buf small = long_request(1, 20);
    for (uint32_t i = 0; i < 100; i++) {
        put_head(&c, 2 * i + 1, POST_JSON, 0);
        put_long(&c, 2 * i + 1, &small);
    }
    put_head(&c, 201, REQUEST("GET", "/health"), END_STREAM); /* beyond a hundred */
    Answer a = answer(&c, 201);
    CHECK(a.reset == NGHTTP2_REFUSED_STREAM && grew_less(before, 16 << 20) && still_there(r));
    answer_free(&a);
    put_frame(&c, (Frame){ F_SETTINGS, 0, 0, 12, (const uint8_t *)"\0\4\x7f\xff\xff\xff\0\4\0\0\0\0" });
    put_frame(&c, (Frame){ F_SETTINGS, 0, 0, 6, (const uint8_t *)"\0\1\xff\xff\xff\xff" });
    h2_close(&c); /* a window opened and shut at once, and a table of 4 GB */
    CHECK(grew_less(before, 16 << 20) && still_there(r) && jobs_wait(r, 0));
    buf_free(&body), buf_free(&small);
}

/* 50 MB and more that the client takes slowly: the reply lies where it is, and nothing is added. */
static void test_slow_reader(const Running *r)
{
    TEST("slow reader of 50 MB");
    Client c = h2_connect(r);
    c.hold = true;
    Buf body = long_request(1500 / SHORTER, 500);
    put_head(&c, 1, POST_JSON, 0);
    put_body(&c, 1, &body);
    Answer a = { .reset = -1 };
    while (a.body.n < 65535) {
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        if (f.id == 1) take_frame(&c, f, &a);
    }
    CHECK(a.status == 200 && a.body.n == 65535);
    long before = resident();
    for (int i = 0; i < 100; i++, usleep(10000)) {
        put_number(&c, F_WINDOW, 0, 1000);
        put_number(&c, F_WINDOW, 1, 1000);
        Frame f = next_frame(&c);
        if (f.id == 1) take_frame(&c, f, &a);
    }
    CHECK(a.body.n > 65535 + 90000 && !a.ended && grew_less(before, 4 << 20) && still_there(r));
    h2_close(&c);
    answer_free(&a), buf_free(&body);
    CHECK(jobs_wait(r, 0));
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    TEST("model");
    if (!CHECK(make_model())) return finish();
    Running r = { .session = { .queue_jobs = 2000, .max_inputs = 4096 }, .server = { .max_body = 4 << 20 } };
    start(&r);
    for (int i = 0; i < 20; i++) still_there(&r); /* what is allocated once, is */
    test_floods(&r);
    test_window(&r);
    test_resets(&r);
    test_lies(&r);
    test_dribble(&r);
    test_slow_reader(&r);
    stop(&r);
    return finish();
}
