/* SPDX-License-Identifier: Apache-2.0
 * Several loops and several runners: what one of them did for all is still so for all of them. */
#include <sys/resource.h>

#include "server_fake.h"

enum { LOOPS = 3, THREADS = 4, CLIENTS = 9, REQUESTS = 60 };

#define POST_A "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}"
#define POST_AB "POST /predict" H JSON "Content-Length: 18\r\n\r\n{\"inputs\":[\"a b\"]}"

/* ---- clients on threads of their own ---- */
typedef struct Client {
    const Running *r;
    pthread_t thread;
    int number, right;
} Client;

/* One reply; room for it is the caller's. */
static bool reply_is(int fd, const char *words)
{
    char in[4096];
    size_t n = 0;
    for (ssize_t got; n < sizeof in - 1; n += (size_t)got) {
        in[n] = 0;
        const char *body = strstr(in, "\r\n\r\n"), *length = strstr(in, "Content-Length: ");
        if (body && length && in + n >= body + 4 + atol(length + 16)) break;
        got = recv(fd, in + n, sizeof in - 1 - n, 0);
        if (got <= 0) return false;
    }
    return strstr(in, words);
}

static void *client_main(void *arg)
{
    Client *c = arg;
    int fd = connect_to(c->r);
    for (int i = 0; i < REQUESTS; i++) {
        bool one = (i + c->number) % 2;
        put(fd, one ? POST_A : POST_AB);
        c->right += reply_is(fd, one ? "[1.0,1.0]" : "[2.0,2.0]");
    }
    close(fd);
    return NULL;
}

