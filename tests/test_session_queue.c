/* SPDX-License-Identifier: Apache-2.0
 * test_session_queue.c - the queue without a model: who is served when, by how many threads, what is refused and what
 * is dropped. */
#include "base/thread.h"
#include "check.h"
#include "dialect/job.h"
#include "session/stages.h"

static SessionMeters meters;

/* Work whose rows cost so much; ends with 0. */
static Work *work_of(const size_t *costs)
{
    Work *work = &job_new()->work;
    while (costs[work->rows]) work->rows++;
    work->row = ARRAY(&work->arena, Prepared, work->rows);
    for (size_t i = 0; i < work->rows; i++) work->row[i].cost = (int64_t)costs[i];
    return work;
}
#define WORK(...) work_of((const size_t[]){ __VA_ARGS__, 0 })

static void work_free(Work *work)
{
    job_free(job_of(work));
}

static int64_t most_tokens;      /* of a run of one thread */

static int64_t most_of(const Session *s, int threads)
{
    (void)s;
    return most_tokens * MAX(threads, 1);
}

static int64_t least_of(const Session *s)
{
    (void)s;
    return 10;
}

/* What a queue is given here; the rest as the test says. */
#define QUEUE(...) &(QueueSetup){ .budget = &(Budget){ 0 }, .most = most_of, .least = least_of, __VA_ARGS__ }

static bool load_is(Queue *q, int64_t tokens, int n, const LoadPiece *wanted)
{
    static Load load;
    Taken t;
    most_tokens = tokens;
    bool ok = queue_load(q, &load, NULL, false, &t) && !t.admit && !t.dropped && load.n == n;
    for (int i = 0; i < n && ok; i++)
        ok = load.piece[i].work == wanted[i].work && load.piece[i].from == wanted[i].from &&
             load.piece[i].to == wanted[i].to;
    for (int i = 0; i < load.n; i++) /* as the runner does */
        if (load.piece[i].work->turn.at < load.piece[i].work->rows)
            queue_pass(q, STAGE_RUN, load.piece[i].work);
    return ok;
}
/* So many runners sleep, and no others. */
static void sleep_well(Queue *q, int n)
{
    static RunnerBed bed[8];
    q->asleep = NULL;
    q->idle_runners = n;
    for (int i = 0; i < n; i++) {
        bed[i] = (RunnerBed){ .call = PTHREAD_COND_INITIALIZER, .below = q->asleep };
        q->asleep = &bed[i];
    }
}

#define LOAD(q, tokens, ...)                                                                      \
    load_is(q, tokens, sizeof((LoadPiece[]){ __VA_ARGS__ }) / sizeof(LoadPiece), (LoadPiece[]){ __VA_ARGS__ })

static void test_queue(void)
{
    TEST("queue");
    Queue q;
    Err err = { 0 };
    int slice;
    Work *a = WORK(5), *b = WORK(3), *c = WORK(1);
    queue_init(&q, QUEUE(.limit = 2), &meters);
    CHECK(queue_enter(&q, STAGE_ADMIT, a, &err) && queue_enter(&q, STAGE_RUN, b, &err));
    CHECK(!queue_enter(&q, STAGE_ADMIT, c, &err) && err.code == EF_OVERLOADED);
    CHECK(queue_take(&q, STAGE_ADMIT, &slice) == a);
    queue_pass(&q, STAGE_RUN, a);
    CHECK(LOAD(&q, 7, { b, 0, 1 }) && LOAD(&q, 7, { a, 0, 1 }));
    queue_refuse(&q);
    CHECK(!queue_enter(&q, STAGE_ADMIT, c, &err) && err.code == EF_UNAVAILABLE);
    queue_pass(&q, STAGE_RUN, c);
    queue_close(&q, STAGE_RUN);
    CHECK(LOAD(&q, 1, { c, 0, 1 }));
    CHECK(!load_is(&q, 1, 1, NULL));
    queue_free(&q);
    work_free(a), work_free(b), work_free(c);
}

