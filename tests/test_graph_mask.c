/* SPDX-License-Identifier: Apache-2.0
 * test_graph_mask.c - what the masks of an attention are found to be, and up to which length. */
#include "attention_case.h"

typedef struct Masking {
    const char *what;
    MaskKind kind;
    int64_t window;
    bool biased, ragged;
    Edit edit[EDITS];
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

static int64_t mask_up_to(GraphCase *c, const Graph *g, int64_t known, int64_t S)
{
    Symbols s;
    return CHECK(graph_symbols(g, &c->arena, &s, &c->err)) ? graph_mask_up_to(g, &s, known, S) : -1;
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
    int64_t known = g->mask.up_to;
    CHECK(mask_up_to(&c, g, known, 550) == 550 && mask_up_to(&c, g, known, 700) < 700);
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
        int64_t known = g->mask.up_to;
        CHECK(mask_up_to(&c, g, known, 640) == 640); /* not more than is asked for, the first time */
        CHECK(mask_up_to(&c, g, 640, 641) == 1280 && mask_up_to(&c, g, 640, 600) == 640);
        if (!CHECK(g->mask.up_to < 8192 && graph_mask_proved(g) == 8192))
            printf("  %s: up to %d\n", ways[i].what, (int)graph_mask_proved(g));
        arena_free(&c.arena);
    }
}

/* Numbers by distance that have not come to their end where a graph is first probed are kept as far as
 * they can be followed; others are not, which costs less. */
static void test_goes_on(void)
{
    static const Masking ways[] = {
        { .what = "a slope",
          .edit = { { MASK, { "Mul", "dead -1e9", "padding" } },
                    { Y + 1, { "Mul", "metres -0.25", "slope" } },
                    { Y + 2, { "Add", "padding slope", "mask" } } } },
        { .what = "a slope that ends",
          .edit = { { MASK, { "Mul", "dead -1e9", "padding" } },
                    { Y + 1, { "Min", "metres 100.0", "near" } },
                    { Y + 2, { "Mul", "near -0.25", "slope" } },
                    { Y + 3, { "Add", "padding slope", "mask" } } } },
        { .what = "a slope that ends beyond the first probe",
          .edit = { { MASK, { "Mul", "dead -1e9", "padding" } },
                    { Y + 1, { "Min", "metres 3000.0", "near" } },
                    { Y + 2, { "Mul", "near -0.25", "slope" } },
                    { Y + 3, { "Add", "padding slope", "mask" } } } },
    };
    GraphCase c;
    Graph *g;
    TEST("goes on");
    for (size_t i = 0; i < COUNT(ways); i++) {
        build_masking(&c, &ways[i]);
        CHECK(case_open(&c, &g) && pass_fold(g, &c.err) && pass_attention(g, &c.err) &&
              pass_mask(g, &c.err) && count_attention(g) == 1);
        const bool ends = i == 1;
        if (!CHECK(g->mask.kind == MASK_PLAIN && (g->mask.up_to == 8192) == !ends && graph_mask_proved(g) == 8192))
            printf("  %s: up to %d\n", ways[i].what, (int)g->mask.up_to);
        arena_free(&c.arena);
    }
}

int main(void)
{
    test_goes_on();
    test_mask();
    test_wide_window();
    test_proved_far();
    return finish();
}
