/* SPDX-License-Identifier: Apache-2.0
 * test_server_script.c - a package's script on its bad days, seen by clients: stuck ones hold up
 * nobody else, end with their deadline or their client, and a vector has no more numbers than the
 * script left. Limits are minutes, so nothing here depends on how fast the machine is. */
#include "server_fake.h"

enum { STUCK = 16, PATIENCE_S = 300 };
#define BODY_A "{\"inputs\":[\"a\"]}"
#define BODY_B "{\"inputs\":[\"b\"]}" /* its script never ends */

static const char *const stuck_scripts[] = {
    "function Preprocess(t) while t == 'b' do end return t end",
    "function Preprocess(t) while t == 'b' do pcall(string.rep, 'x', 1e6) end return t end",
    "function Postprocess(t) while t:sum() == 3 do end return t end", /* b is {2, 1} */
};

static bool use_script(const char *script)
{
    TransformLimits limits = { .seconds = PATIENCE_S, .instructions = INT64_MAX };
    Transform *transform;
    Err err = { 0 };
    bool ok = transform_load(&model.arena, str_of(script), NULL, 0, &limits, &transform, &err);
    if (!CHECK(ok)) return printf("  %s\n", err.message), false;
    model.transform = transform;
    return true;
}

static int begin_post(const Running *r, const char *body)
{
    char request[256];
    int fd = connect_to(r);
    snprintf(request, sizeof request, "POST /predict" H JSON "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    put(fd, request);
    return fd;
}

static bool silent(int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };
    return poll(&p, 1, 0) == 0;
}

static bool reaches(const uint64_t *count, uint64_t n)
{
    for (int i = 0; i < PATIENCE_S * 100; i++, usleep(10000))
        if (count_get(count) == n) return true;
    return false;
}

/* Quick requests are answered before, among and after them, while all of them still run. */
static void test_stuck(const char *script)
{
    TEST(script);
    Running r = { 0 };
    int fd[STUCK];
    if (!use_script(script)) return;
    start(&r);
    for (int i = 0; i < STUCK; i++) {
        fd[i] = begin_post(&r, BODY_B);
        CHECK(has(post(&r, BODY_A), REPLY_A));
    }
    for (int i = 0; i < 20; i++) CHECK(has(post(&r, BODY_A), REPLY_A));
    for (int i = 0; i < STUCK; i++) CHECK(silent(fd[i]));
    CHECK(count_get(&session_meters(r.s)->abandoned) == 0);
    for (int i = 0; i < STUCK; i++) close(fd[i]);
    CHECK(reaches(&session_meters(r.s)->abandoned, STUCK)); /* a client that went ends its script */
    CHECK(has(post(&r, BODY_A), REPLY_A));
    stop(&r);
}

/* More than are replaced wait their turn, and so does who comes then; it ends for all of them. */
static void test_too_many(void)
{
    TEST("more stuck scripts than threads");
    Running r = { .server.request_timeout_s = 2 };
    int fd[3 * STUCK];
    if (!use_script(stuck_scripts[0])) return;
    start(&r);
    for (size_t i = 0; i < COUNT(fd); i++) fd[i] = begin_post(&r, BODY_B);
    for (size_t i = 0; i < COUNT(fd); i++) {
        CHECK(is_error(get(fd[i], false), 504, "deadline"));
        close(fd[i]);
    }
    CHECK(reaches(&session_meters(r.s)->expired, COUNT(fd)));
    CHECK(has(post(&r, BODY_A), REPLY_A));
    stop(&r);
}

static void test_deadline(const char *script)
{
    TEST("deadline inside a script");
    Running r = { .server.request_timeout_s = 0.3 };
    if (!use_script(script)) return;
    start(&r);
    CHECK(is_error(post(&r, BODY_B), 504, "deadline"));
    CHECK(count_get(&session_meters(r.s)->expired) == 1);
    stop(&r);
}

/* Texts whose scripts are too short to look at a clock, and too many for the time. */
static void test_between(void)
{
    TEST("deadline between texts");
    enum { TEXTS = 400 };
    if (!use_script("local s = string.rep('x', 8000000) function Preprocess(t) return t end"))
        return;
    Buf body = { 0 };
    Running r = { .server.request_timeout_s = 0.02 };
    start(&r);
    buf_puts(&body, "{\"inputs\":[\"a\"");
    for (int i = 1; i < TEXTS; i++) buf_puts(&body, ",\"a\"");
    buf_puts(&body, "]}");
    buf_char(&body, 0);
    CHECK(is_error(post_to(&r, "/predict", body.p), 504, "deadline"));
    buf_free(&body);
    stop(&r);
}

static void test_dimensions(void)
{
    TEST("dimensions of what a script left");
    Running r = { 0 };
    if (!use_script("function Postprocess(t) return t end")) return;
    start(&r);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"],\"dimensions\":2}"), REPLY_A));
    const char *reply = post(&r, "{\"inputs\":[\"a\"],\"dimensions\":3}");
    CHECK(is_error(reply, 422, "invalid_input"));
    CHECK(has(reply, "dimensions: found 3, wanted 1 to 2"));
    stop(&r);
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    if (!make_model()) return 1;
    for (size_t i = 0; i < COUNT(stuck_scripts); i++) test_stuck(stuck_scripts[i]);
    test_too_many();
    test_deadline(stuck_scripts[0]);
    test_deadline(stuck_scripts[2]);
    test_between();
    test_dimensions();
    return finish();
}
