/* SPDX-License-Identifier: Apache-2.0
 * conn.c - one connection: bytes in, requests one after the other, replies out. A request that came
 * behind another waits in the buffer until that one is answered. Nothing here blocks: sockets are
 * watched by edges, and `readable` and `writable` remember what was not used. */
#include <errno.h>
#include <math.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "loop.h"

enum { HEAD_LIMIT = 16 << 10, DIRECT = 256 << 10 };
static const double bytes_for_a_second = 65536, linger_s = 2;
static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

static void advance(Conn *);

/* ---- states ---- */
void conn_deadline(Conn *c, double seconds)
{
    loop_slot(c->loop, c)->deadline = c->loop->now + seconds;
}

static void enter(Conn *c, ConnState state, double seconds)
{
    c->state = state;
    conn_deadline(c, seconds);
}

void conn_count(Conn *c, size_t bytes)
{
    c->loop->bytes += bytes - c->counted;
    c->counted = bytes;
}

static void wait_for_request(Conn *c)
{
    http1_start(&c->http, (Http1Limits){ HEAD_LIMIT, SIZE_MAX }); /* of the body: by its route */
    c->begun = c->head_only = c->gzip = false;
    c->route = NULL;
    c->allow = c->origin = NULL;
    c->id[0] = 0;
    c->fresh = c->in.n > 0;
    if (!c->fresh) buf_free(&c->in); /* idle ones hold nothing */
    buf_free(&c->out);
    conn_count(c, c->in.n);
    enter(c, CONN_READING, c->loop->options.idle_timeout_s);
}

void conn_start(Conn *c, int fd)
{
    c->fd = fd;
    c->readable = c->writable = true;
    wait_for_request(c);
    advance(c);
}

bool conn_idle(const Conn *c)
{
    return c->state == CONN_READING && !c->begun;
}

/* A job on its way is abandoned; it comes back to nobody. */
void conn_close(Conn *c)
{
    if (c->state == CONN_CLOSED) return;
    close(c->fd); /* also leaves epoll */
    if (c->job && c->state == CONN_WAITING) job_abandon(c->job);
    else job_free(c->job);
    c->job = NULL;
    stream_free(c);
    buf_free(&c->in);
    buf_free(&c->out);
    conn_count(c, 0);
    c->state = CONN_CLOSED;
    loop_release(c->loop, c);
}

/* ---- replies ---- */
/* The last one before the end says so, unless more requests are here already. */
static bool last_reply(Conn *c)
{
    if (!c->http.keep_alive) return true;
    if (!c->loop->stopping) return false;
    while (c->in.n == 0 && conn_receive(c)) continue;
    return c->in.n == 0;
}

void conn_begin_reply(Conn *c, Http1Reply head)
{
    c->close |= last_reply(c);
    c->status = head.status;
    c->answered = c->loop->now;
    head.close = c->close;
    head.keep = c->http.minor == 0;
    head.request_id = c->id[0] ? c->id : NULL;
    head.origin = c->origin;
    c->out.n = c->written = 0;
    http1_write_head(&c->out, &head, loop_date(c->loop));
}

static void reply(Conn *c, Http1Reply head, Str body)
{
    if (!head.type) head.type = "application/json";
    head.length = body.n;
    conn_begin_reply(c, head);
    c->body = c->head_only ? (Str){ 0 } : body;
    enter(c, CONN_WRITING, c->loop->options.body_timeout_s);
}

static void reply_error(Conn *c, const Err *err, int status)
{
    Buf body = { 0 };
    error_write(&body, err, status);
    int retry = err->code == EF_OVERLOADED || err->code == EF_UNAVAILABLE;
    reply(c, (Http1Reply){ .status = status, .allow = c->allow, .retry_after = retry },
          buf_view(&body));
    if (!c->head_only) buf_str(&c->out, buf_view(&body));
    c->body = (Str){ 0 };
    buf_free(&body);
}

/* The rest of the request, if any, is not read as one. */
static void refuse(Conn *c, const Err *err, int status)
{
    c->close = c->linger = true;
    reply_error(c, err, status);
}

