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
    const Job *job;
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
    return __atomic_load_n(&w->job->abandoned, __ATOMIC_RELAXED) ||
           (w->job->deadline > 0 && w->job->deadline <= now);
}

typedef struct Scripted {        /* a job in the hands of its script */
    const Session *s;
    Job *job;
    TransformVm *vm;
    Watch watch;
    bool ok;
} Scripted;

/* A job that nobody waits for is answered as such, wherever its script stood. A VM that was left in
 * the middle of a script, for want of memory, is not used again. */
static bool run_script(Session *s, Job *job, Worker *worker, void (*fn)(void *))
{
    Scripted on = { .s = s, .job = job };
    on.watch = (Watch){ { watch_ends, &on.watch }, job, worker, now_seconds() + long_seconds };
    on.vm = transform_take(s->vms, &on.watch.ask);
    if (job_guarded(s, fn, &on, &job->err)) transform_give(s->vms, on.vm);
    else transform_vm_free(on.vm), on.ok = false;
    if (!on.ok) job_unwanted(s, job);
    return on.ok;
}

/* ---- texts ---- */
static bool prepare(TransformVm *vm, Job *job, Str *text)
{
    if (!transform_pre(vm, &job->arena, *text, text, &job->err)) return false;
    return text->n || fail(&job->err, EF_INVALID_INPUT,
                           "Preprocess returned an empty text: Cannot tokenize empty string");
}

static void prepare_texts(void *arg)
{
    Scripted *on = arg;
    Job *job = on->job;
    on->ok = true;
    for (size_t i = 0; on->ok && i < job->n; i++) {
        on->ok = !watch_ends(&on->watch, now_seconds()) && prepare(on->vm, job, &job->first[i]) &&
                 (!job_second(job, i) || prepare(on->vm, job, &job->second[i]));
        if (!on->ok) within(&job->err, "inputs[%zu]", i);
    }
}

bool job_prepare(Session *s, Job *job, Worker *worker)
{
    if (!s->vms || !s->model->transform->pre) return true;
    return run_script(s, job, worker, prepare_texts);
}

/* ---- rows ---- */
/* The rows from .. end-1 go through the script together. */
static size_t group_end(const Job *job, size_t from)
{
    int64_t longest = 1, width = job->row_width[from];
    size_t to = from;
    for (; to < job->n && job->row_width[to] == width; to++) {
        longest = MAX(longest, job->row_tokens[to]);
        int64_t bytes = (int64_t)(to - from + 1) * longest * width * (int64_t)sizeof(float);
        if (to > from && bytes > MOST_PADDED) break;
    }
    return to;
}

/* Scores beside the rows of a labelled task; in their place otherwise. */
static void keep_row(const Task *task, Job *job, size_t row, float *data, const TransformResult *r)
{
    if (task->shape->last == AXIS_LABELS) {
        job->scores[row] = data;
        return;
    }
    job->rows[row] = data;
    job->row_width[row] = r->width;
    if (r->pooled) job->row_tokens[row] = 1;
}

static bool transform_group(const Session *s, TransformVm *vm, Job *job, size_t from, size_t to)
{
    const Task *task = s->model->task;
    TransformRows rows = { to - from, (const float *const *)job->rows + from,
                           job->row_tokens + from, job->row_width[from] };
    TransformResult r;
    if (!transform_post(vm, task, &rows, &job->arena, &r, &job->err)) return false;
    if (task->shape->last != AXIS_LABELS && job->options.dimensions > r.width)
        return fail(&job->err, EF_INVALID_INPUT, "dimensions: found %d, wanted 1 to %lld",
                    job->options.dimensions, (long long)r.width);
    job->stored += (to - from) * (size_t)r.stride * sizeof *r.data;
    if (job->stored > s->options.max_output)
        return fail(&job->err, EF_TOO_LARGE, "inputs: too much output, send less at once");
    for (size_t i = from; i < to; i++)
        keep_row(task, job, i, r.data + (int64_t)(i - from) * r.stride, &r);
    return true;
}

static void transform_rows(void *arg)
{
    Scripted *on = arg;
    Job *job = on->job;
    on->ok = true;
    if (on->s->model->task->shape->last == AXIS_LABELS)
        job->scores = ARRAY(&job->arena, float *, job->n);
    for (size_t from = 0, to; on->ok && from < job->n; from = to) {
        to = group_end(job, from);
        on->ok = !watch_ends(&on->watch, now_seconds()) &&
                 transform_group(on->s, on->vm, job, from, to);
    }
}

void script_thread(Worker *me)
{
    Session *s = me->s;
    int slice;
    for (Job *job; !me->replaced && (job = queue_take(&s->queue, STAGE_SCRIPT, &slice));) {
        if (!job_unwanted(s, job) && run_script(s, job, me, transform_rows)) jobs_finish(s, NULL, &job, 1);
        job_done(s, job);
    }
}
