/* SPDX-License-Identifier: Apache-2.0
 * test_server_abuse.c - clients that leave, stall, flood, send rubbish or all come at once: the
 * server stays up, answers the others, and gives back what it took. */
#include <sys/resource.h>

#include "server_fake.h"

#define ASK_A "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inputs\":[\"a\"]}"

static double metric(const Running *r, const char *name)
{
    const char *at = strstr(ask(r, "GET /metrics" H "\r\n"), name);
    return at ? atof(at + strlen(name)) : -1;
}

/* Waits (up to five seconds) until the metric has that value. */
static bool becomes(const Running *r, const char *name, double value)
{
    for (int i = 0; i < 250; i++) {
        if (metric(r, name) == value) return true;
        usleep(20000);
    }
    printf("  %s: %g, wanted %g\n", name, metric(r, name), value);
    return false;
}

static void hold(bool still)
{
    __atomic_store_n(&closed, still, __ATOMIC_RELEASE);
}

/* ---- half of a connection ---- */
/* The reply after those that only say that it will come. */
static const char *get_final(int fd)
{
    const char *reply = get(fd, false);
    return strstr(reply, " 100 Continue") ? get_final(fd) : reply;
}

static void test_half_closed(const Running *r)
{
    TEST("half-closed");
    for (int slow = 0; slow < 2; slow++) {
        int fd = connect_to(r);
        hold(slow);
        put(fd, ASK_A ASK_A);
        shutdown(fd, SHUT_WR);
        usleep(50000);
        hold(false);
        CHECK(has(get_final(fd), REPLY_A));
        CHECK(has(get_final(fd), REPLY_A)); /* the one behind it, too */
        CHECK(*get(fd, false) == 0);
        close(fd);
    }
}

/* Half a request is told what it lacks; the connection ends behind that. */
static void test_half_request(const Running *r)
{
    TEST("half a request");
    static const struct { const char *sent, *lacks; } rows[] = {
        { "POST /predict" H JSON "Content-Length: 16\r\n\r\n{\"inp",
          "the body ended after 5 of 16 bytes" },
        { "POST /predict" H JSON "Content-Length: 16\r\n\r\n",
          "the body ended after 0 of 16 bytes" },
        { "POST /predict" H JSON "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n",
          "the body ended before its last chunk" },
        { "POST /predict" H "Content-Le", "the request ended in its head" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = connect_to(r);
        put(fd, rows[i].sent);
        shutdown(fd, SHUT_WR);
        const char *reply = get(fd, false);
        CHECK(is_error(reply, 400, "bad_request") && has(reply, rows[i].lacks));
        CHECK(has(reply, "\r\nConnection: close\r\n"));
        CHECK(*get(fd, false) == 0);
        close(fd);
    }
}

/* A client that is gone gives back its connection and its place in the queue, although the model
 * is busy with others. */
static void test_gone(const Running *r)
{
    TEST("gone");
    enum { N = 20 };
    int first = connect_to(r), fd[N];
    double before = metric(r, "\nencoderfile_rejected_total{reason=\"client_gone\"} ");
    hold(true);
    put(first, ASK_A);
    usleep(50000);
    for (int i = 0; i < N; i++) {
        fd[i] = connect_to(r);
        put(fd[i], ASK_A);
    }
    CHECK(becomes(r, "\nencoderfile_http_connections ", N + 2));
    for (int i = 0; i < N; i++) close(fd[i]);
    CHECK(becomes(r, "\nencoderfile_http_connections ", 2)); /* the first, and the one that asks */
    hold(false);
    CHECK(has(get(first, false), REPLY_A));
    CHECK(becomes(r, "\nencoderfile_rejected_total{reason=\"client_gone\"} ", before + N));
    close(first);
}

/* ---- the end ---- */
/* Whatever was here before the word came is answered, also what stood behind another request. */
static void test_stop_pipelined(void)
{
    TEST("stop with requests behind others");
    Running r = { 0 };
    start(&r);
    int fd = connect_to(&r);
    hold(true);
    put(fd, ASK_A);
    usleep(50000);
    put(fd, ASK_A ASK_A "GET /ready" H "\r\n");
    usleep(50000);
    tell_stop(&r);
    usleep(150000);
    hold(false);
    for (int i = 0; i < 3; i++) CHECK(has(get(fd, false), REPLY_A));
    CHECK(is_error(get(fd, false), 503, "unavailable")); /* not ready any more */
    CHECK(*get(fd, false) == 0);
    close(fd);
    stop(&r);
}

static void test_drain(void)
{
    TEST("drain");
    Running r = { .server = { .drain_s = 0.4 } };
    start(&r);
    tell_stop(&r);
    usleep(200000);
    CHECK(is_error(ask(&r, "GET /ready" H "\r\n"), 503, "unavailable"));
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A)); /* until others know */
    stop(&r);
}

