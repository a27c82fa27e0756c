/* SPDX-License-Identifier: Apache-2.0
 * kinds.h - what a job can be asked for: rows. A kind reads a body into texts and builds a reply;
 * everything between (tokens, queue, runs) is the same for all. One file per dialect:
 *
 *   kind_predict.c   our own /predict, which the original's clients know
 *   kind_tei_*.c     text-embeddings-inference: vectors, tokens, labels
 *   kind_openai.c    OpenAI's embeddings
 *   kind_rerank.c    TEI's, and that of Cohere, Jina and others: told apart by the body
 *   kind_hub.c       `POST /`, whose meaning is the model's task, for huggingface_hub */
#ifndef SESSION_KINDS_H
#define SESSION_KINDS_H
#include "session/session.h"

/* Whose errors: ours (with OpenAI's, Cohere's and TEI's flat form in one), or TEI's. */
typedef enum { DIALECT_OWN, DIALECT_TEI } Dialect;

typedef struct Site {            /* what descriptions are made from */
    Str model_id;
    const Task *task;
    const ModelConfig *config;
    size_t max_inputs;           /* of a request */
    size_t vocabulary;           /* ids are below this */
    const Session *session;
    int64_t started;             /* Unix time */
} Site;

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
    /* For OpenAPI: which models have it (NULL: all), and the JSON Schemas of body and reply. */
    bool (*fits)(const Site *);
    Value (*request)(Arena *, const Site *);
    Value (*reply)(Arena *, const Site *);
};
/* kind_predict is ours alone; kind_predict_any may find that a body is TEI's. */
extern const JobKind kind_predict, kind_predict_any;
extern const JobKind kind_tei_embed, kind_tei_embed_all, kind_tei_sparse, kind_tei_similarity;
extern const JobKind kind_tei_tokenize, kind_tei_decode, kind_tei_predict,
    kind_tei_rerank;
extern const JobKind kind_openai_embed, kind_rerank_any, kind_rerank_documents, kind_hub;
const JobKind *kind_of(const Job *);

/* The groups of tasks that dialects know. */
bool site_embeds(const Site *);     /* vectors of texts */
bool site_sparse(const Site *);     /* words of the vocabulary: a masked language model */
bool site_classifies(const Site *); /* labels of a text */
bool site_ranks(const Site *);      /* one label: how well a pair fits */
const char *site_wanted(bool (*fits)(const Site *)); /* one of these, in words */
Site session_site(const Session *);

#endif
