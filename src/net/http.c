/* SPDX-License-Identifier: Apache-2.0
 * http.c - connections (plain, under TLS, by way of a proxy), requests and replies. */
#include "net/http.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/thread.h"
#include "data/base64.h"
#include "net/connect.h"

enum { READ_ROOM = 64 << 10, RECORD = 16 << 10, DRAIN_MOST = 64 << 10, HEAD_WAITS = 3 };

/* ---- the client ---- */
static const char *variable(const char *upper, const char *lower)
{
    const char *value = getenv(lower); /* as curl does: lower-case first */
    if (!value || !*value) value = getenv(upper);
    return value && *value ? value : NULL;
}

bool http_client_open(HttpClient *c, int seconds, Err *err)
{
    const char *proxy = variable("HTTPS_PROXY", "https_proxy");
    *c = (HttpClient){ .seconds = seconds,
                       .without_proxy = str_of(variable("NO_PROXY", "no_proxy")) };
    pthread_mutex_init(&c->lock, NULL);
    if (!proxy) return true;
    if (!strstr(proxy, "://")) proxy = str_format(&c->arena, "http://%s", proxy);
    bool ok = url_parse(&c->arena, str_of(proxy), &c->proxy, err);
    if (ok && c->proxy.tls)
        ok = fail(err, EF_USAGE,
                  "found a proxy by https://, wanted http:// (what goes through it is "
                  "under TLS all the same)");
    return ok || (http_client_close(c), within(err, "HTTPS_PROXY"));
}

void http_client_close(HttpClient *c)
{
    tls_free(c->tls);
    arena_free(&c->arena);
    pthread_mutex_destroy(&c->lock);
}

/* ".example.com" and "example.com" both name the host and all below it. */
static bool names_host(Str word, const char *host)
{
    size_t n = strlen(host);
    if (str_is(word, "*")) return true;
    if (word.n && word.p[0] == '.') word.p++, word.n--;
    if (word.n == 0 || word.n > n || strncasecmp(host + n - word.n, word.p, word.n) != 0)
        return false;
    return word.n == n || host[n - word.n - 1] == '.';
}

bool http_without_proxy(Str list, const char *host)
{
    for (size_t i = 0; i < list.n;) {
        Str word = { list.p + i, 0 };
        while (i + word.n < list.n && !strchr(", ", word.p[word.n])) word.n++;
        if (names_host(word, host)) return true;
        i += word.n + 1;
    }
    return address_is_loopback(host);
}

/* ---- bytes ---- */
static bool conn_lost(const HttpConn *c, const char *what, Err *err)
{
    if (errno == EAGAIN)
        return fail(err, EF_UNAVAILABLE, "%s: no %s for %d s", c->host, what, c->client->seconds);
    return fail(err, EF_UNAVAILABLE, "%s: the connection broke: %s", c->host, strerror(errno));
}

static bool conn_send(HttpConn *c, Str text, Err *err)
{
    for (size_t sent = 0; sent < text.n;) {
        const char *p = text.p + sent;
        size_t n = text.n - sent;
        ssize_t k = c->tls ? tls_write(c->tls, p, MIN(n, RECORD)) : send(c->fd, p, n, MSG_NOSIGNAL);
        if (k <= 0 && errno != EINTR) return conn_lost(c, "room for a request", err);
        if (k > 0) sent += (size_t)k;
    }
    return true;
}

/* More bytes into `in`, of which all before were taken; *got 0: the other side has ended. */
static bool conn_fill(HttpConn *c, size_t *got, Err *err)
{
    ssize_t k;
    if (c->at == c->in.n) c->in.n = c->at = 0;
    buf_reserve(&c->in, READ_ROOM);
    char *to = c->in.p + c->in.n;
    do k = c->tls ? tls_read(c->tls, to, READ_ROOM) : recv(c->fd, to, READ_ROOM, 0);
    while (k < 0 && errno == EINTR);
    *got = k > 0 ? (size_t)k : 0;
    c->in.n += *got;
    return k >= 0 || conn_lost(c, "answer", err);
}

static Str conn_waiting(const HttpConn *c)
{
    return c->in.n ? (Str){ c->in.p + c->at, c->in.n - c->at } : STR("");
}

static bool head_too_long(const HttpConn *c, Err *err)
{
    return fail(err, EF_IO, "%s: found a reply with over %d bytes of header", c->host,
                REPLY_HEAD_MOST);
}

