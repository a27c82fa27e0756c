/* SPDX-License-Identifier: Apache-2.0
 * test_server_memory.c - memory that is missing. By the system, at one moment, at every moment in turn:
 * the request is answered, or refused, or its connection ends; the next one is answered, and nothing
 * is left behind (which the sanitizer sees). By the limit of what all requests may hold: who is alone
 * is never told to try again, and what fits by itself does not fail for what would be nice beside it. */
#include "h2_client.h"
#include "scarce.h"

enum { MOST_PLACES = 2000 };
#define ASK_A "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}"

typedef struct Case {
    const char *name, *path, *fields, *body;
    const char *says;            /* in the reply to it, where there is memory */
    int status;                  /* of that; else 503 */
} Case;

#define RPC(method, params)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define NDJSON "Content-Type: application/x-ndjson\r\n"
#define TEXTS4 "\"a\",\"b \\u0061\",\"a\",\"b\","
#define TEXTS64 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4 TEXTS4
static const Case cases[] = {
    { "many texts", "/predict", JSON, "{\"inputs\":[" TEXTS64 TEXTS64 TEXTS64 TEXTS64 "\"a\"]}", ONE_A, 200 },
    { "a text", "/predict", JSON, "{\"inputs\":[\"a\"]}", REPLY_A, 200 },
    { "rubbish", "/predict", JSON, "{\"inputs\":[", "Failed to parse", 400 },
    { "a number", "/predict", JSON, "{\"inputs\":3}", "inputs", 422 },
    { "a wrong option", "/predict", JSON, "{\"inputs\":[\"a\"],\"normalize\":3}", "found", 422 },
    { "a packed reply", "/predict", JSON "Accept-Encoding: gzip\r\n", "{\"inputs\":[\"a\",\"b\"]}", "", 200 },
    { "tokens", "/tokenize", JSON, "{\"inputs\":\"a b\"}", "\"id\":1", 200 },
    { "lines", "/predict", NDJSON "Connection: close\r\n", "\"a\"\n[\"a\",\"b\"]\n{\"inputs\":3}\n\"b\"", "0\r\n\r\n", 200 },
    { "a tool", "/mcp", JSON,
      RPC("tools/call", "\"name\":\"run_encoder\",\"arguments\":{\"inputs\":[\"a\"]}"), "structuredContent",
      200 },
    { "tools", "/mcp", JSON, RPC("tools/list", ""), "run_encoder", 200 },
    { "no tool", "/mcp", "Content-Type: text/plain\r\n", "x", "-32600", 415 },
    { "instances", "/vertex", JSON, "{\"instances\":[{\"inputs\":\"a\"},{\"inputs\":\"b\"}]}", "predictions",
      200 },
    { "a TEI error", "/embed", JSON, "{\"inputs\":[]}", "error_type", 400 },
};

/* Bytes of the reply, to the end of the connection or of what its head promises. */
static const char *ask_case(const Running *r, const Case *c)
{
    char request[8192];
    snprintf(request, sizeof request, "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s", c->path, c->fields,
             strlen(c->body), c->body);
    int fd = connect_to(r);
    put(fd, request);
    const char *reply = get(fd, false);
    if (strstr(reply, "Transfer-Encoding: chunked")) { /* to its end */
        static char rest[4096];
        size_t n = (size_t)snprintf(rest, sizeof rest, "%s", reply);
        for (ssize_t got; n < sizeof rest - 1 && (got = recv(fd, rest + n, sizeof rest - 1 - n, 0)) > 0;)
            n += (size_t)got;
        rest[n] = 0;
        reply = rest;
    }
    close(fd);
    return reply;
}

static bool is_status(const char *reply, int status)
{
    char line[40];
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    return strncmp(reply, line, strlen(line)) == 0;
}

/* What the case wants, or that there is no memory, or nothing, or its beginning. */
static bool is_answer(const Case *c, const char *reply)
{
    bool cut = !*body_of(reply) || strstr(c->fields, "ndjson");
    bool ok = !*reply || is_status(reply, 503) || is_status(reply, 429) ||
              (is_status(reply, c->status) && (cut || strstr(reply, c->says))) ||
              (c->status == 200 && strstr(reply, "out of memory")); /* MCP's errors are 200 */
    if (!ok) printf("  %s: reply was: %.600s\n", c->name, reply);
    return ok;
}

static bool still_answers(const Running *r)
{
    return has(ask(r, ASK_A), REPLY_A);
}

static void test_case(const Running *r, const Case *c)
{
    TEST(c->name);
    CHECK(is_status(ask_case(r, c), c->status) && has(ask_case(r, c), c->says));
    for (int lasts = 0; lasts < 2; lasts++) {
        bool ok = true, refused = true;
        int n = 0;
        while (ok && refused && n < MOST_PLACES) {
            scarce_begin(++n, lasts);
            const char *reply = ask_case(r, c);
            refused = scarce_end();
            ok = is_answer(c, reply) && still_answers(r);
        }
        CHECK(ok && n > 5 && n < MOST_PLACES);
    }
}

