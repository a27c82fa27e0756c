/* SPDX-License-Identifier: Apache-2.0
 * test_task_pairs.c - pictures with texts, by tiny models with two towers (tools/oracle/picture_pairs.py): labels and scores as
 * transformers' pipeline gives them, vectors of both towers on /v1/embeddings, the cache of labels, packages, and what is refused. */
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "data/base64.h"
#include "data/json.h"
#include "dialect/dialect.h"
#include "encoderfile.h"
#include "model/model.h"

#define MODELS "tests/golden/pairs/"
#define PICTURES "tests/golden/images/"
#define PICTURE "base420_37x29.jpg"
#define FORTY "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* base64 of no picture */
enum { MOST_FILE = 1 << 20 };

static Arena arena;
static const char *const names[] = { "clip", "clip_old", "clip_onnx", "siglip" };

static Value golden(const char *file)
{
    Str text;
    Err err = { 0 };
    Value v = value_null();
    CHECK(file_read(&arena, str_format(&arena, MODELS "%s", file), MOST_FILE, &text, &err) && json_parse(&arena, text, &v, &err));
    return v;
}

static Str picture_file(Str name)
{
    Err err = { 0 };
    Str bytes = { 0 };
    CHECK(file_read(&arena, str_format(&arena, PICTURES "%.*s", STR_ARG(name)), MOST_FILE, &bytes, &err));
    return bytes;
}

static Model *open_pairs(const char *path)
{
    Model *m;
    Err err = { 0 };
    if (!CHECK(model_open(path, &m, &err))) printf("  %s: %s\n", path, err.message);
    return m;
}

/* ---- requests ---- */
static Job *ask(Session *s, const JobKind *kind, const char *body)
{
    Job *job = job_new();
    job->in.kind = kind;
    job->in.body = str_of(body);
    job_run(s, job);
    return job;
}

static Str encoded(Str name)
{
    Buf b = { .arena = &arena };
    base64_write(&b, picture_file(name));
    return buf_view(&b);
}

/* {"inputs": [pictures], the parameters} */
static char *zero_shot_body(const Str *pictures, size_t n, const Value *params)
{
    Buf b = { .arena = &arena }, more = { .arena = &arena };
    json_write(&more, params);
    buf_puts(&b, "{\"inputs\":[");
    for (size_t i = 0; i < n; i++) buf_printf(&b, "%s\"%.*s\"", i ? "," : "", STR_ARG(encoded(pictures[i])));
    buf_printf(&b, "],%.*s", (int)more.n - 1, more.p + 1);
    return str_dup(&arena, buf_view(&b));
}

static const Value *results(Job *job)
{
    if (!CHECK(job->work.err.code == EF_OK)) return printf("  %s\n", job->work.err.message), NULL;
    return value_get(&job->out.value, "results");
}

static bool same_labels(const Value *result, const Value *want)
{
    const Value *found = value_get(result, "labels");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        same = str_eq(value_get(a, "label")->s, value_get(b, "label")->s) &&
               fabs(value_float(value_get(a, "score"), NAN) - value_float(value_get(b, "score"), NAN)) < 1e-4;
    }
    return same;
}

static bool is_case(const Value *row, const char *name)
{
    return str_is(value_get(row, "case")->s, name);
}

/* ---- golden cases ---- */
static void check_cases(Session *s, const Value *rows, const char *name)
{
    for (size_t i = 0; i < rows->list.n; i++) {
        const Value *row = &rows->list.items[i];
        if (!is_case(row, name)) continue;
        Str picture = value_get(row, "picture")->s;
        Job *job = ask(s, &kind_predict, zero_shot_body(&picture, 1, value_get(row, "params")));
        const Value *list = results(job);
        if (list && !CHECK(list->list.n == 1 && same_labels(&list->list.items[0], value_get(row, "result"))))
            printf("  %s: %.*s\n", name, STR_ARG(picture));
        job_free(job);
    }
}

/* All pictures in one request: each has the answer that it has alone. */
static void check_together(Session *s, const Value *rows, const char *name)
{
    enum { MOST = 16 };
    Str picture[MOST];
    const Value *want[MOST], *params = NULL;
    size_t n = 0;
    for (size_t i = 0; i < rows->list.n && n < MOST; i++) {
        const Value *row = &rows->list.items[i];
        if (!is_case(row, name) || value_get(value_get(row, "params"), "candidate_labels")->list.n != 4) continue;
        if (value_get(value_get(row, "params"), "hypothesis_template")) continue;
        params = value_get(row, "params");
        picture[n] = value_get(row, "picture")->s;
        want[n++] = value_get(row, "result");
    }
    CHECK(n == 10);
    Job *job = ask(s, &kind_predict, zero_shot_body(picture, n, params));
    const Value *list = results(job);
    for (size_t i = 0; list && i < n; i++) CHECK(same_labels(&list->list.items[i], want[i]));
    job_free(job);
}

