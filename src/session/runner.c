/* SPDX-License-Identifier: Apache-2.0
 * runner.c - jobs to ragged batches, batches to rows, rows back to their jobs. This thread owns its
 * pool and its engine runner, so one batch uses all their cores and nothing else competes for them.
 *
 * How much a run may carry is time, not tokens: the speed of past runs says how many tokens that
 * is on this machine, with this model. */
#include "stages.h"

enum { FIRST_TOKENS = 512, SCRATCH_KEPT = 1 << 20 };

/* Beyond so many tokens of a thread and so much time a longer run is hardly faster, and who came too
 * late for it would wait for nothing. Of several threads each takes a part of that size through the
 * model by itself: a run needs more, or it is not cut. */
enum { ENOUGH_TOKENS = 256, ENOUGH_OF_SEVERAL = 320 };
static const double enough_seconds = 0.01;

struct Replica {
    Session *s;
    Pool *pool;
    Runner *runner;
    Arena scratch;
    Load load;
};

/* ---- how much to run ---- */
static double rate_of(const Session *s)
{
    double rate;
    __atomic_load(&s->rate, &rate, __ATOMIC_RELAXED);
    return rate;
}

static int64_t budget(const Session *s)
{
    double rate = rate_of(s), tokens = rate * s->options.batch_seconds;
    int threads = s->options.threads / s->options.replicas;
    int enough = threads > 1 ? ENOUGH_OF_SEVERAL * threads : ENOUGH_TOKENS;
    if (tokens <= 0) tokens = FIRST_TOKENS; /* nothing is known yet */
    if (!s->options.bulk) tokens = MIN(tokens, MAX(enough, rate * enough_seconds));
    return (int64_t)MIN(MAX(tokens, 1), (double)s->options.batch_tokens);
}

/* A small run says little about a large one, unless it was faster than we thought. */
static void learn_rate(Session *s, int64_t tokens, double seconds)
{
    double rate = rate_of(s), seen = (double)tokens / MAX(seconds, 1e-6);
    if (rate > 0 && seen < rate && tokens * 4 < budget(s)) return;
    rate = rate > 0 ? rate + (seen - rate) / 4 : seen;
    __atomic_store(&s->rate, &rate, __ATOMIC_RELAXED);
}

/* ---- running ---- */
static Batch make_batch(Arena *arena, const Piece *piece, int pieces, int rows, int64_t tokens)
{
    int32_t *start = ARRAY(arena, int32_t, rows + 1);
    int32_t *ids = ARRAY(arena, int32_t, tokens), *types = ARRAY(arena, int32_t, tokens);
    int32_t row = 0, at = 0;
    for (int i = 0; i < pieces; i++) {
        for (size_t r = piece[i].from; r < piece[i].to; r++) {
            const Encoding *e = &piece[i].job->encoding[r];
            memcpy(ids + at, e->ids, e->n * sizeof *ids);
            memcpy(types + at, e->type_ids, e->n * sizeof *types);
            start[row++] = at;
            at += (int32_t)e->n;
        }
    }
    start[row] = at;
    return (Batch){ rows, start, ids, types };
}

static int64_t count_wanted(const Session *s, const Job *job, size_t r, int64_t tokens)
{
    const Task *task = s->model->task;
    int64_t n = 0;
    for (int64_t t = 0; t < tokens; t++)
        n += task->wants(s->model->tokenizer, &job->encoding[r], (size_t)t);
    return n;
}

static void copy_wanted(const Session *s, const Job *job, size_t r, const RowOutput *out, float *to)
{
    const Task *task = s->model->task;
    for (int64_t t = 0; t < out->tokens; t++) {
        if (!task->wants(s->model->tokenizer, &job->encoding[r], (size_t)t)) continue;
        memcpy(to, out->data + t * out->width, (size_t)out->width * sizeof *to);
        to += out->width;
    }
}

/* Into the job's own memory: the runner's is overwritten by its next run. */
static bool store_row(const Session *s, Job *job, size_t r, const RowOutput *out)
{
    const Task *task = s->model->task;
    bool script = s->vms && s->model->transform->post; /* it sees every token */
    const VectorHead *head = s->model->config.head;
    bool words = task->shape->last == AXIS_WORDS;
    bool many = out->tokens > 1 || head || (words && job->encoding[r].n == 1);
    TaskPool *pool = many && !script ? job_pool(s, job) : NULL;
    bool some = task->wants && !pool && !script;
    int64_t tokens = pool ? 1 : some ? count_wanted(s, job, r, out->tokens) : out->tokens;
    int64_t width = pool && head ? head_width(head, job->options.pooling, out->width) : out->width;
    size_t count = (size_t)tokens * (size_t)width;
    size_t room = s->options.max_output - job->stored;
    float *data = arena_try(&job->arena, count, sizeof *data, room, &job->err);
    if (!data) return within(&job->err, "inputs: too much output, send less at once");
    if (width == 0)
        return fail(&job->err, EF_BAD_MODEL, "the model's dense layer does not take vectors of %lld "
                    "numbers", (long long)out->width);
    if (pool)
        pool(&(TaskRow){ .encoding = &job->encoding[r], .data = out->data,
                               .tokens = out->tokens, .width = out->width, .head = head,
                               .prompt = job->prompt }, &job->options, data);
    else if (some)
        copy_wanted(s, job, r, out, data);
    else
        memcpy(data, out->data, count * sizeof *data);
    job->stored += count * sizeof *data;
    job->rows[r] = data;
    job->row_tokens[r] = tokens;
    job->row_width[r] = width;
    return true;
}

