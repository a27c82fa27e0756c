/* SPDX-License-Identifier: Apache-2.0
 * pool.c - threads that share one loop. A job is a generation number; indices are taken from one
 * counter. Workers spin for about 20 microseconds after a job, since the next one usually
 * follows, and then sleep on a condition; a pool of one CPU never spins. A worker enters a job
 * while it is open; the caller closes it when no index is left and waits only for those inside,
 * never for a worker that has not woken up: on a busy machine that may take longer than the
 * whole job. If the caller is guarded (budget.h), so are the workers: one that runs out of
 * memory takes no more indices, and the caller's guarded call is abandoned when all workers have
 * left the job. The workers of an open pool are other threads that come and go. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "budget.h"
#include "thread.h"

enum { SPINS = 4000 };

typedef struct PoolWorker {
    Pool *pool;
    pthread_t thread;
    int number;
    bool hired; /* it has a thread of its own */
} PoolWorker;

struct Pool {
    int threads, spins;
    int most;            /* of threads */
    PoolWorker *workers; /* [most]; 0 is the caller */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint generation; /* counts jobs */
    atomic_int next, busy;  /* next index to take; workers inside the job */
    atomic_bool open;       /* it may be entered; changes only while nobody is inside, or to false */
    atomic_bool stop;
    int n;
    PoolFn *fn;
    void *arg;
    bool guarded;           /* the caller is */
    atomic_size_t missing;  /* bytes that somebody inside wanted and did not get; 0: none */
    unsigned call;          /* of an open pool: counts them; under the lock */
    atomic_int guests;      /* that have come and not left */
    atomic_bool called;     /* they may stay */
};

static void take_all(void *arg)
{
    PoolWorker *me = arg;
    Pool *pool = me->pool;
    for (;;) {
        int index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= pool->n) return;
        pool->fn(pool->arg, index, me->number);
    }
}

static void take_indices(Pool *pool, int worker)
{
    Shortage shortage;
    if (!pool->guarded) return take_all(&pool->workers[worker]);
    if (guarded(take_all, &pool->workers[worker], &shortage)) return;
    atomic_store(&pool->missing, shortage.wanted);
    atomic_store(&pool->next, pool->n); /* the others need not go on */
}

/* Returns when a job newer than `seen` is there. */
static void wait_for_job(Pool *pool, unsigned seen)
{
    for (int i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) return;
        cpu_pause();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void *pool_worker_main(void *arg)
{
    PoolWorker *me = arg;
    Pool *pool = me->pool;
    for (unsigned seen = 0;;) {
        wait_for_job(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->busy, 1); /* before looking: the caller closes before it looks */
        if (atomic_load(&pool->open)) take_indices(pool, me->number);
        atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_release);
    }
}

static void pool_announce(Pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

Pool *pool_new_open(int most)
{
    Pool *pool = calloc(1, sizeof *pool);
    PoolWorker *workers = calloc((size_t)most, sizeof *workers);
    if (!pool || !workers) return free(pool), free(workers), NULL;
    pool->threads = 1, pool->most = most, pool->workers = workers;
    pool->spins = cpu_count() > 1 ? SPINS : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (int i = 0; i < most; i++) workers[i] = (PoolWorker){ .pool = pool, .number = i };
    return pool;
}

Pool *pool_new(int threads)
{
    Pool *pool = pool_new_open(threads > 0 ? threads : cpu_count());
    if (!pool) return NULL;
    int started = 1;
    for (; started < pool->most; started++) {
        PoolWorker *worker = &pool->workers[started];
        worker->hired = pthread_create(&worker->thread, NULL, pool_worker_main, worker) == 0;
        if (!worker->hired) break;
    }
    pool->threads = started; /* fewer than asked for is still a pool */
    return pool;
}

void pool_free(Pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->stop, true);
    pool_announce(pool);
    for (int i = 1; i < pool->most; i++)
        if (pool->workers[i].hired) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

/* ---- guests ---- */
unsigned pool_call(Pool *pool, int n)
{
    while (atomic_load(&pool->guests) > 0) sched_yield(); /* those of the last call are leaving */
    pthread_mutex_lock(&pool->lock);
    unsigned call = ++pool->call;
    atomic_store(&pool->called, true);
    pthread_mutex_unlock(&pool->lock);
    pool->threads = 1 + n;
    return call;
}

void pool_dismiss(Pool *pool)
{
    pool->threads = 1;
    atomic_store(&pool->called, false);
    pool_announce(pool);
}

/* Who comes after it was dismissed finds another call, or none. */
static bool pool_enter(Pool *pool, unsigned call)
{
    pthread_mutex_lock(&pool->lock);
    bool ok = pool->call == call && atomic_load(&pool->called);
    if (ok) atomic_fetch_add(&pool->guests, 1);
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

void pool_help(Pool *pool, int worker, unsigned call)
{
    if (!pool_enter(pool, call)) return;
    while (atomic_load(&pool->called)) {
        unsigned seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->busy, 1);
        if (atomic_load(&pool->open)) take_indices(pool, worker);
        atomic_fetch_sub_explicit(&pool->busy, 1, memory_order_release);
        if (atomic_load(&pool->called)) wait_for_job(pool, seen);
    }
    atomic_fetch_sub_explicit(&pool->guests, 1, memory_order_release);
}

int pool_most(const Pool *pool)
{
    return pool ? pool->most : 1;
}

int pool_threads(const Pool *pool)
{
    return pool ? pool->threads : 1;
}

void pool_for(Pool *pool, int n, PoolFn *fn, void *arg)
{
    if (!pool || pool->threads == 1 || n == 1) {
        for (int i = 0; i < n; i++) fn(arg, i, 0);
        return;
    }
    pool->n = n, pool->fn = fn, pool->arg = arg;
    pool->guarded = is_guarded();
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->open, true);
    pool_announce(pool);
    take_indices(pool, 0);
    atomic_store(&pool->open, false);
    for (int spins = 0; atomic_load(&pool->busy) > 0; spins++)
        spins < pool->spins ? cpu_pause() : (void)sched_yield();
    size_t missing = atomic_exchange(&pool->missing, 0);
    if (missing) memory_missing(missing, NULL, false);
}
