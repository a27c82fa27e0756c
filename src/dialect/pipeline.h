/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h - a call of a pipeline of transformers: {task?, inputs, parameters?} in, what the pipeline
 * returns out. For `run`, ef_run and `POST /` with a task. A pipeline is a row of pipeline.c. */
#ifndef DIALECT_PIPELINE_H
#define DIALECT_PIPELINE_H
#include "dialect/dialect.h"

typedef struct Pipeline Pipeline;
extern const JobKind kind_pipeline;

/* The pipeline of that name (any name of a task); empty: the model's own, by what the call has. NULL, an error: the
 * model cannot do it. */
const Pipeline *pipeline_of(const Site *, Str task, const Value *call, Err *);
const char *pipeline_name(const Pipeline *);
const Field *pipeline_parameters(const Site *, const Pipeline *); /* what a call may say, beside its inputs */
/* Of the parameters' keys, whether it belongs to the inputs: "text_pair", "question". */
bool pipeline_is_input(const Site *, Str key);
/* False: a key that is neither, with the nearest that is. */
bool pipeline_key_known(const Site *, const Pipeline *, Str key, Err *);
/* The names of all pipelines, with commas. */
void pipeline_list(Buf *);
/* An item as `inputs` has it: one value by itself, several as an object. */
Value pipeline_input(Arena *, const ItemForm *, const Item *);

/* "sport, politics" as a list of its parts. */
Value pipeline_split(Arena *, Str);

#endif
