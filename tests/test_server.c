/* SPDX-License-Identifier: Apache-2.0
 * test_server.c - the server over real sockets: routes, replies, connections, limits, the end. */
#include "server_fake.h"

static void test_routes(const Running *r)
{
    TEST("routes");
    CHECK(has(ask(r, "GET /health" H "\r\n"), "HTTP/1.1 200 OK\r\n"));
    CHECK(strcmp(body_of(ask(r, "GET /health" H "\r\n")), "\"OK!\"") == 0);
    CHECK(strcmp(body_of(ask(r, "GET /model" H "\r\n")),
                 "{\"model_id\":\"fake "
                 "\\\"model\\\"\",\"model_type\":\"embedding\",\"id2label\":null,"
                 "\"max_length\":null,\"pooling\":\"mean\",\"normalized\":false,"
                 "\"dimensions\":null}") == 0);
    CHECK(has(ask(r, "GET /" H "\r\n"), "\"/predict\""));
    const char *head = ask(r, "HEAD /health" H "\r\n");
    CHECK(has(head, "200 OK") && has(head, "Content-Length: 5\r\n") && *body_of(head) == 0);
    CHECK(is_error(ask(r, "GET /nothing" H "\r\n"), 404, "not_found"));
    const char *wrong = ask(r, "POST /health" H "Content-Length: 0\r\n\r\n");
    CHECK(is_error(wrong, 405, "method_not_allowed") && has(wrong, "\r\nAllow: GET, HEAD, OPTIONS\r\n"));
    wrong = ask(r, "GET /predict" H "\r\n");
    CHECK(is_error(wrong, 405, "method_not_allowed") && has(wrong, "\r\nAllow: POST, OPTIONS\r\n"));
    CHECK(*body_of(ask(r, "HEAD /nothing" H "\r\n")) == 0);
}

static void test_openapi(const Running *r)
{
    TEST("openapi");
    Arena arena = { 0 };
    Value v;
    Err err = { 0 };
    const char *text = body_of(ask(r, "GET /openapi.json" H "\r\n"));
    if (CHECK(json_parse(&arena, str_of(text), &v, &err))) {
        const Value *post_op = value_get(value_get(value_get(&v, "paths"), "/predict"), "post");
        const Value *schemas = value_get(value_get(&v, "components"), "schemas");
        CHECK(str_is(value_str(value_get(&v, "openapi"), STR("")), "3.1.0"));
        CHECK(value_get(value_get(post_op, "responses"), "429") &&
              value_get(post_op, "requestBody"));
        CHECK(value_get(schemas, "PredictRequest") && value_get(schemas, "PredictReply"));
        CHECK(value_get(schemas, "Error") && value_get(schemas, "ModelReply"));
        for (const char *at = text; (at = strstr(at, "#/components/schemas/")); at++) {
            Str name = { at + 21, strcspn(at + 21, "\"") };
            CHECK(value_get(schemas, str_dup(&arena, name)));
        }
    }
    arena_free(&arena);
}

static void test_predict(const Running *r)
{
    TEST("predict");
    CHECK(strcmp(body_of(post(r, "{\"inputs\":[\"a\"]}")), REPLY_A) == 0);
    CHECK(is_error(post(r, "{\"inputs\":[\"a\""), 400, "bad_request"));
    CHECK(is_error(post(r, "{\"inputs\":7}"), 422, "invalid_input"));
    CHECK(has(post(r, "{\"inputs\":[\"a\",7]}"), "\"param\":\"inputs[1]\""));
    CHECK(is_error(post(r, "{\"inputs\":[]}"), 422, "invalid_input"));
    const char *boom = post(r, "{\"inputs\":[\"a boom\"]}");
    CHECK(is_error(boom, 500, "internal") && has(boom, "Model inference failed: boom"));
    CHECK(is_error(ask(r, "POST /predict" H "Content-Length: 2\r\n\r\n{}"), 415,
                   "unsupported_media_type"));
    CHECK(is_error(ask(r, "POST /predict" H "Content-Type: application/jsonx\r\n\r\n"), 415,
                   "unsupported_media_type"));
    CHECK(
        is_error(ask(r, "POST /predict" H "Content-Type: Application/JSON; charset=utf-8\r\n\r\n"),
                 400, "bad_request"));
    CHECK(is_error(ask(r, "POST /predict" H JSON "Content-Length: 2000000\r\n\r\n"), 413,
                   "too_large"));
    CHECK(has(ask(r, "POST /predict" H JSON "Content-Length: 99999999999999999999999\r\n\r\n"),
              "body: found 99999999999999999999999 bytes, wanted at most"));
    CHECK(is_error(ask(r, "GET / HTTP/1.1\r\n\r\n"), 400, "bad_request"));
    CHECK(is_error(ask(r, "nonsense\r\n"), 400, "bad_request"));
}