/* Small jobs that came during a run are all in the next one; large ones have threads of their own. */
static void test_queue_alone(bool alone)
{
    TEST(alone ? "a runner alone" : "a runner among others");
    enum { LARGE = 1 << 20 };
    static Load load;
    Queue q;
    Err err = { 0 };
    Taken t;
    Work *small = WORK(3), *large = WORK(3), *ready = WORK(5);
    small->bytes = 40, large->bytes = LARGE;
    queue_init(&q, QUEUE(.limit = 9, .runners_admit = true,
                                  .runners_alone = alone), &meters);
    CHECK(queue_enter(&q, STAGE_RUN, ready, &err) && queue_enter(&q, STAGE_ADMIT, small, &err) &&
          queue_enter(&q, STAGE_ADMIT, large, &err));
    most_tokens = 99;
    CHECK(queue_load(&q, &load, NULL, false, &t) && t.admit == (alone ? small : NULL));
    if (alone) {
        CHECK(load.n == 0);
        queue_pass(&q, STAGE_RUN, small);
        CHECK(LOAD(&q, 99, { ready, 0, 1 }, { small, 0, 1 }));
    } else {
        CHECK(load.n == 1 && load.piece[0].work == ready);
    }
    queue_free(&q);
    work_free(small), work_free(large), work_free(ready);
}

/* Long texts have a line of their own. */
static void test_queue_lines(void)
{
    TEST("two lines");
    Queue q;
    Err err = { 0 };
    int slice;
    Work *text = WORK(9), *query = WORK(1);
    queue_init(&q, QUEUE(.limit = 9), &meters);
    CHECK(queue_enter(&q, stage_for(1 << 20), text, &err));
    CHECK(queue_enter(&q, stage_for(1000), query, &err));
    CHECK(queue_take(&q, STAGE_ADMIT, &slice) == query);
    CHECK(queue_take(&q, STAGE_LONG, &slice) == text);
    queue_free(&q);
    work_free(text), work_free(query);
}

static void test_queue_bytes(void)
{
    TEST("bytes in the queue");
    enum { BODY = 64 << 10, LIMIT = 100 << 10 };
    Queue q;
    Err err = { 0 };
    Budget all = { .limit = LIMIT };
    Work *job[3];
    for (int i = 0; i < 3; i++) {
        Buf body = { 0 };
        buf_reserve(&body, i == 2 ? 2 * BODY : BODY);
        job_store(job_of(job[i] = WORK(1)), &body);
    }
    queue_init(&q, &(QueueSetup){ .limit = 9, .budget = &all, .most = most_of }, &meters);
    CHECK(queue_enter(&q, STAGE_RUN, job[0], &err) && budget_used(&all) >= BODY);
    CHECK(!queue_enter(&q, STAGE_RUN, job[1], &err) && err.code == EF_OVERLOADED);
    CHECK(!queue_enter(&q, STAGE_RUN, job[2], &err) && err.code == EF_TOO_LARGE);
    CHECK(budget_aside(&job[0]->budget, LIMIT - budget_used(&all)) && budget_used(&all) == LIMIT);
    CHECK(!budget_aside(&job[0]->budget, 1) && budget_draw(&job[0]->budget, 1));
    CHECK(budget_used(&all) == LIMIT); /* it was promised before */
    queue_leave(&q);
    budget_leave(&job[0]->budget);
    CHECK(budget_used(&all) == 0 && queue_enter(&q, STAGE_RUN, job[1], &err));
    queue_leave(&q);
    queue_free(&q);
    for (int i = 0; i < 3; i++) work_free(job[i]);
    CHECK(budget_used(&all) == 0);
}

/* Who is served when: by what each client has had, not by who came first. */
static void test_queue_order(void)
{
    TEST("order of the queue");
    Queue q;
    Work *doc[4], *query = WORK(8), *list = WORK(10, 10, 10, 10, 10, 10, 10, 10), *late = WORK(8);
    queue_init(&q, QUEUE(.limit = 99), &meters);
    for (int i = 0; i < 4; i++) queue_pass(&q, STAGE_RUN, doc[i] = WORK(512));
    CHECK(LOAD(&q, 600, { doc[0], 0, 1 }));
    queue_pass(&q, STAGE_RUN, query);  /* it came last and goes first, and alone: */
    CHECK(LOAD(&q, 600, { query, 0, 1 })); /* a document would hold it back */
    CHECK(LOAD(&q, 600, { doc[1], 0, 1 }));
    queue_pass(&q, STAGE_RUN, list);   /* a long list and a single text side by side */
    late->share = q.clock + 15;        /* whose client has just had something */
    queue_pass(&q, STAGE_RUN, late);
    CHECK(LOAD(&q, 38, { list, 0, 3 }, { late, 0, 1 }));
    CHECK(LOAD(&q, 600, { doc[2], 0, 1 }, { list, 3, 8 })); /* its turn; the rest finds room */
    CHECK(LOAD(&q, 600, { doc[3], 0, 1 }));
    queue_free(&q);
    for (int i = 0; i < 4; i++) work_free(doc[i]);
    work_free(query), work_free(list), work_free(late);
}

