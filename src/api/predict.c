/* SPDX-License-Identifier: Apache-2.0
 * predict.c - inputs through a model: ef_predict, ef_run, the same without waiting, and replies. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "api/guard_call.h"
#include "api/handle.h"
#include "base/heap.h"
#include "data/json.h"
#include "dialect/pipeline.h"
#include "model/model.h"

/* ---- parameters ---- */

/* v: NULL without parameters. */
static bool parse_params(Job *job, const char *json, Value **v, Err *err)
{
    Arena *arena = &job->work.arena;
    *v = json ? NEW(arena, Value) : NULL;
    return !json || json_parse(arena, str_of(str_dup(arena, str_of(json))), *v, err) || within(err, "params_json");
}

static bool read_params(const Session *session, Job *job, const char *json, Err *err)
{
    Value *params;
    if (!parse_params(job, json, &params, err)) return false;
    if (!params || job_options(session, job, params)) return true;
    return fail(err, job->work.err.code, "%s", job->work.err.message);
}

/* ---- calls ---- */

typedef struct PredictCall {
    ef_model *m;
    const ef_input *in;
    size_t count;
    const char *params;
    Job *job;
    ef_reply *reply;
    Err err;
    const char *task;      /* of ef_run */
} PredictCall;

static bool take_call(PredictCall *c)
{
    return inputs_take(c->m->model, c->job, c->in, c->count, &c->err);
}

static void api_fill_job(void *call)
{
    PredictCall *c = call;
    c->job = job_new();
    if (take_call(c)) read_params(c->m->session, c->job, c->params, &c->err);
}

/* A pipeline's call: what the inputs became is written down again, as a body has it. */
static void fill_pipeline(void *call)
{
    PredictCall *c = call;
    Value *params;
    c->job = job_new();
    if (!take_call(c) || !parse_params(c->job, c->params, &params, &c->err)) return;
    Arena *arena = &c->job->work.arena;
    Value *tree = NEW(arena, Value), inputs = value_list(arena, c->count);
    for (size_t i = 0; i < c->count; i++) {
        if (c->job->work.item[i].cut) {
            fail(&c->err, EF_UNSUPPORTED, "input %zu: found words, wanted a text: ef_predict takes words", i);
            return;
        }
        inputs.list.items[i] = pipeline_input(arena, c->m->model->items, &c->job->work.item[i]);
    }
    *tree = value_map(arena, 3);
    if (c->task) value_add(tree, "task", value_of_text(str_dup(arena, str_of(c->task))));
    if (c->count) value_add(tree, "inputs", c->count == 1 ? inputs.list.items[0] : inputs);
    if (params) value_add(tree, "parameters", *params);
    c->job->in.kind = &kind_pipeline;
    c->job->in.tree = tree;
}

/* ---- the reply ---- */

/* The numbers of an item's choices, each of which is a row. */
static const float *choice_numbers(const Work *work, size_t i, Arena *arena)
{
    float *out = ARRAY(arena, float, work_rows(work, i));
    for (size_t r = 0; r < work_rows(work, i); r++)
        out[r] = work_result(work, work_row(work, i) + r)->data[0];
    return out;
}

/* Of an item with several rows: for choices all of them, for windows the first. */
static void view_rows(const ef_model *m, const Work *work, ef_reply *r)
{
    r->tensor = ARRAY(&r->arena, ef_tensor, work->n + 1);
    for (size_t i = 0; i < work->n; i++) {
        const TaskTensor *result = work_result(work, work_row(work, i));
        ef_tensor *t = &r->tensor[i];
        *t = (ef_tensor){ .struct_size = sizeof *t, .name = m->output, .data = result->data };
        if (m->model->task->shape->per != PER_TEXT) t->dim[t->rank++] = result->tokens;
        t->dim[t->rank++] = result->width;
        if (!task_can(m->model->task, NULL, CAN_CHOOSE)) continue;
        t->data = choice_numbers(work, i, &r->arena);
        t->dim[0] = (int64_t)work_rows(work, i);
    }
}

static void make_reply(void *call)
{
    PredictCall *c = call;
    JobReply *out = &c->job->out;
    Arena arena = { 0 };
    if (out->text.n == 0) json_write(&out->text, &out->value);
    buf_char(&out->text, 0);
    ef_reply *r = NEW(&arena, ef_reply);
    *r = (ef_reply){ .arena = arena, .job = c->job, .model = c->m->model };
    if (c->job->work.result && !c->job->in.exact) view_rows(c->m, &c->job->work, r);
    c->reply = r;
}

/* The call as a job that can run; false: it has its error. */
static bool fill_call(PredictCall *c, void (*fill)(void *))
{
    return process_check(c->m->process, "the model", &c->err) && guard_call(fill, c, &c->err) &&
           c->err.code == EF_OK;
}

