/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - from a request's head to the end of its reply: who asks and for what, the pages, the
 * way to the session and back, errors. */
#include "base/heap.h"
#include "base/thread.h"
#include "loop.h"
#include "web.h"

Exchange *exchange_new(Conn *c, const Carrier *carrier, double began)
{
    Exchange *x = heap_resize(NULL, sizeof *x);
    if (!x) return NULL;
    *x = (Exchange){ .loop = c->loop, .conn = c, .carrier = carrier, .began = began,
                     .hungry = true, .most = c->loop->options.max_body };
    return x;
}

void exchange_count(Exchange *x, size_t bytes)
{
    budget_count(x->loop->budget, &x->counted, bytes);
}

/* Jobs on their way come back to it, so it lies there until the last of them has. */
void exchange_free(Exchange *x)
{
    if (!x) return;
    if (x->job && x->state == X_WAITING) work_abandon(&x->job->work);
    else job_free(x->job);
    x->job = NULL;
    if (x->handler && x->handler->end) x->handler->end(x);
    exchange_count(x, 0);
    buf_free(&x->head);
    buf_free(&x->out);
    buf_free(&x->kept);
    x->conn = NULL;
    if (x->away == 0) heap_resize(x, 0);
}

void exchange_sent(Exchange *x)
{
    x->ended = now_seconds(); /* the loop's own clock stands while it answers */
    metrics_answered(x);
    access_log(x);
    tracer_add(x->loop->tracer, x);
    exchange_free(x);
}

/* ---- the request ---- */
HttpSpan exchange_keep(Exchange *x, Str text)
{
    if (x->head.n == 0) buf_char(&x->head, ' ');
    HttpSpan at = { x->head.n, text.n };
    buf_str(&x->head, text);
    return at;
}

static Str view(const Exchange *x, HttpSpan span)
{
    return (Str){ span.at ? x->head.p + span.at : NULL, span.n };
}

Str exchange_method(const Exchange *x)
{
    return view(x, x->method);
}

Str exchange_path(const Exchange *x)
{
    return view(x, x->path);
}

Str exchange_header(const Exchange *x, Header field)
{
    return view(x, x->field[field]);
}

Str exchange_body(const Exchange *x)
{
    return x->carrier->arrived(x);
}

void exchange_consume(Exchange *x, size_t bytes)
{
    x->carrier->consume(x, bytes);
}

/* ---- the reply ---- */
void exchange_begin(Exchange *x, Reply head)
{
    if (!head.type && head.status != 204) head.type = "application/json";
    head.request_id = x->id[0] ? x->id : NULL;
    head.origin = x->origin;
    x->status = head.status;
    x->pieces = head.pieces;
    x->answered = now_seconds();
    x->carrier->begin(x, &head);
}

void exchange_send(Exchange *x, Str text)
{
    if (text.n && !x->head_only) x->carrier->send(x, text);
}

void exchange_end(Exchange *x, const ReplyField *trailers, size_t n)
{
    x->state = X_SENDING;
    x->carrier->end(x, trailers, n);
}

size_t exchange_unsent(const Exchange *x)
{
    return x->out.n + x->rest.n - x->written;
}

void exchange_reply(Exchange *x, Reply head, Str body)
{
    head.length = body.n;
    exchange_begin(x, head);
    if (!x->head_only) x->rest = body;
    exchange_end(x, NULL, 0);
}

void exchange_reply_kept(Exchange *x, Reply head)
{
    exchange_reply(x, head, buf_view(&x->kept));
}

/* Whose form an error has: where two families share a path, the body decides; before it is read, the
 * route; without a route, the server. */
static const Family *family_of(const Exchange *x)
{
    if (x->job) return kind_of(x->job)->family;
    return x->route ? x->route->family : x->loop->options.preferred;
}

void exchange_refuse(Exchange *x, const Err *err, int status)
{
    const Handler *handler = x->route ? x->route->handler : NULL;
    if (handler && handler->error) return handler->error(x, err, status);
    error_write(&x->kept, err, status, family_of(x));
    int retry = err->code == EF_OVERLOADED || err->code == EF_UNAVAILABLE;
    exchange_reply_kept(x, (Reply){ .status = status, .allow = x->allow, .retry_after = retry });
}

void exchange_fail(Exchange *x, const Err *err)
{
    exchange_refuse(x, err, error_status(err, family_of(x)));
}

/* ---- who asks, and for what ---- */
static bool plain_id(Str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] > '~' || id.p[i] == '"' || id.p[i] == '\\') return false;
    return id.n > 0 && id.n < ID_ROOM;
}

