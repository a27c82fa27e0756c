/* SPDX-License-Identifier: Apache-2.0
 * test_server_features.c - what a request may ask for beside its answer: keys, origins, ids, gzip,
 * lines, probes, metrics, a UNIX socket, logs. */
#include <sys/un.h>

#include "data/gzip.h"
#include "server_fake.h"

#define BODY_A "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}"

static void test_probes(const Running *r)
{
    TEST("probes");
    CHECK(strcmp(body_of(ask(r, "GET /ready" H "\r\n")), "\"ready\"") == 0);
    CHECK(has(post(r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    const char *page = ask(r, "GET /metrics" H "\r\n");
    CHECK(has(page, "Content-Type: text/plain; version=0.0.4"));
    CHECK(has(page, "encoderfile_build_info{version=\""));
    CHECK(has(page, "model=\"fake \\\"model\\\"\",task=\"embedding\""));
    CHECK(has(page, "\nencoderfile_http_requests_total{route=\"/predict\",status=\"200\"} 1\n"));
    CHECK(has(page, "\nencoderfile_tokens_total 1\n"));
    CHECK(has(page, "\nencoderfile_compute_seconds_count 1\n"));
    CHECK(has(page, "\nencoderfile_batch_tokens_bucket{le=\"1\"} 1\n"));
    CHECK(has(page, "\nencoderfile_rejected_total{reason=\"queue_full\"} 0\n"));
    CHECK(has(page, "\nencoderfile_model_loads_total 1\n"));
    CHECK(has(page, "\nencoderfile_model_load_bytes_total 0\n")); /* of a fake: no file */
    CHECK(has(page, "\nprocess_resident_memory_bytes "));
    CHECK(page[strlen(page) - 1] == '\n');
}

static void test_options(const Running *r)
{
    TEST("OPTIONS");
    const char *reply = ask(r, "OPTIONS /predict" H "\r\n");
    CHECK(has(reply, "204 No Content") && has(reply, "\r\nAllow: POST, OPTIONS\r\n"));
    CHECK(!strstr(reply, "Access-Control") && !strstr(reply, "Content-Length"));
    CHECK(has(ask(r, "OPTIONS *" H "\r\n"), "\r\nAllow: GET, HEAD, POST, OPTIONS\r\n"));
    CHECK(is_error(ask(r, "OPTIONS /nothing" H "\r\n"), 404, "not_found"));
}

static void test_ids(const Running *r)
{
    TEST("request ids");
    CHECK(has(ask(r, "GET /health" H "X-Request-Id: abc-1\r\n\r\n"), "\r\nX-Request-Id: abc-1\r\n"));
    char first[80];
    snprintf(first, sizeof first, "%.60s",
             strstr(ask(r, "GET /health" H "\r\n"), "X-Request-Id: "));
    CHECK(!strstr(ask(r, "GET /health" H "\r\n"), first));
    const char *odd = ask(r, "GET /health" H "X-Request-Id: a\"b\r\n\r\n");
    CHECK(has(odd, "X-Request-Id: ") && !strstr(odd, "a\"b"));
}

static void test_tokenizer(const Running *r)
{
    TEST("tokenizer");
#define TOKEN(id, text, at, to)                                                                   \
    "{\"id\":" #id ",\"text\":\"" text "\",\"special\":false,\"start\":" #at ",\"stop\":" #to "}"
    CHECK(strcmp(body_of(post_to(r, "/tokenize", "{\"inputs\":[\"a \u00e9 b\",\"b\"]}")),
                 "[[" TOKEN(1, "a", 0, 1) "," TOKEN(0, "\xc3\xa9", 2, 4) ","
                 TOKEN(2, "b", 5, 6) "],[" TOKEN(2, "b", 0, 1) "]]") == 0);
    CHECK(has(post_to(r, "/tokenize", "{\"inputs\":\"\u00e9 b\",\"offsets\":\"chars\"}"),
              "\"start\":2,\"stop\":3}"));
    CHECK(is_tei_error(post_to(r, "/tokenize", "{\"inputs\":[]}"), 400, "Empty"));
    CHECK(is_tei_error(post_to(r, "/tokenize", "{\"inputs\":\"a\",\"add_special_tokens\":1}"), 422,
                       "Validation"));
    CHECK(strcmp(body_of(post_to(r, "/decode", "{\"ids\":[1,2]}")), "[\"a b\"]") == 0);
    CHECK(strcmp(body_of(post_to(r, "/decode", "{\"ids\":[[1],[2,1],[]]}")),
                 "[\"a\",\"b a\",\"\"]") == 0);
    static const char *const wrong[] = { "{}", "{\"ids\":7}", "{\"ids\":[4]}",
                                         "{\"ids\":[-1]}", "{\"ids\":[1.5]}", "{\"ids\":[[1],2]}",
                                         "{\"ids\":[1],\"skip_special_tokens\":0}" };
    for (size_t i = 0; i < COUNT(wrong); i++)
        CHECK(is_tei_error(post_to(r, "/decode", wrong[i]), 422, "Validation"));
    CHECK(is_tei_error(post_to(r, "/decode", "{\"ids\":[]}"), 400, "Empty"));
    CHECK(is_tei_error(post_to(r, "/similarity", "{}"), 422, "Validation"));
}

static void test_similarity(void)
{
    TEST("similarity");
    const Task *before = model.task;
    model.task = task_find(STR("sentence_embedding")); /* vectors: {id, tokens} */
    Running r = { .session = { .max_inputs = 3 } };
    start(&r);
    CHECK(strcmp(body_of(post_to(&r, "/similarity", "{\"inputs\":{\"source_sentence\":\"a\","
                                 "\"sentences\":[\"a\",\"b\"]},\"parameters\":null}")),
                 "[1.0,0.9486833]") == 0);
    CHECK(is_tei_error(post_to(&r, "/similarity", "{\"inputs\":{\"source_sentence\":\"a\","
                               "\"sentences\":[\"a\",\"b\",\"a\"]}}"), 422, "Validation"));
    CHECK(is_tei_error(post_to(&r, "/similarity", "{\"inputs\":{\"source_sentence\":\"a\","
                               "\"sentences\":[]}}"), 400, "Empty"));
    CHECK(is_tei_error(post_to(&r, "/similarity", "{\"inputs\":{\"sentences\":[\"a\"]}}"), 422,
                       "Validation"));
    CHECK(has(post(&r, "{\"inputs\":[\"a\"],\"encoding\":\"base64\"}"),
              "{\"embedding\":\"AACAPwAAgD8=\"}"));
    stop(&r);
    model.task = before;
}

static void test_keys(void)
{
    TEST("keys");
    Running r = { .server = { .api_keys = "first\nsecond key\r\n" } };
    start(&r);
    const char *reply = post(&r, "{\"inputs\":[\"a\"]}");
    CHECK(is_error(reply, 401, "unauthorized") && has(reply, "\r\nWWW-Authenticate: Bearer\r\n"));
    static const struct { const char *header; bool ok; } rows[] = {
        { "Authorization: Bearer first\r\n", true },
        { "Authorization: bearer second key\r\n", true },
        { "Authorization: Bearer third\r\n", false },
        { "Authorization: Bearer firs\r\n", false },
        { "Authorization: Bearer firstfirst\r\n", false },
        { "Authorization: Bearer \r\n", false },
        { "Authorization: Basic first\r\n", false },
        { "Authorization: first\r\n", false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char request[300];
        snprintf(request, sizeof request, "POST /predict" H JSON "%s" BODY_A, rows[i].header);
        reply = ask(&r, request);
        CHECK(rows[i].ok ? has(reply, REPLY_A) : is_error(reply, 401, "unauthorized"));
    }
    CHECK(has(ask(&r, "GET /health" H "\r\n"), "OK!")); /* probes carry no keys */
    CHECK(has(ask(&r, "GET /ready" H "\r\n"), "ready"));
    CHECK(has(ask(&r, "GET /metrics" H "\r\n"), "encoderfile_"));
    CHECK(is_error(ask(&r, "GET /model" H "\r\n"), 401, "unauthorized"));
    stop(&r);
}

static void test_origins(void)
{
    TEST("origins");
    Running r = { .server = { .origins = "https://a.example\nhttp://b.example:8000" } };
    start(&r);
    const char *reply = ask(&r, "GET /health" H "Origin: http://b.example:8000\r\n\r\n");
    CHECK(has(reply, "\r\nAccess-Control-Allow-Origin: http://b.example:8000\r\nVary: Origin\r\n"));
    CHECK(!strstr(ask(&r, "GET /health" H "Origin: http://c.example\r\n\r\n"), "Access-Control"));
    reply = ask(&r, "OPTIONS /predict" H "Origin: https://a.example\r\n"
                    "Access-Control-Request-Method: POST\r\n\r\n");
    CHECK(has(reply, "\r\nAccess-Control-Allow-Methods: POST, OPTIONS\r\n"));
    CHECK(has(reply, "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type"));
    reply = ask(&r, "POST /predict" H "Origin: https://a.example\r\n\r\n");
    CHECK(is_error(reply, 415, "unsupported_media_type") && has(reply, "Allow-Origin: https://a"));
    stop(&r);
    r = (Running){ .server = { .origins = "*" } };
    start(&r);
    CHECK(has(ask(&r, "GET /health" H "Origin: http://x\r\n\r\n"), "Allow-Origin: *\r\n"));
    stop(&r);
}

/* The body of a packed reply, unpacked; NULL: it is none. */
static const char *unpacked(int fd, Buf *out)
{
    static char bytes[1 << 16];
    size_t n = 0;
    for (ssize_t got; (got = recv(fd, bytes + n, sizeof bytes - n - 1, 0)) > 0;) n += (size_t)got;
    bytes[n] = 0;
    const char *body = strstr(bytes, "\r\n\r\n");
    Err err = { 0 };
    if (!body || !strstr(bytes, "\r\nContent-Encoding: gzip\r\n")) return NULL;
    body += 4;
    if (!gzip_unpack(out, (Str){ body, n - (size_t)(body - bytes) }, 1 << 20, &err)) return NULL;
    buf_char(out, 0);
    return out->p;
}

static void send_packed(int fd, const char *body, const char *header)
{
    Buf packed = { 0 };
    char head[300];
    gzip_pack(&packed, str_of(body), GZIP_FAST);
    snprintf(head, sizeof head, "POST /predict" H JSON "Content-Encoding: gzip\r\n%s"
             "Content-Length: %zu\r\n\r\n", header, packed.n);
    put(fd, head);
    for (size_t i = 0; i < packed.n; i++) send(fd, packed.p + i, 1, MSG_NOSIGNAL);
    buf_free(&packed);
}

/* A body of two members, and something behind them. */
static const char *ask_members(const Running *r, const char *behind)
{
    Buf packed = { 0 };
    char head[200];
    int fd = connect_to(r);
    gzip_pack(&packed, STR("{\"inputs\":"), GZIP_FAST);
    gzip_pack(&packed, STR("[\"a\"]}"), GZIP_SMALL);
    buf_puts(&packed, behind);
    snprintf(head, sizeof head, "POST /predict" H JSON "Content-Encoding: gzip\r\n"
             "Content-Length: %zu\r\n\r\n", packed.n);
    put(fd, head);
    send(fd, packed.p, packed.n, MSG_NOSIGNAL);
    buf_free(&packed);
    const char *reply = get(fd, false);
    close(fd);
    return reply;
}

static void test_gzip_members(void)
{
    TEST("gzip of several members");
    Running r = { 0 };
    start(&r);
    CHECK(has(ask_members(&r, ""), REPLY_A));
    CHECK(is_error(ask_members(&r, "garbage"), 400, "bad_request"));
    stop(&r);
}

static void test_gzip(void)
{
    TEST("gzip");
    Running r = { .server = { .gzip_from = 100, .max_body = 1000 } };
    Buf out = { 0 };
    start(&r);
    int fd = connect_to(&r);
    put(fd, "POST /predict" H JSON "Accept-Encoding: br, gzip;q=0.5\r\nConnection: close\r\n"
            "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
    const char *text = unpacked(fd, &out);
    CHECK(text && strcmp(text, REPLY_A) == 0);
    close(fd);
    fd = connect_to(&r), out.n = 0;
    put(fd, "GET /openapi.json" H "Accept-Encoding: *\r\nConnection: close\r\n\r\n");
    text = unpacked(fd, &out);
    CHECK(text && strstr(text, "\"openapi\":\"3.1.0\""));
    close(fd);
    CHECK(has(ask(&r, "POST /predict" H JSON "Accept-Encoding: gzip;q=0.0\r\n" BODY_A), REPLY_A));
    CHECK(!strstr(ask(&r, "GET /health" H "Accept-Encoding: gzip\r\n\r\n"), "Content-Encoding"));
    fd = connect_to(&r);
    send_packed(fd, "{\"inputs\":[\"a\"]}", "");
    CHECK(has(get(fd, false), REPLY_A));
    char bomb[4001] = { 0 };
    memset(bomb, ' ', 4000);
    send_packed(fd, bomb, ""); /* few bytes, but over the limit of a body */
    CHECK(is_error(get(fd, false), 413, "too_large"));
    put(fd, "POST /predict" H JSON "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope");
    CHECK(is_error(get(fd, false), 400, "bad_request"));
    close(fd);
    CHECK(is_error(ask(&r, "POST /predict" H JSON "Content-Encoding: br\r\n" BODY_A), 415,
                   "unsupported_media_type"));
    stop(&r);
    buf_free(&out);
}

/* ---- lines ---- */
#define LINES "Content-Type: application/x-ndjson\r\n"

/* Chunks of a reply until a text has come n times, or the end. */
static char *read_until(int fd, const char *words, int n)
{
    static char text[1 << 20];
    size_t at = 0;
    for (;;) {
        int found = 0;
        text[at] = 0;
        for (const char *p = text; (p = strstr(p, words)); p++) found++;
        if (found >= n) return text;
        ssize_t got = recv(fd, text + at, sizeof text - at - 1, 0);
        if (got <= 0) return text;
        at += (size_t)got;
    }
}

static void test_lines(const Running *r)
{
    TEST("lines");
    int fd = connect_to(r);
    put(fd, "POST /predict" H LINES "Transfer-Encoding: chunked\r\n\r\n"
            "11\r\n{\"inputs\":[\"a\"]}\n\r\n");
    CHECK(has(read_until(fd, REPLY_A "\n", 1), "Content-Type: application/x-ndjson\r\n"));
    put(fd, "a\r\n\"a\"\nnope\n\n\r\n"); /* answered while the body is still open */
    CHECK(has(read_until(fd, "\"bad_request\"}\n", 1), REPLY_A "\n"));
    put(fd, "13\r\n[\"a\",\"b\"]\r\n \n\"boom\"\r\n0\r\n\r\n"
            "GET /health" H "Connection: close\r\n\r\n");
    const char *rest = read_until(fd, "\"OK!\"", 1);
    CHECK(has(rest, "\"sequence\":1") || has(rest, "\"token\":\"b\""));
    CHECK(has(rest, "Model inference failed: boom") && has(rest, "\r\n0\r\n\r\nHTTP/1.1 200"));
    close(fd);
    fd = connect_to(r);
    put(fd, "POST /predict" H LINES "Content-Length: 11\r\n\r\n\"a\"\n\"a\"\n\"a\"");
    CHECK(has(read_until(fd, "\r\n0\r\n\r\n", 1), REPLY_A));
    put(fd, "POST /predict" H LINES "Content-Length: 0\r\n\r\n");
    CHECK(has(read_until(fd, "\r\n0\r\n\r\n", 1), "200 OK"));
    put(fd, "POST /predict" H LINES "Content-Length: 99\r\n\r\n\"a\"\n\"b");
    shutdown(fd, SHUT_WR);
    rest = read_until(fd, "\r\n0\r\n\r\n", 1);
    CHECK(has(rest, REPLY_A "\n") && has(rest, "the body ended after 6 of 99 bytes"));
    CHECK(recv(fd, (char[1]){ 0 }, 1, 0) == 0);
    close(fd);
    CHECK(is_error(ask(r, "POST /predict HTTP/1.0\r\n" LINES "Content-Length: 3\r\n\r\n\"a\""), 415,
                   "unsupported_media_type"));
    CHECK(is_error(ask(r, "POST /predict" H "Content-Type: application/x-ndjsonx\r\n\r\n"), 415,
                   "unsupported_media_type"));
}

/* More lines than the server holds at once, much more than its buffers: all come back, in order. */
static void *send_lines(void *arg)
{
    Buf text = { 0 };
    int fd = *(int *)arg;
    for (int i = 0; i < 3000; i++)
        buf_printf(&text, "{\"inputs\":[\"a\"],\"metadata\":{\"n\":\"%d\"}}\n", i);
    char head[200];
    snprintf(head, sizeof head, "POST /predict" H LINES "Content-Length: %zu\r\n\r\n", text.n);
    put(fd, head);
    buf_char(&text, 0);
    put(fd, text.p);
    buf_free(&text);
    return NULL;
}

static void test_many_lines(void)
{
    TEST("many lines");
    Running r = { .server = { .max_body = 1000 }, .session = { .queue_jobs = 3 } };
    pthread_t sender;
    start(&r);
    int fd = connect_to(&r), wrong = 0, n = 0;
    pthread_create(&sender, NULL, send_lines, &fd);
    usleep(100000); /* nobody reads for a while */
    const char *text = read_until(fd, "\r\n0\r\n\r\n", 1);
    pthread_join(sender, NULL);
    for (const char *p = text; (p = strstr(p, "\"n\":\"")); p += 5, n++) wrong += atoi(p + 5) != n;
    if (!CHECK(n == 3000 && wrong == 0)) printf("  %d lines, %d wrong, end %s\n", n, wrong, text+strlen(text)-300);
    close(fd);
    fd = connect_to(&r);
    put(fd, "POST /predict" H LINES "Content-Length: 100000\r\n\r\n\"");
    char filling[2001] = { 0 };
    memset(filling, 'a', 2000);
    put(fd, filling);
    CHECK(has(read_until(fd, "\r\n0\r\n\r\n", 1), "line: found more than the limit of 1000 bytes"));
    close(fd);
    fd = connect_to(&r); /* one that leaves in the middle */
    put(fd, "POST /predict" H LINES "Content-Length: 100000\r\n\r\n\"a\"\n\"a\"\n");
    close(fd);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    stop(&r);
}

static void test_unix(void)
{
    TEST("UNIX socket");
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof a.sun_path, "/tmp/encoderfile-test-%d", (int)getpid());
    for (int i = 0; i < 2; i++) { /* the second time over one that was left behind */
        Running r = { .server = { .unix_path = a.sun_path } };
        start(&r);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
        put(fd, "POST /predict" H JSON BODY_A);
        CHECK(has(get(fd, false), REPLY_A));
        close(fd);
        int never = 0;
        Err err = { 0 };
        ServerOptions o = { .hostname = "127.0.0.1", .unix_path = a.sun_path };
        CHECK(!server_run(r.s, &o, &never, &err) && says(&err, "in use"));
        stop(&r);
        CHECK(access(a.sun_path, F_OK) != 0);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
        close(fd);
    }
    unlink(a.sun_path);
}

/* ---- what an operator asked for ---- */
/* Until the text of the file has those words; it stays for the next call. */
static bool comes(int file, Buf *text, const char *words)
{
    for (int i = 0; i < 6000; i++, usleep(5000)) {
        off_t n = lseek(file, 0, SEEK_END);
        text->n = 0;
        buf_reserve(text, (size_t)n + 1);
        ssize_t got = pread(file, text->p, (size_t)n, 0);
        text->p[MAX(got, 0)] = 0;
        if (strstr(text->p, words)) return true;
    }
    return false;
}

/* Access log and state are there at every level, with times that a clock has told. */
static void test_log(AccessLog form)
{
    TEST("log");
    char path[] = "/tmp/encoderfile-test-XXXXXX";
    int file = mkstemp(path), before = dup(2), dump = 0;
    bool json = form == ACCESS_JSON;
    Buf text = { 0 };
    Running r = { .server = { .access = form, .dump = &dump } };
    log_limit(EF_LOG_ERROR);
    dup2(file, 2);
    start(&r);
    ask(&r, "GET /health" H "\r\n");
    bool line = comes(file, &text, json ? "\"path\":\"/health\"" : "\"GET /health\" 200");
    bool timed = !strstr(text.p, json ? "\"ms\":0.000" : " 0.000 ms");
    __atomic_store_n(&dump, 1, __ATOMIC_RELAXED);
    bool state = comes(file, &text, "info state: mean ms: ");
    stop(&r);
    bool quiet = !strstr(text.p, "info serving");
    dup2(before, 2);
    log_limit(EF_LOG_INFO);
    CHECK(line && timed && state && quiet);
    close(before), close(file);
    unlink(path);
    buf_free(&text);
}

static void test_write_seconds(const Running *r)
{
    TEST("seconds of writing");
    for (int i = 0; i < 20; i++) CHECK(has(post(r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    const char *page = ask(r, "GET /metrics" H "\r\n");
    CHECK(has(page, "\nencoderfile_write_seconds_sum "));
    CHECK(!strstr(page, "\nencoderfile_write_seconds_sum 0.000000\n"));
}

int main(void)
{
    TEST("model");
    if (!CHECK(make_model())) return finish();
    Running r = { 0 };
    start(&r);
    test_probes(&r);
    test_options(&r);
    test_ids(&r);
    test_lines(&r);
    test_tokenizer(&r);
    test_write_seconds(&r);
    stop(&r);
    test_similarity();
    test_keys();
    test_origins();
    test_gzip();
    test_gzip_members();
    test_many_lines();
    test_unix();
    test_log(ACCESS_TEXT);
    test_log(ACCESS_JSON);
    arena_free(&model.arena);
    return finish();
}
