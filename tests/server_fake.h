/* SPDX-License-Identifier: Apache-2.0
 * server_fake.h - a server on a thread, with a model that computes nothing: the engine's runner is
 * replaced by one that can be held still, made to fail, and predicted. And a client for it. */
#ifndef SERVER_FAKE_H
#define SERVER_FAKE_H
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "check.h"
#include "data/json.h"
#include "model/model.h"
#include "server/server.h"

/* ---- the model: each token's vector is {id, tokens of its row} ---- */
static int closed, runs, largest; /* gate; how often; rows of the largest batch */
enum { BOOM = 3 };

Runner *runner_new(const Engine *engine, Pool *pool)
{
    (void)engine, (void)pool;
    return calloc(1, sizeof(Buf));
}

void runner_free(Runner *r)
{
    buf_free((Buf *)r);
    free(r);
}

static bool compute(const Batch *b, float *x, RowOutput *out, Err *err)
{
    for (int r = 0; r < b->B; r++) {
        int from = b->start[r], n = b->start[r + 1] - from;
        out[r] = (RowOutput){ x + from * 2, n, 2 };
        for (int t = 0; t < n; t++) {
            if (b->ids[from + t] == BOOM) return fail(err, EF_INTERNAL, "Model inference failed: boom");
            x[(from + t) * 2] = (float)b->ids[from + t];
            x[(from + t) * 2 + 1] = (float)n;
        }
    }
    return true;
}

bool runner_run(Runner *r, const Batch *b, RowOutput *out, Err *err)
{
    Buf *buf = (Buf *)r;
    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&largest, MAX(b->B, __atomic_load_n(&largest, __ATOMIC_RELAXED)), __ATOMIC_RELAXED);
    while (__atomic_load_n(&closed, __ATOMIC_ACQUIRE)) usleep(1000);
    buf_reserve(buf, (size_t)b->start[b->B] * 8);
    return compute(b, (float *)buf->p, out, err);
}

bool runner_profile(Runner *r, const Batch *b, Arena *arena, Profile *p, Err *err)
{
    (void)r, (void)b, (void)arena, (void)p;
    return fail(err, EF_UNSUPPORTED, "this model has no steps");
}

static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,"
    "\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"post_processor\":null,\"decoder\":null,"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##"
    "\","
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"a\":1,\"b\":2,\"boom\":3}}}";
static Model model;

static inline bool make_model(void)
{
    Err err = { 0 };
    model.name = STR("fake \"model\"");
    model.task = task_find(STR("embedding"));
    model.items = &item_texts;
    model.preparer = &prepare_text;
    bool ok = tokenizer_load(&model.arena, str_of(tokenizer_json), &model.tokenizer, &err);
    if (!ok) printf("  %s\n", err.message);
    return ok;
}

/* ---- a server on a thread ---- */
typedef struct Running {
    ServerOptions server;
    SessionOptions session;
    Session *s;
    pthread_t thread;
    volatile int stop;
    int port;
    bool ok;
} Running;

static void ready(void *context, const char *address, int port)
{
    (void)address;
    __atomic_store_n(&((Running *)context)->port, port, __ATOMIC_RELEASE);
}

static void *serve(void *arg)
{
    Running *r = arg;
    Err err = { 0 };
    r->ok = server_run(r->s, &r->server, &r->stop, &err);
    return NULL;
}

/* LOOPS in the environment: where a test does not say how many. */
static inline void start(Running *r)
{
    if (!r->session.threads) r->session.threads = 1;
    r->s = job_session(&model, &r->session);
    r->server.hostname = "127.0.0.1";
    r->server.ready = ready;
    r->server.context = r;
    if (!r->server.loops && getenv("LOOPS")) r->server.loops = atoi(getenv("LOOPS"));
    pthread_create(&r->thread, NULL, serve, r);
    while (!__atomic_load_n(&r->port, __ATOMIC_ACQUIRE)) usleep(1000);
}

static inline void tell_stop(Running *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELAXED);
}

static inline void stop(Running *r)
{
    tell_stop(r);
    pthread_join(r->thread, NULL);
    CHECK(r->ok);
    session_free(r->s);
}

/* ---- a client ---- */
static inline bool connect_with(int fd, const Running *r)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)r->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    return connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
}

static inline int connect_to(const Running *r)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect_with(fd, r) ? fd : (close(fd), -1);
}

static inline void put(int fd, const char *text)
{
    size_t n = strlen(text);
    for (ssize_t sent; n && (sent = send(fd, text, n, MSG_NOSIGNAL)) > 0; text += sent)
        n -= (size_t)sent;
}

