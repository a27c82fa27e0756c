/* SPDX-License-Identifier: Apache-2.0
 * dialect.h - the bodies and replies of each family of clients, one file a family:
 *
 *   predict.c   our own /predict, which clients of the Rust encoderfile know
 *   tei_*.c     text-embeddings-inference: vectors, tokens, labels
 *   openai.c    OpenAI's embeddings
 *   rerank.c    TEI's, and that of Cohere, Jina and others: told apart by the body
 *   hub.c       `POST /`, whose meaning is the model's task, for huggingface_hub */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H
#include "dialect/job.h"

/* Whose errors: ours (with OpenAI's, Cohere's and TEI's flat form in one), or TEI's. */
typedef enum { DIALECT_OWN, DIALECT_TEI } Dialect;

typedef struct Site Site;
struct Site {                    /* what descriptions are made from */
    Str model_id;
    const Task *task;
    const ItemForm *items;       /* how `inputs` are written */
    const ModelConfig *config;
    size_t max_inputs;           /* of a request */
    size_t vocabulary;           /* ids are below this */
    const Session *session;
    int64_t started;             /* Unix time */
};

struct JobKind {
    const char *name;            /* for traces */
    Dialect dialect;
    WorkKeep keep;
    bool uncut;                  /* texts are not truncated */
    size_t values;               /* that a body may hold beside its texts: token ids */
    bool (*read)(const Session *, Job *, const Value *request); /* on failure job->err */
    /* The reply: whole, or item by item (workers side by side) and what stands around the results,
     * which are its first list. */
    Value (*finish)(const Session *, Job *);
    /* (optional) the JSON of what `finish` gives, without the tree: where it may be large */
    void (*write)(const Session *, Job *, Buf *out);
    void (*item)(const Session *, const Job *, Arena *, size_t item, Value *out);
    Value (*frame)(const Session *, Job *, Value *results, size_t n);
    /* Which models have it: those that can any of these (0: all); for OpenAPI, the JSON Schemas of
     * body and reply. */
    TaskCan needs;
    Value (*request)(Arena *, const Site *);
    Value (*reply)(Arena *, const Site *);
};
const JobKind *kind_of(const Job *);
/* kind_predict is ours alone; kind_predict_any may find that a body is TEI's. */
extern const JobKind kind_predict, kind_predict_any;
extern const JobKind kind_tei_embed, kind_tei_embed_all, kind_tei_sparse, kind_tei_similarity;
extern const JobKind kind_tei_tokenize, kind_tei_decode, kind_tei_predict,
    kind_tei_rerank;
extern const JobKind kind_openai_embed, kind_rerank_any, kind_rerank_documents, kind_hub;

bool site_can(const Site *, TaskCan any); /* any of these, or 0: whatever it can */
const char *site_wanted(TaskCan any);     /* a model that can, in words */
Site session_site(const Session *);
/* reply.c: jobs whose rows have all been run get their replies (SessionSteps.finish). */
void jobs_finish(Session *, Pool *, Work **, int n);

#endif
