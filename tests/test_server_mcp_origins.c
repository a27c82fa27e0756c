/* SPDX-License-Identifier: Apache-2.0
 * test_server_mcp_origins.c - who may post to /mcp: every row of tests/golden/mcp_origins.tsv through a
 * connection of a server that listens nowhere, and what --cors-origin adds. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/file.h"
#include "h2_client.h"
#include "server/loop.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
enum { COLUMNS = 5 };
typedef struct Row { char *bind, *protocol, *host, *origin, *want; } Row;

typedef struct Talk {            /* one connection, and its other end */
    Loop *loop;
    Conn *conn;
    int client;
} Talk;

/* A loop without descriptors; one for each way to start it. */
static Loop *loop_of(const char *bind, const char *origins)
{
    static struct { const char *bind, *origins; Loop loop; } made[32];
    static Session *session;
    size_t i = 0;
    while (i < COUNT(made) - 1 && made[i].bind &&
           !(str_is(str_of(bind), made[i].bind) && str_eq(str_of(origins), str_of(made[i].origins))))
        i++;
    if (made[i].bind) return &made[i].loop;
    if (!session) session = job_session(&model, &(SessionOptions){ .threads = 1 });
    made[i].bind = strdup(bind), made[i].origins = origins;
    loop_make(&made[i].loop, session, &(ServerOptions){ .hostname = made[i].bind, .origins = origins,
                                                        .max_connections = 2 });
    made[i].loop.wake = eventfd(0, EFD_NONBLOCK);
    return &made[i].loop;
}

static void talk_begin(Talk *t, const char *bind, const char *origins)
{
    int pair[2];
    t->loop = loop_of(bind, origins);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    t->conn = loop_conn(t->loop);
    t->client = pair[1];
    conn_start(t->conn, pair[0], NULL);
}

static void talk_turn(Talk *t)
{
    if (t->conn->state != CONN_CLOSED) conn_event(t->conn, EPOLLIN | EPOLLOUT);
}

static void talk_end(Talk *t)
{
    if (t->conn->state != CONN_CLOSED) conn_close(t->conn);
    loop_sweep(t->loop);
}

static int ask_h1(Talk *t, const char *target, const char *host, const char *origin)
{
    Buf b = { 0 };
    buf_printf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", target, host);
    if (origin) buf_printf(&b, "Origin: %s\r\n", origin);
    buf_printf(&b, JSON "Content-Length: %zu\r\n\r\n" PING, strlen(PING));
    put_bytes(t->client, b.p, b.n);
    buf_free(&b);
    talk_turn(t);
    const char *reply = get(t->client, false);
    close(t->client);
    return strlen(reply) > 12 ? atoi(reply + 9) : 0;
}

/* host: "authority", or "authority (host: other)". */
static int ask_h2(Talk *t, const char *host, const char *origin)
{
    Client c = client_on(t->client);
    Buf b = { 0 };
    const char *second = strstr(host, " (host: ");
    buf_printf(&b, ":method: POST\n:path: /mcp\n:scheme: http\n:authority: %.*s\n",
               second ? (int)(second - host) : (int)strlen(host), host);
    if (second) buf_printf(&b, "host: %.*s\n", (int)strlen(second) - 9, second + 8);
    if (origin) buf_printf(&b, "origin: %s\n", origin);
    buf_printf(&b, "content-type: application/json\n");
    buf_char(&b, 0);
    put(c.fd, PREFACE);
    put_frame(&c, (Frame){ .type = F_SETTINGS });
    put_head(&c, 1, b.p, 0);
    put_data(&c, 1, PING, END_STREAM);
    talk_turn(t);
    Answer a = answer(&c, 1);
    int status = a.status;
    answer_free(&a);
    buf_free(&b);
    h2_close(&c);
    return status;
}

static int ask_row(const Row *row, const char *origins)
{
    Talk t;
    const char *origin = strcmp(row->origin, "-") ? row->origin : NULL;
    talk_begin(&t, row->bind, origins);
    int status = strcmp(row->protocol, "h2") == 0 ? ask_h2(&t, row->host, origin)
                                                  : ask_h1(&t, "/mcp", row->host, origin);
    talk_end(&t);
    return status;
}

static bool split_row(char *line, Row *row)
{
    char **cell[COLUMNS] = { &row->bind, &row->protocol, &row->host, &row->origin, &row->want };
    for (int i = 0; i < COLUMNS; i++) *cell[i] = strsep(&line, "\t");
    return row->want && *line == 0;
}

