/* SPDX-License-Identifier: Apache-2.0
 * texts.h - a few texts through a model, at once: for tools that look at the answers. */
#ifndef API_TEXTS_H
#define API_TEXTS_H
#include "dialect/job.h"

typedef struct Texts {
    const Model *model;
    const Str *text;        /* [n] */
    size_t n;
    bool samples;           /* what else the model's items need is made of the texts */
    Job *job;               /* the answers; NULL before texts_run */
} Texts;
bool texts_run(Texts *, Err *);       /* empty texts are an empty answer, not an error */
const Value *texts_result(const Texts *, size_t); /* of `results`; NULL: the text was empty */
/* The row's numbers [tokens, width]; NULL: the text was empty. */
const float *texts_row(const Texts *, size_t, int64_t *tokens, int64_t *width);
void texts_close(Texts *);

#endif
