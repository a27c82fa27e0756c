/* SPDX-License-Identifier: Apache-2.0
 * parts.h - what the kinds share: options that several dialects have, texts and ids, scores in
 * order. Included by this folder's files only. */
#ifndef DIALECT_PARTS_H
#define DIALECT_PARTS_H
#include "dialect/family.h"
#include "model/model.h"

enum { MOST_IDS = 1 << 20 };     /* token ids of a body */

/* Options of every TEI route. null counts as absent only where the row is nullable. */
extern const char *const kind_directions[];
#define KIND_TRUNCATION                                                                           \
    { "truncate", 0, F_BOOL, .nullable = true,                                                    \
      .help = "false: a text that does not fit the model is an error; default: true" },        \
    { "truncation_direction", 0, F_STR, .words = kind_directions,                                 \
      .help = "which end of a long text is cut off; default: right" }
#define KIND_PROMPT                                                                               \
    { "prompt_name", 0, F_STR, .nullable = true,                                                  \
      .help = "of the model's prompts, the one to put before every text" }

void kind_truncation(Job *, const Value *options);
/* Puts the prompt that `options` name in front of every text of the job. */
bool kind_prompt(const Session *, Job *, const Value *options);
bool kind_dimensions(const Session *, Job *, const Value *dimensions); /* NULL or null: all */
bool kind_text(Job *, const char *name, size_t index, Str text);       /* not empty, not too long */
bool kind_count(const Session *, Job *, const char *name, size_t n);   /* not none, not too many */
/* A text, the ids of one text, or a list of both. Ids are decoded, and encoded again without
 * special tokens. */
bool kind_inputs(const Session *, Job *, const char *name, const Value *);
/* A list of token ids, checked; out: where they go, or NULL. */
bool kind_ids(const Session *, Job *, const char *name, const Value *ids, int32_t *out);

/* The row's vector; pooled here if the model's rows are not. */
const float *kind_vector(const Session *, const Job *, Arena *, size_t row);
/* Indices by score, the best first; of equal ones the higher index, as TEI sorts. */
size_t *kind_order(Arena *, const float *scores, size_t n);
bool kind_finite(Job *, const float *scores, size_t n); /* false: an error */

/* The row's scores, or those of the package's script. */
const float *kind_scores(const Session *, const Job *, Arena *, size_t row, TaskScore how);
TaskScore kind_tei_score(const Session *, bool raw);
/* [{"score", "label"}], best first, at most `most`. */
Value kind_labels(const Session *, Arena *, const float *scores, size_t n, size_t most);

Value kind_label_map(Arena *, const Site *); /* {"0": name}; empty: the model has none */

/* ---- JSON Schemas ---- */
#define KIND_ONE_OR_TWO                                                                           \
    "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,"                                          \
    "\"items\":{\"type\":\"string\",\"minLength\":1}}"
Value kind_labels_schema(Arena *);
Value kind_schema(Arena *, const char *json);                  /* for what rows cannot express */
/* The schema of `rows`, with one key's schema replaced. */
Value kind_schema_with(Arena *, const Field *rows, const char *name, Value schema);
void kind_schema_prompt(Arena *, const Site *, Value *schema);   /* its prompt_name: the model's */
/* examples.c: a body of /predict to begin with, as the schema's example; items that are files have none */
void kind_schema_example(Arena *, const Site *, Value *schema);
Value kind_schema_list(Arena *, Value items);
Value kind_schema_any(Arena *, Value one, Value other);
Value kind_inputs_schema(Arena *, const Site *);               /* of kind_inputs */
Value kind_text_schema(Arena *);                               /* a string that is not empty */
void kind_replace(Value *schema, const char *property, Value by);
void kind_narrow(Value *schema, const char *property, const char *key, int64_t value);

#endif
