/* SPDX-License-Identifier: Apache-2.0
 * test_graph_rows.c - attention in graphs whose rows bring tensors of their own: a fixed number of tokens, keys that
 * are other tokens than the queries (DETR, SegFormer), windows of a picture with a mask each (Swin); and what only
 * looks like it. */
#include "graph_case.h"

/* Heads of `from`, [.., tokens, 8], as `to`: [.., 2, tokens, 4], of keys with the last two axes swapped. */
static void heads(GraphCase *c, const char *from, const char *to, int tokens, bool keys)
{
    const char *flat = str_format(&c->arena, "%s_flat", to), *four = str_format(&c->arena, "%s_four", to);
    node(c, "MatMul", str_format(&c->arena, "%s w_%s:8x8", from, to), flat);
    node(c, "Reshape", str_format(&c->arena, "%s [-1,%d,2,4]", flat, tokens), four);
    node(c, keys ? "Transpose perm=0,2,3,1," : "Transpose perm=0,2,1,3,", four, to);
}

static void scores(GraphCase *c, const char *queries, int n, const char *keys, int n_keys)
{
    heads(c, queries, "q", n, false);
    heads(c, keys, "k", n_keys, true);
    heads(c, keys, "v", n_keys, false);
    node(c, "MatMul", "q k", "product");
    node(c, "Mul", "product 0.5", "scores");
}

static void finish_attention(GraphCase *c, const char *from, int n)
{
    node(c, "Softmax axis=-1", from, "weights");
    node(c, "MatMul", "weights v", "seen");
    node(c, "Transpose perm=0,2,1,3,", "seen", "turned");
    node(c, "Reshape", str_format(&c->arena, "turned [-1,%d,8]", n), "y");
    output(c, "y");
}

static void begin(GraphCase *c, const char *dims)
{
    case_begin(c, 17);
    input(c, "pixel_values", T_F32, dims);
    node(c, "Identity", "pixel_values", "x");
}

static void check(GraphCase *c, const char *what, const char *wanted)
{
    if (!CHECK(becomes(c, pass_attention, wanted))) printf("  %s\n", what);
    arena_free(&c->arena);
}

#define PRODUCTS "MatMul MatMul MatMul "

static void test_tokens(void)
{
    TEST("a fixed number of tokens");
    GraphCase c;
    begin(&c, "B 6 8");
    scores(&c, "x", 6, "x", 6);
    finish_attention(&c, "scores", 6);
    check(&c, "plain", "Identity " PRODUCTS "Attention");
    begin(&c, "B 6 8");
    scores(&c, "x", 6, "x", 6);
    node(&c, "Add", "scores bias:1x2x6x6", "sum");
    finish_attention(&c, "sum", 6);
    check(&c, "a bias", "Identity " PRODUCTS "Attention");
    begin(&c, "B 6 8");
    scores(&c, "x", 6, "x", 6);
    node(&c, "Add", "scores bias:6x1", "sum");
    finish_attention(&c, "sum", 6);
    check(&c, "a number for each query", NULL);
    begin(&c, "B 6 8");
    scores(&c, "x", 6, "x", 6);
    finish_attention(&c, "scores", 3);
    check(&c, "rows of half as many tokens", NULL);
    begin(&c, "B 6 8");
    scores(&c, "x", 6, "x", 6);
    node(&c, "Softmax axis=2", "scores", "weights");
    node(&c, "MatMul", "weights v", "seen");
    node(&c, "Transpose perm=0,2,1,3,", "seen", "turned");
    node(&c, "Reshape", "turned [-1,6,8]", "y");
    output(&c, "y");
    check(&c, "softmax over queries", NULL);
}

static void test_others(void)
{
    TEST("keys that are other tokens");
    GraphCase c;
    begin(&c, "B 6 8");
    node(&c, "Slice", "x [0] [4] [1]", "z");
    scores(&c, "x", 6, "z", 4);
    finish_attention(&c, "scores", 6);
    check(&c, "fewer keys", "Identity Slice " PRODUCTS "Attention");
    begin(&c, "B 6 8");
    node(&c, "Slice", "x [0] [2] [1]", "z");
    scores(&c, "z", 2, "x", 6);
    node(&c, "Add", "scores bias:2x6", "sum");
    finish_attention(&c, "sum", 2);
    check(&c, "fewer queries, and a mask", "Identity Slice " PRODUCTS "Attention");
}

/* Scores of windows, with a mask `dims` for each. */
static void windows(GraphCase *c, const char *dims)
{
    begin(c, "B 4 6 8");
    node(c, "Reshape", "x [-1,6,8]", "z");
    scores(c, "z", 6, "z", 6);
    node(c, "Add", "scores bias:1x2x6x6", "biased");
    node(c, "Reshape", "biased [-1,4,2,6,6]", "five");
    node(c, "Add", str_format(&c->arena, "five mask:%s", dims), "masked");
    node(c, "Reshape", "masked [-1,2,6,6]", "sum");
    finish_attention(c, "sum", 6);
}

static void test_windows(void)
{
    TEST("windows of a picture");
    GraphCase c;
    windows(&c, "1x4x1x6x6");
    check(&c, "a mask for each", "Identity Reshape " PRODUCTS "Reshape Add Attention");
    windows(&c, "4x1x6x6");
    check(&c, "the same with four dims", "Identity Reshape " PRODUCTS "Reshape Add Attention");
    windows(&c, "1x4x2x6x6");
    check(&c, "a mask for each head", NULL);
    windows(&c, "1x1x1x6x6");
    check(&c, "one mask", NULL);
}

int main(void)
{
    test_tokens();
    test_others();
    test_windows();
    return finish();
}