/* ---- the head of a request ---- */
static bool plain_id(Str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] > '~' || id.p[i] == '"' || id.p[i] == '\\') return false;
    return id.n > 0 && id.n < ID_ROOM;
}

/* The client's own, if it may stand in a log. */
static void name_request(Conn *c)
{
    Str given = http1_view(c->http.request_id, &c->in);
    if (plain_id(given)) snprintf(c->id, sizeof c->id, "%.*s", STR_ARG(given));
    else snprintf(c->id, sizeof c->id, "%016llx", (unsigned long long)c->loop->next_id++);
}

/* Who asks, and for what. false: err says what is wrong. OPTIONS has no route, only c->allow. */
static bool judge(Conn *c, Err *err)
{
    const Loop *loop = c->loop;
    Str method = http1_view(c->http.method, &c->in), path = http1_view(c->http.path, &c->in);
    name_request(c);
    c->head_only = str_is(method, "HEAD");
    c->gzip = c->http.gzip_reply;
    c->origin = access_origin(loop, http1_view(c->http.origin, &c->in));
    c->route = route_find(&loop->site, method, path, &c->allow, err);
    if (!c->route) return str_is(method, "OPTIONS") && c->allow;
    return access_allowed(loop, c->route, http1_view(c->http.authorization, &c->in), err) &&
           route_accepts(c->route, http1_view(c->http.content_type, &c->in), err);
}

/* Lines are answered while they come, which HTTP/1.0 cannot say; and are not unpacked. */
static bool streamable(const Conn *c, Err *err)
{
    if (c->http.minor > 0 && !c->http.gzip_body) return true;
    return fail(err, EF_MEDIA_TYPE,
                "application/x-ndjson: wanted HTTP/1.1 and no Content-Encoding");
}

static bool too_large(const Conn *c, Err *err)
{
    size_t limit = c->http.limits.body;
    if (c->http.left <= limit) return false;
    return !fail(err, EF_TOO_LARGE, "body: found %zu bytes, wanted at most %zu", c->http.left,
                 limit);
}

/* Before the body: what will be refused anyway need not be sent. */
static void check_head(Conn *c)
{
    Err err = { 0 };
    bool ok = judge(c, &err);
    bool stream = ok && stream_wanted(c->route, http1_view(c->http.content_type, &c->in));
    conn_deadline(c, c->loop->options.body_timeout_s);
    if (!stream) c->http.limits.body = c->loop->options.max_body;
    ok = ok && (stream ? streamable(c, &err) : !too_large(c, &err));
    if (!ok) return refuse(c, &err, err_kind(err.code)->http);
    if (c->http.expects_continue && c->in.n <= c->http.at) /* nothing else waits to be sent */
        send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL);
    if (stream) stream_start(c);
}

/* ---- the whole of a request ---- */
/* The body goes with the job: the connection may end before it. */
static void take_body(Conn *c, Job *job)
{
    job->body = http1_view(c->http.body, &c->in);
    if (c->in.n == c->http.at) {
        job->storage = c->in;
        c->in = (Buf){ 0 };
    } else {
        job->body = (Str){ str_dup(&job->arena, job->body), job->body.n };
        buf_drop(&c->in, c->http.at);
    }
    c->http.at = 0;
}

bool conn_submit(Conn *c, Job *job, Err *err)
{
    Loop *loop = c->loop;
    job->kind = c->route->job;
    job->done = loop_return;
    job->context = loop;
    job->ticket = (uint64_t)loop_slot(loop, c)->generation << 32 | c->slot;
    job->share = c->share;
    job->deadline = loop->now + loop->options.request_timeout_s;
    loop_lend(loop, 1); /* before: it may be back before we are */
    if (session_submit(loop->session, job, err)) return true;
    loop_lend(loop, -1);
    return false;
}

static void submit(Conn *c)
{
    Err err = { 0 };
    Job *job = job_new();
    take_body(c, job);
    job->body_packed = c->http.gzip_body;
    job->body_most = c->loop->options.max_body;
    job->gzip_from = c->gzip ? c->loop->options.gzip_from : 0;
    conn_count(c, job->body.n);
    enter(c, CONN_WAITING, INFINITY);
    c->job = job;
    if (conn_submit(c, job, &err)) return;
    job_free(job);
    c->job = NULL;
    reply_error(c, &err, err_kind(err.code)->http);
}

