/* SPDX-License-Identifier: Apache-2.0
 * conn.c - one connection, and HTTP/1.1 on it: bytes in, requests one after the other, replies out.
 * A request that came behind another waits in the buffer until that one is answered. A client whose
 * first words are HTTP/2's is h2.c's from then on. Nothing here blocks. */
#include <errno.h>
#include <math.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"

enum { HEAD_LIMIT = 16 << 10, DIRECT = 256 << 10 };
static const double bytes_for_a_second = 65536, linger_s = 2, last_ask_s = 0.5;
static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

static bool receive(Conn *);
static void advance(Conn *);

/* ---- states ---- */
void conn_deadline(Conn *c, double seconds)
{
    loop_slot(c->loop, c)->deadline = c->loop->now + seconds;
}

/* What it holds now, beside its exchange. */
static void count(Conn *c, size_t bytes)
{
    budget_count(c->loop->budget, &c->counted, bytes);
}

static void wait_for_request(Conn *c)
{
    if (c->http.at) buf_drop(&c->in, c->http.at);
    http1_start(&c->http, (Http1Limits){ HEAD_LIMIT, SIZE_MAX }); /* of the body: by its route */
    c->begun = false;
    c->fresh = c->in.n > 0;
    if (!c->fresh) buf_free(&c->in); /* idle ones hold nothing */
    count(c, c->in.cap);
    conn_deadline(c, c->loop->options.idle_timeout_s);
}

void conn_start(Conn *c, int fd, TlsConn *tls)
{
    c->fd = fd;
    c->tls = tls;
    c->readable = c->writable = true;
    wait_for_request(c);
    if (tls) conn_deadline(c, c->loop->options.header_timeout_s); /* for the handshake */
}

bool conn_idle(const Conn *c)
{
    return c->state == CONN_OPEN && (c->h2 ? h2_idle(c->h2) : !c->begun);
}

void conn_close(Conn *c)
{
    if (c->state == CONN_CLOSED) return;
    if (c->tls && !c->broken && c->state == CONN_OPEN) tls_end(c->tls);
    tls_close(c->tls);
    close(c->fd); /* also leaves epoll */
    exchange_free(c->x);
    c->x = NULL;
    h2_free(c);
    buf_free(&c->in);
    count(c, 0);
    c->state = CONN_CLOSED;
    loop_release(c->loop, c);
}

/* ---- the carrier: what an exchange asks for ---- */
static Str h1_arrived(const Exchange *x)
{
    return http1_arrived(&x->conn->http, &x->conn->in);
}

static void h1_consume(Exchange *x, size_t bytes)
{
    http1_consume(&x->conn->http, &x->conn->in, bytes);
}

/* The body goes with the job: the connection may end before it. */
static void h1_take(Exchange *x, Job *job)
{
    Conn *c = x->conn;
    job->in.body = http1_view(c->http.body, &c->in);
    if (c->in.n == c->http.at) {
        job_store(job, &c->in);
    } else {
        job->in.body = (Str){ str_dup(&job->work.arena, job->in.body), job->in.body.n };
        buf_drop(&c->in, c->http.at);
    }
    c->http.at = 0;
    count(c, c->in.cap);
}

/* From the word to stop on replies say that they are the last ones, unless more requests are here
 * already: who comes back connects elsewhere, or here as long as the door is open. */
static bool last_reply(Conn *c)
{
    if (!c->http.keep_alive) return true;
    if (!c->loop->draining) return false;
    while (c->in.n == c->http.at && receive(c)) continue;
    return c->in.n == c->http.at;
}

/* What remains of a request that is answered as a whole before its end is not read as one. */
static void h1_begin(Exchange *x, const Reply *reply)
{
    Conn *c = x->conn;
    Reply head = *reply;
    if (!x->complete && !head.pieces) c->close = c->linger = true;
    c->linger |= c->loop->draining; /* what the client has sent meanwhile must not undo the reply */
    c->close |= last_reply(c);
    head.close = c->close;
    head.keep = c->http.minor == 0;
    http1_write_head(&x->out, &head, loop_date(c->loop));
    conn_deadline(c, c->loop->options.idle_timeout_s);
}

static void h1_send(Exchange *x, Str text)
{
    buf_printf(&x->out, "%zx\r\n", text.n);
    buf_str(&x->out, text);
    buf_puts(&x->out, "\r\n");
}