/* A client that always has a next short text does not keep a document waiting for ever. */
static void test_queue_starvation(void)
{
    TEST("nobody waits for ever");
    Queue q;
    static Load load;
    Work *doc = WORK(512);
    Taken t;
    int rounds = 0;
    most_tokens = 8;
    queue_init(&q, QUEUE(.limit = 99), &meters);
    queue_pass(&q, STAGE_RUN, doc);
    for (; doc->turn.at == 0 && rounds < 1000; rounds++) {
        Work *text = WORK(8);
        queue_pass(&q, STAGE_RUN, text);
        while (text->turn.at == 0) queue_load(&q, &load, NULL, false, &t);
        work_free(text);
    }
    CHECK(rounds > 2 && rounds < 10);
    queue_free(&q);
    work_free(doc);
}

/* Who has had more than its share with short texts waits for one document, not for all of them. */
static void test_queue_overtaking(void)
{
    TEST("one long run at a time");
    Queue q;
    Work *doc[3], *text = WORK(8), *next = WORK(8);
    queue_init(&q, QUEUE(.limit = 99), &meters);
    for (int i = 0; i < 3; i++) queue_pass(&q, STAGE_RUN, doc[i] = WORK(512));
    text->share = next->share = 5000;
    queue_pass(&q, STAGE_RUN, text), queue_pass(&q, STAGE_RUN, next);
    CHECK(LOAD(&q, 100, { doc[0], 0, 1 }));
    CHECK(LOAD(&q, 8, { text, 0, 1 }) && LOAD(&q, 100, { doc[1], 0, 1 }));
    CHECK(LOAD(&q, 100, { next, 0, 1 }) && LOAD(&q, 100, { doc[2], 0, 1 }));
    queue_free(&q);
    for (int i = 0; i < 3; i++) work_free(doc[i]);
    work_free(text), work_free(next);
}

/* Each takes half of its equal share of what waits and runs, so that the next finds something. */
static void test_queue_side(void)
{
    TEST("runners side by side");
    enum { JOBS = 16, SIDE = 4 };
    static Load own[SIDE];
    Queue q;
    Taken t;
    Work *job[JOBS];
    most_tokens = 1000;
    queue_init(&q, QUEUE(.limit = 99, .side = SIDE), &meters);
    for (int i = 0; i < JOBS; i++) queue_pass(&q, STAGE_RUN, job[i] = WORK(10));
    for (int i = 0; i < SIDE; i++) {
        CHECK(queue_load(&q, &own[i], NULL, false, &t) && t.load == &own[i] && t.gang < 0);
        CHECK(own[i].n == 3 && own[i].piece[0].work == job[3 * i]); /* 160 / 4 / 2 and a bit */
    }
    CHECK(q.cost == 40 && q.running == 120);
    CHECK(queue_load(&q, &own[0], NULL, false, &t) && own[0].n == 2 && q.running == 110); /* of 130 */
    queue_free(&q);
    for (int i = 0; i < JOBS; i++) work_free(job[i]);
}