static int replies_of(const Running *r)
{
    Client client[CLIENTS];
    int right = 0;
    for (int i = 0; i < CLIENTS; i++) {
        client[i] = (Client){ .r = r, .number = i };
        pthread_create(&client[i].thread, NULL, client_main, &client[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(client[i].thread, NULL);
        right += client[i].right;
    }
    return right;
}

static bool metrics_say(const Running *r, const char *words)
{
    static const char ask_metrics[] = "GET /metrics" H "\r\n";
    int fd = connect_to(r);
    bool said = false;
    for (int i = 0; i < 200 && !said; i++, usleep(10000)) {
        put(fd, ask_metrics);
        said = strstr(get(fd, false), words);
    }
    close(fd);
    return said;
}

/* Each loop sees for itself that its clients have gone. */
static bool only_one_is_open(const Running *r)
{
    return metrics_say(r, "\nencoderfile_http_connections 1\n");
}

/* What one loop counted is told by any other. */
static void test_counts(void)
{
    TEST("counted by all");
    Running r = { .server = { .loops = LOOPS }, .session = { .threads = THREADS } };
    char words[100];
    enum { ALL = CLIENTS * REQUESTS };
    start(&r);
    CHECK(replies_of(&r) == ALL);
    CHECK(only_one_is_open(&r));
    static const char *const series[] = {
        "encoderfile_http_requests_total{route=\"/predict\",status=\"200\"}", "encoderfile_jobs_total",
        "encoderfile_request_seconds_count", "te_embed_count",
        "te_request_duration_count", "te_request_input_length_count", "encoderfile_queue_seconds_count",
    };
    for (int loop = 0; loop < LOOPS; loop++) {
        char *page = strdup(ask(&r, "GET /metrics" H "\r\n"));
        for (size_t i = 0; i < COUNT(series); i++) {
            snprintf(words, sizeof words, "\n%s %d\n", series[i], ALL);
            if (!CHECK(strstr(page, words))) printf("  no %s\n", words + 1);
        }
        snprintf(words, sizeof words, "\nencoderfile_http_connections_total %d\n", CLIENTS + 2 + loop);
        CHECK(has(page, words) && has(page, "\nencoderfile_session_bytes 0\n"));
        free(page);
    }
    stop(&r);
}

/* ---- limits ---- */
static bool alive(int fd)
{
    put(fd, "GET /health" H "\r\n");
    return reply_is(fd, "\"OK!\"");
}

/* Wherever it is served: the connection that has been idle longest goes. */
static void test_room(void)
{
    TEST("room for another");
    enum { MOST = 5, MORE = 3 };
    Running r = { .server = { .loops = LOOPS, .max_connections = MOST } };
    int fd[MOST + MORE], busy[MOST];
    start(&r);
    for (int i = 0; i < MOST; i++) CHECK(alive(fd[i] = connect_to(&r)));
    CHECK(alive(fd[1])); /* not the oldest any more */
    static const int goes[MORE] = { 0, 2, 3 };
    for (int i = 0; i < MORE; i++) {
        CHECK(alive(fd[MOST + i] = connect_to(&r)));
        CHECK(*get(fd[goes[i]], false) == 0);
    }
    CHECK(alive(fd[1]) && alive(fd[4]) && alive(fd[MOST]));
    for (int i = 0; i < MOST + MORE; i++) close(fd[i]);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    for (int i = 0; i < MOST; i++) {
        put(busy[i] = connect_to(&r), POST_A);
        CHECK(run_begins(before));
    }
    CHECK(jobs_wait(&r, MOST - 1));
    int extra = connect_to(&r);
    put(extra, "GET /health" H "\r\n");
    const char *reply = get(extra, false);
    CHECK(*reply == 0 || is_error(reply, 503, "unavailable"));
    close(extra);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < MOST; i++) CHECK(reply_is(busy[i], REPLY_A));
    for (int i = 0; i < MOST; i++) close(busy[i]);
    CHECK(has(ask(&r, "GET /metrics" H "\r\n"), "reason=\"connections\"} 1\n"));
    stop(&r);
}

/* No descriptor for another: of all idle connections one goes, wherever it is served. */
static void test_descriptors(void)
{
    TEST("no descriptor for another");
    enum { IDLE = 4, BUSY = 2 };
    Running r = { .server = { .loops = LOOPS }, .session = { .threads = THREADS } };
    struct rlimit was, few;
    int fd[IDLE + BUSY], gone = 0, before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    start(&r);
    for (int i = 0; i < IDLE + BUSY; i++) CHECK(alive(fd[i] = connect_to(&r)));
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < IDLE + BUSY; i += LOOPS) put(fd[i], POST_A); /* both of the first loop's */
    CHECK(run_begins(before));
    int extra = socket(AF_INET, SOCK_STREAM, 0);
    getrlimit(RLIMIT_NOFILE, &was);
    few = (struct rlimit){ (rlim_t)extra + 1, was.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(connect_with(extra, &r) && alive(extra));
    setrlimit(RLIMIT_NOFILE, &was);
    for (int i = 0; i < IDLE + BUSY; i++) {
        char byte;
        if (i % LOOPS) gone += recv(fd[i], &byte, 1, MSG_DONTWAIT) == 0;
    }
    CHECK(gone == 1);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < IDLE + BUSY; i += LOOPS) CHECK(reply_is(fd[i], REPLY_A));
    for (int i = 0; i < IDLE + BUSY; i++) close(fd[i]);
    close(extra);
    stop(&r);
}

/* ---- the end ---- */
/* Requests that were sent before the word to stop, also on connections that were not accepted yet. */
static void test_stop_under_load(void)
{
    TEST("stop under load");
    enum { MANY = 40 };
    Running r = { .server = { .loops = LOOPS }, .session = { .threads = THREADS } };
    int fd[MANY], right = 0;
    start(&r);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < MANY; i++) put(fd[i] = connect_to(&r), i % 2 ? POST_A : POST_AB);
    tell_stop(&r);
    usleep(150000);
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < MANY; i++) {
        right += reply_is(fd[i], i % 2 ? "[1.0,1.0]" : "[2.0,2.0]");
        close(fd[i]);
    }
    CHECK(right == MANY);
    stop(&r);
}

