/* SPDX-License-Identifier: Apache-2.0
 * test_session_memory.c - a session whose system has no memory at one moment, at every moment in turn:
 * of the requests of a batch each is answered as ever or with EF_UNAVAILABLE, plans that could not be
 * made are made for the next one, and nothing is left behind (which the sanitizer sees). */
#include <unistd.h>

#include "base/thread.h"
#include "check.h"
#include "scarce.h"
#include "dialect/job.h"
#include "model/model.h"

enum { JOBS = 3, MOST_PLACES = 1000 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 4 };
#else
enum { SLOWER = 1 };
#endif

static int back; /* jobs; atomic */

static void count_back(Work *work)
{
    (void)work;
    __atomic_add_fetch(&back, 1, __ATOMIC_RELEASE);
}

/* Texts of so many words each: every number has a plan of its own. */
static Job *job_of_words(int texts, int words)
{
    Job *job = job_new();
    Buf b = { .arena = &job->work.arena };
    buf_puts(&b, "{\"inputs\":[");
    for (int i = 0; i < texts; i++) {
        buf_puts(&b, i ? ",\"" : "\"");
        for (int k = 0; k < words; k++) buf_puts(&b, "bus ");
        buf_char(&b, '"');
    }
    buf_puts(&b, "]}");
    job->in.body = buf_view(&b);
    job->work.done = count_back;
    return job;
}

static void run_jobs(Session *s, Job *job[JOBS], int texts, int words)
{
    int entered = 0;
    __atomic_store_n(&back, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < JOBS; i++) {
        job[i] = job_of_words(texts, words + 7 * i);
        entered += job_submit(s, job[i], &job[i]->work.err);
    }
    while (__atomic_load_n(&back, __ATOMIC_ACQUIRE) < entered) usleep(50);
}

/* In scarcity, and then again. */
static bool try_jobs(Session *s, int texts, int words, int from, bool lasts, bool *refused, int *failed)
{
    Job *scarce[JOBS], *plenty[JOBS];
    bool ok = true;
    scarce_begin(from, lasts);
    run_jobs(s, scarce, texts, words);
    *refused = scarce_end();
    run_jobs(s, plenty, texts, words);
    for (int i = 0; i < JOBS; i++) {
        ef_code code = scarce[i]->work.err.code;
        *failed += code != EF_OK;
        ok = ok && plenty[i]->work.err.code == EF_OK && (code == EF_OK || code == EF_UNAVAILABLE) &&
             (code != EF_OK || str_eq(buf_view(&scarce[i]->out.text), buf_view(&plenty[i]->out.text)));
        if (!ok) printf("  request %d of %d: \"%s\"\n", from, i, scarce[i]->work.err.message);
        job_free(scarce[i]);
        job_free(plenty[i]);
    }
    return ok;
}

/* step: of the places, every so many. */
static void test_places(const Model *model, int threads, int texts, int words, int step)
{
    Session *s = job_session(model, &(SessionOptions){ .threads = threads });
    for (int lasts = 0; lasts < 2; lasts++) {
        bool ok = true, refused = true;
        int n = 1, failed = 0;
        for (; ok && refused && n < MOST_PLACES; n += step)
            ok = try_jobs(s, texts, words + n % 16, n, lasts, &refused, &failed);
        CHECK(ok && n > 20 && n < MOST_PLACES && (!lasts || failed > 5)); /* one is often made good */
        printf("  %d threads: %d places, %d requests failed\n", threads, n / step, failed);
    }
    CHECK(budget_used(session_budget(s)) == 0);
    session_free(s);
}

int main(void)
{
    Err err = { 0 };
    Model *model = NULL;
    scarce_spares = true;
    TEST("a model");
    if (!CHECK(model_open("examples/bus-ner", &model, &err))) printf("  %s\n", err.message);
    else {
        TEST("one thread");
        test_places(model, 1, 1, 1, SLOWER);
        TEST("several, and long batches");
        test_places(model, 3, 6, 10, SLOWER * 5);
    }
    model_close(model);
    return finish();
}
