/* SPDX-License-Identifier: Apache-2.0
 * session.c - the life of a session and of a job: threads start, jobs enter, threads end when all
 * that entered has been answered. */
#include "session.h"

#include "kind.h"
#include "stages.h"

/* ---- jobs: each in its own arena ---- */
Job *job_new(void)
{
    Arena arena = { 0 };
    Job *job = NEW(&arena, Job);
    job->arena = arena;
    job->arena.budget = job->storage.budget = job->json.budget = &job->budget;
    job->budget.used = arena.total;
    job->piece = -1;
    return job;
}

void job_store(Job *job, Buf *body)
{
    job->storage = *body;
    job->storage.budget = &job->budget;
    job->budget.used += body->cap;
    *body = (Buf){ 0 };
}

void job_shrink(Job *job)
{
    for (int i = 0; i < job->n_extra; i++) {
        arena_free(&job->extra[i]);
        buf_free(&job->text[i]);
    }
    for (int i = 0; i < job->slices; i++) arena_free(&job->slice[i]);
    job->n_extra = job->slices = 0;
    buf_free(&job->storage);
    buf_fit(&job->json);
    arena_keep_first(&job->arena); /* this struct is in there */
}

void job_free(Job *job)
{
    if (!job) return;
    job_shrink(job);
    buf_free(&job->json);
    budget_leave(&job->budget);
    Arena arena = job->arena;
    arena.budget = NULL; /* goes with it */
    arena_free(&arena);
}

/* Who wants more than all may have must send less; others may find room later. */
static void say_missing(const Session *s, Shortage shortage, Err *err)
{
    size_t all = shortage.held + shortage.wanted, limit = s->budget.limit;
    if (!shortage.limit)
        fail(err, EF_UNAVAILABLE, "out of memory: %zu bytes wanted: try again", shortage.wanted);
    else if (all > limit)
        fail(err, EF_TOO_LARGE, "this request needs more than %zu bytes, wanted at most %zu",
             all, limit);
    else
        fail(err, EF_OVERLOADED, "this request needs %zu bytes more than others leave of %zu: "
             "try again", shortage.wanted, limit);
}

bool job_guarded(Session *s, void (*fn)(void *), void *arg, Err *err)
{
    Shortage shortage;
    if (guarded(fn, arg, &shortage)) return true;
    say_missing(s, shortage, err);
    count_add(shortage.limit ? &s->meters.heavy : &s->meters.short_of_memory, 1);
    return false;
}

const Str *job_second(const Job *job, size_t row)
{
    return job->second && job->second[row].p ? &job->second[row] : NULL;
}

JobPool *job_pool(const Session *s, const Job *job)
{
    const Task *task = s->model->task;
    if (kind_of(job)->keep == KEEP_TOKENS) return NULL;
    if (kind_of(job)->keep == KEEP_TASK || task->pool) return task->pool;
    return task->words ? task_sparse : task_pool;
}

void job_abandon(Job *job)
{
    __atomic_store_n(&job->abandoned, true, __ATOMIC_RELAXED);
}

bool job_unwanted(Session *s, Job *job)
{
    bool late = job->deadline > 0 && job->deadline <= now_seconds();
    bool gone = __atomic_load_n(&job->abandoned, __ATOMIC_RELAXED);
    if (gone) fail(&job->err, EF_UNAVAILABLE, "the client has gone");
    else if (late) fail(&job->err, EF_DEADLINE, "the request waited longer than it may");
    if (gone || late) count_add(gone ? &s->meters.abandoned : &s->meters.expired, 1);
    return gone || late;
}

void job_done(Session *s, Job *job)
{
    job->times.done = now_seconds();
    job->share = job->finish;
    if (job->err.code == EF_OK) {
        count_add(&s->meters.jobs, 1);
        count_add(&s->meters.rows, job->n);
        count_add(&s->meters.tokens, (uint64_t)job->tokens);
    }
    queue_leave(&s->queue);
    job->done(job); /* the callback may free it */
}

