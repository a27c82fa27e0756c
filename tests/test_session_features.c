/* SPDX-License-Identifier: Apache-2.0
 * test_session_features.c - rows that bring tensors of their own: pictures of several sizes through a
 * small graph with outputs of several ranks, compared with numbers computed here, alone and in company. */
#include "graph_case.h"
#include "session_rows.h"

enum { ITEMS = 11, COLOURS = 3, MAPS = 4, LABELS = 5, SIDE = 3, MOST_POINTS = 64 };
#define TEXTS "tests/golden/question_answering/bert" /* whose second graph the pictures have */

/* ---- the pictures ---- */
static const int64_t sizes[][2] = { { 6, 5 }, { 4, 7 }, { 6, 5 }, { 8, 8 } };
static bool equal;      /* all have the first size */
static int broken = -1; /* this picture has another number of colours */
static bool nameless;   /* rows have something else instead */

static const int64_t *size_of(size_t picture)
{
    return sizes[equal ? 0 : picture % COUNT(sizes)];
}

static float point(size_t picture, int64_t k)
{
    uint32_t mixed = (uint32_t)(picture * 977 + (size_t)k * 31 + 5) * 2654435761u;
    return (float)(mixed >> 8) / (1 << 23) - 1;
}

static bool prepare_picture(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    (void)err;
    size_t number = item_number(item);
    const int64_t *size = size_of(number);
    Feature *f = NEW(call->arena, Feature);
    *f = (Feature){ nameless ? "pixels" : "pixel_values",
                    { .type = T_F32, .rank = 3, .dim = { COLOURS, size[0], size[1] } } };
    if ((int)number == broken) f->t.dim[0]--;
    float *x = f->t.data = arena_raw(call->arena, tensor_bytes(&f->t));
    for (int64_t k = 0; k < tensor_count(&f->t); k++) x[k] = point(number, k);
    *out->row = (Prepared){ .feature = f, .features = 1, .graph = 1 };
    out->n = 1;
    return true;
}

static const Preparer pictures = { "pictures", prepare_picture };

/* ---- the graph: maps [B, 4, H - 2, W - 2], logits [B, 5], best [B] (an integer) ---- */
static const char *const outputs[] = { "logits", "maps", "best" };

static Engine *open_pictures(GraphCase *c, const char *dims, bool mixing)
{
    Str names[COUNT(outputs)];
    Graph *g;
    Engine *e = NULL;
    case_begin(c, 17);
    input(c, "pixel_values", T_F32, dims);
    node(c, "Conv", "pixel_values w:4x3x3x3 bias:4", "sums");
    node(c, "Relu", "sums", "maps");
    node(c, "ReduceMean axes=2,3 keepdims=0", "maps", "means");
    node(c, mixing ? "ReduceMean axes=0, keepdims=1" : "Identity", "means", "mean");
    node(c, "Sub", mixing ? "means mean" : "mean 0.0", "level");
    node(c, "MatMul", "level head:4x5", "logits");
    node(c, "ArgMax axis=1 keepdims=0", "logits", "best");
    for (size_t i = 0; i < COUNT(outputs); i++) output(c, outputs[i]), names[i] = str_of(outputs[i]);
    bool ok = CHECK(case_open(c, &g)) && CHECK(graph_optimize(g, false, &c->err)) &&
              CHECK(engine_new(&c->arena, g, names, COUNT(outputs), &e, &c->err));
    if (!ok) printf("  %s\n", c->err.message);
    return ok ? e : NULL;
}

static const float *numbers_of(const GraphCase *c, const char *name)
{
    for (int i = 0; i < c->model.graph.n_init; i++)
        if (str_is(c->model.graph.init[i].name, name)) return c->model.graph.init[i].t.data;
    return NULL;
}

/* ---- the same by hand ---- */
typedef struct Answer {
    int64_t H, W;
    double maps[MAPS * MOST_POINTS], logits[LABELS];
    int best;
} Answer;

static double window_sum(const float *w, size_t picture, int64_t H, int64_t W, int64_t y, int64_t x)
{
    double sum = 0;
    for (int64_t k = 0; k < COLOURS * SIDE * SIDE; k++) {
        int64_t colour = k / (SIDE * SIDE), dy = k / SIDE % SIDE, dx = k % SIDE;
        sum += (double)w[k] * (double)point(picture, (colour * H + y + dy) * W + x + dx);
    }
    return sum;
}

static Answer by_hand(const GraphCase *c, size_t picture)
{
    const int64_t H = size_of(picture)[0], W = size_of(picture)[1];
    const float *w = numbers_of(c, "w"), *bias = numbers_of(c, "bias"), *head = numbers_of(c, "head");
    Answer a = { .H = H - SIDE + 1, .W = W - SIDE + 1 };
    for (int m = 0; m < MAPS; m++) {
        double mean = 0;
        for (int64_t k = 0; k < a.H * a.W; k++) {
            double sum = (double)bias[m] + window_sum(w + m * COLOURS * SIDE * SIDE, picture, H, W,
                                                      k / a.W, k % a.W);
            mean += a.maps[m * a.H * a.W + k] = fmax(sum, 0);
        }
        for (int l = 0; l < LABELS; l++)
            a.logits[l] += mean / (double)(a.H * a.W) * (double)head[m * LABELS + l];
    }
    for (int l = 1; l < LABELS; l++)
        if (a.logits[l] > a.logits[a.best]) a.best = l;
    return a;
}

