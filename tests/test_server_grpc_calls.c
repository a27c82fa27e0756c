/* SPDX-License-Identifier: Apache-2.0
 * test_server_grpc_calls.c - gRPC calls frame by frame: what clients send, what none would, and
 * what becomes of memory, order and time. */
#include "data/gzip.h"
#include "h2_client.h"
#include "server/grpc.h"

#define CALL(service, method)                                                                     \
    REQUEST("POST", "/" service "/" method) "content-type: application/grpc\nte: trailers\n"
#define EMBEDDING "encoderfile.embedding.EmbeddingInference"
#define PREDICT CALL(EMBEDDING, "Predict")
#define STREAM CALL(EMBEDDING, "PredictStream")
#define TEXT_A "\x0a\x01" "a" /* inputs: ["a"] */
#define FRAME(n) "\0\0\0\0" n  /* up to its message */
#define MESSAGE_A FRAME("\3") TEXT_A

static void gate(bool shut)
{
    __atomic_store_n(&closed, shut, __ATOMIC_RELEASE);
}

static void put_text(const Client *c, uint32_t id, Str text, int flags)
{
    put_frame(c, (Frame){ F_DATA, flags, id, text.n, (const uint8_t *)text.p });
}

static Client call(const Running *r, const char *lines, Str body)
{
    Client c = h2_connect(r);
    put_head(&c, 1, lines, 0);
    put_text(&c, 1, body, END_STREAM);
    return c;
}

/* The status of a call, which may end before its messages do; -1: none. */
static int status_in(const Answer *a, const char *words)
{
    const char *at = strstr(a->trailers.p, "grpc-status: ");
    bool said = strstr(a->trailers.p, words) && a->status == 200 &&
                strstr(a->head.p, "content-type: application/grpc\n");
    if (at && said) return atoi(at + 13);
    printf("  status %d: %s%s\n", a->status, a->head.p, a->trailers.p);
    return -1;
}

static int status_of(const Running *r, const char *lines, Str body, const char *words)
{
    Client c = call(r, lines, body);
    Answer a = answer(&c, 1);
    int status = status_in(&a, words);
    answer_free(&a);
    h2_close(&c);
    return status;
}

/* So many replies, whole ones. */
static int replies(const Answer *a)
{
    Str rest = { a->body.p, a->body.n - 1 };
    GrpcFrame frame;
    Err err = { 0 };
    int n = 0;
    while (grpc_frame(rest, 1 << 30, &frame, &err) == GRPC_MESSAGE) {
        rest.p += GRPC_PREFIX + frame.message.n;
        rest.n -= GRPC_PREFIX + frame.message.n;
        n++;
    }
    return rest.n ? -1 : n;
}

static void test_one(const Running *r)
{
    TEST("one message");
    Client c = call(r, PREDICT, STR(MESSAGE_A));
    Answer a = answer(&c, 1);
    CHECK(status_in(&a, "") == 0 && replies(&a) == 1);
    CHECK(strstr(a.head.p, "grpc-accept-encoding: identity,gzip\n"));
    CHECK(!strstr(a.head.p, "content-length") && !strstr(a.trailers.p, "grpc-message"));
    /* embedding {1, 1} of token 1 */
    CHECK(memmem(a.body.p, a.body.n, "\x0a\x08\0\0\x80\x3f\0\0\x80\x3f", 10));
    answer_free(&a);
    h2_close(&c);
    CHECK(status_of(r, PREDICT, STR(FRAME("\0")), "Cannot tokenize empty string") == 3);
    Str boom = STR(FRAME("\6") "\x0a\x04" "boom");
    CHECK(status_of(r, PREDICT, boom, "inference failed: boom") == 13);
    CHECK(status_of(r, CALL("no.Such", "Method"), STR(MESSAGE_A), "no such method") == 12);
    CHECK(status_of(r, CALL(EMBEDDING, "Nothing"), STR(MESSAGE_A), "") == 12);
    CHECK(status_of(r, PREDICT, STR(""), "found no message") == 12);
    CHECK(status_of(r, PREDICT, STR(MESSAGE_A MESSAGE_A), "found a second message") == 12);
    CHECK(status_of(r, CALL("tei.v1.Predict", "Predict"), STR(MESSAGE_A), "another kind") == 9);
}

/* Messages of another format are not taken for protobuf. */
static void test_formats(const Running *r)
{
    static const struct { const char *type; int status; } rows[] = {
        { "application/grpc", 200 },         { "application/grpc+proto", 200 },
        { "APPLICATION/GRPC+Proto; x=1", 200 }, { "application/grpc;charset=utf-8", 200 },
        { "application/grpc+json", 415 },    { "application/grpc+json; charset=utf-8", 415 },
        { "application/grpc+thrift", 415 },  { "application/grpc+", 415 },
        { "application/grpc+protobuf", 415 },
    };
    TEST("formats");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Buf lines = { 0 };
        buf_printf(&lines, REQUEST("POST", "/" EMBEDDING "/Predict") "content-type: %s\nte: trailers\n",
                   rows[i].type);
        buf_char(&lines, 0);
        Client c = call(r, lines.p, STR(MESSAGE_A));
        Answer a = answer(&c, 1);
        bool refused = strstr(a.head.p, "grpc-status: 12\ngrpc-message: Content-Type: found") &&
                       strstr(a.head.p, "content-type: application/grpc\n");
        if (!CHECK(a.status == rows[i].status && refused == (rows[i].status == 415)))
            printf("  %s gave %d: %s\n", rows[i].type, a.status, a.head.p);
        answer_free(&a);
        buf_free(&lines);
        h2_close(&c);
    }
}

