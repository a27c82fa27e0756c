/* SPDX-License-Identifier: Apache-2.0
 * test_server_h2.c - the server over HTTP/2: the same answers as over HTTP/1.1, many at once, flow
 * control in both directions, and clients that break the rules. */
#include "data/gzip.h"
#include "h2_client.h"

#define POST_JSON REQUEST("POST", "/predict") "content-type: application/json\n"
#define BODY_A "{\"inputs\":[\"a\"]}"

static void gate(bool shut)
{
    __atomic_store_n(&closed, shut, __ATOMIC_RELEASE);
}

static bool is(const Answer *a, int status, const char *head, const char *body)
{
    if (a->status == status && strstr(a->head.p, head) && strstr(a->body.p, body)) return true;
    printf("  status %d reset %d: %s%.300s\n", a->status, a->reset, a->head.p, a->body.p);
    return false;
}

static void test_same(const Running *r)
{
    TEST("same answers");
    CHECK(is(h2_ask(r, REQUEST("GET", "/health"), NULL), 200, "content-type: application/json\n",
             "\"OK!\""));
    CHECK(is(h2_ask(r, REQUEST("GET", "/health?x=1"), NULL), 200, "content-length: 5\n", "\"OK!\""));
    const Answer *a = h2_ask(r, REQUEST("HEAD", "/health"), NULL);
    CHECK(is(a, 200, "content-length: 5\n", "") && a->body.n == 1);
    CHECK(is(h2_ask(r, REQUEST("GET", "/nothing"), NULL), 404, "", "\"not_found\""));
    CHECK(is(h2_ask(r, REQUEST("GET", "/predict"), NULL), 405, "allow: POST, OPTIONS\n", ""));
    CHECK(is(h2_ask(r, REQUEST("OPTIONS", "/predict"), NULL), 204, "allow: POST, OPTIONS\n", ""));
    CHECK(is(h2_ask(r, REQUEST("GET", "/health") "x-request-id: mine\n", NULL), 200,
             "x-request-id: mine\n", ""));
    a = h2_ask(r, POST_JSON, BODY_A);
    CHECK(is(a, 200, "", REPLY_A) && a->body.n == sizeof REPLY_A);
    CHECK(is(h2_ask(r, POST_JSON "content-length: 16\n", BODY_A), 200, "", REPLY_A));
    CHECK(is(h2_ask(r, POST_JSON, "{\"inputs\":7}"), 422, "", "invalid_input"));
    CHECK(is(h2_ask(r, POST_JSON, "{\"inputs\":[\"boom\"]}"), 500, "", "boom"));
    CHECK(is(h2_ask(r, POST_JSON, NULL), 400, "", "bad_request"));
    CHECK(is(h2_ask(r, REQUEST("POST", "/predict"), BODY_A), 415, "", ""));
    CHECK(is(h2_ask(r, POST_JSON "content-encoding: br\n", BODY_A), 415, "", "gzip or identity"));
    CHECK(is(h2_ask(r, POST_JSON "content-type: text/plain\n", BODY_A), 400, "", "twice"));
    a = h2_ask(r, REQUEST("POST", "/predict") "content-type: application/x-ndjson\n",
               "\"a\"\n{\"inputs\":7}\n[\"a\",\"a\"]");
    CHECK(is(a, 200, "content-type: application/x-ndjson\n", REPLY_A "\n{\"error\":"));
    CHECK(!strstr(a->head.p, "content-length"));
}

