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
    Work **heap = heap_resize(queue->heap, (size_t)room * sizeof *heap);
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
static bool before(const Work *a, const Work *b)
{
    return a->turn.due < b->turn.due || (a->turn.due == b->turn.due && a->turn.number < b->turn.number);
}

static void queue_place(Queue *queue, int at, Work *work)
{
    queue->heap[at] = work;
    work->turn.heap = at;
}

static void sift_up(Queue *queue, int at, Work *work)
{
    for (int up; at > 0 && before(work, queue->heap[up = (at - 1) / 2]); at = up)
        queue_place(queue, at, queue->heap[up]);
    queue_place(queue, at, work);
}

static void sift_down(Queue *queue, int at, Work *work)
{
    for (int down; (down = 2 * at + 1) < queue->heap_n; at = down) {
        if (down + 1 < queue->heap_n && before(queue->heap[down + 1], queue->heap[down])) down++;
        if (!before(queue->heap[down], work)) break;
        queue_place(queue, at, queue->heap[down]);
    }
    queue_place(queue, at, work);
}

static void heap_add(Queue *queue, Work *work)
{
    sift_up(queue, queue->heap_n++, work);
    count_waiting(queue, 1);
}

static void heap_remove(Queue *queue, Work *work)
{
    int at = work->turn.heap;
    Work *last = queue->heap[--queue->heap_n];
    count_waiting(queue, -1);
    if (last == work) return;
    sift_up(queue, at, last);
    sift_down(queue, last->turn.heap, last);
}

static int64_t next_cost(const Queue *queue, const Work *work)
{
    return queue->row_cost ? queue->row_cost : work->row[work_turn(work, work->turn.at)].cost;
}

/* What a row costs its client. Short ones pay the same, so that those who send single texts wait
 * equally long. */
static double charge(const Queue *queue, const Work *work)
{
    return (double)MAX(next_cost(queue, work), SHORT_ROW);
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
    count_waiting(queue, 1);
}

/* A job's first row is due a row's worth after what its client has had; later ones keep their
 * time. */
static void append_run(Queue *queue, Work *work)
{
    if (!work->turn.number) {
        work->turn.number = ++queue->entries;
        work->turn.due = MAX(queue->clock, work->share) + charge(queue, work);
    }
    heap_add(queue, work);
}

static void add(Queue *queue, Stage to, Work *work)
{
    if (to == STAGE_RUN) append_run(queue, work);
    else queue_append(queue, to, work);
    bool idle = queue->runners_alone || (queue->idle_runners && !queue->lent);
    if (to == STAGE_ADMIT && idle && left_to_runner(queue, work)) to = STAGE_RUN;
    if (to != STAGE_RUN || !queue->lent) pthread_cond_signal(&queue->stage[to].came);
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
    if (queue->inside < queue->heap_room || heap_grow(queue, MAX(FIRST_HEAP, 2 * queue->heap_room)))
        return true;
    return fail(err, EF_UNAVAILABLE, "queue: no memory for another request: try again");
}

static bool let_in(Queue *queue, Work *work, Err *err)
{
    if (refused(queue, work, err) || !heap_reserve(queue, err)) return false;
    if (!work->budget.all) budget_join(&work->budget, queue->budget);
    queue->inside++;
    return true;
}

bool queue_enter(Queue *queue, Stage to, Work *work, Err *err)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = let_in(queue, work, err);
    if (ok) add(queue, to, work);
    pthread_mutex_unlock(&queue->lock);
    return ok;
}