static double worst_of(const TaskTensor *found, const double *want, int64_t n)
{
    double worst = found->tokens * found->width == n ? 0 : INFINITY;
    for (int64_t k = 0; worst < INFINITY && k < n; k++)
        worst = fmax(worst, fabs((double)found->data[k] - want[k]));
    return worst;
}

static void check_answer(const GraphCase *c, const Work *work, size_t r)
{
    const Answer a = by_hand(c, r);
    const TaskTensor *logits = work_result(work, r), *maps = logits + 1, *best = logits + 2;
    CHECK(logits->rank == 1 && logits->dim[0] == LABELS && logits->width == LABELS);
    CHECK(worst_of(logits, a.logits, LABELS) < 1e-5);
    CHECK(maps->rank == 3 && maps->dim[0] == MAPS && maps->dim[1] == a.H && maps->dim[2] == a.W);
    CHECK(worst_of(maps, a.maps, MAPS * a.H * a.W) < 1e-5);
    CHECK(best->rank == 0 && best->width == 1 && (int)best->data[0] == a.best);
}

static bool same_row(const Work *a, size_t i, const Work *b, size_t j)
{
    bool same = true;
    for (size_t k = 0; k < COUNT(outputs); k++)
        same &= same_result(work_result(a, i) + k, work_result(b, j) + k);
    return same;
}

/* ---- the tests ---- */
static size_t only; /* the picture that runs alone */

static bool prepare_only(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    const Item other = { .first = str_of(str_format(call->arena, "w%zu", item_number(item) + only)) };
    return prepare_picture(call, &other, out, err);
}

static const Preparer one_picture = { "one", prepare_only };

static void check_alone(const Model *model, const Work *all)
{
    for (only = 0; only < all->rows; only++) {
        Work *alone = run_items(model, &one_picture, 1, 1);
        CHECK(alone->err.code == EF_OK && same_row(alone, 0, all, only));
        free_work(alone);
    }
}

static void test_pictures(Model *model, const char *dims)
{
    TEST(dims);
    GraphCase c;
    model->second = open_pictures(&c, dims, false);
    for (int threads = 1; model->second && threads <= 3; threads += 2) {
        Work *work = run_items(model, &pictures, ITEMS, threads);
        if (!CHECK(work->err.code == EF_OK && work->rows == ITEMS)) printf("  %s\n", work->err.message);
        for (size_t r = 0; work->err.code == EF_OK && r < ITEMS; r++) check_answer(&c, work, r);
        CHECK(work->tokens == 0 && work->row[0].cost == 1);
        if (work->err.code == EF_OK) check_alone(model, work);
        free_work(work);
    }
    model->second = NULL;
    arena_free(&c.arena);
}

/* Its batch has a mean: then pictures run one by one. */
static void test_mixing(Model *model)
{
    TEST("a graph that mixes rows");
    GraphCase c;
    model->second = open_pictures(&c, "B 3 H W", true);
    Work *work = run_items(model, &pictures, ITEMS, 2);
    if (CHECK(work->err.code == EF_OK)) check_alone(model, work);
    free_work(work);
    model->second = NULL;
    arena_free(&c.arena);
}

static void check_refused(const Model *model, const char *message)
{
    Work *work = run_items(model, &pictures, ITEMS, 2);
    CHECK(work->err.code == EF_INVALID_INPUT);
    if (!CHECK(strcmp(work->err.message, message) == 0)) printf("  %s\n", work->err.message);
    free_work(work);
}

static void test_refused(Model *model)
{
    TEST("rows that do not fit");
    GraphCase c;
    model->second = open_pictures(&c, "B 3 H W", false);
    broken = 6;
    check_refused(model, "Model inference failed: Input shape mismatch: 'pixel_values' of a row: found "
                         "float[2,6,5], wanted float[3,?,?]");
    broken = -1;
    nameless = true;
    check_refused(model, "Model inference failed: a row has no 'pixel_values', which the graph reads");
    nameless = false;
    model->second = NULL;
    arena_free(&c.arena);
}

int main(void)
{
    Model *model;
    Err err = { 0 };
    ModelOpen how = { .task = STR("embedding") };
    if (!CHECK(model_open_with(TEXTS, &how, &model, &err))) return printf("  %s\n", err.message), finish();
    test_pictures(model, "B 3 H W"); /* any size, */
    test_pictures(model, "1 3 H W"); /* and a graph for one picture */
    test_pictures(model, "4 3 H W"); /* or four at a time */
    equal = true;
    test_pictures(model, "B 3 6 5"); /* one size, which the file declares */
    test_pictures(model, "4 3 6 5");
    equal = false;
    test_mixing(model);
    test_refused(model);
    model_close(model);
    return finish();
}