/* Trailers are HTTP/2's: x->trailers says that there are none here. */
static void h1_end(Exchange *x, const ReplyField *trailers, size_t n)
{
    Conn *c = x->conn;
    (void)trailers, (void)n;
    if (x->pieces && !x->head_only) buf_puts(&x->out, "0\r\n\r\n");
    if (!x->complete) c->close = c->linger = true;
    conn_deadline(c, c->loop->options.body_timeout_s);
}

static void h1_wake(Exchange *x)
{
    advance(x->conn);
}

static const Carrier http1_carrier = { h1_arrived, h1_consume, h1_take, h1_begin,
                                       h1_send,    h1_end,     h1_wake };

/* ---- requests ---- */
static bool new_exchange(Conn *c)
{
    const Http1 *h = &c->http;
    Exchange *x = c->x = exchange_new(c, &http1_carrier, c->began);
    if (!x) return conn_close(c), false;
    x->one_piece = h->minor == 0;
    return true;
}

static void copy_head(Conn *c)
{
    const Http1 *h = &c->http;
    Exchange *x = c->x;
    x->method = exchange_keep(x, http1_view(h->method, &c->in));
    x->path = exchange_keep(x, http1_view(h->path, &c->in));
    for (int i = 0; i < HEADERS; i++)
        if (h->field[i].at) x->field[i] = exchange_keep(x, http1_view(h->field[i], &c->in));
    x->length = h->left;
}

/* The rest of the request, if any, is not read as one. */
static void conn_refuse(Conn *c, const Err *err, int status)
{
    if (!c->x && !new_exchange(c)) return;
    exchange_refuse(c->x, err, status);
}

static void say_go_on(Conn *c)
{
    struct iovec words = { (char *)go_on, sizeof go_on - 1 };
    io_write(c, &words, 1);
}

/* Before the body: what will be refused anyway need not be sent. */
static void check_head(Conn *c)
{
    if (!new_exchange(c)) return;
    copy_head(c);
    conn_deadline(c, c->loop->options.body_timeout_s);
    if (!exchange_head(c->x)) return;
    c->http.limits.body = c->x->most;
    if (c->http.expects_continue && c->in.n <= c->http.at) /* nothing else waits to be sent */
        say_go_on(c);
}

static void dispatch(Conn *c)
{
    if (!c->x) { /* without a body */
        if (!new_exchange(c)) return;
        copy_head(c);
        c->x->complete = true;
        if (!exchange_head(c->x)) return;
    }
    exchange_complete(c->x);
    if (c->x->state == X_WAITING) conn_deadline(c, INFINITY); /* the job has its own */
}

/* ---- reading ---- */
/* A long body goes straight to its place, all else by the loop's buffer. The place is as long as it
 * was told, and large enough to be a block of its own (heap_keep_little). */
static size_t receive_into(Conn *c)
{
    size_t left = MAX(c->http.left + HEAD_LIMIT, (size_t)DIRECT); /* and what may come behind it */
    bool direct = http1_has_body(&c->http) && c->http.left > READ_SIZE;
    if (!direct) {
        size_t n = io_read(c, c->loop->scratch, READ_SIZE);
        if (n) buf_add(&c->in, c->loop->scratch, n);
        return n;
    }
    if (c->in.cap - c->in.n < c->http.left && !buf_try(&c->in, left)) return c->starved = true, 0;
    size_t n = io_read(c, c->in.p + c->in.n, c->in.cap - c->in.n);
    c->in.n += n;
    return n;
}

/* true: bytes came. */
static bool receive(Conn *c)
{
    size_t n = receive_into(c);
    if (n && http1_has_body(&c->http))
        loop_slot(c->loop, c)->deadline += (double)n / bytes_for_a_second;
    return n > 0;
}

/* What all connections hold has a limit; whoever goes beyond it with something large is refused. */
static bool too_much(Conn *c, Err *err)
{
    const Loop *loop = c->loop;
    size_t expected = c->http.chunked ? 0 : c->http.body.at + c->http.body.n;
    count(c, MAX(c->in.cap, expected));
    if (loop_has_room(loop, c->counted, err)) return false;
    count(c, c->in.cap); /* the rest is not waited for */
    return true;
}

static void begin_request(Conn *c)
{
    c->begun = true, c->leaving = false;
    c->began = c->loop->now;
    conn_deadline(c, c->loop->options.header_timeout_s);
}

