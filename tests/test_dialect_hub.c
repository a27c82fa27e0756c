/* SPDX-License-Identifier: Apache-2.0
 * test_dialect_hub.c - zero-shot classification on `POST /`: every hypothesis goes the way of a pair that was
 * sent, through the script and through admission, and many of them hold no more memory than their tokens.
 * The model is tests/golden/families/bart, whose third label is called entailment here. */
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "dialect/dialect.h"
#include "model/model.h"

static Arena arena;

static Model *open_model(const char *script)
{
    static const char folder[] = "tests/golden/families/bart";
    ModelSource source = { .name = STR("m"), .task = STR("sequence_classification") };
    Model *m = NULL;
    Err err = { 0 };
    Str config = { 0 };
    source_folder(&arena, folder, &source);
    CHECK(file_read(&arena, source.config, 1 << 20, &config, &err));
    char *text = str_dup(&arena, config), *label = strstr(text, "LABEL_2\"\n");
    memcpy(label, "entail_", strlen("entail_"));
    source.inside.config = str_of(text);
    if (script) source.script = str_of(script);
    if (!CHECK(model_open_source(&source, &m, &err))) printf("  %s\n", err.message);
    return m;
}

/* The text, repeated, beside so many labels, which are the hypotheses: "w0", "w1", ... */
static Job *zero_shot(Session *s, const char *text, size_t repeats, int labels)
{
    Job *job = job_new();
    Buf b = { .arena = &job->work.arena };
    buf_puts(&b, "{\"inputs\":\"");
    for (size_t i = 0; i < repeats; i++) buf_puts(&b, text);
    buf_puts(&b, "\",\"parameters\":{\"hypothesis_template\":\"{}\",\"candidate_labels\":[");
    for (int i = 0; i < labels; i++) buf_printf(&b, "%s\"w%d\"", i ? "," : "", i);
    buf_puts(&b, "]}}");
    job->in.kind = &kind_hub;
    job->in.body = buf_view(&b);
    job_run(s, job);
    if (!CHECK(job->work.err.code == EF_OK)) printf("  %s\n", job->work.err.message);
    return job;
}

/* How many of four labels are as good as the others. */
static int count_quarters(const char *script)
{
    Model *m = open_model(script);
    Session *s = job_session(m, &(SessionOptions){ .threads = 1 });
    Job *job = zero_shot(s, "w1 w2", 1, 4);
    int n = 0;
    for (const char *p = str_dup(&arena, buf_view(&job->out.text)); (p = strstr(p, "\"score\":0.25}")); p++) n++;
    job_free(job);
    session_free(s);
    model_close(m);
    return n;
}

static void test_script(void)
{
    TEST("a script sees text and hypotheses");
    CHECK(count_quarters(NULL) == 0);
    CHECK(count_quarters("function Preprocess(s) return 'w3' end") == 4); /* they are all the same now */
}

/* What one hypothesis needed to become tokens is there for the next. */
static void test_many(void)
{
    TEST("many labels, a long text, little memory");
    enum { LABELS = 600, REPEATS = 2000, MOST = 16 << 20 };
    Model *m = open_model(NULL);
    Session *s = job_session(m, &(SessionOptions){ .threads = 1, .max_bytes = MOST });
    Job *job = zero_shot(s, "w1 w2 ", REPEATS, LABELS);
    Value reply;
    Err err;
    CHECK(json_parse(&arena, buf_view(&job->out.text), &reply, &err) && reply.list.n == LABELS);
    CHECK(job->work.n == LABELS); /* items: long lists are cut into slices between them */
    job_free(job);
    session_free(s);
    model_close(m);
}

int main(void)
{
    test_script();
    test_many();
    arena_free(&arena);
    return finish();
}
