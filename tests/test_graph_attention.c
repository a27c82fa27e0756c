/* SPDX-License-Identifier: Apache-2.0
 * test_graph_attention.c - attention as exporters write it, found or (near misses) left alone; what the
 * masks are found to be; the products of queries, keys and values joined; and ONNX Runtime's own nodes. */
#include "graph_case.h"

#define PASSES(...) ((Pass *[]){ __VA_ARGS__, NULL })

/* ---- pass_attention: two heads of 4 ---- */
enum {
    Q,
    K,
    V,
    Q4,
    K4,
    V4,
    QH,
    KH,
    VH,
    SCORES,
    SCALED,
    WIDE,
    LIVE,
    DEAD,
    MASK,
    MASKED,
    WEIGHTS,
    MIXED,
    TOKENS,
    Y
};
static const Row attention[] = {
    [Q] = { "MatMul", "x wq:8x8", "q" },
    [K] = { "MatMul", "x wk:8x8", "k" },
    [V] = { "MatMul", "x wv:8x8", "v" },
    [Q4] = { "Reshape", "q [0,0,2,4]", "q4" },
    [K4] = { "Reshape", "k [0,0,2,4]", "k4" },
    [V4] = { "Reshape", "v [0,0,2,4]", "v4" },
    [QH] = { "Transpose perm=0,2,1,3", "q4", "qh" },
    [KH] = { "Transpose perm=0,2,3,1", "k4", "kh" },
    [VH] = { "Transpose perm=0,2,1,3", "v4", "vh" },
    [SCORES] = { "MatMul", "qh kh", "scores" },
    [SCALED] = { "Mul", "scores 0.5", "scaled" },
    [WIDE] = { "Unsqueeze", "attention_mask [1,2]", "wide" },
    [LIVE] = { "Cast to=1", "wide", "live" },
    [DEAD] = { "Sub", "1.0 live", "dead" },
    [MASK] = { "Mul", "dead -1e9", "mask" },
    [MASKED] = { "Add", "scaled mask", "masked" },
    [WEIGHTS] = { "Softmax axis=-1", "masked", "weights" },
    [MIXED] = { "MatMul", "weights vh", "mixed" },
    [TOKENS] = { "Transpose perm=0,2,1,3", "mixed", "tokens" },
    [Y] = { "Reshape", "tokens [0,0,8]", "y" },
};

typedef struct Edit {
    int at; /* beyond Y: one more row */
    Row row;
} Edit;
typedef struct Variant {
    const char *what;
    bool found;
    Edit edit[5]; /* as many as have a row */
} Variant;

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

static void add_rows(GraphCase *c, const Variant *v)
{
    for (int i = 0; i <= Y; i++) {
        const Row *r = &attention[i];
        for (size_t e = 0; e < COUNT(v->edit); e++)
            if (v->edit[e].at == i && v->edit[e].row.op) r = &v->edit[e].row;
        node(c, r->op, r->in, r->out);
    }
    output(c, "y");
    for (size_t e = 0; e < COUNT(v->edit); e++) {
        const Row *r = &v->edit[e].row;
        if (v->edit[e].at <= Y || !r->op) continue;
        node(c, r->op, r->in, r->out);
        if (strcmp(r->out, "y2") == 0) output(c, "y2");
    }
}

static void begin(GraphCase *c)
{
    case_begin(c, 17);
    tokens(c, 8);
    node(c, "Shape", "input_ids", "shape");
    node(c, "Slice", "shape [0] [1]", "rows"), node(c, "Slice", "shape [1] [2]", "length");
}

static void build(GraphCase *c, const Variant *v)
{
    begin(c);
    add_rows(c, v);
}

static int count_attention(const Graph *g)
{
    int n = 0;
    for (int i = 0; i < g->n_node; i++) n += graph_attends(g->node[i]);
    return n;
}

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

/* ---- heads.c: where queries, keys and values come from ---- */
typedef struct Heading {
    const char *what;
    bool found;
    int at; /* the row that is another; -1: none */
    Row row;
} Heading;

