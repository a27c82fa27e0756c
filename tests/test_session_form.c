/* SPDX-License-Identifier: Apache-2.0
 * test_session_form.c - the same request in JSON and in protobuf: the same tree comes back,
 * whatever the task, in one part or in many. */
#include "data/gzip.h"
#include "data/json.h"
#include "data/proto.h"
#include "dialect/job.h"
#include "session_case.h"

static Job *run(Session *s, const JobForm *form, Str body)
{
    Job *job = job_new();
    job->in.body = body;
    job->in.form = form;
    job->in.most = 1 << 20;
    job_run(s, job);
    return job;
}

/* The JSON as protobuf, by rows. */
static void convert(Buf *out, Str json, const Field *rows)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Value tree;
    CHECK(json_parse(&arena, json, &tree, &err));
    proto_write(out, &tree, rows);
    arena_free(&arena);
}

static bool same(Session *s, Str json)
{
    const Task *task = session_model(s)->task;
    JobForm form = { .request = task->request, .reply = task->reply };
    Buf body = { 0 }, wanted = { 0 };
    convert(&body, json, task->request);
    Job *plain = run(s, NULL, json), *proto = run(s, &form, buf_view(&body));
    proto_write(&wanted, &plain->out.value, task->reply);
    bool ok = plain->work.err.code == EF_OK && proto->work.err.code == EF_OK && wanted.n > 0 &&
              str_eq(buf_view(&wanted), buf_view(&proto->out.text));
    if (!ok) printf("  %s, %s\n", plain->work.err.message, proto->work.err.message);
    job_free(plain), job_free(proto);
    buf_free(&body), buf_free(&wanted);
    return ok;
}

static const char *const models[] = { "embedding", "sentence_embedding", "sequence_classification",
                                      "token_classification" };

static void test_same(void)
{
    Buf many = { 0 };
    buf_puts(&many, "{\"inputs\":[");
    for (int i = 0; i < 300; i++)
        buf_printf(&many, "%s\"text number %d with some words in it\"", i ? "," : "", i);
    buf_puts(&many, "]}");
    for (size_t i = 0; i < COUNT(models); i++) {
        Model *model;
        TEST(models[i]);
        if (!open_model(models[i], &model)) continue;
        Session *s = job_session(model, &(SessionOptions){ .threads = 4 });
        CHECK(same(s, STR("{\"inputs\":[\"hello world\"]}")));
        CHECK(same(s, STR("{\"inputs\":[\"a\",\"b c\"],\"metadata\":{\"k\":\"v\",\"l\":\"\"}}")));
        CHECK(same(s, buf_view(&many)));
        session_free(s);
        model_close(model);
    }
    buf_free(&many);
}

static bool refuses(Session *s, const JobForm *form, Str body, ef_code code, const char *words)
{
    Job *job = run(s, form, body);
    bool ok = job->work.err.code == code && says(&job->work.err, words) && job->out.text.n == 0;
    job_free(job);
    return ok;
}

static bool packs(Session *s, const JobForm *form)
{
    Buf body = { 0 };
    gzip_pack(&body, STR("\x0a\x05hello"), GZIP_FAST);
    Job *job = job_new();
    Err err = { 0 };
    Buf plain = { 0 };
    job->in.body = buf_view(&body);
    job->in.form = form;
    job->in.gzip = true;
    job->in.most = 100;
    job->in.gzip_from = 1;
    job_run(s, job);
    bool ok = job->work.err.code == EF_OK && job->out.gzip &&
              gzip_unpack(&plain, buf_view(&job->out.text), 1 << 20, &err) && plain.n > 16 * 4;
    job_free(job);
    buf_free(&body), buf_free(&plain);
    return ok;
}

/* A reply of another shape than the kind's. */
static Value first_result(const JobForm *form, Job *job, Value reply)
{
    (void)form, (void)job;
    return value_get(&reply, "results")->list.items[0];
}

static bool shapes(Session *s)
{
    const Task *task = session_model(s)->task;
    JobForm form = { task->request, task->result, first_result };
    Job *job = run(s, &form, STR("\x0a\x05hello"));
    Buf wanted = { 0 };
    proto_write(&wanted, &job->out.value, task->result);
    bool ok = job->work.err.code == EF_OK && value_get(&job->out.value, "embeddings") &&
              str_eq(buf_view(&wanted), buf_view(&job->out.text));
    job_free(job);
    buf_free(&wanted);
    return ok;
}

static void test_one(void)
{
    Model *model;
    TEST("one request");
    if (!open_model("embedding", &model)) return;
    Session *s = job_session(model, &(SessionOptions){ .threads = 1 });
    JobForm form = { .request = model->task->request, .reply = model->task->reply };
    CHECK(refuses(s, &form, STR("\x0a\x09hello"), EF_BAD_REQUEST, "protobuf: field 1"));
    CHECK(refuses(s, &form, STR("\x0a\x01\xff"), EF_BAD_REQUEST, "inputs: found bytes"));
    CHECK(refuses(s, &form, STR(""), EF_INVALID_INPUT,
                  "Cannot tokenize empty string"));
    CHECK(packs(s, &form));
    CHECK(shapes(s));
    session_free(s);
    model_close(model);
}

int main(void)
{
    test_same();
    test_one();
    return finish();
}