/* The table says PORT where the server's own would stand. */
static void put_port(Arena *arena, char **text)
{
    char *at = strstr(*text, "PORT");
    if (at) *text = str_format(arena, "%.*s8080%s", (int)(at - *text), *text, at + 4);
}

static void test_table(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str text;
    int rows = 0;
    TEST("table");
    if (!CHECK(file_read(&arena, "tests/golden/mcp_origins.tsv", 1 << 20, &text, &err))) return;
    char *rest = NULL, *all = str_dup(&arena, text);
    for (char *line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        Row row;
        if (line[0] == '#' || strncmp(line, "bind\t", 5) == 0) continue;
        line = str_format(&arena, "%s\t", line);
        if (!CHECK(split_row(line, &row))) continue;
        put_port(&arena, &row.host), put_port(&arena, &row.origin);
        int status = ask_row(&row, NULL);
        bool denied = status == 403 || status == 421;
        if (!CHECK(strcmp(row.want, "allow") == 0 ? status == 200 : denied))
            printf("  %s %s Host: %s Origin: %s gave %d, wanted %s\n", row.bind, row.protocol,
                   row.host, row.origin, status, row.want);
        rows++;
    }
    CHECK(rows >= 40);
    arena_free(&arena);
}

/* What is listed may ask, under its own name too; nobody else may for that. */
static void test_list(void)
{
    static const struct { const char *host, *origin, *origins; int status; } rows[] = {
        { "127.0.0.1", "https://good.example", "https://good.example", 200 },
        { "127.0.0.1", "https://bad.example", "https://good.example", 403 },
        { "127.0.0.1", "https://good.example.evil.com", "https://good.example", 403 },
        { "127.0.0.1", "http://good.example", "https://good.example", 403 },
        { "good.example", "-", "https://other.example\nhttps://good.example:8443", 200 },
        { "GOOD.example:80", "-", "https://good.example", 200 },
        { "evil.com", "-", "https://good.example", 421 },
        { "evil.com", "https://good.example", "https://good.example", 421 },
        { "evil.com", "http://evil.com", "*", 200 },
        { "127.0.0.1", "null", "null", 200 },
        { "", "-", NULL, 421 },
        { "127.0.0.1:", "-", NULL, 421 },
        { "127.0.0.1:99999", "-", NULL, 421 },
        { "[0:0::1]:80", "-", NULL, 200 },
        { "127.0.0.1", "", NULL, 403 },
        { "127.0.0.1", "http://localhost/", NULL, 403 },
    };
    TEST("allow-list");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Row row = { "127.0.0.1", "h1", (char *)rows[i].host, (char *)rows[i].origin, NULL };
        int status = ask_row(&row, rows[i].origins);
        if (!CHECK(status == rows[i].status))
            printf("  Host: %s Origin: %s gave %d\n", rows[i].host, rows[i].origin, status);
    }
}

/* "POST http://name/mcp": as HTTP/2's authority. */
static void test_target(void)
{
    static const struct { const char *target, *host; int status; } rows[] = {
        { "http://localhost:8080/mcp", "localhost:8080", 200 },
        { "http://evil.com/mcp", "localhost", 421 },
        { "http://localhost/mcp", "evil.com", 421 },
        { "http://localhost@evil.com/mcp", "localhost", 421 },
    };
    TEST("absolute target");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Talk t;
        talk_begin(&t, "localhost", NULL);
        int status = ask_h1(&t, rows[i].target, rows[i].host, NULL);
        if (!CHECK(status == rows[i].status)) printf("  %s gave %d\n", rows[i].target, status);
        talk_end(&t);
    }
}

/* Every spelling of a local bind guards its Host. */
static void test_binds(void)
{
    static const struct { const char *bind; int status; } rows[] = {
        { "localhost", 421 }, { "LOCALHOST", 421 }, { "127.9.9.9", 421 }, { "::1", 421 },
        { "[::1]", 421 },     { "0.0.0.0", 200 },   { "::", 200 },        { "10.0.0.1", 200 },
    };
    TEST("binds");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Row row = { (char *)rows[i].bind, "h1", "encoder.internal", "-", NULL };
        if (!CHECK(ask_row(&row, NULL) == rows[i].status)) printf("  %s\n", rows[i].bind);
    }
}

int main(void)
{
    log_limit(EF_LOG_ERROR);
    if (!CHECK(make_model())) return finish();
    test_table();
    test_list();
    test_target();
    test_binds();
    return finish();
}
