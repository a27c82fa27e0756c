/* SPDX-License-Identifier: Apache-2.0
 * test_graph_attention.c - attention as exporters write it, found or (near misses) left alone, in branches and in
 * several layers. */
#include "attention_case.h"

/* Four heads of 2 for the queries; `heads` of them for keys and values, which `rows` bring to four: k5 to k8, v5 to v8. */
#define GROUPED(heads, columns, ...)                                                               \
    { { Q4, { "Reshape", "q [0,0,4,2]", "q4" } },                                                  \
      { K, { "MatMul", "x wk:8x" #columns, "k" } },                                                \
      { V, { "MatMul", "x wv:8x" #columns, "v" } },                                                \
      { K4, { "Reshape", "k [0,0," #heads ",2]", "k4" } },                                         \
      { V4, { "Reshape", "v [0,0," #heads ",2]", "v4" } },                                         \
      { KH, { "Transpose perm=0,2,1,3", "k4", "k5" } },                                            \
      { VH, { "Transpose perm=0,2,1,3", "v4", "v5" } },                                            \
      { Y + 1, { "Transpose perm=0,1,3,2", "k8", "kh" } },                                         \
      { Y + 2, { "Identity", "v8", "vh" } },                                                       \
      __VA_ARGS__ }
/* Unsqueeze at `axis`, repeated, and joined. */
#define REPEATED(n, from, axis, op, shape, to)                                                     \
    { Y + n, { "Unsqueeze", from " [" #axis "]", to "_one" } },                                    \
    { Y + n + 1, { op, to "_one " shape, to "_many" } },                                           \
    { Y + n + 2, { "Reshape", to "_many [0,4,-1,2]", to } }
#define BOTH(axis, op, shape) REPEATED(3, "k5", axis, op, shape, "k8"), REPEATED(6, "v5", axis, op, shape, "v8")
#define PICKED(which)                                                                              \
    { Y + 3, { "Gather axis=1", "k5 " which, "k8" } }, { Y + 4, { "Gather axis=1", "v5 " which, "v8" } }
#define NO_MASK { MASKED, { "Identity", "scaled", "masked" } }

static const Variant variants[] = {
    { "as it is", true, { { 0 } } },
    { "scaled by Div", true, { { SCALED, { "Div", "scores 2.0", "scaled" } } } },
    { "queries scaled, and the scores",
      true,
      { { QH, { "Mul", "q4 0.25", "q5" } }, { Y + 1, { "Transpose perm=0,2,1,3", "q5", "qh" } } } },
    { "keys turned twice",
      true,
      { { KH, { "Transpose perm=0,2,1,3", "k4", "k5" } },
        { Y + 1, { "Transpose perm=0,1,3,2", "k5", "kh" } } } },
    { "no mask", true, { { MASKED, { "Identity", "scaled", "masked" } } } },
    { "hidden by Where",
      true,
      { { MASKED, { "Where", "gone -1e9 scaled", "masked" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } } } },
    { "kept by Where",
      true,
      { { MASKED, { "Where", "seen scaled -1e9", "masked" } },
        { Y + 1, { "Cast to=9", "live", "seen" } } } },
    { "two masks",
      true,
      { { MASKED, { "Add", "scaled mask", "m1" } },
        { Y + 1, { "Add", "m1 bias:1x2x1x1", "masked" } } } },
    { "one number added", false, { { MASKED, { "Add", "scaled 0.5", "masked" } } } },
    { "a number for every query",
      false,
      { { MASKED, { "Add", "scaled column", "masked" } },
        { Y + 1, { "Unsqueeze", "queries [1,3]", "column" } },
        { Y + 2, { "Cast to=1", "attention_mask", "queries" } } } },
    { "guarded against rows that see nothing",
      true,
      { { WEIGHTS, { "Softmax axis=-1", "masked", "w" } },
        { Y + 1, { "IsNaN", "w", "nothing" } },
        { Y + 2, { "Where", "nothing 0.0 w", "weights" } } } },
    { "guarded, and tokens of padding see nothing",
      true,
      { { MASKED, { "Where", "none -inf scaled", "masked" } },
        { WEIGHTS, { "Softmax axis=-1", "masked", "w" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } },
        { Y + 2, { "Transpose perm=0,1,3,2", "gone", "blind" } },
        { Y + 3, { "Or", "gone blind", "none" } },
        { Y + 4, { "IsNaN", "w", "nothing" } },
        { Y + 5, { "Where", "nothing 0.0 w", "weights" } } } },
    { "the guard puts ones",
      false,
      { { WEIGHTS, { "Softmax axis=-1", "masked", "w" } },
        { Y + 1, { "IsNaN", "w", "nothing" } },
        { Y + 2, { "Where", "nothing 1.0 w", "weights" } } } },
    { "the guard looks elsewhere",
      false,
      { { WEIGHTS, { "Softmax axis=-1", "masked", "w" } },
        { Y + 1, { "IsNaN", "masked", "nothing" } },
        { Y + 2, { "Where", "nothing 0.0 w", "weights" } } } },
    { "softmax over queries", false, { { WEIGHTS, { "Softmax axis=2", "masked", "weights" } } } },
    { "softmax over heads", false, { { WEIGHTS, { "Softmax axis=1", "masked", "weights" } } } },
    { "a scale that is no constant", false, { { SCALED, { "Mul", "scores live", "scaled" } } } },
    { "a scale for every head", false, { { SCALED, { "Mul", "scores s:1x2x1x1", "scaled" } } } },
    { "a constant divided", false, { { SCALED, { "Div", "2.0 scores", "scaled" } } } },
    { "scaled behind the mask",
      false,
      { { SCALED, { "Add", "scores mask", "scaled" } },
        { MASKED, { "Mul", "scaled 0.5", "masked" } } } },
    { "hidden by too little",
      false,
      { { MASKED, { "Where", "gone -100.0 scaled", "masked" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } } } },
    { "scaled behind Where",
      false,
      { { SCALED, { "Where", "gone -1e9 scores", "scaled" } },
        { MASKED, { "Mul", "scaled 0.5", "masked" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } } } },
    { "the mask taken away", false, { { MASKED, { "Sub", "scaled mask", "masked" } } } },
    { "the mask times the scores", false, { { MASKED, { "Mul", "scaled live", "masked" } } } },
    { "queries of tokens, not of heads",
      false,
      { { QH, { "Identity", "q4", "qh" } },
        { KH, { "Transpose perm=0,1,3,2", "k4", "kh" } },
        { VH, { "Identity", "v4", "vh" } },
        { MASKED, { "Identity", "scaled", "masked" } },
        { TOKENS, { "Identity", "mixed", "tokens" } } } },
    { "heads of every second column",
      false,
      { { QH, { "Transpose perm=0,3,1,2", "q4", "qh" } },
        { KH, { "Transpose perm=0,3,2,1", "k4", "kh" } },
        { VH, { "Transpose perm=0,3,1,2", "v4", "vh" } } } },
    { "one head of keys for all",
      false,
      { { K, { "MatMul", "x wk:8x4", "k" } }, { K4, { "Reshape", "k [0,0,1,4]", "k4" } } } },
    { "one head of values for all",
      false,
      { { V, { "MatMul", "x wv:8x4", "v" } }, { V4, { "Reshape", "v [0,0,1,4]", "v4" } } } },
    { "one head of keys and values for all",
      true,
      { { K, { "MatMul", "x wk:8x4", "k" } },
        { K4, { "Reshape", "k [0,0,1,4]", "k4" } },
        { V, { "MatMul", "x wv:8x4", "v" } },
        { V4, { "Reshape", "v [0,0,1,4]", "v4" } } } },
    { "two heads of keys for four", true, GROUPED(2, 4, BOTH(2, "Expand", "[1,1,2,1,1]")) },
    { "two heads of keys for four, by Tile", true, GROUPED(2, 4, BOTH(2, "Tile", "[1,1,2,1,1]")) },
    { "two heads of keys for four, chosen", true, GROUPED(2, 4, PICKED("[0,0,1,1]")) },
    { "two heads of keys for four, no mask", true, GROUPED(2, 4, PICKED("[0,0,1,1]"), NO_MASK) },
    { "one head of keys, repeated", true, GROUPED(1, 2, BOTH(2, "Expand", "[1,1,4,1,1]")) },
    { "both heads again behind the first two", false, GROUPED(2, 4, BOTH(1, "Expand", "[1,2,1,1,1]")) },
    { "heads in turn", false, GROUPED(2, 4, PICKED("[0,1,0,1]")) },
    { "the second head first", false, GROUPED(2, 4, PICKED("[1,1,0,0]")) },
    { "two of four heads, twice", false, GROUPED(4, 8, PICKED("[0,0,1,1]")) },
    { "keys repeated in one order, values in another",
      false,
      GROUPED(2, 4, { Y + 3, { "Gather axis=1", "k5 [0,0,1,1]", "k8" } },
              { Y + 4, { "Gather axis=1", "v5 [0,1,0,1]", "v8" } }) },
    { "one head of values for all, two of keys for four",
      false,
      GROUPED(2, 4, { V, { "MatMul", "x wv:8x2", "v" } }, { V4, { "Reshape", "v [0,0,1,2]", "v4" } },
              { Y + 3, { "Gather axis=1", "k5 [0,0,1,1]", "k8" } }, { Y + 4, { "Identity", "v5", "v8" } }) },
    { "queries scaled column by column", true,
      { { Q4, { "Reshape", "q [0,0,2,4]", "q5" } }, { Y + 1, { "Mul", "q5 s:4", "q4" } } } },
    { "queries scaled behind the heads", false,
      { { QH, { "Transpose perm=0,2,1,3", "q4", "q5" } }, { Y + 1, { "Mul", "q5 s:4", "qh" } } } },
    { "the scores twice", true, { { SCALED, { "Add", "scores scores", "scaled" } } } },
    { "three masks",
      false,
      { { MASKED, { "Add", "scaled mask", "m1" } },
        { Y + 1, { "Add", "m1 mask", "m2" } },
        { Y + 2, { "Add", "m2 mask", "masked" } } } },
    { "hidden twice",
      false,
      { { MASKED, { "Where", "gone -1e9 scaled", "m1" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } },
        { Y + 2, { "Where", "gone -1e9 m1", "masked" } } } },
    { "heads joined in another order",
      false,
      { { TOKENS, { "Transpose perm=0,2,3,1", "mixed", "tokens" } } } },
    { "heads and tokens mixed",
      false,
      { { TOKENS, { "Identity", "mixed", "tokens" } },
        { Y, { "Reshape", "tokens dims", "y" } },
        { Y + 1, { "Shape", "x", "dims" } } } },
    { "heads cut across tokens",
      false,
      { { Q4, { "Reshape", "q cut", "qh" } },
        { QH, { "Neg", "qh", "q_" } },
        { Y + 1, { "Concat axis=0", "rows [2] length [4]", "cut" } } } },
    { "values times a constant",
      false,
      { { V4, { "Reshape", "v [0,0,2,4]", "v5" } }, { Y + 1, { "Mul", "v5 2.0", "v4" } } } },
    { "Where by row, not by key",
      false,
      { { MASKED, { "Where", "short -1e9 scaled", "masked" } },
        { Y + 1, { "ReduceMax keepdims=1 axes=3,", "dead", "padded" } },
        { Y + 2, { "Cast to=9", "padded", "short" } } } },
    { "values of more heads",
      false,
      { { V4, { "Reshape", "v [0,0,4,2]", "v4" } },
        { WEIGHTS, { "Softmax axis=-1", "masked", "w2" } },
        { Y + 1, { "Concat axis=1", "w2 w2", "weights" } } } },
    { "a second reader of the weights",
      true,
      { { Y + 1, { "ReduceMax keepdims=0 axes=1,", "weights", "y2" } } } },
};

static void test_attention(void)
{
    GraphCase c;
    Graph *g, *plain;
    TEST("attention");
    for (size_t i = 0; i < COUNT(variants); i++) {
        build(&c, &variants[i]);
        bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_fold(g, &c.err) &&
                        pass_attention(g, &c.err));
        double d = ok ? case_difference(&c, plain, g) : INFINITY;
        if (!CHECK(ok && count_attention(g) == variants[i].found) || !CHECK(d <= 1e-5))
            printf("  %s: difference %g; %s\n", variants[i].what, d,
                   ok ? case_ops(&c, g) : c.err.message);
        if (ok && variants[i].found && count_attention(g))
            CHECK(!strstr(case_ops(&c, g), "Softmax") || strstr(variants[i].what, "second reader"));
        arena_free(&c.arena);
    }
}

/* In a branch that is not taken for a single token: what is made for it is not run then, either. */
static void test_branch(void)
{
    static const Variant where = { "hidden by Where",
                                   true,
                                   { { MASKED, { "Where", "gone -1e9 scaled", "masked" } },
                                     { Y + 1, { "Cast to=9", "dead", "gone" } } } };
    GraphCase c;
    Graph *g, *plain;
    TEST("branch");
    begin(&c);
    node(&c, "Squeeze", "length [0]", "S"), node(&c, "Equal", "S 1", "single");
    branch_begin(&c);
    node(&c, "Neg", "x", "n"), output(&c, "n");
    OnnxGraph *yes = branch_end(&c);
    branch_begin(&c);
    add_rows(&c, &where);
    node_if(&c, "single", yes, branch_end(&c), "z");
    output(&c, "z");
    bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_fold(g, &c.err) &&
                    pass_attention(g, &c.err) && count_attention(g) == 1);
    CHECK(ok && case_difference(&c, plain, g) <= 1e-5);
    CHECK(runs(&c, false, "If"));
    arena_free(&c.arena);
}

/* Layers that hide other keys have masks of their own; those that hide the same share one. */
static void add_layer(GraphCase *c, int layer, const char *x, const char *gone, const char *low)
{
    for (int i = Q; i <= Y; i++) {
        Row r = attention[i];
        if (i >= WIDE && i <= MASK) continue;
        if (i == MASKED)
            r = (Row){ "Where", str_format(&c->arena, "%s %s scaled", gone, low), "masked" };
        if (i <= V) r = (Row){ "MatMul", "x w:8x8", r.out };
        OnnxNode *n = node(
            c, r.op, i <= V ? str_format(&c->arena, "%s w%d%d:8x8", x, layer, i) : r.in, r.out);
        for (int k = 0; i > V && k < n->n_in; k++)
            if (!strchr("cgrw", n->in[k].p[0]) || strcmp(n->in[k].p, "weights") == 0)
                n->in[k] = str_of(str_format(&c->arena, "%s_%d", n->in[k].p, layer));
        n->out[0] = str_of(str_format(&c->arena, "%s_%d", r.out, layer));
    }
}

static void try_layers(const char *second, const char *low, int masks)
{
    GraphCase c;
    Graph *g, *plain;
    TEST("layers");
    begin(&c);
    node(&c, "Unsqueeze", "attention_mask [1,2]", "w1"), node(&c, "Equal", "w1 0", "gone");
    node(&c, "Unsqueeze", "input_ids [1,2]", "w2"), node(&c, "Less", "w2 5", "g5");
    add_layer(&c, 1, "x", "gone", "-1e9"), add_layer(&c, 2, "y_1", second, low);
    output(&c, "y_2");
    bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_same(g, &c.err) &&
                    pass_attention(g, &c.err) && count_attention(g) == 2);
    int wheres = 0;
    for (int i = 0; ok && i < g->n_node; i++) wheres += graph_is(g->node[i], "Where");
    CHECK(wheres == masks);
    CHECK(ok && case_difference(&c, plain, g) <= 1e-5);
    if (!ok) printf("  %s\n", c.err.message);
    arena_free(&c.arena);
}

int main(void)
{
    test_attention();
    test_branch();
    try_layers("gone", "-1e9", 1);
    try_layers("gone", "-2e4", 2);
    try_layers("g5", "-1e9", 2);
    return finish();
}
