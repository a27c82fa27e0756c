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

/* ---- calls ---- */

typedef struct PredictCall {
    InputsCall in;
    const char *task;      /* of ef_run */
    ef_reply *reply;
} PredictCall;

static void api_fill_job(void *call)
{
    PredictCall *c = call;
    if (inputs_take(&c->in)) inputs_options(&c->in);
}

/* A pipeline's call: what the inputs became is written down again, as a body has it. */
static void fill_pipeline(void *call)
{
    PredictCall *c = call;
    Value *params;
    if (!inputs_take(&c->in) || !inputs_params(&c->in, &params)) return;
    Job *job = c->in.job;
    Arena *arena = &job->work.arena;
    const size_t count = c->in.count;
    Value *tree = NEW(arena, Value), inputs = value_list(arena, count);
    for (size_t i = 0; i < count; i++)
        inputs.list.items[i] = pipeline_input(arena, c->in.m->model->items, &job->work.item[i]);
    *tree = value_map(arena, 3);
    if (c->task) value_add(tree, "task", value_of_text(str_dup(arena, str_of(c->task))));
    if (count) value_add(tree, "inputs", count == 1 ? inputs.list.items[0] : inputs);
    if (params) value_add(tree, "parameters", *params);
    job->in.kind = &kind_pipeline;
    job->in.tree = tree;
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
    const char *name = str_dup(&r->arena, str_of(m->output)); /* the reply may outlive its model */
    r->tensor = ARRAY(&r->arena, ef_tensor, work->n + 1);
    for (size_t i = 0; i < work->n; i++) {
        const TaskTensor *result = work_result(work, work_row(work, i));
        ef_tensor *t = &r->tensor[i];
        *t = (ef_tensor){ .struct_size = sizeof *t, .name = name, .data = result->data };
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
    JobReply *out = &c->in.job->out;
    Arena arena = { 0 };
    if (out->text.n == 0) json_write(&out->text, &out->value);
    buf_char(&out->text, 0);
    ef_reply *r = NEW(&arena, ef_reply);
    *r = (ef_reply){ .arena = arena, .job = c->in.job, .model = c->in.m->model };
    if (c->in.job->work.result && !c->in.job->in.exact) view_rows(c->in.m, &c->in.job->work, r);
    c->reply = r;
}

/* The call as a job that can run; false: it has its error. */
static bool fill_call(PredictCall *c, void (*fill)(void *))
{
    return process_check(c->in.m->process, "the model", &c->in.err) && guard_call(fill, c, &c->in.err) &&
           c->in.err.code == EF_OK;
}

/* Of a job that was run, or never could be: the reply, or NULL and the error. */
static ef_reply *reply_of(PredictCall *c, ef_error *err)
{
    if (c->in.err.code == EF_OK) c->in.err = c->in.job->work.err;
    if (c->in.err.code == EF_OK) guard_call(make_reply, c, &c->in.err);
    if (c->reply) return c->reply;
    job_free(c->in.job);
    fail(err, c->in.err.code, "%s", c->in.err.message);
    return NULL;
}

/* The session guards its own work. */
static ef_reply *answer_call(PredictCall *c, void (*fill)(void *), ef_error *err)
{
    if (fill_call(c, fill) && model_may_wait(c->in.m, &c->in.err)) job_run(c->in.m->session, c->in.job);
    return reply_of(c, err);
}

ef_reply *ef_predict(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                     ef_error *err)
{
    return answer_call(&(PredictCall){ { m, in, count, params_json } }, api_fill_job, err);
}

ef_reply *ef_run(ef_model *m, const char *task, const ef_input *in, size_t count, const char *params_json,
                 ef_error *err)
{
    return answer_call(&(PredictCall){ { m, in, count, params_json }, task }, fill_pipeline, err);
}

/* ---- calls that nobody waits for ---- */

/* The model whose thread is in a caller's `done`: to wait for that model there may be to wait for itself. */
static _Thread_local const ef_model *telling;

bool model_may_wait(const ef_model *m, Err *err)
{
    return m != telling || fail(err, EF_INVALID_INPUT, "found a call that waits inside of done, wanted ef_start there, "
                                "or another thread: the model would wait for itself");
}

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
    const ef_model *m = c->call.in.m;
    budget_leave(&work->budget); /* from now on it is the caller's alone */
    pthread_mutex_lock(&c->lock);
    c->over = true;
    pthread_cond_broadcast(&c->came);
    pthread_mutex_unlock(&c->lock);
    if (!done) return;
    const ef_model *outer = telling; /* who waits for another model there may run a done of that one */
    telling = m;
    done(own);
    telling = outer;
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
        call->in.job->work.done = call_over;
        call->in.job->work.context = c;
        ok = job_submit(call->in.m->session, call->in.job, &call->in.err);
    }
    if (ok) return c;
    job_free(call->in.job);
    fail(err, call->in.err.code, "%s", call->in.err.message);
    call_free(c);
    return NULL;
}

ef_call *ef_start(ef_model *m, const ef_input *in, size_t count, const char *params_json,
                  void (*done)(void *own), void *own, ef_error *err)
{
    ef_call *c = call_new(err);
    if (!c) return NULL;
    c->call = (PredictCall){ { m, in, count, params_json } };
    c->done = done, c->own = own;
    return start_call(c, api_fill_job, err);
}

ef_call *ef_start_run(ef_model *m, const char *task, const ef_input *in, size_t count, const char *params_json,
                      void (*done)(void *own), void *own, ef_error *err)
{
    ef_call *c = call_new(err);
    if (!c) return NULL;
    c->call = (PredictCall){ { m, in, count, params_json }, task };
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
    if (!c) return true;
    if (!process_owns(c->call.in.m->process)) return false; /* it will never be done here */
    if (c->call.in.m == telling) timeout_ms = 0;
    const struct timespec until = time_in(MAX(timeout_ms, 0));
    int code = 0;
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
    if (!c || !process_owns(c->call.in.m->process)) return;
    pthread_mutex_lock(&c->lock);
    if (!c->over) {
        c->cancelled = true;
        work_abandon(&c->call.in.job->work);
    }
    pthread_mutex_unlock(&c->lock);
}

ef_reply *ef_finish(ef_call *c, ef_error *err)
{
    if (!c) fail(err, EF_INVALID_INPUT, "found no call, wanted one that ef_start gave: it failed, and said why");
    if (!c || !process_check(c->call.in.m->process, "the model", err)) return NULL;
    if (!ef_wait(c, -1)) return model_may_wait(c->call.in.m, err), NULL;
    PredictCall call = c->call;
    if (c->cancelled) fail(&call.in.err, EF_CANCELLED, "the call was cancelled");
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

