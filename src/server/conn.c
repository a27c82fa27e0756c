/* SPDX-License-Identifier: Apache-2.0
 * conn.c - one connection: bytes in, requests one after the other, replies out. A request that came
 * behind another waits in the buffer until that one is answered. Nothing here blocks. */
#include <errno.h>
#include <math.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

enum { HEAD_LIMIT = 16 << 10, READ_SIZE = 64 << 10, KEPT = 64 << 10 };
static const double bytes_for_a_second = 65536, linger_s = 2;

static void advance(Conn *);

/* ---- states ---- */
static void enter(Conn *c, ConnState state, uint32_t interest, double seconds)
{
    c->state = state;
    c->deadline = c->loop->now + seconds;
    loop_watch(c->loop, c, interest);
}

static void wait_for_request(Conn *c)
{
    http1_start(&c->http, (Http1Limits){ HEAD_LIMIT, c->loop->options.max_body });
    c->begun = false;
    c->body = (Str){ 0 };
    c->written = 0;
    c->out.n = 0;
    enter(c, CONN_READING, EPOLLIN, c->loop->options.idle_timeout_s);
}

void conn_start(Conn *c, int fd)
{
    c->fd = fd;
    c->close = c->linger = false;
    wait_for_request(c);
}

bool conn_idle(const Conn *c)
{
    return c->state == CONN_READING && !c->begun;
}

/* With a job on its way the slot stays until the job is back: it reads the body in c->in. */
void conn_close(Conn *c)
{
    close(c->fd); /* also leaves epoll */
    c->fd = -1;
    c->interest = 0;
    if (c->state == CONN_WAITING) {
        c->state = CONN_GONE;
        c->deadline = INFINITY;
        job_abandon(c->job);
        return;
    }
    job_free(c->job);
    c->job = NULL;
    buf_free(&c->in);
    buf_free(&c->out);
    loop_release(c->loop, c);
}

/* ---- replies ---- */
static void reply(Conn *c, Http1Reply head, Str body)
{
    c->close |= !c->http.keep_alive || c->loop->stopping;
    head.close = c->close;
    head.keep = c->http.minor == 0;
    head.type = "application/json";
    head.length = body.n;
    c->out.n = 0;
    http1_write_head(&c->out, &head, time(NULL));
    c->body = c->head_only ? (Str){ 0 } : body;
    c->written = 0;
    enter(c, CONN_WRITING, c->interest, c->loop->options.body_timeout_s);
}

static void reply_error(Conn *c, const Err *err, int status, const char *allow)
{
    Buf body = { 0 };
    error_write(&body, err, status);
    int retry = err->code == EF_OVERLOADED || err->code == EF_UNAVAILABLE;
    reply(c, (Http1Reply){ .status = status, .allow = allow, .retry_after = retry },
          buf_view(&body));
    if (!c->head_only) buf_str(&c->out, buf_view(&body));
    c->body = (Str){ 0 };
    buf_free(&body);
}

/* The rest of the request, if any, is not read as one. */
static void refuse(Conn *c, const Err *err, int status, const char *allow)
{
    c->close = c->linger = true;
    reply_error(c, err, status, allow);
}

/* ---- requests ---- */
static const Route *find_route(Conn *c, const char **allow, Err *err)
{
    Str method = http1_view(c->http.method, &c->in), path = http1_view(c->http.path, &c->in);
    c->head_only = str_is(method, "HEAD");
    const Route *route = route_find(method, path, allow, err);
    if (!route || !route_accepts(route, http1_view(c->http.content_type, &c->in), err)) return NULL;
    return route;
}

/* Before the body: what will be refused anyway need not be sent. */
static void check_head(Conn *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    Err err = { 0 };
    const char *allow = NULL;
    c->deadline = c->loop->now + c->loop->options.body_timeout_s;
    if (!find_route(c, &allow, &err)) return refuse(c, &err, err_kind(err.code)->http, allow);
    if (!c->http.expects_continue || c->in.n > c->http.at) return;
    send(c->fd, go_on, sizeof go_on - 1, MSG_NOSIGNAL); /* nothing else is waiting to be sent */
}

static void submit(Conn *c)
{
    Err err = { 0 };
    Job *job = c->job = job_new();
    job->body = http1_view(c->http.body, &c->in);
    job->done = loop_return;
    job->context = c;
    enter(c, CONN_WAITING, EPOLLRDHUP, INFINITY);
    if (session_submit(c->loop->session, job, &err)) return;
    job_free(job);
    c->job = NULL;
    reply_error(c, &err, err_kind(err.code)->http, NULL);
}

static void dispatch(Conn *c)
{
    Err err = { 0 };
    const char *allow = NULL;
    size_t n;
    const Route *route = find_route(c, &allow, &err);
    if (!route) return reply_error(c, &err, err_kind(err.code)->http, allow);
    if (!route->render) return submit(c);
    Str page = buf_view(&c->loop->page[route - route_all(&n)]);
    reply(c, (Http1Reply){ .status = 200 }, page);
}

