/* SPDX-License-Identifier: Apache-2.0
 * runner.h - what one thread holds to run an engine, and what its files share: plans and the block of activations
 * (runner.c), single steps (step.c). Batches are run.c, whole tensors whole.c. */
#ifndef ENGINE_RUNNER_H
#define ENGINE_RUNNER_H
#include "plan.h"

enum {
    CACHED_PLANS = 64,
    KEPT_SCRATCH = 64 << 20,
};

typedef enum { APART_UNTRIED, APART_YES, APART_NO } Apart;

struct Runner {
    Arena own; /* the runner itself */
    const Engine *e;
    Pool *pool;
    Plan plan[CACHED_PLANS]; /* used 0: free */
    uint64_t clock;
    bool exact; /* plans of this graph were found not to be elastic */
    Arena block_arena;
    char *block; /* activations of the plan being run */
    size_t block_size;
    Arena scratch;       /* of one step */
    Arena result;        /* outputs of a batch that took several runs */
    Arena dynamic;       /* values of a graph whose shapes depend on data */
    int64_t masked_from; /* rows so long were found to need the mask itself */
    int64_t rows_up_to;  /* probed length of integers made along rows */
    int64_t spread_up_to; /* and of values made from positions */
    Apart apart;         /* whether rows of one length may run together */
    struct StepTimes {   /* (runner_profile) of the plan that ran last; */
        bool wanted;
        const Plan *plan;
        double *seconds; /*   [plan's steps]: the shortest so far */
        Arena arena;
    } times;
    Runner **part;       /* [pool_most], or NULL: none yet; each without a pool */
};

/* A plan for this size, from the cache or made. */
bool runner_plan(Runner *, Size, Plan **, Err *);
/* Room for the plan's activations, at which all its tensors point afterwards. */
bool runner_bind(Runner *, Plan *, Err *);
/* Fills graph input i, whose type, dims and memory are set. */
typedef bool RunnerFill(const void *from, const Graph *, int i, Tensor *, Err *);
/* A graph whose shapes depend on data: its inputs, filled; the caller sets `most`, and graph_infer runs it. */
bool runner_begin_dynamic(Runner *, const Plan *, RunnerFill *, const void *from, Inferred *, Err *);
/* ragged: NULL when padded. */
bool runner_step(Runner *, const Plan *, const PlanStep *, const Ragged *ragged, Err *);

#endif