/* The end of most of them: qh and vh [B, H, S, D], kh [B, H, D, S]. */
static const Row tail[] = { { "MatMul", "qh kh", "scores" },
                            { "Softmax axis=-1", "scores", "weights" },
                            { "MatMul", "weights vh", "mixed" },
                            { "Transpose perm=0,2,1,3", "mixed", "tokens" },
                            { "Reshape", "tokens [0,0,8]", "y" } };

static void try_heads(const Row *row, int n, const Heading *heading, size_t n_heading)
{
    GraphCase c;
    Graph *g, *plain;
    for (size_t i = 0; i < n_heading; i++) {
        begin(&c);
        for (int k = 0; k < n; k++) {
            const Row *r = heading[i].at == k ? &heading[i].row : &row[k];
            node(&c, r->op, r->in, r->out);
        }
        bool ended = strcmp(row[n - 1].out, "y") == 0;
        for (size_t k = 0; k < COUNT(tail) && !ended; k++)
            node(&c, tail[k].op, tail[k].in, tail[k].out);
        output(&c, "y");
        bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g) && pass_fold(g, &c.err) &&
                        pass_attention(g, &c.err));
        double d = ok ? case_difference(&c, plain, g) : INFINITY;
        if (!CHECK(ok && count_attention(g) == heading[i].found) || !CHECK(d <= 1e-5))
            printf("  %s: difference %g; %s\n", heading[i].what, d,
                   ok ? case_ops(&c, g) : c.err.message);
        arena_free(&c.arena);
    }
}

/* One product for all three: [B, S, 3, H, D], turned to [3, B, H, S, D]. */
static const Row packed[] = {
    { "MatMul", "x w:8x24", "all" },
    { "Reshape", "all [0,0,3,2,4]", "five" },
    { "Transpose perm=2,0,3,1,4", "five", "parts" },
    { "Gather", "parts 0", "qh" },
    { "Gather", "parts 1", "k4" },
    { "Gather", "parts 2", "vh" },
    { "Transpose perm=0,1,3,2", "k4", "kh" },
};
static const Heading packed_headings[] = {
    { "as it is", true, -1, { 0 } },
    { "keys and values alike", true, 4, { "Gather", "parts 2", "k4" } },
    { "from the end", false, 5, { "Gather", "parts -1", "vh" } },
};

/* The same parts by Split, and by Slice. */
static const Row parted[] = {
    { "MatMul", "x w:8x24", "all" },
    { "Reshape", "all [0,0,3,2,4]", "five" },
    { "Transpose perm=2,0,3,1,4", "five", "parts" },
    { "Split axis=0", "parts", "q5 k5 v5" },
    { "Squeeze", "q5 [0]", "qh" },
    { "Squeeze", "k5 [0]", "k4" },
    { "Squeeze", "v5 [0]", "vh" },
    { "Transpose perm=0,1,3,2", "k4", "kh" },
};
static const Heading parted_headings[] = {
    { "as it is", true, -1, { 0 } },
    { "another name", true, 3, { "Split axis=0", "parts", "k5 q5 v5" } }
};
static const Row cut[] = {
    { "MatMul", "x w:8x24", "all" },
    { "Reshape", "all [0,0,3,2,4]", "five" },
    { "Transpose perm=2,0,3,1,4", "five", "parts" },
    { "Slice", "parts [0] [1] [0]", "q5" },
    { "Slice", "parts [1] [2] [0]", "k5" },
    { "Slice", "parts [2] [3] [0]", "v5" },
    { "Squeeze", "q5 [0]", "qh" },
    { "Squeeze", "k5 [0]", "k4" },
    { "Squeeze", "v5 [0]", "vh" },
    { "Transpose perm=0,1,3,2", "k4", "kh" },
};
static const Heading cut_headings[] = {
    { "as it is", true, -1, { 0 } },
    { "the same part twice", true, 5, { "Slice", "parts [1] [2] [0]", "v5" } }
};
/* Three for every head, not heads for every three. */
static const Row interleaved[] = {
    { "MatMul", "x w:8x24", "all" },
    { "Reshape", "all [0,0,2,3,4]", "five" },
    { "Transpose perm=3,0,2,1,4", "five", "parts" },
    { "Gather", "parts 0", "qh" },
    { "Gather", "parts 1", "k4" },
    { "Gather", "parts 2", "vh" },
    { "Transpose perm=0,1,3,2", "k4", "kh" },
};
static const Heading interleaved_headings[] = { { "as it is", false, -1, { 0 } } };

