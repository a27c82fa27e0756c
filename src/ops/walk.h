/* SPDX-License-Identifier: Apache-2.0
 * walk.h - private to src/ops: visiting an output in memory order while up to three inputs are
 * read with strides of their own. Broadcasting, transposing, slicing and tiling are all this,
 * with other strides. Dims that run together in every operand are merged first, so that two
 * equal shapes become one span and adding a row to a matrix becomes spans of a row. */
#ifndef OPS_WALK_H
#define OPS_WALK_H
#include "ops/ops.h"

enum { WALK_IN = 3, WALK_RANK = 2 * MAX_RANK };
typedef struct Walk {
    int rank, n_in;
    int64_t dim[WALK_RANK];
    int64_t step[WALK_IN][WALK_RANK]; /* in elements; 0: broadcast */
    int64_t base[WALK_IN];            /* where the first element is read */
} Walk;
typedef struct WalkSpan {
    int64_t out, n;                   /* elements out .. out + n - 1 */
    int64_t at[WALK_IN], step[WALK_IN];
} WalkSpan;
typedef void WalkSpanFn(const void *context, const WalkSpan *);

Walk walk_over(int rank, const int64_t *dim);
int walk_steps(Walk *, const int64_t *step); /* adds an input by its steps; returns its number */
int walk_broadcast(Walk *, const Tensor *in);    /* adds an input by NumPy's rules */
void walk_run(Walk *, const OpCall *, WalkSpanFn *, const void *context);
/* Span functions that move elements: from input 0 to the output, or from the output's place to the
 * place of input 0. */
typedef struct Move {
    const void *from;
    void *to;
    size_t size;                      /* of an element */
} Move;
void walk_gather(const void *move, const WalkSpan *);
void walk_scatter(const void *move, const WalkSpan *);
void dense_steps(int rank, const int64_t *dim, int64_t *step); /* of a row-major tensor */

#endif
