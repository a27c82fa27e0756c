/* SPDX-License-Identifier: Apache-2.0
 * test_graph_fuse.c - the passes that make one node of several, each alone: what it makes of its pattern,
 * that the answers stay, and that what only looks like the pattern stays as it is. */
#include "graph_case.h"

#define PASSES(...) ((Pass *[]){ __VA_ARGS__, NULL })

/* ---- pass_norm ---- */
static const Row norm[] = {
    { "ReduceMean axes=-1,", "x", "mean" },
    { "Sub", "x mean", "d" },
    { "Pow", "d 2.0", "squares" },
    { "ReduceMean axes=-1,", "squares", "variance" },
    { "Add", "variance 1e-5", "sum" },
    { "Sqrt", "sum", "root" },
    { "Div", "d root", "n" },
    { "Mul", "n gamma:8", "scaled" },
    { "Add", "scaled beta:8", "y" },
};

static const Change norm_changes[] = {
    { "squares by Mul", 2, { "Mul", "d d", "squares" }, "Gather LayerNorm" },
    { "epsilon first", 4, { "Add", "1e-5 variance", "sum" }, "Gather LayerNorm" },
    { "no beta", 8, { "Relu", "scaled", "y" }, "Gather LayerNorm Relu" },
    { "the mean along another axis", 0, { "ReduceMean axes=1,", "x", "mean" }, NULL },
    { "the variance along another axis", 3, { "ReduceMean axes=1,", "squares", "variance" }, NULL },
    { "the variance of two axes", 3, { "ReduceMean axes=1,2,", "squares", "variance" }, NULL },
    { "the variance of what is not centered", 2, { "Pow", "x 2.0", "squares" }, NULL },
    { "cubes", 2, { "Pow", "d 3.0", "squares" }, NULL },
    { "a product that is no square", 2, { "Mul", "d x", "squares" }, NULL },
    { "an epsilon for every column", 4, { "Add", "variance w:8", "sum" }, NULL },
    { "an epsilon that is no constant", 4, { "Add", "variance variance", "sum" }, NULL },
    { "divided the wrong way round", 6, { "Div", "root d", "n" }, NULL },
    { "gamma for every token", 7, { "Mul", "n x", "scaled" }, NULL },
    { "gamma of one number", 7, { "Mul", "n gamma:1", "scaled" }, NULL },
    { "beta of one number", 8, { "Add", "scaled beta:1", "y" }, "Gather LayerNorm Add" },
    { "beta for every token", 8, { "Add", "scaled x", "y" }, "Gather LayerNorm Add" },
    { "squares by no number", 2, { "Pow", "d w:8", "squares" }, NULL },
    { "a product that is no square either", 2, { "Mul", "x d", "squares" }, NULL },
    { "no root", 5, { "Exp", "sum", "root" }, NULL },
    { "the mean of something else", 1, { "Sub", "w:8 mean", "d" }, NULL },
    { "gamma with two axes", 7, { "Mul", "n gamma:1x8", "scaled" }, NULL },
    { "a second reader of the centered",
      9,
      { "Neg", "d", "z" },
      "Gather ReduceMean Sub LayerNorm Neg" },
};

static const Row norm_standard[] = { { "LayerNormalization epsilon=1e-3", "x gamma:8 beta:8",
                                       "y" } };
/* From opset 18 on axes are an input. */
static const Row norm18[] = {
    { "ReduceMean", "x [-1]", "mean" }, { "Sub", "x mean", "d" },
    { "Pow", "d 2.0", "squares" },      { "ReduceMean", "squares [-1]", "variance" },
    { "Add", "variance 1e-5", "sum" },  { "Sqrt", "sum", "root" },
    { "Div", "d root", "n" },           { "Mul", "n gamma:8", "scaled" },
    { "Add", "scaled beta:8", "y" },
};
static const Change norm18_changes[] = {
    { "the mean along another axis", 0, { "ReduceMean", "x [1]", "mean" }, NULL },
    { "the variance of two axes", 3, { "ReduceMean", "squares [1,2]", "variance" }, NULL },
    { "the variance of everything", 3, { "ReduceMean", "squares", "variance" }, NULL },
};