static void test_options(void)
{
    TEST("keys, origins, gzip, limits");
    Running r = { .server = { .api_keys = "key", .origins = "*", .gzip_from = 50, .max_body = 500 } };
    start(&r);
    CHECK(is(h2_ask(&r, POST_JSON, BODY_A), 401, "www-authenticate: Bearer\n", ""));
#define WITH_KEY POST_JSON "authorization: Bearer key\n"
    CHECK(is(h2_ask(&r, WITH_KEY "origin: http://a\n", BODY_A), 200,
             "access-control-allow-origin: *\n", REPLY_A));
    const Answer *a = h2_ask(&r, WITH_KEY "accept-encoding: gzip\n", BODY_A);
    Buf text = { 0 };
    Err err = { 0 };
    CHECK(is(a, 200, "content-encoding: gzip\n", ""));
    CHECK(gzip_unpack(&text, (Str){ a->body.p, a->body.n - 1 }, 10000, &err));
    CHECK(str_is(buf_view(&text), REPLY_A));
    buf_free(&text);
    CHECK(is(h2_ask(&r, WITH_KEY "content-length: 501\n", NULL), 0, "", "")); /* but no body */
    char long_body[600];
    memset(long_body, ' ', sizeof long_body);
    long_body[sizeof long_body - 1] = 0;
    CHECK(is(h2_ask(&r, WITH_KEY "content-length: 599\n", long_body), 413, "", "too_large"));
    CHECK(is(h2_ask(&r, WITH_KEY, long_body), 413, "", "too_large"));
    stop(&r);
}

/* ---- many at once ---- */
static void test_streams(const Running *r)
{
    TEST("100 streams");
    Client c = h2_connect(r);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    gate(true);
    for (uint32_t i = 0; i < 100; i++) {
        put_head(&c, 2 * i + 1, POST_JSON, 0);
        put_data(&c, 2 * i + 1, BODY_A, END_STREAM);
        if (i == 0) CHECK(run_begins(before)); /* of one; the others wait */
    }
    CHECK(jobs_wait(r, 99));
    put_head(&c, 201, REQUEST("GET", "/health"), END_STREAM); /* one too many, only for now */
    Answer a = answer(&c, 201);
    CHECK(a.status == 0 && a.reset == NGHTTP2_REFUSED_STREAM);
    answer_free(&a);
    put_number(&c, F_RST, 1, NGHTTP2_CANCEL); /* makes room */
    put_head(&c, 203, REQUEST("GET", "/health"), END_STREAM);
    a = answer(&c, 203);
    CHECK(is(&a, 200, "", "\"OK!\"")); /* although the model is busy */
    answer_free(&a);
    gate(false);
    int fine = 0;
    Answer one = { 0 };
    while (fine < 99) {
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        one.status = one.body.n = 0;
        if (f.type == F_HEADERS || f.type == F_DATA) take_frame(&c, f, &one);
        fine += f.type == F_DATA && f.flags & END_STREAM && f.n == sizeof REPLY_A - 1;
    }
    CHECK(fine == 99);
    answer_free(&one);
    h2_close(&c);
}

/* ---- flow control ---- */
static void test_flow(const Running *r)
{
    TEST("flow control");
    Client c = h2_connect(r);
    Buf body = long_request(2000 / SHORTER, 500); /* 2 MB up, 80 MB down */
    c.hold = true;
    put_head(&c, 1, POST_JSON, 0);
    put_body(&c, 1, &body);
    Answer a = { .reset = -1 };
    while (a.body.n < 65535) { /* as much as was allowed, and no more */
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        if (f.id == 1) take_frame(&c, f, &a);
    }
    CHECK(a.status == 200 && a.body.n == 65535);
    put_head(&c, 3, REQUEST("GET", "/health"), END_STREAM);
    put_number(&c, F_WINDOW, 0, 1000);
    Answer health = answer(&c, 3);
    CHECK(is(&health, 200, "", "\"OK!\"")); /* others go on */
    c.hold = false;
    put_number(&c, F_WINDOW, 0, 1 << 30);
    put_number(&c, F_WINDOW, 1, 1 << 30);
    while (!a.ended) {
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        if (f.id == 1) take_frame(&c, f, &a);
    }
    CHECK(a.ended && a.body.n > 60000000 / SHORTER && memcmp(a.body.p + a.body.n - 2, "\"}", 2) == 0);
    answer_free(&a), answer_free(&health), buf_free(&body);
    h2_close(&c);
}

