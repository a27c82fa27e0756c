/* SPDX-License-Identifier: Apache-2.0
 * queue.c - jobs waiting for a stage. Bounds are checked only at the entrance, so what is in always
 * gets through.
 *
 * Jobs that wait for a run are in a heap by virtual time: a job's next row is due when its client
 * has had as much as every other waiting client would have had by then (self-clocked fair
 * queueing: the clock is what the last row that ran was due at). So a short query is due before
 * the documents that came earlier, a list of two thousand texts advances beside single ones, and
 * nothing waits for ever: the clock moves with every run. Short rows never wait for more than one
 * long run. */
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
};

static bool heap_grow(Queue *queue, int room)
{
    Job **heap = heap_resize(queue->heap, (size_t)room * sizeof *heap);
    if (!heap) return false;
    queue->heap = heap;
    queue->heap_room = room;
    return true;
}

void queue_init(Queue *queue, const QueueSetup *setup, SessionMeters *meters)
{
    *queue = (Queue){ .limit = setup->limit,
                      .budget = setup->budget,
                      .row_cost = setup->row_cost,
                      .runners_admit = setup->runners_admit,
                      .runners_alone = setup->runners_alone,
                      .lendable = setup->lendable,
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
static bool before(const Job *a, const Job *b)
{
    return a->finish < b->finish || (a->finish == b->finish && a->number < b->number);
}

static void place(Queue *queue, int at, Job *job)
{
    queue->heap[at] = job;
    job->heap_at = at;
}

static void sift_up(Queue *queue, int at, Job *job)
{
    for (int up; at > 0 && before(job, queue->heap[up = (at - 1) / 2]); at = up)
        place(queue, at, queue->heap[up]);
    place(queue, at, job);
}

static void sift_down(Queue *queue, int at, Job *job)
{
    for (int down; (down = 2 * at + 1) < queue->heap_n; at = down) {
        if (down + 1 < queue->heap_n && before(queue->heap[down + 1], queue->heap[down])) down++;
        if (!before(queue->heap[down], job)) break;
        place(queue, at, queue->heap[down]);
    }
    place(queue, at, job);
}

static void heap_add(Queue *queue, Job *job)
{
    sift_up(queue, queue->heap_n++, job);
    count_waiting(queue, 1);
}

static void heap_remove(Queue *queue, Job *job)
{
    int at = job->heap_at;
    Job *last = queue->heap[--queue->heap_n];
    count_waiting(queue, -1);
    if (last == job) return;
    sift_up(queue, at, last);
    sift_down(queue, last->heap_at, last);
}

static int64_t next_cost(const Queue *queue, const Job *job)
{
    return queue->row_cost ? queue->row_cost : (int64_t)job->encoding[job->at].n;
}

/* What a row costs its client. Short ones pay the same, so that those who send single texts wait
 * equally long. */
static double charge(const Queue *queue, const Job *job)
{
    return (double)MAX(next_cost(queue, job), SHORT_ROW);
}

/* ---- in ---- */
Stage stage_for(size_t bytes)
{
    return bytes > LONG_TEXT ? STAGE_LONG : STAGE_ADMIT;
}

static bool small(const Job *job)
{
    return job && job->slices == 0 && !job->body_packed && job->body.n <= SMALL_BODY;
}

static bool left_to_runner(const Queue *queue, const Job *job)
{
    return queue->runners_admit && small(job);
}

static void append(Queue *queue, Stage to, Job *job)
{
    struct QueueStage *stage = &queue->stage[to];
    job->next = NULL;
    *stage->tail = job;
    stage->tail = &job->next;
    count_waiting(queue, 1);
}

/* A job's first row is due a row's worth after what its client has had; later ones keep their
 * time. */
static void append_run(Queue *queue, Job *job)
{
    if (!job->number) {
        job->number = ++queue->entries;
        job->finish = MAX(queue->clock, job->share) + charge(queue, job);
    }
    heap_add(queue, job);
}

static void add(Queue *queue, Stage to, Job *job)
{
    if (to == STAGE_RUN) append_run(queue, job);
    else append(queue, to, job);
    bool idle = queue->runners_alone || (queue->idle_runners && !queue->lent);
    if (to == STAGE_ADMIT && idle && left_to_runner(queue, job)) to = STAGE_RUN;
    if (to != STAGE_RUN || !queue->lent) pthread_cond_signal(&queue->stage[to].came);
}

static bool refused(const Queue *queue, const Job *job, Err *err)
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
    size_t own = job->budget.used, limit = queue->budget->limit;
    size_t all = own + (job->budget.all ? 0 : budget_used(queue->budget));
    if (job->budget.all || !limit || all <= limit) return false;
    count_add(&m->heavy, 1);
    own = budget_needs(&job->budget, 0);
    if (own > limit)
        return !fail(err, EF_TOO_LARGE, "request: found %zu bytes, wanted at most %zu", own, limit);
    return !fail(err, EF_OVERLOADED,
                 "queue: found %zu bytes of requests, wanted at most %zu: try again", all, limit);
}

/* What is in must always find room in the heap. */
static bool heap_reserve(Queue *queue, Err *err)
{
    if (queue->inside < queue->heap_room || heap_grow(queue, MAX(FIRST_HEAP, 2 * queue->heap_room)))
        return true;
    return fail(err, EF_UNAVAILABLE, "queue: no memory for another request: try again");
}

static bool let_in(Queue *queue, Job *job, Err *err)
{
    if (refused(queue, job, err) || !heap_reserve(queue, err)) return false;
    if (!job->budget.all) budget_join(&job->budget, queue->budget);
    queue->inside++;
    return true;
}

bool queue_enter(Queue *queue, Stage to, Job *job, Err *err)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = let_in(queue, job, err);
    if (ok) add(queue, to, job);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

/* A caller that waits for its job might as well run it: two changes of threads less. */
bool queue_enter_run(Queue *queue, Job *job, bool *mine, Err *err)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = let_in(queue, job, err);
    bool nothing = !queue->heap_n && !queue->stage[STAGE_ADMIT].head; /* for the runner to do */
    *mine = ok && nothing && queue->lendable && queue->idle_runners && !queue->lent;
    if (ok) {
        queue->lent |= *mine;
        add(queue, STAGE_RUN, job);
    }
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

void queue_give_back(Queue *queue)
{
    struct QueueStage *run = &queue->stage[STAGE_RUN];
    pthread_mutex_lock(&queue->lock);
    queue->lent = false;
    if (queue->heap_n || queue->stage[STAGE_ADMIT].head || run->closed)
        pthread_cond_signal(&run->came);
    pthread_mutex_unlock(&queue->lock);
}

void queue_pass(Queue *queue, Stage to, Job *job)
{
    pthread_mutex_lock(&queue->lock);
    add(queue, to, job);
    pthread_mutex_unlock(&queue->lock);
}

void queue_leave(Queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->inside--;
    pthread_mutex_unlock(&queue->lock);
}

/* ---- out: admission and scripts ---- */
static Job *remove_first(Queue *queue, Stage from)
{
    struct QueueStage *stage = &queue->stage[from];
    Job *job = stage->head;
    if (!job) return NULL;
    stage->head = job->next;
    if (!stage->head) stage->tail = &stage->head;
    job->next = NULL;
    count_waiting(queue, -1);
    return job;
}

/* One that has more slices goes to the end: between them others get their turn. */
static int next_slice(Queue *queue, Stage stage, Job *job)
{
    int slice = job->slice_next++;
    if (job->slice_next < job->slices) {
        append(queue, stage, job);
        pthread_cond_signal(&queue->stage[stage].came);
    }
    return slice;
}

Job *queue_take(Queue *queue, Stage from, int *slice)
{
    struct QueueStage *stage = &queue->stage[from];
    pthread_mutex_lock(&queue->lock);
    while (!stage->head && !stage->closed) pthread_cond_wait(&stage->came, &queue->lock);
    Job *job = remove_first(queue, from);
    bool cut = job && job->slices && from != STAGE_SCRIPT;
    *slice = cut ? next_slice(queue, from, job) : 0;
    pthread_mutex_unlock(&queue->lock);
    return job;
}

/* ---- out: runs ---- */
static bool unwanted(const Job *job, double now)
{
    return __atomic_load_n(&job->abandoned, __ATOMIC_RELAXED) ||
           (job->deadline > 0 && job->deadline <= now);
}

/* Jobs that nobody waits for give their place back, wherever they stand. */
static Job *sweep(Queue *queue)
{
    Job *list = NULL;
    double now = now_seconds();
    for (int i = queue->heap_n; i-- > 0;) {
        Job *job = i < queue->heap_n ? queue->heap[i] : NULL;
        if (!job || !unwanted(job, now)) continue;
        heap_remove(queue, job);
        job->next = list;
        list = job;
    }
    return list;
}

static bool long_row(int64_t cost, int64_t tokens)
{
    return cost > SHORT_ROW && cost > tokens / SMALL_PART;
}

/* Whether the job's next row may join. A run ends for all its rows at once: a long one must not
 * hold short ones back. */
static bool fits(const Queue *queue, const Load *load, const Job *job, int64_t tokens)
{
    int64_t cost = next_cost(queue, job);
    if (load->rows == 0) return true;
    if (load->tokens + cost > tokens) return false;
    if (job->piece >= 0) return true;
    return load->n < LOAD_PIECES &&
           (!long_row(cost, tokens) || cost <= STRETCH * load->longest);
}

static void hand_row(Queue *queue, Load *load, Job *job)
{
    int64_t cost = next_cost(queue, job);
    if (job->piece < 0) {
        job->piece = load->n;
        load->piece[load->n++] = (Piece){ job, job->at, job->at };
    }
    load->piece[job->piece].to++;
    load->rows++;
    load->tokens += cost;
    load->longest = MAX(load->longest, cost);
    if (++job->at == job->n) return heap_remove(queue, job);
    job->finish += charge(queue, job);
    sift_down(queue, job->heap_at, job);
}

/* The short row that is due first, where long ones are due before it and one has just been run:
 * a client that has had its share with short texts still gets every second run. */
static Job *overtaking(const Queue *queue, int64_t tokens)
{
    Job *first = NULL;
    if (!queue->last_long || !long_row(next_cost(queue, queue->heap[0]), tokens)) return NULL;
    for (int i = 1; i < queue->heap_n; i++) {
        Job *job = queue->heap[i];
        bool sooner = !first || before(job, first);
        if (sooner && !long_row(next_cost(queue, job), tokens)) first = job;
    }
    return first;
}

/* The first row in time order, and then those that fit; a job is part of one load at a time. */
static void fill(Queue *queue, int64_t tokens, Load *load)
{
    Job *aside[MOST_ASIDE];
    int n_aside = 0;
    Job *first = queue->heap_n ? overtaking(queue, tokens) : NULL;
    if (first) hand_row(queue, load, first);
    while (queue->heap_n && load->rows < LOAD_ROWS && load->tokens < tokens &&
           n_aside < MOST_ASIDE) {
        Job *job = queue->heap[0];
        if (!fits(queue, load, job, tokens)) {
            heap_remove(queue, aside[n_aside++] = job);
            continue;
        }
        queue->clock = MAX(queue->clock, job->finish);
        hand_row(queue, load, job);
    }
    for (int i = 0; i < n_aside; i++)
        if (aside[i]->piece < 0) heap_add(queue, aside[i]);
    for (int i = 0; i < load->n; i++) {
        Job *job = load->piece[i].job;
        if (job->heap_at < queue->heap_n && queue->heap[job->heap_at] == job)
            heap_remove(queue, job);
        job->piece = -1;
    }
    queue->last_long = long_row(load->longest, tokens);
}

/* Waits until there is something; false: nothing will come any more. */
static bool wait_for_work(Queue *queue, Job **admit, Job **dropped)
{
    struct QueueStage *run = &queue->stage[STAGE_RUN], *first = &queue->stage[STAGE_ADMIT];
    for (;;) {
        bool first_admit = left_to_runner(queue, first->head) &&
                           (queue->runners_alone || !queue->heap_n);
        if (first_admit) {
            *admit = remove_first(queue, STAGE_ADMIT);
            return true;
        }
        *dropped = sweep(queue);
        if (queue->heap_n || *dropped) return true;
        if (run->closed) return false;
        queue->idle_runners++;
        do pthread_cond_wait(&run->came, &queue->lock);
        while (queue->lent);
        queue->idle_runners--;
    }
}

static void empty(Load *load)
{
    load->n = load->rows = 0;
    load->tokens = load->longest = 0;
}

Job *queue_fill(Queue *queue, int64_t tokens, Load *load)
{
    empty(load);
    pthread_mutex_lock(&queue->lock);
    Job *dropped = sweep(queue);
    fill(queue, tokens, load);
    pthread_mutex_unlock(&queue->lock);
    return dropped;
}

bool queue_load(Queue *queue, int64_t tokens, Load *load, Job **admit, Job **dropped)
{
    *admit = *dropped = NULL;
    pthread_mutex_lock(&queue->lock);
    bool more = wait_for_work(queue, admit, dropped);
    empty(load); /* not before: while this one was idle a borrower may have used it */
    if (more && !*admit) fill(queue, tokens, load);
    /* what this runner might have admitted had it stayed idle */
    if (more && queue->stage[STAGE_ADMIT].head && !queue->runners_alone)
        pthread_cond_signal(&queue->stage[STAGE_ADMIT].came);
    pthread_mutex_unlock(&queue->lock);
    return more;
}

/* ---- the end ---- */
void queue_refuse(Queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->refusing = true;
    pthread_mutex_unlock(&queue->lock);
}

void queue_close(Queue *queue, Stage which)
{
    pthread_mutex_lock(&queue->lock);
    queue->stage[which].closed = true;
    pthread_cond_broadcast(&queue->stage[which].came);
    pthread_mutex_unlock(&queue->lock);
}