static void test_connection(const Running *r)
{
    TEST("connection");
    int fd = connect_to(r);
    for (int i = 0; i < 3; i++) {
        put(fd, "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
        CHECK(strcmp(body_of(get(fd, false)), REPLY_A) == 0);
    }
    put(fd, "POST /predict" H JSON
            "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\nb\r\nuts\":[\"a\"]}\r\n0\r\n\r\n"
            "GET /health" H "\r\nGET /nothing" H "\r\nPOST /predict" H JSON
            "Content-Length: 16\r\n\r\n{\"inputs\":[");
    CHECK(strcmp(body_of(get(fd, false)), REPLY_A) == 0);
    CHECK(has(get(fd, false), "\"OK!\""));
    CHECK(is_error(get(fd, false), 404, "not_found"));
    put(fd, "\"a\"]}");
    CHECK(strcmp(body_of(get(fd, false)), REPLY_A) == 0);
    put(fd, "POST /predict" H JSON "Expect: 100-continue\r\nContent-Length: 16\r\n\r\n");
    CHECK(has(get(fd, false), "HTTP/1.1 100 Continue\r\n\r\n"));
    put(fd, "{\"inputs\":[\"a\"]}");
    CHECK(strcmp(body_of(get(fd, false)), REPLY_A) == 0);
    put(fd, "GET /health" H "Connection: close\r\n\r\n");
    CHECK(has(get(fd, false), "Connection: close\r\n"));
    CHECK(*get(fd, false) == 0);
    close(fd);
    fd = connect_to(r);
    put(fd, "POST /nothing" H "Expect: 100-continue\r\nContent-Length: 16\r\n\r\n");
    CHECK(is_error(get(fd, false), 404, "not_found"));
    CHECK(*get(fd, false) == 0);
    close(fd);
    CHECK(has(ask(r, "GET /health HTTP/1.0\r\n\r\n"), "Connection: close"));
}

/* Requests that wait share a run; one that cannot be run fails alone. */
static void test_company(const Running *r)
{
    TEST("company");
    enum { N = 5 };
    int fd[N], first = connect_to(r);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    put(first, "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
    while (__atomic_load_n(&runs, __ATOMIC_RELAXED) == before) usleep(1000);
    for (int i = 0; i < N; i++) {
        fd[i] = connect_to(r);
        put(fd[i], i == 2
                       ? "POST /predict" H JSON "Content-Length: 19\r\n\r\n{\"inputs\":[\"boom\"]}"
                       : "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
    }
    CHECK(jobs_wait(r, N));
    CHECK(has(ask(r, "GET /health" H "\r\n"), "\"OK!\"")); /* while the model is busy */
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    CHECK(strcmp(body_of(get(first, false)), REPLY_A) == 0);
    for (int i = 0; i < N; i++) {
        if (i == 2) CHECK(is_error(get(fd[i], false), 500, "internal"));
        else CHECK(strcmp(body_of(get(fd[i], false)), REPLY_A) == 0);
        close(fd[i]);
    }
    close(first);
    CHECK(largest >= N);
}

static void test_overload(void)
{
    TEST("overload");
    Running r = { .session = { .queue_jobs = 2 } };
    int fd[8], accepted = 0, refused = 0;
    start(&r);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 8; i++) {
        fd[i] = connect_to(&r);
        put(fd[i], "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
        usleep(20000); /* in this order */
    }
    close(fd[1]); /* waits in the queue and goes away */
    usleep(20000);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < 8; i++) {
        if (i == 1) continue;
        const char *reply = get(fd[i], false);
        bool ok = strstr(reply, " 200 OK\r\n");
        accepted += ok;
        refused +=
            !ok && is_error(reply, 429, "overloaded") && has(reply, "\r\nRetry-After: 1\r\n");
        close(fd[i]);
    }
    CHECK(accepted + refused == 7 && refused >= 4 && accepted >= 2);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    stop(&r);
}

/* A client that does not read its megabytes keeps nobody else waiting. */
static void test_slow_reader(const Running *r)
{
    TEST("slow reader");
    Buf request = { 0 }, body = { 0 };
    buf_puts(&body, "{\"inputs\":[");
    for (int i = 0; i < 100; i++) {
        buf_puts(&body, i ? ",\"" : "\"");
        for (int k = 0; k < 500; k++) buf_puts(&body, "a ");
        buf_char(&body, '"');
    }
    buf_puts(&body, "]}");
    buf_printf(&request, "POST /predict" H JSON "Content-Length: %zu\r\n\r\n", body.n);
    buf_str(&request, buf_view(&body));
    buf_char(&request, 0);
    int slow = connect_to(r), gone = connect_to(r);
    put(slow, request.p);
    put(gone, request.p);
    usleep(50000);
    close(gone); /* in the middle of its reply */
    for (int i = 0; i < 5; i++) CHECK(has(post(r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    const char *reply = get(slow, false);
    size_t n = strlen(reply);
    CHECK(has(reply, "HTTP/1.1 200 OK") && n > 4000000 && strcmp(reply + n - 2, "\"}") == 0);
    close(slow);
    buf_free(&request);
    buf_free(&body);
}

static void test_timeouts(void)
{
    TEST("timeouts");
    Running r = { .server = {
                      .header_timeout_s = 0.2, .body_timeout_s = 0.2, .idle_timeout_s = 0.3 } };
    start(&r);
    int idle = connect_to(&r), head = connect_to(&r), body = connect_to(&r);
    put(head, "GET /health HT");
    put(body, "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"in");
    CHECK(is_error(get(head, false), 408, "timeout") && *get(head, false) == 0);
    CHECK(is_error(get(body, false), 408, "timeout") && *get(body, false) == 0);
    CHECK(*get(idle, false) == 0);
    close(idle), close(head), close(body);
    stop(&r);
}

static void test_many(void)
{
    TEST("many connections");
    Running r = { .server = { .max_connections = 4 } };
    start(&r);
    int fd[6];
    for (int i = 0; i < 6; i++) { /* idle ones make room */
        fd[i] = connect_to(&r);
        put(fd[i], "GET /health" H "\r\n");
        CHECK(has(get(fd[i], false), "\"OK!\""));
    }
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    for (int i = 2; i < 6; i++) {
        put(fd[i], "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
        CHECK(run_begins(before));
    }
    CHECK(jobs_wait(&r, 3));
    int extra = connect_to(&r); /* busy ones do not */
    put(extra, "GET /health" H "\r\n");
    const char *reply = get(extra, false);
    CHECK(*reply == 0 || is_error(reply, 503, "unavailable"));
    close(extra);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 2; i < 6; i++) CHECK(has(get(fd[i], false), REPLY_A));
    for (int i = 0; i < 6; i++) close(fd[i]);
    CHECK(has(ask(&r, "GET /health" H "\r\n"), "\"OK!\""));
    stop(&r);
}

static void test_stop(void)
{
    TEST("stop");
    Running r = { 0 };
    start(&r);
    int idle = connect_to(&r), busy = connect_to(&r), half = connect_to(&r);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    put(busy, "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}");
    put(half, "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\"");
    usleep(100000);
    tell_stop(&r);
    usleep(300000);
    CHECK(*get(idle, false) == 0);
    CHECK(connect_to(&r) < 0);
    put(half, ":[\"a\"]}");
    usleep(50000);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    const char *reply = get(busy, false);
    CHECK(has(reply, REPLY_A) && has(reply, "Connection: close\r\n"));
    CHECK(has(get(half, false), REPLY_A));
    stop(&r);
    close(idle), close(busy), close(half);
}

static void test_drained(void)
{
    TEST("drained");
    Running r = { 0 };
    start(&r);
    session_drain(r.s);
    CHECK(is_error(post(&r, "{\"inputs\":[\"a\"]}"), 503, "unavailable"));
    CHECK(has(ask(&r, "GET /health" H "\r\n"), "\"OK!\""));
    stop(&r);
}

static void test_listen(const Running *r)
{
    TEST("listen");
    static const struct { const char *host; int port; const char *words; } rows[] = {
        { "127.0.0.1", 0, "127.0.0.1 port" },
        { "example.org", 1, "hostname: found \"example.org\"" },
        { "1.2.3.4.5", 1, "hostname" },
        { "", 1, "hostname" },
        { "[::1", 1, "hostname" },
        { "192.0.2.1", 1, "cannot listen on 192.0.2.1 port 1" },
        { "localhost", 70000, "port: found 70000" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        Err err = { 0 };
        int never = 0;
        ServerOptions o = { .hostname = rows[i].host,
                            .port = rows[i].port ? rows[i].port : r->port };
        CHECK(!server_run(r->s, &o, &never, &err) && says(&err, rows[i].words));
    }
}

static void quick_ready(void *context, const char *address, int port)
{
    (void)address, (void)port;
    *(volatile int *)context = 1;
}

static void test_addresses(const Running *r)
{
    TEST("addresses");
    static const char *const hosts[] = { NULL, "localhost", "0.0.0.0", "[::]", "::1",
                                         "LocalHost" /* by /etc/hosts */ };
    size_t n = COUNT(hosts) - (access("/etc/hosts", R_OK) != 0);
    for (size_t i = 0; i < n; i++) {
        Err err = { 0 };
        volatile int stopped = 0;
        ServerOptions o = { .hostname = hosts[i],
                            .ready = quick_ready,
                            .context = (void *)&stopped };
        bool ok = server_run(r->s, &o, &stopped, &err);
        if (!ok && strstr(err.message, "not supported by protocol")) SKIP(hosts[i]);
        else CHECK(ok && stopped);
    }
}

int main(void)
{
    TEST("model");
    if (!CHECK(make_model())) return finish();
    Running r = { .server = { .max_body = 1 << 20 } };
    start(&r);
    test_routes(&r);
    test_openapi(&r);
    test_predict(&r);
    test_connection(&r);
    test_company(&r);
    test_slow_reader(&r);
    test_listen(&r);
    test_addresses(&r);
    stop(&r);
    test_overload();
    test_timeouts();
    test_many();
    test_stop();
    test_drained();
    arena_free(&model.arena);
    return finish();
}