/* Bytes of one reply: to the end of its body, or of the stream. Freed by the next call. */
static inline const char *get(int fd, bool head_only)
{
    static Buf in;
    in.n = 0;
    size_t want = 0; /* 0: the head has not ended */
    while (!want || in.n < want) {
        size_t room = want ? want - in.n : 1;
        buf_reserve(&in, room + 1);
        ssize_t n = recv(fd, in.p + in.n, room, 0);
        if (n <= 0) break;
        in.n += (size_t)n;
        in.p[in.n] = 0;
        if (want || in.n < 4 || memcmp(in.p + in.n - 4, "\r\n\r\n", 4) != 0) continue;
        const char *length = strstr(in.p, "Content-Length: ");
        want = in.n + (length && !head_only ? (size_t)atol(length + 16) : 0);
    }
    buf_char(&in, 0);
    return in.p;
}

static inline bool has(const char *reply, const char *words)
{
    if (strstr(reply, words)) return true;
    printf("  reply was: %.600s\n", reply);
    return false;
}

#define H " HTTP/1.1\r\nHost: x\r\n"
#define JSON "Content-Type: application/json\r\n"

static inline const char *ask(const Running *r, const char *request)
{
    int fd = connect_to(r);
    put(fd, request);
    const char *reply = get(fd, strncmp(request, "HEAD", 4) == 0);
    close(fd);
    return reply;
}

static inline const char *post(const Running *r, const char *body)
{
    char request[2048];
    snprintf(request, sizeof request, "POST /predict" H JSON "Content-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    return ask(r, request);
}

static inline const char *body_of(const char *reply)
{
    const char *end = strstr(reply, "\r\n\r\n");
    return end ? end + 4 : "";
}

/* Until a run has begun after `before` of them: what is sent then waits behind it. */
static inline bool run_begins(int before)
{
    for (int i = 0; i < 6000; i++, usleep(5000))
        if (__atomic_load_n(&runs, __ATOMIC_RELAXED) > before) return true;
    return false;
}

static inline const char *post_to(const Running *r, const char *path, const char *body)
{
    Buf request = { 0 };
    buf_printf(&request, "POST %s" H JSON "Content-Length: %zu\r\n\r\n%s", path, strlen(body), body);
    buf_char(&request, 0);
    const char *reply = ask(r, request.p);
    buf_free(&request);
    return reply;
}

/* Until so many jobs wait behind the one that runs; at most half a minute. */
static inline bool jobs_wait(const Running *r, int n)
{
    for (int i = 0; i < 6000; i++, usleep(5000))
        if (__atomic_load_n(&session_meters(r->s)->waiting, __ATOMIC_RELAXED) == n) return true;
    return false;
}

/* ---- replies ---- */
static inline bool is_error(const char *reply, int status, const char *type)
{
    char line[40];
    Arena arena = { 0 };
    Value v;
    Err err = { 0 };
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    bool ok = strncmp(reply, line, strlen(line)) == 0 &&
              json_parse(&arena, str_of(body_of(reply)), &v, &err);
    const Value *e = ok ? value_get(&v, "error") : NULL;
    ok = ok && value_int(value_get(&v, "code"), 0) == status &&
         value_int(value_get(e, "code"), 0) == status &&
         str_is(value_str(value_get(&v, "type"), STR("")), type) &&
         str_eq(value_str(value_get(e, "message"), STR("x")),
                value_str(value_get(&v, "message"), STR("y")));
    if (!ok) printf("  reply was: %.600s\n", reply);
    arena_free(&arena);
    return ok;
}

static inline bool is_tei_error(const char *reply, int status, const char *type)
{
    char line[40], end[80];
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    snprintf(end, sizeof end, "\",\"error_type\":\"%s\"}", type);
    bool ok = strncmp(reply, line, strlen(line)) == 0 &&
              str_starts(str_of(body_of(reply)), "{\"error\":\"") && strstr(reply, end);
    if (!ok) printf("  reply was: %.600s\n", reply);
    return ok;
}

#define ONE_A                                                                                      \
    "{\"embedding\":[1.0,1.0],\"token_info\":{\"token\":\"a\",\"token_id\":1,\"start\":0,\"end\":" \
    "1}}"
#define REPLY_A "{\"results\":[{\"embeddings\":[" ONE_A "]}],\"model_id\":\"fake \\\"model\\\"\"}"

#endif