/* ---- gRPC ---- */
#define CALL(method) REQUEST("POST", "/" method) "content-type: application/grpc\nte: trailers\n"
#define MESSAGE_A "\0\0\0\0\3\x0a\x01" "a"
static const struct { const char *name, *head; Str body; } calls[] = {
    { "a call", CALL("encoderfile.embedding.EmbeddingInference/Predict"), STR(MESSAGE_A) },
    { "a stream", CALL("encoderfile.embedding.EmbeddingInference/PredictStream"),
      STR(MESSAGE_A MESSAGE_A "\0\0\0\0\0" MESSAGE_A) },
    { "reflection", CALL("grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
      STR("\0\0\0\0\2\x3a\0") },
    { "health", CALL("grpc.health.v1.Health/Check"), STR("\0\0\0\0\0") },
    { "no method", CALL("no.Such/Method"), STR(MESSAGE_A) },
    { "no format", REQUEST("POST", "/no.Such/Method") "content-type: application/grpc+json\n", STR("") },
};

static void test_call(const Running *r, const char *name, const char *head, Str body)
{
    TEST(name);
    for (int lasts = 0; lasts < 2; lasts++) {
        bool ok = true, refused = true;
        int n = 0;
        while (ok && refused && n < MOST_PLACES) {
            scarce_begin(++n, lasts);
            Client c = h2_connect(r);
            put_head(&c, 1, head, body.n ? 0 : END_STREAM);
            if (body.n) put_frame(&c, (Frame){ F_DATA, END_STREAM, 1, body.n, (const uint8_t *)body.p });
            Answer a = answer(&c, 1);
            refused = scarce_end();
            ok = (refused || a.status) && still_answers(r);
            answer_free(&a);
            h2_close(&c);
        }
        CHECK(ok && n > 5 && n < MOST_PLACES);
    }
}

/* ---- scripts ---- */
static void use_script(const char *script)
{
    static Transform *transform;
    Err err = { 0 };
    CHECK(transform_load(&model.arena, str_of(script), NULL, 0, NULL, &transform, &err));
    model.transform = transform;
}

/* A new server each time: its first request makes the Lua state. */
static void test_script(const char *script)
{
    TEST("a script");
    static const Case one = { "a script", "/predict", JSON, "{\"inputs\":[\"a\"]}", REPLY_A, 200 };
    use_script(script);
    bool ok = true, refused = true;
    int n = 0;
    for (n = 0; ok && refused && n < MOST_PLACES; n += n < 12 ? 1 : 97) { /* Lua asks 900 times */
        Running r = { 0 };
        start(&r);
        scarce_begin(n + 1, n % 2);
        const char *reply = ask_case(&r, &one);
        refused = scarce_end();
        ok = is_answer(&one, reply) && still_answers(&r);
        stop(&r);
    }
    CHECK(ok && n > 5 && n < MOST_PLACES);
    model.transform = NULL;
}

/* ---- by the limit ---- */
enum { LIMIT = 1 << 20 };

typedef struct Long {            /* a request whose length can be chosen */
    const char *path, *fields, *opening, *closing;
} Long;
#define TOOL "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run_encoder\","
static const Long longs[] = {
    { "/predict", JSON, "{\"inputs\":[\"", "\"]}" },
    { "/predict", JSON "Accept-Encoding: gzip\r\n", "{\"inputs\":[\"", "\"]}" },
    { "/tokenize", JSON, "{\"inputs\":\"", "\"}" },
    { "/mcp", JSON, TOOL "\"arguments\":{\"inputs\":[\"", "\"]}}}" },
    { "/predict", NDJSON, "\"", "\"\n" },
};
enum { PLAIN, PACKED };
static const Long three_lines = { "/predict", NDJSON, "\"a\"\n\"", "\"\n\"b\"\n" };

/* The reply to so many words, as far as the room; at most a minute. */
static const char *ask_long(const Running *r, const Long *l, size_t words)
{
    static Buf reply;
    Buf b = { 0 };
    struct timeval patience = { 60, 0 };
    int fd = connect_to(r);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    buf_printf(&b, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s",
               l->path, l->fields,
               strlen(l->opening) + 2 * words + strlen(l->closing), l->opening);
    for (size_t i = 0; i < words; i++) buf_puts(&b, "a ");
    buf_puts(&b, l->closing);
    put_bytes(fd, b.p, b.n);
    reply.n = 0;
    for (ssize_t n = 1; n > 0; reply.n += (size_t)MAX(n, 0)) {
        buf_reserve(&reply, 1 << 16);
        n = recv(fd, reply.p + reply.n, 1 << 16, 0);
    }
    buf_char(&reply, 0);
    buf_free(&b);
    close(fd);
    return reply.p;
}

/* The most words that are answered. */
static size_t most_words(const Running *r, const Long *l)
{
    size_t least = 1, most = LIMIT;
    while (most - least > 1) {
        size_t half = (least + most) / 2;
        bool ok = is_status(ask_long(r, l, half), 200);
        *(ok ? &least : &most) = half;
    }
    return least;
}

/* Alone, whoever asks for too much is told so: nobody else will make room. */
static void test_alone(const Running *r)
{
    TEST("alone");
    for (size_t i = 0; i < COUNT(longs); i++)
        for (size_t words = 1000; words < LIMIT; words += words / 3) {
            const char *reply = ask_long(r, &longs[i], words);
            bool ok = *reply && !strstr(reply, "try again");
            if (!CHECK(ok)) printf("  %s: %zu words: %.800s\n", longs[i].path, words, reply);
        }
}

/* There is no memory for a packed copy of the largest reply: it goes out as it is. */
static void test_largest_packed(const Running *r)
{
    TEST("the largest reply, packed");
    size_t words = most_words(r, &longs[PLAIN]);
    CHECK(words > 500 && !is_status(ask_long(r, &longs[PLAIN], words + 1), 200));
    for (size_t k = 0; k < 20; k++) CHECK(is_status(ask_long(r, &longs[PACKED], words - k), 200));
    CHECK(!strstr(ask_long(r, &longs[PACKED], words), "Content-Encoding: gzip"));
    CHECK(strstr(ask_long(r, &longs[PACKED], words / 2), "Content-Encoding: gzip"));
}

static int count_of(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++) n++;
    return n;
}

