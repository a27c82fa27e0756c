/* SPDX-License-Identifier: Apache-2.0
 * thread.h - a pool of workers that split one job, and what it needs to know about the machine.
 * Workers spin briefly for the next job, then sleep; with one CPU they never spin. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H
#include "base.h"

typedef struct Pool Pool;
typedef void PoolFn(void *arg, int index, int worker); /* index in 0..n-1, worker in 0..threads-1 */

Pool *pool_new(int threads);      /* 0: as many as this process may use. NULL: no memory */
void pool_free(Pool *);
int pool_threads(const Pool *);
/* Calls fn for every index, on the caller (worker 0) and the workers; returns when all are done.
 * One call at a time per pool: the pool has one owner. NULL pool: runs all on the caller. If a
 * worker runs out of memory, the caller's guarded call is abandoned (budget.h); not all indices
 * were called then. */
void pool_for(Pool *, int n, PoolFn *, void *arg);

/* A pool without threads of its own: others come when its owner calls, for a while. */
Pool *pool_new_open(int most);    /* threads at once, the owner included. NULL: no memory */
int pool_most(const Pool *);      /* what pool_threads can be */
/* The owner: so many may come from now on, as workers 1 to n; pool_threads counts on them at once,
 * and nobody waits for who is late. Returns the number of the call. */
unsigned pool_call(Pool *, int n);
void pool_dismiss(Pool *);        /* and now they leave */
void pool_help(Pool *, int worker, unsigned call); /* a thread that was called: until dismissed */

/* Lowers the priority (nice) of this thread and of those it starts: 1 is hardly noticeable, 10
 * gives about a tenth of the time of the others. It cannot be raised again. */
void thread_lower(int steps);
/* Asks the scheduler for short time slices and quick wake-ups for this thread and those it
 * starts. */
void thread_prompt(void);

/* Zeroed memory, aligned to 64, that goes when the calling thread ends (thread_memory.c). */
void *thread_memory(size_t bytes);
int cpu_count(void);              /* affinity and cgroup quota considered; at least 1 */
double now_seconds(void);         /* monotonic */
Str now_utc(Arena *);             /* "2026-11-15T07:06:23.123Z" */
void cpu_pause(void);             /* inside a spin loop */

#endif
