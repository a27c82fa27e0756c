/* SPDX-License-Identifier: Apache-2.0
 * h2.c - HTTP/2 on one connection: many exchanges at once, each a stream. Frames, header packing
 * and flow control are nghttp2's, which does no I/O: bytes go in by feed(), come out by fill(), and
 * in between it calls the on_ functions.
 *
 * Memory is bounded: at most STREAMS requests, a window of each body that nobody asked for yet, one
 * buffer of frames to be sent. While that buffer waits for the client, nothing is read from it. A
 * client that makes and breaks requests faster than RESETS_A_SECOND is sent away. */
#include <math.h>
#include <nghttp2/nghttp2.h>
#include <strings.h>

#include "base/heap.h"
#include "base/log.h"
#include "loop.h"

enum { STREAMS = 100, WINDOW = 256 << 10, SHARED_WINDOW = 1 << 20, HEAD_LIMIT = 16 << 10,
       MOST_FIELDS = 100, FIELD_COST = 32, OUT_SIZE = 64 << 10, REPLY_FIELDS = 40 };
enum { RESETS = 500, RESETS_A_SECOND = 100, TURNS = 16 };
static const double bytes_for_a_second = 65536, linger_s = 1;
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

typedef struct Stream {
    Exchange *x;
    int32_t id;
    bool head_done;              /* all of its head is there */
    bool poked;                  /* its handler should look at it */
    int status;                  /* of a head that is bad; 0: it is fine */
    const char *why;
    int fields;
    size_t head_size;            /* as HTTP/2 counts it */
    Buf body;                    /* of the request, not consumed */
    size_t owed;                 /* bytes of it that the client was not yet told to be gone */
    Buf trailers;                /* of the reply: name, value, name, value, each ended by a 0 */
    double deadline;             /* of its state */
    struct Stream *next, **link; /* in the list of the connection */
} Stream;

struct H2 {
    nghttp2_session *session;
    Stream *first;
    int live;
    Buf out;                     /* frames, and how much of them is with the system */
    size_t written;
    double moved;                /* when the client last took some of them */
    double resets, resets_at;    /* how many are allowed now; when that was counted */
    bool stopping;               /* told the client so */
    bool poked;                  /* some stream is */
};

static Stream *stream_of(const Exchange *x)
{
    return x->stream;
}

static H2 *h2_of(const Exchange *x)
{
    return x->conn->h2;
}

/* Its handler looks at it in this turn. */
static void look_later(Conn *c, Stream *s)
{
    s->poked = c->h2->poked = true;
}

static void stream_deadline(Stream *s, double seconds)
{
    s->deadline = s->x->loop->now + seconds;
}

/* Bytes of its body or reply went: who is slow has more time, who goes in pieces begins anew. */
static void moved(Stream *s, size_t n)
{
    if (s->x->state == X_OPEN) stream_deadline(s, s->x->loop->options.idle_timeout_s);
    else s->deadline += (double)n / bytes_for_a_second;
}

/* ---- the carrier: what an exchange asks for ---- */
static Str arrived(const Exchange *x)
{
    return buf_view(&stream_of(x)->body);
}

static void consume(Exchange *x, size_t bytes)
{
    buf_drop(&stream_of(x)->body, bytes);
    exchange_count(x, stream_of(x)->body.cap);
}

static void take(Exchange *x, Job *job)
{
    Stream *s = stream_of(x);
    job->in.body = (Str){ s->body.p ? s->body.p : "", s->body.n };
    job_store(job, &s->body);
}

typedef struct Fields {
    nghttp2_nv nv[REPLY_FIELDS];
    size_t n;
    Buf text;                    /* of all names and values: addresses come last */
} Fields;

static void put_field(void *to, const char *name, const char *value)
{
    Fields *f = to;
    assert(f->n < REPLY_FIELDS);
    nghttp2_nv *nv = &f->nv[f->n++];
    *nv = (nghttp2_nv){ .namelen = strlen(name), .valuelen = strlen(value) };
    for (const char *c = name; *c; c++)
        buf_char(&f->text, *c >= 'A' && *c <= 'Z' ? (char)(*c | 32) : *c);
    buf_puts(&f->text, value);
}

