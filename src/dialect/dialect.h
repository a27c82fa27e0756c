/* SPDX-License-Identifier: Apache-2.0
 * dialect.h - the bodies and replies of each family of clients. A family is a row (family.h) and
 * one file, or several that begin with its name:
 *
 *   own.c, predict.c   our own, which clients of the Rust encoderfile know
 *   tei.c, tei_*.c     text-embeddings-inference
 *   hub.c              `POST /`, whose meaning is the model's task, for huggingface_hub
 *   pipeline.c         the same with the results of transformers' pipelines: `run`, ef_run, bodies with a task
 *   openai.c           OpenAI's embeddings and list of models
 *   explore.c          what the explorer of the page shows
 *   rerank.c           Cohere, Jina and others; and TEI's /rerank, told apart by the body
 *
 * What they share: job.c and reply.c (a request on its way through the session), parts.c, error.c. */
#ifndef DIALECT_DIALECT_H
#define DIALECT_DIALECT_H
#include "dialect/job.h"

typedef struct Family Family;    /* family.h */
typedef struct Route Route;

typedef struct Site Site;
typedef struct SiteReport SiteReport; /* explore.c */
struct Site {                    /* what dialects and descriptions know of a model in service */
    const Session *session;
    Str model_id;
    const Task *task;
    const ItemForm *items;       /* how `inputs` are written */
    const ModelConfig *config;
    size_t max_inputs;           /* of a request */
    size_t vocabulary;           /* ids are below this */
    int max_length;              /* tokens of a text; 0: no limit */
    const char *precision, *isa; /* "fp32", "avx2": what it computes with */
    const char *pooling;         /* "mean", "cls+max", "graph", "script"; NULL: no vectors */
    const char *head;            /* the same in a sentence, for a log; "": nothing to say */
    double load_seconds;         /* that opening took, */
    size_t load_bytes;           /*   and the bytes of its files */
    const Value *prompts;        /* {name: text to put before texts}; NULL: none */
    const Str *sample;           /* [samples]: texts to try it with */
    size_t samples;
    int64_t started;             /* Unix time; 0: no server */
    const Route *route;          /* [routes]: of the server */
    size_t routes;
    SiteReport *report;          /* what the explorer shows, once it was asked for */
    Arena arena;                 /* of the above */
};

struct JobKind {
    const char *name;            /* for traces */
    const Family *family;        /* whose form its errors have; */
    const Family *other;         /* (optional) a body may turn out to be of this one instead */
    WorkKeep keep;
    bool uncut;                  /* texts are not truncated */
    bool slow;                   /* `read` takes long, however short the body */
    bool files;                  /* of models that see or hear: a body may be a file, or a form with files */
    size_t values;               /* that a body may have beside its texts, such as token ids */
    bool (*read)(const Session *, Job *, const Value *request); /* on failure job->err */
    /* The reply: `finish` makes all of it; or `item` makes each result (several workers at once) and
     * `frame` what stands around them, the results being its first list. A kind with neither chooses
     * another kind in `read`, by the body. */
    Value (*finish)(const Session *, Job *);
    /* (optional) writes as JSON what `finish` would give, without building a tree, which may be large */
    void (*write)(const Session *, Job *, Buf *out);
    void (*item)(const Session *, const Job *, Arena *, size_t item, Value *out);
    Value (*frame)(const Session *, Job *, Value *results, size_t n);
    Columns (*columns)(const Session *, Job *); /* (optional) the rows of job->in.table */
    /* Models that have it: those that can do any of these (0: all). For OpenAPI, the JSON Schemas of
     * body and reply. */
    TaskCan needs;
    Value (*request)(Arena *, const Site *);
    Value (*reply)(Arena *, const Site *);
};
const JobKind *kind_of(const Job *);
/* POST /predict: kind_predict is ours alone, kind_tei_predict TEI's; kind_predict_any chooses by
 * the body. */
extern const JobKind kind_predict, kind_predict_any, kind_predict_files;
extern const JobKind kind_tei_embed, kind_tei_embed_all, kind_tei_sparse, kind_tei_similarity;
extern const JobKind kind_tei_tokenize, kind_tei_decode, kind_tei_predict,
    kind_tei_rerank;
extern const JobKind kind_openai_embed, kind_rerank_any, kind_rerank_documents, kind_hub,
    kind_explore;

SiteReport *site_report_new(Arena *);
void site_report_free(SiteReport *);
bool site_can(const Site *, TaskCan any); /* any of these; 0: always true */
const char *site_wanted(TaskCan any);     /* for messages: "a sequence classifier" */
const Site *site_of(const Session *);     /* of a session made by job_session; lives as long as it */
/* files.c: a body of that type as the request that JSON would be. */
bool files_request(Session *, Job *, Value *request, Err *);
bool files_type(Str content_type);        /* a picture, a sound, a form or bytes without a type */
/* {"images": [{"image_bytes": [255, ...]}]} as {"inputs": [bytes]}; another request stays as it is. */
bool files_of_numbers(Arena *, const Value **request, Err *);
bool job_open(Session *, Work *);         /* job.c: a body becomes items (SessionSteps.open) */
/* reply.c: jobs whose rows have all been run get their replies (SessionSteps.finish). */
void jobs_finish(Session *, Pool *, Work **, int n);

#endif
