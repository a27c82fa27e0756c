/* SPDX-License-Identifier: Apache-2.0
 * test_session.c - requests through a real (tiny) model: replies, batches of strangers, limits. The queue and requests
 * that are submitted have their own files: test_session_queue, _submit. */
#include <pthread.h>

#include "data/json.h"
#include "dialect/job.h"
#include "session_case.h"

/* ---- one request ---- */
static Job *run_body(Session *s, const char *body)
{
    Job *job = job_new();
    job->in.body = str_of(body);
    job_run(s, job);
    return job;
}

static bool answers(Session *s, const char *body, const char *words)
{
    Job *job = run_body(s, body);
    Value v;
    Arena arena = { 0 };
    Err err = { 0 };
    bool ok = job->work.err.code == EF_OK && json_parse(&arena, buf_view(&job->out.text), &v, &err);
    ok = ok && schema_check(&v, task_reply_schema(session_model(s)->task), &err);
    ok = ok && memmem(job->out.text.p, job->out.text.n, words, strlen(words));
    if (!ok)
        printf("  gave %.*s %s %s\n", STR_ARG(buf_view(&job->out.text)), job->work.err.message, err.message);
    arena_free(&arena);
    job_free(job);
    return ok;
}

static bool refuses(Session *s, const char *body, ef_code code, const char *words)
{
    Job *job = run_body(s, body);
    bool ok = job->work.err.code == code && says(&job->work.err, words);
    job_free(job);
    return ok;
}

static const struct { const char *folder, *body, *words; } tasks[] = {
    { "embedding", "{\"inputs\":[\"hello world\"]}", "{\"results\":[{\"embeddings\":[{\"embedding\":[" },
    { "sentence_embedding", "{\"inputs\":[\"a\",\"b c\"],\"metadata\":{\"k\":\"v\"}}", ",\"metadata\":{\"k\":\"v\"}}" },
    { "sequence_classification", "{\"inputs\":\"hello\"}", "\"predicted_label\":\"" },
    { "token_classification", "{\"inputs\":[\"h\xc3\xa9llo\"],\"offsets\":\"chars\"}", "\"start\":0,\"end\":5}" },
    { "sequence_classification", "{\"inputs\":[[\"a question\",\"an answer\"],\"alone\"]}", "\"predicted_index\":" },
};

static void test_tasks(void)
{
    TEST("tasks");
    for (size_t i = 0; i < COUNT(tasks); i++) {
        Model *model;
        if (!open_model(tasks[i].folder, &model)) continue;
        Session *s = job_session(model, &(SessionOptions){ .threads = 2 });
        CHECK(answers(s, tasks[i].body, tasks[i].words));
        session_free(s);
        model_close(model);
    }
}

/* A list that cannot be meant is refused while it is read, not when it is in memory. */
static bool refuses_long_list(Session *s)
{
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[0");
    for (int i = 0; i < 1000000; i++) buf_puts(&body, ",0");
    buf_puts(&body, "]}");
    buf_char(&body, 0);
    Job *job = run_body(s, body.p);
    bool ok = job->work.err.code == EF_INVALID_INPUT && says(&job->work.err, "values") &&
              job->work.arena.total < 1 << 20;
    job_free(job);
    buf_free(&body);
    return ok;
}

static void test_refusals(const Model *model)
{
    TEST("refusals");
    Session *s = job_session(model, &(SessionOptions){ .threads = 1, .max_inputs = 2 });
    CHECK(refuses(s, "{\"inputs\":", EF_BAD_REQUEST,
                  "Failed to parse the request body as JSON: line 1"));
    CHECK(refuses(s, "", EF_BAD_REQUEST, "JSON"));
    CHECK(refuses(s, "[1]", EF_INVALID_INPUT, "wanted an object"));
    CHECK(refuses(s, "{\"inputs\":[]}", EF_INVALID_INPUT, "Cannot tokenize empty string"));
    CHECK(refuses(s, "{\"inputs\":[\"\"]}", EF_INVALID_INPUT, "Cannot tokenize empty string"));
    CHECK(refuses(s, "{\"inputs\":[1]}", EF_INVALID_INPUT, "inputs[0]"));
    CHECK(refuses(s, "{\"inputs\":[\"a\",\"b\",\"c\"]}", EF_INVALID_INPUT, "at most 2"));
    CHECK(refuses_long_list(s));
    CHECK(answers(s, "{\"inputs\":[\"a\"]}", "results"));
    session_drain(s);
    CHECK(refuses(s, "{\"inputs\":[\"a\"]}", EF_UNAVAILABLE, "stopping"));
    session_free(s);
    s = job_session(model, &(SessionOptions){ .threads = 1, .max_output = 200 });
    CHECK(refuses(s, "{\"inputs\":[\"a b c d e f g h i j k l m n o p q r s t u v w x y z\"]}",
                  EF_TOO_LARGE, "limit"));
    session_free(s);
}

static void test_truncation(const Model *model)
{
    TEST("truncation");
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[\"");
    for (int i = 0; i < 600; i++) buf_puts(&body, "word ");
    buf_puts(&body, "\",\"short\"]}");
    buf_char(&body, 0);
    Session *s = job_session(model, NULL);
    CHECK(answers(s, body.p, "],\"truncated\":true},"));
    session_free(s);
    buf_free(&body);
}

/* Of a text far beyond the model's length a waiting job keeps little. */
static void test_long_text(const Model *model)
{
    TEST("a long text");
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[\"");
    for (int i = 0; i < 100000; i++) buf_puts(&body, "word ");
    buf_puts(&body, "\"]}");
    buf_char(&body, 0);
    Session *s = job_session(model, &(SessionOptions){ .threads = 1 });
    Job *job = run_body(s, body.p);
    CHECK(job->work.err.code == EF_OK && job->work.row[0].encoding.truncated && job->work.arena.total < 2 << 20);
    job_free(job);
    session_free(s);
    buf_free(&body);
}

/* ---- company ---- */
enum { CALLERS = 6, ROUNDS = 12 };
static char *expected[TEXTS];
static Session *shared;
static int wrong;

static char *text_of(const Job *job)
{
    Str s = job->work.err.code == EF_OK ? buf_view(&job->out.text) : str_of(job->work.err.message);
    char *copy = calloc(1, s.n + 1);
    return memcpy(copy, s.p, s.n);
}

static void *caller(void *arg)
{
    size_t n = (size_t)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++, n++) {
        Job *job = run_body(shared, texts[n % TEXTS]);
        char *text = text_of(job);
        if (strcmp(text, expected[n % TEXTS]) != 0) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        free(text);
        job_free(job);
    }
    return NULL;
}

