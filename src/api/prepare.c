/* SPDX-License-Identifier: Apache-2.0
 * prepare.c - ef_prepare: the tensors that a model's graph is given for some inputs. */
#include "api/arrays.h"
#include "api/guard_call.h"
#include "api/handle.h"
#include "model/feed.h"

typedef struct ApiPrepareCall {
    InputsCall in;
    ef_arrays *list;
    bool ok;
} ApiPrepareCall;

static bool prepare_inputs(ApiPrepareCall *c, Err *err)
{
    const Model *m = c->in.m->model;
    Feed feed;
    if (!inputs_take(&c->in) || !inputs_options(&c->in)) return false;
    Work *work = &c->in.job->work;
    if (!items_check(m->items, &(Items){ work->item, work->n }, SIZE_MAX, err)) return false;
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
    c->list = arrays_new();
    c->ok = prepare_inputs(c, &c->in.err);
}

ef_arrays *ef_prepare(ef_model *m, const ef_input *in, size_t count, const char *params_json, ef_error *err)
{
    ApiPrepareCall c = { { m, in, count, params_json } };
    if (!process_check(m->process, "the model", err)) return NULL;
    guard_call(prepare_body, &c, &c.in.err);
    job_free(c.in.job);
    if (c.ok) return c.list;
    ef_arrays_free(c.list);
    fail(err, c.in.err.code, "%s", c.in.err.message);
    return NULL;
}
