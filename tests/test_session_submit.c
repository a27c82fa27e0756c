/* SPDX-License-Identifier: Apache-2.0
 * test_session_submit.c - requests that do not wait for their answer: admission by threads of its own, limits, clients
 * that leave, deadlines. */
#include <dirent.h>
#include <time.h>

#include "base/thread.h"
#include "dialect/job.h"
#include "session_case.h"

static int returned, failed;

static void count(Work *work)
{
    Job *job = job_of(work);
    __atomic_add_fetch(&failed, job->work.err.code != EF_OK, __ATOMIC_RELAXED);
    __atomic_add_fetch(&returned, 1, __ATOMIC_RELAXED);
    job_free(job);
}

static void keep(Work *work)
{
    (void)work;
}

static Job *counted(const char *body)
{
    Job *job = job_new();
    job->in.body = str_of(body);
    job->work.done = count;
    return job;
}

static void test_submit(const Model *model, int threads)
{
    TEST("submit");
    enum { MANY = 400 };
    Err err = { 0 };
    returned = failed = 0;
    int accepted = 0, overloaded = 0;
    Session *s = job_session(model, &(SessionOptions){ .threads = threads, .queue_jobs = 4 });
    for (int i = 0; i < MANY; i++) {
        Job *job = counted(texts[i % 5]);
        if (job_submit(s, job, &err)) {
            accepted++;
        } else {
            overloaded += err.code == EF_OVERLOADED;
            job_free(job);
        }
    }
    session_drain(s);
    CHECK(accepted + overloaded == MANY && overloaded > 0 && accepted >= 4);
    CHECK(__atomic_load_n(&returned, __ATOMIC_RELAXED) == accepted && failed == 0);
    Job *late = counted(texts[0]);
    CHECK(!job_submit(s, late, &err) && err.code == EF_UNAVAILABLE);
    job_free(late);
    session_free(s);
}

/* Long lists are tokenized by several threads; the answer is the same. */
static void test_slices(const Model *model)
{
    TEST("slices");
    Err err = { 0 };
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[\"x\"");
    for (int i = 0; i < 900; i++)
        buf_printf(&body, ",\"text number %d with quite a few words in it, more than some\"", i);
    buf_puts(&body, "]}");
    returned = failed = 0;
    Session *s = job_session(model, &(SessionOptions){ .threads = 3, .replicas = 2 });
    Job *job = job_new(), *same = job_new(), *bad = job_new();
    job->in.body = same->in.body = buf_view(&body);
    job->work.done = keep;
    CHECK(job_submit(s, job, &err));
    job_run(s, same);
    bad->in.body = (Str){ body.p, body.n - 3 }; /* broken at its end */
    bad->work.done = count;
    CHECK(job_submit(s, bad, &err));
    session_drain(s);
    CHECK(job->work.err.code == EF_OK && job->work.slice.n > 2 && same->work.slice.n == 0 && failed == 1);
    CHECK(str_eq(buf_view(&job->out.text), buf_view(&same->out.text)));
    CHECK(session_meters(s)->rows == 2 * 901);
    job_free(job), job_free(same);
    CHECK(budget_used(session_budget(s)) == 0);
    session_free(s);
    buf_free(&body);
}

static void test_deadline(const Model *model, int threads)
{
    TEST("deadline");
    Session *s = job_session(model, &(SessionOptions){ .threads = threads });
    Job *job = job_new();
    job->in.body = str_of(texts[0]);
    job->work.deadline = now_seconds() - 1;
    job_run(s, job);
    CHECK(job->work.err.code == EF_DEADLINE && session_meters(s)->expired == 1);
    job_free(job);
    session_free(s);
}

static void test_abandoned(const Model *model)
{
    TEST("abandoned");
    Err err = { 0 };
    returned = failed = 0;
    Session *s = job_session(model, &(SessionOptions){ .threads = 1 });
    Job *job = counted(texts[0]);
    work_abandon(&job->work);
    CHECK(job_submit(s, job, &err));
    session_free(s);
    CHECK(returned == 1 && failed == 1);
}

/* ---- a client that goes while its items are prepared ---- */
static Work *leaving;
static int prepared;

static bool prepare_and_leave(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    if (++prepared == 1) work_abandon(leaving);
    return prepare_text.prepare(call, item, out, err);
}

/* No further item is prepared, also of a slice that has more than one. */
static void test_left_midway(const Model *model, bool long_texts)
{
    TEST(long_texts ? "abandoned in a slice" : "abandoned between items");
    static const Preparer leave = { "leave", prepare_and_leave };
    Err err = { 0 };
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\",\"l");
    for (int i = 0; long_texts && i < 20000; i++) buf_puts(&body, " many");
    buf_puts(&body, "\"]}");
    Session *s = job_session(model, &(SessionOptions){ .threads = 1 });
    Job *job = job_new();
    job->in.body = buf_view(&body);
    job->work.done = keep;
    job->work.preparer = &leave;
    leaving = &job->work;
    prepared = 0;
    CHECK(job_submit(s, job, &err));
    session_drain(s);
    CHECK(prepared == 1 && job->work.err.code == EF_UNAVAILABLE && session_meters(s)->abandoned == 1);
    CHECK((job->work.slice.n > 0) == long_texts);
    job_free(job);
    session_free(s);
    buf_free(&body);
}

/* What a client has had is not forgotten with a request that is never run. */
static void test_share_kept(const Model *model)
{
    TEST("the share of a client");
    Err err = { 0 };
    Session *s = job_session(model, &(SessionOptions){ .threads = 2 });
    Job *bad = counted("{"), *good = counted(texts[0]);
    bad->work.done = good->work.done = keep;
    bad->work.share = good->work.share = 5000;
    CHECK(job_submit(s, bad, &err) && job_submit(s, good, &err));
    session_drain(s);
    CHECK(bad->work.err.code != EF_OK && bad->work.share == 5000);
    CHECK(good->work.err.code == EF_OK && good->work.share > 5000);
    job_free(bad), job_free(good);
    session_free(s);
}

static int count_threads(void)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir("/proc/self/task");
    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

/* A thread that was joined may be listed a moment longer. */
static int settled_threads(void)
{
    const struct timespec moment = { 0, 50000000 };
    int last = -1, n = count_threads();
    for (; n != last; last = n, n = count_threads()) nanosleep(&moment, NULL);
    return n;
}

/* Who only calls session_run has a runner and its pool; admission starts with the first one submitted. */
static void test_threads(const Model *model)
{
    TEST("threads that a session starts");
    const int before = settled_threads();
    Err err = { 0 };
    Session *s = job_session(model, &(SessionOptions){ .threads = 2 });
    CHECK(settled_threads() == before + 2);
    CHECK(session_expect(s, &err) && session_expect(s, &err));
    CHECK(settled_threads() == before + 2 + 2 + 2);
    session_free(s);
}

int main(void)
{
    Model *model;
    TEST("models");
    if (open_model("embedding", &model)) {
        test_submit(model, 1);
        test_submit(model, 2);
        test_threads(model); /* not the first: the thread sanitizer starts one of its own beside the first of a program */
        test_abandoned(model);
        test_left_midway(model, false);
        test_left_midway(model, true);
        test_share_kept(model);
        test_slices(model);
        test_deadline(model, 1);
        test_deadline(model, 4);
        model_close(model);
    }
    return finish();
}