/* What is large is shared by those that are free, unless they have as many jobs. */
static void test_queue_gang(void)
{
    TEST("large work in a gang");
    enum { SIDE = 8, FREE = 7 };
    static Load own[2], gang;
    Queue q;
    Taken t;
    Work *small = WORK(10), *text = WORK(600), *more[8];
    Work *list = WORK(100, 100, 100, 100, 100, 100, 100, 100);
    most_tokens = 1000;
    queue_init(&q, QUEUE(.limit = 99, .side = SIDE), &meters);
    q.gang[0].load = &gang;
    q.gangs = 1;
    sleep_well(&q, FREE);
    queue_pass(&q, STAGE_RUN, small);
    CHECK(queue_load(&q, &own[0], NULL, false, &t) && t.gang < 0 && own[0].n == 1);
    CHECK(q.idle_runners == FREE - 1); /* that one was called */
    queue_pass(&q, STAGE_RUN, text); /* cannot be cut: all of them */
    sleep_well(&q, FREE);
    CHECK(queue_load(&q, &own[0], NULL, false, &t) && t.load == &gang);
    CHECK(t.gang == 0 && t.helpers == FREE);
    queue_call(&q, &t, 7);
    CHECK(gang.rows == 1 && q.gang[0].called == FREE && q.ganged == 1 && !q.asleep);
    queue_pass(&q, STAGE_RUN, list); /* there is no other gang */
    CHECK(queue_load(&q, &own[1], NULL, false, &t) && t.gang < 0 && own[1].n == 1);
    queue_pass(&q, STAGE_RUN, list); /* the rest of it */
    sleep_well(&q, FREE);
    queue_give_back(&q, 0);
    sleep_well(&q, FREE);
    CHECK(q.gang[0].called == 0 && q.ganged == 0 && q.running == own[1].cost);
    CHECK(queue_load(&q, &own[1], NULL, false, &t) && t.gang == 0 && own[1].n == 0);
    CHECK(t.helpers == 4 && gang.rows == 7); /* parts of 128 tokens */
    for (int i = 0; i < 8; i++) queue_pass(&q, STAGE_RUN, more[i] = WORK(600));
    CHECK(queue_load(&q, &own[0], NULL, false, &t) && t.gang < 0); /* each its own */
    queue_free(&q);
    work_free(small), work_free(text), work_free(list);
    for (int i = 0; i < 8; i++) work_free(more[i]);
}

/* A lone list is run by the same gang to its end; others that come, or become free, change the gang. */
static void test_queue_stay(void)
{
    TEST("a gang stays with its list");
    static Load own, gang;
    Queue q;
    Taken t;
    Work *list = WORK(300, 300, 300, 300, 300, 300, 300, 300, 300), *other = WORK(600);
    most_tokens = 350; /* two rows for two threads */
    queue_init(&q, QUEUE(.limit = 9, .side = 2), &meters);
    q.gang[0].load = &gang;
    q.gangs = 1;
    sleep_well(&q, 2);
    bool mine;
    Err err = { 0 };
    q.lendable = true;
    CHECK(queue_enter_run(&q, list, &mine, &err) && mine);
    queue_borrow(&q, NULL, &t); /* of two runners one helps, one is the borrower's CPU */
    CHECK(t.gang == 0 && t.helpers == 1 && gang.rows == 2);
    queue_call(&q, &t, 1);
    CHECK(q.idle_runners == 1);
    CHECK(queue_stay(&q, list, &t) && gang.rows == 2 && gang.piece[0].from == 2 && q.running == 600);
    CHECK(queue_stay(&q, list, &t) && gang.rows == 2 && list->turn.at == 6);
    queue_pass(&q, STAGE_RUN, other); /* now each has its own */
    CHECK(!queue_stay(&q, list, &t) && gang.rows == 0 && q.running == 0 && q.heap_n == 2);
    queue_give_back(&q, t.gang);
    CHECK(queue_load(&q, &own, NULL, false, &t) && t.gang < 0 && own.n == 1);
    queue_free(&q);
    work_free(list), work_free(other);
}

/* A gang has as many as are due to its job: who comes next finds some, too. */
static void test_queue_due(void)
{
    TEST("threads of a gang by what waits and runs");
    enum { SIDE = 8, FREE = 7 };
    static Load own, gang;
    Queue q;
    Taken t;
    Work *text = WORK(600);
    most_tokens = 1000;
    queue_init(&q, QUEUE(.limit = 9, .side = SIDE), &meters);
    q.gang[0].load = &gang;
    q.gangs = 1;
    queue_pass(&q, STAGE_RUN, text);
    sleep_well(&q, FREE);
    q.running = 600; /* another's */
    CHECK(queue_load(&q, &own, NULL, false, &t) && t.gang == 0 && t.helpers == SIDE / 2 - 1);
    queue_free(&q);
    work_free(text);
}

