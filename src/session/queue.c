/* SPDX-License-Identifier: Apache-2.0
 * queue.c - jobs waiting for a stage. Bounds are checked only at the entrance, so what is in always
 * gets through.
 *
 * Jobs that wait for a run are in a heap by virtual time: a job's next row is due when its client
 * has had as much as every other waiting client would have had by then (self-clocked fair
 * queueing: the clock is what the last row that ran was due at). So a short query is due before
 * the documents that came earlier, a list of two thousand texts advances beside single ones, and
 * nothing waits for ever: the clock moves with every run. Short rows never wait for more than one
 * long run.
 *
 * Of runners side by side, each takes its equal share of what is waiting and running, so that the
 * next finds as much; only what one thread would be too slow for is run by several. */
#include <sched.h>

#include "base/heap.h"
#include "stages.h"

enum {
    SMALL_BODY = 16 << 10,       /* bytes; parsing and tokenizing take less than a millisecond */
    LONG_TEXT = 64 << 10,        /* and from here on, several */
    SHORT_ROW = 128,             /* tokens; such rows pay the same and go with any others, */
    SMALL_PART = 4,              /* as do those of at most a fourth of a run; */
    STRETCH = 4,                 /* a longer one only with those at least a fourth of it */
    MOST_ASIDE = 256,            /* jobs passed over in search of one that fits */
    FIRST_HEAP = 64,             /* jobs */
    MOST_ADMITTED = 8,           /* jobs, by a runner before it looks for rows again */
    OWN_PART = 128,              /* tokens: with so many a thread gets a part of the rows to itself, */
    OWN_PARTS = 4,               /*   if there are at least so many parts */
    LOOKING_FROM = 4,            /* runners: with fewer, others have more use for the CPU */
    MOST_CALLED = 64,            /* runners, at once */
};
static const double look_s = 50e-6; /* waking up takes as long */
static const double near_s = 0.0005; /* until some runner will be free: it is waited for */
static const double sweep_s = 0.002;

static bool heap_grow(Queue *queue, int room)
{
    Due *heap = heap_resize(queue->heap, (size_t)room * sizeof *heap);
    if (!heap) return false;
    queue->heap = heap;
    queue->heap_room = room;
    return true;
}

/* With many threads it is often taken, but for less time than it takes to fall asleep and wake. */
static void queue_lock(Queue *queue)
{
    enum { TRIES = 500 };
    for (int i = 0; queue->side >= LOOKING_FROM && i < TRIES; i++) {
        if (!__atomic_load_n(&queue->locked, __ATOMIC_RELAXED) &&
            pthread_mutex_trylock(&queue->lock) == 0) {
            __atomic_store_n(&queue->locked, true, __ATOMIC_RELAXED);
            return;
        }
        cpu_pause();
    }
    pthread_mutex_lock(&queue->lock);
    __atomic_store_n(&queue->locked, true, __ATOMIC_RELAXED);
}

