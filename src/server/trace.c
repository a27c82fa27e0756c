/* SPDX-License-Identifier: Apache-2.0
 * trace.c - requests to spans, spans to batches, batches to the collector. */
#include "trace.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "loop.h"
#include "net/connect.h"

enum { ROOM = 4096, BATCH = 512, SEND_S = 1, DEFAULT_PORT = 4318, RECORD = 16 << 10 };
#define WANTED_URL "wanted http://HOST:PORT or https://HOST:PORT"

typedef struct Request { /* what spans are made of; times are those of now_seconds */
    uint8_t trace[16], span[8], parent[8];
    bool has_parent, failed;
    const Route *route; /* NULL: none */
    int status;
    double began, ended;
    WorkTimes times; /* zero: no job */
    int64_t tokens;
    size_t inputs;
    char id[ID_ROOM];
} Request;

struct Tracer {
    char host[256], path[512]; /* host: without the brackets of an address */
    int port;
    Tls *tls;                  /* NULL: http:// */
    double epoch;              /* Unix time when now_seconds() was 0 */
    uint64_t seed, stage_seed; /* of ids: the loops', under the lock; the thread's */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t came;
    Request ring[ROOM];
    int first, n;
    uint64_t dropped;
    bool ending;
};

/* ---- traceparent ---- */
static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Lower-case digits, not all of them zero. */
static bool read_hex(const char *p, uint8_t *out, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++) {
        int high = digit(p[2 * i]), low = digit(p[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        any |= out[i] = (uint8_t)(high * 16 + low);
    }
    return any != 0;
}

/* "00-TRACE-SPAN-FLAGS"; later versions may have more behind it. */
bool trace_parent(Str h, TraceParent *out)
{
    enum { LENGTH = 55 };
    uint8_t version, flags;
    if (h.n < LENGTH || h.p[2] != '-' || h.p[35] != '-' || h.p[52] != '-') return false;
    bool zero = h.p[0] == '0' && h.p[1] == '0';
    if (!zero && (!read_hex(h.p, &version, 1) || version == 0xff)) return false;
    if (zero ? h.n != LENGTH : h.n > LENGTH && h.p[LENGTH] != '-') return false;
    if (!read_hex(h.p + 3, out->trace, 16) || !read_hex(h.p + 36, out->span, 8)) return false;
    if (digit(h.p[53]) < 0 || digit(h.p[54]) < 0) return false;
    flags = (uint8_t)(digit(h.p[53]) * 16 + digit(h.p[54]));
    out->sampled = flags & 1;
    return true;
}

/* ---- from the loop ---- */
static void make_id(uint64_t *seed, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += 8) { /* splitmix64 */
        uint64_t z = *seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        memcpy(out + i, &z, 8);
    }
}

static Request request_of(Tracer *t, const Exchange *x, const TraceParent *parent)
{
    Request r = { .route = x->route,
                  .status = x->status,
                  .began = x->began,
                  .ended = x->ended,
                  .failed = x->status >= 500 };
    memcpy(r.id, x->id, sizeof r.id);
    make_id(&t->seed, r.span, 8);
    if (parent) {
        r.has_parent = true;
        memcpy(r.trace, parent->trace, 16);
        memcpy(r.parent, parent->span, 8);
    } else {
        make_id(&t->seed, r.trace, 16);
    }
    if (!x->job) return r;
    r.times = x->job->work.times;
    r.tokens = x->job->work.tokens;
    r.inputs = x->job->work.n;
    return r;
}

void tracer_add(Tracer *t, const Exchange *x)
{
    TraceParent parent;
    if (!t) return;
    bool given = trace_parent(exchange_header(x, HEADER_TRACEPARENT), &parent);
    if (given && !parent.sampled) return; /* whoever began the trace decides */
    pthread_mutex_lock(&t->lock);
    Request r = request_of(t, x, given ? &parent : NULL);
    if (t->n == ROOM) t->dropped++;
    else t->ring[(t->first + t->n++) % ROOM] = r;
    if (t->n == BATCH) pthread_cond_signal(&t->came);
    pthread_mutex_unlock(&t->lock);
}

/* ---- spans as JSON ---- */
static void put_hex(Buf *out, const char *key, const uint8_t *bytes, size_t n)
{
    buf_printf(out, "\"%s\":\"", key);
    for (size_t i = 0; i < n; i++) buf_printf(out, "%02x", bytes[i]);
    buf_puts(out, "\",");
}

static void trace_put_text(Buf *out, const char *key, const char *value)
{
    buf_printf(out, "{\"key\":\"%s\",\"value\":{\"stringValue\":\"%s\"}},", key, value);
}

static void put_number(Buf *out, const char *key, long long value, bool more)
{
    buf_printf(out, "{\"key\":\"%s\",\"value\":{\"intValue\":\"%lld\"}}%s", key, value,
               more ? "," : "");
}

