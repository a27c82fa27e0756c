/* SPDX-License-Identifier: Apache-2.0
 * test_graph_expand.c - what ONNX Runtime's optimizer writes, as operators of ONNX again. */
#include "graph_case.h"

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
    { "FusedMatMul",
      "Gather Transpose MatMul Mul",
      { { "com.microsoft:FusedMatMul alpha=0.5 transB=1", "x x", "y" } } },
    { "FusedMatMul, the other side",
      "Gather Transpose MatMul",
      { { "com.microsoft:FusedMatMul transA=1", "x x", "y" } } },
    { "FusedMatMul with a weight", NULL, { { "com.microsoft:FusedMatMul alpha=0.5", "x w:8x8", "y" } } },
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
    test_expand();
    return finish();
}