/* Lengths that lie, flags nobody knows, codings. */
static void test_frames(const Running *r)
{
    TEST("frames");
    CHECK(status_of(r, PREDICT, STR(FRAME("\x64") "abc"), "its first 8 bytes only") == 3);
    CHECK(status_of(r, PREDICT, STR("\0\xff\xff\xff\xff" "abc"), "4294967295") == 8);
    CHECK(status_of(r, PREDICT, STR("\7\0\0\0\0"), "found flag 7") == 3);
    CHECK(status_of(r, PREDICT, STR("\0\0\0"), "its first 3 bytes only") == 3);
    CHECK(status_of(r, PREDICT, STR(FRAME("\3") "\x0a\x09" "a"), "protobuf: field 1") == 3);
    CHECK(status_of(r, PREDICT, STR("\1\0\0\0\3abc"), "no grpc-encoding") == 13);
    CHECK(status_of(r, PREDICT "grpc-encoding: br\n", STR(MESSAGE_A), "gzip") == 12);
    CHECK(status_of(r, PREDICT "grpc-encoding: gzip\n", STR("\1\0\0\0\3abc"), "body: ") == 3);
    CHECK(status_of(r, PREDICT "grpc-encoding: identity\n", STR(MESSAGE_A), "") == 0);
    CHECK(status_of(r, PREDICT "grpc-encoding: gzip\n", STR(MESSAGE_A), "") == 0); /* not packed */
    Running *same = (Running *)r;
    CHECK(strstr(h2_ask(same, REQUEST("GET", "/health"), NULL)->body.p, "OK"));
}

static void test_gzip(void)
{
    TEST("gzip");
    Running r = { .server = { .gzip_from = 1 } };
    Buf message = { 0 }, body = { 0 }, plain = { 0 };
    char prefix[GRPC_PREFIX];
    Err err = { 0 };
    start(&r);
    gzip_pack(&message, STR(TEXT_A), GZIP_FAST);
    grpc_prefix(prefix, true, message.n);
    buf_add(&body, prefix, sizeof prefix);
    buf_str(&body, buf_view(&message));
    Client c = call(&r, PREDICT "grpc-encoding: gzip\n", buf_view(&body));
    Answer a = answer(&c, 1);
    CHECK(status_in(&a, "") == 0 && strstr(a.head.p, "grpc-encoding: gzip\n") && a.body.p[0] == 1);
    CHECK(gzip_unpack(&plain, (Str){ a.body.p + 5, a.body.n - 6 }, 1000, &err));
    CHECK(memmem(plain.p, plain.n, "fake \"model\"", 12));
    answer_free(&a);
    h2_close(&c);
    stop(&r);
    buf_free(&message), buf_free(&body), buf_free(&plain);
}

/* In pieces of any size, more than the window and the queue hold. */
static void test_stream(void)
{
    TEST("streams");
    enum { MANY = 300 };
    Running r = { .session = { .queue_jobs = 4 } };
    start(&r);
    Client c = h2_connect(&r);
    Buf sent = { 0 };
    for (int i = 0; i < MANY; i++) {
        char text[64], head[] = "\0\0\0\0\0\x0a";
        int n = snprintf(text, sizeof text, "a%.*s", i % 20 * 2,
                         " a a a a a a a a a a a a a a a a a a a a");
        head[4] = (char)(n + 2);
        buf_add(&sent, head, 6);
        buf_char(&sent, (char)n);
        buf_add(&sent, text, (size_t)n);
    }
    put_head(&c, 1, STREAM, 0);
    for (size_t at = 0, n; at < sent.n; at += n) {
        n = MIN(sent.n - at, 1 + at % 97);
        put_text(&c, 1, (Str){ sent.p + at, n }, at + n == sent.n ? END_STREAM : 0);
    }
    Answer a = answer(&c, 1);
    CHECK(status_in(&a, "") == 0 && replies(&a) == MANY);
    Str rest = { a.body.p, a.body.n - 1 };
    bool ordered = true;
    for (int i = 0; i < MANY && rest.n; i++) { /* the second number counts the row's tokens */
        GrpcFrame frame;
        Err err = { 0 };
        if (grpc_frame(rest, 1 << 20, &frame, &err) != GRPC_MESSAGE) break;
        float tokens = (float)(i % 20 + 1);
        ordered = ordered && memmem(frame.message.p, frame.message.n, &tokens, sizeof tokens);
        rest.p += GRPC_PREFIX + frame.message.n;
        rest.n -= GRPC_PREFIX + frame.message.n;
    }
    CHECK(ordered);
    answer_free(&a);
    h2_close(&c);
    c = call(&r, STREAM, STR(MESSAGE_A FRAME("\6") "\x0a\x04" "boom" MESSAGE_A));
    a = answer(&c, 1);
    CHECK(status_in(&a, "boom") == 13 && replies(&a) == 1);
    answer_free(&a);
    h2_close(&c);
    CHECK(status_of(&r, STREAM, STR(""), "") == 0);
    stop(&r);
    buf_free(&sent);
}