static const nghttp2_nv *fields_done(Fields *f)
{
    uint8_t *at = (uint8_t *)f->text.p;
    for (size_t i = 0; i < f->n; i++) {
        f->nv[i].name = at;
        f->nv[i].value = at + f->nv[i].namelen;
        at = f->nv[i].value + f->nv[i].valuelen;
    }
    return f->nv;
}

static void submit_trailers(H2 *h, Stream *s)
{
    Fields f = { .n = 0 };
    for (const char *at = s->trailers.p, *end = at + s->trailers.n; at < end;) {
        const char *value = at + strlen(at) + 1;
        put_field(&f, at, value);
        at = value + strlen(value) + 1;
    }
    nghttp2_submit_trailer(h->session, s->id, fields_done(&f), f.n);
    buf_free(&f.text);
}

/* Copies from `out` and what is behind it; forgets `out` when all of it has gone. */
static size_t reply_bytes(Exchange *x, uint8_t *to, size_t room)
{
    size_t done = 0;
    while (done < room && exchange_unsent(x)) {
        bool first = x->written < x->out.n;
        Str part = first ? buf_view(&x->out) : x->rest;
        size_t at = x->written - (first ? 0 : x->out.n), n = MIN(room - done, part.n - at);
        memcpy(to + done, part.p + at, n);
        x->written += n;
        done += n;
    }
    if (x->rest.n == 0 && x->written == x->out.n && x->out.n) {
        x->sent += x->out.n;
        x->out.n = x->written = 0;
    }
    return done;
}

static ssize_t on_read(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                       uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)session, (void)id;
    Stream *s = source->ptr;
    Exchange *x = s->x;
    size_t n = reply_bytes(x, to, room);
    bool last = x->state == X_SENDING && exchange_unsent(x) == 0;
    if (!n && !last) return NGHTTP2_ERR_DEFERRED;
    if (x->state == X_OPEN) look_later(user, s);
    moved(s, n);
    if (last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (last && s->trailers.n) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers(((Conn *)user)->h2, s);
    }
    return (ssize_t)n;
}

static void begin(Exchange *x, const Reply *reply)
{
    Stream *s = stream_of(x);
    Fields f = { .n = 0 };
    char status[8];
    nghttp2_data_provider body = { .source.ptr = s, .read_callback = on_read };
    bool empty = x->head_only || reply->status == 204 || (!reply->pieces && !reply->length);
    snprintf(status, sizeof status, "%d", reply->status);
    put_field(&f, ":status", status);
    put_field(&f, "date", loop_date(x->loop));
    reply_fields(reply, put_field, &f);
    nghttp2_submit_response(h2_of(x)->session, s->id, fields_done(&f), f.n, empty ? NULL : &body);
    stream_deadline(s, x->loop->options.idle_timeout_s);
    buf_free(&f.text);
}

static void send_bytes(Exchange *x, Str text)
{
    buf_str(&x->out, text);
    nghttp2_session_resume_data(h2_of(x)->session, stream_of(x)->id);
}

static void h2_end(Exchange *x, const ReplyField *trailers, size_t n)
{
    Stream *s = stream_of(x);
    for (size_t i = 0; i < n; i++) {
        buf_add(&s->trailers, trailers[i].name, strlen(trailers[i].name) + 1);
        buf_add(&s->trailers, trailers[i].value, strlen(trailers[i].value) + 1);
    }
    nghttp2_session_resume_data(h2_of(x)->session, s->id);
    stream_deadline(s, x->loop->options.body_timeout_s);
}

static void wake(Exchange *x)
{
    if (x->state == X_OPEN) look_later(x->conn, stream_of(x));
    h2_advance(x->conn);
}

static const Carrier h2_carrier = { arrived, consume, take, begin, send_bytes, h2_end, wake };

/* ---- streams ---- */
static Stream *new_stream(Conn *c, int32_t id)
{
    H2 *h = c->h2;
    Exchange *x = exchange_new(c, &h2_carrier, c->loop->now);
    Stream *s = x ? heap_resize(NULL, sizeof *s) : NULL;
    if (!s) return exchange_free(x), NULL;
    *s = (Stream){ .x = x, .id = id, .next = h->first, .link = &h->first };
    if (h->first) h->first->link = &s->next;
    h->first = s;
    h->live++;
    x->stream = s;
    x->trailers = true;
    stream_deadline(s, c->loop->options.header_timeout_s);
    conn_deadline(c, INFINITY); /* from now on streams have theirs */
    return s;
}

