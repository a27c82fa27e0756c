/* SPDX-License-Identifier: Apache-2.0
 * session.c - the life of a session and of a job: threads start, jobs enter, threads end when all
 * that entered has been answered. */
#include "session.h"

#include "stages.h"

/* ---- work ---- */
void work_init(Work *work, Arena arena)
{
    work->arena = arena;
    work->arena.budget = &work->budget;
    work->budget.used = arena.total;
    work->turn.piece = -1;
}

void work_shrink(Work *work)
{
    for (int i = 0; i < work->slice.n; i++) arena_free(&work->slice.arena[i]);
    work->slice.n = 0;
    arena_keep_first(&work->arena); /* the work is in there */
}

/* Who wants more than all may have must send less; others may find room later. */
static void say_missing(const Session *s, Shortage shortage, Err *err)
{
    size_t limit = s->budget.limit;
    if (!shortage.limit)
        fail(err, EF_UNAVAILABLE, "out of memory: %zu bytes wanted: try again", shortage.wanted);
    else if (shortage.needs > limit)
        fail(err, EF_TOO_LARGE, "this request needs more than %zu bytes, wanted at most %zu",
             shortage.needs, limit);
    else
        fail(err, EF_OVERLOADED, "this request needs %zu bytes more than others leave of %zu: "
             "try again", shortage.wanted, limit);
}

bool session_guarded(Session *s, void (*fn)(void *), void *arg, Err *err)
{
    Shortage shortage;
    if (guarded(fn, arg, &shortage)) return true;
    say_missing(s, shortage, err);
    count_add(shortage.limit ? &s->meters.heavy : &s->meters.short_of_memory, 1);
    return false;
}

TaskPool *work_pooling(const Session *s, const Work *work)
{
    const Task *task = s->model->task;
    if (work->keep == KEEP_TOKENS) return NULL;
    if (work->options.patches && s->outputs == 1) return NULL; /* the only output is both: finish pools it */
    return work->keep == KEEP_TASK ? task_own_pool(task) : task->pool;
}

void work_abandon(Work *work)
{
    __atomic_store_n(&work->abandoned, true, __ATOMIC_RELAXED);
}

bool work_unwanted(Session *s, Work *work)
{
    bool late = work->deadline > 0 && work->deadline <= now_seconds();
    bool gone = __atomic_load_n(&work->abandoned, __ATOMIC_RELAXED);
    if (gone) fail(&work->err, EF_UNAVAILABLE, "the client has gone");
    else if (late) fail(&work->err, EF_DEADLINE, "the request waited longer than it may");
    if (gone || late) count_add(gone ? &s->meters.abandoned : &s->meters.expired, 1);
    return gone || late;
}

void work_done(Session *s, Work *work)
{
    work->times.done = now_seconds();
    work->share = MAX(work->share, work->turn.due); /* that one is 0 of what was never run */
    if (work->err.code == EF_OK) {
        count_add(&s->meters.jobs, 1);
        count_add(&s->meters.rows, work->n);
        count_add(&s->meters.tokens, (uint64_t)work->tokens);
    }
    queue_leave(&s->queue);
    work->done(work); /* the callback may free it */
}

/* ---- sessions ---- */
static SessionOptions with_defaults(const SessionOptions *given)
{
    SessionOptions o = given ? *given : (SessionOptions){ 0 };
    if (o.threads <= 0) o.threads = cpu_count();
    if (o.bulk) o.replicas = o.threads; /* none waits for another at the end of a run */
    if (o.threads == 1) o.replicas = 1;
    o.replicas = MIN(MAX(o.replicas, 0), o.threads);
    if (o.queue_jobs <= 0) o.queue_jobs = SESSION_QUEUE_JOBS;
    if (o.batch_tokens <= 0) o.batch_tokens = SESSION_BATCH_TOKENS;
    if (o.batch_seconds <= 0) o.batch_seconds = SESSION_BATCH_MS / 1000.0;
    if (o.max_inputs == 0) o.max_inputs = SESSION_MAX_INPUTS;
    if (o.max_output == 0) o.max_output = (size_t)512 << 20;
    if (o.max_pixels == 0) o.max_pixels = SESSION_MAX_PIXELS;
    if (o.max_seconds == 0) o.max_seconds = SESSION_MAX_SECONDS;
    if (o.max_bytes == 0) o.max_bytes = SESSION_MAX_BYTES;
    return o;
}

/* What they need is taken before the first request comes, or the program ends. */
static bool await_runners(Session *s)
{
    for (int i = 0; i < s->crew[STAGE_RUN].started; i++)
        while (sem_wait(&s->ready) != 0) continue; /* a signal came */
    return true;
}

