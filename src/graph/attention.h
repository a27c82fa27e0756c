/* SPDX-License-Identifier: Apache-2.0
 * attention.h - private to src/graph: what the attention pass knows while it looks around. */
#ifndef GRAPH_ATTENTION_H
#define GRAPH_ATTENTION_H
#include "graph.h"

typedef struct Finder {
    Graph *g;
    Arena *arena; /* scratch of the pass */
    Symbols s;
    const bool *carried; /* [n_value] */
    bool rows;           /* rows bring tensors of their own: tokens are made of those, in a fixed number */
} Finder;

typedef struct Heads { /* queries, keys or values, as heads of a value [B, S, ...] */
    int source;   /* [B, S, columns], or the heads themselves: [B, S, H, D] */
    int64_t at;   /* its first column */
    int64_t H, D;
    int64_t copies; /* of each head, side by side, in what is multiplied */
    double scale;
    int cos, sin; /* -1: not rotated */
} Heads;

/* A dim that counts tokens. In a graph of rows any number may; the dims beside it then follow from the number of
 * elements. */
bool counts_tokens(const Finder *, int64_t dim);
/* value is the source's columns as [B, S, H, D] with axes in the order `wanted`, times constants,
 * perhaps rotated, and each head repeated (heads.c). */
bool heads_match(const Finder *, int value, const int wanted[4], Heads *);
/* Behind Reshapes that only join or part batch and heads: [B, H, x, y] and [B * H, x, y]. */
int heads_through(const Finder *, int value);
/* v = rest times (or divided by) a constant number. */
bool scalar_factor(const Graph *, const GraphNode *, int *rest, double *factor);
/* The node swaps the last two of three or four axes. */
bool swaps_last(const GraphNode *);

#endif