/* A caller that waits for its job might as well run it: two changes of threads less. */
bool queue_enter_run(Queue *queue, Work *work, bool *mine, Err *err)
{
    pthread_mutex_lock(&queue->lock);
    bool ok = let_in(queue, work, err);
    bool nothing = !queue->heap_n && !queue->stage[STAGE_ADMIT].head; /* for the runner to do */
    *mine = ok && nothing && queue->lendable && queue->idle_runners && !queue->lent;
    if (ok) {
        queue->lent |= *mine;
        add(queue, STAGE_RUN, work);
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

void queue_pass(Queue *queue, Stage to, Work *work)
{
    pthread_mutex_lock(&queue->lock);
    add(queue, to, work);
    pthread_mutex_unlock(&queue->lock);
}

void queue_leave(Queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->inside--;
    pthread_mutex_unlock(&queue->lock);
}

/* ---- out: admission and scripts ---- */
static Work *remove_first(Queue *queue, Stage from)
{
    struct QueueStage *stage = &queue->stage[from];
    Work *work = stage->head;
    if (!work) return NULL;
    stage->head = work->next;
    if (!stage->head) stage->tail = &stage->head;
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
    pthread_mutex_lock(&queue->lock);
    while (!stage->head && !stage->closed) pthread_cond_wait(&stage->came, &queue->lock);
    Work *work = remove_first(queue, from);
    bool cut = work && work->slice.n && from != STAGE_SCRIPT;
    *slice = cut ? next_slice(queue, from, work) : 0;
    pthread_mutex_unlock(&queue->lock);
    return work;
}

/* ---- out: runs ---- */
static bool unwanted(const Work *work, double now)
{
    return __atomic_load_n(&work->abandoned, __ATOMIC_RELAXED) ||
           (work->deadline > 0 && work->deadline <= now);
}

/* Jobs that nobody waits for give their place back, wherever they stand. */
static Work *sweep(Queue *queue)
{
    Work *list = NULL;
    double now = now_seconds();
    for (int i = queue->heap_n; i-- > 0;) {
        Work *work = i < queue->heap_n ? queue->heap[i] : NULL;
        if (!work || !unwanted(work, now)) continue;
        heap_remove(queue, work);
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
static bool fits(const Queue *queue, const Load *load, const Work *work, int64_t most)
{
    int64_t cost = next_cost(queue, work);
    if (load->rows == 0) return true;
    if (load->cost + cost > most) return false;
    if (work->turn.piece >= 0) return !follows(load, work);
    return load->n < LOAD_PIECES &&
           (!long_row(cost, most) || cost <= STRETCH * load->longest);
}

static void hand_row(Queue *queue, Load *load, Work *work)
{
    int64_t cost = next_cost(queue, work);
    if (work->turn.piece < 0) {
        work->turn.piece = load->n;
        load->piece[load->n++] = (LoadPiece){ work, work->turn.at, work->turn.at };
    }
    load->piece[work->turn.piece].to++;
    load->rows++;
    load->cost += cost;
    load->longest = MAX(load->longest, cost);
    if (++work->turn.at == work->rows) return heap_remove(queue, work);
    work->turn.due += charge(queue, work);
    sift_down(queue, work->turn.heap, work);
}

/* The short row that is due first, where long ones are due before it and one has just been run:
 * a client that has had its share with short texts still gets every second run. */
static Work *overtaking(const Queue *queue, int64_t most)
{
    Work *first = NULL;
    if (!queue->last_long || !long_row(next_cost(queue, queue->heap[0]), most)) return NULL;
    for (int i = 1; i < queue->heap_n; i++) {
        Work *work = queue->heap[i];
        bool sooner = !first || before(work, first);
        if (sooner && !long_row(next_cost(queue, work), most)) first = work;
    }
    return first;
}

/* The first row in time order, and then those that fit; a job is part of one load at a time. */
static void fill(Queue *queue, int64_t most, Load *load)
{
    Work *aside[MOST_ASIDE];
    int n_aside = 0;
    Work *first = queue->heap_n ? overtaking(queue, most) : NULL;
    if (first) hand_row(queue, load, first);
    while (queue->heap_n && load->rows < LOAD_ROWS && load->cost < most &&
           n_aside < MOST_ASIDE) {
        Work *work = queue->heap[0];
        if (!fits(queue, load, work, most)) {
            heap_remove(queue, aside[n_aside++] = work);
            continue;
        }
        queue->clock = MAX(queue->clock, work->turn.due);
        hand_row(queue, load, work);
    }
    for (int i = 0; i < n_aside; i++)
        if (aside[i]->turn.piece < 0) heap_add(queue, aside[i]);
    for (int i = 0; i < load->n; i++) {
        Work *work = load->piece[i].work;
        if (work->turn.heap < queue->heap_n && queue->heap[work->turn.heap] == work)
            heap_remove(queue, work);
        work->turn.piece = -1;
    }
    queue->last_long = long_row(load->longest, most);
}

/* Waits until there is something; false: nothing will come any more. */
static bool wait_for_work(Queue *queue, Work **admit, Work **dropped)
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
    load->cost = load->longest = 0;
}

Work *queue_fill(Queue *queue, int64_t most, Load *load)
{
    empty(load);
    pthread_mutex_lock(&queue->lock);
    Work *dropped = sweep(queue);
    fill(queue, most, load);
    pthread_mutex_unlock(&queue->lock);
    return dropped;
}

bool queue_load(Queue *queue, int64_t most, Load *load, Work **admit, Work **dropped)
{
    *admit = *dropped = NULL;
    pthread_mutex_lock(&queue->lock);
    bool more = wait_for_work(queue, admit, dropped);
    empty(load); /* not before: while this one was idle a borrower may have used it */
    if (more && !*admit) fill(queue, most, load);
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
