/* SPDX-License-Identifier: Apache-2.0
 * test_graph_heads.c - where the queries, keys and values of an attention come from, and their products joined. */
#include "attention_case.h"

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
/* Parts that are turned one by one, as ONNX Runtime's optimizer leaves ModernBERT's. */
static const Row moved[] = {
    { "MatMul", "x w:8x24", "all" },
    { "Reshape", "all [0,0,3,2,4]", "five" },
    { "Split axis=2", "five", "q5 k5 v5" },
    { "Transpose perm=0,3,2,1,4", "q5", "qt" },
    { "Transpose perm=0,3,2,1,4", "k5", "kt" },
    { "Transpose perm=2,0,3,1,4", "v5", "vt" },
    { "Squeeze", "qt [2]", "qh" },
    { "Squeeze", "kt [-3]", "k4" },
    { "Squeeze", "vt [0]", "vh" },
    { "Transpose perm=0,1,3,2", "k4", "kh" },
};
static const Heading moved_headings[] = {
    { "as it is", true, -1, { 0 } },
    { "another name", true, 2, { "Split axis=2", "five", "k5 q5 v5" } },
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
    try_heads(moved, COUNT(moved), moved_headings, COUNT(moved_headings));
    try_heads(interleaved, COUNT(interleaved), interleaved_headings, COUNT(interleaved_headings));
    TEST("batch and heads as one");
    try_heads(three, COUNT(three), three_headings, COUNT(three_headings));
    TEST("columns");
    try_heads(columns, COUNT(columns), column_headings, COUNT(column_headings));
    TEST("rotated");
    try_heads(rotated, COUNT(rotated), rotated_headings, COUNT(rotated_headings));
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

int main(void)
{
    test_heads();
    test_qkv();
    return finish();
}