/* As ONNX Runtime's optimizer leaves a norm without beta. */
static const Row simplified[] = {
    { "ReduceMean axes=-1,", "x", "mean" },
    { "Sub", "x mean", "d" },
    { "SimplifiedLayerNormalization epsilon=1e-3", "d gamma:8", "y" },
};
static const Change simplified_changes[] = {
    { "not centered",
      2,
      { "SimplifiedLayerNormalization", "x gamma:8", "y" },
      "Gather SimplifiedLayerNormalization" },
    { "over two axes", 2, { "SimplifiedLayerNormalization axis=1", "d gamma:8", "y" }, NULL },
    { "gamma of one number", 2, { "SimplifiedLayerNormalization", "d gamma:1", "y" }, NULL },
    { "the mean of something else",
      0,
      { "ReduceMean axes=-1,", "n", "mean" },
      "Gather Neg ReduceMean Sub SimplifiedLayerNormalization",
      { "Neg", "x", "n" } },
};
static const Change standard_changes[] = {
    { "no beta", 0, { "LayerNormalization", "x gamma:8", "y" }, "Gather LayerNorm" },
    { "over two axes", 0, { "LayerNormalization axis=1", "x gamma:8 beta:8", "y" }, NULL },
    { "gamma that is no constant",
      0,
      { "LayerNormalization", "x g beta:8", "y" },
      "Gather ReduceMax LayerNormalization",
      { "ReduceMax keepdims=0 axes=0,1,", "x", "g" } },
    { "beta that is no constant",
      0,
      { "LayerNormalization", "x gamma:8 g", "y" },
      "Gather ReduceMax LayerNormalization",
      { "ReduceMax keepdims=0 axes=0,1,", "x", "g" } },
};

static void test_norm(void)
{
    TEST("norm");
    try_pattern(PASSES(pass_norm), 17, 8, norm, COUNT(norm), "Gather LayerNorm", norm_changes,
                COUNT(norm_changes));
    try_pattern(PASSES(pass_norm), 18, 8, norm18, COUNT(norm18), "Gather LayerNorm", norm18_changes,
                COUNT(norm18_changes));
    try_pattern(PASSES(pass_norm), 17, 8, simplified, COUNT(simplified), "Gather LayerNorm",
                simplified_changes, COUNT(simplified_changes));
    try_pattern(PASSES(pass_norm), 17, 8, norm_standard, 1, "Gather LayerNorm", standard_changes,
                COUNT(standard_changes));
}

/* Two norms of one value that differ in epsilon alone stay two, each with its own. */
static void test_two_norms(void)
{
    GraphCase c;
    Graph *g;
    TEST("two norms");
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "LayerNormalization epsilon=1e-5", "x gamma:8 beta:8", "a");
    node(&c, "LayerNormalization epsilon=0.5", "x gamma beta", "b");
    node(&c, "Sub", "a b", "y");
    output(&c, "y");
    CHECK(case_becomes(&c, PASSES(pass_same, pass_norm, pass_same),
                       "Gather LayerNorm LayerNorm Sub", 1e-5, &g));
    arena_free(&c.arena);
}

