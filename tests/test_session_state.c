/* SPDX-License-Identifier: Apache-2.0
 * test_session_state.c - a graph that carries state from row to row of an item: rows of one item in their
 * order, those of different items in one run, each answer that of a loop written here, and the same
 * bits alone, in company and on several threads. */
#include <semaphore.h>

#include "graph_case.h"
#include "session_rows.h"

enum { SAMPLES = 4, HIDDEN = 5, CELL = 2, SCORES = 3, ITEMS = 9, MOST_ROWS = 6, WORKS = 7 };
#define TEXTS "tests/golden/question_answering/bert" /* in place of whose graph the recurrent one runs */

/* ---- the items: sounds of several lengths, at one of two rates ---- */
static int rows_of(size_t item)
{
    return 1 + (int)(item * 7 + 3) % MOST_ROWS;
}

static int64_t rate_of(size_t item)
{
    return item % 3 == 1 ? 8000 : 16000;
}

static float sample(size_t item, int row, int k)
{
    uint32_t mixed = (uint32_t)(item * 977 + (size_t)row * 131 + (size_t)k * 31 + 5) * 2654435761u;
    return (float)(mixed >> 8) / (1 << 23) - 1;
}

static void make_row(Arena *arena, size_t item, int r, Prepared *row)
{
    Feature *f = ARRAY(arena, Feature, 2);
    float *x = ARRAY(arena, float, SAMPLES);
    int64_t *rate = NEW(arena, int64_t);
    for (int k = 0; k < SAMPLES; k++) x[k] = sample(item, r, k);
    *rate = rate_of(item);
    f[0] = (Feature){ "input", { .type = T_F32, .rank = 1, .dim = { SAMPLES }, .data = x } };
    f[1] = (Feature){ "sr", { .type = T_I64, .data = rate } };
    *row = (Prepared){ .feature = f, .features = 2 };
}

static size_t first_item; /* of the work; items are counted from there */

static bool prepare_sound(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    (void)err;
    size_t number = item_number(item) + first_item;
    out->n = (size_t)rows_of(number);
    out->row = ARRAY(call->arena, Prepared, out->n);
    for (size_t r = 0; r < out->n; r++) make_row(call->arena, number, (int)r, &out->row[r]);
    return true;
}

static const Preparer sounds = { "sounds", prepare_sound };

/* The second row of the first sound is one that its graph does not take, after another graph ran. */
static bool prepare_broken(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    bool ok = prepare_sound(call, item, out, err);
    if (item_number(item) == 0) out->row[1].features--, out->row[1].graph = 1;
    return ok;
}

static const Preparer broken = { "broken", prepare_broken };

/* ---- the graph: h as torch and Silero VAD have it, [1, B, C]; c with its rows in front ---- */
static Engine *open_sounds(GraphCase *c)
{
    Graph *g;
    Engine *e = NULL;
    case_begin(c, 17);
    input(c, "input", T_F32, "B N");
    input(c, "h", T_F32, "1 B 5");
    input(c, "c", T_F32, "B 2");
    input(c, "sr", T_I64, "");
    node(c, "Equal", "sr 8000", "slow");
    branch_begin(c);
    node(c, "Mul", "input 0.5", "quieter");
    output(c, "quieter");
    OnnxGraph *slow = branch_end(c);
    branch_begin(c);
    node(c, "Identity", "input", "same");
    output(c, "same");
    node_if(c, "slow", slow, branch_end(c), "x");
    node(c, "MatMul", "x w:4x5", "heard");
    node(c, "Squeeze", "h [0]", "before");
    node(c, "MatMul", "before u:5x5", "kept");
    node(c, "Add", "heard kept", "sum");
    node(c, "Tanh", "sum", "hidden");
    node(c, "Unsqueeze", "hidden [0]", "hn");
    node(c, "MatMul", "hidden v:5x2", "new");
    node(c, "Mul", "c 0.5", "old");
    node(c, "Add", "old new", "cn");
    node(c, "MatMul", "cn head:2x3", "output");
    output(c, "output"), output(c, "hn"), output(c, "cn");
    Str name = STR("output");
    bool ok = CHECK(case_open(c, &g));
    if (ok) graph_keep(g, &name, 1); /* states stay without being named */
    ok = ok && CHECK(graph_optimize(g, false, &c->err)) &&
         CHECK(engine_new(&c->arena, g, &name, 1, &e, &c->err));
    if (!ok) return printf("  %s\n", c->err.message), NULL;
    CHECK(engine_outputs(e) == 1 && engine_states(e) == 2 && engine_state_numbers(e) == HIDDEN + CELL);
    return e;
}

/* ---- the same by hand ---- */
static double weight(const GraphCase *c, const char *name, int row, int column)
{
    for (int i = 0; i < c->model.graph.n_init; i++) {
        const OnnxTensor *t = &c->model.graph.init[i];
        if (str_is(t->name, name)) return tensor_get(&t->t, row * t->t.dim[1] + column);
    }
    return NAN;
}

typedef struct State {
    double h[HIDDEN], c[CELL];
} State;