/* Batch and heads as one axis, as torch.bmm has it. */
static const Row three[] = {
    { "Concat axis=0", "[-1] length [4]", "to" },
    { "Concat axis=0", "rows [2] length [4]", "back" },
    { "Reshape", "x [0,0,2,4]", "x4" },
    { "Transpose perm=0,2,1,3", "x4", "xh" },
    { "Reshape", "xh to", "x3" },
    { "Transpose perm=0,2,1", "x3", "k3" },
    { "MatMul", "x3 k3", "scores" },
    { "Softmax axis=2", "scores", "weights" },
    { "MatMul", "weights x3", "mixed" },
    { "Reshape", "mixed back", "m4" },
    { "Concat axis=0", "[-1] [4] length", "crossed" },
    { "Transpose perm=0,2,1,3", "m4", "tokens" },
    { "Reshape", "tokens [0,0,8]", "y" },
};
static const Heading three_headings[] = {
    { "as it is", true, -1, { 0 } },
    { "heads cut across tokens", false, 4, { "Reshape", "x4 to", "x3" } },
    { "tokens and columns mixed", false, 5, { "Reshape", "xh crossed", "k3" } },
    { "softmax over queries", false, 7, { "Softmax axis=1", "scores", "weights" } },
};

/* Runs of columns of one product. */
static const Row columns[] = {
    { "MatMul", "x w:8x24", "all" },          { "Split axis=-1", "all", "q k v" },
    { "Reshape", "q [0,0,2,4]", "q4" },       { "Reshape", "k [0,0,2,4]", "k4" },
    { "Reshape", "v [0,0,2,4]", "v4" },       { "Transpose perm=0,2,1,3", "q4", "qh" },
    { "Transpose perm=0,2,3,1", "k4", "kh" }, { "Transpose perm=0,2,1,3", "v4", "vh" },
};
static const Heading column_headings[] = {
    { "as they are", true, -1, { 0 } },
    { "in another order", true, 1, { "Split axis=2", "all", "v q k" } },
};

/* Positions by rotation: q * cos + (-q2, q1) * sin. */
#define ROTATE(v)                                                                                  \
    { "Slice", v " [0] [2] [3]", v "1" }, { "Slice", v " [2] [99] [3]", v "2" },                   \
        { "Neg", v "2", v "n" }, { "Concat axis=-1", v "n " v "1", v "t" },                        \
        { "Mul", v " cos", v "c" }, { "Mul", v "t sin", v "s" },                                   \
    { "Add", v "c " v "s", v "r" }