/* sent: the reply was, to its end. */
static void free_stream(Conn *c, Stream *s, bool sent)
{
    H2 *h = c->h2;
    if (sent) exchange_sent(s->x);
    else exchange_free(s->x);
    buf_free(&s->body);
    buf_free(&s->trailers);
    if (s->next) s->next->link = s->link;
    *s->link = s->next;
    heap_resize(s, 0);
    if (--h->live == 0) conn_deadline(c, c->loop->options.idle_timeout_s);
}

/* Tells the client that what came is gone, as far as more may come. */
static void settle(Conn *c, Stream *s)
{
    bool wants = s->x->state == X_READING || (s->x->state == X_OPEN && s->x->hungry);
    if (!wants || !s->owed) return;
    nghttp2_session_consume_stream(c->h2->session, s->id, s->owed);
    s->owed = 0;
}

static void h2_refuse(Stream *s, ef_code code, int status, const char *why)
{
    Err err = { 0 };
    fail(&err, code, "%s", why);
    exchange_refuse(s->x, &err, status ? status : err_kind(code)->http);
}

/* ---- heads ---- */
static void bad_head(Stream *s, int status, const char *why)
{
    if (s->status) return;
    s->status = status;
    s->why = why;
}

static void set_path(Exchange *x, Str target)
{
    const char *query = memchr(target.p, '?', target.n);
    x->path = exchange_keep(x, (Str){ target.p, query ? (size_t)(query - target.p) : target.n });
}

/* nghttp2 has checked that the number is one. */
static void set_length(Exchange *x, Str value)
{
    int64_t n = 0;
    x->length = str_int(value, &n) && n >= 0 ? (size_t)n : SIZE_MAX;
}

static void read_field(Stream *s, Str name, Str value)
{
    Exchange *x = s->x;
    if (str_is(name, ":method")) x->method = exchange_keep(x, value);
    else if (str_is(name, ":path")) set_path(x, value);
    else if (str_is(name, "content-length")) set_length(x, value);
    Header header = header_find(name);
    if (header == HEADERS) return;
    if (x->field[header].at && header_once(header))
        return bad_head(s, 400, "header: a field came twice");
    x->field[header] = exchange_keep(x, value);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *user)
{
    (void)flags, (void)user;
    Stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s || s->head_done) return 0; /* trailers are checked and forgotten, as in HTTP/1 */
    s->head_size += name_n + value_n + FIELD_COST;
    if (++s->fields > MOST_FIELDS) bad_head(s, 431, "header: too many fields");
    if (s->head_size > HEAD_LIMIT) bad_head(s, 431, "header: too long");
    if (!s->status)
        read_field(s, (Str){ (const char *)name, name_n }, (Str){ (const char *)value, value_n });
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Stream *s = new_stream(user, frame->hd.stream_id);
    if (!s) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return nghttp2_session_set_stream_user_data(session, s->id, s);
}

/* The end of the head, and perhaps of all. */
static void end_head(Stream *s, bool complete)
{
    Exchange *x = s->x;
    s->head_done = true;
    x->complete = complete;
    stream_deadline(s, x->loop->options.body_timeout_s);
    if (!x->path.at) x->path = exchange_keep(x, STR("")); /* CONNECT has none */
    ef_code code = s->status == 431 ? EF_TOO_LARGE : EF_BAD_REQUEST;
    if (s->status) return h2_refuse(s, code, s->status, s->why);
    if (exchange_head(x) && complete) exchange_complete(x);
}

static void end_request(Stream *s)
{
    Exchange *x = s->x;
    if (x->state == X_READING || x->state == X_OPEN) exchange_complete(x);
    x->complete = true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    Stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!s || !request) return 0;
    bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (!s->head_done) end_head(s, last);
    else if (last) end_request(s);
    if (s->x->state == X_WAITING) s->deadline = INFINITY; /* the job has its own */
    return 0;
}