/* false: these are not the first words of HTTP/1, or too few to say. */
static bool greet(Conn *c)
{
    bool maybe = false;
    if (h2_greets(buf_view(&c->in), &maybe)) {
        count(c, 0);
        h2_start(c);
        return false;
    }
    c->greeted = !maybe;
    return !maybe;
}

static bool reading(const Conn *c)
{
    return c->state == CONN_OPEN && (!c->x || c->x->state == X_READING);
}

/* Says what is missing of a request behind which nothing will come. */
static void cut_short(Conn *c, Err *err)
{
    const Http1 *h = &c->http;
    if (!http1_has_body(h))
        fail(err, EF_BAD_REQUEST, "the request ended in its head");
    else if (h->chunked)
        fail(err, EF_BAD_REQUEST, "the body ended before its last chunk");
    else
        fail(err, EF_BAD_REQUEST, "the body ended after %zu of %zu bytes",
             c->x->length - h->left, c->x->length);
}

/* The server stops, and no request has begun. Who has just been answered may have sent the next one before it could
 * know: it has a moment to arrive, and its reply says that it is the last. */
static void leave(Conn *c)
{
    const double since = loop_slot(c->loop, c)->deadline - c->loop->options.idle_timeout_s;
    if (c->leaving) return; /* its deadline ends it */
    c->leaving = since > c->loop->now - last_ask_s;
    if (c->leaving) conn_deadline(c, last_ask_s);
    else conn_close(c);
}

/* Nothing has come, or only what TLS keeps for itself. true: something has changed. */
static bool read_nothing(Conn *c)
{
    Err err = { 0 };
    if (c->starved) {
        fail(&err, EF_UNAVAILABLE, "out of memory for the body: try again");
        return conn_refuse(c, &err, err_kind(err.code)->http), true;
    }
    if (c->ended && c->begun) {
        cut_short(c, &err);
        return conn_refuse(c, &err, 400), true;
    }
    if (c->ended) return conn_close(c), false;
    if (c->loop->stopping && !c->begun) return leave(c), false;
    if (!c->tls || c->secure || !tls_ready(c->tls)) return false;
    c->secure = true;
    if (!c->begun) conn_deadline(c, c->loop->options.idle_timeout_s);
    return false;
}

/* true: something has changed. */
static bool read_step(Conn *c)
{
    Err err = { 0 };
    if (!c->fresh && !receive(c)) return read_nothing(c);
    c->fresh = false;
    if (!c->begun && http1_begun(&c->http, &c->in)) begin_request(c);
    if (!c->greeted && !greet(c)) return true;
    Http1Event event = http1_feed(&c->http, &c->in, &err);
    if (event == HTTP1_BAD) return conn_refuse(c, &err, c->http.status), true;
    if (event == HTTP1_DONE) return dispatch(c), true;
    if (event == HTTP1_HEAD) {
        check_head(c);
        c->fresh = reading(c);
    }
    if (reading(c) && too_much(c, &err)) conn_refuse(c, &err, err_kind(err.code)->http);
    return true;
}

/* ---- writing ---- */
/* true: all of the reply so far is with the system. */
static bool send_reply(Conn *c)
{
    Exchange *x = c->x;
    size_t total = x->out.n + x->rest.n;
    while (c->writable && x->written < total) {
        size_t head = MIN(x->written, x->out.n), body = x->written - head;
        struct iovec part[2] = { { x->out.p + head, x->out.n - head },
                                 { x->rest.n ? (char *)x->rest.p + body : NULL,
                                   x->rest.n - body } };
        size_t n = io_write(c, part, x->rest.n ? 2 : 1);
        if (c->broken) return conn_close(c), false;
        if (!n) break;
        x->written += n;
        loop_slot(c->loop, c)->deadline += (double)n / bytes_for_a_second;
    }
    return x->written == total;
}

void conn_finish(Conn *c)
{
    io_end(c);
    buf_free(&c->in);
    count(c, 0);
    c->readable = true; /* to see the end */
    c->state = CONN_LINGERING;
    conn_deadline(c, linger_s);
}

static void discard(Conn *c)
{
    while (io_read(c, c->loop->scratch, READ_SIZE)) continue;
    if (c->ended) conn_close(c);
}

static void end_request(Conn *c)
{
    exchange_sent(c->x);
    c->x = NULL;
    if (c->close && c->linger) return conn_finish(c);
    if (c->close) return conn_close(c);
    wait_for_request(c);
}