static void step_by_hand(const GraphCase *c, size_t item, int row, State *s, double *scores)
{
    State next = { 0 };
    for (int j = 0; j < HIDDEN; j++) {
        double sum = 0, loud = rate_of(item) == 8000 ? 0.5 : 1;
        for (int k = 0; k < SAMPLES; k++)
            sum += loud * (double)sample(item, row, k) * weight(c, "w", k, j);
        for (int k = 0; k < HIDDEN; k++) sum += s->h[k] * weight(c, "u", k, j);
        next.h[j] = tanh(sum);
    }
    for (int j = 0; j < CELL; j++) {
        next.c[j] = 0.5 * s->c[j];
        for (int k = 0; k < HIDDEN; k++) next.c[j] += next.h[k] * weight(c, "v", k, j);
    }
    for (int j = 0; j < SCORES; j++) {
        scores[j] = 0;
        for (int k = 0; k < CELL; k++) scores[j] += next.c[k] * weight(c, "head", k, j);
    }
    *s = next;
}

/* How far an item's rows are from that. */
static double item_distance(const GraphCase *c, const Work *work, size_t i, size_t item)
{
    State state = { 0 };
    double worst = work_rows(work, i) == (size_t)rows_of(item) ? 0 : INFINITY;
    for (int r = 0; worst < INFINITY && r < rows_of(item); r++) {
        double want[SCORES];
        const TaskTensor *found = work_result(work, work_row(work, i) + (size_t)r);
        step_by_hand(c, item, r, &state, want);
        if (found->rank != 1 || found->width != SCORES) return INFINITY;
        for (int k = 0; k < SCORES; k++)
            worst = fmax(worst, fabs((double)found->data[k] - want[k]));
    }
    return worst;
}

static bool same_item(const Work *a, size_t i, const Work *b, size_t j)
{
    bool same = work_rows(a, i) == work_rows(b, j);
    for (size_t r = 0; same && r < work_rows(a, i); r++)
        same = same_result(work_result(a, work_row(a, i) + r), work_result(b, work_row(b, j) + r));
    return same;
}

/* ---- the tests ---- */
static uint64_t count_runs(const Session *s)
{
    const Meter *m = &session_meters(s)->run_rows;
    uint64_t n = 0;
    for (int i = 0; i <= METER_BUCKETS; i++) n += count_get(&m->bucket[i]);
    return n;
}

/* All items of a request advance together: a run for each step, not for each row. */
static void test_together(const Model *model, const GraphCase *c, int threads)
{
    TEST("items side by side");
    Work *work = new_work(&sounds, ITEMS);
    Session *s = session_new(model, &(SessionOptions){ .threads = threads }, &item_steps);
    session_run(s, work);
    if (!CHECK(work->err.code == EF_OK)) printf("  %s\n", work->err.message);
    CHECK(threads > 1 ? count_runs(s) < work->rows : count_runs(s) == MOST_ROWS);
    for (size_t i = 0; work->err.code == EF_OK && i < ITEMS; i++) {
        CHECK(item_distance(c, work, i, i) < 1e-5);
        first_item = i;
        Work *alone = run_items(model, &sounds, 1, 1);
        CHECK(alone->err.code == EF_OK && same_item(alone, 0, work, i));
        free_work(alone);
    }
    first_item = 0;
    session_free(s);
    free_work(work);
}

static void post_done(Work *work)
{
    sem_post(work->context);
}

/* Several requests at once. One may fail: its run is repeated one request at a time, and nobody's state
 * may have moved on by then. */
static void test_company(const Model *model, const GraphCase *c, int threads, int replicas, int failing)
{
    TEST("requests side by side");
    Work *work[WORKS];
    Err err = { 0 };
    sem_t done;
    sem_init(&done, 0, 0);
    Session *s = session_new(model, &(SessionOptions){ .threads = threads, .replicas = replicas },
                             &item_steps);
    for (int i = 0; i < WORKS; i++) {
        work[i] = new_work(i == failing ? &broken : &sounds, ITEMS);
        work[i]->done = post_done, work[i]->context = &done;
        CHECK(session_submit(s, work[i], &err));
    }
    for (int i = 0; i < WORKS; i++) sem_wait(&done);
    for (int i = 0; i < WORKS; i++) {
        CHECK((work[i]->err.code == EF_OK) == (i != failing));
        for (size_t k = 0; i != failing && k < ITEMS; k++)
            CHECK(item_distance(c, work[i], k, k) < 1e-5);
        budget_leave(&work[i]->budget), free_work(work[i]);
    }
    session_free(s);
    sem_destroy(&done);
}

int main(void)
{
    Model *model;
    GraphCase c;
    Err err = { 0 };
    ModelOpen how = { .task = STR("embedding") };
    if (!CHECK(model_open_with(TEXTS, &how, &model, &err))) return printf("  %s\n", err.message), finish();
    Engine *texts = model->engine, *recurrent = open_sounds(&c);
    if (recurrent) {
        model->engine = model->second = recurrent;
        test_together(model, &c, 1), test_together(model, &c, 3);
        test_company(model, &c, 2, 1, -1), test_company(model, &c, 2, 2, -1);
        test_company(model, &c, 1, 1, 3);
        model->engine = texts, model->second = NULL;
    }
    model_close(model);
    arena_free(&c.arena);
    return finish();
}