void conn_returned(Conn *c)
{
    Job *job = c->job;
    if (c->state == CONN_GONE) {
        c->state = CONN_READING; /* nobody waits any more */
        c->job = NULL;
        job_free(job);
        buf_free(&c->in);
        buf_free(&c->out);
        return loop_release(c->loop, c);
    }
    if (job->err.code == EF_OK) {
        reply(c, (Http1Reply){ .status = 200 }, buf_view(&job->json));
    } else {
        reply_error(c, &job->err, err_kind(job->err.code)->http, NULL);
    }
    advance(c);
}

/* ---- reading ---- */
/* true: bytes came. false: none for now, or the connection has ended. */
static bool receive(Conn *c)
{
    buf_reserve(&c->in, READ_SIZE);
    ssize_t n = recv(c->fd, c->in.p + c->in.n, c->in.cap - c->in.n, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) return conn_close(c), false;
    c->in.n += (size_t)n;
    c->deadline += c->begun ? (double)n / bytes_for_a_second : 0;
    return true;
}

static void read_request(Conn *c)
{
    if (!c->begun && http1_begun(&c->http, &c->in)) {
        c->begun = true;
        c->head_only = false;
        c->deadline = c->loop->now + c->loop->options.header_timeout_s;
    }
    switch (http1_feed(&c->http, &c->in)) {
    case HTTP1_MORE: return;
    case HTTP1_HEAD: check_head(c); return;
    case HTTP1_DONE: dispatch(c); return;
    case HTTP1_BAD: refuse(c, &c->http.err, c->http.status, NULL); return;
    }
}

/* Bytes of the head do not buy time; bytes of a body do. */
static void read_more(Conn *c)
{
    double deadline = c->deadline;
    if (!receive(c)) return;
    if (!http1_has_body(&c->http)) c->deadline = deadline;
    advance(c);
}

/* ---- writing ---- */
/* true: all of it is with the system. */
static bool write_reply(Conn *c)
{
    size_t head = MIN(c->written, c->out.n), body = c->written - head;
    struct iovec part[2] = { { c->out.p + head, c->out.n - head },
                             { (char *)c->body.p + body, c->body.n - body } };
    struct msghdr message = { .msg_iov = part, .msg_iovlen = c->body.n ? 2 : 1 };
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return conn_close(c), false;
    if (n <= 0) return false;
    c->written += (size_t)n;
    c->deadline += (double)n / bytes_for_a_second;
    return c->written == c->out.n + c->body.n;
}

static void linger(Conn *c)
{
    shutdown(c->fd, SHUT_WR);
    enter(c, CONN_LINGERING, EPOLLIN, linger_s);
}

static void discard(Conn *c)
{
    char bytes[16 << 10];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) conn_close(c);
}

static void finish_reply(Conn *c)
{
    job_free(c->job);
    c->job = NULL;
    if (c->linger) return linger(c);
    if (c->close) return conn_close(c);
    buf_drop(&c->in, c->http.at);
    if (c->in.n == 0 && c->in.cap > KEPT) buf_free(&c->in);
    if (c->out.cap > KEPT) buf_free(&c->out);
    wait_for_request(c);
}

/* As far as it goes with what is there. */
static void advance(Conn *c)
{
    for (;;) {
        ConnState before = c->state;
        size_t at = c->http.at;
        if (c->state == CONN_WRITING) {
            if (write_reply(c)) finish_reply(c);
            if (c->state == CONN_WRITING) return loop_watch(c->loop, c, EPOLLOUT);
        } else if (c->state == CONN_READING) {
            if (c->in.n > 0) read_request(c);
            if (c->state == before && c->http.at == at) return;
        } else {
            return;
        }
    }
}

/* ---- what the loop tells ---- */
void conn_event(Conn *c, uint32_t events)
{
    bool broken = events & (EPOLLERR | EPOLLHUP);
    switch (c->state) {
    case CONN_READING: read_more(c); return;
    case CONN_WRITING: advance(c); return;
    case CONN_LINGERING: discard(c); return;
    case CONN_WAITING:
        if (broken || events & EPOLLRDHUP) conn_close(c);
        return;
    case CONN_FREE:
    case CONN_GONE: return;
    }
}

void conn_expire(Conn *c)
{
    Err err = { 0 };
    if (!(c->state == CONN_READING && c->begun)) return conn_close(c);
    fail(&err, EF_TIMEOUT, "the request did not arrive in time");
    refuse(c, &err, err_kind(err.code)->http, NULL);
    advance(c);
}

void conn_stop(Conn *c)
{
    if (conn_idle(c)) read_more(c); /* perhaps a request has just come */
    if (conn_idle(c)) conn_close(c);
}