typedef struct Stored {          /* what becomes of a piece, guarded */
    const Session *s;
    const Piece *piece;
    const RowOutput *out;
} Stored;

static void store_piece(void *arg)
{
    const Stored *to = arg;
    const Piece *p = to->piece;
    for (size_t r = p->from; r < p->to; r++)
        if (!store_row(to->s, p->job, r, &to->out[r - p->from])) return;
}

typedef struct Run {             /* a run, guarded */
    Replica *me;
    Piece *piece;
    int n;
    RowOutput *out;
    Err *err;
    bool ok;
} Run;

static void run_batch(void *arg)
{
    Run *run = arg;
    Replica *me = run->me;
    int rows = 0;
    int64_t tokens = 0;
    for (int i = 0; i < run->n; i++) {
        const Piece *p = &run->piece[i];
        rows += (int)(p->to - p->from);
        for (size_t r = p->from; r < p->to; r++) tokens += (int64_t)p->job->encoding[r].n;
    }
    Batch batch = make_batch(&me->scratch, run->piece, run->n, rows, tokens);
    run->out = ARRAY(&me->scratch, RowOutput, rows);
    run->ok = runner_run(me->runner, &batch, run->out, run->err);
}

static bool run_pieces(Replica *me, Piece *piece, int n, Err *err)
{
    Run run = { .me = me, .piece = piece, .n = n, .err = err };
    if (!job_guarded(me->s, run_batch, &run, err) || !run.ok) return false;
    for (int i = 0, row = 0; i < n; i++) {
        Job *job = piece[i].job;
        Stored to = { me->s, &piece[i], run.out + row };
        job_guarded(me->s, store_piece, &to, &job->err);
        row += (int)(piece[i].to - piece[i].from);
    }
    return true;
}

/* When a run fails, each job runs alone: only the one that cannot be run is answered with an
 * error. */
static void run_load(Replica *me)
{
    Load *load = &me->load;
    Err err = { 0 };
    if (run_pieces(me, load->piece, load->n, &err)) return;
    for (int i = 0; i < load->n; i++) {
        Job *job = load->piece[i].job;
        if (load->n == 1) job->err = err;
        else run_pieces(me, &load->piece[i], 1, &job->err);
    }
}

static void time_load(Replica *me)
{
    Session *s = me->s;
    const Load *load = &me->load;
    double begin = now_seconds();
    for (int i = 0; i < load->n; i++) {
        JobTimes *times = &load->piece[i].job->times;
        if (times->started > 0) continue;
        times->started = begin;
        meter_add(&s->meters.queue, METER_SECONDS, begin - times->admitted);
    }
    run_load(me);
    double seconds = now_seconds() - begin;
    learn_rate(s, load->tokens, seconds);
    meter_add(&s->meters.compute, METER_SECONDS, seconds);
    meter_add(&s->meters.run_rows, METER_COUNT, load->rows);
    meter_add(&s->meters.run_tokens, METER_COUNT, (double)load->tokens);
}

/* ---- the thread ---- */
static void settle(Replica *me)
{
    Session *s = me->s;
    Job *complete[LOAD_PIECES];
    int n = 0;
    for (int i = 0; i < me->load.n; i++) {
        Job *job = me->load.piece[i].job;
        if (job->err.code != EF_OK) job_done(s, job);
        else if (job->at < job->n) queue_pass(&s->queue, STAGE_RUN, job);
        else if (s->vms && s->model->transform->post) queue_pass(&s->queue, STAGE_SCRIPT, job);
        else complete[n++] = job;
    }
    if (n == 0) return;
    double begin = now_seconds();
    jobs_finish(s, me->pool, complete, n);
    meter_add(&s->meters.finish, METER_SECONDS, now_seconds() - begin);
    for (int i = 0; i < n; i++) {
        complete[i]->more = i + 1 < n;
        job_done(s, complete[i]);
    }
}

static void drop(Session *s, Job *list)
{
    for (Job *job = list, *next; job; job = next) {
        next = job->next;
        job_unwanted(s, job); /* gives it its error */
        job_done(s, job);
    }
}

/* Threads are dealt out so that no replica has more than one more than another. */
static Pool *own_pool(Session *s)
{
    int number = __atomic_fetch_add(&s->replicas_begun, 1, __ATOMIC_RELAXED);
    int threads = s->options.threads, replicas = s->options.replicas;
    return pool_new(threads / replicas + (number < threads % replicas));
}

static void run_and_settle(Replica *me)
{
    if (me->load.n) time_load(me);
    settle(me);
    arena_reset(&me->scratch, SCRATCH_KEPT);
}

void runner_borrowed(Session *s)
{
    drop(s, queue_fill(&s->queue, budget(s), &s->replica->load));
    run_and_settle(s->replica);
    queue_give_back(&s->queue);
}

void runner_thread(Worker *worker)
{
    Session *s = worker->s;
    Replica me = { .s = s };
    Job *admit, *dropped;
    if (s->options.replicas == 1) s->replica = &me;
    me.pool = own_pool(s);
    me.runner = runner_new(s->model->engine, me.pool);
    while (queue_load(&s->queue, budget(s), &me.load, &admit, &dropped)) {
        drop(s, dropped);
        if (admit) admit_whole(s, admit, worker);
        run_and_settle(&me);
    }
    runner_free(me.runner);
    pool_free(me.pool);
    arena_free(&me.scratch);
}
