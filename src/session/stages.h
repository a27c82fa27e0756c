/* SPDX-License-Identifier: Apache-2.0
 * stages.h - the inside of a session: the stages a job waits for, and who serves them. Included by
 * this folder's files only. */
#ifndef SESSION_STAGES_H
#define SESSION_STAGES_H
#include <pthread.h>

#include "base/thread.h"
#include "session/session.h"

/* ---- queue.c: one lock. Admission and scripts: first in, first out. Runs: fair by tokens ----
 * Admission has two lines, so that nobody waits behind long texts: those have threads of their own. */
typedef enum { STAGE_ADMIT, STAGE_LONG, STAGE_RUN, STAGE_SCRIPT, STAGES } Stage;
Stage stage_for(size_t bytes);   /* the line for so many bytes of body, or of texts */

enum { LOAD_PIECES = 256, LOAD_ROWS = 512 };
typedef struct Piece { /* rows from .. to-1 of a job */
    Job *job;
    size_t from, to;
} Piece;
typedef struct Load {  /* what one run carries */
    Piece piece[LOAD_PIECES];
    int n, rows;
    int64_t tokens;
    int64_t longest;         /* row so far */
} Load;

typedef struct Queue {
    pthread_mutex_t lock;
    struct QueueStage {
        Job *head, **tail;       /* empty for STAGE_RUN, which has the heap */
        pthread_cond_t came;     /* a job, or the end */
        bool closed;
    } stage[STAGES];
    Job **heap;                  /* [heap_n] of STAGE_RUN; the one that is due first in front */
    int heap_n, heap_room;
    int idle_runners;
    bool lendable, lent;         /* there is one runner, and its replica may be lent; it is */
    bool last_long;              /* the last load had a long row */
    double clock;                /* virtual time: what the last row that ran was due at */
    uint64_t entries;
    int waiting, limit;          /* jobs of all stages; most that are let in */
    Budget *budget;              /* of jobs that entered and have not left, and of connections */
    int inside;                  /* such jobs; all of them fit into the heap */
    int64_t row_cost;            /* tokens every row is padded to; 0: its own */
    bool runners_admit;          /* small jobs, when they have nothing to run */
    bool runners_alone;          /* on their CPU: then also before each run, instead of others */
    bool refusing;               /* no new jobs */
    SessionMeters *meters;
} Queue;
typedef struct QueueSetup {
    int limit;                   /* jobs */
    Budget *budget;
    int64_t row_cost;
    bool runners_admit, runners_alone, lendable;
} QueueSetup;
void queue_init(Queue *, const QueueSetup *, SessionMeters *);
void queue_free(Queue *);
bool queue_enter(Queue *, Stage, Job *, Err *);  /* a new job: EF_OVERLOADED, EF_UNAVAILABLE */
/* The same for STAGE_RUN. *mine: the runner was idle and is not woken; the caller has its replica
 * until it calls queue_give_back. */
bool queue_enter_run(Queue *, Job *, bool *mine, Err *);
void queue_give_back(Queue *);
void queue_pass(Queue *, Stage, Job *);          /* one that is in already: always room */
void queue_leave(Queue *);                       /* a job is done */
/* Waits; NULL: closed and empty. A job in slices comes once for each; *slice says which. */
Job *queue_take(Queue *, Stage, int *slice);
/* Waits for rows and takes at most that many tokens of them (one row at least). true: load has
 * rows, or *admit is a small job that the caller should admit, or *dropped is a list of jobs that
 * nobody waits for any more. false: closed and empty. */
bool queue_load(Queue *, int64_t tokens, Load *load, Job **admit, Job **dropped);
Job *queue_fill(Queue *, int64_t tokens, Load *); /* by a borrower, without waiting; dropped ones */
void queue_refuse(Queue *);                      /* no new jobs from now on */
void queue_close(Queue *, Stage);                /* nobody will pass jobs to it any more */

/* ---- the session ---- */
typedef struct Crew Crew;
typedef struct Worker {          /* a thread of a stage; crew.c */
    Session *s;
    Crew *crew;
    pthread_t id;
    bool hired, ended, awaited;  /* there is a thread; it is about to end; somebody joins it */
    bool substitute;             /* hired by one that got stuck */
    bool replaced;               /* its own: it ends after this job */
} Worker;
struct Crew {                    /* the threads of a stage */
    void (*work)(Worker *);
    Stage stage;
    Worker *worker;              /* [places] */
    int places, replaced;        /* replaced: of them, still at their last job */
    pthread_mutex_t lock;        /* of all this but work */
};
typedef struct Replica Replica;
struct Session {
    Arena arena;                 /* holds this struct */
    const Model *model;
    SessionOptions options;      /* defaults filled in */
    Budget budget;               /* of all requests */
    Queue queue;
    Crew crew[STAGES];           /* one runner per replica */
    TransformPool *vms;          /* NULL: the model has no script */
    double rate;                 /* tokens a second of one run, lately; 0: not known. Atomic */
    int replicas_begun;
    Replica *replica;            /* of the only runner, once it has been idle */
    bool drained;
    SessionMeters meters;
};

/* admission.c: body -> texts -> encodings; on failure the job has its error. */
bool job_admit(Session *, Job *);
void admit_whole(Session *, Job *, Worker *); /* the same, and what comes after it */
void admission_thread(Worker *); /* of either line */
/* runner.c: a thread that owns its pool and its engine runner; a run by who has borrowed them. */
void runner_thread(Worker *);
void runner_borrowed(Session *);
/* script.c: texts through Preprocess, in admission; rows through Postprocess, on own threads. */
bool job_prompt(const Session *, Job *, Str prompt); /* put before every text */
bool job_prepare(Session *, Job *, Worker *); /* NULL: on a caller's thread */
void script_thread(Worker *);
/* crew.c: fewer threads than asked for are still a crew; false: there is none. */
bool crew_start(Session *, Stage, int n, void (*work)(Worker *));
void crew_end(Session *, Stage);        /* waits until all have ended: their queue is closed */
void worker_stuck(Worker *);            /* its own word: it will be long */
/* finish.c: jobs whose rows have all been run -> reply and JSON, in parallel (pool NULL: on this
 * thread); done is not called. */
void jobs_finish(Session *, Pool *, Job **, int n);

/* How the kind makes one vector of a row's numbers; NULL: it needs them all. */
TaskPool *job_pool(const Session *, const Job *);
const Str *job_second(const Job *, size_t row); /* NULL: not a pair */
/* Calls fn; false: memory was missing, and err says so. The job is the only one to suffer. */
bool job_guarded(Session *, void (*fn)(void *), void *arg, Err *err);
bool job_unwanted(Session *, Job *);    /* abandoned, or too late: then it has its error */
void job_done(Session *, Job *);        /* hands it back */

#endif
