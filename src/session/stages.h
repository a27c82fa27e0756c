/* SPDX-License-Identifier: Apache-2.0
 * stages.h - the inside of a session: the two stages a job waits for, and who serves them. Included
 * by this folder's files only. */
#ifndef SESSION_STAGES_H
#define SESSION_STAGES_H
#include <pthread.h>

#include "base/thread.h"
#include "session.h"

/* ---- queue.c: first in, first out, per stage; one lock ---- */
typedef enum { STAGE_ADMIT, STAGE_RUN, STAGE_SCRIPT, STAGES } Stage;
typedef struct Queue {
    pthread_mutex_t lock;
    struct QueueStage {
        Job *head, **tail;
        pthread_cond_t came;     /* a job, or the end */
        bool closed;
    } stage[STAGES];
    int waiting, limit;          /* jobs of all stages; most that are let in */
    bool refusing;               /* no new jobs */
} Queue;
void queue_init(Queue *, int limit);
void queue_free(Queue *);
bool queue_enter(Queue *, Stage, Job *, Err *);  /* a new job: EF_OVERLOADED, EF_UNAVAILABLE */
void queue_pass(Queue *, Stage, Job *);          /* one that is in already: always room */
Job *queue_take(Queue *, Stage);                 /* waits; NULL: closed and empty */
/* Without waiting: the next job of STAGE_RUN if its tokens are at most that many, else NULL. */
Job *queue_take_fitting(Queue *, int64_t tokens);
void queue_refuse(Queue *);                      /* no new jobs from now on */
void queue_close(Queue *, Stage);                /* nobody will pass jobs to it any more */

/* ---- the session ---- */
typedef struct Crew {            /* the threads of a stage */
    pthread_t *thread;
    int n;
} Crew;
struct Session {
    Arena arena;                 /* holds this struct */
    const Model *model;
    SessionOptions options;      /* defaults filled in */
    Pool *pool;                  /* the runner's */
    Runner *runner;
    Queue queue;
    Crew crew[STAGES];           /* more than one for a stage in which a script runs */
    TransformPool *vms;          /* NULL: the model has no script */
    bool drained;
};

/* admission.c: body -> texts -> encodings; on failure the job has its error. */
bool job_admit(const Session *, Job *);
/* runner.c: the thread that owns pool and runner. */
void *runner_thread(void *session);
/* script.c: texts through Preprocess, in admission; rows through Postprocess, on own threads. */
bool job_prepare(const Session *, Job *);
void *script_thread(void *session);
/* finish.c: jobs whose rows have all been run -> reply and JSON, in parallel (pool NULL: on this
 * thread); done is not called. */
void jobs_finish(Session *, Pool *, Job **, int n);

const Str *job_second(const Job *, size_t row); /* NULL: not a pair */
bool job_abandoned(const Job *);
void job_done(Job *);            /* hands it back */

#endif