/* ---- pass_gelu ---- */
static const Row gelu[] = {
    { "Div", "x 1.41421356", "a" }, { "Erf", "a", "e" },     { "Add", "e 1.0", "gate" },
    { "Mul", "x gate", "p" },       { "Mul", "p 0.5", "y" },
};
static const Change gelu_changes[] = {
    { "times the inverse", 0, { "Mul", "0.70710678 x", "a" }, "Gather Activation" },
    { "half first", 3, { "Mul", "gate x", "p" }, "Gather Activation" },
    { "divided by two", 4, { "Div", "p 2.0", "y" }, NULL },
    { "another root", 0, { "Div", "x 1.4", "a" }, NULL },
    { "another function", 1, { "Tanh", "a", "e" }, NULL },
    { "plus two", 2, { "Add", "e 2.0", "gate" }, NULL },
    { "minus one", 2, { "Sub", "e 1.0", "gate" }, NULL },
    { "not a half", 4, { "Mul", "p 0.51", "y" }, NULL },
    { "another value beside the gate", 3, { "Mul", "a gate", "p" }, NULL },
    { "the gate of something else", 0, { "Div", "n 1.41421356", "a" }, NULL, { "Neg", "x", "n" } },
    { "the gate of a sum", 0, { "Mul", "n 0.70710678", "a" }, NULL, { "Add", "x x", "n" } },
    { "the gate of a square", 0, { "Mul", "n 0.70710678", "a" }, NULL, { "Mul", "x x", "n" } },
    { "a third factor", 3, { "Mul", "n gate", "p" }, NULL, { "Mul", "x x", "n" } },
    { "a second reader of the gate",
      5,
      { "Neg", "gate", "z" },
      "Gather Div Erf Add Activation Neg" },
};
static const Row gelu_tanh[] = {
    { "Pow", "x 3.0", "cube" }, { "Mul", "cube 0.044715", "term" },
    { "Add", "x term", "sum" }, { "Mul", "sum 0.7978845608", "a" },
    { "Tanh", "a", "t" },       { "Add", "t 1.0", "gate" },
    { "Mul", "x 0.5", "half" }, { "Mul", "half gate", "y" },
};
static const Change tanh_changes[] = {
    { "the cube first", 2, { "Add", "term x", "sum" }, "Gather Activation" },
    { "by products",
      0,
      { "Mul", "square x", "cube" },
      "Gather Activation",
      { "Mul", "x x", "square" } },
    { "the fourth power", 0, { "Mul", "square square", "cube" }, NULL, { "Mul", "x x", "square" } },
    { "a cube with a factor",
      0,
      { "Mul", "square x", "cube" },
      NULL,
      { "Mul", "x 2.0", "square" } },
    { "the cube of something else", 0, { "Pow", "n 3.0", "cube" }, NULL, { "Neg", "x", "n" } },
    { "a power that is no constant", 0, { "Pow", "x n", "cube" }, NULL, { "Abs", "x", "n" } },
    { "squares", 0, { "Pow", "x 2.0", "cube" }, NULL },
    { "another factor", 1, { "Mul", "cube 0.0447", "term" }, NULL },
    { "another value added", 2, { "Add", "cube term", "sum" }, NULL },
    { "another root", 3, { "Mul", "sum 0.8", "a" }, NULL },
    { "another function", 4, { "Erf", "a", "t" }, NULL },
};
static const Row gelu_standard[] = { { "Gelu approximate=tanh", "x", "y" } };
static const Change gelu_standard_changes[] = {
    { "with erf", 0, { "Gelu", "x", "y" }, "Gather Activation" },
};

static void test_gelu(void)
{
    TEST("gelu");
    try_pattern(PASSES(pass_gelu), 17, 8, gelu, COUNT(gelu), "Gather Activation", gelu_changes,
                COUNT(gelu_changes));
    try_pattern(PASSES(pass_gelu), 17, 8, gelu_tanh, COUNT(gelu_tanh), "Gather Activation",
                tanh_changes, COUNT(tanh_changes));
    try_pattern(PASSES(pass_gelu), 20, 8, gelu_standard, 1, "Gather Activation",
                gelu_standard_changes, COUNT(gelu_standard_changes));
}

/* The kernel reads floats; doubles and halves stay as they are. */
static void test_gelu_of(const char *cast, DType type)
{
    GraphCase c;
    const double numbers[] = { 1.41421356, 1, 0.5 };
    TEST(dtype_name(type));
    case_begin(&c, 20);
    tokens(&c, 8);
    node(&c, cast, "x", "other");
    node(&c, "Gelu", "other", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_gelu));
    arena_free(&c.arena);
    case_begin(&c, 17);
    tokens(&c, 8);
    constant(&c, "root", type, "", numbers), constant(&c, "one", type, "", numbers + 1);
    constant(&c, "half", type, "", numbers + 2);
    node(&c, cast, "x", "other");
    node(&c, "Div", "other root", "a"), node(&c, "Erf", "a", "e"), node(&c, "Add", "e one", "gate");
    node(&c, "Mul", "other gate", "p"), node(&c, "Mul", "p half", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_gelu));
    arena_free(&c.arena);
}

/* One number with more axes than x gives the result more axes, too. */
static void test_gelu_rank(void)
{
    GraphCase c;
    const double half = 0.5;
    TEST("gelu, rank");
    case_begin(&c, 17);
    tokens(&c, 8);
    constant(&c, "half", T_F32, "1x1x1x1", &half);
    for (size_t i = 0; i + 1 < COUNT(gelu); i++) node(&c, gelu[i].op, gelu[i].in, gelu[i].out);
    node(&c, "Mul", "p half", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_gelu));
    arena_free(&c.arena);
}