static void test_golden(void)
{
    TEST("as transformers' pipeline");
    Value rows = golden("cases.json");
    for (size_t i = 0; i < COUNT(names); i++) {
        Model *m = open_pairs(str_format(&arena, MODELS "%s", names[i]));
        Session *s = m ? job_session(m, &(SessionOptions){ .threads = 2 }) : NULL;
        if (s) check_together(s, &rows, names[i]), check_cases(s, &rows, names[i]);
        if (s) session_free(s);
        model_close(m);
    }
}

/* ---- vectors ---- */
static bool same_vector(const Value *entry, const Value *want)
{
    const Value *found = value_get(entry, "embedding");
    bool same = found && found->kind == V_F32 && found->f32.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = fabs(found->f32.p[i] - value_float(&want->list.items[i], NAN)) < 1e-4;
    return same;
}

static bool near_vector(const Value *found, const Value *want)
{
    bool same = found && found->kind == V_LIST && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = fabs(value_float(&found->list.items[i], NAN) - value_float(&want->list.items[i], NAN)) < 1e-4;
    return same;
}

/* Pictures and texts by turns, in all the ways that they are written. */
static void check_vectors(Session *s, const Value *want)
{
    const Value *pictures = value_get(want, "pictures"), *texts = value_get(want, "texts");
    Buf b = { .arena = &arena };
    buf_puts(&b, "{\"input\":[");
    for (size_t i = 0; i < texts->map.n; i++) {
        Str image = encoded(pictures->map.items[i].key), text = texts->map.items[i].key;
        buf_printf(&b, i % 2 ? "%s{\"image\":\"%.*s\"}" : "%s\"data:image/jpeg;base64,%.*s\"", i ? "," : "", STR_ARG(image));
        buf_printf(&b, i % 2 ? ",{\"text\":\"%.*s\"}" : ",\"%.*s\"", STR_ARG(text));
    }
    buf_puts(&b, "]}");
    Job *job = ask(s, &kind_openai_embed, str_dup(&arena, buf_view(&b)));
    const Value *data = CHECK(job->work.err.code == EF_OK) ? value_get(&job->out.value, "data") : NULL;
    for (size_t i = 0; data && i < texts->map.n; i++) {
        CHECK(same_vector(&data->list.items[2 * i], &pictures->map.items[i].value));
        CHECK(same_vector(&data->list.items[2 * i + 1], &texts->map.items[i].value));
    }
    job_free(job);
}

static void test_vectors(void)
{
    TEST("vectors of both towers");
    Value all = golden("vectors.json");
    for (size_t i = 0; i < COUNT(names); i++) {
        Model *m = open_pairs(str_format(&arena, MODELS "%s", names[i]));
        Session *s = m ? job_session(m, &(SessionOptions){ .threads = 1 }) : NULL;
        if (s) check_vectors(s, value_get(&all, names[i])), session_free(s);
        model_close(m);
    }
}

/* ---- vectors of pictures and of their patches, by models that we export (tools/oracle/picture_vectors.py) ---- */
static void check_picture(ef_model *m, const Value *row)
{
    const Value *patches = value_get(row, "patches"), *found;
    ef_error err = { 0 };
    Err bad = { 0 };
    Value reply;
    Str bytes = picture_file(value_get(row, "picture")->s);
    ef_input in = { sizeof in, EF_PICTURE, bytes.p, bytes.n, NULL, 0 };
    ef_reply *r = ef_predict(m, &in, 1, patches->kind == V_LIST ? "{\"patches\":true}" : NULL, &err);
    if (!CHECK(r)) { printf("  %s\n", err.message); return; }
    CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(ef_reply_json(r)))), &reply, &bad));
    ef_reply_free(r);
    const Value *result = &value_get(&reply, "results")->list.items[0];
    CHECK(near_vector(value_get(result, "embedding"), value_get(row, "vector")));
    found = value_get(result, "patches");
    if (!CHECK(!found == (patches->kind != V_LIST)) || !found || !CHECK(found->list.n == patches->list.n)) return;
    for (size_t i = 0; i < found->list.n; i++)
        CHECK(near_vector(value_get(&found->list.items[i], "embedding"), &patches->list.items[i]));
}