enum { ANGLES = 8, Q_ROTATED = 11, K_ROTATED = 18 };
static const Row rotated[] = {
    { "MatMul", "x wq:8x8", "q_" },
    { "MatMul", "x wk:8x8", "k_" },
    { "Reshape", "q_ [0,0,2,4]", "q4" },
    { "Reshape", "k_ [0,0,2,4]", "k4" },
    { "Transpose perm=0,2,1,3", "q4", "q" },
    { "Transpose perm=0,2,1,3", "k4", "k" },
    { "Squeeze", "length [0]", "S" },
    { "Range", "0 S 1", "range" },
    { "Cast to=1", "range", "places" },
    { "Unsqueeze", "places [1]", "column" },
    { "Mul", "column f:1x4", "angles" },
    ROTATE("q"),
    ROTATE("k"),
    { "Transpose perm=0,1,3,2", "kr", "kh" },
    { "Identity", "qr", "qh" },
    { "Reshape", "x [0,0,2,4]", "v4" },
    { "Transpose perm=0,2,1,3", "v4", "vh" },
    { "Cos", "angles", "cos" },
    { "Sin", "angles", "sin" },
    ROTATE("qr"), /* read by one of the following only */
};
static const Heading rotated_headings[] = {
    { "as they are", true, -1, { 0 } },
    { "rotated twice", false, K_ROTATED + 8, { "Identity", "qrr", "qh" } },
    { "other factors first", true, Q_ROTATED + 4, { "Mul", "cos q", "qc" } },
    { "the halves change places", false, Q_ROTATED + 3, { "Concat axis=-1", "q1 qn", "qt" } },
    { "no negative", false, Q_ROTATED + 2, { "Identity", "q2", "qn" } },
    { "twice the first half", false, Q_ROTATED + 1, { "Slice", "q [0] [2] [3]", "q2" } },
    { "every second column", false, Q_ROTATED, { "Slice", "q [0] [4] [3] [2]", "q1" } },
    { "taken away", false, Q_ROTATED + 6, { "Sub", "qc qs", "qr" } },
    { "only the queries", false, K_ROTATED + 6, { "Identity", "k", "kr" } },
    { "the keys by other angles", false, K_ROTATED + 4, { "Mul", "k sin", "kc" } },
    { "the keys by another sine", false, K_ROTATED + 5, { "Mul", "kt cos", "ks" } },
    { "the other way round", true, Q_ROTATED + 6, { "Add", "qs qc", "qr" } },
    { "half of the keys", false, Q_ROTATED + 1, { "Slice", "k [2] [99] [3]", "q2" } },
    { "angles by the words",
      false,
      ANGLES - 1,
      { "ReduceMax keepdims=0 axes=0,", "input_ids", "range" } },
    { "values rotated, too", false, K_ROTATED + 10, { "Identity", "kr", "vh" } },
};