/* ---- bodies ---- */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t n, void *user)
{
    (void)flags;
    Conn *c = user;
    Stream *s = nghttp2_session_get_stream_user_data(session, id);
    nghttp2_session_consume_connection(session, n); /* one stream must not stop the others */
    if (!s || (s->x->state != X_READING && s->x->state != X_OPEN)) return 0;
    Exchange *x = s->x;
    Err err = { 0 };
    bool kept = buf_try(&s->body, n);
    if (kept) buf_add(&s->body, data, n);
    s->owed += n;
    moved(s, n);
    if (x->state == X_OPEN) look_later(c, s);
    exchange_count(x, MAX(s->body.cap, x->most == SIZE_MAX ? 0 : x->length));
    if (!kept)
        h2_refuse(s, EF_UNAVAILABLE, 0, "out of memory for the body: try again");
    else if (x->state == X_READING && s->body.n > x->most)
        h2_refuse(s, EF_TOO_LARGE, 0, "body: found more than the limit");
    else if (x->state == X_READING && !loop_has_room(x->loop, x->counted, &err)) {
        exchange_count(x, s->body.cap); /* the rest is not waited for */
        h2_refuse(s, err.code, 0, err.message);
    }
    settle(c, s);
    return 0;
}

/* ---- ends ---- */
/* After a reply that did not wait for the request's end, the rest is not wanted. But some clients
 * forget the reply when they are told so at once. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    Stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool reply = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (s && reply && frame->hd.flags & NGHTTP2_FLAG_END_STREAM && !s->x->complete)
        stream_deadline(s, linger_s);
    return 0;
}

/* A client may change its mind now and then; one that does nothing else is an attack, also when it
 * makes us reset its streams. */
static void count_reset(Conn *c)
{
    H2 *h = c->h2;
    double now = c->loop->now;
    h->resets = MIN(RESETS, h->resets + (now - h->resets_at) * RESETS_A_SECOND) - 1;
    h->resets_at = now;
    if (h->resets >= 0) return;
    log_debug("HTTP/2: too many streams were reset");
    nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    Conn *c = user;
    Stream *s = nghttp2_session_get_stream_user_data(session, id);
    bool sent = s && code == NGHTTP2_NO_ERROR && s->x->state == X_SENDING &&
                !exchange_unsent(s->x);
    if (!sent) count_reset(c);
    if (s) free_stream(c, s, sent);
    return 0;
}

static bool new_session(Conn *c)
{
    nghttp2_session_callbacks *calls;
    nghttp2_option *option;
    if (nghttp2_session_callbacks_new(&calls)) return false;
    if (nghttp2_option_new(&option)) return nghttp2_session_callbacks_del(calls), false;
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(calls, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    int failed = nghttp2_session_server_new2(&c->h2->session, calls, c, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(calls);
    return !failed;
}

/* ---- bytes ---- */
/* More frames, when those before are with the system. */
static bool fill(H2 *h)
{
    h->out.n = h->written = 0;
    while (h->out.n < OUT_SIZE) {
        const uint8_t *frames;
        ssize_t n = nghttp2_session_mem_send(h->session, &frames);
        if (n < 0) return false;
        if (n == 0) break;
        buf_add(&h->out, frames, (size_t)n);
    }
    if (!h->out.n && !h->first) buf_free(&h->out); /* idle ones hold nothing */
    return true;
}

/* true: all frames that could be sent are with the system. */
static bool flush(Conn *c)
{
    H2 *h = c->h2;
    for (;;) {
        if (h->written == h->out.n && !fill(h)) return conn_close(c), false;
        if (h->out.n == 0) return true;
        struct iovec part = { h->out.p + h->written, h->out.n - h->written };
        size_t n = io_write(c, &part, 1);
        if (c->broken) return conn_close(c), false;
        if (!n) return false;
        h->written += n;
        h->moved = c->loop->now;
    }
}

/* What is no HTTP/2 at all ends it; what breaks its rules is answered by nghttp2. */
static void feed(Conn *c, const char *bytes, size_t n)
{
    nghttp2_session *session = c->h2->session;
    if (nghttp2_session_mem_recv(session, (const uint8_t *)bytes, n) < 0)
        nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
}

/* true: bytes came. */
static bool receive(Conn *c)
{
    size_t n = io_read(c, c->loop->scratch, READ_SIZE);
    if (n) feed(c, c->loop->scratch, n);
    return n > 0;
}

/* Handlers whose streams have moved look at them. */
static void poke(Conn *c)
{
    H2 *h = c->h2;
    h->poked = false;
    for (Stream *s = h->first; s; s = s->next) {
        Exchange *x = s->x;
        bool look = s->poked && x->state == X_OPEN;
        s->poked = false;
        if (look) exchange_advance(x);
        if (look) exchange_count(x, s->body.cap + x->out.cap);
        settle(c, s);
    }
}

static bool over(const H2 *h)
{
    bool done = !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session);
    return (done || (h->stopping && h->live == 0)) && h->written == h->out.n;
}

/* As far as it goes with what is there; but others want their turn too. */
void h2_advance(Conn *c)
{
    int turns = TURNS;
    for (bool more = true; more && turns--;) {
        if (c->h2->poked) poke(c);
        if (!flush(c)) break; /* who does not read is not read either */
        if (over(c->h2)) return conn_finish(c);
        more = receive(c) || c->h2->poked;
    }
    if (c->state != CONN_OPEN) return;
    if (c->ended) return conn_close(c);
    if (turns < 0) loop_again(c->loop, c);
}

/* ---- what the connection tells ---- */
bool h2_greets(Str bytes, bool *maybe)
{
    size_t all = sizeof preface - 1, n = MIN(bytes.n, all);
    bool same = memcmp(bytes.p, preface, n) == 0;
    *maybe = same && n < all;
    return same && n == all;
}

static const nghttp2_settings_entry settings[] = {
    { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS },
    { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW },
    { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEAD_LIMIT },
};

void h2_start(Conn *c)
{
    H2 *h = c->h2 = heap_resize(NULL, sizeof *h);
    if (!h) return conn_close(c);
    *h = (H2){ .resets = RESETS, .resets_at = c->loop->now, .moved = c->loop->now };
    if (!new_session(c)) return conn_close(c);
    nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, COUNT(settings));
    nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, SHARED_WINDOW);
    if (c->loop->draining) nghttp2_submit_shutdown_notice(h->session);
    conn_deadline(c, c->loop->options.idle_timeout_s);
    feed(c, c->in.p, c->in.n);
    buf_free(&c->in);
}