static void test_pictures(void)
{
    TEST("vectors of pictures and patches");
    Value rows = golden("pictures.json");
    ef_options how = { .struct_size = sizeof how, .threads = 1, .task = "image_embedding" };
    for (size_t i = 0; i < rows.list.n; i++) {
        ef_error err = { 0 };
        const char *folder = str_format(&arena, "tests/golden/export_vision/%.*s", STR_ARG(value_get(&rows.list.items[i], "case")->s));
        ef_model *m = ef_open(folder, &how, &err);
        if (!CHECK(m)) printf("  %s: %s\n", folder, err.message);
        if (m) check_picture(m, &rows.list.items[i]);
        ef_close(m);
    }
    ef_error err = { 0 };
    Str bytes = picture_file(STR(PICTURE));
    ef_input in = { sizeof in, EF_PICTURE, bytes.p, bytes.n, NULL, 0 };
    ef_model *m = ef_open("tests/golden/export_vision/clip", &how, &err);
    CHECK(m && !ef_predict(m, &in, 1, "{\"patches\":true}", &err) && says(&err, "gives no last_hidden_state"));
    ef_close(m);
}

/* ---- the cache ---- */
/* Rows of the text tower that a request with these labels is run with. */
static size_t text_rows(Session *s, const char *labels, Value *kept)
{
    Err err = { 0 };
    Value params;
    Str name = STR(PICTURE), params_text = str_of(str_format(&arena, "{\"candidate_labels\":[%s]}", labels));
    size_t n = 0;
    CHECK(json_parse(&arena, params_text, &params, &err));
    Job *job = ask(s, &kind_predict, zero_shot_body(&name, 1, &params));
    if (CHECK(results(job))) {
        const char *text = str_dup(&arena, buf_view(&job->out.text));
        CHECK(json_parse(&arena, str_of(text), kept, &err));
        for (size_t r = 0; r < job->work.rows; r++) n += job->work.row[r].graph == 1;
    }
    job_free(job);
    return n;
}

static void test_cache(void)
{
    TEST("the cache of labels");
    Model *m = open_pairs(MODELS "clip");
    Session *s = job_session(m, &(SessionOptions){ .threads = 1 });
    const SessionMeters *meters = session_meters(s);
    Value first, again, more;
    CHECK(text_rows(s, "\"cat\",\"dog\",\"bus\"", &first) == 3);
    CHECK(meters->texts_run == 3 && meters->texts_known == 0);
    CHECK(text_rows(s, "\"cat\",\"dog\",\"bus\"", &again) == 0);
    CHECK(meters->texts_run == 3 && meters->texts_known == 3);
    CHECK(text_rows(s, "\"tree\",\"dog\",\"cat\"", &more) == 1);
    Buf a = { .arena = &arena }, b = { .arena = &arena };
    json_write(&a, &first), json_write(&b, &again);
    CHECK(str_eq(buf_view(&a), buf_view(&b))); /* to the last digit */
    /* It is bounded: after many others the first ones are no longer known. */
    enum { ROUNDS = 40, EACH = 400 };
    for (int r = 0; r < ROUNDS; r++) {
        Buf many = { .arena = &arena };
        for (int i = 0; i < EACH; i++) buf_printf(&many, "%s\"label %d\"", i ? "," : "", r * EACH + i);
        text_rows(s, str_dup(&arena, buf_view(&many)), &more);
    }
    CHECK(text_rows(s, "\"cat\",\"dog\",\"bus\"", &again) == 3);
    session_free(s);
    model_close(m);
}

/* ---- packages ---- */
static void test_package(void)
{
    TEST("both towers in one package");
    char folder[] = "/tmp/pairs-XXXXXX";
    Value rows = golden("cases.json");
    if (!CHECK(mkdtemp(folder))) return;
    for (size_t i = 0; i < COUNT(names); i++) {
        ef_error err = { 0 };
        const char *path = str_format(&arena, "%s/%s.encoderfile", folder, names[i]);
        const char *yaml = str_format(&arena, "%s/%s.yml", folder, names[i]), *here = path_real(&arena, MODELS);
        Str text = str_of(str_format(&arena, "encoderfile:\n  name: pairs\n  path: %s/%s\n  model_type: "
                                     "zero_shot_image_classification\n", here, names[i]));
        if (!CHECK(file_write(&arena, yaml, text, &err) && went_well(ef_build(yaml, path, OWN_PROGRAM, &err)))) printf("  %s\n", err.message);
        Model *m = open_pairs(path);
        Session *s = m ? job_session(m, &(SessionOptions){ .threads = 1 }) : NULL;
        if (s) check_together(s, &rows, names[i]), session_free(s);
        model_close(m);
        remove(path), remove(yaml);
    }
    rmdir(folder);
}