/* The client's own, if it may stand in a log. */
static void name_request(Exchange *x)
{
    Str given = exchange_header(x, HEADER_REQUEST_ID);
    if (plain_id(given)) snprintf(x->id, sizeof x->id, "%.*s", STR_ARG(given));
    else snprintf(x->id, sizeof x->id, "%016llx", (unsigned long long)x->loop->next_id++);
}

static bool read_coding(Exchange *x, Err *err)
{
    Str coding = exchange_header(x, HEADER_CONTENT_ENCODING);
    x->gzip_body = media_is(coding, "gzip") || media_is(coding, "x-gzip");
    if (!coding.p || x->gzip_body || media_is(coding, "identity")) return true;
    return fail(err, EF_MEDIA_TYPE, "Content-Encoding: wanted gzip or identity");
}

/* false: err says what is wrong. OPTIONS has no route, only x->allow. */
static bool judge(Exchange *x, Err *err)
{
    const Loop *loop = x->loop;
    Asked asked = { exchange_method(x), exchange_path(x), exchange_header(x, HEADER_CONTENT_TYPE) };
    name_request(x);
    x->head_only = str_is(asked.method, "HEAD");
    x->gzip_reply = head_accepts_gzip(exchange_header(x, HEADER_ACCEPT_ENCODING));
    x->origin = access_origin(loop, exchange_header(x, HEADER_ORIGIN));
    x->route = route_find(&loop->site, asked, &x->allow, err);
    if (!x->route) return str_is(asked.method, "OPTIONS") && x->allow;
    if (loop->options.no_http && !route_media(x->route))
        return fail(err, EF_NOT_FOUND, "HTTP is disabled: this server speaks gRPC");
    return access_allowed(loop, x->route, exchange_header(x, HEADER_AUTHORIZATION), err) &&
           route_check(x->route, &loop->site, err) && route_accepts(x->route, &loop->site, asked.type, err) &&
           read_coding(x, err);
}

static const Handler *handler_of(const Exchange *x)
{
    bool lines = media_is(exchange_header(x, HEADER_CONTENT_TYPE), "application/x-ndjson");
    if (!x->route) return NULL;
    return x->route->line && lines ? &line_handler : x->route->handler;
}

/* What comes and goes in pieces is not unpacked, and HTTP/1.0 cannot say it. */
static bool takes_pieces(const Exchange *x, Err *err)
{
    if (!x->one_piece && !x->gzip_body) return true;
    return fail(err, EF_MEDIA_TYPE,
                "application/x-ndjson: wanted HTTP/1.1 and no Content-Encoding");
}

static bool fits(const Exchange *x, Err *err)
{
    Str said = exchange_header(x, HEADER_CONTENT_LENGTH); /* may be beyond every number of ours */
    if (x->length <= x->most) return true;
    return fail(err, EF_TOO_LARGE, "body: found %.*s bytes, wanted at most %zu",
                (int)MIN(said.n, 80), said.p, x->most);
}

bool exchange_head(Exchange *x)
{
    Err err = { 0 };
    bool ok = judge(x, &err);
    const Handler *handler = ok ? handler_of(x) : NULL;
    bool early = handler && handler->early;
    if (early) x->most = SIZE_MAX;
    ok = ok && (early ? takes_pieces(x, &err) : fits(x, &err));
    if (!ok) return exchange_fail(x, &err), false;
    x->handler = handler;
    if (!early) return true;
    x->state = X_OPEN;
    handler->serve(x);
    return true;
}

/* ---- the whole of a request ---- */
bool exchange_submit(Exchange *x, Job *job, Err *err)
{
    Loop *loop = x->loop;
    job->work.done = loop_return;
    job->work.context = x;
    job->work.to = loop;
    job->work.share = x->conn->share;
    job->work.budget.beside = x->counted + x->conn->counted;
    if (!job->work.deadline) job->work.deadline = loop->now + loop->options.request_timeout_s;
    x->away++;
    __atomic_add_fetch(&loop->server->jobs, 1, __ATOMIC_RELAXED);
    loop_lend(loop, 1); /* before: it may be back before we are */
    if (job_submit(loop->session, job, err)) return true;
    loop_lend(loop, -1);
    __atomic_sub_fetch(&loop->server->jobs, 1, __ATOMIC_RELAXED);
    x->away--;
    return false;
}

void exchange_run(Exchange *x, Job *job)
{
    Err err = { 0 };
    exchange_count(x, 0); /* the job counts for itself */
    x->state = X_WAITING;
    x->job = job;
    if (exchange_submit(x, job, &err)) return;
    x->job = NULL;
    job_free(job);
    exchange_fail(x, &err);
}