/* *any: some byte of a reply has come. */
static bool read_head(HttpConn *c, bool *any, Err *err)
{
    size_t n, got;
    double until = now_seconds() + HEAD_WAITS * c->client->seconds;
    while ((n = reply_head_length(conn_waiting(c))) == 0) {
        if (conn_waiting(c).n > REPLY_HEAD_MOST) return head_too_long(c, err);
        if (!conn_fill(c, &got, err)) return false;
        if (got == 0 || now_seconds() > until)
            return fail(err, EF_UNAVAILABLE, "%s: %s", c->host,
                        got ? "its answer comes too slowly"
                            : "the connection ended before a reply");
        *any = true;
    }
    if (n > REPLY_HEAD_MOST) return head_too_long(c, err);
    c->head_bytes.n = 0;
    buf_add(&c->head_bytes, c->in.p + c->at, n);
    c->at += n;
    return reply_head_read(buf_view(&c->head_bytes), &c->head, err) || within(err, "%s", c->host);
}

/* ---- connecting ---- */
/* The connection alone: what was read of the reply stays. */
static void conn_drop(HttpConn *c)
{
    if (c->tls) tls_end(c->tls), tls_close(c->tls);
    if (c->open) close(c->fd);
    c->open = false, c->tls = NULL;
}

static bool known_place(HttpClient *c, const char *host, int port, NetAddress *out)
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n_place && !found; i++) {
        *out = c->place[i].address;
        found = address_port(out) == port && strcmp(c->place[i].host, host) == 0;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void remember_place(HttpClient *c, const char *host, NetAddress a)
{
    pthread_mutex_lock(&c->lock);
    if (c->n_place < HTTP_PLACES && strlen(host) < sizeof c->place->host) {
        c->place[c->n_place].address = a;
        strcpy(c->place[c->n_place++].host, host);
    }
    pthread_mutex_unlock(&c->lock);
}

static bool conn_dial(HttpConn *c, const char *host, int port, Err *err)
{
    NetAddress a;
    if (known_place(c->client, host, port, &a)) {
        c->fd = net_connect_address(&a, host, c->client->seconds, err);
        c->open = c->fd >= 0;
        if (c->open) return true; /* else it may have moved */
    }
    c->fd = net_connect(host, port, c->client->seconds, &a, err);
    c->open = c->fd >= 0;
    if (c->open) remember_place(c->client, host, a);
    return c->open;
}

static Tls *client_tls(HttpClient *c, Err *err)
{
    pthread_mutex_lock(&c->lock);
    if (!c->tls) c->tls = tls_client(err);
    Tls *tls = c->tls;
    pthread_mutex_unlock(&c->lock);
    return tls;
}

/* "name:password", in which a URL writes some bytes %XX. */
static Str unescape(Arena *arena, Str s)
{
    char *out = arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned byte;
        bool hex = s.p[i] == '%' && i + 2 < s.n && sscanf(s.p + i + 1, "%2x", &byte) == 1;
        out[n++] = hex ? (char)byte : s.p[i];
        if (hex) i += 2;
    }
    return (Str){ out, n };
}

