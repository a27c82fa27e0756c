/* SPDX-License-Identifier: Apache-2.0
 * test_transform_session.c - requests through models with a script: its numbers are the reply's,
 * its errors are its own request's, and while one is stuck the others are answered. The models are
 * data of the workspace; without them this is skipped. */
#include <pthread.h>

#include "base/file.h"
#include "base/thread.h"
#include "check.h"
#include "data/json.h"
#include "dialect/job.h"
#include "model/model.h"

static Arena arena;

static const char *find_folder(const char *name)
{
    static const char *const places[] = { "../shared/fixtures/dummy/",
                                          "../../shared/fixtures/dummy/" };
    for (size_t i = 0; i < COUNT(places); i++) {
        const char *path = str_format(&arena, "%s%s", places[i], name);
        if (dir_is(path)) return path;
    }
    SKIP(name);
    return NULL;
}

static Model *open_model(const char *task, const char *script)
{
    const char *folder = find_folder(task);
    ModelSource source = { .name = STR("m"), .task = str_of(task), .script = str_of(script) };
    Model *m = NULL;
    Err err = { 0 };
    if (!folder) return NULL;
    if (!script) source.script.p = NULL;
    source_folder(&arena, folder, &source);
    if (!CHECK(model_open_source(&source, &m, &err))) printf("  %s\n", err.message);
    return m;
}

static Job *run(Session *s, const char *body)
{
    Job *job = job_new();
    job->in.body = str_of(body);
    job_run(s, job);
    return job;
}

/* The reply's text, or the error's. */
static const char *answer(const char *task, const char *script, const char *body)
{
    Model *m = open_model(task, script);
    if (!m) return NULL;
    Session *s = job_session(m, &(SessionOptions){ .threads = 2 });
    Job *job = run(s, body);
    const char *text = job->work.err.code == EF_OK ? str_dup(&arena, buf_view(&job->out.text))
                                              : str_format(&arena, "%s", job->work.err.message);
    job_free(job);
    session_free(s);
    model_close(m);
    return text;
}

static bool answers(const char *task, const char *script, const char *body, const char *words)
{
    const char *text = answer(task, script, body);
    if (!text || strstr(text, words)) return true;
    printf("  gave %.300s\n", text);
    return false;
}

#define TWO "{\"inputs\":[\"hello world\",\"a\"]}"
#define POST(body) "function Postprocess(t, mask) " body " end"

static void test_tasks(void)
{
    TEST("tasks");
    CHECK(answers("sentence_embedding", POST("return t:mean_pool(mask) * 0 + 7"), TWO,
                  "{\"embedding\":[7.0,7.0,"));
    CHECK(answers("sentence_embedding", POST("return {{1, 2}, {3, t:shape(2)}}"), TWO,
                  "{\"results\":[{\"embedding\":[1.0,2.0]},{\"embedding\":[3.0,4.0]}]"));
    CHECK(answers("embedding", POST("return t:truncate_axis(3, 1) * 0 + mask:reshape(2, -1, 1)"),
                  TWO, "\"embeddings\":[{\"embedding\":[1.0],"));
    CHECK(answers("sequence_classification", POST("return t * 0 + Tensor({1, 2})"), TWO,
                  "\"scores\":[1.0,2.0],\"predicted_index\":1,\"predicted_label\":\"bad\""));
    CHECK(answers("token_classification", POST("return t * 0 + Tensor({0.5, 9})"), TWO,
                  "\"scores\":[0.5,9.0],\"label\":\"bad\",\"score\":9.0"));
    CHECK(answers("sequence_classification", POST("return t:softmax(2)"), TWO, "\"logits\":["));
    CHECK(answers("embedding", POST("return t:sum_axis(3)"), TWO,
                  "Error postprocessing embeddings"));
    CHECK(answers("embedding", POST("error('boom')"), TWO, "transform:1: boom"));
    CHECK(answers("embedding", "x = 1", TWO, "\"embeddings\":["));
    CHECK(answers("sequence_classification", "function Preprocess(s) return '' end", TWO,
                  "inputs[0]: Preprocess returned an empty text"));
}

/* A script that pools gives what the task gives by itself; Preprocess is as if sent. */
static void test_same(void)
{
    TEST("same as without");
    const char *plain = answer("sentence_embedding", NULL, TWO);
    const char *pooled = answer("sentence_embedding", POST("return t:mean_pool(mask)"), TWO);
    CHECK(!plain || strcmp(plain, pooled) == 0);
    const char *swapped = answer("token_classification",
                                 "function Preprocess(s) return 'hello world' end",
                                 "{\"inputs\":[\"x\"]}");
    const char *sent = answer("token_classification", NULL, "{\"inputs\":[\"hello world\"]}");
    CHECK(!sent || strcmp(sent, swapped) == 0);
}