/* A client that reads nothing at all of many lines' answers: the server stops reading too. */
static void test_lines(const Running *r)
{
    TEST("lines, not read");
    Client c = h2_connect(r);
    c.hold = true;
    put_head(&c, 1, REQUEST("POST", "/predict") "content-type: application/x-ndjson\n", 0);
    Buf all = { 0 };
    for (int i = 0; i < 2000; i++) { /* 4 MB up, 160 MB down */
        buf_char(&all, '"');
        for (int k = 0; k < 1000; k++) buf_puts(&all, "a ");
        buf_puts(&all, "\"\n");
    }
    struct timeval patience = { 1, 0 };
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    put_body(&c, 1, &all);
    CHECK(c.in.n < 1 << 20); /* put_body gave up: the window did not grow */
    CHECK(is(h2_ask(r, REQUEST("GET", "/health"), NULL), 200, "", "\"OK!\""));
    h2_close(&c);
    buf_free(&all);
}

/* ---- the end ---- */
static void test_stop(void)
{
    TEST("stop");
    Running r = { 0 };
    start(&r);
    Client idle = h2_connect(&r), busy = h2_connect(&r), half = h2_connect(&r);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    gate(true);
    put_head(&busy, 1, POST_JSON, 0);
    put_data(&busy, 1, BODY_A, END_STREAM);
    put_head(&half, 1, POST_JSON, 0);
    CHECK(run_begins(before));
    tell_stop(&r);
    Frame f;
    do f = next_frame(&idle);
    while (f.type >= 0);
    CHECK(idle.goaway == NGHTTP2_NO_ERROR);
    put_head(&busy, 3, REQUEST("GET", "/health"), END_STREAM); /* too late: not even looked at */
    put_data(&half, 1, BODY_A, END_STREAM);
    usleep(50000);
    gate(false);
    Answer a = answer(&busy, 1), b = answer(&half, 1);
    CHECK(is(&a, 200, "", REPLY_A) && busy.goaway == NGHTTP2_NO_ERROR);
    CHECK(is(&b, 200, "", REPLY_A) && half.goaway == NGHTTP2_NO_ERROR);
    stop(&r);
    answer_free(&a), answer_free(&b);
    h2_close(&idle), h2_close(&busy), h2_close(&half);
}

static void test_timeouts(void)
{
    TEST("timeouts");
    Running r = { .server = {
                      .header_timeout_s = 0.6, .body_timeout_s = 0.6, .idle_timeout_s = 0.9 } };
    Running patient = { .server = { .body_timeout_s = 3, .idle_timeout_s = 0.9 } }; /* of who does not read */
    start(&r), start(&patient);
    Client idle = h2_connect(&r), head = h2_connect(&r), body = h2_connect(&r);
    Client deaf = h2_connect(&patient);
    put_frame(&head, (Frame){ F_HEADERS, 0, 1, 1, (const uint8_t *)"\x82" });
    put_head(&body, 1, POST_JSON, 0);
    Buf request = long_request(200, 500);
    deaf.hold = true;
    put_head(&deaf, 1, POST_JSON, 0);
    put_body(&deaf, 1, &request);
    Answer a = answer(&body, 1);
    CHECK(is(&a, 408, "", "timeout"));
    answer_free(&a);
    while (next_frame(&head).type >= 0) continue;
    CHECK(head.goaway == NGHTTP2_PROTOCOL_ERROR);
    while (next_frame(&idle).type >= 0) continue;
    CHECK(idle.goaway == NGHTTP2_NO_ERROR);
    a = answer(&deaf, 1);
    CHECK(a.status == 200 && a.reset == NGHTTP2_CANCEL && a.body.n < 70000);
    answer_free(&a), buf_free(&request);
    h2_close(&idle), h2_close(&head), h2_close(&body), h2_close(&deaf);
    stop(&r), stop(&patient);
}

/* ---- first words ---- */
static void test_greeting(const Running *r)
{
    TEST("greeting");
    Client c = client_on(connect_to(r));
    for (const char *p = PREFACE; *p; p++, usleep(300)) put_bytes(c.fd, p, 1);
    put_frame(&c, (Frame){ .type = F_SETTINGS });
    put_head(&c, 1, REQUEST("GET", "/health"), END_STREAM);
    Answer a = answer(&c, 1);
    CHECK(is(&a, 200, "", "\"OK!\""));
    answer_free(&a);
    h2_close(&c);
    int fd = connect_to(r);
    put(fd, "P");
    usleep(20000);
    put(fd, "OST /predict" H JSON "Content-Length: 16\r\n\r\n" BODY_A);
    CHECK(has(get(fd, false), REPLY_A));
    close(fd);
    CHECK(has(ask(r, "PRI * HTTP/2.0\r\n\r\nXX"), "HTTP/1.1 505 "));
}