/* ---- sessions ---- */
static SessionOptions with_defaults(const SessionOptions *given)
{
    SessionOptions o = given ? *given : (SessionOptions){ 0 };
    if (o.threads <= 0) o.threads = cpu_count();
    if (o.bulk) o.replicas = o.threads; /* none waits for another at the end of a run */
    o.replicas = MIN(MAX(o.replicas, 1), o.threads);
    if (o.queue_jobs <= 0) o.queue_jobs = SESSION_QUEUE_JOBS;
    if (o.batch_tokens <= 0) o.batch_tokens = SESSION_BATCH_TOKENS;
    if (o.batch_seconds <= 0) o.batch_seconds = SESSION_BATCH_MS / 1000.0;
    if (o.max_inputs == 0) o.max_inputs = SESSION_MAX_INPUTS;
    if (o.max_output == 0) o.max_output = (size_t)512 << 20;
    if (o.max_bytes == 0) o.max_bytes = SESSION_MAX_BYTES;
    return o;
}

/* Of those that a script could keep busy there are at least two. */
static bool start_threads(Session *s)
{
    const Transform *script = s->model->transform;
    int several = MAX(s->options.threads, 2);
    return crew_start(s, STAGE_SCRIPT, script && script->post ? several : 0, script_thread) &&
           crew_start(s, STAGE_RUN, s->options.replicas, runner_thread) &&
           crew_start(s, STAGE_LONG, s->options.threads, admission_thread) &&
           crew_start(s, STAGE_ADMIT, several, admission_thread);
}

/* Each stage is closed only when nobody is left who could pass a job to it. */
static void end_threads(Session *s)
{
    for (Stage stage = 0; stage < STAGES; stage++) {
        queue_close(&s->queue, stage);
        crew_end(s, stage);
    }
}

static void release(Session *s)
{
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
    s->budget.limit = s->options.max_bytes;
    if (model->transform) s->vms = transform_pool(model->transform);
    queue_init(&s->queue,
               &(QueueSetup){ .limit = s->options.queue_jobs,
                              .budget = &s->budget,
                              .row_cost = model->engine ? engine_static_length(model->engine) : 0,
                              .runners_admit = !model->transform || !model->transform->pre,
                              .runners_alone = s->options.threads == 1,
                              .lendable = s->options.replicas == 1 },
               &s->meters);
    if (start_threads(s)) return s;
    end_threads(s);
    release(s);
    return NULL;
}

bool session_submit(Session *s, Job *job, Err *err)
{
    job->times.entered = now_seconds();
    return queue_enter(&s->queue, stage_for(job->body.n), job, err);
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

const SessionMeters *session_meters(const Session *s)
{
    return &s->meters;
}

Budget *session_budget(const Session *s)
{
    return (Budget *)&s->budget;
}

const SessionOptions *session_options(const Session *s)
{
    return &s->options;
}

void session_describe(const Session *s, Buf *out)
{
    const Model *m = s->model;
    int threads = s->options.threads;
    const char *precision = m->precision ? m->precision : "fp32";
    buf_printf(out, "%.*s (%s, %s, %s, %d thread%s", STR_ARG(m->name), m->task->name, precision,
               kernels_isa(kernels(), precision), threads, threads == 1 ? "" : "s");
    if (s->options.replicas > 1) buf_printf(out, ", %d replicas", s->options.replicas);
    buf_char(out, ')');
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
    job->times.entered = now_seconds();
    bool mine;
    budget_join(&job->budget, &s->budget);
    if (!job_admit(s, job) || !queue_enter_run(&s->queue, job, &mine, &job->err))
        return budget_leave(&job->budget);
    if (mine) runner_borrowed(s);
    pthread_mutex_lock(&w.lock);
    while (!w.done) pthread_cond_wait(&w.came, &w.lock);
    pthread_mutex_unlock(&w.lock);
    budget_leave(&job->budget); /* from now on it is the caller's alone */
    pthread_cond_destroy(&w.came);
    pthread_mutex_destroy(&w.lock);
}
