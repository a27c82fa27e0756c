/* SPDX-License-Identifier: Apache-2.0
 * plan.h - a graph scheduled for one size: steps in order, every tensor at its offset in one block. */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H
#include "engine/engine.h"

typedef enum { GROWS_NOT, GROWS_ROWS, GROWS_TOKENS, GROWS_OTHERWISE } Grows;
typedef struct PlanSlot { /* a tensor of a plan */
    Tensor t;         /* data: fixed when known; else block + offset, set when a run begins */
    Grows grows;      /* with the batch: dim 0 is B, or dim 1 is T, or something else of it */
    bool shaped;      /* known, but made from shapes: of B it may say anything */
    size_t bytes, offset;
    int first, last; /* steps between which it lives; first -1: not in the block */
    int as;          /* an earlier slot whose memory it has; -1: none */
} PlanSlot;

typedef enum {
    STEP_OP, STEP_SPREAD, STEP_PAD, STEP_UNPAD, STEP_REPEAT, /* copies */
    STEP_FIRST, STEP_SUM, STEP_MAX, STEP_NAMED               /* one vector of a row's tokens */
} PlanStepKind;
typedef struct PlanStep {
    PlanStepKind kind;
    const GraphNode *node; /* NULL: a copy */
    const Tensor **in;     /* into slots */
    Tensor *out;           /* [n_out], copied from slots when a run begins */
    int *slot;             /* [n_out]: -1: nobody wants it */
    int low_in, low_out;   /* slots of rows of bf16 (ops.h); -1: none */
    int n_in, n_out;
} PlanStep;

typedef struct Size { /* what a plan is made for */
    int64_t B, S, T;  /* T = B * S when padded */
    bool ragged;
    const Tensor *const *own; /* [graph inputs]: what each row brings (own.c); NULL: nothing */
} Size;

typedef struct Plan {
    Arena arena;
    Size size;          /* of the run */
    int64_t room_B, room_T; /* there is memory for; */
    bool elastic;       /* and any B and T up to these have the same steps (plan_fit) */
    PlanSlot *slot;
    PlanStep *step;
    int n_slot, n_step;
    int *input; /* [graph inputs]: slot, or -1: not read */
    int *output; /* [n_output]: slot */
    Form *output_form; /* [n_output] */
    int n_output;
    size_t block;  /* bytes */
    bool far;      /* OpCall */
    bool dynamic;  /* no steps: shapes depend on data */
    uint64_t used; /* for least-recently-used eviction */
} Plan;

static inline bool step_multiplies(const PlanStep *s) /* input 1 is a weight */
{
    return s->kind == STEP_OP && s->node->op->token == TOKEN_MATMUL && s->n_in > 1;
}

struct Engine {
    const Graph *graph;
    int *output;      /* [n_output]: values, those of states behind the wanted ones */
    int *output_axis; /* [n_output]: that counts rows; 0 but for states */
    int n_output;
    bool own;         /* rows bring inputs */
    EngineState *state; /* [n_state] */
    int n_state;
    Symbols symbols;
    Layout layout;
    bool mixes_rows;
    bool may_mix_vectors; /* ragged, but behind the rows' vectors: tried out before rows run together */
    int64_t fixed_B, fixed_S; /* 0: any */
    int64_t *plain_up_to; /* the longest row whose mask was probed, by any runner; atomic */
};

/* From an elastic plan to one for so many rows and tokens, as many as it has room for at most. */
void plan_fit(Plan *, int64_t B, int64_t T);

/* The most multiply-adds that a run may cost: a large encoder takes 2^28 of them a token. */
static inline double work_for(int64_t tokens)
{
    return 0x1p32 * (double)(tokens + 3);
}

int64_t size_tokens(const Graph *, const Size *); /* of a batch, those of what rows bring included */

/* Multiply-adds of an attention node, whose heads have so many columns together, on a row (work.c). */
double attention_work(const Graph *, const GraphNode *, double columns, int64_t length);

typedef struct EngineRows { /* the rows of one run */
    const Batch *batch;
    const int *row; /* [n]: row numbers in the batch */
    int n;
    const Tensor *const *own; /* [batch->B][graph inputs], or NULL */
} EngineRows;

/* own.c: what rows bring. out: [B][graph inputs], NULL for inputs that are made of tokens. */
bool own_of_rows(const Engine *, Arena *, const Batch *, const Tensor *const **out, Err *);
int own_order(const Graph *, const Tensor *const *a, const Tensor *const *b); /* 0: one run takes both */
const Tensor *const *own_shapes(const Graph *, Arena *, const Tensor *const *own);
/* Type and dims of graph input i at that size, whoever gives it. */
bool own_bind(const Engine *, Arena *, const Size *, int i, Tensor *, Err *);
void own_fill(const EngineRows *, const Graph *, int i, Tensor *);
/* The rows of output k, copied. */
bool own_read(const Engine *, Arena *, int k, const Tensor *, const Size *, const EngineRows *,
              RowOutput *out, Err *);

/* explain.c: a plan that was made, in words; its steps' outputs are bound. */
void plan_explain(const Engine *, const Plan *, Arena *, Explained *);

/* In the arena of the plan that was there before, whose memory it takes; on failure that is freed. */
bool plan_make(const Engine *, Size, Plan *, Err *);

#endif