/* ---- what is refused ---- */
static void refused(Session *s, const JobKind *kind, const char *body, const char *words)
{
    Job *job = ask(s, kind, body);
    if (!CHECK(job->work.err.code == EF_INVALID_INPUT && says(&job->work.err, words))) printf("  %s\n", job->work.err.message);
    job_free(job);
}

static void test_refused(void)
{
    TEST("what is refused");
    Model *m = open_pairs(MODELS "clip");
    Session *s = job_session(m, &(SessionOptions){ .threads = 1, .max_inputs = 3 });
    const char *picture = str_format(&arena, "\"%.*s\"", STR_ARG(encoded(STR(PICTURE))));
    const struct { const char *more, *words; } rows[] = {
        { "", "candidate_labels" },
        { ",\"candidate_labels\":[]", "candidate_labels: found an empty list" },
        { ",\"candidate_labels\":[\"\"]", "candidate_labels[0]: found an empty string" },
        { ",\"candidate_labels\":\"cat\"", "candidate_labels" },
        { ",\"candidate_labels\":[\"a\",\"b\",\"c\",\"d\"]", "candidate_labels: found 4, wanted at most 3" },
        { ",\"candidate_labels\":[\"a\"],\"hypothesis_template\":\"a photo\"", "hypothesis_template: found no {}" },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refused(s, &kind_predict, str_format(&arena, "{\"inputs\":[%s]%s}", picture, rows[i].more), rows[i].words);
    const char *both = str_format(&arena, "{\"inputs\":[%s,%s],\"candidate_labels\":[\"a\",\"b\"]}", picture, picture);
    refused(s, &kind_predict, both, "inputs with candidate_labels: found 4, wanted at most 3");
    refused(s, &kind_predict, "{\"inputs\":[\"a text\"],\"candidate_labels\":[\"a\"]}", "inputs[0]: picture: found text");
    refused(s, &kind_openai_embed, "{\"input\":[{}]}", "input[0].text: found nothing, wanted one of text and image");
    refused(s, &kind_openai_embed, "{\"input\":[{\"image\":\"!\"}]}", "input[0].image: ");
    refused(s, &kind_openai_embed, "{\"input\":[{\"text\":\"a\",\"image\":\"" FORTY "\"}]}", "input[0].text: found both");
    refused(s, &kind_openai_embed, "{\"input\":[\"a\",{\"image\":\"" FORTY "\"}]}", "input[1]: picture: found 30 bytes");
    refused(s, &kind_openai_embed, "{\"input\":[]}", "input: ");
    refused(s, &kind_openai_embed, "{\"input\":3}", "input: found ");
    session_free(s);
    model_close(m);
}

/* ---- a form with a field for each label ---- */
static void test_form(void)
{
    enum { LABELS = 2000, MOST_HELD = 4 << 20 };
    TEST("a form of many labels");
    Model *m = open_pairs(MODELS "clip");
    Session *s = job_session(m, &(SessionOptions){ .threads = 1 });
    Job *job = job_new();
    Buf b = { .arena = &arena };
    Value request;
    Err err = { 0 };
    for (int i = 0; i < LABELS; i++)
        buf_printf(&b, "--x\r\nContent-Disposition: form-data; name=\"candidate_labels\"\r\n\r\nlabel %d\r\n", i);
    buf_puts(&b, "--x--\r\n");
    job->in.type = STR("multipart/form-data; boundary=x");
    job->in.body = buf_view(&b);
    CHECK(files_request(s, job, &request, &err));
    const Value *labels = value_get(&request, "candidate_labels");
    if (CHECK(labels && labels->list.n == LABELS))
        CHECK(str_is(labels->list.items[0].s, "label 0") && str_is(labels->list.items[LABELS - 1].s, "label 1999"));
    CHECK(job->work.arena.total < MOST_HELD); /* not the list again for each of them */
    job_free(job);
    session_free(s);
    model_close(m);
}

int main(void)
{
    test_golden();
    test_vectors();
    test_pictures();
    test_cache();
    test_package();
    test_refused();
    test_form();
    arena_free(&arena);
    return finish();
}
