/* SPDX-License-Identifier: Apache-2.0
 * list.c - routes whose body is a list of requests (JobList): {in: [..]} to {out: [..]}. Each is
 * run by itself; the first that fails is the answer for all. */
#include "base/heap.h"
#include "data/json.h"
#include "loop.h"

enum { WINDOW = 64, BODY_BYTES = 4 << 20, BODY_VALUES = 1 << 20 }; /* read on the loop's thread */

typedef struct ListRun {
    Arena arena;
    Value requests;              /* a list */
    Job **job;                   /* [requests]: those before `next` are submitted, */
    bool *back;                  /*   these have their reply: */
    size_t next, n_back;
    bool failed;                 /* an error is on its way to the client */
} ListRun;

static void list_end(Exchange *x)
{
    ListRun *v = x->own;
    if (!v) return;
    for (size_t i = 0; i < v->next; i++) {
        if (v->back[i]) job_free(v->job[i]);
        else work_abandon(&v->job[i]->work);
    }
    arena_free(&v->arena);
    heap_resize(v, 0);
    x->own = NULL;
}

/* ---- in ---- */
static bool read_requests(const Exchange *x, ListRun *v, Err *err)
{
    Value root;
    Str body = exchange_body(x); /* may move when more is read: it is copied */
    if (!media_is(exchange_header(x, HEADER_CONTENT_TYPE), "application/json") || x->gzip_body)
        return fail(err, EF_MEDIA_TYPE, "Expected request with `Content-Type: application/json`");
    if (body.n > BODY_BYTES)
        return fail(err, EF_TOO_LARGE, "body: found %zu bytes, wanted at most %d", body.n,
                    BODY_BYTES);
    body.p = str_dup(&v->arena, body);
    if (!json_parse_most(&v->arena, body, BODY_VALUES, &root, err)) return false;
    const char *key = x->route->list->in;
    const Value *list = value_get(&root, key);
    if (!list || list->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "%s: found %s, wanted a list", key,
                    list ? value_kind_name(list->kind) : "nothing");
    size_t most = x->loop->site.max_inputs;
    if (list->list.n == 0) return fail(err, EF_EMPTY, "%s: found none", key);
    if (list->list.n > most)
        return fail(err, EF_INVALID_INPUT, "%s: found %zu, wanted at most %zu", key, list->list.n,
                    most);
    v->requests = *list;
    return true;
}

static void list_fill_job(Job *job, const JobKind *kind, const Value *request)
{
    json_write(&job->in.storage, request);
    job->in.body = buf_view(&job->in.storage);
    job->in.kind = kind;
}

static void list_refuse(Exchange *x, const Err *err)
{
    ((ListRun *)x->own)->failed = true;
    exchange_fail(x, err);
}

/* As many as may run at a time; a full queue is waited for while some of ours are in it. */
static void list_submit(Exchange *x)
{
    ListRun *v = x->own;
    Err err = { 0 };
    while (!v->failed && v->next < v->requests.list.n && v->next - v->n_back < WINDOW) {
        size_t at = v->next;
        Job *job = v->job[at] = job_new();
        v->back[v->next++] = true; /* not in the session: freed by end() */
        list_fill_job(job, x->route->list->kind, &v->requests.list.items[at]);
        v->back[at] = !exchange_submit(x, job, &err);
        if (!v->back[at]) continue;
        v->next--;
        job_free(job);
        if (err.code != EF_OVERLOADED || v->next == v->n_back) list_refuse(x, &err);
        return;
    }
}

static void list_serve(Exchange *x)
{
    ListRun *v = x->own = heap_resize(NULL, sizeof *v);
    Err err = { 0 };
    if (!v) return fail(&err, EF_OVERLOADED, "no memory: try again"), exchange_fail(x, &err);
    *v = (ListRun){ 0 };
    if (!read_requests(x, v, &err)) return list_refuse(x, &err);
    exchange_count(x, exchange_body(x).n);
    v->job = ARRAY(&v->arena, Job *, v->requests.list.n);
    v->back = ARRAY(&v->arena, bool, v->requests.list.n);
    list_submit(x);
}

/* ---- out ---- */
static void list_answer(Exchange *x)
{
    const ListRun *v = x->own;
    Buf *text = &x->kept;
    buf_printf(text, "{\"%s\":[", x->route->list->out);
    for (size_t i = 0; i < v->next; i++) {
        if (i) buf_char(text, ',');
        buf_str(text, buf_view(&v->job[i]->out.text));
    }
    buf_puts(text, "]}");
    exchange_reply_kept(x, (Reply){ .status = 200 });
}

static void list_returned(Exchange *x, Job *job)
{
    ListRun *v = x->own;
    size_t at = 0;
    while (v->job[at] != job) at++;
    v->back[at] = true;
    v->n_back++;
    if (v->failed) return;
    if (job->work.err.code != EF_OK) {
        within(&job->work.err, "%s[%zu]", x->route->list->in, at);
        return list_refuse(x, &job->work.err);
    }
    if (v->n_back == v->requests.list.n) list_answer(x);
    else list_submit(x);
}

const Handler list_handler = { .serve = list_serve, .advance = list_submit, .returned = list_returned,
                               .end = list_end };
