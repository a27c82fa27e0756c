/* SPDX-License-Identifier: Apache-2.0
 * reply_arrow.c - a reply as columns: ef_reply_arrow. */
#include "api/guard_call.h"
#include "api/handle.h"
#include "data/arrow_export.h"
#include "model/model.h"

typedef struct ReplyCall {
    const Model *model;
    const Value *results;    /* a list */
    const TaskOptions *options; /* of the request */
    struct ArrowSchema *schema;
    struct ArrowArray *array;
    bool ok;
    Err err;
} ReplyCall;

/* Of several tables the one that is made of what the results have. */
static bool reply_table(const ReplyCall *c, TaskTable *out, Err *err)
{
    const TaskTable *t = c->model->task->tables;
    const Value *first = c->results->list.n ? &c->results->list.items[0] : NULL;
    while (first && t && t->rows && t->name && !value_get(first, t->name)) t++;
    const TaskTold how = { t && t->rows ? t->name : NULL, c->options };
    return task_table(c->model->task, &c->model->config, how, out, err);
}

static void reply_body(void *call)
{
    ReplyCall *c = call;
    TaskTable table;
    Arena arena = { .local = true };
    const size_t n = c->results->list.n;
    Value *rows = ARRAY(&arena, Value, n);
    c->ok = reply_table(c, &table, &c->err);
    for (size_t i = 0; c->ok && i < n; i++)
        rows[i] = table.shape ? table.shape(&arena, &c->results->list.items[i]) : c->results->list.items[i];
    if (c->ok) {
        const Columns columns = columns_of(&arena, table.rows, rows, n);
        c->ok = arrow_export(table.rows, &columns, c->schema, c->array, &c->err);
    }
    arena_free(&arena);
}

bool ef_reply_arrow(const ef_reply *r, struct ArrowSchema *schema, struct ArrowArray *array, ef_error *err)
{
    const Job *job = r->job;
    const Value *results = value_get(&job->out.value, "results");
    if (job->in.exact || !results || results->kind != V_LIST)
        return fail(err, EF_UNSUPPORTED, "ef_reply_arrow: found the reply of a pipeline, wanted one of ef_predict");
    ReplyCall c = { .model = r->model, .results = results, .options = &job->work.options,
                    .schema = schema, .array = array };
    guard_call(reply_body, &c, &c.err);
    return c.ok || fail(err, c.err.code, "%s", c.err.message);
}