/* Not ready any more, whichever loop is asked; but still there. */
static void test_drain_of_all(void)
{
    TEST("drain");
    Running r = { .server = { .loops = LOOPS, .drain_s = 1 } };
    start(&r);
    tell_stop(&r);
    usleep(250000);
    for (int i = 0; i < LOOPS; i++) {
        CHECK(has(ask(&r, "GET /ready" H "\r\n"), " 503 "));
        CHECK(has(ask(&r, POST_A), REPLY_A));
    }
    stop(&r);
}

/* More than there are connections, and what a person at a terminal asks for. */
static void test_odd_numbers(void)
{
    TEST("odd numbers");
    static volatile int dump;
    Running r = { .server = { .loops = 999, .max_connections = 2, .dump = &dump } };
    start(&r);
    CHECK(has(ask(&r, POST_A), REPLY_A));
    __atomic_store_n(&dump, 1, __ATOMIC_RELAXED);
    usleep(250000);
    CHECK(has(ask(&r, POST_A), REPLY_A));
    stop(&r);
}

/* ---- clients that go ---- */
/* A list of two runs whose client leaves during the first: the rest of it is all that waits, and
 * nobody wants it. */
static void test_client_leaves(void)
{
    TEST("a client that leaves");
    enum { TEXTS = 700, TWO_GANGS = 8 }; /* two runs, the first on five threads of eight */
    Running r = { .server = { .loops = LOOPS }, .session = { .threads = TWO_GANGS } };
    Buf list = { 0 }, post = { 0 };
    for (int i = 0; i < TEXTS; i++) buf_puts(&list, i ? ",\"a\"" : "{\"inputs\":[\"a\"");
    buf_puts(&list, "]}");
    buf_printf(&post, "POST /predict" H JSON "Content-Length: %zu\r\n\r\n%.*s", list.n,
               STR_ARG(buf_view(&list)));
    buf_char(&post, 0);
    start(&r);
    int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);
    __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
    int fd = connect_to(&r);
    put(fd, post.p);
    CHECK(run_begins(before));
    close(fd);
    CHECK(only_one_is_open(&r));
    __atomic_store_n(&closed, 0, __ATOMIC_RELEASE);
    CHECK(metrics_say(&r, "reason=\"client_gone\"} 1\n"));
    CHECK(has(ask(&r, POST_A), REPLY_A));
    stop(&r);
    CHECK(__atomic_load_n(&runs, __ATOMIC_RELAXED) == before + 2);
    buf_free(&list), buf_free(&post);
}

/* ---- threads that cannot be started ---- */
static int threads_left = -1;    /* that can be; -1: any number */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return __real_pthread_create(id, attr, fn, arg);
}

static void never_ready(void *context, const char *address, int port)
{
    (void)address, (void)port;
    *(bool *)context = true;
}

/* One loop has its thread, the next has none: the server says so and ends, without the word to stop. */
static void test_missing_thread(void)
{
    TEST("a loop without a thread");
    static const volatile int no_word;
    bool announced = false;
    Err err = { 0 };
    ServerOptions o = { .hostname = "127.0.0.1", .loops = LOOPS, .drain_s = 60,
                        .ready = never_ready, .context = &announced };
    Session *s = job_session(&model, &(SessionOptions){ .threads = 1 });
    CHECK(session_expect(s, &err));
    threads_left = 1;
    alarm(20);
    CHECK(!server_run(s, &o, &no_word, &err) && err.code == EF_IO && !announced);
    alarm(0);
    CHECK(has(err.message, "loop 2: no thread could be started"));
    threads_left = -1;
    session_free(s);
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    TEST("model");
    if (!CHECK(make_model())) return finish();
    test_counts();
    test_room();
    test_descriptors();
    test_stop_under_load();
    test_drain_of_all();
    test_odd_numbers();
    test_client_leaves();
    test_missing_thread();
    arena_free(&model.arena);
    return finish();
}
