/* SPDX-License-Identifier: Apache-2.0
 * session.c - the life of a session and of a job: threads start, jobs enter, threads end when all
 * that entered has been answered. */
#include "session.h"

#include "stages.h"

/* ---- jobs: each in its own arena ---- */
Job *job_new(void)
{
    Arena arena = { 0 };
    Job *job = NEW(&arena, Job);
    job->arena = arena;
    return job;
}

void job_free(Job *job)
{
    if (!job) return;
    for (int i = 0; i < job->n_extra; i++) arena_free(&job->extra[i]);
    buf_free(&job->json);
    Arena arena = job->arena;
    arena_free(&arena);
}

const Str *job_second(const Job *job, size_t row)
{
    return job->second && job->second[row].p ? &job->second[row] : NULL;
}

void job_abandon(Job *job)
{
    __atomic_store_n(&job->abandoned, true, __ATOMIC_RELAXED);
}

bool job_abandoned(const Job *job)
{
    return __atomic_load_n(&job->abandoned, __ATOMIC_RELAXED);
}

void job_done(Job *job)
{
    job->done(job); /* the callback may free it */
}

/* ---- the admission thread ---- */
static void *admission_thread(void *session)
{
    Session *s = session;
    for (Job *job; (job = queue_take(&s->queue, STAGE_ADMIT));) {
        if (job_abandoned(job)) fail(&job->err, EF_UNAVAILABLE, "the client has gone");
        if (job->err.code == EF_OK && job_admit(s, job)) queue_pass(&s->queue, STAGE_RUN, job);
        else job_done(job);
    }
    return NULL;
}

/* ---- sessions ---- */
static SessionOptions with_defaults(const SessionOptions *given)
{
    SessionOptions o = given ? *given : (SessionOptions){ 0 };
    if (o.threads <= 0) o.threads = cpu_count();
    if (o.queue_jobs <= 0) o.queue_jobs = 1024;
    if (o.batch_tokens <= 0) o.batch_tokens = 8192;
    if (o.max_inputs == 0) o.max_inputs = 4096;
    if (o.max_output == 0) o.max_output = (size_t)512 << 20;
    return o;
}

/* Fewer threads than asked for are still a crew. */
static bool hire(Session *s, Stage stage, int n, void *work(void *))
{
    Crew *crew = &s->crew[stage];
    crew->thread = ARRAY(&s->arena, pthread_t, n);
    while (crew->n < n && pthread_create(&crew->thread[crew->n], NULL, work, s) == 0) crew->n++;
    return n == 0 || crew->n > 0;
}

/* Where a script runs there are at least two, so that one that is stuck stops nobody. */
static bool start_threads(Session *s)
{
    const Transform *script = s->model->transform;
    int several = MAX(s->options.threads, 2);
    return hire(s, STAGE_SCRIPT, script && script->post ? several : 0, script_thread) &&
           hire(s, STAGE_RUN, 1, runner_thread) &&
           hire(s, STAGE_ADMIT, script && script->pre ? several : 1, admission_thread);
}

/* Each stage is closed only when nobody is left who could pass a job to it. */
static void end_threads(Session *s)
{
    for (Stage stage = 0; stage < STAGES; stage++) {
        queue_close(&s->queue, stage);
        for (int i = 0; i < s->crew[stage].n; i++) pthread_join(s->crew[stage].thread[i], NULL);
    }
}

static void release(Session *s)
{
    runner_free(s->runner);
    pool_free(s->pool);
    transform_pool_free(s->vms);
    queue_free(&s->queue);
    Arena arena = s->arena;
    arena_free(&arena);
}

Session *session_new(const Model *model, const SessionOptions *options)
{
    Arena arena = { 0 };
    Session *s = NEW(&arena, Session);
    s->arena = arena;
    s->model = model;
    s->options = with_defaults(options);
    s->pool = pool_new(s->options.threads);
    s->runner = runner_new(model->engine, s->pool);
    if (model->transform) s->vms = transform_pool(model->transform);
    queue_init(&s->queue, s->options.queue_jobs);
    if (start_threads(s)) return s;
    end_threads(s);
    release(s);
    return NULL;
}

bool session_submit(Session *s, Job *job, Err *err)
{
    return queue_enter(&s->queue, STAGE_ADMIT, job, err);
}

void session_drain(Session *s)
{
    if (s->drained) return;
    s->drained = true;
    queue_refuse(&s->queue);
    end_threads(s);
}

void session_free(Session *s)
{
    if (!s) return;
    session_drain(s);
    release(s);
}

const Model *session_model(const Session *s)
{
    return s->model;
}

void session_describe(const Session *s, Buf *out)
{
    const Model *m = s->model;
    buf_printf(out, "%.*s (%s, %s, %s, %d threads)", STR_ARG(m->name), m->task->name,
               m->precision ? m->precision : "fp32", kernels()->isa, pool_threads(s->pool));
}

/* ---- submit and wait ---- */
typedef struct Waiter {
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool done;
} Waiter;

static void wake_waiter(Job *job)
{
    Waiter *w = job->context;
    pthread_mutex_lock(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->lock);
}

void session_run(Session *s, Job *job)
{
    Waiter w = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    job->done = wake_waiter;
    job->context = &w;
    if (!job_admit(s, job) || !queue_enter(&s->queue, STAGE_RUN, job, &job->err)) return;
    pthread_mutex_lock(&w.lock);
    while (!w.done) pthread_cond_wait(&w.came, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.came);
    pthread_mutex_destroy(&w.lock);
}