/* ---- what breaks the rules ---- */
static const char too_long[16385];
typedef enum { GONE, RESET, REPLY } Outcome;
static const struct Bad {
    const char *name;
    Outcome wanted;
    int code;                    /* of GOAWAY or RST_STREAM; the status of a reply */
    const char *head;            /* lines of stream 1, or NULL; then */
    int head_flags;
    Frame frame;                 /* type -1: none */
} bad[] = {
#define P(text) sizeof(text) - 1, (const uint8_t *)(text)
#define GET REQUEST("GET", "/health")
#define NONE { -1, 0, 0, 0, NULL }
    { "DATA on stream 0", GONE, 1, NULL, 0, { F_DATA, 0, 0, P("x") } },
    { "DATA on an idle stream", GONE, 1, NULL, 0, { F_DATA, 0, 5, P("x") } },
    { "HEADERS on stream 0", GONE, 1, NULL, 0, { F_HEADERS, 5, 0, P("\x82") } },
    { "HEADERS on an even stream", GONE, 1, NULL, 0, { F_HEADERS, 5, 2, P("\x82\x84\x86") } },
    { "frame too long", GONE, 6, POST_JSON, 0, { F_DATA, 0, 1, 16385, (const uint8_t *)too_long } },
    { "padding longer than the frame", GONE, 1, POST_JSON, 0, { F_DATA, PADDED, 1, P("\x09xx") } },
    { "PRIORITY too short", GONE, 6, POST_JSON, 0, { F_PRIORITY, 0, 1, P("abc") } },
    { "RST_STREAM too short", GONE, 6, POST_JSON, 0, { F_RST, 0, 1, P("abc") } },
    { "RST_STREAM on stream 0", GONE, 1, NULL, 0, { F_RST, 0, 0, P("\0\0\0\0") } },
    { "RST_STREAM on an idle stream", GONE, 1, NULL, 0, { F_RST, 0, 7, P("\0\0\0\0") } },
    { "SETTINGS on a stream", GONE, 1, NULL, 0, { F_SETTINGS, 0, 1, 0, NULL } },
    { "SETTINGS of odd length", GONE, 6, NULL, 0, { F_SETTINGS, 0, 0, P("abcde") } },
    { "SETTINGS ACK with content", GONE, 6, NULL, 0, { F_SETTINGS, ACK, 0, P("\0\3\0\0\0\1") } },
    { "ENABLE_PUSH 2", GONE, 1, NULL, 0, { F_SETTINGS, 0, 0, P("\0\2\0\0\0\2") } },
    { "window of 2^31", GONE, 3, NULL, 0, { F_SETTINGS, 0, 0, P("\0\4\x80\0\0\0") } },
    { "frames of 1 byte", GONE, 1, NULL, 0, { F_SETTINGS, 0, 0, P("\0\5\0\0\0\1") } },
    { "PUSH_PROMISE", GONE, 1, NULL, 0, { F_PUSH, 4, 1, P("\0\0\0\2\x82") } },
    { "PING too short", GONE, 6, NULL, 0, { F_PING, 0, 0, P("abc") } },
    { "PING on a stream", GONE, 1, NULL, 0, { F_PING, 0, 1, P("abcdefgh") } },
    { "GOAWAY on a stream", GONE, 1, NULL, 0, { F_GOAWAY, 0, 1, P("\0\0\0\0\0\0\0\0") } },
    { "WINDOW_UPDATE of 0", GONE, 1, NULL, 0, { F_WINDOW, 0, 0, P("\0\0\0\0") } },
    { "WINDOW_UPDATE of 0 on a stream", GONE, 1, POST_JSON, 0, { F_WINDOW, 0, 1, P("\0\0\0\0") } },
    { "WINDOW_UPDATE too short", GONE, 6, NULL, 0, { F_WINDOW, 0, 0, P("ab") } },
    { "window too large", GONE, 3, NULL, 0, { F_WINDOW, 0, 0, P("\x7f\xff\xff\xff") } },
    { "window too large on a stream", RESET, 3, POST_JSON, 0,
      { F_WINDOW, 0, 1, P("\x7f\xff\xff\xff") } },
    { "CONTINUATION of nothing", GONE, 1, NULL, 0, { F_CONTINUATION, 4, 1, P("\x82") } },
    { "head packed wrongly", GONE, 9, NULL, 0, { F_HEADERS, 5, 1, P("\xff\xff\xff\xff\xff") } },
    { "unknown frame", REPLY, 200, GET, END_STREAM, { 99, 0xff, 0, P("whatever") } },
    { "upper-case name", RESET, 1, GET "Name: x\n", END_STREAM, NONE },
    { "connection field", RESET, 1, GET "connection: close\n", END_STREAM, NONE },
    { "te", RESET, 1, GET "te: gzip\n", END_STREAM, NONE },
    { "pseudo after fields", RESET, 1, "a: b\n" GET, END_STREAM, NONE },
    { "unknown pseudo", RESET, 1, GET ":x: y\n", END_STREAM, NONE },
    { "reply's pseudo", RESET, 1, GET ":status: 200\n", END_STREAM, NONE },
    { "two paths", RESET, 1, GET ":path: /\n", END_STREAM, NONE },
    { "no path", RESET, 1, ":method: GET\n:scheme: http\n:authority: x\n", END_STREAM, NONE },
    { "empty path", RESET, 1, REQUEST("GET", ""), END_STREAM, NONE },
    { "control in a value", RESET, 1, GET "a: \x01\n", END_STREAM, NONE },
    { "length and no body", RESET, 1, GET "content-length: 7\n", END_STREAM, NONE },
    { "body longer than its length", RESET, 1, POST_JSON "content-length: 1\n", 0,
      { F_DATA, END_STREAM, 1, P("{}") } },
    { "length that is none", RESET, 1, POST_JSON "content-length: x\n", 0, NONE },
    { "CONNECT", REPLY, 404, ":method: CONNECT\n:authority: x\n", END_STREAM, NONE },
    { "no route", REPLY, 404, REQUEST("GET", "/\xc3\xa4"), END_STREAM, NONE },
};