/* ---- pass_gated ---- */
static const Row gated[] = { { "Split axis=-1", "x", "a b" },
                             { "Gelu", "a", "act" },
                             { "Mul", "act b", "y" } };
static const Change gated_changes[] = {
    { "the other way round", 2, { "Mul", "b act", "y" }, "Gather Gated" },
    { "the second half decides", 1, { "Gelu", "b", "act" }, "Gather Split Activation Mul" },
    { "half with itself", 2, { "Mul", "act a", "y" }, "Gather Split Activation Mul" },
};
static const Row sliced[] = { { "Slice", "x [0] [4] [2]", "a" },
                              { "Slice", "x [4] [9] [-1]", "b" },
                              { "Gelu", "a", "act" },
                              { "Mul", "act b", "y" } };
static const Change sliced_changes[] = {
    { "twice the first half",
      1,
      { "Slice", "x [0] [4] [2]", "b" },
      "Gather Slice Slice Activation Mul" },
    { "the second half backwards",
      1,
      { "Slice", "x [7] [3] [2] [-1]", "b" },
      "Gather Slice Slice Activation Mul" },
    { "less than a half",
      0,
      { "Slice", "x [0] [1] [2]", "a" },
      "Gather Slice Slice Activation Mul" },
};

static void test_gated(void)
{
    TEST("gated");
    try_pattern(PASSES(pass_gelu, pass_gated), 20, 8, gated, COUNT(gated), "Gather Gated",
                gated_changes, COUNT(gated_changes));
    try_pattern(PASSES(pass_gelu, pass_gated), 20, 8, sliced, COUNT(sliced), "Gather Gated",
                sliced_changes, COUNT(sliced_changes));
}

/* ---- pass_linear ---- */
static const Row linear[] = { { "MatMul", "x w:8x20", "h" },
                              { "Add", "h b:20", "s" },
                              { "Tanh", "s", "y" } };
static const Change linear_changes[] = {
    { "bias first", 1, { "Add", "b:20 h", "s" }, "Gather Linear" },
    { "bias with leading ones", 1, { "Add", "h b:1x1x20", "s" }, "Gather Linear" },
    { "bias of one number", 1, { "Add", "h b:1", "s" }, "Gather Linear Add Tanh" },
    { "bias that raises the rank", 1, { "Add", "h b:1x1x1x20", "s" }, "Gather Linear Add Tanh" },
    { "bias that is no constant", 1, { "Add", "h h", "s" }, "Gather Linear Add Tanh" },
    { "Sub of a bias", 1, { "Sub", "h b:20", "s" }, "Gather Linear Sub Tanh" },
    { "an activation that is not known", 2, { "Sinh", "s", "y" }, "Gather Linear Sinh" },
    { "two activations", 2, { "Tanh", "s", "t" }, "Gather Linear Relu", { "Relu", "t", "y" } },
    { "a weight for every row", 0, { "MatMul", "x w:1x8x20", "h" }, NULL },
    { "a second reader of the product", 3, { "Neg", "h", "z" }, "Gather Linear Add Tanh Neg" },
    { "a second reader of the sum", 3, { "Neg", "s", "z" }, "Gather Linear Tanh Neg" },
};

static const Row residual[] = { { "MatMul", "x w:8x8", "h" },
                                { "Add", "h b:8", "s" },
                                { "Add", "s x", "y" } };
static const Change residual_changes[] = {
    { "residual first", 2, { "Add", "x s", "y" }, "Gather Linear" },
    { "doubled", 2, { "Add", "s s", "y" }, "Gather Linear Add" },
    { "an activation behind it",
      2,
      { "Add", "s x", "r" },
      "Gather Linear",
      { "Tanh", "r", "y" } },
    { "two of them", 2, { "Add", "s x", "r" }, "Gather Linear Add", { "Add", "r x", "y" } },
    { "an activation before it", 2, { "Add", "t x", "y" }, "Gather Linear", { "Tanh", "s", "t" } },
    { "one row for all tokens", 2, { "Add", "s r:1x8", "y" }, "Gather Linear Add" },
    { "taken away", 2, { "Sub", "s x", "y" }, "Gather Linear Sub" },
    { "a second reader", 3, { "Neg", "s", "z" }, "Gather Linear Add Neg" },
};