static void test_deadline(const Running *r)
{
    TEST("deadlines");
    gate(true);
    double from = now_seconds();
    CHECK(status_of(r, PREDICT "grpc-timeout: 200m\n", STR(MESSAGE_A), "too late") == 4);
    CHECK(now_seconds() - from >= 0.2 && now_seconds() - from < 5);
    gate(false);
    CHECK(status_of(r, PREDICT "grpc-timeout: 20S\n", STR(MESSAGE_A), "") == 0);
    CHECK(status_of(r, PREDICT "grpc-timeout: soon\n", STR(MESSAGE_A), "grpc-timeout: found") == 3);
    CHECK(status_of(r, PREDICT "grpc-timeout: 0n\n", STR(MESSAGE_A), "too late") == 4);
}

static void put_call(Client *c, uint32_t id, const char *lines, int flags)
{
    put_head(c, id, lines, 0);
    put_text(c, id, STR(MESSAGE_A), flags);
}

static bool abandons(const Running *r, uint64_t n)
{
    for (int i = 0; i < 2000; i++, usleep(5000))
        if (count_get(&session_meters(r->s)->abandoned) >= n) return true;
    return false;
}

/* One is in its run, the others wait behind it; of these only the last is still wanted. */
static void test_cancel(const Running *r)
{
    TEST("cancellation");
    enum { CALLS = 20, LAST = 101 };
    uint64_t before = count_get(&session_meters(r->s)->abandoned);
    int begun = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    gate(true);
    Client c = h2_connect(r);
    put_call(&c, 1, PREDICT, END_STREAM);
    CHECK(run_begins(begun));
    for (uint32_t i = 1; i <= CALLS; i++)
        put_call(&c, 1 + 2 * i, i % 2 ? PREDICT : STREAM, i % 2 ? END_STREAM : 0);
    CHECK(jobs_wait(r, CALLS));
    for (uint32_t i = 1; i <= CALLS; i++) put_number(&c, F_RST, 1 + 2 * i, NGHTTP2_CANCEL);
    put_head(&c, LAST - 2, REQUEST("GET", "/health"), END_STREAM);
    Answer a = answer(&c, LAST - 2); /* so all of these have been seen */
    answer_free(&a);
    put_call(&c, LAST, PREDICT, END_STREAM);
    gate(false);
    a = answer(&c, LAST);
    CHECK(status_in(&a, "") == 0 && replies(&a) == 1);
    CHECK(abandons(r, before + CALLS));
    answer_free(&a);
    h2_close(&c);
}

static void test_keys(void)
{
    TEST("keys and protocols");
    Running r = { .server = { .api_keys = "key" } };
    start(&r);
    CHECK(status_of(&r, PREDICT, STR(MESSAGE_A), "wanted \"Bearer KEY\"") == 16);
    CHECK(status_of(&r, PREDICT "authorization: Bearer key\n", STR(MESSAGE_A), "") == 0);
    CHECK(status_of(&r, CALL("grpc.health.v1.Health", "Check"), STR(FRAME("\0")), "") == 0);
    stop(&r);
    Running off = { .server = { .no_grpc = true } };
    start(&off);
    Client c = call(&off, PREDICT, STR(MESSAGE_A));
    Answer a = answer(&c, 1);
    CHECK(a.status == 415 && strstr(a.body.p, "is disabled"));
    answer_free(&a);
    h2_close(&c);
    stop(&off);
}

static void test_watch(void)
{
    TEST("watching");
    Running r = { .server = { .drain_s = 0.5 } };
    start(&r);
    Client c = call(&r, CALL("grpc.health.v1.Health", "Watch"), STR(FRAME("\0")));
    Answer a = { .reset = -1 };
    while (!a.ended) {
        Frame f = next_frame(&c);
        if (f.type < 0) break;
        if (f.id == 1) take_frame(&c, f, &a);
        if (a.body.n) tell_stop(&r); /* it has said how things are */
    }
    buf_char(&a.head, 0), buf_char(&a.body, 0), buf_char(&a.trailers, 0);
    CHECK(status_in(&a, "stopping") == 14 && replies(&a) == 2);
    CHECK(memcmp(a.body.p, "\0\0\0\0\2\x08\1\0\0\0\0\2\x08\2", 14) == 0);
    answer_free(&a);
    h2_close(&c);
    stop(&r);
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    if (!CHECK(make_model())) return finish();
    Running r = { .server = { .max_body = 1 << 20 } };
    start(&r);
    test_one(&r);
    test_formats(&r);
    test_frames(&r);
    test_deadline(&r);
    test_cancel(&r);
    stop(&r);
    test_gzip();
    test_stream();
    test_keys();
    test_watch();
    return finish();
}