/* Many rows: more than fit into one call of the script. */
static void test_many(void)
{
    TEST("many rows");
    Model *m = open_model("embedding", POST("assert(#t * 4 <= 40000000) return t"));
    if (!m) return;
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[\"");
    for (int i = 0; i < 500; i++) buf_puts(&body, "word ");
    buf_puts(&body, "\"");
    for (int i = 0; i < 1500; i++) buf_puts(&body, ",\"a\"");
    buf_puts(&body, "]}");
    buf_char(&body, 0);
    Session *s = job_session(m, &(SessionOptions){ .threads = 2 });
    Job *job = run(s, body.p);
    if (!CHECK(job->work.err.code == EF_OK)) printf("  %s\n", job->work.err.message);
    CHECK(job->work.n == 1501 && work_result(&job->work, 0)->tokens == 502 && work_result(&job->work, 1500)->tokens == 3);
    job_free(job);
    session_free(s);
    model_close(m);
    buf_free(&body);
}

/* ---- a script that is stuck ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static int ended;

static void count_end(Work *work)
{
    (void)work;
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_signal(&came);
    pthread_mutex_unlock(&lock);
}

static int ends(void)
{
    pthread_mutex_lock(&lock);
    int n = ended;
    pthread_mutex_unlock(&lock);
    return n;
}

static void wait_for(int n)
{
    pthread_mutex_lock(&lock);
    while (ended < n) pthread_cond_wait(&came, &lock);
    pthread_mutex_unlock(&lock);
}

/* How many others were answered while it was stuck. */
static int answered_beside(Model *m, double limit)
{
    m->transform->limits.seconds = limit;
    Session *s = job_session(m, &(SessionOptions){ .threads = 1 });
    Job *stuck = job_new();
    Err err = { 0 };
    stuck->in.body = STR("{\"inputs\":[\"stuck\",\"b\",\"c\"]}");
    stuck->work.done = count_end;
    ended = 0;
    CHECK(job_submit(s, stuck, &err));
    int answered = 0;
    while (ends() == 0) { /* as many as there is time for */
        Job *job = run(s, TWO);
        answered += job->work.err.code == EF_OK && ends() == 0;
        job_free(job);
    }
    wait_for(1);
    CHECK(stuck->work.err.code == EF_INTERNAL && says(&stuck->work.err, "over its "));
    job_free(stuck);
    Job *job = run(s, TWO);
    CHECK(job->work.err.code == EF_OK);
    job_free(job);
    session_free(s);
    return answered;
}

/* A busy machine gets more time; where others wait for the script, no time is enough. One that is
 * never stopped hangs, and that is a failure too. */
static void test_stuck(const char *script)
{
    Model *m = open_model("sequence_classification", script);
    if (!m) return;
    int answered = 0;
    for (double limit = 0.5; limit < 10 && answered <= 3; limit *= 2)
        answered = answered_beside(m, limit);
    CHECK(answered > 3);
    model_close(m);
}

/* Callers of many threads, each with its own answer. */
static void *call_often(void *session)
{
    static int wrong;
    for (int i = 0; i < 40; i++) {
        Job *job = run(session, i % 2 ? TWO : "{\"inputs\":[\"one\",\"two\",\"three\"]}");
        const char *words = i % 2 ? "\"scores\":[2.0," : "\"scores\":[3.0,";
        if (job->work.err.code != EF_OK || !memmem(job->out.text.p, job->out.text.n, words, strlen(words)))
            wrong++;
        job_free(job);
    }
    return wrong ? &wrong : NULL;
}

static void test_company(void)
{
    TEST("company");
    Model *m = open_model("sequence_classification",
                          POST("return t * 0 + t:shape(1)") " function Preprocess(s) return s end");
    if (!m) return;
    Session *s = job_session(m, &(SessionOptions){ .threads = 2 });
    pthread_t caller[4];
    for (size_t i = 0; i < COUNT(caller); i++)
        CHECK(pthread_create(&caller[i], NULL, call_often, s) == 0);
    for (size_t i = 0; i < COUNT(caller); i++) {
        void *wrong;
        pthread_join(caller[i], &wrong);
        CHECK(!wrong);
    }
    session_free(s);
    model_close(m);
}

int main(void)
{
    test_tasks();
    test_same();
    test_many();
    TEST("stuck in Postprocess");
    test_stuck(POST("if t:shape(1) == 3 then while true do end end return t"));
    TEST("stuck in Preprocess");
    test_stuck("function Preprocess(s) if s == 'stuck' then while true do end end return s end");
    TEST("stuck in a pattern");
    test_stuck("function Preprocess(s) if s == 'stuck' then ('a'):rep(9999):find(('a*'):rep(30) .. "
               "'b') end return s end");
    test_company();
    arena_free(&arena);
    return finish();
}
