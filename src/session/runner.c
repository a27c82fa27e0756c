/* SPDX-License-Identifier: Apache-2.0
 * runner.c - jobs to ragged batches, batches to rows, rows back to their jobs. This thread owns the
 * pool and the engine's runner, so one batch uses all cores and nothing else competes for them.
 *
 * A run takes the first waiting job (as many of its rows as the budget allows) and then whole jobs
 * behind it while they fit: a long job cannot hold the queue, and short ones travel together. */
#include "stages.h"

enum { MOST_PIECES = 256, MOST_ROWS = 1024, SCRATCH_KEPT = 1 << 20 };

typedef struct Piece { /* rows from .. to-1 of a job */
    Job *job;
    size_t from, to;
} Piece;

typedef struct Load { /* what one run carries */
    Piece piece[MOST_PIECES];
    int n, rows;
    int64_t tokens;
} Load;

/* ---- what to run ---- */
static void add_piece(const Session *s, Load *load, Job *job)
{
    Piece *p = &load->piece[load->n++];
    *p = (Piece){ job, job->at, job->at };
    while (p->to < job->n && load->rows < MOST_ROWS) {
        int64_t tokens = (int64_t)job->encoding[p->to].n;
        if (load->rows && load->tokens + tokens > s->options.batch_tokens) break;
        load->tokens += tokens;
        load->rows++;
        p->to++;
    }
}

static void collect(Session *s, Load *load, Job *job)
{
    load->n = load->rows = 0;
    load->tokens = 0;
    while (job) {
        if (job_abandoned(job)) {
            fail(&job->err, EF_UNAVAILABLE, "the client has gone");
            job_done(job);
        } else {
            add_piece(s, load, job);
        }
        bool room = load->n < MOST_PIECES && load->rows < MOST_ROWS;
        job = room ? queue_take_fitting(&s->queue, s->options.batch_tokens - load->tokens) : NULL;
    }
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

/* Into the job's own memory: the runner's is overwritten by its next run. */
static bool store_row(const Session *s, Job *job, size_t r, const RowOutput *out)
{
    const Task *task = s->model->task;
    bool script = s->vms && s->model->transform->post; /* it sees every token */
    bool pool = task->pool && out->tokens > 1 && !script;
    size_t count = (size_t)(pool ? 1 : out->tokens) * (size_t)out->width;
    size_t room = s->options.max_output - job->stored;
    float *data = arena_try(&job->arena, count, sizeof *data, room, &job->err);
    if (!data) return within(&job->err, "inputs: too much output, send less at once");
    if (pool)
        task->pool(&(TaskRow){ .encoding = &job->encoding[r], .data = out->data,
                               .tokens = out->tokens, .width = out->width }, data);
    else
        memcpy(data, out->data, count * sizeof *data);
    job->stored += count * sizeof *data;
    job->rows[r] = data;
    job->row_tokens[r] = pool ? 1 : out->tokens;
    job->row_width[r] = out->width;
    return true;
}

static void store_piece(const Session *s, Piece *p, const RowOutput *out)
{
    Job *job = p->job;
    for (size_t r = p->from; r < p->to; r++) {
        if (!store_row(s, job, r, &out[r - p->from])) return;
        job->left -= (int64_t)job->encoding[r].n;
    }
    job->at = p->to;
}

static bool run_pieces(Session *s, Arena *scratch, Piece *piece, int n, Err *err)
{
    int rows = 0;
    int64_t tokens = 0;
    for (int i = 0; i < n; i++) {
        rows += (int)(piece[i].to - piece[i].from);
        for (size_t r = piece[i].from; r < piece[i].to; r++)
            tokens += (int64_t)piece[i].job->encoding[r].n;
    }
    Batch batch = make_batch(scratch, piece, n, rows, tokens);
    RowOutput *out = ARRAY(scratch, RowOutput, rows);
    if (!runner_run(s->runner, &batch, out, err)) return false;
    for (int i = 0, row = 0; i < n; i++) {
        store_piece(s, &piece[i], out + row);
        row += (int)(piece[i].to - piece[i].from);
    }
    return true;
}

/* When a run fails, each job runs alone: only the one that cannot be run is answered with an
 * error. */
static void run_load(Session *s, Arena *scratch, Load *load)
{
    Err err = { 0 };
    if (load->n == 0 || run_pieces(s, scratch, load->piece, load->n, &err)) return;
    for (int i = 0; i < load->n; i++) {
        Job *job = load->piece[i].job;
        if (load->n == 1) job->err = err;
        else run_pieces(s, scratch, &load->piece[i], 1, &job->err);
    }
}

/* ---- the thread ---- */
static void settle(Session *s, const Load *load)
{
    Job *complete[MOST_PIECES];
    int n = 0;
    for (int i = 0; i < load->n; i++) {
        Job *job = load->piece[i].job;
        if (job->err.code != EF_OK) job_done(job);
        else if (job->at < job->n) queue_pass(&s->queue, STAGE_RUN, job);
        else if (s->vms && s->model->transform->post) queue_pass(&s->queue, STAGE_SCRIPT, job);
        else complete[n++] = job;
    }
    jobs_finish(s, s->pool, complete, n);
    for (int i = 0; i < n; i++) job_done(complete[i]);
}

void *runner_thread(void *session)
{
    Session *s = session;
    Arena scratch = { 0 };
    Load load;
    for (Job *job; (job = queue_take(&s->queue, STAGE_RUN));) {
        collect(s, &load, job);
        run_load(s, &scratch, &load);
        settle(s, &load);
        arena_reset(&scratch, SCRATCH_KEPT);
    }
    arena_free(&scratch);
    return NULL;
}