/* Of a job that was run, or never could be: the reply, or NULL and the error. */
static ef_reply *reply_of(PredictCall *c, ef_error *err)
{
    if (c->err.code == EF_OK) c->err = c->job->work.err;
    if (c->err.code == EF_OK) guard_call(make_reply, c, &c->err);
    if (c->reply) return c->reply;
    job_free(c->job);
    fail(err, c->err.code, "%s", c->err.message);
    return NULL;
}

/* The session guards its own work. */
static ef_reply *answer_call(PredictCall *c, void (*fill)(void *), ef_error *err)
{
    if (fill_call(c, fill)) job_run(c->m->session, c->job);
    return reply_of(c, err);
}

ef_reply *ef_predict(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                     ef_error *err)
{
    return answer_call(&(PredictCall){ m, in, count, params_json, .task = NULL }, api_fill_job, err);
}

ef_reply *ef_run(ef_model *m, const char *task, const ef_input *in, size_t count, const char *params_json,
                 ef_error *err)
{
    return answer_call(&(PredictCall){ m, in, count, params_json, .task = task }, fill_pipeline, err);
}

/* ---- calls that nobody waits for ---- */

struct ef_call {
    PredictCall call;
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool over, cancelled;
    void (*done)(void *own);
    void *own;
};

/* On a thread of the session. Once it is over its owner may release it. */
static void call_over(Work *work)
{
    ef_call *c = work->context;
    void (*done)(void *) = c->done;
    void *own = c->own;
    budget_leave(&work->budget); /* from now on it is the caller's alone */
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
    if (done) done(own);
}

static ef_call *call_new(Err *err)
{
    pthread_condattr_t clock;
    ef_call *c = heap_resize(NULL, sizeof *c);
    if (!c) return fail(err, EF_IO, "no memory for %zu bytes", sizeof *c), NULL;
    *c = (ef_call){ 0 };
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->came, &clock);
    pthread_condattr_destroy(&clock);
    return c;
}

static void call_free(ef_call *c)
{
    pthread_cond_destroy(&c->came);
    pthread_mutex_destroy(&c->lock);
    heap_resize(c, 0);
}

static ef_call *start_call(ef_call *c, void (*fill)(void *), ef_error *err)
{
    PredictCall *call = &c->call;
    bool ok = fill_call(call, fill);
    if (ok) {
        call->job->work.done = call_over;
        call->job->work.context = c;
        ok = job_submit(call->m->session, call->job, &call->err);
    }
    if (ok) return c;
    job_free(call->job);
    fail(err, call->err.code, "%s", call->err.message);
    call_free(c);
    return NULL;
}

ef_call *ef_start(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                  void (*done)(void *own), void *own, ef_error *err)
{
    ef_call *c = call_new(err);
    if (!c) return NULL;
    c->call = (PredictCall){ m, in, count, params_json, .task = NULL };
    c->done = done, c->own = own;
    return start_call(c, api_fill_job, err);
}

ef_call *ef_start_run(ef_model *m, const char *task, const ef_input *in, size_t count, const char *params_json,
                      void (*done)(void *own), void *own, ef_error *err)
{
    ef_call *c = call_new(err);
    if (!c) return NULL;
    c->call = (PredictCall){ m, in, count, params_json, .task = task };
    c->done = done, c->own = own;
    return start_call(c, fill_pipeline, err);
}

static struct timespec time_in(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L) t.tv_sec++, t.tv_nsec -= 1000000000L;
    return t;
}

bool ef_wait(ef_call *c, int timeout_ms)
{
    const struct timespec until = time_in(MAX(timeout_ms, 0));
    int code = 0;
    if (!process_owns(c->call.m->process)) return false; /* it will never be done here */
    pthread_mutex_lock(&c->lock);
    while (!c->over && code != ETIMEDOUT)
        code = timeout_ms < 0 ? pthread_cond_wait(&c->came, &c->lock)
                              : pthread_cond_timedwait(&c->came, &c->lock, &until);
    bool over = c->over;
    pthread_mutex_unlock(&c->lock);
    return over;
}

void ef_cancel(ef_call *c)
{
    if (!process_owns(c->call.m->process)) return;
    pthread_mutex_lock(&c->lock);
    if (!c->over) {
        c->cancelled = true;
        work_abandon(&c->call.job->work);
    }
    pthread_mutex_unlock(&c->lock);
}

ef_reply *ef_finish(ef_call *c, ef_error *err)
{
    if (!process_check(c->call.m->process, "the model", err)) return NULL;
    ef_wait(c, -1);
    PredictCall call = c->call;
    if (c->cancelled) fail(&call.err, EF_CANCELLED, "the call was cancelled");
    call_free(c);
    return reply_of(&call, err);
}

/* ---- reading a reply ---- */

const ef_tensor *ef_reply_tensor(const ef_reply *r, size_t input)
{
    return r->tensor && input < r->job->work.n ? &r->tensor[input] : NULL;
}

const char *ef_reply_json(const ef_reply *r)
{
    return r->job->out.text.p;
}

void ef_reply_free(ef_reply *r)
{
    if (!r) return;
    job_free(r->job);
    Arena arena = r->arena;
    arena_free(&arena);
}

