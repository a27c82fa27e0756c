/* SPDX-License-Identifier: Apache-2.0
 * script.c - a package's Lua script around a job: Preprocess on its texts when it is admitted,
 * Postprocess on its rows when they have been run. Both run on several threads, none of which is
 * the runner's, and one that takes long is replaced there (crew.c): a script that goes to its limit
 * holds up its own request, not the others. It ends early when nobody waits for its job. */
#include "stages.h"

/* Of one call's padded rows, so that the script has room for its own; more is cut between rows. */
enum { MOST_PADDED = 32 << 20 };
static const double long_seconds = 0.02; /* of one job's scripts: from here on it is stuck */

/* ---- watching ---- */
typedef struct Watch {
    TransformWatch ask;
    const Work *work;
    Worker *worker;              /* NULL: a thread that is not ours */
    double long_at;
} Watch;

static bool watch_ends(void *arg, double now)
{
    Watch *w = arg;
    if (w->worker && now >= w->long_at) {
        worker_stuck(w->worker);
        w->worker = NULL; /* said once */
    }
    return work_is_unwanted(w->work, now);
}

typedef struct Scripted {        /* a job in the hands of its script */
    const Session *s;
    Work *work;
    TransformVm *vm;             /* NULL: there was no memory for one */
    Watch watch;
    void (*fn)(struct Scripted *);
    bool ok;
} Scripted;

static void with_vm(void *arg)
{
    Scripted *on = arg;
    on->vm = transform_take(on->s->vms, &on->watch.ask);
    on->fn(on);
}

/* A job that nobody waits for is answered as such, wherever its script stood. A VM that was left in
 * the middle of a script, for want of memory, is not used again. */
static bool run_script(Session *s, Work *work, Worker *worker, void (*fn)(Scripted *))
{
    Scripted on = { .s = s, .work = work, .fn = fn };
    on.watch = (Watch){ { watch_ends, &on.watch }, work, worker, now_seconds() + long_seconds };
    if (session_guarded(s, with_vm, &on, &work->err)) transform_give(s->vms, on.vm);
    else transform_vm_free(on.vm), on.ok = false;
    if (!on.ok) work_unwanted(s, work);
    return on.ok;
}

/* ---- texts ---- */
static bool prepare(TransformVm *vm, Work *work, Str *text)
{
    if (!transform_pre(vm, &work->arena, *text, text, &work->err)) return false;
    return text->n || fail(&work->err, EF_INVALID_INPUT,
                           "Preprocess returned an empty text: Cannot tokenize empty string");
}

/* Choices, and words with boxes, one by one. */
static bool prepare_list(TransformVm *vm, Work *work, Item *item)
{
    Str *list = ARRAY(&work->arena, Str, item->n);
    for (size_t i = 0; i < item->n; i++) {
        list[i] = item->list[i];
        if (!prepare(vm, work, &list[i])) return false;
    }
    item->list = list;
    if (item->boxes) item_join_words(&work->arena, item);
    return true;
}

static bool prepare_item(TransformVm *vm, Work *work, Item *item)
{
    return (item->boxes || prepare(vm, work, &item->first)) &&
           (!item_second(item) || prepare(vm, work, &item->second)) &&
           (!item->list || prepare_list(vm, work, item));
}

static void prepare_texts(Scripted *on)
{
    Work *work = on->work;
    on->ok = true;
    for (size_t i = 0; on->ok && i < work->n; i++) {
        Item *item = &work->item[i];
        on->ok = !watch_ends(&on->watch, now_seconds()) && prepare_item(on->vm, work, item);
        if (!on->ok) within(&work->err, "inputs[%zu]", i);
    }
}

bool script_items(Session *s, Work *work, Worker *worker)
{
    if (!s->vms || !s->model->transform->pre) return true;
    return run_script(s, work, worker, prepare_texts);
}

/* ---- rows ---- */
/* The rows from .. end-1 go through the script together. */
static size_t group_end(const Work *work, size_t from)
{
    int64_t longest = 1, width = work_result(work, from)->width;
    size_t to = from;
    for (; to < work->rows && work_result(work, to)->width == width; to++) {
        longest = MAX(longest, work_result(work, to)->tokens);
        int64_t bytes = (int64_t)(to - from + 1) * longest * width * (int64_t)sizeof(float);
        if (to > from && bytes > MOST_PADDED) break;
    }
    return to;
}

/* Scores beside the rows of a labelled task; in their place otherwise. */
static void keep_row(const Task *task, Work *work, size_t row, float *data, const TransformResult *r)
{
    if (task->shape->last == AXIS_LABELS) {
        work->scores[row] = data;
        return;
    }
    TaskTensor *result = work_result(work, row);
    result->data = data;
    result->width = r->width;
    if (r->pooled) result->tokens = 1;
    bool line = result->rank < 2; /* dim is what the graph gave before */
    result->rank = line ? 1 : 2;
    result->dim[0] = line ? result->tokens * r->width : result->tokens;
    result->dim[1] = r->width;
}

static TransformRows rows_of(Work *work, size_t from, size_t to)
{
    const float **data = ARRAY(&work->arena, const float *, to - from);
    int64_t *tokens = ARRAY(&work->arena, int64_t, to - from);
    for (size_t i = from; i < to; i++) {
        data[i - from] = work_result(work, i)->data;
        tokens[i - from] = work_result(work, i)->tokens;
    }
    return (TransformRows){ to - from, data, tokens, work_result(work, from)->width };
}

static bool transform_group(const Session *s, TransformVm *vm, Work *work, size_t from, size_t to)
{
    const Task *task = s->model->task;
    TransformRows rows = rows_of(work, from, to);
    TransformResult r;
    if (!transform_post(vm, task, &rows, &work->arena, &r, &work->err)) return false;
    if (task->shape->last != AXIS_LABELS && work->options.dimensions > r.width)
        return fail(&work->err, EF_INVALID_INPUT, "dimensions: found %d, wanted 1 to %lld",
                    work->options.dimensions, (long long)r.width);
    work->stored += (to - from) * (size_t)r.stride * sizeof *r.data;
    if (work->stored > s->options.max_output)
        return fail(&work->err, EF_TOO_LARGE, "inputs: too much output, send less at once");
    for (size_t i = from; i < to; i++)
        keep_row(task, work, i, r.data + (int64_t)(i - from) * r.stride, &r);
    return true;
}

static void transform_rows(Scripted *on)
{
    Work *work = on->work;
    on->ok = true;
    if (on->s->model->task->shape->last == AXIS_LABELS) work->scores = ARRAY(&work->arena, float *, work->rows);
    for (size_t from = 0, to; on->ok && from < work->rows; from = to) {
        to = group_end(work, from);
        on->ok = !watch_ends(&on->watch, now_seconds()) &&
                 transform_group(on->s, on->vm, work, from, to);
    }
}

void script_thread(Worker *me)
{
    Session *s = me->s;
    int slice;
    for (Work *work; !me->replaced && (work = queue_take(&s->queue, STAGE_SCRIPT, &slice));) {
        if (!work_unwanted(s, work) && run_script(s, work, me, transform_rows)) s->steps.finish(s, NULL, &work, 1);
        work_done(s, work);
    }
}