static void test_bad(const Running *r)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        const struct Bad *b = &bad[i];
        TEST(b->name);
        Client c = h2_connect(r);
        if (b->head) put_head(&c, 1, b->head, b->head_flags);
        if (b->frame.type >= 0) put_frame(&c, b->frame);
        Answer a = answer(&c, 1);
        int found = b->wanted == GONE ? c.goaway : b->wanted == RESET ? a.reset : a.status;
        if (!CHECK(found == b->code))
            printf("  goaway %d reset %d status %d\n", c.goaway, a.reset, a.status);
        answer_free(&a);
        h2_close(&c);
    }
    TEST("still there");
    CHECK(is(h2_ask(r, REQUEST("GET", "/health"), NULL), 200, "", "\"OK!\""));
}

/* ---- floods ---- */
enum { FLOOD = 1 << 20 };        /* some are forgiven each second, so on a slow machine it takes more */
static int goaway_after(Client *c)
{
    while (next_frame(c).type >= 0) continue;
    int code = c->goaway;
    h2_close(c);
    return code;
}

static void test_floods(const Running *r)
{
    TEST("rapid reset");
    Client c = h2_connect(r);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < FLOOD && !is_over(&c); i++) {
        put_head(&c, 2 * i + 1, POST_JSON, 0);
        put_data(&c, 2 * i + 1, BODY_A, END_STREAM);
        put_number(&c, F_RST, 2 * i + 1, NGHTTP2_NO_ERROR);
    }
    CHECK(goaway_after(&c) == NGHTTP2_ENHANCE_YOUR_CALM);
    CHECK(__atomic_load_n(&runs, __ATOMIC_RELAXED) - before < 1500);
    TEST("resets that we are made to send");
    c = h2_connect(r);
    for (uint32_t i = 0; i < FLOOD && !is_over(&c); i++) {
        put_head(&c, 2 * i + 1, POST_JSON, 0);
        put_number(&c, F_WINDOW, 2 * i + 1, 0x7fffffff);
    }
    int code = goaway_after(&c); /* or nghttp2 had enough, and no last word */
    CHECK(code == NGHTTP2_ENHANCE_YOUR_CALM || code < 0);
    TEST("CONTINUATION without end");
    c = h2_connect(r);
    put_frame(&c, (Frame){ F_HEADERS, 0, 1, 3, (const uint8_t *)"\x82\x84\x86" });
    for (int i = 0; i < 5000; i++)
        put_frame(&c, (Frame){ F_CONTINUATION, 0, 1, 6, (const uint8_t *)"\x40\1x\2yy" });
    CHECK(goaway_after(&c) >= 0);
    TEST("pings");
    c = h2_connect(r);
    for (int i = 0; i < 100000; i++)
        put_frame(&c, (Frame){ F_PING, 0, 0, 8, (const uint8_t *)"abcdefgh" });
    h2_close(&c); /* none of the answers was read */
    TEST("still there");
    CHECK(is(h2_ask(r, REQUEST("GET", "/health"), NULL), 200, "", "\"OK!\""));
    CHECK(jobs_wait(r, 0));
}

