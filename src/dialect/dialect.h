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
#include "session/kind.h"

struct Site {                    /* what descriptions are made from */
    Str model_id;
    const Task *task;
    const ModelConfig *config;
    size_t max_inputs;           /* of a request */
    size_t vocabulary;           /* ids are below this */
    const Session *session;
    int64_t started;             /* Unix time */
};

/* kind_predict is ours alone; kind_predict_any may find that a body is TEI's. */
extern const JobKind kind_predict, kind_predict_any;
extern const JobKind kind_tei_embed, kind_tei_embed_all, kind_tei_sparse, kind_tei_similarity;
extern const JobKind kind_tei_tokenize, kind_tei_decode, kind_tei_predict,
    kind_tei_rerank;
extern const JobKind kind_openai_embed, kind_rerank_any, kind_rerank_documents, kind_hub;

bool site_can(const Site *, TaskCan any); /* any of these, or 0: whatever it can */
const char *site_wanted(TaskCan any);     /* a model that can, in words */
Site session_site(const Session *);

#endif
