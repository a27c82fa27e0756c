/* SPDX-License-Identifier: Apache-2.0
 * session.h - requests on their way through one model. Two crossings: a bounded queue in, a
 * callback back; the model is immutable.
 *
 *   any thread   session_submit: the job enters the queue, or EF_OVERLOADED / EF_UNAVAILABLE
 *   admission    JSON -> Value, schema, texts -> encodings (job->arena): the queue knows tokens
 *   runner       takes waiting jobs up to the token budget, runs them as one batch, finishes each;
 *                a job over the budget runs in pieces, at the end of the queue in between
 *   runner       job->done(job): reply or error is there
 *
 * session_run does the admission on the caller's own thread, so many callers tokenize at once. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "session/model.h"

typedef struct Session Session;
typedef struct Job Job;
struct Job {
    Arena arena;                 /* the request's; everything below lives there */
    /* in: a JSON body, or texts given directly (body.p NULL) */
    Str body;
    Str *first, *second;         /* [n]; second NULL: no pairs. second[i].p NULL: not a pair */
    size_t n;
    TaskOptions options;         /* texts only; a body brings its own */
    bool no_json;                /* the reply is enough: json stays empty */
    void (*done)(Job *);         /* called once, on the runner's or admission's thread */
    void *context;               /* the caller's */
    /* out */
    Err err;                     /* code EF_OK: reply is there */
    Value reply;                 /* as /predict answers */
    Buf json;                    /* its text; freed by job_free */
    float *const *row_data;      /* [n]: each row's output, for ef_reply_tensor */
    int64_t *row_tokens, *row_width;
    /* session's own */
    Job *next;
    Encoding *encoding;          /* [n] */
    const Value *metadata;
    int64_t tokens;              /* of all rows */
    size_t at;                   /* rows before this one have been run */
    int64_t left;                /* tokens of the other rows */
    size_t stored;               /* bytes of row_data */
    float **rows;                /* row_data, while it is being filled */
    float **scores;              /* [n]: by the package's script; NULL: none */
    Arena *extra;                /* [n_extra]: of the workers that finished parts of it */
    int n_extra;
    bool abandoned;              /* by job_abandon */
};

typedef struct SessionOptions {  /* zero: the default */
    int threads;                 /* of the pool; default cpu_count() */
    int queue_jobs;              /* most jobs waiting; default 1024 */
    int64_t batch_tokens;        /* most tokens of one run; default 8192 */
    size_t max_inputs;           /* of one request; default 4096 */
    size_t max_output;           /* bytes of numbers of one request; default 512 MiB */
} SessionOptions;

Session *session_new(const Model *, const SessionOptions *); /* NULL: no thread could be started */
bool session_submit(Session *, Job *, Err *); /* false: the job is still the caller's */
void session_run(Session *, Job *);           /* submit and wait: for infer and ef_predict */
void session_drain(Session *);                /* refuse new jobs, finish the waiting ones */
void session_free(Session *);                 /* drains first */
const Model *session_model(const Session *);
/* "ner (token_classification, fp32, avx2, 4 threads)" */
void session_describe(const Session *, Buf *);
Job *job_new(void);
void job_abandon(Job *);                      /* its client has gone: skip it, but call done */
void job_free(Job *);                         /* NULL is fine; never while it is in the session */

#endif