static void put_times(const Tracer *t, Buf *out, double from, double to)
{
    buf_printf(out, "\"startTimeUnixNano\":\"%.0f\",\"endTimeUnixNano\":\"%.0f\",",
               (t->epoch + from) * 1e9, (t->epoch + MAX(from, to)) * 1e9);
}

static void put_stage(Tracer *t, Buf *out, const Request *r, const char *name, double from,
                      double to)
{
    uint8_t id[8];
    if (from <= 0 || to <= 0) return;
    make_id(&t->stage_seed, id, sizeof id);
    buf_puts(out, ",{");
    put_hex(out, "traceId", r->trace, 16);
    put_hex(out, "spanId", id, 8);
    put_hex(out, "parentSpanId", r->span, 8);
    put_times(t, out, from, to);
    buf_printf(out, "\"kind\":1,\"name\":\"%s\"}", name);
}

static void put_request(Tracer *t, Buf *out, const Request *r)
{
    const char *method = r->route ? r->route->method : "HTTP",
               *path = r->route ? r->route->path : "";
    buf_char(out, '{');
    put_hex(out, "traceId", r->trace, 16);
    put_hex(out, "spanId", r->span, 8);
    if (r->has_parent) put_hex(out, "parentSpanId", r->parent, 8);
    put_times(t, out, r->began, r->ended);
    buf_printf(out, "\"kind\":2,\"name\":\"%s%s%s\",\"status\":{\"code\":%d},\"attributes\":[",
               method, *path ? " " : "", path, r->failed ? 2 : 0);
    if (r->route) trace_put_text(out, "http.request.method", method);
    if (r->route) trace_put_text(out, "http.route", path);
    if (r->id[0]) trace_put_text(out, "http.request.header.x-request-id", r->id);
    put_number(out, "encoderfile.inputs", (long long)r->inputs, true);
    put_number(out, "encoderfile.tokens", (long long)r->tokens, true);
    put_number(out, "http.response.status_code", r->status, false);
    buf_puts(out, "]}");
    put_stage(t, out, r, "tokenize", r->times.entered, r->times.admitted);
    put_stage(t, out, r, "queue", r->times.admitted, r->times.started);
    put_stage(t, out, r, "compute", r->times.started, r->times.done);
}

typedef struct Spans {
    Tracer *t;
    Request *list; /* [n] */
    int n;
    Buf body;
} Spans;

static void put_batch(void *arg)
{
    Spans *b = arg;
    Buf *out = &b->body;
    buf_puts(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    trace_put_text(out, "service.name", "encoderfile");
    out->n--; /* the last comma */
    buf_puts(out,
             "]},\"scopeSpans\":[{\"scope\":{\"name\":\"encoderfile\",\"version\":\"" EF_VERSION
             "\"},\"spans\":[");
    for (int i = 0; i < b->n; i++) {
        if (i) buf_char(out, ',');
        put_request(b->t, out, &b->list[i]);
    }
    buf_puts(out, "]}]}]}");
}

/* ---- to the collector ---- */
typedef struct TraceWire {
    int fd;
    TlsConn *tls; /* NULL: plain */
} TraceWire;

static bool send_all(TraceWire w, Str text)
{
    for (size_t sent = 0; sent < text.n;) {
        const char *p = text.p + sent;
        ssize_t n = w.tls ? tls_write(w.tls, p, MIN(text.n - sent, RECORD))
                          : send(w.fd, p, text.n - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += (size_t)n;
    }
    return true;
}

static bool accepted(TraceWire w, Err *err)
{
    char reply[13] = ""; /* "HTTP/1.1 200" */
    for (size_t n = 0; n < sizeof reply - 1;) {
        size_t room = sizeof reply - 1 - n;
        ssize_t got = w.tls ? tls_read(w.tls, reply + n, room) : recv(w.fd, reply + n, room, 0);
        if (got <= 0) return fail(err, EF_IO, "no answer");
        n += (size_t)got;
    }
    if (strncmp(reply, "HTTP/1.", 7) == 0 && reply[9] == '2') return true;
    return fail(err, EF_IO, "answered \"%s\"", reply);
}

static bool exchange_with(const Tracer *t, TraceWire w, Str body, Err *err)
{
    char request[sizeof t->host + sizeof t->path + 200];
    bool colons = strchr(t->host, ':');
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: %s%s%s:%d\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                     t->path, colons ? "[" : "", t->host, colons ? "]" : "", t->port, body.n);
    bool ok = send_all(w, (Str){ request, (size_t)n }) && send_all(w, body);
    return ok ? accepted(w, err) : fail(err, EF_IO, "does not read");
}

static bool post(const Tracer *t, Str body, Err *err)
{
    TraceWire w = { .fd = net_connect(t->host, t->port, SEND_S, NULL, err) };
    if (w.fd < 0) return false;
    if (t->tls) w.tls = tls_connect(t->tls, w.fd, t->host, SEND_S, err);
    bool ok = (w.tls || !t->tls) && exchange_with(t, w, body, err);
    if (ok && w.tls) tls_end(w.tls);
    if (w.tls) tls_close(w.tls);
    close(w.fd);
    return ok;
}

/* Waits a second, or until there is a batch; false: the end, and nothing is left. */
static bool take_batch(Tracer *t, Request *list, int *n, bool *last)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&t->lock);
    while (t->n < BATCH && !t->ending)
        if (pthread_cond_timedwait(&t->came, &t->lock, &until) != 0) break;
    *n = MIN(t->n, BATCH);
    for (int i = 0; i < *n; i++) list[i] = t->ring[(t->first + i) % ROOM];
    t->first = (t->first + *n) % ROOM;
    t->n -= *n;
    *last = t->ending;
    bool more = !t->ending || *n > 0;
    pthread_mutex_unlock(&t->lock);
    return more;
}

