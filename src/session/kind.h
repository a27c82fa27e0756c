/* SPDX-License-Identifier: Apache-2.0
 * kind.h - what a job can be asked for, as the session sees it: a kind reads a body into texts and
 * builds a reply; everything between (tokens, queue, runs) is the same for all. The kinds are in
 * dialect/. */
#ifndef SESSION_KIND_H
#define SESSION_KIND_H
#include "session/session.h"

typedef struct Site Site;        /* dialect/dialect.h */

/* Whose errors: ours (with OpenAI's, Cohere's and TEI's flat form in one), or TEI's. */
typedef enum { DIALECT_OWN, DIALECT_TEI } Dialect;

/* What of a row's numbers the kind needs. */
typedef enum {
    KEEP_TASK,                   /* what the task needs */
    KEEP_VECTOR,                 /* one vector */
    KEEP_TOKENS,                 /* every token's */
    KEEP_NOTHING,                /* the model is not run */
} KindKeep;

struct JobKind {
    const char *name;            /* for traces */
    Dialect dialect;
    KindKeep keep;
    bool uncut;                  /* texts are not truncated */
    size_t values;               /* that a body may hold beside its texts: token ids */
    bool (*read)(const Session *, Job *, const Value *request); /* on failure job->err */
    /* The reply: whole, or row by row (workers side by side) and what stands around the rows, whose
     * text up to them is `opening`. */
    Value (*finish)(const Session *, Job *);
    /* (optional) the JSON of what `finish` gives, without the tree: where it may be large */
    void (*write)(const Session *, Job *, Buf *out);
    void (*row)(const Session *, const Job *, Arena *, size_t row, Value *out);
    Value (*frame)(const Session *, Job *, Value *rows, size_t n);
    const char *opening;
    /* Which models have it: those that can any of these (0: all); for OpenAPI, the JSON Schemas of
     * body and reply. */
    TaskCan needs;
    Value (*request)(Arena *, const Site *);
    Value (*reply)(Arena *, const Site *);
};
const JobKind *kind_of(const Job *);

#endif
