/* SPDX-License-Identifier: Apache-2.0
 * stages.h - the inside of a session: the stages a job waits for, and who serves them. Included by
 * this folder's files only. */
#ifndef SESSION_STAGES_H
#define SESSION_STAGES_H
#include <pthread.h>
#include <semaphore.h>

#include "model/model.h"
#include "session/session.h"

/* ---- queue.c: one lock. Admission and scripts: first in, first out. Runs: fair by cost ----
 * Admission has two lines, so that nobody waits behind long texts: those have threads of their own. */
typedef enum { STAGE_ADMIT, STAGE_LONG, STAGE_RUN, STAGE_SCRIPT, STAGES } Stage;
Stage stage_for(size_t bytes);   /* the line for so many bytes of body, or of texts */

enum { LOAD_PIECES = 256, LOAD_ROWS = 512 };
typedef struct LoadPiece { /* rows from .. to-1 of a job's order */
    Work *work;
    size_t from, to;
} LoadPiece;
typedef struct Load {  /* what one run carries */
    LoadPiece piece[LOAD_PIECES];
    int n, rows;
    int64_t cost;
    int64_t longest;         /* cost of a row so far */
    double seconds;          /* that its run took */
} Load;

enum { MOST_GANGS = 4 };
typedef struct Gang {            /* runners that share a run: who took it leads, idle ones help */
    Load *load;                  /* what it carries */
    bool taken;
    int called;                  /* idle ones that shall help and have not come yet */
    int helpers;                 /* that have come */
    unsigned call;               /* the pool's number of it */
} Gang;

/* Who fell asleep last is woken first: its CPU is awake still, or not as deeply asleep as others. */
typedef struct RunnerBed {
    pthread_cond_t call;
    bool called;                 /* it is awake, or about to be */
    struct RunnerBed *below;     /* who fell asleep before it */
} RunnerBed;

/* A job that waits for a run. What puts it in order stands here: the jobs themselves are in the
 * caches of whoever made them. */
typedef struct Due {
    Work *work;
    double due;                  /* virtual time of its next row */
    int64_t cost;                /* of that row */
    uint64_t number : 63;        /* of its entry; equal ones go by it */
    bool taken : 1;              /* rows of it are in the load that is being made */
} Due;

typedef struct Queue {
    pthread_mutex_t lock;
    bool locked;                 /* that one, or about: atomic */
    struct QueueStage {
        Work *head, **tail;       /* empty for STAGE_RUN, which has the heap */
        int n;                   /* jobs in it */
        pthread_cond_t came;     /* a job, or the end; runners have beds instead */
        bool closed;
    } stage[STAGES];
    Due *heap;                    /* [heap_n] of STAGE_RUN; the one that is due first in front */
    int heap_n, heap_room;
    RunnerBed *asleep;           /* the one that fell asleep last */
    int idle_runners;            /* of them: asleep, and not called */
    int looking;                 /* awake and idle: they look for news before they sleep; */
    int promised;                /*   of them, for what has come meanwhile */
    unsigned news;               /* counts what might be looked for; atomic */
    int64_t cost, running;       /* of rows that wait for a run; that are in one */
    /* Runners side by side, a thread each: small work runs on one of them, large work in a gang. */
    int side;                    /* how many; 0: each has its part of the threads */
    Gang gang[MOST_GANGS];
    int gangs, ganged;           /* ganged: taken ones */
    int64_t (*most)(const Session *, int threads); /* cost of a run on so many */
    int64_t (*least)(const Session *); /* cost that is worth a thread of its own; 0: any */
    const Session *of;           /* for these */
    double spell;                /* seconds of a run, lately */
    double swept;                /* when all jobs were last looked at */
    bool lendable, lent;         /* the only runner's replica, or a gang, may be lent to a caller;
                                  * that replica is */
    bool last_long;              /* the last load had a long row */
    double clock;                /* virtual time: what the last row that ran was due at */
    uint64_t entries;
    int waiting, limit;          /* jobs of all stages; most that are let in */
    Budget *budget;              /* of jobs that entered and have not left, and of connections */
    int inside;                  /* such jobs, all of which fit into the heap; atomic */
    int64_t row_cost;            /* of every row: they are padded to one length; 0: its own */
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
    int side;
    int64_t (*most)(const Session *, int threads);
    int64_t (*least)(const Session *);
    const Session *of;
} QueueSetup;
void queue_init(Queue *, const QueueSetup *, SessionMeters *);
void queue_free(Queue *);
bool queue_enter(Queue *, Stage, Work *, Err *);  /* a new job: EF_OVERLOADED, EF_UNAVAILABLE */
/* The same for STAGE_RUN. *mine: the runner was idle and is not woken; the caller has its replica
 * until it calls queue_give_back. */
