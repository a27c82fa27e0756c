/* SPDX-License-Identifier: Apache-2.0
 * test_engine.c - tiny encoders of many exporters (tests/golden/engine, written by
 * tools/oracle/engine.py) against ONNX Runtime's answers, and the engine's walls: a row's answer is the
 * same to the bit alone, in any batch, at any thread count; ragged where it was proved, and only there. */
#include <dirent.h>

#include "base/file.h"
#include "check.h"
#include "data/npy.h"
#include "engine/engine.h"

enum { MAX_ROWS = 64 };

typedef struct Case {
    Arena arena;
    const char *dir;
    Mapping model_file;
    Graph *graph;
    Engine *engine;
    Npy start, ids, type_ids, output;
} Case;

static Precision asked; /* of the models that are loaded */

static bool load_npy(Case *c, const char *name, Npy *out)
{
    Err err;
    Str file;
    return file_read(&c->arena, path_join(&c->arena, c->dir, str_of(name)), 1 << 24, &file, &err) &&
           npy_read(file, out, &err);
}

static bool load_graph(Case *c, bool exact, Err *err)
{
    OnnxModel *model = NEW(&c->arena, OnnxModel);
    if (!file_map(path_join(&c->arena, c->dir, STR("model.onnx")), &c->model_file, err)) return false;
    Str bytes = { (const char *)c->model_file.p, c->model_file.n };
    return onnx_read(&c->arena, bytes, model, err) && graph_from_onnx(&c->arena, model, &c->graph, err) &&
           (c->graph->precision = asked, true) && graph_optimize(c->graph, exact, err) &&
           engine_new(&c->arena, c->graph, &c->graph->value[c->graph->output[0]].name, 1, &c->engine, err);
}

static bool load(Case *c, const char *dir, bool exact)
{
    Err err = { 0 };
    *c = (Case){ .dir = dir };
    bool ok = load_npy(c, "start.npy", &c->start) && load_npy(c, "ids.npy", &c->ids) &&
              load_npy(c, "type_ids.npy", &c->type_ids) && load_npy(c, "output.npy", &c->output);
    if (!CHECK(ok)) return false;
    if (load_graph(c, exact, &err)) return true;
    printf("  %s: %s\n", dir, err.message);
    return CHECK(!"the model loads");
}

static void unload(Case *c)
{
    file_unmap(&c->model_file);
    arena_free(&c->arena);
}