static void run_body(Exchange *x)
{
    Str type = exchange_header(x, HEADER_CONTENT_TYPE);
    Job *job = x->job = job_new();
    x->carrier->take(x, job);
    job->in.kind = x->route->job;
    if (route_takes_files(x->route, &x->loop->site, type))
        job->in.type = job_text(job, type.n ? type : STR("application/octet-stream"));
    job->in.gzip = x->gzip_body;
    job->in.most = x->loop->options.max_body;
    job->in.gzip_from = x->gzip_reply ? x->loop->options.gzip_from : 0;
    exchange_run(x, job);
}

static void show_page(Exchange *x)
{
    const char *web = x->route->web;
    if (web && (!x->route->render || web_wanted(exchange_header(x, HEADER_ACCEPT))))
        return web_reply(x, web);
    const Page *page = &x->loop->page[x->route - x->loop->site.route];
    bool packed = x->gzip_reply && page->packed.n;
    const ReplyField vary = { "Vary", "Accept" }; /* a cache must not mix both */
    exchange_reply(x, (Reply){ .status = 200, .gzip = packed, .extra = &vary, .n_extra = web != NULL },
                   buf_view(packed ? &page->packed : &page->plain));
}

void exchange_complete(Exchange *x)
{
    x->complete = true;
    if (x->state == X_OPEN) return exchange_advance(x);
    if (x->state != X_READING) return; /* its head was enough for an answer */
    if (!x->route)
        return exchange_reply(x, (Reply){ .status = 204, .allow = x->allow,
                                          .preflight = x->origin }, (Str){ 0 });
    if (x->route->render || x->route->web) return show_page(x);
    if (!x->handler) return run_body(x);
    x->state = X_OPEN;
    x->handler->serve(x);
}

void exchange_advance(Exchange *x)
{
    if (x->state == X_OPEN && x->handler->advance) x->handler->advance(x);
}

void exchange_break(Exchange *x, const Err *err)
{
    if (x->state == X_OPEN && x->handler->broken) x->handler->broken(x, err);
}

/* ---- back from the session ---- */
size_t exchange_told(const Family *family, const Job *job, Told *told)
{
    size_t n = family->fields ? family->fields(job, told->room) : 0;
    for (size_t i = 0; i < n; i++)
        told->field[i] = (ReplyField){ told->room[i].name, told->room[i].value };
    return n;
}

/* One family at most has such fields. */
static size_t told_by_any(const Job *job, Told *told)
{
    size_t n = 0;
    for (int i = 0; families[i] && !n; i++) n = exchange_told(families[i], job, told);
    return n;
}

enum { TIMING_ROOM = 160 };

/* What became of a request's milliseconds, as "queue;dur=0.125, ...": until its last byte was there, made ready (JSON,
 * tokens, pixels), waiting, run, and all of them. */
static void tell_timing(const Exchange *x, const Job *job, char out[TIMING_ROOM])
{
    const WorkTimes *t = &job->work.times;
    const struct { const char *name; double from, to; } spans[] = {
        { "receive", x->began, t->entered },
        { ", prepare", t->entered, t->admitted },
        { ", queue", t->admitted, t->started },
        { ", compute", t->started, t->done },
        { ", total", x->began, now_seconds() },
    };
    for (size_t i = 0, n = 0; i < COUNT(spans) && n < TIMING_ROOM; i++) {
        double from = spans[i].from, to = spans[i].to;
        long long us = from > 0 && to > from ? (long long)((to - from) * 1e6) : 0;
        n += (size_t)snprintf(out + n, TIMING_ROOM - n, "%s;dur=%lld.%03lld", spans[i].name, us / 1000, us % 1000);
    }
}

static void exchange_answer(Exchange *x, Job *job)
{
    Told told;
    char timing[TIMING_ROOM];
    job_shrink(job); /* the client may take its time */
    if (job->work.err.code != EF_OK) return exchange_fail(x, &job->work.err);
    size_t n = told_by_any(job, &told);
    tell_timing(x, job, timing);
    told.field[n++] = (ReplyField){ "Server-Timing", timing };
    exchange_reply(x, (Reply){ .status = 200, .gzip = job->out.gzip, .extra = told.field, .n_extra = n },
                   buf_view(&job->out.text));
}

void exchange_returned(Exchange *x, Job *job)
{
    x->away--;
    __atomic_sub_fetch(&x->loop->server->jobs, 1, __ATOMIC_RELAXED);
    if (!x->conn) {
        job_free(job);
        if (x->away == 0) heap_resize(x, 0);
        return;
    }
    x->conn->share = MAX(x->conn->share, job->work.share); /* of several at once: in any order */
    if (x->state == X_WAITING) x->state = X_OPEN;
    if (x->job) metrics_returned(x, job);
    if (x->handler && x->handler->returned) x->handler->returned(x, job);
    else exchange_answer(x, job);
    x->carrier->wake(x);
}
