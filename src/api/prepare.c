/* SPDX-License-Identifier: Apache-2.0
 * prepare.c - ef_prepare: the tensors that a model's graph is given for some inputs. */
#include "api/arrays.h"
#include "api/guard_call.h"
#include "api/handle.h"
#include "data/json.h"
#include "model/feed.h"

typedef struct ApiPrepareCall {
    ef_model *m;
    const ef_input *in;
    size_t count;
    const char *params;
    Job *job;
    ef_arrays *list;
    bool ok;
    Err err;
} ApiPrepareCall;

static bool prepare_params(ApiPrepareCall *c, Err *err)
{
    Arena *arena = &c->job->work.arena;
    Value *v = NEW(arena, Value);
    if (!c->params) return true;
    if (!json_parse(arena, str_of(str_dup(arena, str_of(c->params))), v, err)) return within(err, "params_json");
    return job_options(c->m->session, c->job, v) ||
           fail(err, c->job->work.err.code, "%s", c->job->work.err.message);
}

static bool prepare_inputs(ApiPrepareCall *c, Err *err)
{
    const Model *m = c->m->model;
    Work *work = &c->job->work;
    Feed feed;
    if (!inputs_take(m, c->job, c->in, c->count, err) || !prepare_params(c, err) ||
        !items_check(m->items, &(Items){ work->item, work->n }, SIZE_MAX, err))
        return false;
    feed_of(&c->list->arena, m, &feed);
    Named *made = ARRAY(&c->list->arena, Named, feed.n + 1);
    FeedItems items = { work->item, work->n, &work->options.input };
    if (!feed_make(&c->list->arena, m, &feed, &items, made, err)) return false;
    arrays_set(c->list, made, (size_t)feed.n);
    return true;
}

static void prepare_body(void *call)
{
    ApiPrepareCall *c = call;
    c->job = job_new();
    c->list = arrays_new();
    c->ok = prepare_inputs(c, &c->err);
}

ef_arrays *ef_prepare(ef_model *m, const ef_input *in, size_t count, const char *params_json, ef_error *err)
{
    ApiPrepareCall c = { .m = m, .in = in, .count = count, .params = params_json };
    if (!process_check(m->process, "the model", err)) return NULL;
    guard_call(prepare_body, &c, &c.err);
    job_free(c.job);
    if (c.ok) return c.list;
    ef_arrays_free(c.list);
    fail(err, c.err.code, "%s", c.err.message);
    return NULL;
}
