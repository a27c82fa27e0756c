/* SPDX-License-Identifier: Apache-2.0
 * session.h - requests on their way through one model. Two crossings: a bounded queue in, a
 * callback back; the model is immutable.
 *
 *   any thread   session_submit: the job enters the queue, or EF_OVERLOADED / EF_UNAVAILABLE
 *   admission    JSON or protobuf -> Value, schema, texts -> encodings: the queue knows tokens. A crew of
 *                threads; a long list of texts is cut into slices, so that no request holds it up.
 *                A runner with nothing to run admits small requests itself
 *   runner       one per replica: rows of waiting jobs, fair by tokens, up to the time budget of a
 *                run; then each complete job's reply
 *   runner       job->done(job): reply or error is there
 *
 * session_run does the admission on the caller's own thread, so many callers tokenize at once. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "base/budget.h"
#include "session/meter.h"
#include "model/model.h"

typedef struct Session Session;
typedef struct Job Job;

typedef struct JobKind JobKind;  /* what is asked for: kind.h */

/* A body and its reply in protobuf: the same trees as in JSON, by these rows (data/proto.h). */
typedef struct JobForm JobForm;
struct JobForm {
    const Field *request, *reply;
    /* (optional) the kind's reply as the message wants it; absent: it is a map already, whose rows
     * are the first field of `reply`. */
    Value (*shape)(const JobForm *, Job *, Value reply);
};

typedef struct JobTimes {        /* now_seconds() when it entered, was admitted, was first run, and */
    double entered, admitted, started, done; /* was complete; 0: never */
} JobTimes;
struct Job {
    Arena arena;                 /* the request's; everything below lives there */
    Budget budget;               /* what its arenas and buffers draw on */
    /* in: a JSON body, or texts given directly (body.p NULL) */
    const JobKind *kind;         /* of a body; NULL, and for texts: predict */
    Str body;
    const JobForm *form;         /* of body and reply; NULL: JSON */
    bool body_packed;            /* the body is gzip, and may hold that many bytes: */
    size_t body_most;
    size_t gzip_from;            /* pack json if it has so many bytes; 0: never */
    Buf storage;                 /* (optional) where body lies (job_store); freed by job_free */
    Str *first, *second;         /* [n]; second NULL: no pairs. second[i].p NULL: not a pair */
    size_t n;
    TaskOptions options;         /* texts only; a body brings its own */
    bool no_json;                /* the reply is enough: json stays empty */
    bool lines;                  /* json: each result on a line of its own, nothing around them */
    double deadline;             /* now_seconds() when nobody will want it any more; 0: never */
    double share;                /* in and out: what its client has had; carry it to its next job */
    void (*done)(Job *);         /* called once, on a thread of the session */
    bool more;                   /* done is called for another at once: waking can wait for it */
    void *context;               /* the caller's */
    uint64_t ticket;             /* the caller's too */
    /* out */
    Err err;                     /* code EF_OK: reply is there */
    Value reply;                 /* as /predict answers */
    Buf json;                    /* its text, or its bytes by `form`; freed by job_free */
    bool json_packed;            /* by gzip */
    float *const *row_data;      /* [n]: each row's output, for ef_reply_tensor */
    int64_t *row_tokens, *row_width;
    int64_t tokens;              /* of all rows */
    bool single;                 /* the body was one text, not a list */
    size_t characters;           /* of all texts */
    JobTimes times;
    /* session's own */
    Job *next;
    Encoding *encoding;          /* [n] */
    bool no_special;             /* leave special tokens out of it */
    bool prompted;               /* a prompt has been put before the texts */
    int64_t prompt;              /* its tokens, where the model's head leaves them out */
    uint8_t *plain;              /* [n]: leave them out of this one; NULL: of none */
    const Value *request;        /* where the kind needs it again */
    const Value *metadata;
    Arena *slice;                /* [slices]: of the threads that tokenized parts of it */
    int slices, slice_next, slices_left; /* 0 slices: not cut */
    size_t at;                   /* rows before this one have been handed to a run */
    size_t stored;               /* bytes of row_data */
    float **rows;                /* row_data, while it is being filled */
    float **scores;              /* [n]: by the package's script; NULL: none */
    Arena *extra;                /* [n_extra]: of the workers that finished parts of it, */
    Buf *text;                   /*   and what they wrote */
    int n_extra;
    double finish;               /* virtual time at which its next row is due: the queue's order */
    uint64_t number;             /* of its entry; equal ones go by it */
    int heap_at, piece;          /* where it stands in the queue; its part of a load, or -1 */
    bool abandoned;              /* by job_abandon */
};

/* Defaults, also of the rows of `serve` (OPTION_DEFAULT). */
#define SESSION_QUEUE_JOBS 1024
#define SESSION_BATCH_TOKENS 8192
#define SESSION_BATCH_MS 100
#define SESSION_MAX_INPUTS 4096
#define SESSION_MAX_BYTES 1073741824
typedef struct SessionOptions {  /* zero: the default */
    int threads;                 /* of all replicas together; default cpu_count() */
    int replicas;                /* runs at the same time, each with its part of the threads; 1 */
    int queue_jobs;              /* most jobs waiting; default 1024 */
    int64_t batch_tokens;        /* most tokens of one run; default 8192 */
    double batch_seconds;        /* time that one run should take at most; default 0.1 */
    bool bulk;                   /* nobody waits for single replies: runs as long as they may be,
                                  * one on each thread */
    size_t max_inputs;           /* of one request; default 4096 */
    size_t max_output;           /* bytes of numbers of one request; default 512 MiB */
    size_t max_bytes;            /* that all requests and replies may hold; default 1 GiB */
    bool tei;                    /* /predict is text-embeddings-inference's, whatever its body */
} SessionOptions;

typedef struct SessionMeters {   /* read with relaxed loads, at any time */
    Meter queue, tokenize, compute, finish; /* seconds: of a job, of a job, of a run, of a run */
    Meter run_rows, run_tokens;
    uint64_t jobs, rows, tokens; /* answered */
    uint64_t abandoned, expired; /* dropped: the client went; the deadline passed */
    uint64_t full, heavy, late;  /* refused: too many jobs; too many bytes; draining */
    uint64_t short_of_memory;    /* failed: the system had no memory */
    int64_t waiting;             /* jobs in the session */
} SessionMeters;

Session *session_new(const Model *, const SessionOptions *); /* NULL: no thread could be started */
/* false: the job is still the caller's. What it holds counts until job_free: before session_free. */
bool session_submit(Session *, Job *, Err *);
void session_run(Session *, Job *);           /* submit and wait: for infer and ef_predict */
void session_drain(Session *);                /* refuse new jobs, finish the waiting ones */
void session_free(Session *);                 /* drains first */
const Model *session_model(const Session *);
const SessionMeters *session_meters(const Session *);
const SessionOptions *session_options(const Session *); /* defaults filled in */
Budget *session_budget(const Session *); /* of all requests; connections count there, too */
/* "ner (token_classification, fp32, avx2, 4 threads)" */
void session_describe(const Session *, Buf *);
Job *job_new(void);
void job_store(Job *, Buf *body);             /* takes the buffer; body lies in it */
void job_shrink(Job *);                       /* forgets all but json and the plain fields */
void job_abandon(Job *);                      /* its client has gone: skip it, but call done */
void job_free(Job *);                         /* NULL is fine; never while it is in the session */

#endif