/* Who was called for a job is not free for another, though it may not be awake yet. */
static void test_queue_called(void)
{
    TEST("runners that were called");
    enum { SIDE = 4, FREE = 2 };
    static Load own, gang;
    Queue q;
    Taken t;
    Work *job[FREE] = { WORK(600), WORK(600) }, *text = WORK(600);
    most_tokens = 1000;
    queue_init(&q, QUEUE(.limit = 9, .side = SIDE), &meters);
    q.gang[0].load = &gang;
    q.gangs = 1;
    sleep_well(&q, FREE);
    for (int i = 0; i < FREE; i++) queue_pass(&q, STAGE_RUN, job[i]);
    CHECK(q.idle_runners == 0 && !q.asleep);
    for (int i = 0; i < FREE; i++)
        CHECK(queue_load(&q, &own, NULL, false, &t) && t.gang < 0 && own.piece[0].work == job[i]);
    q.looking = q.promised = 1; /* nor is who has been promised something */
    queue_pass(&q, STAGE_RUN, text);
    CHECK(queue_load(&q, &own, NULL, false, &t) && t.gang < 0 && own.n == 1);
    queue_free(&q);
    for (int i = 0; i < FREE; i++) work_free(job[i]);
    work_free(text);
}

static void test_queue_dropped(void)
{
    TEST("dropped from the queue");
    Queue q;
    static Load load;
    Taken t;
    Work *gone = WORK(3), *late = WORK(3), *wanted = WORK(3);
    queue_init(&q, QUEUE(.limit = 9), &meters);
    late->deadline = now_seconds() - 1, wanted->deadline = now_seconds() + 1000;
    queue_pass(&q, STAGE_RUN, gone), queue_pass(&q, STAGE_RUN, late);
    queue_pass(&q, STAGE_RUN, wanted);
    work_abandon(gone);
    most_tokens = 99;
    CHECK(queue_load(&q, &load, NULL, false, &t) && load.n == 1);
    CHECK(load.piece[0].work == wanted && t.dropped && t.dropped->next && !t.dropped->next->next);
    CHECK(meters.waiting == 0);
    queue_free(&q);
    work_free(gone), work_free(late), work_free(wanted);
}

/* The only job of all was dropped, or somebody else took it: nothing is left to be shared. */
static void test_queue_dropped_aside(void)
{
    TEST("nothing left for those that are free");
    enum { SIDE = 4, FREE = 3 };
    static Load own, gang;
    Queue q;
    Taken t;
    Work *gone = WORK(600), *taken = WORK(600);
    most_tokens = 1000;
    queue_init(&q, QUEUE(.limit = 9, .side = SIDE), &meters);
    q.gang[0].load = &gang;
    q.gangs = 1;
    sleep_well(&q, FREE);
    queue_pass(&q, STAGE_RUN, gone);
    work_abandon(gone);
    CHECK(queue_load(&q, &own, NULL, false, &t) && t.dropped == gone && t.gang < 0 && own.n == 0);
    queue_pass(&q, STAGE_RUN, taken);
    work_abandon(taken);
    queue_borrow(&q, NULL, &t);
    CHECK(t.dropped == taken && t.gang == 0 && t.helpers == 0 && gang.n == 0);
    queue_give_back(&q, t.gang);
    queue_borrow(&q, NULL, &t); /* between entering and borrowing a runner took it */
    CHECK(!t.dropped && t.gang == 0 && t.helpers == 0 && gang.n == 0);
    queue_free(&q);
    work_free(gone), work_free(taken);
}

int main(void)
{
    test_queue();
    test_queue_alone(true);
    test_queue_alone(false);
    test_queue_bytes();
    test_queue_lines();
    test_queue_order();
    test_queue_starvation();
    test_queue_overtaking();
    test_queue_dropped();
    test_queue_side();
    test_queue_gang();
    test_queue_stay();
    test_queue_due();
    test_queue_called();
    test_queue_dropped_aside();
    return finish();
}