static const Row gemm[] = { { "Reshape", "x [-1,8]", "flat" },
                            { "Gemm transB=1", "flat w:20x8 b:20", "h" },
                            { "Relu", "h", "y" } };
static const Change gemm_changes[] = {
    { "not transposed", 1, { "Gemm", "flat w:8x20 b:20", "h" }, "Gather Reshape Linear" },
    { "no bias", 1, { "Gemm", "flat w:8x20", "h" }, "Gather Reshape Linear" },
    { "alpha", 1, { "Gemm alpha=2.0", "flat w:8x20 b:20", "h" }, NULL },
    { "beta", 1, { "Gemm beta=0.5", "flat w:8x20 b:20", "h" }, NULL },
    { "a weight that is no constant", 1, { "Gemm transB=1", "flat flat", "h" }, NULL },
    { "the other side transposed",
      1,
      { "Gemm transA=1", "turned w:8x20 b:20", "h" },
      "Gather Reshape Transpose Gemm Relu",
      { "Transpose perm=1,0", "flat", "turned" } },
    { "one bias for all", 1, { "Gemm", "flat w:8x20 b:1", "h" }, NULL },
    { "the activation of something else", 2, { "Relu", "flat", "y" }, "Gather Reshape Relu" },
};

static void test_linear(void)
{
    TEST("linear");
    try_pattern(PASSES(pass_linear), 17, 8, linear, COUNT(linear), "Gather Linear", linear_changes,
                COUNT(linear_changes));
    TEST("residual");
    try_pattern(PASSES(pass_linear), 17, 8, residual, COUNT(residual), "Gather Linear",
                residual_changes, COUNT(residual_changes));
    TEST("gemm");
    try_pattern(PASSES(pass_linear), 17, 8, gemm, COUNT(gemm), "Gather Reshape Linear",
                gemm_changes, COUNT(gemm_changes));
}

/* A product of two values of the graph is none with a weight; and what raises the rank of a sum. */
static void test_linear_others(void)
{
    GraphCase c;
    TEST("linear, others");
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "Transpose perm=0,2,1", "x", "turned");
    node(&c, "MatMul", "x turned", "y");
    output(&c, "y");
    CHECK(stays(&c, pass_linear));
    arena_free(&c.arena);
    case_begin(&c, 17);
    tokens(&c, 8);
    node(&c, "ReduceMax keepdims=0 axes=0,1,", "x", "row");
    node(&c, "MatMul", "row w:8x8", "h");
    node(&c, "Add", "h b:1x8", "y");
    output(&c, "y");
    CHECK(becomes(&c, pass_linear, "Gather ReduceMax Linear Add"));
    arena_free(&c.arena);
}

/* ---- pass_quantized ---- */
static const Row quantized[] = {
    { "DynamicQuantizeLinear", "x", "q scale zero" },
    { "MatMulInteger", "q w zero", "i" },
    { "Cast to=1", "i", "f" },
    { "Mul", "scale ws", "scales" },
    { "Mul", "f scales", "p" },
    { "Add", "p b:6", "y" },
};
static const Change quantized_changes[] = {
    { "the scale of something else", 3, { "Mul", "ws ws", "scales" }, NULL },
    { "another zero point", 1, { "MatMulInteger", "q w z8", "i" }, NULL },
    { "by way of doubles", 2, { "Cast to=11", "i", "wide" }, NULL, { "Cast to=1", "wide", "f" } },
    { "a scale for every column", 3, { "Mul", "scale scales6", "scales" }, "Gather LinearQ" },
    { "unsigned, a zero point for every column",
      1,
      { "MatMulInteger", "q whole zero zeros6", "i" },
      "Gather LinearQ" },
    { "unsigned without a zero point",
      1,
      { "MatMulInteger", "q whole zero", "i" },
      "Gather LinearQ" },
    { "a scale for every token",
      3,
      { "Mul", "scale live", "scales" },
      NULL,
      { "ReduceMax keepdims=1 axes=2,", "x", "live" } },
    { "a second reader of the product", 6, { "Neg", "p", "z" }, "Gather LinearQ Add Neg" },
    { "a bias of one number", 5, { "Add", "p b:1", "y" }, "Gather LinearQ Add" },
};

