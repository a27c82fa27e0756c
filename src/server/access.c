/* SPDX-License-Identifier: Apache-2.0
 * access.c - who may call (API keys, origins of web pages), and the line that says who did. */
#include <arpa/inet.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "base/log.h"
#include "loop.h"
#include "origin.h"

/* Takes as long for a nearly right key as for a wrong one. */
static bool same_key(Str given, Str key)
{
    unsigned char different = given.n != key.n;
    for (size_t i = 0; i < given.n && key.n; i++)
        different |= (unsigned char)(given.p[i] ^ key.p[i % key.n]);
    return !different && key.n;
}

bool access_allowed(const Loop *loop, const Route *route, Str authorization, Err *err)
{
    if (!loop->keys || route->open) return true;
    bool bearer = authorization.n > 7 && strncasecmp(authorization.p, "Bearer ", 7) == 0;
    bool ok = false;
    Str given = bearer ? (Str){ authorization.p + 7, authorization.n - 7 } : (Str){ 0 };
    for (const char *const *key = loop->keys; *key; key++) ok |= same_key(given, str_of(*key));
    if (ok) return true;
    return fail(err, EF_UNAUTHORIZED, "Authorization: found %s, wanted \"Bearer KEY\"",
                !authorization.n ? "nothing" : bearer ? "a key that is not known" : "another form");
}

const char *access_origin(const Loop *loop, Str origin)
{
    if (!origin.n || !loop->origins) return NULL;
    for (const char *const *known = loop->origins; *known; known++)
        if (strcmp(*known, "*") == 0 || str_is(origin, *known)) return *known;
    return NULL;
}

bool access_host(const Loop *loop, Str host)
{
    Origin known;
    for (const char *const *text = loop->origins; text && *text; text++)
        if (strcmp(*text, "*") == 0 ||
            (origin_read(str_of(*text), &known) && origin_same_host(known.host, host)))
            return true;
    return false;
}

/* ---- the log ---- */
static void client_of(const Conn *c, char out[INET6_ADDRSTRLEN])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = { 0 };
    socklen_t size = sizeof a;
    strcpy(out, "unix");
    if (getpeername(c->fd, &a.any, &size) != 0) return;
    if (a.any.sa_family == AF_INET) inet_ntop(AF_INET, &a.v4.sin_addr, out, INET6_ADDRSTRLEN);
    if (a.any.sa_family == AF_INET6) inet_ntop(AF_INET6, &a.v6.sin6_addr, out, INET6_ADDRSTRLEN);
}

typedef struct Line {
    char client[INET6_ADDRSTRLEN];
    const char *method, *path;
    size_t bytes;
    double total_ms, queue_ms, run_ms;
    long long tokens;
} Line;

static Line line_of(const Exchange *x)
{
    Line l = { .method = x->head_only ? "HEAD" : x->route ? x->route->method : "-",
               .path = x->route ? x->route->path : "-",
               .bytes = x->sent + x->out.n + x->rest.n,
               .total_ms = (x->ended - x->began) * 1000 };
    client_of(x->conn, l.client);
    if (!x->job) return l;
    const WorkTimes *t = &x->job->work.times;
    l.tokens = (long long)x->job->work.tokens;
    if (t->started > 0) l.queue_ms = (t->started - t->admitted) * 1000;
    if (t->started > 0) l.run_ms = (t->done - t->started) * 1000;
    return l;
}

static void log_text(const Exchange *x, const Line *l)
{
    log_asked("%s \"%s %s\" %d %zu bytes %.3f ms (queue %.3f, model %.3f) %lld tokens %s",
              l->client, l->method, l->path, x->status, l->bytes, l->total_ms, l->queue_ms,
              l->run_ms, l->tokens, x->id);
}

/* Everything in it is ours or was checked: no text here needs escaping. */
static void log_json(const Exchange *x, const Line *l)
{
    char when[32];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
    log_line("{\"time\":\"%s.%03ldZ\",\"client\":\"%s\",\"method\":\"%s\",\"path\":\"%s\","
             "\"status\":%d,\"bytes\":%zu,\"ms\":%.3f,\"queue_ms\":%.3f,\"model_ms\":%.3f,"
             "\"tokens\":%lld,\"id\":\"%s\"}",
             when, now.tv_nsec / 1000000, l->client, l->method, l->path, x->status, l->bytes,
             l->total_ms, l->queue_ms, l->run_ms, l->tokens, x->id);
}

void access_log(const Exchange *x)
{
    AccessLog form = x->loop->options.access;
    if (form == ACCESS_NONE) return;
    Line line = line_of(x);
    if (form == ACCESS_JSON) log_json(x, &line);
    else log_text(x, &line);
}
