/* SPDX-License-Identifier: Apache-2.0
 * head.h - from the vectors of a text's tokens to one vector of the text, as the modules of
 * sentence-transformers do it: pooling (one way, or several joined), then dense layers and
 * normalizing in their order. A head is a property of the opened model: it comes from
 * the folder's modules.json or from the package; the default is the mean. */
#ifndef TASK_HEAD_H
#define TASK_HEAD_H
#include "data/value.h"
#include "kernels/kernels.h"
#include "task/pooling.h"

enum { HEAD_STEPS = 16, HEAD_MOST_WIDTH = 1 << 20 };
typedef struct HeadStep {
    int64_t in, out;
    const float *weight;         /* panels of a dense layer; NULL: this step is Normalize */
    const float *bias;           /* [out rounded up to 16], or NULL */
    Act act;
    const char *file;            /* that says so, for messages: "2_Dense/config.json"; NULL: packed */
} HeadStep;
struct VectorHead {
    bool way[POOL_WAYS];         /* those that are joined; POOL_OWN is not used */
    bool without_prompt;         /* include_prompt: false */
    bool assumed;                /* the model does not say how to pool */
    HeadStep step[HEAD_STEPS];
    int n;
};

typedef struct HeadRow {         /* what a head is applied to */
    const float *data;           /* [tokens, width] */
    int64_t tokens, width;
    int64_t prompt;              /* tokens of the prompt, at the front */
    TaskPooling pooling;         /* instead of the head's own ways */
    TaskNormalize normalize;     /* NORMALIZE_NO: leave a final Normalize out */
} HeadRow;

/* The words of a request's and the YAML's `pooling`, in the order of TaskPooling. */
extern const char *const head_pooling_words[];
extern const TaskPooling head_order[POOL_WAYS - 1]; /* in which several ways are joined */
bool head_pooling_find(Str word, TaskPooling *); /* sentence-transformers' and TEI's names too */
const char *head_pooling_name(TaskPooling);      /* as sentence-transformers spells it */
bool head_act_find(Str name, Act *);
const char *head_act_name(Act);                  /* "tanh"; ACT_NONE: "identity" */

/* Width of the vector that head_apply writes; 0: a dense layer takes another width than it would get.
 * head NULL: as wide as a token's vector. */
int64_t head_width(const VectorHead *, TaskPooling, int64_t width);
/* False, with an error that names the module, where that width is 0 with the head's own pooling. */
bool head_fits(const VectorHead *, int64_t width, Err *);
void head_apply(const VectorHead *, const HeadRow *, float *out); /* head NULL: the mean */
void head_to_length_one(float *x, int64_t n);    /* zeros stay zeros */
bool head_normalizes(const VectorHead *);              /* its last step is Normalize */
void head_ways(const VectorHead *, Buf *);             /* "mean", "cls+max" */
/* "pooling: cls+mean without the prompt, dense 32 to 16 (tanh), normalized, " and the like. */
void head_describe(const VectorHead *, Buf *);

/* head_store.c: as a package keeps it: JSON, and the weights of dense layers behind one another. */
Value head_store(Arena *, const VectorHead *);
uint64_t head_bytes(int64_t in, int64_t out, uint64_t *bias); /* of a dense layer; bias: its place */
bool head_load(Arena *, const Value *, Str weights, VectorHead **, Err *);

#endif