/* Largest difference to the reference, relative where a row's largest value exceeds 1. */
static double worst(const Case *c, const RowOutput *out)
{
    const float *want = c->output.data;
    double most = 0;
    for (int r = 0; r < c->start.dim[0] - 1; r++) {
        int64_t n = out[r].tokens * out[r].width;
        double scale = 1;
        for (int64_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
        for (int64_t i = 0; i < n; i++) {
            double d = fabs((double)out[r].data[i] - want[i]) / scale;
            most = d > most || d != d ? d : most;
        }
        want += n;
    }
    return most;
}

static Batch whole(const Case *c)
{
    return (Batch){ (int)c->start.dim[0] - 1, c->start.data, c->ids.data, c->type_ids.data };
}

static void answers(const char *dir, bool exact)
{
    Case c;
    Err err = { 0 };
    RowOutput out[MAX_ROWS] = { 0 };
    if (load(&c, dir, exact)) {
        Runner *runner = runner_new(c.engine, NULL);
        Batch batch = whole(&c);
        bool ok = runner_run(runner, &batch, out, &err);
        if (!ok) printf("  %s: %s\n", dir, err.message);
        double d = ok ? worst(&c, out) : INFINITY;
        bool per_row = strstr(dir, "quantized") && !exact; /* activations per token row, the reference per tensor */
        const double rounded = strstr(dir, "half") ? 2e-3 : 1e-5; /* half: the reference rounds each step */
        const double near = per_row ? 0.05 : rounded;
        if (CHECK(ok) && !CHECK(d <= near)) printf("  %s%s: difference %g\n", dir, exact ? " (exact)" : "", d);
        runner_free(runner);
    }
    unload(&c);
}

/* In less precision: near, and by the invariants that hold in any. */
static void less_precise(const char *dir, Precision precision)
{
    static const double most[PRECISION_COUNT] = { 1e-5, 0.05, 0.1 };
    Case c;
    Err err = { 0 };
    RowOutput out[MAX_ROWS] = { 0 };
    asked = precision;
    if (load(&c, dir, false)) {
        Runner *runner = runner_new(c.engine, NULL);
        Batch batch = whole(&c);
        bool ok = runner_run(runner, &batch, out, &err);
        double d = ok ? worst(&c, out) : INFINITY;
        if (!CHECK(d <= most[precision]) || !CHECK(ok))
            printf("  %s in %s: difference %g %s\n", dir, precision_name(precision), d, err.message);
        runner_free(runner);
    }
    unload(&c);
}

static bool same_bits(const RowOutput *a, const float *b)
{
    return memcmp(a->data, b, sizeof(float) * (size_t)(a->tokens * a->width)) == 0;
}

/* The batch over and over, so that its workers take parts of it: the same bits. */
static void in_a_crowd(Runner *runner, const Batch *b, const float *const *want, Arena *arena)
{
    enum { TOKENS = 800 };
    int32_t T = b->start[b->B];
    int turns = TOKENS / T + 1;
    int32_t *start = ARRAY(arena, int32_t, turns * b->B + 1), *ids = ARRAY(arena, int32_t, turns * T),
            *types = ARRAY(arena, int32_t, turns * T);
    RowOutput *out = ARRAY(arena, RowOutput, turns * b->B);
    Err err = { 0 };
    for (int i = 0; i < turns; i++) {
        for (int r = 0; r < b->B; r++) start[i * b->B + r + 1] = i * T + b->start[r + 1];
        memcpy(ids + i * T, b->ids, sizeof *ids * (size_t)T);
        memcpy(types + i * T, b->type_ids, sizeof *types * (size_t)T);
    }
    Batch crowd = { turns * b->B, start, ids, types };
    if (!CHECK(runner_run(runner, &crowd, out, &err))) printf("  %s\n", err.message);
    else
        for (int r = 0; r < crowd.B; r++) CHECK(same_bits(&out[r], want[r % b->B]));
}

/* The longest row with others, more or fewer of them each time, so that plans are used again: the same bits. */
static void in_other_company(Runner *runner, const Batch *b, const float *const *want)
{
    enum { TURNS = 12 };
    Arena arena = { 0 };
    int longest = 0;
    for (int r = 0; r < b->B; r++)
        if (b->start[r + 1] - b->start[r] > b->start[longest + 1] - b->start[longest]) longest = r;
    for (int turn = 0; turn < TURNS; turn++) {
        const int n = 1 + turn * 5 % (2 * b->B);
        int32_t *start = ARRAY(&arena, int32_t, n + 1), *ids = ARRAY(&arena, int32_t, n * b->start[b->B]),
                *types = ARRAY(&arena, int32_t, n * b->start[b->B]);
        int *row = ARRAY(&arena, int, n);
        RowOutput *out = ARRAY(&arena, RowOutput, n);
        Err err = { 0 };
        for (int i = 0; i < n; i++) {
            row[i] = i == turn % n ? longest : (turn * 7 + i * 3) % b->B;
            const int32_t from = b->start[row[i]], length = b->start[row[i] + 1] - from;
            memcpy(ids + start[i], b->ids + from, sizeof *ids * (size_t)length);
            memcpy(types + start[i], b->type_ids + from, sizeof *types * (size_t)length);
            start[i + 1] = start[i] + length;
        }
        if (!CHECK(runner_run(runner, &(Batch){ n, start, ids, types }, out, &err))) printf("  %s\n", err.message);
        else
            for (int i = 0; i < n; i++) CHECK(same_bits(&out[i], want[row[i]]));
    }
    arena_free(&arena);
}

/* Row r alone, and the whole batch on three threads: the same bits. */
static void same_in_company(Case *c, Batch batch)
{
    Err err = { 0 };
    RowOutput out[MAX_ROWS] = { 0 }, one = { 0 };
    const float *copy[MAX_ROWS];
    Runner *runner = runner_new(c->engine, NULL);
    CHECK(runner_run(runner, &batch, out, &err));
    for (int r = 0; r < batch.B; r++) {
        size_t bytes = sizeof(float) * (size_t)(out[r].tokens * out[r].width);
        copy[r] = memcpy(arena_raw(&c->arena, bytes), out[r].data, bytes);
    }
    for (int r = 0; r < batch.B; r++) {
        int32_t start[2] = { 0, batch.start[r + 1] - batch.start[r] };
        Batch alone = { 1, start, batch.ids + batch.start[r], batch.type_ids + batch.start[r] };
        CHECK(runner_run(runner, &alone, &one, &err) && same_bits(&one, copy[r]));
    }
    in_other_company(runner, &batch, copy);
    runner_free(runner);
    Pool *pool = pool_new(3);
    runner = runner_new(c->engine, pool);
    CHECK(runner_run(runner, &batch, out, &err));
    for (int r = 0; r < batch.B; r++) CHECK(same_bits(&out[r], copy[r]));
    in_a_crowd(runner, &batch, copy, &c->arena);
    runner_free(runner);
    pool_free(pool);
}

static void alone_and_in_company(const char *dir)
{
    Case c;
    if (load(&c, dir, false)) same_in_company(&c, whole(&c));
    unload(&c);
}

/* ---- long rows ---- */
/* More tokens than attention scores at once, and than relative positions reach: as the graph's own
 * operators say, the same alone, in company and with several threads. */
static void long_rows(const char *dir)
{
    enum { TOKENS = 2 * ATTEND_KEYS + 5 };
    static const int32_t start[] = { 0, ATTEND_KEYS + 200, ATTEND_KEYS + 205, TOKENS };
    int32_t ids[TOKENS], types[TOKENS] = { 0 };
    Case c[2];
    RowOutput out[2][3] = { 0 };
    Runner *runner[2] = { NULL, NULL };
    Err err = { 0 };
    bool ok = true;
    TEST(dir);
    for (int i = 0; i < TOKENS; i++) ids[i] = 5 + i * 31 % 50;
    const Batch batch = { 3, start, ids, types };
    for (int exact = 0; exact < 2; exact++) {
        ok = CHECK(load(&c[exact], dir, exact)) && ok;
        runner[exact] = ok ? runner_new(c[exact].engine, NULL) : NULL;
        ok = ok && CHECK(runner_run(runner[exact], &batch, out[exact], &err));
    }
    for (int r = 0; ok && r < batch.B; r++) {
        double most = 0;
        for (int64_t i = 0; i < out[0][r].tokens * out[0][r].width; i++)
            most = fmax(most, fabs((double)out[0][r].data[i] - out[1][r].data[i]));
        if (!CHECK(most < 1e-4)) printf("  row %d: %g\n", r, most);
    }
    const char *why;
    ok = ok && CHECK(engine_ragged(c[0].engine, &why));
    if (ok) same_in_company(&c[0], batch);
    for (int exact = 0; exact < 2; exact++) runner_free(runner[exact]), unload(&c[exact]);
}

/* Rows of every length up to some blocks of queries, each as the graph's own operators say. */
static void every_length(const char *dir)
{
    enum { TOKENS = 300 };
    int32_t ids[TOKENS], types[TOKENS] = { 0 };
    Case c[2];
    Runner *runner[2] = { NULL, NULL };
    Err err = { 0 };
    bool ok = true;
    TEST(dir);
    for (int i = 0; i < TOKENS; i++) ids[i] = 5 + i * 31 % 50;
    for (int exact = 0; exact < 2; exact++) {
        ok = CHECK(load(&c[exact], dir, exact)) && ok;
        runner[exact] = ok ? runner_new(c[exact].engine, NULL) : NULL;
    }
    for (int n = 1; ok && n <= TOKENS; n++) {
        const int32_t start[2] = { 0, n };
        RowOutput out[2] = { 0 };
        double most = 0;
        for (int k = 0; k < 2; k++)
            ok = CHECK(runner_run(runner[k], &(Batch){ 1, start, ids, types }, &out[k], &err)) && ok;
        for (int64_t i = 0; ok && i < n * out[0].width; i++)
            most = fmax(most, fabs((double)out[0].data[i] - out[1].data[i]));
        if (!CHECK(most < 1e-5)) printf("  %d tokens: %g\n", n, most);
    }
    for (int exact = 0; exact < 2; exact++) runner_free(runner[exact]), unload(&c[exact]);
}

/* ---- what a package does: the optimized graph written, read back, run ---- */
static bool find_blob(void *context, Str location, Str *bytes, Err *err)
{
    (void)err;
    *bytes = *(Str *)context;
    return str_is(location, "panels");
}

static Str gather(Arena *arena, const GraphWeights *w)
{
    char *blob = arena_raw(arena, w->total + 1);
    for (int i = 0; i < w->n; i++) memcpy(blob + w->item[i].offset, w->item[i].data, w->item[i].bytes);
    return (Str){ blob, w->total };
}

static void written_and_read(const char *dir)
{
    Case c;
    Err err = { 0 };
    RowOutput out[MAX_ROWS] = { 0 }, again[MAX_ROWS] = { 0 };
    if (load(&c, dir, false)) {
        OnnxModel model, *back = NEW(&c.arena, OnnxModel);
        GraphWeights weights;
        Buf bytes = { 0 };
        Graph *g;
        Engine *e;
        graph_to_onnx(c.graph, &c.arena, &model, &weights);
        onnx_write(&bytes, &model);
        Str blob = gather(&c.arena, &weights);
        bool ok = onnx_read(&c.arena, buf_view(&bytes), back, &err) && onnx_attach(back, find_blob, &blob, &err) &&
                  graph_from_onnx(&c.arena, back, &g, &err) &&
                  engine_new(&c.arena, g, &g->value[g->output[0]].name, 1, &e, &err);
        if (!CHECK(ok)) printf("  %s: %s\n", dir, err.message);
        for (int v = 0; ok && v < g->n_value; v++) /* mapped, not copied */
            if (g->value[v].constant && tensor_bytes(&g->value[v].t) > 64)
                CHECK((char *)g->value[v].t.data >= blob.p && (char *)g->value[v].t.data < blob.p + blob.n);
        Runner *one = runner_new(c.engine, NULL), *two = ok ? runner_new(e, NULL) : NULL;
        Batch batch = whole(&c);
        CHECK(ok && runner_run(one, &batch, out, &err) && runner_run(two, &batch, again, &err));
        for (int r = 0; ok && r < batch.B; r++) CHECK(same_bits(&out[r], again[r].data));
        CHECK(ok && engine_ragged(e, NULL) == engine_ragged(c.engine, NULL));
        bool far = strstr(dir, "script17") || strstr(dir, "dynamo18"); /* probed once, when it was written */
        if (ok && far && g->mask.kind == MASK_PLAIN && !CHECK(g->mask.up_to >= 8192))
            printf("  %s: mask up to %d\n", dir, (int)g->mask.up_to);
        runner_free(one);
        runner_free(two);
        buf_free(&bytes);
    }
    unload(&c);
}

static void verdict(const char *dir, const char *name)
{
    Case c;
    const char *why = NULL;
    static const char *const padded[] = { "nomask", "unmasked", "bias", "fromend", "deberta-conv" };
    bool want = true;
    for (size_t i = 0; i < COUNT(padded); i++) want &= !strstr(name, padded[i]);
    if (load(&c, dir, false)) {
        Explained e;
        Err err = { 0 };
        if (!CHECK(engine_ragged(c.engine, &why) == want))
            printf("  %s: ragged should be %d: %s\n", name, want, why ? why : "it is");
        if (!CHECK(engine_explain(c.engine, &c.arena, 3, 11, &e, &err))) /* it can be planned */
            printf("  %s: %s\n", name, err.message);
    }
    unload(&c);
}

/* Which has no kernel of its own: the mean of the squares is a node. */
static bool is_rms_norm(const char *name, const char *op)
{
    const bool has = strstr(name, "eurobert") || strstr(name, "qwen3") || strstr(name, "gemma3");
    return has && strcmp(op, "ReduceMean") == 0;
}

/* Whichever tool wrote it: the same fused plan. Without a mask fixed sizes must stay, and have no symbols
 * to prove attention with; what is behind the pooling is one vector a row. */
static void fused(const char *dir, const char *name)
{
    Case c;
    static const char *const generic[] = { "MatMul", "Softmax", /* of attention */
                                           "Gemm", "Erf", "Tanh", "ReduceMean", "MatMulInteger",
                                           "DynamicQuantizeLinear", "LayerNormalization", "SkipLayerNormalization",
                                           "EmbedLayerNormalization", "BiasGelu", "DequantizeLinear" };
    if (load(&c, dir, false) && !strstr(name, "nomask") && !strstr(name, "pooled"))
        for (int i = 0; i < c.graph->n_node; i++)
            for (size_t k = 0; k < COUNT(generic); k++)
                if (graph_is(c.graph->node[i], generic[k]) && !is_rms_norm(name, generic[k]) &&
                    !CHECK(!"stayed generic"))
                    printf("  %s: %s\n", name, generic[k]);
    CHECK(c.graph);
    unload(&c);
}

/* The steps of a plan in one line: operators and layouts, without the names of nodes, and without the
 * integers, which exporters keep in types of their choice. */
static const char *steps_of(const char *dir, Arena *arena)
{
    Case c;
    Err err = { 0 };
    Explained e = { 0 };
    Buf b = { 0 };
    if (load(&c, dir, false)) CHECK(engine_explain(c.engine, arena, 2, 9, &e, &err));
    for (int i = 0; i < e.n; i++)
        if (strcmp(e.step[i].type, "float") == 0)
            buf_printf(&b, "%s:%s ", e.step[i].op, e.step[i].layout);
    const char *line = str_dup(arena, buf_view(&b));
    buf_free(&b);
    unload(&c);
    return line;
}

/* One model as several tools wrote it: one plan. */
static void same_plan(const char *const *names, size_t n)
{
    Arena arena = { 0 };
    char dir[512];
    snprintf(dir, sizeof dir, "tests/golden/engine/%s", names[0]);
    const char *first = steps_of(dir, &arena);
    for (size_t i = 1; i < n; i++) {
        snprintf(dir, sizeof dir, "tests/golden/engine/%s", names[i]);
        const char *other = steps_of(dir, &arena);
        if (!CHECK(strcmp(first, other) == 0))
            printf("  %s: %s\n  %s: %s\n", names[0], first, names[i], other);
    }
    CHECK(*first);
    arena_free(&arena);
}

static void same_plans(void)
{
    static const char *const bert[] = { "bert-script14", "bert-script11", "bert-eager17",
                                        "bert-tanh17", "bert-optimized17" };
    static const char *const words[] = { "bert-mlm17", "bert-mlm18" };
    static const char *const tokens[] = { "bert-script17", "bert-dynamo18" };
    static const char *const roberta[] = { "roberta-script17", "roberta-dynamo18" };
    TEST("the same plan, whichever tool wrote it");
    same_plan(bert, COUNT(bert));
    same_plan(tokens, COUNT(tokens));
    same_plan(words, COUNT(words));
    same_plan(roberta, COUNT(roberta));
}

/* The table of the words is also the weight of the last product: stored once, in any precision. */
static void tied_table(const char *name)
{
    Case c;
    char dir[512];
    snprintf(dir, sizeof dir, "tests/golden/engine/%s", name);
    TEST(name);
    for (asked = PRECISION_FP32; asked < PRECISION_COUNT; asked++) {
        int shared = 0, tables = 0;
        if (load(&c, dir, false)) {
            const Graph *g = c.graph;
            const int *uses = graph_uses(g, &c.arena);
            for (int i = 0; i < g->n_node; i++) /* its words come first */
                for (int k = 0; graph_is(g->node[i], "Embed") && k < g->n_node; k++)
                    shared += g->node[k]->op && g->node[k]->op->token == TOKEN_MATMUL &&
                              g->node[k]->in[1] == g->node[i]->in[2];
            for (int v = 0; v < g->n_value; v++)
                tables += uses[v] && g->value[v].constant && g->value[v].t.rank == 2 &&
                          tensor_count(&g->value[v].t) == 60 * 24;
        }
        if (!CHECK(shared == 1 && tables == 0))
            printf("  %s: %d shared, %d tables\n", precision_name(asked), shared, tables);
        unload(&c);
    }
    asked = PRECISION_FP32;
}

/* Multiply-adds of a row: weights for every token, and pairs of tokens that see each other. */
static void work_counts(const char *dir, double weights, double columns, int windows, int all)
{
    enum { N = 400, W = 8 }; /* tokens; how far a window of the golden files reaches */
    Case c;
    TEST(dir);
    if (load(&c, dir, false)) {
        double band = N * (2.0 * W + 1) - W * (W + 1.0);
        double want = weights * N + 2 * columns * (windows * band + all * (double)N * N);
        if (!CHECK(fabs(engine_work(c.engine, N) - want) < 1e-6 * want))
            printf("  %.0f, wanted %.0f\n", engine_work(c.engine, N), want);
        double unit = engine_work(c.engine, 128) / 128;
        CHECK(engine_cost(c.engine, 5, NULL) == 5 && engine_cost(c.engine, 128, NULL) == 128);
        CHECK(fabs((double)engine_cost(c.engine, N, NULL) - want / unit) <= 1);
    }
    unload(&c);
}

/* With folders as arguments: a row of figures for each, nothing expected but 1e-4. Up to `tiers`: the
 * fused graph, and the exact one, which makes every number of a long text's scores. */
static void report(const char *dir, int tiers)
{
    Case c;
    Err err = { 0 };
    RowOutput out[MAX_ROWS] = { 0 };
    double d[2] = { INFINITY, INFINITY };
    const char *why = "";
    bool ragged = false;
    for (int exact = 0; exact < tiers; exact++) {
        if (load(&c, dir, exact)) {
            Runner *runner = runner_new(c.engine, NULL);
            Batch batch = whole(&c);
            if (CHECK(runner_run(runner, &batch, out, &err))) d[exact] = worst(&c, out);
            else printf("  %s: %s\n", dir, err.message);
            if (!exact) ragged = engine_ragged(c.engine, &why), why = str_dup(&c.arena, str_of(why));
            runner_free(runner);
        }
        CHECK(d[exact] <= 1e-4);
        if (!exact && !ragged) printf("  %s: %s\n", dir, why);
        unload(&c);
    }
    printf("%s: fused %.3g, exact %.3g, %s\n", dir, d[0], d[1], ragged ? "ragged" : "padded");
}

static void all_in(const char *root, int *seen)
{
    DIR *folder = opendir(root);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (e->d_name[0] == '.') continue;
        char dir[512];
        snprintf(dir, sizeof dir, "%s/%s", root, e->d_name);
        ++*seen;
        TEST(e->d_name);
        answers(dir, false);
        answers(dir, true);
        alone_and_in_company(dir);
        written_and_read(dir);
        verdict(dir, e->d_name);
        fused(dir, e->d_name);
        for (Precision p = PRECISION_BF16; p < PRECISION_COUNT; p++) {
            less_precise(dir, p);
            alone_and_in_company(dir);
            written_and_read(dir);
        }
        asked = PRECISION_FP32;
    }
    if (folder) closedir(folder);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--plans") == 0) {
        Arena arena = { 0 };
        for (int i = 2; i < argc; i++) printf("%s %s\n", argv[i], steps_of(argv[i], &arena));
        arena_free(&arena);
        return finish();
    }
    const bool fused = argc > 1 && strcmp(argv[1], "--fused") == 0;
    for (int i = 1 + fused; i < argc; i++) report(argv[i], fused ? 1 : 2);
    if (argc > 1) return finish();
    int seen = 0;
    all_in("tests/golden/engine", &seen);
    long_rows("tests/golden/engine/deberta-script17");
    long_rows("tests/golden/engine/modernbert-dynamo18");
    long_rows("tests/golden/engine/toy-causal17");
    long_rows("tests/golden/engine/toy-window8");
    every_length("tests/golden/engine/deberta-script17");
    every_length("tests/golden/engine/deberta-keys17");
    work_counts("tests/golden/engine/bert-script17", 2 * (4 * 24 * 24 + 2 * 24 * 40) + 24 * 5, 24, 0, 2);
    work_counts("tests/golden/engine/toy-window8", 4 * 24 * 24, 24, 1, 0);
    same_plans();
    tied_table("bert-mlm17");
    tied_table("bert-mlm18");
    TEST("all");
    CHECK(seen >= 22);
    return finish();
}