static void show_page(Conn *c)
{
    size_t n, at = (size_t)(c->route - route_all(&n));
    const Page *page = &c->loop->page[at];
    Http1Reply head = { .status = 200, .gzip = c->gzip && page->packed.n };
    reply(c, head, buf_view(head.gzip ? &page->packed : &page->plain));
}

static void show_live(Conn *c)
{
    Buf text = { 0 };
    int status = c->route->live(c->loop, &text);
    reply(c, (Http1Reply){ .status = status, .type = c->route->reply ? NULL : METRICS_TYPE },
          buf_view(&text));
    if (!c->head_only) buf_str(&c->out, buf_view(&text));
    c->body = (Str){ 0 };
    buf_free(&text);
}

static void dispatch(Conn *c)
{
    Err err = { 0 };
    bool ok = c->route || c->allow || judge(c, &err);
    bool job = ok && c->route && !c->route->render && !c->route->live;
    bool stream = ok && stream_wanted(c->route, http1_view(c->http.content_type, &c->in));
    if (stream) return stream_start(c); /* without a line */
    if (job) return submit(c);
    buf_drop(&c->in, c->http.at);
    c->http.at = 0;
    if (!ok) return reply_error(c, &err, err_kind(err.code)->http);
    if (c->route) return c->route->render ? show_page(c) : show_live(c);
    reply(c, (Http1Reply){ .status = 204, .allow = c->allow, .preflight = c->origin }, (Str){ 0 });
}

void conn_returned(Conn *c, Job *job)
{
    c->share = job->share;
    if (c->stream) return stream_returned(c, job), advance(c);
    conn_count(c, job->json.n);
    if (job->err.code == EF_OK)
        reply(c, (Http1Reply){ .status = 200, .gzip = job->json_packed }, buf_view(&job->json));
    else
        reply_error(c, &job->err, err_kind(job->err.code)->http);
    advance(c);
}

/* ---- reading ---- */
/* A long body goes straight to its place, all else by the loop's buffer. */
static ssize_t receive_into(Conn *c, size_t *asked)
{
    bool direct = http1_has_body(&c->http) && c->http.left > READ_SIZE;
    *asked = direct ? DIRECT : READ_SIZE;
    if (direct) buf_reserve(&c->in, DIRECT);
    ssize_t n = recv(c->fd, direct ? c->in.p + c->in.n : c->loop->scratch, *asked, 0);
    if (n > 0 && direct) c->in.n += (size_t)n;
    else if (n > 0) buf_add(&c->in, c->loop->scratch, (size_t)n);
    return n;
}

bool conn_receive(Conn *c)
{
    if (!c->readable) return false;
    size_t asked;
    ssize_t n = receive_into(c, &asked);
    if (n < 0 && errno == EINTR) return conn_receive(c);
    if (n < 0 && errno != EAGAIN) c->ended = true;
    if (n == 0) c->ended = true;
    if (n <= 0 || ((size_t)n < asked && !c->half_closed)) c->readable = false;
    if (n <= 0) return false;
    c->loop->meters.received += (uint64_t)n;
    if (http1_has_body(&c->http))
        loop_slot(c->loop, c)->deadline += (double)n / bytes_for_a_second;
    return true;
}

/* What all connections hold has a limit; whoever goes beyond it with something large is refused. */
static bool too_much(Conn *c, Err *err)
{
    const Loop *loop = c->loop;
    size_t expected = c->http.chunked ? 0 : c->http.body.at + c->http.body.n;
    conn_count(c, MAX(c->in.n, expected));
    bool alone = loop->bytes == c->counted, large = c->counted > READ_SIZE;
    if (loop->bytes <= loop->options.max_bytes || alone || !large) return false;
    return !fail(err, EF_OVERLOADED,
                 "requests and replies: found %zu bytes, wanted at most %zu: try again",
                 loop->bytes, loop->options.max_bytes);
}

static void begin_request(Conn *c)
{
    c->begun = true;
    c->began = c->loop->now;
    conn_deadline(c, c->loop->options.header_timeout_s);
}

