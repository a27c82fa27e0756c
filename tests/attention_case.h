/* SPDX-License-Identifier: Apache-2.0
 * attention_case.h - attention of two heads of 4 as exporters write it, row by row, and the same with a few rows
 * changed: for the tests of what finds it and of what its masks are. */
#ifndef ATTENTION_CASE_H
#define ATTENTION_CASE_H
#include "graph_case.h"

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

enum { EDITS = 16 };
typedef struct Edit {
    int at; /* beyond Y: one more row */
    Row row;
} Edit;
typedef struct Variant {
    const char *what;
    bool found;
    Edit edit[EDITS]; /* as many as have a row */
} Variant;

static inline void add_rows(GraphCase *c, const Variant *v)
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

static inline void begin(GraphCase *c)
{
    case_begin(c, 17);
    tokens(c, 8);
    node(c, "Shape", "input_ids", "shape");
    node(c, "Slice", "shape [0] [1]", "rows"), node(c, "Slice", "shape [1] [2]", "length");
}

static inline void build(GraphCase *c, const Variant *v)
{
    begin(c);
    add_rows(c, v);
}

static inline int count_attention(const Graph *g)
{
    int n = 0;
    for (int i = 0; i < g->n_node; i++) n += graph_attends(g->node[i]);
    return n;
}

#endif