static void test_heads(void)
{
    TEST("packed");
    try_heads(packed, COUNT(packed), packed_headings, COUNT(packed_headings));
    try_heads(parted, COUNT(parted), parted_headings, COUNT(parted_headings));
    try_heads(cut, COUNT(cut), cut_headings, COUNT(cut_headings));
    try_heads(interleaved, COUNT(interleaved), interleaved_headings, COUNT(interleaved_headings));
    TEST("batch and heads as one");
    try_heads(three, COUNT(three), three_headings, COUNT(three_headings));
    TEST("columns");
    try_heads(columns, COUNT(columns), column_headings, COUNT(column_headings));
    TEST("rotated");
    try_heads(rotated, COUNT(rotated), rotated_headings, COUNT(rotated_headings));
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

/* ---- pass_mask ---- */
typedef struct Masking {
    const char *what;
    MaskKind kind;
    int64_t window;
    bool biased, ragged;
    Edit edit[5];
} Masking;

#define FAR_BY(op, limit)                                                                          \
    {                                                                                              \
        Y + 1,                                                                                     \
        { op, "distance " limit, "far" }                                                                                          \
    }
#define HIDE_FAR                                                                                   \
    { Y + 2, { "Where", "far -1e9 padding", "mask" } },                                            \
    {                                                                                              \
        MASK,                                                                                      \
        { "Mul", "dead -1e9", "padding" }                                                                                          \
    }
static const Masking maskings[] = {
    { "padding", MASK_PLAIN, 0, false, true, { { 0 } } },
    { "none", MASK_PLAIN, 0, false, true, { { MASKED, { "Identity", "scaled", "masked" } } } },
    { "padding by Where",
      MASK_PLAIN,
      0,
      false,
      true,
      { { MASK, { "Where", "gone -1e9 0.0", "mask" } },
        { Y + 1, { "Cast to=9", "dead", "gone" } } } },
    { "padding by queries and keys",
      MASK_PLAIN,
      0,
      false,
      true,
      { { DEAD, { "Mul", "live across", "both" } },
        { MASK, { "Mul", "dead2 -1e9", "mask" } },
        { Y + 1, { "Transpose perm=0,1,3,2", "live", "across" } },
        { Y + 2, { "Sub", "1.0 both", "dead2" } } } },
    { "a window", MASK_PLAIN, 3, false, true, { FAR_BY("Greater", "3"), HIDE_FAR } },
    { "causal",
      MASK_PLAIN,
      0,
      true,
      true,
      { { Y + 1, { "Greater", "ahead 0", "far" } }, HIDE_FAR } },
    { "by distance",
      MASK_PLAIN,
      0,
      true,
      true,
      { { MASK, { "Mul", "dead -1e9", "padding" } },
        { Y + 1, { "Mul", "metres -0.25", "slope" } },
        { Y + 2, { "Add", "padding slope", "mask" } } } },
    { "by the place of the key",
      MASK_UNPROVED,
      0,
      false,
      false,
      { { MASK, { "Mul", "dead -1e9", "padding" } },
        { Y + 1, { "Cast to=1", "keys", "places" } },
        { Y + 2, { "Add", "padding places", "mask" } } } },
    { "too weak", MASK_UNPROVED, 0, false, false, { { MASK, { "Mul", "dead -100.0", "mask" } } } },
    { "the wrong way round",
      MASK_UNPROVED,
      0,
      false,
      false,
      { { MASK, { "Mul", "live -1e9", "mask" } } } },
    { "a token does not see itself",
      MASK_UNPROVED,
      0,
      false,
      false,
      { FAR_BY("Equal", "0"), HIDE_FAR } },
    { "a window that begins at the first token",
      MASK_UNPROVED,
      0,
      false,
      false,
      { { Y + 1, { "Greater", "keys 3", "far" } }, HIDE_FAR } },
    { "by the query's word",
      MASK_UNPROVED,
      0,
      false,
      false,
      { { MASK, { "Mul", "dead -1e9", "padding" } },
        { Y + 1, { "Where", "special -1e9 padding", "mask" } },
        { Y + 2, { "Equal", "words4 4", "special" } },
        { Y + 3, { "Unsqueeze", "input_ids [1,3]", "words4" } } } },
    { "no padding, but a window",
      MASK_UNPROVED,
      0,
      false,
      false,
      { FAR_BY("Greater", "3"), { MASK, { "Where", "far -1e9 0.0", "mask" } } } },
};

/* Behind the attention a product, so that rows of it can be read alone. */
static void build_masking(GraphCase *c, const Masking *m)
{
    Variant v = { .what = m->what };
    memcpy(v.edit, m->edit, sizeof v.edit);
    build(c, &v);
    node(c, "Gather", "shape 1", "S"), node(c, "Range", "0 S 1", "places1");
    node(c, "Unsqueeze", "places1 [0,1,2]", "keys"),
        node(c, "Unsqueeze", "places1 [0,1,3]", "queries");
    node(c, "Sub", "keys queries", "ahead"), node(c, "Abs", "ahead", "distance");
    node(c, "Cast to=1", "distance", "metres");
}

static void test_mask(void)
{
    GraphCase c;
    Graph *g;
    TEST("mask");
    for (size_t i = 0; i < COUNT(maskings); i++) {
        const Masking *m = &maskings[i];
        build_masking(&c, m);
        bool ok = CHECK(case_open(&c, &g) && pass_fold(g, &c.err) && pass_attention(g, &c.err) &&
                        pass_mask(g, &c.err) && count_attention(g) == 1);
        ok &= CHECK(g->mask.kind == m->kind);
        for (int k = 0; k < g->n_node; k++) {
            const GraphNode *n = g->node[k];
            if (!graph_attends(n)) continue;
            ok &= CHECK(onnx_int(n->node, "window", 0) == m->window);
            ok &= CHECK((graph_input(n, ATT_BIAS) >= 0) == m->biased);
        }
        ok &= CHECK(runs(&c, m->ragged, "mask"));
        if (!ok) printf("  %s: %s\n", m->what, case_ops(&c, g));
        arena_free(&c.arena);
    }
}

/* A window wider than what was probed is seen when a longer row comes. */
static void test_wide_window(void)
{
    GraphCase c;
    Graph *g;
    TEST("wide window");
    const Masking wide = { .what = "wide",
                           .edit = { { Y + 1, { "Greater", "metres 600.0", "far" } }, HIDE_FAR } };
    build_masking(&c, &wide);
    CHECK(case_open(&c, &g) && pass_fold(g, &c.err) && pass_attention(g, &c.err) &&
          pass_mask(g, &c.err));
    CHECK(g->mask.kind == MASK_PLAIN && g->mask.up_to < 600);
    CHECK(graph_mask_up_to(g, 550) >= 550 && graph_mask_up_to(g, 700) < 700);
    CHECK(graph_mask_proved(g) == g->mask.up_to);
    arena_free(&c.arena);
}

/* Spellings that are followed to their ends need nothing of size [S, S], and are proved far beyond what
 * a graph is probed with when it is opened. */
static void test_proved_far(void)
{
    static const Masking ways[] = {
        { .what = "padding" },
        { .what = "by way of one long row", /* as TorchScript writes it */
          .edit = { { WIDE, { "Unsqueeze", "attention_mask [1,2]", "four" } },
                    { Y + 1, { "Shape", "four", "sizes" } },
                    { Y + 2, { "Reshape", "four [-1]", "flat" } },
                    { Y + 3, { "Reshape", "flat sizes", "wide" } } } },
        { .what = "with numbers made by their shape",
          .edit = { { MASK, { "Mul", "dead -1e9", "padding" } },
                    { Y + 1, { "Shape", "distance", "sizes" } },
                    { Y + 2, { "ConstantOfShape", "sizes", "zeros" } },
                    { Y + 3, { "Add", "padding zeros", "mask" } } } },
        { .what = "a window", .edit = { FAR_BY("Greater", "3"), HIDE_FAR } },
    };
    GraphCase c;
    Graph *g;
    TEST("proved far");
    for (size_t i = 0; i < COUNT(ways); i++) {
        build_masking(&c, &ways[i]);
        CHECK(case_open(&c, &g) && pass_fold(g, &c.err) && pass_attention(g, &c.err) &&
              pass_mask(g, &c.err) && count_attention(g) == 1);
        if (!CHECK(g->mask.up_to < 8192 && graph_mask_proved(g) == 8192))
            printf("  %s: up to %d\n", ways[i].what, (int)graph_mask_proved(g));
        arena_free(&c.arena);
    }
}

/* ---- pass_qkv: two heads of 8 ---- */
typedef struct Joining {
    const char *what, *wanted;
    Row q, k, v; /* op NULL: as the others */
    Row more;
} Joining;
#define JOINED "Gather Linear Attention"
#define APART "Gather Linear Linear Linear Attention"
static const Joining joinings[] = {
    { "as they are", JOINED, { 0 }, { 0 }, { 0 }, { 0 } },
    { "only one has a bias",
      JOINED,
      { "Identity", "qm", "q" },
      { "Identity", "km", "k" },
      { 0 },
      { 0 } },
    { "keys of something else",
      "Gather Linear Linear Neg Linear Attention",
      { 0 },
      { "MatMul", "other wk:16x16", "k" },
      { 0 },
      { "Neg", "x", "other" } },
    { "a second reader of the queries", APART " Neg", { 0 }, { 0 }, { 0 }, { "Neg", "q", "y2" } },
    { "an activation", APART, { 0 }, { "Tanh", "km", "k" }, { 0 }, { 0 } },
    { "one product for two",
      "Gather Linear Linear Attention",
      { 0 },
      { "Identity", "q", "k" },
      { 0 },
      { 0 } },
};

static void row_or(GraphCase *c, const Row *r, const char *in, const char *out)
{
    if (r->op) node(c, r->op, r->in, r->out);
    else node(c, "Add", in, out);
}

static void build_joining(GraphCase *c, const Joining *j, int64_t width)
{
    const char *shapes[2] = { width == 16 ? "[0,0,2,8]" : "[0,0,2,6]",
                              width == 16 ? "[0,0,16]" : "[0,0,12]" };
    case_begin(c, 17);
    tokens(c, width);
    for (const char *p = "qkv"; *p; p++)
        node(c, "MatMul", str_format(&c->arena, "x w%c1:%dx%d", *p, (int)width, (int)width),
             str_format(&c->arena, "%cm", *p));
    row_or(c, &j->q, str_format(&c->arena, "qm bq:%d", (int)width), "q");
    row_or(c, &j->k, str_format(&c->arena, "km bk:%d", (int)width), "k");
    row_or(c, &j->v, str_format(&c->arena, "vm bv:%d", (int)width), "v");
    for (int i = Q4; i <= V4; i++)
        node(c, "Reshape", str_format(&c->arena, "%c %s", "qkv"[i - Q4], shapes[0]),
             attention[i].out);
    for (int i = QH; i <= SCALED; i++) node(c, attention[i].op, attention[i].in, attention[i].out);
    node(c, "Softmax axis=-1", "scaled", "weights");
    node(c, attention[MIXED].op, attention[MIXED].in, "mixed");
    node(c, attention[TOKENS].op, "mixed", "tokens");
    node(c, "Reshape", str_format(&c->arena, "tokens %s", shapes[1]), "y");
    output(c, "y");
    if (j->more.op) node(c, j->more.op, j->more.in, j->more.out);
    if (j->more.op && strcmp(j->more.out, "y2") == 0) output(c, "y2");
}

static void test_qkv(void)
{
    GraphCase c;
    Graph *g;
    TEST("qkv");
    Pass *const passes[] = { pass_fold, pass_attention, pass_linear, pass_qkv, NULL };
    for (size_t i = 0; i < COUNT(joinings); i++) {
        build_joining(&c, &joinings[i], 16);
        if (!CHECK(case_becomes(&c, passes, joinings[i].wanted, 1e-5, &g)))
            printf("  %s\n", joinings[i].what);
        arena_free(&c.arena);
    }
    build_joining(&c, &joinings[0], 12); /* not whole panels */
    CHECK(case_becomes(&c, passes, APART, 1e-5, &g));
    arena_free(&c.arena);
}

/* ---- pass_expand: what ONNX Runtime's optimizer writes ---- */
static const struct Expanding {
    const char *what, *wanted; /* NULL: nothing changes */
    Row row[5];
} expandings[] = {
    { "SkipLayerNormalization",
      "Gather Neg Add LayerNorm",
      { { "Neg", "x", "skip" },
        { "com.microsoft:SkipLayerNormalization epsilon=1e-3", "x skip g:8 b:8", "y" } } },
    { "with a bias",
      "Gather Neg Add Add LayerNorm",
      { { "Neg", "x", "skip" },
        { "com.microsoft:SkipLayerNormalization", "x skip g:8 b:8 c:8", "y" } } },
    { "the sum is read",
      "Gather Add LayerNorm Add",
      { { "com.microsoft:SkipLayerNormalization", "x x g:8 b:8", "n _ _ sum" },
        { "Add", "n sum", "y" } } },
    { "the deviation is read",
      NULL,
      { { "com.microsoft:SkipLayerNormalization", "x x g:8 b:8", "n _ deviation" },
        { "Add", "n deviation", "y" } } },
    { "gamma that is no constant",
      NULL,
      { { "ReduceMax keepdims=0 axes=0,1,", "x", "g" },
        { "com.microsoft:SkipLayerNormalization", "x x g", "y" } } },
    { "BiasGelu", "Gather Add Activation", { { "com.microsoft:BiasGelu", "x b:8", "y" } } },
    { "FastGelu", "Gather Activation", { { "com.microsoft:FastGelu", "x", "y" } } },
    { "FastGelu with a bias",
      "Gather Add Activation",
      { { "com.microsoft:FastGelu", "x b:8", "y" } } },
    { "Attention",
      "Gather Cast MatMul Add MatMul Add MatMul Add Reshape Cast Where Attention",
      { { "Cast to=6", "attention_mask", "m" },
        { "com.microsoft:Attention num_heads=2", "x w:8x24 b:24 m", "y" } } },
    { "Attention without a mask",
      "Gather MatMul Add MatMul Add MatMul Add Attention",
      { { "com.microsoft:Attention num_heads=2", "x w:8x24 b:24", "y" } } },
    { "Attention by the number of tokens",
      "Gather ReduceSum Cast MatMul Add MatMul Add MatMul Add Reshape Cast Shape Gather Reshape "
      "Range Less Where Attention",
      { { "ReduceSum keepdims=0", "attention_mask [1]", "n" },
        { "Cast to=6", "n", "m" },
        { "com.microsoft:Attention num_heads=2", "x w:8x24 b:24 m", "y" } } },
    { "sizes of its own",
      NULL,
      { { "com.microsoft:Attention num_heads=2 qkv_hidden_sizes=8,8,8", "x w:8x24 b:24", "y" } } },
    { "a weight that is no constant",
      NULL,
      { { "Identity", "w:8x24", "v" },
        { "com.microsoft:Attention num_heads=2", "x v b:24", "y" } } },
    { "EmbedLayerNormalization",
      "Cast Cast Gather Gather Add Shape Gather Slice Add LayerNorm",
      { { "Cast to=6", "input_ids", "i" },
        { "Cast to=6", "attention_mask", "m" },
        { "com.microsoft:EmbedLayerNormalization epsilon=1e-3", "i m t:29x8 p:40x8 k:2x8 g:8 b:8",
          "y count" } } },
    { "EmbedLayerNormalization, its sum",
      "Cast Cast Gather Gather Add Shape Gather Slice Add LayerNorm Add",
      { { "Cast to=6", "input_ids", "i" },
        { "Cast to=6", "attention_mask", "m" },
        { "com.microsoft:EmbedLayerNormalization", "i m t:29x8 p:40x8 k:2x8 g:8 b:8 m",
          "n count sum" },
        { "Add", "n sum", "y" } } },
    { "Attention, causal",
      NULL,
      { { "com.microsoft:Attention num_heads=2 unidirectional=1", "x w:8x24 b:24", "y" } } },
    { "a bias on the scores",
      NULL,
      { { "Transpose perm=0,2,1", "x", "turned" },
        { "MatMul", "x turned", "bias3" },
        { "Unsqueeze", "bias3 [1]", "bias" },
        { "com.microsoft:Attention num_heads=2", "x w:8x24 b:24 _ _ bias", "y" } } },
};

static void test_expand(void)
{
    GraphCase c;
    TEST("expand");
    for (size_t i = 0; i < COUNT(expandings); i++) {
        case_begin(&c, 17);
        tokens(&c, 8);
        for (const Row *r = expandings[i].row; r->op; r++) node(&c, r->op, r->in, r->out);
        output(&c, "y");
        if (!CHECK(becomes(&c, pass_expand, expandings[i].wanted)))
            printf("  %s\n", expandings[i].what);
        arena_free(&c.arena);
    }
}

int main(void)
{
    test_attention();
    test_heads();
    test_branch();
    try_layers("gone", "-1e9", 1);
    try_layers("gone", "-2e4", 2);
    try_layers("g5", "-1e9", 2);
    test_mask();
    test_wide_window();
    test_proved_far();
    test_qkv();
    test_expand();
    return finish();
}