static void trace_tell(const Tracer *t, bool well, const Err *err)
{
    if (well) log_warn("traces: the collector at %s:%d takes spans again", t->host, t->port);
    else log_warn("traces: the collector at %s:%d does not take spans, they are dropped: %s",
                  t->host, t->port, err->message);
}

static bool send_batch(Spans *b, Err *err)
{
    Shortage shortage;
    bool ok = guarded(put_batch, b, &shortage);
    if (!ok) fail(err, EF_UNAVAILABLE, "out of memory: %zu bytes wanted", shortage.wanted);
    ok = ok && post(b->t, buf_view(&b->body), err);
    buf_free(&b->body);
    return ok;
}

static void *trace_work(void *arg)
{
    Tracer *t = arg;
    Spans b = { .t = t, .list = heap_resize(NULL, BATCH * sizeof *b.list) };
    bool well = true, last;
    while (b.list && take_batch(t, b.list, &b.n, &last)) {
        Err err = { 0 };
        if (b.n == 0) continue;
        bool ok = send_batch(&b, &err);
        if (ok != well) trace_tell(t, ok, &err);
        well = ok;
        if (!ok && last) break; /* nobody waits for a collector that is away */
    }
    heap_resize(b.list, 0);
    return NULL;
}

/* ---- start and end ---- */
static bool read_url(Tracer *t, const char *url, Err *err)
{
    bool secret = strncmp(url, "https://", 8) == 0;
    const char *p = url + strlen(secret ? "https://" : "http://");
    int64_t port = DEFAULT_PORT;
    if (!secret && strncmp(url, "http://", 7) != 0)
        return fail(err, EF_USAGE, "--otel-exporter-url: found \"%s\", " WANTED_URL, url);
    size_t authority = strcspn(p, "/"), host = authority;
    for (size_t i = 0; i < authority; i++)
        if (p[i] == ':' && !memchr(p + i, ']', authority - i)) host = i;
    if (host < authority &&
        (!str_int((Str){ p + host + 1, authority - host - 1 }, &port) || port < 1 || port > 65535))
        return fail(err, EF_USAGE, "--otel-exporter-url: found a port of \"%.*s\", " WANTED_URL,
                    (int)(authority - host - 1), p + host + 1);
    const char *path = p[authority] && p[authority + 1] ? p + authority : "/v1/traces";
    t->port = (int)port;
    if (host == 0 || host >= sizeof t->host || strlen(path) >= sizeof t->path ||
        strpbrk(url, " \r\n\""))
        return fail(err, EF_USAGE, "--otel-exporter-url: found \"%s\", " WANTED_URL, url);
    bool brackets = p[0] == '[' && p[host - 1] == ']';
    snprintf(t->host, sizeof t->host, "%.*s", (int)(brackets ? host - 2 : host), p + brackets);
    strcpy(t->path, path);
    if (secret && !(t->tls = tls_client(err))) return within(err, "--otel-exporter-url");
    return true;
}

static void set_clock(Tracer *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    t->epoch = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - now_seconds();
    if (getrandom(&t->seed, sizeof t->seed, GRND_NONBLOCK) < 0) t->seed = (uint64_t)now.tv_nsec;
    t->stage_seed = t->seed ^ 0x5851f42d4c957f2du;
}

Tracer *tracer_new(const char *url, Err *err)
{
    Tracer *t = heap_resize(NULL, sizeof *t);
    if (!t) return fail(err, EF_IO, "no memory for traces"), NULL;
    memset(t, 0, sizeof *t);
    if (!read_url(t, url, err)) return heap_resize(t, 0), NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->came, NULL);
    set_clock(t);
    if (pthread_create(&t->thread, NULL, trace_work, t) == 0) return t;
    tls_free(t->tls);
    heap_resize(t, 0);
    return fail(err, EF_IO, "no thread could be started"), NULL;
}

void tracer_free(Tracer *t)
{
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    pthread_cond_signal(&t->came);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    if (t->dropped) log_warn("traces: %llu requests were dropped", (unsigned long long)t->dropped);
    pthread_cond_destroy(&t->came);
    pthread_mutex_destroy(&t->lock);
    tls_free(t->tls);
    heap_resize(t, 0);
}
