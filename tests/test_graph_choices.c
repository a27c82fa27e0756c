/* SPDX-License-Identifier: Apache-2.0
 * test_graph_choices.c - graphs of multiple choice, [B, N, S] to [B, N], as rows of one choice each: the
 * Reshapes that join and part the choices go, in the spellings of several exporters, and rows of several
 * lengths give what the untouched graph gives for each of them alone. */
#include "graph_case.h"

static void choices_body(GraphCase *c, const char *dims, const char *join, const char *part)
{
    bool fixed = dims[0] == '2';
    const Row rows[] = {
        { "Shape", "input_ids", "dims" },
        { "Gather axis=0", "dims [0]", "questions" },
        { "Gather axis=0", "dims [1]", "choices" },
        { "Gather axis=0", "dims [2]", "length" },
        { "Concat axis=0", "[-1] length", "joined" },
        { "Concat axis=0", "[-1] choices", "parted" },
        { "Mul", "questions [3]", "rows" },
        { "Concat axis=0", "rows length [2] [4]", "heads" },
        { join, strstr(join, "Flatten") ? "input_ids" : fixed ? "input_ids [6,16]" : "input_ids joined", "ids" },
        { "Reshape", fixed ? "attention_mask [6,16]" : "attention_mask joined", "mask" },
        { "Gather", "words:29x8 ids", "x" },
        { "Cast to=1", "mask", "live" },
        { "Unsqueeze", "live [2]", "alive" },
        { "Mul", "x alive", "kept" },
        { "ReduceSum keepdims=0", "kept [1]", "sum" },
        { "MatMul", "sum w:8x1", "product" },
        { "Add", "product b:1", "scores" },
        { "Reshape", part, "logits" },
    };
    case_begin(c, 17);
    input(c, "input_ids", T_I64, dims);
    input(c, "attention_mask", T_I64, dims);
    node_rows(c, rows, COUNT(rows));
    output(c, "logits");
}

/* The plain graph on one row, filled up as its sizes want it. */
static bool choices_alone(GraphCase *c, const int32_t *ids, int32_t n, double *out)
{
    Graph *plain;
    Named in[2], answer[1];
    if (!case_open(c, &plain)) return false;
    for (int i = 0; i < 2; i++) {
        const GraphValue *v = &plain->value[plain->input[i]];
        Tensor t = { .type = T_I64, .rank = 3 };
        for (int d = 0; d < 3; d++) t.dim[d] = v->t.dim[d] > 0 ? v->t.dim[d] : d == 2 ? n : 1;
        int64_t *to = t.data = ARRAY(&c->arena, int64_t, tensor_count(&t));
        for (int32_t k = 0; k < n; k++) to[k] = i ? 1 : ids[k];
        in[i] = (Named){ v->name, t };
    }
    if (!engine_run_generic(plain, NULL, in, 2, &c->arena, answer, &c->err)) return false;
    return *out = tensor_get(&answer[0].t, 0), true;
}

static double choices_differ(GraphCase *c, Engine *e)
{
    static const int32_t start[] = { 0, 9, 13, 28, 29 };
    enum { ROWS = COUNT(start) - 1 };
    int32_t ids[29];
    double worst = 0, want;
    for (int i = 0; i < 29; i++) ids[i] = i * 7 % CASE_IDS;
    RowOutput out[ROWS];
    Runner *runner = runner_new(e, NULL);
    bool ok = runner_run(runner, &(Batch){ .B = ROWS, .start = start, .ids = ids }, out, &c->err);
    for (int r = 0; ok && r < ROWS; r++) {
        ok = out[r].tokens == 1 && out[r].width == 1 &&
             choices_alone(c, ids + start[r], start[r + 1] - start[r], &want);
        if (ok) worst = fmax(worst, fabs(out[r].data[0] - want));
    }
    runner_free(runner);
    return ok ? worst : INFINITY;
}

static bool choices_open(GraphCase *c, Graph **g, Engine **e)
{
    return case_open(c, g) && graph_optimize(*g, false, &c->err) &&
           engine_new(&c->arena, *g, &STR("logits"), 1, e, &c->err);
}

/* As a package has it: inputs of rows by now, whose sizes are told again. */
static void choices_packed(GraphCase *c, const Graph *g)
{
    OnnxModel model;
    GraphWeights weights;
    Graph *again;
    Engine *e;
    graph_to_onnx(g, &c->arena, &model, &weights);
    CHECK(model.graph.in[0].rank == 2);
    if (!CHECK(graph_from_onnx(&c->arena, &model, &again, &c->err) &&
               engine_new(&c->arena, again, &STR("logits"), 1, &e, &c->err)))
        return (void)printf("  %s\n", c->err.message);
    CHECK(engine_ragged(e, NULL) && again->fixed_B == g->fixed_B && again->fixed_S == g->fixed_S);
    CHECK(choices_differ(c, e) <= 1e-5);
}

static void choices_run(const char *what, const char *dims, const char *join, const char *part)
{
    GraphCase c;
    Graph *g;
    Engine *e;
    TEST(what);
    choices_body(&c, dims, join, part);
    if (!CHECK(choices_open(&c, &g, &e))) printf("  %s\n", c.err.message);
    else {
        CHECK(!strstr(case_ops(&c, g), "Reshape"));
        CHECK(engine_ragged(e, NULL));
        CHECK(choices_differ(&c, e) <= 1e-5);
        choices_packed(&c, g);
    }
    arena_free(&c.arena);
}

static void choices_refused(void)
{
    GraphCase c;
    Graph *g;
    Engine *e;
    TEST("refused");
    choices_body(&c, "B 3 S", "Reshape", "scores [-1,3]");
    node(&c, "Reshape", "x heads", "split"); /* B * 3 rows, counted */
    node(&c, "ReduceSum keepdims=0", "split [1,2,3]", "other");
    node(&c, "Unsqueeze", "other [1]", "more");
    output(&c, "more");
    CHECK(!choices_open(&c, &g, &e) && says(&c.err, "the number of choices is fixed inside the graph (found 3)"));
    arena_free(&c.arena);

    choices_body(&c, "B N S", "Reshape", "scores parted");
    c.model.graph.in[1].rank = 2;
    CHECK(!choices_open(&c, &g, &e) && says(&c.err, "graph input 'attention_mask' has 2 dims beside"));
    arena_free(&c.arena);
}

int main(void)
{
    choices_run("our export", "B N S", "Reshape", "scores parted");
    choices_run("Flatten", "B N S", "Flatten axis=2", "scores parted");
    choices_run("a constant number of choices", "B 3 S", "Reshape", "scores [-1,3]");
    choices_run("fixed sizes", "2 3 16", "Reshape", "scores [2,3]");
    choices_refused();
    return finish();
}
