/* SPDX-License-Identifier: Apache-2.0
 * test_graph_conv.c - convolutions in a graph: what folds into their filters, what runs channels last with them,
 * and that the answers stay; what only looks like it stays as it is. And through plans: a picture's answer is
 * the same alone, in a batch and with several threads, to the bit. */
#include "graph_case.h"

/* Pictures of `dims` as pixel_values, named x. */
static void picture(GraphCase *c, const char *dims)
{
    case_begin(c, 17);
    input(c, "pixel_values", T_F32, dims);
    node(c, "Identity", "pixel_values", "x");
}

static void variance(GraphCase *c, const char *name, int n)
{
    double numbers[16];
    for (int i = 0; i < n; i++) numbers[i] = 0.5 + 0.1 * i;
    constant(c, name, T_F32, str_format(&c->arena, "%d", n), numbers);
}

/* ---- pass_conv ---- */
typedef struct FoldCase {
    const char *what;
    Row row[3];
    const char *wanted; /* NULL: it stays */
} FoldCase;

static const FoldCase folds[] = {
    { "a norm", { { "Conv", "x w:6x3x3x3 b:6", "c" }, { "BatchNormalization", "c s:6 t:6 m:6 v", "y" } },
      "Identity Conv" },
    { "no bias", { { "Conv", "x w:6x3x1x1", "c" }, { "BatchNormalization", "c s:6 t:6 m:6 v", "y" } },
      "Identity Conv" },
    { "groups", { { "Conv group=3", "x w:6x1x3x3", "c" }, { "BatchNormalization", "c s:6 t:6 m:6 v", "y" } },
      "Identity Conv" },
    { "a frozen norm", { { "Conv", "x w:6x3x3x3", "c" }, { "Mul", "c s:1x6x1x1", "d" }, { "Add", "t:6x1x1 d", "y" } },
      "Identity Conv" },
    { "one number for all", { { "Conv", "x w:6x3x3x3 b:6", "c" }, { "Mul", "0.5 c", "y" } }, "Identity Conv" },
    { "less a constant", { { "Conv", "x w:6x3x3x3 b:6", "c" }, { "Sub", "c s:6x1x1", "y" } }, "Identity Conv" },
    { "a constant less it", { { "Conv", "x w:6x3x3x3 b:6", "c" }, { "Sub", "s:6x1x1 c", "y" } }, NULL },
    { "a factor for every column", { { "Conv", "x w:6x3x3x3", "c" }, { "Mul", "c s:6", "y" } }, NULL },
    { "a factor for every place", { { "Conv", "x w:6x3x3x3", "c" }, { "Mul", "c s:1x6x6x6", "y" } }, NULL },
    { "more dims than it has", { { "Conv", "x w:6x3x3x3", "c" }, { "Mul", "c s:1x1x6x1x1", "y" } }, NULL },
    { "filters that are computed",
      { { "Abs", "w:6x3x3x3", "a" }, { "Conv", "x a", "c" }, { "Mul", "c s:6x1x1", "y" } }, NULL },
    { "a second reader",
      { { "Conv", "x w:6x3x3x3", "c" }, { "Mul", "c s:6x1x1", "d" }, { "Add", "c d", "y" } }, NULL },
    { "nothing it could go into", { { "Relu", "x", "c" }, { "Mul", "c s:3x1x1", "y" } }, NULL },
};

static void test_folds(void)
{
    TEST("constants fold into convolutions");
    for (size_t i = 0; i < COUNT(folds); i++) {
        GraphCase c;
        picture(&c, "B 3 8 8");
        variance(&c, "v", 6);
        for (int k = 0; k < 3 && folds[i].row[k].op; k++)
            node(&c, folds[i].row[k].op, folds[i].row[k].in, folds[i].row[k].out);
        output(&c, "y");
        if (!CHECK(becomes(&c, pass_conv, folds[i].wanted))) printf("  %s\n", folds[i].what);
        arena_free(&c.arena);
    }
}

/* ---- pass_channels_last ---- */
typedef struct LastCase {
    const char *what, *dims;
    Row row[8];
    const char *wanted;
} LastCase;

