/* SPDX-License-Identifier: Apache-2.0
 * engine.h - a graph made ready to run on batches of rows: of tokens, of tensors that each row brings
 * (pictures, sound), or of both.
 *
 * An Engine is immutable after engine_new; a Runner holds what one thread needs to run it (plan cache,
 * activation block). Rows of a batch never influence each other: a plan proved ragged runs them
 * together, otherwise rows of equal length run together, otherwise one by one; graphs that mix rows
 * (a foreign DynamicQuantizeLinear, a mean over the batch, its size as a number) run one by one:
 * whether they do is tried out before rows are first put together. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H
#include "graph/graph.h"

typedef struct Engine Engine;
typedef struct Runner Runner;

typedef struct Feature { /* a graph input of one row, without the axis that counts rows */
    const char *input;   /* its name: "pixel_values" */
    Tensor t;            /* numbers of another type than the graph's are converted */
} Feature;
typedef struct RowInputs { /* what a row brings beside its tokens */
    const Feature *f;
    int n;
} RowInputs;
typedef struct Batch { /* ragged: row r is tokens start[r] .. start[r+1]-1 */
    int B;
    const int32_t *start;    /* [B + 1]; of rows without tokens: zeros */
    const int32_t *ids;      /* [T] */
    const int32_t *type_ids; /* [T], or NULL: zeros */
    const int32_t *boxes;    /* [T, 4], or NULL: zeros */
    const RowInputs *own;    /* [B], or NULL: nothing but tokens */
} Batch;
enum {
    ROW_RANK = MAX_RANK - 1,
    OWN_TOKEN = 768, /* numbers of a row's own that count as a token: a patch of a picture has 16 x 16 x 3 */
};
typedef struct RowOutput { /* of one row: view into the runner, valid until its next run */
    const float *data;     /* [tokens, width] */
    int64_t tokens, width; /* tokens = the row's length, or 1 for one vector a row; of rows that bring
                            * tensors, width is the last dim and tokens the product of the others */
    int rank;              /* of the output without its rows */
    int64_t dim[ROW_RANK];
} RowOutput;
typedef struct EngineState { /* what a graph carries from row to row of an item */
    const char *input;       /* its name */
    Tensor t;                /* type and dims of one row's; float */
} EngineState;

/* The graph's inputs are bound by their role (graph/inputs.c): tokens, and where the graph has them a mask,
 * types, positions, boxes, int32 or int64; or what rows bring. Any other input is an error that names it.
 * outputs: [n], the names to return; the graph keeps only what it needs for those. */
bool engine_new(Arena *, Graph *, const Str *outputs, int n, Engine **, Err *);
int engine_outputs(const Engine *); /* n of the above */
/* What rows bring as state, besides; runner_run gives the state for the item's next row. */
int engine_states(const Engine *);
const EngineState *engine_state(const Engine *, int);
int64_t engine_state_numbers(const Engine *); /* of all of them; 0: none */
/* What a row brings, and behind it the states, views of these numbers one after another. */
RowInputs engine_with_state(Arena *, const Engine *, RowInputs, float *state);
bool engine_ragged(const Engine *, const char **why_not); /* why_not: NULL when ragged */
int64_t engine_static_length(const Engine *); /* 0: any; else the S every row is padded to */
double engine_work(const Engine *, int64_t length); /* multiply-adds of a row of so many tokens */
/* The same in tokens of a short row: a long one costs more than its tokens, and none less. What a row
 * brings counts by its size. */
int64_t engine_cost(const Engine *, int64_t length, const RowInputs *); /* NULL: tokens alone */

Runner *runner_new(const Engine *, Pool *); /* pool may be NULL */
void runner_free(Runner *);
/* out[B * (outputs + states)]: those of a row one after another. Rows of equal length that bring equal
 * shapes run together. Error texts begin "Model inference failed". */
bool runner_run(Runner *, const Batch *, RowOutput *out, Err *);

/* What runs for B rows of S tokens (explain.c). */
typedef struct ExplainedStep {
    const char *op;     /* the operator, or what is copied: spread, first, pad, unpad, repeat */
    Str name;           /* of its node; empty: a copy */
    const char *type;   /* of what it makes: "float", "int64" */
    const char *layout; /* "ragged", "padded", or "rows": one vector a row */
    const char *kernel; /* NULL: generic, or a copy */
    const char *why;    /* it stayed generic; NULL: it did not */
    size_t weight_bytes, made_bytes;
    double flops;
    double seconds;     /* (runner_profile) the shortest of all runs */
} ExplainedStep;
typedef struct Explained {
    bool ragged, dynamic; /* dynamic: no steps, since shapes depend on data */
    const char *why_not;  /* ragged */
    int64_t B, S;         /* as requested, or as fixed by the graph */
    int nodes, known;     /* after the passes; of those, computed when the plan is made */
    ExplainedStep *step;
    int n;
    size_t block_bytes; /* of all activations, at their offsets */
} Explained;
bool engine_explain(const Engine *, Arena *, int64_t B, int64_t S, Explained *, Err *);
/* Runs the batch (its rows in one run: one row, or all under a ragged plan) once to warm up, then up to `runs`
 * times, but no longer than most_seconds, and explains the plan that ran. *seconds: the shortest run, *done: the
 * timed ones. */
typedef struct Profile {
    int runs;            /* asked for: at least 1 */
    double most_seconds;
    int done;            /* found */
    double seconds;
    Explained plan;      /* steps with their times; dynamic: none */
} Profile;
bool runner_profile(Runner *, const Batch *, Arena *, Profile *, Err *);

typedef struct Named {
    Str name;
    Tensor t;
} Named;
/* Tensors as they are given, padding and its mask included: all rows in one run, outputs as the file has them. What
 * runs is the optimized graph in its padded form, so numbers are those of ONNX up to rounding. Integers and floats
 * of other widths are converted. */
typedef struct WholeRun {
    const Named *in; /* [n_in]: all inputs of the graph; others are not looked at */
    size_t n_in;
    Arena *arena;    /* of the outputs */
} WholeRun;
bool runner_run_whole(Runner *, const WholeRun *, Named *out /*[outputs + states]*/, Err *);

/* The generic tier: any graph, any inputs by name, ONNX's own semantics, nothing fused or merged. */
bool engine_run_generic(Graph *, Pool *, const Named *in, size_t n_in, Arena *,
                        Named *out /*[graph outputs]*/, Err *);

#endif
