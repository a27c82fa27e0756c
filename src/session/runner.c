/* SPDX-License-Identifier: Apache-2.0
 * runner.c - jobs to ragged batches, batches to rows, rows back to their jobs. Runners stand side by
 * side, each with an engine runner of its own and no pool: many small runs at once need no barrier.
 * For a large one a runner leads a gang, an engine runner with an open pool, and those with nothing
 * to do help. Asked for replicas, each owns a pool instead: one batch then uses all its cores.
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

static const double worth_s = 0.00025; /* of work, for a thread to help with it */

struct Replica {
    Session *s;
    Pool *pool;                  /* NULL: this thread alone */
    Runner *runner[MODEL_GRAPHS];
    int graphs;
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

/* Of runs on so many threads; 0: as many as a replica has. */
int64_t runner_most(const Session *s, int threads)
{
    if (!threads) threads = s->options.threads / s->options.replicas;
    double rate = rate_of(s) * threads, tokens = rate * s->options.batch_seconds;
    int enough = threads > 1 ? ENOUGH_OF_SEVERAL * threads : ENOUGH_TOKENS;
    if (tokens <= 0) tokens = FIRST_TOKENS; /* nothing is known yet */
    if (!s->options.bulk) tokens = MIN(tokens, MAX(enough, rate * enough_seconds));
    return (int64_t)MIN(MAX(tokens, 1), (double)s->options.batch_tokens);
}

int64_t runner_least(const Session *s)
{
    return (int64_t)(rate_of(s) * worth_s);
}

/* A small run says little about a large one, unless it was faster than we thought. */
static void learn_rate(Session *s, int64_t tokens, double seconds, int threads)
{
    double rate = rate_of(s), seen = (double)tokens / MAX(seconds, 1e-6) / threads;
    if (rate > 0 && seen < rate && tokens * 4 < runner_most(s, threads)) return;
    rate = rate > 0 ? rate + (seen - rate) / 4 : seen;
    __atomic_store(&s->rate, &rate, __ATOMIC_RELAXED);
}

/* ---- running ---- */
typedef struct Run {             /* the rows of some pieces through the model, guarded */
    Replica *me;
    LoadPiece *piece;
    int n;
    const Prepared **row;        /* [rows] */
    int rows;
    RowOutput *out;              /* [rows][outputs] */
    const RowOutput **next;      /* [rows]: states for the items' next rows; NULL: none */
    Err *err;
    bool ok;
} Run;

static Prepared *piece_row(const LoadPiece *p, size_t at)
{
    return &p->work->row[work_turn(p->work, at)];
}

static void list_rows(Run *run)
{
    int at = 0;
    for (int i = 0; i < run->n; i++) run->rows += (int)(run->piece[i].to - run->piece[i].from);
    run->row = ARRAY(&run->me->scratch, const Prepared *, run->rows);
    for (int i = 0; i < run->n; i++)
        for (size_t r = run->piece[i].from; r < run->piece[i].to; r++)
            run->row[at++] = piece_row(&run->piece[i], r);
}

static void copy_boxes(int32_t *boxes, const Prepared *row)
{
    if (row->boxes) memcpy(boxes, row->boxes, row->encoding.n * 4 * sizeof *boxes);
}

/* What a row brings: its features, then what the item's row before it handed on. */
static RowInputs own_of(Arena *arena, const Engine *e, const Prepared *row)
{
    RowInputs own = { row->feature, row->features };
    return row->state ? engine_with_state(arena, e, own, row->state) : own;
}

/* NULL: tokens alone. */
static const RowInputs *list_own(Arena *arena, const Engine *e, const Prepared *const *row, int rows)
{
    bool any = false;
    for (int r = 0; r < rows; r++) any |= row[r]->features > 0 || row[r]->state;
    RowInputs *own = any ? ARRAY(arena, RowInputs, rows) : NULL;
    for (int r = 0; any && r < rows; r++) own[r] = own_of(arena, e, row[r]);
    return own;
}

static Batch make_batch(Arena *arena, const Engine *e, const Prepared *const *row, int rows)
{
    int32_t *start = ARRAY(arena, int32_t, rows + 1);
    bool boxed = false;
    for (int r = 0; r < rows; r++) {
        start[r + 1] = start[r] + (int32_t)row[r]->encoding.n;
        boxed |= row[r]->boxes != NULL;
    }
    int32_t *ids = ARRAY(arena, int32_t, start[rows]), *types = ARRAY(arena, int32_t, start[rows]);
    int32_t *boxes = boxed ? ARRAY(arena, int32_t, start[rows] * 4) : NULL;
    for (int r = 0; r < rows; r++) {
        const Encoding *text = &row[r]->encoding;
        if (text->n == 0) continue;
        memcpy(ids + start[r], text->ids, text->n * sizeof *ids);
        memcpy(types + start[r], text->type_ids, text->n * sizeof *types);
        if (boxed) copy_boxes(boxes + 4 * start[r], row[r]);
    }
    return (Batch){ rows, start, ids, types, boxes, list_own(arena, e, row, rows) };
}

/* Those of a graph run together; what they give goes to the rows' own places. */
static bool run_graph(Run *run, int graph)
{
    Replica *me = run->me;
    const Engine *engine = model_engine(me->s->model, graph);
    const int outputs = model_outputs(me->s->model, graph);
    const int all = outputs + (engine ? engine_states(engine) : 0);
    int n = 0;
    int *place = ARRAY(&me->scratch, int, run->rows);
    const Prepared **row = ARRAY(&me->scratch, const Prepared *, run->rows);
    for (int r = 0; r < run->rows; r++)
        if (run->row[r]->graph == graph) place[n] = r, row[n++] = run->row[r];
    if (n == 0) return true;
    Batch batch = make_batch(&me->scratch, engine, row, n);
    RowOutput *out = ARRAY(&me->scratch, RowOutput, n * all);
    if (!runner_run(me->runner[graph], &batch, out, run->err)) return false;
    for (int r = 0; r < n; r++) {
        memcpy(&run->out[place[r] * me->s->outputs], &out[r * all], (size_t)outputs * sizeof *out);
        if (row[r]->state) run->next[place[r]] = &out[r * all + outputs];
    }
    return true;
}

/* Once all rows have run: a run that fails is repeated with the states as they were. */
static void hand_states_on(const Run *run)
{
    for (int r = 0; r < run->rows; r++) {
        if (!run->next[r]) continue;
        const Engine *engine = model_engine(run->me->s->model, run->row[r]->graph);
        float *state = run->row[r]->state;
        for (int k = 0; k < engine_states(engine); k++) {
            int64_t numbers = tensor_count(&engine_state(engine, k)->t);
            memcpy(state, run->next[r][k].data, (size_t)numbers * sizeof *state);
            state += numbers;
        }
    }
}

static void run_rows(void *arg)
{
    Run *run = arg;
    Replica *me = run->me;
    list_rows(run);
    run->out = ARRAY(&me->scratch, RowOutput, run->rows * me->s->outputs);
    run->next = ARRAY(&me->scratch, const RowOutput *, run->rows);
    run->ok = true;
    for (int g = 0; g < me->graphs && run->ok; g++) run->ok = run_graph(run, g);
    if (run->ok) hand_states_on(run);
}

/* ---- what of a row is kept ---- */
static int64_t count_wanted(const Session *s, const Work *work, size_t r, int64_t tokens)
{
    const Task *task = s->model->task;
    int64_t n = 0;
    for (int64_t t = 0; t < tokens; t++)
        n += task->wants(s->model->tokenizer, &work->row[r].encoding, (size_t)t);
    return n;
}

static void copy_wanted(const Session *s, const Work *work, size_t r, const RowOutput *out, float *to)
{
    const Task *task = s->model->task;
    for (int64_t t = 0; t < out->tokens; t++) {
        if (!task->wants(s->model->tokenizer, &work->row[r].encoding, (size_t)t)) continue;
        memcpy(to, out->data + t * out->width, (size_t)out->width * sizeof *to);
        to += out->width;
    }
}

/* How a row's first output is kept: pooled, the tokens that the task wants, or all of it. */
typedef struct Keeping {
    TaskPool *pooling;
    bool some;
    int64_t tokens, width;
} Keeping;

static Keeping keeping_of(const Session *s, const Work *work, size_t r, const RowOutput *out)
{
    const Task *task = s->model->task;
    const VectorHead *head = s->model->config.head;
    bool script = s->vms && s->model->transform->post; /* it sees every token */
    bool many = out->tokens > 1 || head || (task->shape->last == AXIS_WORDS && work->row[r].encoding.n == 1);
    Keeping k = { .tokens = out->tokens, .width = out->width };
    if (script) return k;
    if (many) k.pooling = work_pooling(s, work);
    k.some = task->wants && !k.pooling;
    if (k.pooling) k.tokens = 1;
    else if (k.some) k.tokens = count_wanted(s, work, r, out->tokens);
    if (k.pooling && head) k.width = head_width(head, work->options.pooling, out->width);
    else if (k.pooling && task->pool_width) k.width = task->pool_width(out->rank, out->dim);
    return k;
}

/* Into the work's own memory: the runner's is overwritten by its next run. NULL: it has its error. */
static float *result_new(const Session *s, Work *work, TaskTensor *to, int64_t tokens, int64_t width)
{
    size_t count = (size_t)tokens * (size_t)width;
    size_t room = s->options.max_output - work->stored;
    float *data = arena_try(&work->arena, count, sizeof *data, room, &work->err);
    if (!data) return within(&work->err, "inputs: too much output, send less at once"), NULL;
    work->stored += count * sizeof *data;
    *to = (TaskTensor){ .data = data, .tokens = tokens, .width = width,
                        .rank = 2, .dim = { tokens, width } };
    return data;
}

static void copy_whole(const RowOutput *out, TaskTensor *to, float *data)
{
    _Static_assert(sizeof to->dim == sizeof out->dim, "any rank that the engine has");
    to->rank = out->rank;
    memcpy(to->dim, out->dim, sizeof to->dim);
    memcpy(data, out->data, (size_t)(out->tokens * out->width) * sizeof *data);
}

static bool store_first(const Session *s, Work *work, size_t r, const RowOutput *out)
{
    Keeping k = keeping_of(s, work, r, out);
    float *data = result_new(s, work, work_result(work, r), k.tokens, k.width);
    if (!data) return false;
    if (k.width == 0)
        return fail(&work->err, EF_BAD_MODEL, "the model's dense layer does not take vectors of %lld "
                    "numbers", (long long)out->width);
    TaskTensor whole = { .rank = out->rank };
    memcpy(whole.dim, out->dim, sizeof whole.dim);
    if (k.pooling)
        k.pooling(&(TaskRow){ .out = &whole, .encoding = &work->row[r].encoding, .data = out->data,
                              .tokens = out->tokens, .width = out->width,
                              .head = s->model->config.head, .prompt = work->prompt },
                  &work->options, data);
    else if (k.some)
        copy_wanted(s, work, r, out, data);
    else
        copy_whole(out, work_result(work, r), data);
    return true;
}

/* What a graph leaves open until it runs: one number for every token or text, where the task counts on it. */
static bool row_fits(const Session *s, Work *work, size_t r, const RowOutput *out)
{
    const TaskShape *shape = s->model->task->shape;
    size_t tokens = work->row[r].encoding.n, wanted = shape->per == PER_TOKEN ? tokens : 1;
    bool more = shape->last == AXIS_PLACES; /* may follow */
    for (int o = 0; (more || shape->last == AXIS_SINGLE) && o < s->outputs && out[o].data; o++)
        if (more ? out[o].tokens * out[o].width < (int64_t)wanted
                 : out[o].width != 1 || out[o].tokens != (int64_t)wanted)
            return fail(&work->err, EF_BAD_MODEL, "found an output [%lld, %lld] for %zu tokens, wanted "
                        "%zu numbers", (long long)out[o].tokens, (long long)out[o].width, tokens, wanted);
    return true;
}

static bool store_row(const Session *s, Work *work, size_t r, const RowOutput *out)
{
    if (!row_fits(s, work, r, out)) return false;
    if (!store_first(s, work, r, &out[0])) return false;
    bool more = !s->model->task->on_request || work->options.patches;
    for (int o = 1; more && o < s->outputs && out[o].data; o++) {
        float *data = result_new(s, work, work_result(work, r) + o, out[o].tokens, out[o].width);
        if (!data) return false;
        copy_whole(&out[o], work_result(work, r) + o, data);
    }
    return true;
}

typedef struct Stored {          /* what becomes of a piece, guarded */
    const Session *s;
    const LoadPiece *piece;
    const RowOutput *out;
} Stored;

static void store_piece(void *arg)
{
    const Stored *to = arg;
    const LoadPiece *p = to->piece;
    for (size_t at = p->from; at < p->to; at++)
        if (!store_row(to->s, p->work, work_turn(p->work, at),
                       &to->out[(at - p->from) * (size_t)to->s->outputs]))
            return;
}

static bool run_pieces(Replica *me, LoadPiece *piece, int n, Err *err)
{
    Run run = { .me = me, .piece = piece, .n = n, .err = err };
    if (!session_guarded(me->s, run_rows, &run, err) || !run.ok) return false;
    for (int i = 0, row = 0; i < n; i++) {
        Work *work = piece[i].work;
        Stored to = { me->s, &piece[i], run.out + row * me->s->outputs };
        session_guarded(me->s, store_piece, &to, &work->err);
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
        Work *work = load->piece[i].work;
        if (load->n == 1) work->err = err;
        else run_pieces(me, &load->piece[i], 1, &work->err);
    }
}

static int64_t load_tokens(const Load *load)
{
    int64_t tokens = 0;
    for (int i = 0; i < load->n; i++)
        for (size_t r = load->piece[i].from; r < load->piece[i].to; r++)
            tokens += (int64_t)piece_row(&load->piece[i], r)->encoding.n;
    return tokens;
}

static void time_load(Replica *me)
{
    Session *s = me->s;
    const Load *load = &me->load;
    double begin = now_seconds();
    for (int i = 0; i < load->n; i++) {
        WorkTimes *times = &load->piece[i].work->times;
        if (times->started > 0) continue;
        times->started = begin;
        meter_add(&s->meters.queue, METER_SECONDS, begin - times->admitted);
    }
    run_load(me);
    double seconds = me->load.seconds = now_seconds() - begin;
    learn_rate(s, load->cost, seconds, pool_threads(me->pool));
    meter_add(&s->meters.compute, METER_SECONDS, seconds);
    meter_add(&s->meters.run_rows, METER_COUNT, load->rows);
    meter_add(&s->meters.run_tokens, METER_COUNT, (double)load_tokens(load));
}

/* ---- the thread ---- */
/* Whether one of the others is for who gets the first. */
static bool told_again(Work **list, int n)
{
    for (int i = 1; i < n; i++)
        if (list[i]->to == list[0]->to) return true;
    return false;
}

static void settle_complete(Replica *me, Work **complete, int n)
{
    Session *s = me->s;
    double begin = now_seconds();
    for (int i = 0; i < n; i++) texts_keep(s, complete[i]);
    s->steps.finish(s, me->pool, complete, n);
    meter_add(&s->meters.finish, METER_SECONDS, now_seconds() - begin);
    for (int i = 0; i < n; i++) {
        complete[i]->more = told_again(complete + i, n - i);
        work_done(s, complete[i]);
    }
}

/* Returns a list of the jobs that have rows left. */
static Work *settle(Replica *me)
{
    Session *s = me->s;
    Work *complete[LOAD_PIECES], *left = NULL, **end = &left;
    int n = 0;
    for (int i = 0; i < me->load.n; i++) {
        Work *work = me->load.piece[i].work;
        if (work->err.code != EF_OK) {
            work_done(s, work);
        } else if (work->turn.at < work->rows) {
            *end = work;
            end = &work->next;
        } else if (s->vms && s->model->transform->post) {
            queue_pass(&s->queue, STAGE_SCRIPT, work);
        } else {
            complete[n++] = work;
        }
    }
    *end = NULL;
    if (n) settle_complete(me, complete, n);
    return left;
}

static void drop(Session *s, Work *list)
{
    for (Work *work = list, *next; work; work = next) {
        next = work->next;
        work_unwanted(s, work); /* gives it its error */
        work_done(s, work);
    }
}

static bool side_by_side(const Session *s)
{
    return s->queue.side > 0;
}

/* Threads are dealt out so that no replica has more than one more than another. */
static Pool *own_pool(Session *s)
{
    int number = __atomic_fetch_add(&s->replicas_begun, 1, __ATOMIC_RELAXED);
    int threads = s->options.threads, replicas = s->options.replicas;
    return pool_new(threads / replicas + (number < threads % replicas));
}

static void replica_open(Replica *me)
{
    const Model *model = me->s->model;
    for (; me->graphs < model_graphs(model); me->graphs++)
        me->runner[me->graphs] = runner_new(model_engine(model, me->graphs), me->pool);
}

static void replica_close(Replica *me)
{
    while (me->graphs) runner_free(me->runner[--me->graphs]);
    pool_free(me->pool);
    arena_free(&me->scratch);
}

/* Returns a list of the jobs that have rows left. */
static Work *run_and_settle(Replica *me)
{
    if (me->load.n) time_load(me);
    Work *left = settle(me);
    arena_reset(&me->scratch, SCRATCH_KEPT);
    return left;
}

/* ---- gangs ---- */
static bool gang_make(Session *s, int i)
{
    Replica *gang = s->gang[i] = NEW(&s->arena, Replica);
    *gang = (Replica){ .s = s, .pool = pool_new_open(s->options.threads) };
    if (!gang->pool) return false;
    replica_open(gang);
    s->queue.gang[i].load = &gang->load;
    s->queue.gangs = i + 1;
    return true;
}

bool gangs_make(Session *s)
{
    enum { RUNNERS_OF_A_GANG = 3 };
    int n = MIN(MAX(s->options.threads / RUNNERS_OF_A_GANG, 1), MOST_GANGS);
    for (int i = 0; i < n; i++)
        if (!gang_make(s, i)) return false;
    return true;
}

void gangs_free(Session *s)
{
    for (int i = 0; i < MOST_GANGS; i++)
        if (s->gang[i]) replica_close(s->gang[i]);
}

static void run_gang(Session *s, Taken *taken)
{
    Replica *gang = s->gang[taken->gang];
    if (taken->helpers > 0) queue_call(&s->queue, taken, pool_call(gang->pool, taken->helpers));
    for (Work *left; (left = run_and_settle(gang));) {
        bool stay = queue_stay(&s->queue, left, taken);
        drop(s, taken->dropped);
        if (!stay) break;
    }
    if (taken->helpers > 0) pool_dismiss(gang->pool);
    queue_give_back(&s->queue, taken->gang);
}

static void run_own(Replica *me)
{
    Work *left = run_and_settle(me);
    if (left) queue_pass_runs(&me->s->queue, left);
}

void runner_borrowed(Session *s)
{
    Taken taken;
    queue_borrow(&s->queue, s->replica ? &s->replica->load : NULL, &taken);
    drop(s, taken.dropped);
    if (taken.gang >= 0) return run_gang(s, &taken);
    if (side_by_side(s)) return;
    run_own(s->replica);
    queue_give_back(&s->queue, -1); /* and the runner is called for what is left */
}

/* ---- the thread ---- */
static void take_turn(Replica *me, Taken *taken, Worker *worker)
{
    Session *s = me->s;
    drop(s, taken->dropped);
    if (taken->admit) admit_list(s, taken->admit, worker);
    if (taken->help) pool_help(s->gang[taken->gang]->pool, taken->help, taken->call);
    else if (taken->gang >= 0) run_gang(s, taken);
    else run_own(me);
}

void runner_thread(Worker *worker)
{
    Session *s = worker->s;
    Replica me = { .s = s };
    Taken taken = { 0 };
    if (!side_by_side(s)) me.pool = own_pool(s);
    if (s->options.replicas == 1 && !side_by_side(s)) s->replica = &me;
    replica_open(&me);
    sem_post(&s->ready);
    while (queue_load(&s->queue, &me.load, &worker->bed, side_by_side(s) && taken.admit, &taken))
        take_turn(&me, &taken, worker);
    replica_close(&me);
}
