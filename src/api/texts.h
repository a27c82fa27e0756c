/* SPDX-License-Identifier: Apache-2.0
 * texts.h - a few texts through a model, at once: for tools that look at the answers. A task whose
 * items are more than a text takes several of them for each. */
#ifndef API_TEXTS_H
#define API_TEXTS_H
#include "dialect/job.h"

typedef struct Texts {
    const Model *model;
    const Str *text;        /* [n][each] */
    size_t n, each;         /* items; texts of one */
    bool samples;           /* a page is made of a text's words */
    Job *job;               /* the answers; NULL before texts_run */
} Texts;
/* False: the number of texts does not fit the model's task. */
bool texts_open(Texts *, const Model *, const Str *text, size_t n, Err *);
const Str *texts_item(const Texts *, size_t); /* [each] */
bool texts_run(Texts *, Err *);       /* empty texts are an empty answer, not an error */
const Value *texts_result(const Texts *, size_t); /* of `results`; NULL: the text was empty */
/* The row's numbers [tokens, width]; NULL: the text was empty. */
const float *texts_row(const Texts *, size_t, int64_t *tokens, int64_t *width);
void texts_close(Texts *);

#endif
