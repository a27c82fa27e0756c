/* SPDX-License-Identifier: Apache-2.0
 * session.h - work on its way through one model. Two crossings: a bounded queue in, a callback
 * back; the model is immutable. The session knows items, rows and results; bodies, replies and
 * clients are those of the makers of work (SessionSteps; dialect/).
 *
 *   any thread   session_submit: the work enters the queue, or EF_OVERLOADED / EF_UNAVAILABLE
 *   admission    steps->open: a request becomes items; preparers make rows of them, so the queue
 *                knows what they cost. A crew of threads; a long list is cut into slices, so that
 *                no request holds it up. A runner with nothing to run admits small requests itself
 *   runner       one per thread, or per replica: rows of waiting work, fair by cost, up to the time
 *                budget of a run; then steps->finish for what is complete
 *   runner       work->done(work): the reply or an error is there
 *
 * session_run does the admission on the caller's own thread, so many callers tokenize at once. */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H
#include "base/thread.h"
#include "session/meter.h"
#include "session/work.h"

typedef struct Model Model;      /* model/model.h */
typedef struct Session Session;

/* What those who make work do with it, on threads of the session. */
typedef struct SessionSteps {
    bool (*open)(Session *, Work *);  /* makes its items; on failure it has its error */
    /* All its rows have been run: replies. pool NULL: on this thread. done is not called. */
    void (*finish)(Session *, Pool *, Work **, int n);
    void *own;                        /* (optional) the makers'; session_own */
    void (*end)(void *own);           /* (optional) when the session is freed, or was not made */
} SessionSteps;

/* Defaults, also of the rows of `serve` (OPTION_DEFAULT). */
#define SESSION_QUEUE_JOBS 1024
#define SESSION_BATCH_TOKENS 8192
#define SESSION_BATCH_MS 100
#define SESSION_MAX_INPUTS 4096
#define SESSION_MAX_BYTES 1073741824
#define SESSION_MAX_PIXELS 89478485
#define SESSION_MAX_SECONDS 3600
typedef struct SessionOptions {  /* zero: the default */
    int threads;                 /* of all replicas together; default cpu_count() */
    int replicas;                /* runs at the same time, each with its part of the threads; 0: as
                                  * many as there is work for, small ones on a thread each */
    int queue_jobs;              /* most jobs waiting; default 1024 */
    int64_t batch_tokens;        /* most tokens of one run; default 8192 */
    double batch_seconds;        /* time that one run should take at most; default 0.1 */
    bool bulk;                   /* nobody waits for single replies: runs as long as they may be,
                                  * one on each thread */
    size_t max_inputs;           /* of one request; default 4096 */
    size_t max_output;           /* bytes of numbers of one request; default 512 MiB */
    int64_t max_pixels;          /* of a picture; default 89 million */
    int64_t max_seconds;         /* of a sound; default 3600 */
    size_t max_bytes;            /* that all requests and replies may hold; default 1 GiB */
    const char *ocr;             /* path of the program that reads the words of a page; NULL: none may be run */
    double ocr_seconds;          /* for one page; default 60 */
} SessionOptions;

typedef struct SessionMeters {   /* read with relaxed loads, at any time */
    Meter queue, tokenize, compute, finish; /* seconds: of a job, of a job, of a run, of a run */
    Meter run_rows, run_tokens;
    uint64_t jobs, rows, tokens; /* answered */
    uint64_t abandoned, expired; /* dropped: the client went; the deadline passed */
    uint64_t full, heavy, late;  /* refused: too many jobs; too many bytes; draining */
    uint64_t short_of_memory;    /* failed: the system had no memory */
    uint64_t texts_run, texts_known; /* beside items: run; not, since their vector was in the cache */
    int64_t waiting;             /* jobs in the session */
} SessionMeters;

/* NULL: no thread could be started. */
Session *session_new(const Model *, const SessionOptions *, const SessionSteps *);
/* The threads that session_submit needs, which the first one would start. */
bool session_expect(Session *, Err *);
/* false: the work is still the caller's. What it holds counts until it is freed: before
 * session_free. */
bool session_submit(Session *, Work *, Err *);
void session_run(Session *, Work *);          /* submit and wait: for infer and ef_predict */
void session_drain(Session *);                /* refuse new work, finish what waits */
void session_free(Session *);                 /* drains first */
const Model *session_model(const Session *);
void *session_own(const Session *);           /* SessionSteps.own */
bool session_has_time(const Session *);       /* a thread of it has nothing to do: a guess */
const SessionMeters *session_meters(const Session *);
const SessionOptions *session_options(const Session *); /* defaults filled in */
Budget *session_budget(const Session *); /* of all requests; connections count there, too */
/* "ner (token_classification, fp32, avx2, 4 threads)" */
void session_describe(const Session *, Buf *);

/* For the steps. */
/* Calls fn; false: memory was missing, and err says so. The work is the only one to suffer. */
bool session_guarded(Session *, void (*fn)(void *), void *arg, Err *err);
bool work_prompt(const Session *, Work *, Str prompt); /* put before every text */
/* How one vector is made of a row's numbers; NULL: all of them are needed. */
TaskPool *work_pooling(const Session *, const Work *);

#endif