static void queue_unlock(Queue *queue)
{
    __atomic_store_n(&queue->locked, false, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_wait(Queue *queue, pthread_cond_t *came)
{
    __atomic_store_n(&queue->locked, false, __ATOMIC_RELAXED);
    pthread_cond_wait(came, &queue->lock);
    __atomic_store_n(&queue->locked, true, __ATOMIC_RELAXED);
}

void queue_init(Queue *queue, const QueueSetup *setup, SessionMeters *meters)
{
    *queue = (Queue){ .limit = setup->limit,
                      .budget = setup->budget,
                      .row_cost = setup->row_cost,
                      .runners_admit = setup->runners_admit,
                      .runners_alone = setup->runners_alone,
                      .lendable = setup->lendable,
                      .side = setup->side,
                      .most = setup->most,
                      .least = setup->least,
                      .of = setup->of,
                      .meters = meters };
    heap_grow(queue, FIRST_HEAP);
    pthread_mutex_init(&queue->lock, NULL);
    for (int i = 0; i < STAGES; i++) {
        queue->stage[i].tail = &queue->stage[i].head;
        pthread_cond_init(&queue->stage[i].came, NULL);
    }
}

void queue_free(Queue *queue)
{
    heap_resize(queue->heap, 0);
    for (int i = 0; i < STAGES; i++) pthread_cond_destroy(&queue->stage[i].came);
    pthread_mutex_destroy(&queue->lock);
}

static void count_waiting(Queue *queue, int change)
{
    queue->waiting += change;
    __atomic_store_n(&queue->meters->waiting, queue->waiting, __ATOMIC_RELAXED);
}

/* ---- the heap ---- */
static bool before(const Due *a, const Due *b)
{
    return a->due < b->due || (a->due == b->due && a->number < b->number);
}

static void sift_up(Queue *queue, int at, Due job)
{
    for (int up; at > 0 && before(&job, &queue->heap[up = (at - 1) / 2]); at = up)
        queue->heap[at] = queue->heap[up];
    queue->heap[at] = job;
}

static void sift_down(Queue *queue, int at, Due job)
{
    for (int down; (down = 2 * at + 1) < queue->heap_n; at = down) {
        if (down + 1 < queue->heap_n && before(&queue->heap[down + 1], &queue->heap[down])) down++;
        if (!before(&queue->heap[down], &job)) break;
        queue->heap[at] = queue->heap[down];
    }
    queue->heap[at] = job;
}

static Work *heap_remove(Queue *queue, int at)
{
    Work *work = queue->heap[at].work;
    Due last = queue->heap[--queue->heap_n];
    queue->cost -= work->turn.left;
    count_waiting(queue, -1);
    if (at == queue->heap_n) return work;
    bool up = at > 0 && before(&last, &queue->heap[(at - 1) / 2]);
    if (up) sift_up(queue, at, last);
    else sift_down(queue, at, last);
    return work;
}

/* Takes those out that are in a load, or that nobody wants (now > 0): they become a list. */
static Work *heap_sort_out(Queue *queue, double now)
{
    Work *list = NULL;
    int n = 0;
    for (int i = 0; i < queue->heap_n; i++) {
        Work *work = queue->heap[i].work;
        if (now > 0 ? !work_is_unwanted(work, now) : !queue->heap[i].taken) {
            queue->heap[n++] = queue->heap[i];
            continue;
        }
        queue->cost -= work->turn.left;
        work->next = list;
        list = work;
    }
    count_waiting(queue, n - queue->heap_n);
    queue->heap_n = n;
    for (int i = list ? n / 2 : 0; i-- > 0;) sift_down(queue, i, queue->heap[i]);
    return list;
}

static int64_t next_cost(const Queue *queue, const Work *work)
{
    return queue->row_cost ? queue->row_cost : work->row[work_turn(work, work->turn.at)].cost;
}

/* What a row costs its client. Short ones pay the same, so that those who send single texts wait
 * equally long. */
static double charge(int64_t cost)
{
    return (double)MAX(cost, SHORT_ROW);
}

static void heap_add(Queue *queue, Work *work)
{
    Due job = { work, work->turn.due, next_cost(queue, work), work->turn.number, false };
    queue->cost += work->turn.left;
    sift_up(queue, queue->heap_n++, job);
    count_waiting(queue, 1);
}

/* ---- in ---- */
Stage stage_for(size_t bytes)
{
    return bytes > LONG_TEXT ? STAGE_LONG : STAGE_ADMIT;
}

static bool small(const Work *work)
{
    return work && work->slice.n == 0 && !work->unread && work->bytes <= SMALL_BODY;
}

static bool left_to_runner(const Queue *queue, const Work *work)
{
    return queue->runners_admit && small(work);
}

static void queue_append(Queue *queue, Stage to, Work *work)
{
    struct QueueStage *stage = &queue->stage[to];
    work->next = NULL;
    *stage->tail = work;
    stage->tail = &work->next;
    stage->n++;
    count_waiting(queue, 1);
}

static int64_t cost_of_rows(const Queue *queue, const Work *work)
{
    int64_t cost = 0;
    for (size_t r = 0; r < work->rows; r++)
        cost += queue->row_cost ? queue->row_cost : work->row[r].cost;
    return cost;
}

/* A job's first row is due a row's worth after what its client has had; later ones keep their
 * time. */
static void append_run(Queue *queue, Work *work)
{
    if (!work->turn.number) {
        work->turn.number = ++queue->entries;
        work->turn.due = MAX(queue->clock, work->share) + charge(next_cost(queue, work));
        work->turn.left = cost_of_rows(queue, work);
    }
    heap_add(queue, work);
}

/* A runner will look for small jobs soon enough: nobody else is woken. */
static bool runner_is_near(const Queue *queue)
{
    return queue->runners_alone ||
           (queue->side && !queue->ganged && queue->spell < near_s * queue->side);
}

/* Runners with nothing to do that nobody has asked for anything. */
static int free_runners(const Queue *queue)
{
    return queue->lent ? 0 : queue->idle_runners + MAX(queue->looking - queue->promised, 0);
}

static void tell_news(Queue *queue)
{
    __atomic_store_n(&queue->news, queue->news + 1, __ATOMIC_RELEASE);
}

static void count_idle(Queue *queue, int change)
{
    __atomic_store_n(&queue->idle_runners, queue->idle_runners + change, __ATOMIC_RELAXED);
}

/* NULL: none sleeps. */
static pthread_cond_t *call_sleeper(Queue *queue)
{
    RunnerBed *bed = queue->asleep;
    if (!bed) return NULL;
    queue->asleep = bed->below;
    bed->called = true;
    count_idle(queue, -1);
    return &bed->call;
}

/* Whose condition is to be signalled for a runner; NULL: one will look or has been lent, or all are
 * busy. */
static pthread_cond_t *ask_runner(Queue *queue)
{
    tell_news(queue);
    if (queue->lent) return NULL;
    if (queue->looking > queue->promised) return queue->promised++, NULL;
    return call_sleeper(queue);
}

/* Runners that are to be signalled once the lock is free. */
typedef struct Calls {
    pthread_cond_t *came[MOST_CALLED];
    int n;
} Calls;

static void add_call(Queue *queue, Calls *calls)
{
    pthread_cond_t *came = ask_runner(queue);
    if (came) calls->came[calls->n++] = came;
}

static void unlock_and_signal_all(Queue *queue, const Calls *calls)
{
    queue_unlock(queue);
    for (int i = 0; i < calls->n; i++) pthread_cond_signal(calls->came[i]);
}

/* Returns what is to be signalled once the lock is free: who wakes up wants it. NULL: nothing. */
static pthread_cond_t *add(Queue *queue, Stage to, Work *work)
{
    if (to == STAGE_RUN) append_run(queue, work);
    else queue_append(queue, to, work);
    bool runner = left_to_runner(queue, work) && (free_runners(queue) || runner_is_near(queue));
    if (to == STAGE_RUN || (to == STAGE_ADMIT && runner)) return ask_runner(queue);
    return &queue->stage[to].came;
}

static void unlock_and_signal(Queue *queue, pthread_cond_t *came)
{
    queue_unlock(queue);
    if (came) pthread_cond_signal(came);
}

static bool refused(const Queue *queue, const Work *work, Err *err)
{
    SessionMeters *m = queue->meters;
    if (queue->refusing) {
        count_add(&m->late, 1);
        return !fail(err, EF_UNAVAILABLE, "stopping: no new requests");
    }
    if (queue->waiting >= queue->limit) {
        count_add(&m->full, 1);
        return !fail(err, EF_OVERLOADED,
                     "queue: found %d requests waiting, wanted less than %d: try again",
                     queue->waiting, queue->limit);
    }
    size_t own = work->budget.used, limit = queue->budget->limit;
    size_t all = own + (work->budget.all ? 0 : budget_used(queue->budget));
    if (work->budget.all || !limit || all <= limit) return false;
    count_add(&m->heavy, 1);
    own = budget_needs(&work->budget, 0);
    if (own > limit)
        return !fail(err, EF_TOO_LARGE, "request: found %zu bytes, wanted at most %zu", own, limit);
    return !fail(err, EF_OVERLOADED,
                 "queue: found %zu bytes of requests, wanted at most %zu: try again", all, limit);
}

/* What is in must always find room in the heap. */
static bool heap_reserve(Queue *queue, Err *err)
{
    int inside = __atomic_load_n(&queue->inside, __ATOMIC_RELAXED);
    if (inside < queue->heap_room || heap_grow(queue, MAX(FIRST_HEAP, 2 * queue->heap_room)))
        return true;
    return fail(err, EF_UNAVAILABLE, "queue: no memory for another request: try again");
}

static bool let_in(Queue *queue, Work *work, Err *err)
{
    if (refused(queue, work, err) || !heap_reserve(queue, err)) return false;
    if (!work->budget.all) budget_join(&work->budget, queue->budget);
    __atomic_add_fetch(&queue->inside, 1, __ATOMIC_RELAXED);
    return true;
}

bool queue_enter(Queue *queue, Stage to, Work *work, Err *err)
{
    queue_lock(queue);
    bool ok = let_in(queue, work, err);
    unlock_and_signal(queue, ok ? add(queue, to, work) : NULL);
    return ok;
}

static int free_gang(const Queue *queue) /* -1: none */
{
    int i = 0;
    while (i < queue->gangs && queue->gang[i].taken) i++;
    return i < queue->gangs ? i : -1;
}

/* A caller that waits for its job might as well run it: two changes of threads less. */
bool queue_enter_run(Queue *queue, Work *work, bool *mine, Err *err)
{
    queue_lock(queue);
    bool ok = let_in(queue, work, err);
    bool nothing = !queue->heap_n && !queue->stage[STAGE_ADMIT].head; /* for the runner to do */
    bool lent = queue->side ? free_gang(queue) < 0 : queue->lent;
    *mine = ok && nothing && queue->lendable && free_runners(queue) && !lent;
    queue->lent |= *mine && !queue->side;
    if (*mine) append_run(queue, work);
    unlock_and_signal(queue, ok && !*mine ? add(queue, STAGE_RUN, work) : NULL);
    return ok;
}

static void empty(Load *load)
{
    load->n = load->rows = 0;
    load->cost = load->longest = 0;
    load->seconds = 0;
}

static void gang_end(Queue *queue, Gang *gang)
{
    queue->running -= gang->load->cost;
    queue->ganged--;
    empty(gang->load);
    *gang = (Gang){ .load = gang->load }; /* who has not come need not come any more */
}

void queue_give_back(Queue *queue, int gang)
{
    const struct QueueStage *run = &queue->stage[STAGE_RUN];
    queue_lock(queue);
    queue->lent = false;
    if (gang >= 0) gang_end(queue, &queue->gang[gang]);
    bool more = queue->heap_n || queue->stage[STAGE_ADMIT].head || run->closed;
    unlock_and_signal(queue, more ? ask_runner(queue) : NULL);
}

void queue_pass(Queue *queue, Stage to, Work *work)
{
    queue_lock(queue);
    unlock_and_signal(queue, add(queue, to, work));
}

void queue_pass_runs(Queue *queue, Work *list)
{
    Calls calls = { .n = 0 };
    queue_lock(queue);
    for (Work *work = list, *next; work; work = next) {
        next = work->next;
        append_run(queue, work);
        bool ours = work == list || calls.n == MOST_CALLED;
        if (!ours && free_runners(queue)) add_call(queue, &calls);
    }
    unlock_and_signal_all(queue, &calls);
}

void queue_leave(Queue *queue)
{
    __atomic_sub_fetch(&queue->inside, 1, __ATOMIC_RELAXED);
}

/* ---- out: admission and scripts ---- */
static Work *remove_first(Queue *queue, Stage from)
{
    struct QueueStage *stage = &queue->stage[from];
    Work *work = stage->head;
    if (!work) return NULL;
    stage->head = work->next;
    if (!stage->head) stage->tail = &stage->head;
    stage->n--;
    work->next = NULL;
    count_waiting(queue, -1);
    return work;
}

/* One that has more slices goes to the end: between them others get their turn. */
static int next_slice(Queue *queue, Stage stage, Work *work)
{
    int slice = work->slice.next++;
    if (work->slice.next < work->slice.n) {
        queue_append(queue, stage, work);
        pthread_cond_signal(&queue->stage[stage].came);
    }
    return slice;
}

Work *queue_take(Queue *queue, Stage from, int *slice)
{
    struct QueueStage *stage = &queue->stage[from];
    queue_lock(queue);
    while (!stage->head && !stage->closed) queue_wait(queue, &stage->came);
    Work *work = remove_first(queue, from);
    bool cut = work && work->slice.n && from != STAGE_SCRIPT;
    *slice = cut ? next_slice(queue, from, work) : 0;
    queue_unlock(queue);
    return work;
}

/* ---- out: runs ---- */
/* Jobs that nobody waits for give their place back, wherever they stand. Many runners would look at
 * all of them too often: in between, only what is due is looked at. */
static Work *sweep(Queue *queue)
{
    double now = now_seconds();
    Work *list = NULL;
    if (!queue->side || now - queue->swept >= sweep_s) {
        queue->swept = now;
        return heap_sort_out(queue, now);
    }
    while (queue->heap_n && work_is_unwanted(queue->heap[0].work, now)) {
        Work *work = heap_remove(queue, 0);
        work->next = list;
        list = work;
    }
    return list;
}

static bool long_row(int64_t cost, int64_t most)
{
    return cost > SHORT_ROW && cost > most / SMALL_PART;
}

/* Whether the job's next row needs what its rows in this load hand on. */
static bool follows(const Load *load, const Work *work)
{
    size_t first = load->piece[work->turn.piece].from;
    return work->row[work_turn(work, work->turn.at)].step != work->row[work_turn(work, first)].step;
}

/* Whether the job's next row may join. A run ends for all its rows at once: a long one must not
 * hold short ones back. */
static bool fits(const Load *load, const Due *job, int64_t most)
{
    if (load->rows == 0) return true;
    if (load->cost + job->cost > most) return false;
    if (job->taken) return !follows(load, job->work);
    return load->n < LOAD_PIECES &&
           (!long_row(job->cost, most) || job->cost <= STRETCH * load->longest);
}

static void hand_row(Queue *queue, Load *load, int at)
{
    Due job = queue->heap[at];
    Work *work = job.work;
    if (!job.taken) {
        work->turn.piece = load->n;
        load->piece[load->n++] = (LoadPiece){ work, work->turn.at, work->turn.at };
    }
    load->piece[work->turn.piece].to++;
    load->rows++;
    load->cost += job.cost;
    load->longest = MAX(load->longest, job.cost);
    work->turn.left -= job.cost;
    queue->cost -= job.cost;
    if (++work->turn.at == work->rows) return (void)heap_remove(queue, at);
    job.cost = next_cost(queue, work);
    job.due = work->turn.due += charge(job.cost);
    job.taken = true;
    sift_down(queue, at, job);
}

/* The short row that is due first, where long ones are due before it and one has just been run:
 * a client that has had its share with short texts still gets every second run. 0: none. */
static int overtaking(const Queue *queue, int64_t most)
{
    int first = 0;
    if (!queue->last_long || !long_row(queue->heap[0].cost, most)) return 0;
    for (int i = 1; i < queue->heap_n; i++) {
        bool sooner = !first || before(&queue->heap[i], &queue->heap[first]);
        if (sooner && !long_row(queue->heap[i].cost, most)) first = i;
    }
    return first;
}

/* The first row in time order, and then those that fit, until it is enough; a job is part of one
 * load at a time. */
static void fill(Queue *queue, int64_t most, int64_t enough, Load *load)
{
    Due aside[MOST_ASIDE];
    int n_aside = 0;
    int first = queue->heap_n ? overtaking(queue, most) : 0;
    if (first) hand_row(queue, load, first);
    while (queue->heap_n && load->rows < LOAD_ROWS && load->cost < enough &&
           n_aside < MOST_ASIDE) {
        const Due *job = &queue->heap[0];
        if (!fits(load, job, most)) {
            aside[n_aside++] = *job;
            heap_remove(queue, 0);
            continue;
        }
        queue->clock = MAX(queue->clock, job->due);
        hand_row(queue, load, 0);
    }
    for (int i = 0; i < n_aside; i++)
        if (!aside[i].taken) heap_add(queue, aside[i].work);
    bool parts = false;
    for (int i = 0; i < load->n; i++) {
        const Work *work = load->piece[i].work;
        parts |= work->turn.at < work->rows;
        load->piece[i].work->turn.piece = -1;
    }
    if (parts) heap_sort_out(queue, 0);
    queue->last_long = long_row(load->longest, most);
}

/* How many threads are a job's by its part of what waits and runs. One that took all that are free
 * would leave none to a job that comes, or that runs on one thread and could take more the next time. */
static int threads_due(const Queue *queue, int64_t job)
{
    int64_t all = MAX(queue->cost + queue->running, 1);
    return (int)((queue->side * job + all - 1) / all);
}

/* How many of those that are free should share the next run. Nothing may be left: all that waited was
 * dropped, or a runner was faster than a borrower. With as many jobs each has its own. A
 * little is for one alone, unless most of the others have nothing to do; of many short rows each takes
 * a part to itself, where there is enough for that; what cannot be cut is for all. */
static int threads_for(const Queue *queue, int idle)
{
    int all = 1 + idle, jobs = queue->heap_n;
    int64_t job = jobs ? queue->cost / jobs : 0, least = queue->least(queue->of);
    int most = jobs ? MIN(all / jobs, threads_due(queue, job)) : 0;
    if (most <= 1) return 1;
    if (job <= OWN_PART && 2 * idle < queue->side) return 1;
    bool cut = queue->heap[0].cost <= OWN_PART && job >= OWN_PARTS * OWN_PART;
    if (cut) least = MAX(least, OWN_PART);
    return least ? (int)MIN(MAX(job / least, 1), most) : most;
}

/* Of all that waits and runs, as much as is due to so many of the runners; one alone takes half of
 * it, so that who becomes free next finds something. Several take a job. */
static void fill_share(Queue *queue, int threads, Load *load)
{
    int64_t most = queue->most(queue->of, threads), all = queue->cost + queue->running;
    int64_t share = all * threads / queue->side + 1;
    share = threads > 1 ? MAX(share, queue->cost / MAX(queue->heap_n, 1)) : share / 2 + 1;
    fill(queue, most, MAX(MIN(share, most - most / 8), 1), load);
    queue->running += load->cost;
}

static void lead_gang(Queue *queue, int threads, int spare, Taken *to)
{
    to->gang = free_gang(queue);
    to->helpers = threads - 1;
    to->spare = spare;
    to->load = queue->gang[to->gang].load;
    queue->gang[to->gang].taken = true;
    queue->ganged++;
    fill_share(queue, threads, to->load);
}

static void load_rows(Queue *queue, Load *own, int idle, Taken *to)
{
    int threads = queue->side ? threads_for(queue, idle) : 0;
    if (threads > 1 && free_gang(queue) >= 0) return lead_gang(queue, threads, 0, to);
    if (threads >= 1) return fill_share(queue, 1, own);
    int64_t most = queue->most(queue->of, 0);
    fill(queue, most, most, own);
}

/* Small jobs that wait for admission, a runner's part of them. */
static Work *take_admissions(Queue *queue)
{
    struct QueueStage *first = &queue->stage[STAGE_ADMIT];
    Work *list = NULL, **end = &list;
    int n = queue->side ? MIN(first->n / (free_runners(queue) + 1) + 1, MOST_ADMITTED) : 1;
    while (n-- > 0 && left_to_runner(queue, first->head)) {
        *end = remove_first(queue, STAGE_ADMIT);
        end = &(*end)->next;
    }
    return list;
}

static bool take_call(Queue *queue, Taken *to)
{
    for (int i = 0; i < queue->gangs; i++) {
        Gang *gang = &queue->gang[i];
        if (gang->called == 0) continue;
        gang->called--;
        to->gang = i;
        to->help = ++gang->helpers;
        to->call = gang->call;
        return true;
    }
    return false;
}

/* The next request often comes at once, and both ways of waking cost more than looking; every other
 * thread goes first. */
static void look_around(Queue *queue)
{
    unsigned seen = queue->news;
    __atomic_store_n(&queue->looking, queue->looking + 1, __ATOMIC_RELAXED);
    queue_unlock(queue);
    double until = now_seconds() + look_s;
    do sched_yield();
    while (__atomic_load_n(&queue->news, __ATOMIC_ACQUIRE) == seen && now_seconds() < until);
    queue_lock(queue);
    __atomic_store_n(&queue->looking, queue->looking - 1, __ATOMIC_RELAXED);
    queue->promised = MAX(queue->promised - 1, 0);
}

static void sleep_for_news(Queue *queue, RunnerBed *bed)
{
    do {
        bed->called = false;
        bed->below = queue->asleep;
        queue->asleep = bed;
        count_idle(queue, 1);
        while (!bed->called) queue_wait(queue, &bed->call);
    } while (queue->lent);
}

/* Waits until there is something; false: nothing will come any more. */
static bool wait_for_work(Queue *queue, RunnerBed *bed, bool run, Taken *to)
{
    struct QueueStage *wait = &queue->stage[STAGE_RUN], *first = &queue->stage[STAGE_ADMIT];
    bool looks = queue->side >= LOOKING_FROM;
    for (;;) {
        bool soon = runner_is_near(queue) && !run;
        if (left_to_runner(queue, first->head) && (soon || !queue->heap_n)) {
            to->admit = take_admissions(queue);
            return true;
        }
        to->dropped = sweep(queue);
        if (queue->heap_n || to->dropped) return true;
        if (wait->closed) return false;
        if (looks) look_around(queue);
        else sleep_for_news(queue, bed);
        looks = false;
        if (take_call(queue, to)) return true;
    }
}

/* Without a gang, one of the runners will do. */
void queue_borrow(Queue *queue, Load *load, Taken *to)
{
    *to = (Taken){ .load = load, .gang = -1 };
    pthread_cond_t *came = NULL;
    queue_lock(queue);
    if (load) empty(load);
    to->dropped = sweep(queue);
    int idle = free_runners(queue) - 1; /* one gives its CPU to the borrower */
    if (!queue->side) load_rows(queue, load, 0, to);
    else if (free_gang(queue) >= 0) lead_gang(queue, threads_for(queue, idle), 1, to);
    else came = ask_runner(queue);
    unlock_and_signal(queue, came);
}

void queue_call(Queue *queue, const Taken *taken, unsigned call)
{
    Gang *gang = &queue->gang[taken->gang];
    Calls calls = { .n = 0 };
    queue_lock(queue);
    int called = MIN(MIN(taken->helpers, free_runners(queue)), MOST_CALLED);
    gang->call = call;
    for (; gang->called < called; gang->called++) add_call(queue, &calls);
    unlock_and_signal_all(queue, &calls);
}

bool queue_stay(Queue *queue, Work *list, Taken *taken)
{
    Gang *gang = &queue->gang[taken->gang];
    queue_lock(queue);
    queue->running -= gang->load->cost;
    empty(gang->load);
    while (list) {
        Work *work = list;
        list = work->next;
        append_run(queue, work);
    }
    taken->dropped = sweep(queue);
    int others = free_runners(queue) - taken->spare + taken->helpers;
    bool stay = queue->heap_n && !left_to_runner(queue, queue->stage[STAGE_ADMIT].head) &&
                threads_for(queue, others) == 1 + taken->helpers;
    if (stay) fill_share(queue, 1 + taken->helpers, gang->load);
    queue_unlock(queue);
    return stay;
}

/* The runner's last run is over. */
static void note_end(Queue *queue, Load *load)
{
    enum { OF_PAST = 8 };
    if (queue->side && load->seconds > 0)
        queue->spell += (load->seconds - queue->spell) / OF_PAST;
    queue->running -= queue->side ? load->cost : 0;
    if (queue->side) empty(load);
}

bool queue_load(Queue *queue, Load *load, RunnerBed *bed, bool run, Taken *to)
{
    struct QueueStage *first = &queue->stage[STAGE_ADMIT];
    *to = (Taken){ .load = load, .gang = -1 };
    if (queue->side >= LOOKING_FROM) sched_yield(); /* a loop has less to do than the next run */
    queue_lock(queue);
    note_end(queue, load);
    bool more = wait_for_work(queue, bed, run, to);
    if (!queue->side) empty(load); /* not before: while this one was idle a borrower may have used it */
    if (more && !to->admit && !to->help) load_rows(queue, load, free_runners(queue), to);
    /* what this runner might have admitted had it stayed idle */
    bool left = more && first->head && !(runner_is_near(queue) && left_to_runner(queue, first->head));
    unlock_and_signal(queue, left ? &first->came : NULL);
    return more;
}

/* ---- the end ---- */
void queue_refuse(Queue *queue)
{
    queue_lock(queue);
    queue->refusing = true;
    queue_unlock(queue);
}

void queue_close(Queue *queue, Stage which)
{
    queue_lock(queue);
    queue->stage[which].closed = true;
    pthread_cond_broadcast(&queue->stage[which].came);
    for (pthread_cond_t *came; which == STAGE_RUN && (came = call_sleeper(queue));)
        pthread_cond_signal(came);
    queue_unlock(queue);
}