static bool ask_proxy(HttpConn *c, const Url *proxy, const char *to, Err *err)
{
    Arena arena = { 0 };
    Buf text = { .arena = &arena };
    bool any = false;
    buf_printf(&text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", to, to);
    if (proxy->user.n) {
        buf_puts(&text, "Proxy-Authorization: Basic ");
        base64_write(&text, unescape(&arena, proxy->user));
        buf_puts(&text, "\r\n");
    }
    buf_puts(&text, "\r\n");
    bool ok = conn_send(c, buf_view(&text), err) && read_head(c, &any, err);
    arena_free(&arena);
    if (!ok) return within(err, "proxy");
    if (c->head.status / 100 == 2 && conn_waiting(c).n == 0) return true;
    if (c->head.status == 407)
        return fail(err, EF_UNAUTHORIZED,
                    "proxy %s: wants a name and a password: "
                    "HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT",
                    proxy->host);
    return fail(err, EF_IO, "proxy %s: answered CONNECT %s with status %d", proxy->host, to,
                c->head.status);
}

static bool conn_through(HttpConn *c, const Url *proxy, const char *to, int port, Err *err)
{
    bool colons = strchr(to, ':');
    char place[300];
    snprintf(place, sizeof place, colons ? "[%s]:%d" : "%s:%d", to, port);
    return conn_dial(c, proxy->host, proxy->port, err) ? ask_proxy(c, proxy, place, err)
                                                       : within(err, "proxy");
}

static bool conn_open(HttpConn *c, const Url *u, Err *err)
{
    HttpClient *client = c->client;
    bool proxied =
        u->tls && client->proxy.host && !http_without_proxy(client->without_proxy, u->host);
    if (!url_is_safe(u, err)) return false;
    Tls *tls = u->tls ? client_tls(client, err) : NULL;
    if (u->tls && !tls) return within(err, "https://%s", u->host);
    snprintf(c->host, sizeof c->host, "%s", u->host);
    c->port = u->port, c->secret = u->tls;
    c->in.n = c->at = 0;
    bool ok = proxied ? conn_through(c, &client->proxy, u->host, u->port, err)
                      : conn_dial(c, u->host, u->port, err);
    if (ok && tls) ok = (c->tls = tls_connect(tls, c->fd, u->host, client->seconds, err)) != NULL;
    return ok || (conn_drop(c), false);
}

static bool conn_fits(const HttpConn *c, const Url *u)
{
    return c->open && c->secret == u->tls && c->port == u->port && strcmp(c->host, u->host) == 0;
}

void http_close(HttpConn *c)
{
    conn_drop(c);
    buf_free(&c->in);
    buf_free(&c->head_bytes);
    *c = (HttpConn){ .client = c->client };
}

/* ---- requests ---- */
static void put_request(Buf *out, Arena *arena, const HttpRequest *r)
{
    buf_printf(out,
               "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: encoderfile/" EF_VERSION "\r\n"
               "Accept: */*\r\nAccept-Encoding: identity\r\n",
               r->method, r->url->path, url_authority(arena, r->url));
    if (r->bearer.n) buf_printf(out, "Authorization: Bearer %.*s\r\n", STR_ARG(r->bearer));
    if (r->ranged)
        buf_printf(out, "Range: bytes=%llu-%llu\r\n", (unsigned long long)r->from,
                   (unsigned long long)r->to);
    buf_puts(out, "\r\n");
}

/* The reply's head, behind those of status 100 and 103: a server could send them for ever. */
static bool read_final_head(HttpConn *c, bool *any, Err *err)
{
    enum { INTERIM_MOST = 16 };
    for (int i = 0; i <= INTERIM_MOST; i++) {
        if (!read_head(c, any, err)) return false;
        if (c->head.status / 100 != 1) return true;
    }
    return fail(err, EF_IO, "%s: found over %d replies of status 1xx, wanted an answer", c->host,
                INTERIM_MOST);
}

static bool conn_ask(HttpConn *c, const HttpRequest *r, bool *any, Err *err)
{
    Arena arena = { 0 };
    Buf text = { .arena = &arena };
    put_request(&text, &arena, r);
    bool ok = conn_send(c, buf_view(&text), err);
    arena_free(&arena);
    ok = ok && read_final_head(c, any, err);
    reply_body_start(&c->body, &c->head, strcmp(r->method, "HEAD") == 0);
    return ok;
}

bool http_start(HttpConn *c, const HttpRequest *r, Err *err)
{
    bool any = false, kept = conn_fits(c, r->url);
    if (kept && conn_ask(c, r, &any, err)) return true;
    conn_drop(c);
    if (kept && any) return false;
    /* A kept connection may have been closed while nobody used it: that is no error. */
    if (conn_open(c, r->url, err) && conn_ask(c, r, &any, err)) return true;
    conn_drop(c);
    return false;
}

/* The server ended the connection: right only where that is the body's end. */
static bool body_ended(HttpConn *c, Err *err)
{
    c->head.keep = false;
    c->body.done = c->body.state == BODY_TO_CLOSE;
    return c->body.done || fail(err, EF_UNAVAILABLE, "%s: the reply was cut off", c->host);
}

bool http_read(HttpConn *c, Str *bytes, Err *err)
{
    *bytes = (Str){ "", 0 };
    while (!c->body.done) {
        size_t got;
        bool ok;
        c->at += reply_body_take(&c->body, conn_waiting(c), bytes, &ok);
        if (!ok) return conn_drop(c), fail(err, EF_IO, "%s: found a malformed chunk", c->host);
        if (bytes->n) return true;
        if (c->body.done) break;
        if (!conn_fill(c, &got, err)) return conn_drop(c), false;
        if (got == 0 && !body_ended(c, err)) return conn_drop(c), false;
    }
    if (!c->head.keep || conn_waiting(c).n) conn_drop(c);
    return true;
}

/* A short rest is read, so that the connection can be used again. */
void http_end(HttpConn *c)
{
    Str bytes = { "", 1 };
    Err ignored;
    size_t most = DRAIN_MOST;
    while (c->open && !c->body.done && bytes.n && most >= bytes.n) {
        most -= bytes.n;
        if (!http_read(c, &bytes, &ignored)) return;
    }
    if (c->open && (!c->body.done || !c->head.keep)) conn_drop(c);
}