/* Bytes, signed and not, and what goes with them: one number, or one for every column. */
static void add_bytes(GraphCase *c)
{
    double weight[48], whole[48], scale[6], zeros[6], eight = 8;
    for (int i = 0; i < 48; i++) weight[i] = i * 37 % 200 - 100, whole[i] = weight[i] + 110;
    for (int i = 0; i < 6; i++) scale[i] = 0.01 + i * 0.002, zeros[i] = 105 + i * 3;
    constant(c, "w", T_I8, "8x6", weight), constant(c, "whole", T_U8, "8x6", whole);
    constant(c, "ws", T_F32, "1", scale), constant(c, "scales6", T_F32, "6", scale);
    constant(c, "zeros6", T_U8, "6", zeros), constant(c, "z8", T_U8, "", &eight);
}

/* Rows are quantized one by one, not all of them by one scale: the answers are near, not equal. */
static void try_quantized(const Change *change, const char *wanted)
{
    GraphCase c;
    Graph *g;
    case_begin(&c, 17);
    tokens(&c, 8);
    add_bytes(&c);
    for (size_t i = 0; i < COUNT(quantized); i++) {
        const Row *r = change && change->at == (int)i ? &change->row : &quantized[i];
        node(&c, r->op, r->in, r->out);
    }
    if (change && change->more.op) node(&c, change->more.op, change->more.in, change->more.out);
    output(&c, "y");
    if (change && change->at == (int)COUNT(quantized))
        node(&c, change->row.op, change->row.in, change->row.out), output(&c, change->row.out);
    if (!CHECK(case_becomes(&c, PASSES(pass_quantized), wanted, 0.05, &g)) && change)
        printf("  %s\n", change->what);
    arena_free(&c.arena);
}

static void test_quantized(void)
{
    TEST("quantized");
    try_quantized(NULL, "Gather LinearQ");
    for (size_t i = 0; i < COUNT(quantized_changes); i++)
        try_quantized(&quantized_changes[i], quantized_changes[i].wanted);
}

/* ---- a table of bytes ---- */
static void try_lookup(const char *gather, const char *dequantize, const char *in,
                       const char *wanted)
{
    GraphCase c;
    double table[64], one = 0.02, eight[8] = { .1, .2, .3, .4, .5, .6, .7, .8 }, three = 3;
    for (int i = 0; i < 64; i++) table[i] = i * 29 % 256;
    case_begin(&c, 17);
    tokens(&c, 8);
    constant(&c, "bytes", T_U8, "8x8", table);
    constant(&c, "one", T_F32, "", &one), constant(&c, "eight", T_F32, "8", eight);
    constant(&c, "three", T_U8, "", &three);
    node(&c, gather, "bytes attention_mask", "rows");
    node(&c, dequantize, in, "y");
    output(&c, "y");
    CHECK(becomes(&c, pass_quantized, wanted));
    arena_free(&c.arena);
}

static void test_lookup(void)
{
    TEST("lookup");
    try_lookup("Gather", "DequantizeLinear", "rows one three", "Lookup");
    try_lookup("Gather", "DequantizeLinear", "rows one", "Lookup");
    try_lookup("Gather axis=1", "DequantizeLinear", "rows one three", "Gather DequantizeLinear");
    try_lookup("Gather", "DequantizeLinear axis=2", "rows eight", "Gather DequantizeLinear");
}

/* ---- pass_embed ---- */
static const Row embed[] = {
    { "Shape", "input_ids", "dims" },
    { "Gather", "dims 1", "length" },
    { "Range", "0 length 1", "range" },
    { "Add", "range 0", "at" },
    { "Gather", "places:40x8 at", "positions" },
    { "Gather", "kinds:2x8 attention_mask", "segments" },
    { "Add", "x segments", "two" },
    { "Add", "two positions", "three" },
    { "LayerNormalization", "three gamma:8 beta:8", "y" },
};
#define NOT_EMBED "Gather Shape Gather Range Add Gather Gather Add Add LayerNorm"
static const Change embed_changes[] = {
    { "positions first", 7, { "Add", "positions two", "three" }, "Embed" },
    { "from row 2 on", 3, { "Add", "range 2", "at" }, "Embed" },
    { "backwards", 2, { "Range", "length 0 -1", "range" }, NOT_EMBED },
    { "every second row", 3, { "Add", "range range", "at" }, NOT_EMBED },
    { "rows by a number of the input",
      4,
      { "Gather", "places:40x8 attention_mask", "positions" },
      "Embed" },
    { "all positions alike",
      4,
      { "Gather", "places:40x8 [3]", "positions" },
      "Gather Gather Gather Add Add LayerNorm" },
    { "segments taken away",
      6,
      { "Sub", "x segments", "two" },
      "Gather Shape Gather Range Add Gather Gather Sub Add LayerNorm" },
    { "a second reader of the words", 9, { "Neg", "x", "z" }, NOT_EMBED " Neg" },
    { "a second reader of the sum", 9, { "Neg", "three", "z" }, NOT_EMBED " Neg" },
};

