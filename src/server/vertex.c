/* SPDX-License-Identifier: Apache-2.0
 * vertex.c - POST /vertex, as Google's Vertex AI calls text-embeddings-inference:
 * {"instances": [..]} to {"predictions": [..]}. Each instance is a request of `POST /` by itself and
 * is run as one; the first that fails is the answer for all. */
#include "base/heap.h"
#include "data/json.h"
#include "loop.h"

enum { WINDOW = 64, BODY_BYTES = 4 << 20, BODY_VALUES = 1 << 20 }; /* read on the loop's thread */

typedef struct Vertex {
    Arena arena;
    Value instances;             /* a list */
    Job **job;                   /* [instances]: those before `next` are submitted, */
    bool *back;                  /*   these have their reply: */
    size_t next, n_back;
    bool failed;                 /* an error is on its way to the client */
} Vertex;

static void end(Exchange *x)
{
    Vertex *v = x->own;
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
static bool read_instances(const Exchange *x, Vertex *v, Err *err)
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
    const Value *list = value_get(&root, "instances");
    if (!list || list->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "instances: found %s, wanted a list",
                    list ? value_kind_name(list->kind) : "nothing");
    size_t most = x->loop->site.max_inputs;
    if (list->list.n == 0) return fail(err, EF_EMPTY, "instances: found none");
    if (list->list.n > most)
        return fail(err, EF_INVALID_INPUT, "instances: found %zu, wanted at most %zu",
                    list->list.n, most);
    v->instances = *list;
    return true;
}

static void fill_job(Job *job, const Value *instance)
{
    json_write(&job->in.storage, instance);
    job->in.body = buf_view(&job->in.storage);
    job->in.kind = &kind_hub;
}

static void refuse(Exchange *x, const Err *err)
{
    ((Vertex *)x->own)->failed = true;
    exchange_fail(x, err);
}

/* As many as may run at a time; a full queue is waited for while some of ours are in it. */
static void submit(Exchange *x)
{
    Vertex *v = x->own;
    Err err = { 0 };
    while (!v->failed && v->next < v->instances.list.n && v->next - v->n_back < WINDOW) {
        size_t at = v->next;
        Job *job = v->job[at] = job_new();
        v->back[v->next++] = true; /* not in the session: freed by end() */
        fill_job(job, &v->instances.list.items[at]);
        v->back[at] = !exchange_submit(x, job, &err);
        if (!v->back[at]) continue;
        v->next--;
        job_free(job);
        if (err.code != EF_OVERLOADED || v->next == v->n_back) refuse(x, &err);
        return;
    }
}

static void serve(Exchange *x)
{
    Vertex *v = x->own = heap_resize(NULL, sizeof *v);
    Err err = { 0 };
    if (!v) return fail(&err, EF_OVERLOADED, "no memory: try again"), exchange_fail(x, &err);
    *v = (Vertex){ 0 };
    if (!read_instances(x, v, &err)) return refuse(x, &err);
    exchange_count(x, exchange_body(x).n);
    v->job = ARRAY(&v->arena, Job *, v->instances.list.n);
    v->back = ARRAY(&v->arena, bool, v->instances.list.n);
    submit(x);
}

/* ---- out ---- */
static void answer(Exchange *x)
{
    const Vertex *v = x->own;
    Buf *text = &x->kept;
    buf_puts(text, "{\"predictions\":[");
    for (size_t i = 0; i < v->next; i++) {
        if (i) buf_char(text, ',');
        buf_str(text, buf_view(&v->job[i]->out.text));
    }
    buf_puts(text, "]}");
    exchange_reply_kept(x, (Reply){ .status = 200 });
}

static void returned(Exchange *x, Job *job)
{
    Vertex *v = x->own;
    size_t at = 0;
    while (v->job[at] != job) at++;
    v->back[at] = true;
    v->n_back++;
    if (v->failed) return;
    if (job->work.err.code != EF_OK) {
        within(&job->work.err, "instances[%zu]", at);
        return refuse(x, &job->work.err);
    }
    if (v->n_back == v->instances.list.n) answer(x);
    else submit(x);
}

const Handler vertex_handler = { .serve = serve, .advance = submit, .returned = returned,
                                 .end = end };