static const LastCase lasts[] = {
    { "one convolution", "B 3 9 7", { { "Conv pads=1,1,1,1, strides=2,1,", "x w:20x3x3x3 b:20", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "uneven padding", "B 3 9 7", { { "Conv pads=2,0,1,3, dilations=1,2,", "x w:5x3x3x3", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "padding by name", "B 3 9 7", { { "Conv auto_pad=SAME_LOWER strides=2,3,", "x w:5x3x4x3", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "every position by itself", "B 3 9 7", { { "Conv", "x w:20x3x1x1 b:20", "y" } },
      "Identity Transpose Linear Transpose" },
    { "every second position", "B 3 9 7", { { "Conv strides=2,2,", "x w:20x3x1x1 b:20", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "groups", "B 6 9 7", { { "Conv group=3 pads=1,1,1,1,", "x w:42x2x3x3 b:42", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "every channel by itself", "B 6 9 7", { { "Conv group=6 pads=1,1,1,1,", "x w:6x1x3x3 b:6", "y" } },
      "Identity Transpose DepthwiseLast Transpose" },
    { "two filters of every channel", "B 6 9 7", { { "Conv group=6 pads=1,1,1,1,", "x w:12x1x3x3 b:12", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "one dim", "B 4 30", { { "Conv strides=3, pads=2,1,", "x w:9x4x5 b:9", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "one dim, by channel", "B 4 30", { { "Conv group=4 pads=2,2,", "x w:4x1x5", "y" } },
      "Identity Transpose DepthwiseLast Transpose" },
    { "three dims", "B 2 5 6 4", { { "Conv", "x w:7x2x2x3x2 b:7", "y" } },
      "Identity Transpose ConvLast Transpose" },
    { "what stands between", "B 3 12 12",
      { { "Conv pads=1,1,1,1,", "x w:8x3x3x3 b:8", "c" },
        { "Relu", "c", "d" },
        { "MaxPool kernel_shape=2,2, strides=2,2,", "d", "e" },
        { "Mul", "e s:8x1x1", "f" },
        { "Conv", "f v:8x8x1x1", "g" },
        { "Add", "g e", "h" },
        { "GlobalAveragePool", "h", "i" },
        { "Flatten", "i", "y" } },
      "Identity Transpose ConvLast Relu MaxPool Mul Linear Add GlobalAveragePool Reshape" },
    { "joined channels", "B 3 6 6",
      { { "Conv", "x w:4x3x1x1", "c" }, { "Conv", "x v:6x3x1x1", "d" }, { "Concat axis=1", "c d", "e" },
        { "ReduceMean axes=2,3, keepdims=0", "e", "y" } },
      "Identity Transpose Linear Linear Concat ReduceMean" },
    { "joined rows stay", "B 3 6 6",
      { { "Conv", "x w:4x3x1x1", "c" }, { "Conv", "x v:4x3x1x1", "d" }, { "Concat axis=2", "c d", "y" } },
      "Identity Transpose Linear Transpose Linear Transpose Concat" },
    { "map to tokens", "B 3 8 8",
      { { "Conv strides=4,4,", "x w:20x3x4x4 b:20", "c" }, { "Reshape", "c [0,20,-1]", "d" },
        { "Transpose perm=0,2,1,", "d", "y" } },
      "Identity Transpose ConvLast Reshape" },
    { "tokens to map", "B 36 4",
      { { "Transpose perm=0,2,1,", "x", "c" }, { "Reshape", "c [0,4,6,6]", "d" },
        { "Conv group=4 pads=1,1,1,1,", "d w:4x1x3x3", "e" }, { "Reshape", "e [0,4,36]", "f" },
        { "Transpose perm=0,2,1,", "f", "y" } },
      "Identity Reshape DepthwiseLast Reshape" },
    { "rows for columns stay", "B 36 4",
      { { "Transpose perm=0,2,1,", "x", "c" }, { "Reshape", "c [0,2,12,6]", "d" },
        { "Conv pads=1,1,1,1,", "d w:4x2x3x3", "y" } },
      "Identity Transpose Reshape Transpose ConvLast Transpose" },
    { "another size", "B 3 6 6",
      { { "Conv", "x w:4x3x1x1", "c" }, { "Resize mode=linear", "c _ _ [2,4,9,5]", "d" }, { "Neg", "d", "y" } },
      "Identity Transpose Linear Gather Resize Neg Transpose" },
    { "a frame around it", "B 3 6 6",
      { { "Conv", "x w:4x3x1x1", "c" }, { "Pad", "c [0,0,1,2,0,0,3,0]", "d" }, { "Conv", "d v:5x4x3x3", "y" } },
      "Identity Transpose Linear Pad ConvLast Transpose" },
    { "by a picture of its own", "B 3 6 6", { { "Conv", "x w:4x3x1x1", "c" }, { "Slice", "x [0] [1] [1]", "d" }, { "Mul", "c d", "y" } },
      "Identity Transpose Linear Transpose Slice Mul" },
};

static void test_lasts(void)
{
    TEST("channels last");
    for (size_t i = 0; i < COUNT(lasts); i++) {
        GraphCase c;
        picture(&c, lasts[i].dims);
        for (int k = 0; k < 8 && lasts[i].row[k].op; k++)
            node(&c, lasts[i].row[k].op, lasts[i].row[k].in, lasts[i].row[k].out);
        output(&c, "y");
        Graph *plain, *made;
        bool ok = case_open(&c, &plain) && case_open(&c, &made) && pass_channels_last(made, &c.err);
        Named a[CASE_WORDS], b[CASE_WORDS];
        ok = ok && case_answers(&c, plain, 2, 1, a) && case_answers(&c, made, 2, 1, b);
        if (!CHECK(ok && case_distance(&b[0].t, &a[0].t) < 1e-5)) printf("  %s: %s\n", lasts[i].what, c.err.message);
        if (ok && !CHECK(strcmp(case_ops(&c, made), lasts[i].wanted) == 0))
            printf("  %s: found  %s\n  wanted %s\n", lasts[i].what, case_ops(&c, made), lasts[i].wanted);
        arena_free(&c.arena);
    }
}

/* Filters that are no constants, or no floats, stay with the operator that takes all. */
static void test_stays(void)
{
    TEST("computed filters stay");
    GraphCase c;
    picture(&c, "B 3 8 8");
    node(&c, "Abs", "w:6x3x3x3", "a");
    node(&c, "Conv", "x a", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_channels_last));
    arena_free(&c.arena);
}

/* ---- through plans ---- */
static void block_of_resnet(GraphCase *c)
{
    picture(c, "B 3 30 26");
    variance(c, "v", 8);
    node(c, "Conv pads=3,3,3,3, strides=2,2,", "x first:8x3x7x7", "c0");
    node(c, "BatchNormalization", "c0 s:8 t:8 m:8 v", "n0");
    node(c, "Relu", "n0", "r0");
    node(c, "MaxPool kernel_shape=3,3, pads=1,1,1,1, strides=2,2,", "r0", "p0");
    node(c, "Conv", "p0 one:40x8x1x1 bias1:40", "c1");
    node(c, "Relu", "c1", "r1");
    node(c, "Conv pads=1,1,1,1,", "r1 three:64x40x3x3 bias2:64", "c2");
    node(c, "Relu", "c2", "r2");
    node(c, "Conv", "r2 two:8x64x1x1 bias3:8", "c3");
    node(c, "Add", "c3 p0", "sum");
    node(c, "Relu", "sum", "r3");
    node(c, "Conv pads=1,1,1,1, strides=1,1,", "r3 four:32x8x3x3 bias4:32", "c4"); /* reads it, and below it is added */
    node(c, "Conv", "c4 five:8x32x1x1 bias5:8", "c5");
    node(c, "Mul", "c5 0.02", "m5");
    node(c, "Add", "r3 m5", "sum2");
    node(c, "Conv", "sum2 six:64x8x1x1", "c6");
    node(c, "Conv", "c6 seven:64x64x1x1", "c7"); /* of what it is added to: not in the memory of that */
    node(c, "Mul", "c7 0.02", "m7");
    node(c, "Add", "m7 c6", "sum3");
    node(c, "Conv", "sum3 eight:8x64x1x1", "c8");
    node(c, "Mul", "c8 0.004", "m8");
    node(c, "Conv group=8 pads=2,2,2,2,", "m8 deep:8x1x5x5", "d");
    node(c, "GlobalAveragePool", "d", "mean");
    node(c, "Flatten", "mean", "y");
    output(c, "y");
}

static bool run_pictures(const Engine *e, Pool *pool, const Tensor *x, int n, float *out)
{
    Runner *r = runner_new(e, pool);
    Feature f[8];
    RowInputs rows[8];
    int32_t start[9] = { 0 };
    RowOutput answers[8];
    Err err;
    const int64_t one = tensor_count(x) / x->dim[0];
    for (int i = 0; i < n; i++) {
        f[i] = (Feature){ "pixel_values", { .type = T_F32, .rank = 3, .dim = { 3, 30, 26 } } };
        f[i].t.data = (float *)x->data + i * one;
        rows[i] = (RowInputs){ &f[i], 1 };
    }
    bool ok = runner_run(r, &(Batch){ .B = n, .start = start, .own = rows }, answers, &err);
    for (int i = 0; ok && i < n; i++) memcpy(out + i * 8, answers[i].data, 8 * sizeof(float));
    if (!ok) printf("  %s\n", err.message);
    runner_free(r);
    return ok;
}

static void test_company(Precision precision, const char *wanted, double within)
{
    GraphCase c;
    Graph *plain, *g;
    Named answer[CASE_WORDS], in[CASE_WORDS];
    Engine *e;
    block_of_resnet(&c);
    bool ok = case_open(&c, &plain) && case_open(&c, &g);
    g->precision = precision;
    ok = ok && graph_optimize(g, false, &c.err) && case_answers(&c, plain, 5, 1, answer);
    if (!CHECK(ok && strcmp(case_ops(&c, g), wanted) == 0)) printf("  found %s %s\n", case_ops(&c, g), c.err.message);
    if (!CHECK(ok && engine_new(&c.arena, g, (Str[]){ STR("y") }, 1, &e, &c.err))) return;
    case_inputs(&c, plain, 5, 1, 0, true, in);
    float alone[40], together[40], threads[40];
    Pool *pool = pool_new(3);
    for (int i = 0; i < 5; i++) {
        Tensor one = in[0].t;
        one.dim[0] = 1, one.data = (float *)one.data + i * (tensor_count(&in[0].t) / 5);
        CHECK(run_pictures(e, NULL, &one, 1, alone + 8 * i));
    }
    CHECK(run_pictures(e, NULL, &in[0].t, 5, together) && run_pictures(e, pool, &in[0].t, 5, threads));
    CHECK(memcmp(alone, together, sizeof alone) == 0 && memcmp(alone, threads, sizeof alone) == 0);
    Tensor found = { .type = T_F32, .rank = 2, .dim = { 5, 8 }, .data = together };
    CHECK(case_distance(&found, &answer[0].t) <= within);
    pool_free(pool);
    arena_free(&c.arena);
}

static void test_plans(void)
{
    TEST("alone and in company");
#define BLOCK(linear, conv)                                                                           \
    "Transpose ConvLast MaxPool " linear " " conv " Linear " conv " Linear " linear " " linear " Linear " \
    "DepthwiseLast GlobalAveragePool Reshape"
    test_company(PRECISION_FP32, BLOCK("Linear", "ConvLast"), 1e-5);
    test_company(PRECISION_BF16, BLOCK("Linear", "ConvLast"), 0.05);
    test_company(PRECISION_INT8, BLOCK("LinearQ", "ConvLastQ"), 0.05);
}

/* ---- windows where they lie ---- */
static const LastCase windows[] = {
    { "3 x 3", "3 16 9 7", { { "Conv pads=1,1,1,1,", "x w:64x16x3x3 b:64", "y" } } },
    { "steps and uneven padding", "2 18 9 12", { { "Conv pads=2,0,1,3, strides=2,3,", "x w:20x18x3x4", "y" } } },
    { "holes", "1 24 9 12", { { "Conv pads=2,2,2,2, dilations=2,3,", "x w:33x24x3x3 b:33", "y" } } },
    { "every second position", "2 32 9 7", { { "Conv strides=2,2,", "x w:32x32x1x1 b:32", "y" } } },
    { "wider than the picture", "2 16 3 4", { { "Conv pads=3,3,3,3,", "x w:5x16x5x7 b:5", "y" } } },
    { "one dim", "2 16 30", { { "Conv strides=3, pads=2,1,", "x w:9x16x5 b:9", "y" } } },
    { "three dims", "2 16 5 6 4", { { "Conv pads=1,0,1,0,1,1,", "x w:7x16x2x3x2 b:7", "y" } } },
    { "few channels", "2 3 30 26", { { "Conv pads=3,3,3,3, strides=2,2,", "x w:64x3x7x7 b:64", "y" } } },
    { "few, holes", "2 3 12 14", { { "Conv pads=1,2,1,2, dilations=2,2,", "x w:16x3x3x3 b:16", "y" } } },
    { "an odd number", "2 17 40", { { "Conv strides=2, pads=4,4,", "x w:16x17x9 b:16", "y" } } },
};

typedef struct ConvRun {
    GraphCase *c;
    const Graph *g;
    const GraphNode *n;        /* the ConvLast */
    const Tensor *x;
    Tensor y;                  /* type and dims */
} ConvRun;

/* Floats, by these kernels; low: x as rows of bf16, or NULL; made: where y as such rows goes, or NULL. */
static float *conv_answer(ConvRun *r, const Kernels *k, const uint16_t *low, uint16_t *made)
{
    const Tensor *in[4] = { r->x };
    for (int i = 1; i < r->n->n_in && i < 4; i++) in[i] = r->n->in[i] >= 0 ? &r->g->value[r->n->in[i]].t : NULL;
    OpCall call = { .node = r->n->node, .opset = r->n->opset, .n_in = r->n->n_in, .n_out = 1, .in = in,
                    .out = &r->y, .k = k, .scratch = &r->c->arena, .low_in = low, .low_out = made };
    if (!op_shape(r->n->op, &call, &r->c->err)) return NULL;
    r->y.data = arena_alloc(&r->c->arena, tensor_bytes(&r->y));
    return r->n->op->run(&call, &r->c->err) ? r->y.data : NULL;
}

static uint16_t *rounded(Arena *arena, const float *x, const Tensor *like)
{
    const int64_t C = like->dim[like->rank - 1], rows = tensor_count(like) / C;
    uint16_t *low = memset(arena_alloc(arena, rows_bf16_size(rows, C)), 0, rows_bf16_size(rows, C));
    if (x) kernels()->bf16_rows(x, C, C, low, 0, rows);
    return low;
}

/* By copies of windows, and where they lie; from floats, and from rows that somebody rounded before; to floats, and
 * to rows beside them. All to the bit. */
static bool windows_agree(ConvRun *r)
{
    const Kernels *k = kernels();
    Gemm copying = *k->gemm_bf16;
    Kernels copies = *k;
    copying.pieces = false, copies.gemm_bf16 = &copying;
    const float *want = conv_answer(r, &copies, NULL, NULL), *got = conv_answer(r, k, NULL, NULL);
    if (!want || !got || memcmp(want, got, tensor_bytes(&r->y)) != 0) return false;
    const int64_t C = r->x->dim[r->x->rank - 1];
    const Low can = r->n->op->low(&(OpCall){ .node = r->n->node, .n_in = 2, .k = k,
                                             .in = (const Tensor *[]){ r->x, &r->g->value[r->n->in[1]].t } });
    if (!can.beside) return !k->gemm_bf16->pieces;
    uint16_t *made = rounded(&r->c->arena, NULL, &r->y), *low = rounded(&r->c->arena, r->x->data, r->x);
    const float *again = conv_answer(r, k, can.reads ? low : NULL, made);
    const int64_t M = r->y.dim[r->y.rank - 1], rows = tensor_count(&r->y) / M;
    return can.reads == (C >= 16 && C % 2 == 0) && again && memcmp(want, again, tensor_bytes(&r->y)) == 0 &&
           memcmp(made, rounded(&r->c->arena, want, &r->y), rows_bf16_size(rows, M)) == 0;
}

static void test_windows(void)
{
    TEST("windows where they lie");
    for (size_t i = 0; i < COUNT(windows); i++) {
        GraphCase c;
        Graph *g;
        Named in[CASE_WORDS];
        const GraphNode *conv = NULL;
        picture(&c, windows[i].dims);
        node(&c, windows[i].row[0].op, windows[i].row[0].in, windows[i].row[0].out);
        output(&c, "y");
        bool ok = case_open(&c, &g);
        case_inputs(&c, g, 1, 1, 0, true, in);
        g->precision = PRECISION_BF16;
        ok = ok && graph_optimize(g, false, &c.err);
        for (int k = 0; ok && k < g->n_node; k++)
            if (graph_is(g->node[k], "ConvLast")) conv = g->node[k];
        Tensor x = in[0].t; /* the same numbers under the dims of channels last */
        for (int d = 1; d + 1 < x.rank; d++) x.dim[d] = in[0].t.dim[d + 1];
        x.dim[x.rank - 1] = in[0].t.dim[1];
        ConvRun run = { .c = &c, .g = g, .n = conv, .x = &x };
        if (!CHECK(conv && windows_agree(&run))) printf("  %s: %s\n", windows[i].what, c.err.message);
        arena_free(&c.arena);
    }
}

int main(void)
{
    test_windows();
    test_folds();
    test_lasts();
    test_stays();
    test_plans();
    return finish();
}