static void test_heads(const Running *r)
{
    TEST("long heads");
    Buf lines = { 0 };
    buf_puts(&lines, GET);
    for (int i = 0; i < 150; i++) buf_printf(&lines, "x-%d: 1\n", i);
    buf_char(&lines, 0);
    CHECK(is(h2_ask(r, lines.p, NULL), 431, "", "too many fields"));
    lines.n = 0;
    buf_puts(&lines, GET "a: ");
    for (int i = 0; i < 12000; i++) buf_char(&lines, '~'); /* grows when packed */
    buf_puts(&lines, "\nb: ");
    for (int i = 0; i < 4500; i++) buf_char(&lines, 'a');
    buf_puts(&lines, "\n");
    buf_char(&lines, 0);
    Client c = h2_connect(r);
    Buf head = pack_head(&c, lines.p);
    size_t first = MIN(head.n, 16384);
    put_frame(&c, (Frame){ F_HEADERS, END_STREAM, 1, first, (uint8_t *)head.p });
    put_frame(&c, (Frame){ F_CONTINUATION, END_HEADERS, 1, head.n - first, (uint8_t *)head.p + first });
    Answer a = answer(&c, 1);
    CHECK(is(&a, 431, "", "too long"));
    answer_free(&a), buf_free(&lines), buf_free(&head);
    h2_close(&c);
}

/* Small bytes, large head: one entry of the table, named ten thousand times. */
static void test_bomb(const Running *r)
{
    TEST("packed head that explodes");
    Client c = h2_connect(r);
    Buf head = { 0 };
    buf_puts(&head, "\x82\x84\x86\x40\1x\x7f\x81\x1f"); /* x: 4096 bytes */
    for (int i = 0; i < 4096 - 34; i++) buf_char(&head, 'y');
    for (int i = 0; i < 10000; i++) buf_char(&head, (char)0xbe);
    put_frame(&c, (Frame){ F_HEADERS, END_STREAM | END_HEADERS, 1, head.n, (uint8_t *)head.p });
    Answer a = answer(&c, 1);
    CHECK(a.status == 431 || a.reset > 0 || c.goaway > 0);
    answer_free(&a), buf_free(&head);
    h2_close(&c);
    CHECK(is(h2_ask(r, REQUEST("GET", "/health"), NULL), 200, "", "\"OK!\""));
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    TEST("model");
    if (!CHECK(make_model())) return finish();
    Running r = { .session = { .queue_jobs = 2000, .max_inputs = 4096 } };
    start(&r);
    test_same(&r);
    test_streams(&r);
    test_flow(&r);
    test_lines(&r);
    test_greeting(&r);
    test_bad(&r);
    test_floods(&r);
    test_heads(&r);
    test_bomb(&r);
    stop(&r);
    test_options();
    test_stop();
    test_timeouts();
    return finish();
}
