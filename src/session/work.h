/* SPDX-License-Identifier: Apache-2.0
 * work.h - one request as the session sees it: items that become rows, rows that are run, results.
 * Who made it (dialect/job.h) knows what the request was and what its reply is. */
#ifndef SESSION_WORK_H
#define SESSION_WORK_H
#include "base/budget.h"
#include "task/task.h"

typedef struct Work Work;

typedef enum {                   /* what of a row's numbers is kept */
    KEEP_TASK,                   /* what the task needs */
    KEEP_VECTOR,                 /* one vector */
    KEEP_TOKENS,                 /* every token's */
    KEEP_NOTHING,                /* the model is not run */
} WorkKeep;

typedef struct WorkTimes {       /* now_seconds() when it entered, was admitted, was first run, and */
    double entered, admitted, started, done; /* was complete; 0: never */
} WorkTimes;

struct Work {
    Arena arena;                 /* everything below lives there */
    Budget budget;               /* what its arenas and buffers draw on */
    /* in */
    size_t bytes;                /* of what has to be read first; */
    bool unread;                 /*   how much it really is will be known then: gzip */
    Item *item;                  /* [n] */
    size_t n;
    const Preparer *preparer;    /* NULL: the model's */
    TaskOptions options;
    WorkKeep keep;
    const char *called;          /* what messages call its items; NULL: "inputs" */
    int64_t prompt;              /* tokens in front that the model's head leaves out */
    bool prompted;               /* a prompt has been put before the texts */
    double deadline;             /* now_seconds() when nobody will want it any more; 0: never */
    double share;                /* in and out: what its client has had; carry it to its next one */
    void (*done)(Work *);        /* called once, on a thread of the session */
    void *context;               /* the maker's */
    const void *to;              /* the maker's: who is woken by done; */
    bool more;                   /*   done is called for another of those at once: that can wait */
    /* out */
    Err err;                     /* code EF_OK: the results are there */
    Prepared *row;               /* [rows] */
    size_t rows;
    size_t *start;               /* [n + 1]: first row of each item; NULL: every item has one */
    size_t *order;               /* [rows]: in which they run, by `step`; NULL: as they stand */
    TaskTensor *result;          /* [rows][outputs] */
    int outputs;
    float **scores;              /* [rows]: by the package's script; NULL: none */
    struct WorkTexts {           /* beside the items, whose vectors the task needs (Task.texts) */
        const float **vector;    /* [n]: of the cache, or once its row has been run */
        struct TextKey *key;     /* [n] */
        size_t *missing;         /* [missed]: those that the cache did not have: rows of the first item, */
        size_t n, missed;        /*   behind its picture's */
    } texts;
    int64_t tokens;              /* of all rows */
    size_t characters;           /* of all texts */
    WorkTimes times;
    /* the session's own */
    Work *next;
    bool abandoned;              /* by work_abandon */
    size_t stored;               /* bytes of results */
    PreparedRows *made;          /* [n]: rows of each item, while they are made */
    struct WorkSlices {          /* parts that threads prepare side by side */
        Arena *arena;            /* [n]: what they made */
        int n, next, left;       /* n = 0: not cut */
    } slice;
    struct WorkTurn {            /* its place in the queue */
        size_t at;               /* so many rows of the order have been handed to a run */
        double due;              /* virtual time of its next row: the queue's order */
        int64_t left;            /* cost of rows that have not been handed to a run */
        uint64_t number;         /* of its entry; equal ones go by it */
        int piece;               /* its part of a load, or -1 */
    } turn;
};

static inline size_t work_row(const Work *w, size_t item) /* the item's first */
{
    return w->start ? w->start[item] : item;
}

static inline size_t work_rows(const Work *w, size_t item)
{
    return w->start ? w->start[item + 1] - w->start[item] : 1;
}

static inline size_t work_turn(const Work *w, size_t at) /* the row that runs as number `at` */
{
    return w->order ? w->order[at] : at;
}

static inline TaskTensor *work_result(const Work *w, size_t row)
{
    return &w->result[row * (size_t)w->outputs];
}

void work_init(Work *, Arena arena);          /* takes the arena, in which *Work lies */
void work_shrink(Work *);                     /* forgets all but the plain fields */
void work_abandon(Work *);                    /* its client has gone: skip it, but call done */

#endif