bool queue_enter_run(Queue *, Work *, bool *mine, Err *);
void queue_give_back(Queue *, int gang);         /* that one, or (-1) the only runner's replica */
void queue_pass(Queue *, Stage, Work *);          /* one that is in already: always room */
/* A list of them, to STAGE_RUN, by who looks for rows to run next: the first may be its own. */
void queue_pass_runs(Queue *, Work *);
void queue_leave(Queue *);                       /* a job is done */
/* Waits; NULL: closed and empty. A job in slices comes once for each; *slice says which. */
Work *queue_take(Queue *, Stage, int *slice);
typedef struct Taken {           /* what a runner is to do */
    Load *load;                  /* rows to run: in its own load or in a gang's; may be empty */
    int gang, helpers;           /* to lead (-1: none), with so many others; */
    int spare;                   /*   idle runners that are left out: the leader is none, and has the CPU of one; or: */
    int help;                    /* the worker to be in that gang; 0: none */
    unsigned call;
    Work *admit;                 /* a list of small jobs to admit */
    Work *dropped;               /* a list of jobs that nobody waits for any more */
} Taken;
/* Waits for something to do. load, bed: the runner's own; load as its last run left it. `run`: rows
 * before admission, where both wait. false: closed and empty. */
bool queue_load(Queue *, Load *load, RunnerBed *bed, bool run, Taken *);
void queue_borrow(Queue *, Load *, Taken *);     /* by a borrower, without waiting */
void queue_call(Queue *, const Taken *, unsigned call); /* wakes idle runners: they come to help */
/* The run of a gang is over. The jobs of a list have rows left and wait for another; true: for this very gang, which
 * would be formed again as it is, so its load is filled and nobody is dismissed or woken. */
bool queue_stay(Queue *, Work *list, Taken *);
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
    RunnerBed bed;               /* of a runner: it outlives the thread, who calls late finds it */
} Worker;
struct Crew {                    /* the threads of a stage */
    void (*work)(Worker *);
    Stage stage;
    Worker *worker;              /* [places] */
    int places, replaced;        /* replaced: of them, still at their last job */
    int first, started;          /* to be hired at the start; so many were */
    pthread_mutex_t lock;        /* of all this but work */
};
typedef struct TextCache TextCache;
typedef struct Replica Replica;
struct Session {
    Arena arena;                 /* holds this struct */
    const Model *model;
    SessionOptions options;      /* defaults filled in */
    SessionSteps steps;
    int outputs;                 /* of a row: the most that one of the model's graphs has */
    Budget budget;               /* of all requests */
    Queue queue;
    Crew crew[STAGES];           /* one runner per replica */
    TransformPool *vms;          /* NULL: the model has no script */
    TextCache *texts;            /* NULL: the task needs no texts beside its items */
    double rate;                 /* cost a second of one run, lately; 0: not known. Atomic */
    int replicas_begun;
    sem_t ready;                 /* posted by each runner that has what it needs */
    Replica *replica;            /* of the only runner, once it has been idle */
    Replica *gang[MOST_GANGS];
    pthread_mutex_t starting;    /* of these: */
    bool admits;                 /* the threads of admission have been started. Read without the lock */
    bool drained;
    SessionMeters meters;
};

/* admission.c: request -> items -> rows; on failure the work has its error. */
bool work_admit(Session *, Work *);
/* pages.c: pictures whose words must be read. Only so many in a request of a session that limits requests. */
size_t work_unread_pages(const Session *, const Work *);
bool pages_check(const Session *, Work *);
bool page_read(const Session *, const PrepareCall *, Item *, Err *); /* the words of such an item */
void admit_whole(Session *, Work *, Worker *); /* the same, and what comes after it */
void admit_list(Session *, Work *, Worker *);  /* of small ones */
void admission_thread(Worker *); /* of either line */
/* runner.c: a thread that owns its pool and its engine runners; a run by who has borrowed them. */
void runner_thread(Worker *);
void runner_borrowed(Session *);
bool gangs_make(Session *);      /* of runners side by side. false: no memory */
void gangs_free(Session *);
int64_t runner_most(const Session *, int threads);
int64_t runner_least(const Session *);
/* script.c: texts through Preprocess, in admission; rows through Postprocess, on own threads. */
bool script_items(Session *, Work *, Worker *); /* NULL: on a caller's thread */
void script_thread(Worker *);
/* texts.c: vectors of texts beside the items, such as labels, which are the same in many requests. */
TextCache *texts_new(Arena *, const Model *);
void texts_free(TextCache *);
bool texts_find(Session *, Work *); /* those that are not known become rows of the first item */
void texts_keep(Session *, Work *); /* all rows have been run: the work's vectors, which are remembered */
/* crew.c: what n threads need; then the threads. Fewer than planned are still a crew; false: there is
 * none. */
void crew_plan(Session *, Stage, int n, void (*work)(Worker *));
bool crew_start(Session *, Stage);
void crew_end(Session *, Stage);        /* waits until all have ended: their queue is closed */
void worker_stuck(Worker *);            /* its own word: it will be long */

/* Nobody waits for it: its client has gone, or it is too late. */
static inline bool work_is_unwanted(const Work *work, double now)
{
    return __atomic_load_n(&work->abandoned, __ATOMIC_RELAXED) || (work->deadline > 0 && work->deadline <= now);
}
bool work_unwanted(Session *, Work *);  /* abandoned, or too late: then it has its error */
void work_done(Session *, Work *);      /* hands it back */

#endif