/* ---- both at once: a handler is at work ---- */
static void feed_open(Conn *c)
{
    Err err = { 0 };
    count(c, c->in.cap); /* before it is looked at: jobs made of it are told */
    if (c->x->complete || c->http.status) return; /* what is bad is told once */
    Http1Event event = http1_feed(&c->http, &c->in, &err);
    if (event == HTTP1_DONE) c->x->complete = true;
    if (event == HTTP1_BAD) exchange_break(c->x, &err);
}

/* Sends what is there, and forgets it. true: some went. */
static bool flush(Conn *c)
{
    Exchange *x = c->x;
    size_t before = x->written;
    bool all = send_reply(c);
    if (c->state == CONN_CLOSED) return false;
    bool moved = x->written > before;
    if (all) {
        x->sent += x->out.n;
        x->out.n = x->written = 0;
    }
    exchange_count(x, x->out.cap);
    return moved;
}

/* Returns true if every byte received so far was handled and the connection stays open. */
static bool open_ended(Conn *c)
{
    Err err = { 0 };
    if (c->http.status || !c->x->handler->broken) return conn_close(c), false;
    cut_short(c, &err);
    c->http.status = 400;
    exchange_break(c->x, &err);
    return true;
}

static bool open_step(Conn *c)
{
    Exchange *x = c->x;
    bool moved = false;
    feed_open(c);
    for (bool more = true; more; moved |= more) {
        exchange_advance(x);
        more = x->state == X_OPEN && x->hungry && !x->complete && receive(c);
        if (more) feed_open(c);
    }
    if (x->state != X_OPEN) return true;
    if (c->ended && !x->complete && x->away == 0) return open_ended(c);
    count(c, c->in.cap);
    moved |= flush(c);
    if (c->state == CONN_OPEN && (moved || x->away || x->patient))
        conn_deadline(c, c->loop->options.idle_timeout_s);
    return false;
}

/* true: there may be more to do. */
static bool step(Conn *c)
{
    switch (c->x ? c->x->state : X_READING) {
    case X_READING: return read_step(c);
    case X_OPEN: return open_step(c);
    case X_SENDING:
        if (!send_reply(c)) return false;
        end_request(c);
        return true;
    default: return false;
    }
}

/* As far as it goes with what is there. */
static void advance(Conn *c)
{
    while (c->state == CONN_OPEN && !c->h2 && step(c)) continue;
    if (c->state == CONN_OPEN && c->h2) h2_advance(c);
    if (c->state == CONN_LINGERING) discard(c);
}

/* ---- what the loop tells ---- */
/* A client that sends no more may still read, or may be gone: the first shows no difference. Bytes
 * that mean nothing make the system of one that is gone say so. */
static void probe(Conn *c)
{
    if (c->http.minor > 0) say_go_on(c);
}

void conn_event(Conn *c, uint32_t events)
{
    if (events & (EPOLLERR | EPOLLHUP)) return conn_close(c);
    c->readable |= (events & (EPOLLIN | EPOLLRDHUP)) != 0;
    c->writable |= (events & EPOLLOUT) != 0;
    if (c->tls) c->readable = c->writable = true; /* each may have waited for the other */
    if (events & EPOLLRDHUP && !c->half_closed) {
        c->half_closed = true;
        if (c->x && c->x->state == X_WAITING) probe(c);
    }
    advance(c);
}

void conn_tick(Conn *c)
{
    if (c->h2) return h2_tick(c);
    if (c->x && c->x->state == X_OPEN) advance(c);
}

void conn_expire(Conn *c)
{
    Err err = { 0 };
    if (c->state == CONN_OPEN && c->h2) return h2_expire(c);
    if (!(reading(c) && c->begun)) return conn_close(c);
    fail(&err, EF_TIMEOUT, "the request did not arrive in time");
    conn_refuse(c, &err, err_kind(err.code)->http);
    advance(c);
}

void conn_notice(Conn *c)
{
    if (c->state == CONN_OPEN && c->h2) h2_notice(c);
}

void conn_stop(Conn *c)
{
    if (!c->h2 && !conn_idle(c)) return;
    c->readable = true; /* perhaps a request has just come */
    advance(c);
    if (c->state == CONN_OPEN && c->h2) h2_stop(c);
}

void conn_census(const Conn *c, ConnCensus *to)
{
    if (c->state == CONN_LINGERING) to->lingering++;
    else if (conn_idle(c)) to->idle++;
    else if (c->h2) h2_census(c->h2, to->states);
    else to->states[c->x ? c->x->state : X_READING]++;
}