/* The length asked of the words' rows: it is that of the ids, so the rows have one reader less. Their
 * width is not. */
static const Change asked[] = {
    { "the length of the rows", 0, { "Shape", "x", "dims" }, "Embed" },
    { "from the end", 1, { "Gather", "dims -1", "length" }, "Embed" },
};
static const Change asked_width[] = {
    { "the width of the rows, too",
      9,
      { "Gather", "dims 2", "z" },
      "Gather Shape Gather Range Add Gather Gather Add Add LayerNorm Gather" },
};

static void test_embed(void)
{
    TEST("embed");
    try_pattern(PASSES(pass_norm, pass_embed), 17, 8, embed, COUNT(embed), "Embed", asked,
                COUNT(asked));
    Row by_rows[COUNT(embed)];
    memcpy(by_rows, embed, sizeof embed);
    by_rows[0] = asked[0].row;
    try_pattern(PASSES(pass_norm, pass_embed), 17, 8, by_rows, COUNT(embed), "Embed", asked_width,
                COUNT(asked_width));
    try_pattern(PASSES(pass_norm, pass_embed), 17, 8, embed, COUNT(embed), "Embed", embed_changes,
                COUNT(embed_changes));
}

/* ---- pass_pack ---- */
/* Products of one weight share its panels; a table that is also a weight is stored once. */
static void test_pack(Precision precision, double within)
{
    GraphCase c;
    Graph *g, *plain;
    TEST(precision_name(precision));
    case_begin(&c, 17);
    tokens(&c, 40);
    node(&c, "MatMul", "x w:40x40", "a");
    node(&c, "MatMul", "a w", "b");
    node(&c, "Transpose perm=1,0", "words", "turned");
    node(&c, "MatMul", "b turned", "y");
    output(&c, "y");
    bool ok = CHECK(case_open(&c, &plain) && case_open(&c, &g));
    if (ok) g->precision = precision;
    ok = ok && CHECK(pass_fold(g, &c.err) && pass_linear(g, &c.err) && pass_pack(g, &c.err));
    const char *wanted = precision == PRECISION_INT8 ? "Lookup LinearQ LinearQ Linear"
                                                     : "Lookup Linear Linear Linear";
    if (ok && !CHECK(strcmp(case_ops(&c, g), wanted) == 0)) printf("  found %s\n", case_ops(&c, g));
    if (ok) CHECK(g->node[g->n_node - 1]->in[1] != g->node[g->n_node - 2]->in[1]);
    int shared = -1, panels = 0;
    for (int i = 0; ok && i < g->n_node; i++) {
        if (!g->node[i]->op || g->node[i]->op->token != TOKEN_MATMUL) continue;
        panels += g->node[i]->in[1] != shared;
        shared = g->node[i]->in[1];
    }
    CHECK(panels == 2);
    double d = ok ? case_difference(&c, plain, g) : INFINITY;
    if (!CHECK(d <= within)) printf("  difference %g\n", d);
    arena_free(&c.arena);
}

int main(void)
{
    test_norm();
    test_two_norms();
    test_gelu();
    test_gelu_of("Cast to=11", T_F64);
    test_gelu_of("Cast to=10", T_F16);
    test_gelu_rank();
    test_gated();
    test_linear();
    test_linear_others();
    test_quantized();
    test_lookup();
    test_embed();
    test_pack(PRECISION_FP32, 1e-5);
    test_pack(PRECISION_BF16, 0.5);
    test_pack(PRECISION_INT8, 2);
    return finish();
}