/* true: something has changed. */
static bool read_step(Conn *c)
{
    Err err = { 0 };
    if (!c->fresh && !conn_receive(c)) {
        if (c->ended || (c->loop->stopping && !c->begun)) conn_close(c);
        return false;
    }
    c->fresh = false;
    if (!c->begun && http1_begun(&c->http, &c->in)) begin_request(c);
    Http1Event event = http1_feed(&c->http, &c->in, &err);
    if (event == HTTP1_BAD) return refuse(c, &err, c->http.status), true;
    if (event == HTTP1_DONE) return dispatch(c), true;
    if (event == HTTP1_HEAD) {
        check_head(c);
        c->fresh = c->state == CONN_READING;
    }
    if (c->state == CONN_READING && too_much(c, &err))
        refuse(c, &err, err_kind(err.code)->http);
    return true;
}

/* ---- writing ---- */
bool conn_send(Conn *c)
{
    size_t total = c->out.n + c->body.n;
    while (c->writable && c->written < total) {
        size_t head = MIN(c->written, c->out.n), body = c->written - head;
        struct iovec part[2] = { { c->out.p + head, c->out.n - head },
                                 { (char *)c->body.p + body, c->body.n - body } };
        struct msghdr message = { .msg_iov = part, .msg_iovlen = c->body.n ? 2 : 1 };
        ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) return conn_close(c), false;
        if (n < 0) c->writable = false;
        if (n <= 0) break;
        c->written += (size_t)n;
        c->loop->meters.sent += (uint64_t)n;
        loop_slot(c->loop, c)->deadline += (double)n / bytes_for_a_second;
    }
    return c->written == total;
}

static void linger(Conn *c)
{
    shutdown(c->fd, SHUT_WR);
    enter(c, CONN_LINGERING, linger_s);
}

static void discard(Conn *c)
{
    ssize_t n;
    do n = recv(c->fd, c->loop->scratch, READ_SIZE, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
    c->readable = false;
    if (n == 0 || errno != EAGAIN) conn_close(c);
}

void conn_end_request(Conn *c)
{
    metrics_answered(c);
    access_log(c);
    job_free(c->job);
    c->job = NULL;
    c->body = (Str){ 0 };
    if (c->linger) return linger(c);
    if (c->close) return conn_close(c);
    wait_for_request(c);
}

/* As far as it goes with what is there. */
static void advance(Conn *c)
{
    for (;;) {
        ConnState before = c->state;
        switch (before) {
        case CONN_READING:
            if (!read_step(c)) return;
            break;
        case CONN_STREAMING: stream_advance(c); break;
        case CONN_WRITING:
            if (conn_send(c)) conn_end_request(c);
            break;
        case CONN_LINGERING: discard(c); return;
        case CONN_WAITING:
        case CONN_CLOSED: return;
        }
        if (c->state == before && before != CONN_READING) return;
    }
}

/* ---- what the loop tells ---- */
/* A client that sends no more may still read, or may be gone: the first shows no difference. Bytes
 * that mean nothing make the system of one that is gone say so. */
static void probe(Conn *c)
{
    if (c->http.minor > 0) send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL);
}

void conn_event(Conn *c, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) return conn_close(c);
    c->readable |= (events & (EPOLLIN | EPOLLRDHUP)) != 0;
    c->writable |= (events & EPOLLOUT) != 0;
    if (events & EPOLLRDHUP && !c->half_closed) {
        c->half_closed = true;
        if (c->state == CONN_WAITING) probe(c);
    }
    advance(c);
}

void conn_tick(Conn *c)
{
    if (c->state == CONN_STREAMING) advance(c);
}

void conn_expire(Conn *c)
{
    Err err = { 0 };
    if (!(c->state == CONN_READING && c->begun)) return conn_close(c);
    fail(&err, EF_TIMEOUT, "the request did not arrive in time");
    refuse(c, &err, err_kind(err.code)->http);
    advance(c);
}

void conn_stop(Conn *c)
{
    if (!conn_idle(c)) return;
    c->readable = true; /* perhaps a request has just come */
    advance(c);
}