/* Where a reply takes all there is, to the byte, each line has its reply or its error. */
static void test_full_lines(const Running *r)
{
    TEST("lines and a full budget");
    size_t words = most_words(r, &longs[PLAIN]);
    for (size_t k = 0; k < 20; k++) {
        const char *reply = ask_long(r, &three_lines, words - 15 + k);
        bool ok = count_of(reply, "{\"results\":") + count_of(reply, "{\"error\":") == 3 &&
                  count_of(reply, "}\n") == 3 && str_ends(str_of(reply), "\r\n0\r\n\r\n");
        if (!CHECK(ok)) printf("  %zu words: %.800s\n", words - 15 + k, reply);
    }
}

/* Whatever the length of a reply, its buffer has room for the end of its line: nothing may fail there,
 * since a part of the reply would be lost. */
static void test_line_end(const Running *r)
{
    TEST("room for the end of a line");
    int full = 0;
    for (int n = 0; n < 1200; n++) {
        Job *job = job_new();
        job->in.body = str_of(str_format(&job->work.arena, "{\"inputs\":\"a\",\"metadata\":{\"k\":\"%0*d\"}}", n, 0));
        job_run(r->s, job);
        const Buf *text = &job->out.text;
        if (!CHECK(job->work.err.code == EF_OK && text->n < text->cap))
            printf("  %zu of %zu bytes: %s\n", text->n, text->cap, job->work.err.message);
        full += text->cap - text->n < 16;
        job_free(job);
    }
    CHECK(full > 0); /* as far as buffers ever are */
}

/* The beginning has a token for every two bytes, and the rest fewer: room for as many is not there. */
static void test_uneven_text(void)
{
    TEST("a text that begins with many tokens");
    Running r = { .session = { .max_bytes = 16 << 20 } };
    start(&r);
    Buf b = { 0 };
    buf_puts(&b, "{\"inputs\":\"");
    for (int i = 0; i < 8000; i++) buf_puts(&b, "a ");
    for (int i = 0; i < 2000000; i++) buf_char(&b, i % 90 ? 'b' : ' ');
    buf_puts(&b, "\"}");
    buf_char(&b, 0);
    CHECK(has(post_to(&r, "/tokenize", b.p), "HTTP/1.1 200 "));
    buf_free(&b);
    stop(&r);
}

static void test_limit(void)
{
    Running r = { .session = { .max_bytes = LIMIT }, .server = { .gzip_from = 1 } };
    start(&r);
    test_alone(&r);
    test_largest_packed(&r);
    test_full_lines(&r);
    test_line_end(&r);
    TEST("what is held at the end");
    for (int i = 0; i < 500 && budget_used(session_budget(r.s)); i++) usleep(10000);
    CHECK(budget_used(session_budget(r.s)) == 0);
    stop(&r);
}

int main(void)
{
    scarce_spares = true;
    log_limit(EF_LOG_ERROR);
    if (!make_model()) return 1;
    Running r = { .server = { .gzip_from = 1 } };
    start(&r);
    for (size_t i = 0; i < COUNT(cases); i++) test_case(&r, &cases[i]);
    for (size_t i = 0; i < COUNT(calls); i++) test_call(&r, calls[i].name, calls[i].head, calls[i].body);
    TEST("what is held at the end");
    for (int i = 0; i < 500 && budget_used(session_budget(r.s)); i++) usleep(10000);
    if (!CHECK(budget_used(session_budget(r.s)) == 0)) printf("  %zu bytes\n", budget_used(session_budget(r.s)));
    stop(&r);
    test_limit();
    test_uneven_text();
    test_script("function Postprocess(t) return t end");
    test_script("function Preprocess(t) return t end");
    return finish();
}