void h2_free(Conn *c)
{
    H2 *h = c->h2;
    if (!h) return;
    while (h->first) free_stream(c, h->first, false);
    nghttp2_session_del(h->session);
    buf_free(&h->out);
    heap_resize(h, 0);
    c->h2 = NULL;
}

static void reset(nghttp2_session *session, Stream *s)
{
    bool answered = s->x->state == X_SENDING && !exchange_unsent(s->x);
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id,
                              answered ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
    s->deadline = INFINITY;
}

/* A head that never ends stands in the way of all others; a body that does not come, or a reply
 * that is not taken, ends its own stream only. */
static void expire(Conn *c, Stream *s)
{
    nghttp2_session *session = c->h2->session;
    if (!s->head_done)
        nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
    else if (s->x->state == X_READING)
        h2_refuse(s, EF_TIMEOUT, 0, "the request did not arrive in time");
    else
        reset(session, s);
}

void h2_tick(Conn *c)
{
    H2 *h = c->h2;
    const Loop *loop = c->loop;
    bool stuck = h->written < h->out.n && loop->now - h->moved > loop->options.body_timeout_s;
    if (stuck) return conn_close(c);
    for (Stream *s = h->first; s; s = s->next) {
        bool open = s->x->state == X_OPEN;
        if (open) look_later(c, s);
        if (open && (s->x->away || s->x->patient)) stream_deadline(s, loop->options.idle_timeout_s);
        if (s->deadline > loop->now) continue;
        expire(c, s);
        h->poked = true;
    }
    if (h->poked) h2_advance(c);
}

/* There was no request for a while; or the last words were not taken. */
void h2_expire(Conn *c)
{
    H2 *h = c->h2;
    if (h->stopping) return conn_close(c);
    h->stopping = true;
    conn_deadline(c, c->loop->options.header_timeout_s);
    nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
    h2_advance(c);
}

void h2_notice(Conn *c)
{
    nghttp2_submit_shutdown_notice(c->h2->session);
    h2_advance(c);
}

void h2_stop(Conn *c)
{
    H2 *h = c->h2;
    h->stopping = true;
    nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
    h2_advance(c);
}

bool h2_idle(const H2 *h)
{
    return h->live == 0;
}

void h2_census(const H2 *h, int states[X_STATES])
{
    for (const Stream *s = h->first; s; s = s->next) states[s->x->state]++;
}