/* Alone, and together with others in small and large batches: the same bytes. */
static void test_company(const Model *model)
{
    TEST("company");
    static const int64_t budgets[] = { 1, 9, 40, 8192 };
    for (size_t i = 0; i < COUNT(budgets); i++) {
        pthread_t thread[CALLERS];
        shared = job_session(model, &(SessionOptions){ .threads = 2, .batch_tokens = budgets[i] });
        for (int k = 0; k < TEXTS && i == 0; k++) {
            Job *job = run_body(shared, texts[k]);
            expected[k] = text_of(job);
            job_free(job);
        }
        wrong = 0;
        for (size_t k = 0; k < CALLERS; k++) pthread_create(&thread[k], NULL, caller, (void *)k);
        for (size_t k = 0; k < CALLERS; k++) pthread_join(thread[k], NULL);
        CHECK(wrong == 0);
        session_free(shared);
    }
    for (int k = 0; k < TEXTS; k++) free(expected[k]);
}

/* A large request is finished by several workers; its text is the sum of its parts. */
static void test_parts(const Model *model)
{
    TEST("parts");
    Buf body = { 0 }, wanted = { 0 };
    buf_puts(&body, "{\"inputs\":[");
    for (int i = 0; i < 300; i++)
        buf_printf(&body, "%s\"text number %d with some words in it\"", i ? "," : "", i);
    buf_puts(&body, "]}");
    buf_char(&body, 0);
    Session *s = job_session(model, &(SessionOptions){ .threads = 4, .replicas = 1 });
    Job *job = run_body(s, body.p);
    CHECK(job->work.err.code == EF_OK && job->work.n == 300 && job->out.parts == 4);
    json_write(&wanted, &job->out.value);
    CHECK(str_eq(buf_view(&wanted), buf_view(&job->out.text)));
    CHECK(work_result(&job->work, 299)->data && work_result(&job->work, 299)->width > 0);
    job_free(job);
    session_free(s);
    buf_free(&body);
    buf_free(&wanted);
}

/* The same results, each on its line. */
static void test_result_lines(const Model *model)
{
    TEST("lines of results");
    enum { N = 300 };
    Buf wanted = { 0 };
    Session *s = job_session(model, &(SessionOptions){ .threads = 4, .replicas = 1 });
    Job *job = job_new();
    job_items(job, N);
    for (size_t i = 0; i < N; i++)
        job->work.item[i].first = str_of(str_format(&job->work.arena, "line %zu\\n of many", i));
    job->in.lines = true;
    job_run(s, job);
    const Value *results = value_get(&job->out.value, "results");
    CHECK(job->work.err.code == EF_OK && job->out.parts == 4 && results->list.n == N);
    for (size_t i = 0; i < results->list.n; i++) {
        json_write(&wanted, &results->list.items[i]);
        buf_char(&wanted, '\n');
    }
    CHECK(str_eq(buf_view(&wanted), buf_view(&job->out.text)));
    job_free(job);
    session_free(s);
    buf_free(&wanted);
}

int main(void)
{
    Model *model;
    test_tasks();
    TEST("models");
    if (open_model("embedding", &model)) {
        test_refusals(model);
        test_truncation(model);
        test_long_text(model);
        test_company(model);
        test_parts(model);
        test_result_lines(model);
        model_close(model);
    }
    return finish();
}