/* Who keeps its connection is told with its next reply; what stands behind it is answered first. */
static void test_drain_keep_alive(void)
{
    TEST("drain with connections that stay");
    Running r = { .server = { .drain_s = 0.5 } };
    start(&r);
    int fd = connect_to(&r), two = connect_to(&r), late;
    put(fd, ASK_A);
    CHECK(!has(get(fd, false), "\r\nConnection: close\r\n"));
    tell_stop(&r);
    usleep(150000);
    put(fd, ASK_A);
    const char *reply = get(fd, false);
    CHECK(has(reply, REPLY_A) && has(reply, "\r\nConnection: close\r\n"));
    CHECK(*get(fd, false) == 0);
    put(two, ASK_A ASK_A);
    CHECK(has(get(two, false), REPLY_A));
    reply = get(two, false);
    CHECK(has(reply, REPLY_A) && has(reply, "\r\nConnection: close\r\n"));
    late = connect_to(&r); /* the door is open still */
    put(late, ASK_A);
    CHECK(has(get(late, false), REPLY_A));
    close(fd), close(two), close(late);
    stop(&r);
}

/* Who was answered a moment ago may ask once more, also without --drain; who has been quiet is not waited for. */
static void test_stop_keep_alive(void)
{
    TEST("stop with connections that stay");
    Running r = { 0 };
    start(&r);
    int fd = connect_to(&r), quiet = connect_to(&r);
    put(quiet, ASK_A);
    CHECK(has(get(quiet, false), REPLY_A));
    usleep(600000);
    put(fd, ASK_A);
    CHECK(!has(get(fd, false), "\r\nConnection: close\r\n"));
    tell_stop(&r);
    CHECK(*get(quiet, false) == 0);
    usleep(100000);
    put(fd, ASK_A);
    const char *reply = get(fd, false);
    CHECK(has(reply, REPLY_A) && has(reply, "\r\nConnection: close\r\n"));
    CHECK(*get(fd, false) == 0);
    close(fd), close(quiet);
    stop(&r);
}

/* ---- memory ---- */
static void test_bytes(void)
{
    TEST("bytes of all together");
    Running r = { .server = { .max_body = 1 << 20 }, .session = { .max_bytes = 3 << 19 } };
    start(&r);
    int fd[4];
    for (int i = 0; i < 4; i++) {
        fd[i] = connect_to(&r);
        put(fd[i], "POST /predict" H JSON "Content-Length: 1000000\r\n\r\n{\"in");
        usleep(20000);
    }
    for (int i = 1; i < 4; i++) {
        const char *reply = get(fd[i], false);
        CHECK(is_error(reply, 429, "overloaded") && has(reply, "\r\nRetry-After: 1\r\n"));
    }
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A)); /* small ones always fit */
    for (int i = 0; i < 4; i++) close(fd[i]);
    CHECK(becomes(&r, "\nencoderfile_session_bytes ", 0));
    stop(&r);
}

static double resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OWN_MEMORY = 0 }; /* a sanitizer's memory is its own */
#else
enum { OWN_MEMORY = 1 };
#endif
/* Whether resident() is that of this program alone: an emulator keeps what it has translated beside it. */
static bool measured(void)
{
    return OWN_MEMORY && !getenv("EF_EMULATOR");
}

/* A POST /tokenize of so many words, whose reply nobody reads yet. */
static int send_words(const Running *r, size_t words)
{
    Buf b = { 0 };
    int fd = connect_to(r);
    buf_printf(&b, "POST /tokenize" H JSON "Content-Length: %zu\r\n\r\n{\"inputs\":\"",
               2 * words + 13);
    for (size_t i = 0; i < words; i++) buf_puts(&b, "a ");
    buf_puts(&b, "\"}");
    for (ssize_t n; b.n && (n = send(fd, b.p, b.n, MSG_NOSIGNAL)) > 0;) buf_drop(&b, (size_t)n);
    buf_free(&b);
    return fd;
}

