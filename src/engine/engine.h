/* SPDX-License-Identifier: Apache-2.0
 * engine.h - a graph made ready to run on batches of token rows.
 *
 * An Engine is immutable after engine_new; a Runner holds what one thread needs to run it (plan cache,
 * activation block). Rows of a batch never influence each other: a plan proved ragged runs them
 * together, otherwise rows of equal length run together, otherwise one by one; graphs that mix rows
 * (a foreign DynamicQuantizeLinear) run one by one. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H
#include "graph/graph.h"

typedef struct Engine Engine;
typedef struct Runner Runner;

typedef struct Batch { /* ragged: row r is tokens start[r] .. start[r+1]-1 */
    int B;
    const int32_t *start;    /* [B + 1] */
    const int32_t *ids;      /* [T] */
    const int32_t *type_ids; /* [T], or NULL: zeros */
} Batch;
typedef struct RowOutput { /* of one row: view into the runner, valid until its next run */
    const float *data;     /* [tokens, width] */
    int64_t tokens, width; /* tokens = the row's length, or 1 for one vector a row */
} RowOutput;

/* The graph's inputs are bound by name: input_ids, and where the graph has them attention_mask,
 * token_type_ids, position_ids; int32 or int64. Any other input is an error that names it.
 * output: the name to return; the graph keeps only what it needs for that. */
bool engine_new(Arena *, Graph *, Str output, Engine **, Err *);
bool engine_ragged(const Engine *, const char **why_not); /* why_not: NULL when ragged */
int64_t engine_static_length(const Engine *); /* 0: any; else the S every row is padded to */

Runner *runner_new(const Engine *, Pool *); /* pool may be NULL */
void runner_free(Runner *);
/* out[B]. Error texts begin "Model inference failed". */
bool runner_run(Runner *, const Batch *, RowOutput *out, Err *);

/* The generic tier: any graph, any inputs by name, ONNX's own semantics, nothing fused or merged. */
typedef struct Named {
    Str name;
    Tensor t;
} Named;
bool engine_run_generic(Graph *, Pool *, const Named *in, size_t n_in, Arena *,
                        Named *out /*[graph outputs]*/, Err *);

#endif