/* Of those that a script could keep busy there are at least two. */
static void plan_threads(Session *s)
{
    const Transform *script = s->model->transform;
    int several = MAX(s->options.threads, 2);
    crew_plan(s, STAGE_SCRIPT, script && script->post ? several : 0, script_thread);
    crew_plan(s, STAGE_RUN, s->queue.side ? s->queue.side : s->options.replicas, runner_thread);
    crew_plan(s, STAGE_LONG, s->options.threads, admission_thread);
    crew_plan(s, STAGE_ADMIT, several, admission_thread);
}

static bool start_threads(Session *s)
{
    plan_threads(s);
    return crew_start(s, STAGE_SCRIPT) && (!s->queue.side || gangs_make(s)) &&
           crew_start(s, STAGE_RUN) && await_runners(s);
}

/* session_run needs no threads of admission: programs that call nothing else start faster without. */
bool session_expect(Session *s, Err *err)
{
    if (__atomic_load_n(&s->admits, __ATOMIC_ACQUIRE)) return true;
    pthread_mutex_lock(&s->starting);
    bool ok = s->admits || s->drained || (crew_start(s, STAGE_LONG) && crew_start(s, STAGE_ADMIT));
    __atomic_store_n(&s->admits, ok, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&s->starting);
    return ok || fail(err, EF_UNAVAILABLE, "no thread could be started: try again");
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
    texts_free(s->texts);
    gangs_free(s);
    queue_free(&s->queue);
    sem_destroy(&s->ready);
    pthread_mutex_destroy(&s->starting);
    if (s->steps.end) s->steps.end(s->steps.own);
    Arena arena = s->arena;
    arena_free(&arena);
}

/* A row has room for those of any of the model's graphs. */
static int most_outputs(const Model *model)
{
    int most = 0;
    for (int g = 0; g < model_graphs(model); g++) most = MAX(most, model_outputs(model, g));
    return most;
}

/* Small jobs: not where few bytes may be seconds of work, as scripts, pages and sounds are. */
static bool runners_may_admit(const Session *s)
{
    const Transform *script = s->model->transform;
    return !(script && script->pre) && !s->options.ocr && !s->model->audio;
}

Session *session_new(const Model *model, const SessionOptions *options, const SessionSteps *steps)
{
    Arena arena = { 0 };
    Session *s = NEW(&arena, Session);
    s->arena = arena;
    s->model = model;
    s->options = with_defaults(options);
    s->steps = *steps;
    s->outputs = most_outputs(model);
    s->budget.limit = s->options.max_bytes;
    sem_init(&s->ready, 0, 0);
    pthread_mutex_init(&s->starting, NULL);
    if (model->transform) s->vms = transform_pool(model->transform);
    if (model->task && model->task->texts) s->texts = texts_new(&s->arena, model);
    queue_init(&s->queue,
               &(QueueSetup){ .limit = s->options.queue_jobs,
                              .budget = &s->budget,
                              .row_cost = model->engine ? engine_static_length(model->engine) : 0,
                              .runners_admit = runners_may_admit(s),
                              .runners_alone = s->options.threads == 1,
                              .lendable = s->options.replicas <= 1,
                              .side = s->options.replicas ? 0 : s->options.threads,
                              .most = runner_most,
                              .least = runner_least,
                              .of = s },
               &s->meters);
    if (start_threads(s)) return s;
    end_threads(s);
    release(s);
    return NULL;
}

bool session_submit(Session *s, Work *work, Err *err)
{
    if (!session_expect(s, err)) return false;
    work->times.entered = now_seconds();
    return queue_enter(&s->queue, stage_for(work->bytes), work, err);
}

void session_drain(Session *s)
{
    pthread_mutex_lock(&s->starting);
    bool drained = s->drained;
    s->drained = true;
    pthread_mutex_unlock(&s->starting);
    if (drained) return;
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

void *session_own(const Session *s)
{
    return s->steps.own;
}

bool session_has_time(const Session *s)
{
    const Queue *q = &s->queue;
    return __atomic_load_n(&q->idle_runners, __ATOMIC_RELAXED) +
           __atomic_load_n(&q->looking, __ATOMIC_RELAXED) > 0;
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

static void wake_waiter(Work *work)
{
    Waiter *w = work->context;
    pthread_mutex_lock(&w->lock);
    w->done = true;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->lock);
}

void session_run(Session *s, Work *work)
{
    Waiter w = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    work->done = wake_waiter;
    work->context = &w;
    work->times.entered = now_seconds();
    bool mine;
    budget_join(&work->budget, &s->budget);
    if (!work_admit(s, work) || !queue_enter_run(&s->queue, work, &mine, &work->err))
        return budget_leave(&work->budget);
    if (mine) runner_borrowed(s);
    pthread_mutex_lock(&w.lock);
    while (!w.done) pthread_cond_wait(&w.came, &w.lock);
    pthread_mutex_unlock(&w.lock);
    budget_leave(&work->budget); /* from now on it is the caller's alone */
    pthread_cond_destroy(&w.came);
    pthread_mutex_destroy(&w.lock);
}