static bool has_begun(int fd)
{
    char c;
    return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Clients that never read hold no more than is allowed, and are forgotten when they go. */
static void test_mute(void)
{
    TEST("clients that never read");
    enum { CLIENTS = 400, WORDS = 75000, LIMIT = 48 << 20 };
    Running r = { .session = { .max_bytes = LIMIT, .threads = 2 } };
    static int fd[CLIENTS];
    start(&r);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    double before = resident(), most = 0;
    for (int i = 0; i < CLIENTS; i++) {
        fd[i] = send_words(&r, WORDS);
        most = MAX(most, resident() - before);
    }
    for (int i = 0; i < CLIENTS; i++)
        for (int k = 0; k < 500 && !has_begun(fd[i]); k++) usleep(20000);
    most = MAX(most, resident() - before);
    printf("  %d clients that never read: %.1f MB of %.1f\n", CLIENTS, most / 1e6, LIMIT / 1e6);
    CHECK(!measured() || most < 1.5 * LIMIT);
    for (int i = 0; i < CLIENTS; i++) CHECK(has_begun(fd[i])), close(fd[i]);
    CHECK(becomes(&r, "\nencoderfile_session_bytes ", 0));
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    stop(&r);
}

/* A request that is larger than all may hold is refused as such, and costs nothing for long. */
static void test_too_large(void)
{
    TEST("more than all may hold");
    Running r = { .session = { .max_bytes = 8 << 20 } };
    start(&r);
    int fd = send_words(&r, 300000); /* 20 MB of reply */
    CHECK(has(get(fd, false), "HTTP/1.1 413 "));
    close(fd);
    fd = send_words(&r, 8 << 20);
    CHECK(has(get(fd, false), "HTTP/1.1 413 "));
    close(fd);
    CHECK(becomes(&r, "\nencoderfile_session_bytes ", 0));
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    stop(&r);
}

/* Long texts are tokenized one after the other; a short one does not wait for them. */
static void test_long_texts(void)
{
    TEST("beside long texts");
    enum { TEXTS = 4 };
    Running r = { .session = { .threads = 1 } };
    int fd[TEXTS], begun = 0;
    start(&r);
    for (int i = 0; i < TEXTS; i++) fd[i] = send_words(&r, 400000);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    for (int i = 0; i < TEXTS; i++) begun += has_begun(fd[i]);
    CHECK(begun < TEXTS - 1);
    for (int i = 0; i < TEXTS; i++) close(fd[i]);
    stop(&r);
}

/* Ten thousand, or as many as the system lets one process have both ends of. */
static void test_idle(void)
{
    TEST("idle connections");
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int many = (int)MIN((files.rlim_max - 200) / 2, (rlim_t)10000), opened = 0;
    Running r = { .server = { .max_connections = many + 100, .idle_timeout_s = 600 } };
    start(&r);
    CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    int *fd = calloc((size_t)many, sizeof *fd);
    double before = resident();
    for (; opened < many; opened++) {
        if ((fd[opened] = connect_to(&r)) < 0) break;
        put(fd[opened], opened % 10 == 0 ? ASK_A : "GET /health" H "\r\n");
        if (!strstr(get(fd[opened], false), "200 OK")) break;
    }
    CHECK(opened == many && metric(&r, "\nencoderfile_http_connections ") == many + 1);
    double grown = resident() - before;
    CHECK(!measured() || grown < 4000.0 * many);
    for (int i = 0; i < opened; i++) close(fd[i]);
    CHECK(becomes(&r, "\nencoderfile_http_connections ", 1));
    usleep(300000);
    CHECK(!measured() || resident() - before < 2e6);
    printf("  %d idle connections: %.1f MB, %.1f MB after\n", many, grown / 1e6,
           (resident() - before) / 1e6);
    free(fd);
    stop(&r);
}

/* ---- rubbish ---- */
static unsigned next_random;
static unsigned randomly(unsigned below)
{
    next_random = next_random * 1103515245u + 12345u;
    return (next_random >> 8) % below;
}

/* Each leaves at a random byte of a request or of its reply, some with a reset. */
static void test_disconnects(const Running *r)
{
    TEST("random disconnects");
    static const char text[] = ASK_A "GET /health" H "\r\n" ASK_A;
    double before = 0;
    for (int i = 0; i < 1000; i++) {
        int fd = connect_to(r);
        size_t n = randomly(sizeof text);
        send(fd, text, n, MSG_NOSIGNAL);
        char bytes[256];
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        if (randomly(2) && poll(&wait, 1, (int)randomly(3)) > 0)
            recv(fd, bytes, 1 + randomly(255), 0);
        struct linger reset = { .l_onoff = 1 };
        if (randomly(3) == 0) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        if (i == 200) before = resident();
    }
    CHECK(becomes(r, "\nencoderfile_http_connections ", 1));
    CHECK(becomes(r, "\nencoderfile_queue_length ", 0));
    CHECK(becomes(r, "\nencoderfile_session_bytes ", 0));
    CHECK(has(post(r, "{\"inputs\":[\"a\"]}"), REPLY_A));
    CHECK(!measured() || resident() - before < 4e6);
}

static bool is_refusal(const char *bytes)
{
    return strncmp(bytes, "HTTP/1.1 4", 10) == 0 || strncmp(bytes, "HTTP/1.1 5", 10) == 0;
}

static void test_garbage(const Running *r)
{
    TEST("garbage");
    int strange = 0, refused = 0;
    double before = 0;
    int fd = connect_to(r);
    put(fd, ASK_A "GET /health" H "\r\n" "\x01\x02 what?\r\n\r\n" ASK_A);
    CHECK(has(get(fd, false), REPLY_A) && has(get(fd, false), "\"OK!\""));
    CHECK(is_error(get(fd, false), 400, "bad_request") && *get(fd, false) == 0);
    close(fd);
    for (int i = 0; i < 300; i++) {
        char bytes[300];
        fd = connect_to(r);
        for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (char)randomly(256);
        if (i % 3 == 0) memcpy(bytes, "GET / HTTP/1.1\r\n", 16);
        if (i % 3 == 1) memcpy(bytes, "POST /predict" H JSON "Transfer-Encoding: chunked\r\n\r\n",
                               strlen("POST /predict" H JSON "Transfer-Encoding: chunked\r\n\r\n"));
        if (i % 3 == 2) memcpy(bytes + 200, "\r\n\r\n", 4); /* ends its head */
        send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        strange += n > 0 && !is_refusal(bytes); /* half a request may have no answer */
        refused += n > 0;
        while (n > 0) n = recv(fd, bytes, sizeof bytes, 0);
        close(fd);
        if (i == 100) before = resident();
    }
    CHECK(strange == 0 && refused >= 200);
    CHECK(!measured() || resident() - before < 2e6);
    CHECK(has(post(r, "{\"inputs\":[\"a\"]}"), REPLY_A));
}

/* Many that send a byte now and then do not stop one that is quick; and end. */
static void test_slow(void)
{
    TEST("slow loris");
    enum { N = 100 };
    Running r = { .server = { .header_timeout_s = 0.5 } };
    static const char request[] = "GET /health" H "X-A: b\r\n";
    int fd[N];
    start(&r);
    for (int i = 0; i < N; i++) fd[i] = connect_to(&r);
    for (size_t at = 0; at < 10; at++) {
        for (int i = 0; i < N; i++) send(fd[i], request + at, 1, MSG_NOSIGNAL);
        CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
        usleep(20000);
    }
    int timed_out = 0;
    for (int i = 0; i < N; i++) {
        timed_out += is_error(get(fd[i], false), 408, "timeout");
        close(fd[i]);
    }
    CHECK(timed_out == N);
    stop(&r);
}

/* The same with bodies, in chunks and not; and one that never reads what it asked for. */
static void test_slow_body(void)
{
    TEST("slow bodies");
    enum { N = 100 };
    Running r = { .server = { .body_timeout_s = 0.5 } };
    int fd[N], deaf, timed_out = 0;
    start(&r);
    deaf = connect_to(&r);
    for (int i = 0; i < N; i++) {
        fd[i] = connect_to(&r);
        put(fd[i], i % 2 ? "POST /predict" H JSON "Content-Length: 100\r\n\r\n"
                         : "POST /predict" H JSON "Transfer-Encoding: chunked\r\n\r\n");
    }
    double before = resident();
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < N; i++)
            send(fd[i], i % 2 ? " " : "1\r\n \r\n", i % 2 ? 1 : 6, MSG_NOSIGNAL);
        for (int i = 0; i < 100; i++)
            send(deaf, "GET /openapi.json" H "\r\n", strlen("GET /openapi.json" H "\r\n"),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
        CHECK(has(post(&r, "{\"inputs\":[\"a\"]}"), REPLY_A));
        usleep(20000);
    }
    CHECK(!measured() || resident() - before < 4e6);
    for (int i = 0; i < N; i++) {
        timed_out += is_error(get(fd[i], false), 408, "timeout");
        close(fd[i]);
    }
    CHECK(timed_out == N);
    close(deaf);
    CHECK(becomes(&r, "\nencoderfile_http_connections ", 1));
    stop(&r);
}

int main(void)
{
    TEST("model");
    if (!CHECK(make_model())) return finish();
    Running r = { 0 };
    start(&r);
    test_half_closed(&r);
    test_half_request(&r);
    test_gone(&r);
    test_disconnects(&r);
    test_garbage(&r);
    stop(&r);
    test_stop_pipelined();
    test_drain();
    test_drain_keep_alive();
    test_stop_keep_alive();
    test_bytes();
    test_mute();
    test_too_large();
    test_long_texts();
    test_slow();
    test_slow_body();
    test_idle();
    arena_free(&model.arena);
    return finish();
}
