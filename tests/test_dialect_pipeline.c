/* SPDX-License-Identifier: Apache-2.0
 * test_dialect_pipeline.c - calls of pipelines, compared with what transformers' own returned: the containers, the
 * keys, every text, and numbers within 1e-3. Texts by tools/oracle/pipelines.py, pictures by
 * tools/oracle/picture_tasks.py, pages by tools/oracle/documents.py; each as a body and, where C can say it, by ef_run. And calls that are refused. */
#include "base/file.h"
#include "check.h"
#include "data/base64.h"
#include "data/json.h"
#include "dialect/pipeline.h"
#include "encoderfile.h"
#include "image/image.h"
#include "model/model.h"

#define GOLDEN "tests/golden/pipelines/"
#define PAGES "tests/golden/documents/"
enum { MOST_FILE = 1 << 20, MODELS = 32 };

static Arena arena;

/* ---- models, opened once for each task ---- */
static struct Opened {
    const char *path;
    const Task *task;
    Model *model;
    Session *session;
    ef_model *handle;
} opened[MODELS];
static size_t n_opened;

static struct Opened *open_once(const char *path, Str task)
{
    Err err = { 0 };
    const Task *wanted = task.n ? task_find(task) : NULL;
    for (size_t i = 0; i < n_opened; i++)
        if (strcmp(opened[i].path, path) == 0 && opened[i].task == wanted) return &opened[i];
    if (!CHECK(n_opened < MODELS)) return NULL;
    struct Opened *o = &opened[n_opened];
    if (!CHECK(model_open_with(path, &(ModelOpen){ .task = task }, &o->model, &err))) {
        printf("  %s: %s\n", path, err.message);
        return NULL;
    }
    *o = (struct Opened){ path, wanted, o->model, job_session(o->model, &(SessionOptions){ .threads = 1 }), NULL };
    const char *name = task.n ? str_dup(&arena, task) : NULL;
    o->handle = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1, .task = name }, &err);
    CHECK(o->handle);
    n_opened++;
    return o;
}

static void close_all(void)
{
    for (size_t i = 0; i < n_opened; i++) {
        session_free(opened[i].session);
        model_close(opened[i].model);
        ef_close(opened[i].handle);
    }
}

/* ---- comparing ---- */
static double number_of(const Value *v)
{
    return value_float(v, NAN);
}

/* A list of numbers is V_F32 where it was not parsed; here both were. */
static bool same_value(const Value *a, const Value *b)
{
    bool number = b->kind == V_INT || b->kind == V_FLOAT;
    double near = fmax(1e-3, 1e-4 * fabs(number_of(b))); /* pixels of a picture that is 60,000 wide */
    if (number) return (a->kind == V_INT || a->kind == V_FLOAT) && fabs(number_of(a) - number_of(b)) < near;
    if (a->kind != b->kind) return false;
    if (b->kind == V_STR) return str_eq(a->s, b->s);
    if (b->kind == V_LIST && a->list.n != b->list.n) return false;
    for (size_t i = 0; b->kind == V_LIST && i < b->list.n; i++)
        if (!same_value(&a->list.items[i], &b->list.items[i])) return false;
    if (b->kind == V_MAP && a->map.n != b->map.n) return false;
    for (size_t i = 0; b->kind == V_MAP && i < b->map.n; i++) {
        const Value *v = value_get(a, str_dup(&arena, b->map.items[i].key));
        if (!v || !same_value(v, &b->map.items[i].value)) return false;
    }
    return true;
}

static void check_reply(const char *how, Str text, const Value *want, Str line)
{
    Value found;
    Err err = { 0 };
    if (!CHECK(json_parse(&arena, text, &found, &err)) || !CHECK(same_value(&found, want)))
        printf("  %s: %.*s\n  found %.*s\n", how, (int)MIN(line.n, 400), line.p, (int)MIN(text.n, 400), text.p);
}

/* ---- by a body ---- */
static const char *run_body(Session *s, const char *body, ef_code *code)
{
    Job *job = job_new();
    job->in.kind = &kind_hub;
    job->in.body = str_of(body);
    job_run(s, job);
    *code = job->work.err.code;
    const char *text = *code == EF_OK ? str_dup(&arena, buf_view(&job->out.text))
                                      : str_format(&arena, "%s", job->work.err.message);
    job_free(job);
    return text;
}

/* ---- by C ---- */
static ef_input input_of(const Value *v)
{
    if (v->kind == V_STR) return (ef_input){ sizeof(ef_input), EF_TEXT, v->s.p, v->s.n, NULL, 0 };
    Str a = v->map.items[0].value.s, b = v->map.items[1].value.s;
    return (ef_input){ sizeof(ef_input), EF_PAIR, a.p, a.n, b.p, b.n };
}

static void check_call(ef_model *m, const Value *call, const Value *want, Str line)
{
    const Value *inputs = value_get(call, "inputs");
    Value parameters = *value_get(call, "parameters");
    bool list = inputs->kind == V_LIST;
    size_t n = inputs->kind == V_NULL ? 0 : list ? inputs->list.n : 1;
    if (list && n == 1) return; /* one input, or a list of it: C cannot tell */
    ef_input in[4];
    for (size_t i = 0; i < n; i++) in[i] = input_of(list ? &inputs->list.items[i] : inputs);
    Buf params = { .arena = &arena };
    json_write(&params, &parameters);
    ef_error err = { 0 };
    ef_reply *r = ef_run(m, str_dup(&arena, value_get(call, "task")->s), in, n, str_dup(&arena, buf_view(&params)), &err);
    if (CHECK(r)) check_reply("ef_run", str_of(ef_reply_json(r)), want, line);
    else printf("  %.*s\n  %s\n", (int)MIN(line.n, 300), line.p, err.message);
    ef_reply_free(r);
}

/* ---- texts ---- */
static void check_case(Str line)
{
    Value call;
    Err err = { 0 };
    ef_code code;
    if (!CHECK(json_parse(&arena, str_of(str_dup(&arena, line)), &call, &err))) return;
    Value *want = (Value *)value_get(&call, "result");
    const char *path = str_format(&arena, GOLDEN "%.*s", STR_ARG(value_get(&call, "model")->s));
    struct Opened *o = open_once(path, value_get(&call, "task")->s);
    if (!o) return;
    Value request = value_map(&arena, 3);
    for (size_t i = 1; i <= 3; i++) /* task, inputs, parameters */
        if (call.map.items[i].value.kind != V_NULL) request.map.items[request.map.n++] = call.map.items[i];
    Buf body = { .arena = &arena };
    json_write(&body, &request);
    const char *reply = run_body(o->session, str_dup(&arena, buf_view(&body)), &code);
    if (CHECK(code == EF_OK)) check_reply("body", str_of(reply), want, line);
    else printf("  %.*s\n  %s\n", (int)MIN(line.n, 300), line.p, reply);
    check_call(o->handle, &call, want, line);
}

static void test_texts(const char *file)
{
    Str text;
    Err err = { 0 };
    TEST(file);
    if (!CHECK(file_read(&arena, file, MOST_FILE, &text, &err))) return;
    for (const char *line = text.p, *end; (end = strchr(line, '\n')); line = end + 1)
        check_case((Str){ line, (size_t)(end - line) });
}

/* ---- pictures ---- */
static const char *picture_task(Str name)
{
    static const char *const tasks[][2] = { { "yolos", "object-detection" }, { "segformer", "image-segmentation" },
                                            { "vit_vectors", NULL }, { "vit_hidden", NULL },
                                            { "resnet_hidden", "image-feature-extraction" } };
    for (size_t i = 0; i < COUNT(tasks); i++)
        if (str_is(name, tasks[i][0])) return tasks[i][1];
    return "image-classification";
}

/* Masks are compared as pictures in tests/test_task_pictures.c: here, that there is one. The oracle's are runs. */
static Value without_masks(Value list)
{
    for (size_t i = 0; list.kind == V_LIST && i < list.list.n; i++) {
        Value *one = &list.list.items[i];
        if (one->kind == V_MAP && value_get(one, "runs")) one->map.items[2].key = STR("mask"), one->map.n = 3;
        Value *mask = (Value *)value_get(one, "mask");
        if (mask) *mask = value_null();
    }
    return list;
}

static void check_picture(const Value *one)
{
    Str name = value_get(one, "case")->s, bytes;
    const char *task = picture_task(name);
    Err err = { 0 };
    Value found;
    if (!task) return; /* what the pipeline gives for vectors: test_vectors */
    struct Opened *o = open_once(str_format(&arena, "tests/golden/pictures/%.*s", STR_ARG(name)), (Str){ 0 });
    const char *file = str_format(&arena, "tests/golden/images/%.*s", STR_ARG(value_get(one, "picture")->s));
    if (!o || !CHECK(file_read(&arena, file, MOST_FILE, &bytes, &err))) return;
    ef_input in[2] = { { sizeof *in, EF_PICTURE, bytes.p, bytes.n, NULL, 0 } };
    in[1] = in[0];
    Buf params = { .arena = &arena };
    json_write(&params, value_get(one, "params"));
    const char *text = str_dup(&arena, buf_view(&params));
    Value want = without_masks(*value_get(one, "result")), both = value_list(&arena, 2);
    both.list.items[0] = both.list.items[1] = want;
    for (size_t n = 1; n <= 2; n++) {
        ef_reply *r = ef_run(o->handle, n == 1 ? task : NULL, in, n, text, &err);
        if (!CHECK(r)) return (void)printf("  %s %s: %s\n", file, text, err.message);
        CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(ef_reply_json(r)))), &found, &err));
        for (size_t i = 0; i < 2; i++) without_masks(n == 1 ? found : found.list.items[i]);
        if (!CHECK(same_value(&found, n == 1 ? &want : &both))) printf("  %s %s: %s\n", file, text, ef_reply_json(r));
        ef_reply_free(r);
    }
}

static void test_pictures(const char *file)
{
    Str text;
    Value root;
    Err err = { 0 };
    TEST(file);
    if (!CHECK(file_read(&arena, file, MOST_FILE, &text, &err)) ||
        !CHECK(json_parse(&arena, text, &root, &err)))
        return;
    for (size_t i = 0; i < root.list.n; i++) check_picture(&root.list.items[i]);
}

static Value picture_run(const char *folder, const char *task, const char *params)
{
    Str bytes;
    Err err = { 0 };
    Value found = value_null();
    struct Opened *o = open_once(folder, (Str){ 0 });
    if (!o || !CHECK(file_read(&arena, "tests/golden/images/base420_37x29.jpg", MOST_FILE, &bytes, &err))) return found;
    ef_input in = { sizeof in, EF_PICTURE, bytes.p, bytes.n, NULL, 0 };
    ef_reply *r = ef_run(o->handle, task, &in, 1, params, &err);
    CHECK(r ? json_parse(&arena, str_of(str_dup(&arena, str_of(ef_reply_json(r)))), &found, &err)
            : strstr(err.message, "No pooled output") != NULL);
    ef_reply_free(r);
    return found;
}

/* A graph with the last hidden states and a pooler: tests/golden/python/calls.jsonl has the numbers. */
static void test_hidden_states(void)
{
    const char *both = "tests/golden/export_vision/vit-base", *task = "image-feature-extraction";
    TEST("hidden states, and the pooler's vector");
    Value states = picture_run(both, task, NULL), pooled = picture_run(both, task, "{\"pool\":true}");
    Value vector = picture_run(both, "image-embedding", "{\"normalize\":false}");
    if (!CHECK(states.kind == V_LIST && pooled.kind == V_LIST && vector.kind == V_LIST)) return;
    CHECK(states.list.n == 1 && states.list.items[0].list.n == 17 && states.list.items[0].list.items[16].list.n == 16);
    CHECK(pooled.list.n == 1 && same_value(&pooled.list.items[0], &vector));
    CHECK(picture_run("tests/golden/pictures/vit_hidden", task, "{\"pool\":true}").kind == V_NULL);
}

/* ---- sounds ---- */
/* One of the pipelines, of a model with its own tokenizer. */
static bool is_heard(const Value *one)
{
    Str task = value_get(one, "task")->s;
    return (str_is(task, "audio-classification") || str_is(task, "automatic-speech-recognition")) &&
           !str_is(value_get(one, "case")->s, "ctc_lower");
}

static void check_sound(const Value *one)
{
    Str bytes;
    Err err = { 0 };
    Value found;
    const char *file = str_format(&arena, "tests/golden/sounds/%.*s", STR_ARG(value_get(one, "sound")->s));
    struct Opened *o = open_once(str_format(&arena, "tests/golden/speech/%.*s", STR_ARG(value_get(one, "case")->s)), (Str){ 0 });
    if (!o || !CHECK(file_read(&arena, file, MOST_FILE, &bytes, &err))) return;
    ef_input in = { sizeof in, EF_SOUND, bytes.p, bytes.n, NULL, 0 };
    Buf params = { .arena = &arena };
    json_write(&params, value_get(one, "params"));
    const char *text = str_dup(&arena, buf_view(&params)), *task = str_dup(&arena, value_get(one, "task")->s);
    ef_reply *r = ef_run(o->handle, task, &in, 1, text, &err);
    if (!CHECK(r)) return (void)printf("  %s %s: %s\n", file, text, err.message);
    CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(ef_reply_json(r)))), &found, &err));
    if (!CHECK(same_value(&found, value_get(one, "result")))) printf("  %s %s: %s\n", file, text, ef_reply_json(r));
    ef_reply_free(r);
}

static void test_sounds(void)
{
    Str text;
    Value root;
    Err err = { 0 };
    size_t heard = 0;
    TEST("sounds");
    if (!CHECK(file_read(&arena, "tests/golden/speech/cases.json", MOST_FILE, &text, &err)) ||
        !CHECK(json_parse(&arena, text, &root, &err)))
        return;
    for (size_t i = 0; i < root.list.n; i++)
        if (is_heard(&root.list.items[i])) check_sound(&root.list.items[i]), heard++;
    CHECK(heard > 10);
}

/* ---- pages ---- */
static void check_page(const Value *one, const Value *page)
{
    enum { WORDS = 64 };
    Err err = { 0 };
    ef_word word[WORDS];
    ef_box box[WORDS];
    Value found;
    Str name = value_get(page, "page")->s, image;
    const Value *words = value_get(page, "words"), *boxes = value_get(page, "boxes");
    struct Opened *o = open_once(str_format(&arena, PAGES "%.*s", STR_ARG(value_get(one, "model")->s)), (Str){ 0 });
    if (!o || !CHECK(words->list.n <= WORDS) ||
        !CHECK(file_read(&arena, str_format(&arena, PAGES "%.*s.png", STR_ARG(name)), MOST_FILE, &image, &err)))
        return;
    for (size_t i = 0; i < words->list.n; i++) {
        const Value *side = boxes->list.items[i].list.items;
        word[i] = (ef_word){ words->list.items[i].s.p, words->list.items[i].s.n };
        box[i] = (ef_box){ (int)side[0].i, (int)side[1].i, (int)side[2].i, (int)side[3].i };
    }
    ef_page sheet = { .struct_size = sizeof sheet, .words = word, .boxes = box, .count = words->list.n,
                      .question = str_dup(&arena, value_get(one, "question")->s) };
    if (str_starts(value_get(one, "model")->s, "layoutlmv3")) sheet.image = image.p, sheet.image_size = image.n;
    ef_input in = { sizeof in, EF_PAGE, &sheet, 1, NULL, 0 };
    Buf params = { .arena = &arena };
    json_write(&params, value_get(one, "params"));
    ef_reply *r = ef_run(o->handle, "document-question-answering", &in, 1, str_dup(&arena, buf_view(&params)), &err);
    if (!CHECK(r)) return (void)printf("  %s\n", err.message);
    CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(ef_reply_json(r)))), &found, &err));
    if (!CHECK(same_value(&found, value_get(one, "result")))) printf("  %s\n", ef_reply_json(r));
    ef_reply_free(r);
}

static size_t read_lines(const char *path, Value *out, size_t most)
{
    Str text;
    Err err = { 0 };
    size_t n = 0;
    if (!CHECK(file_read(&arena, path, MOST_FILE, &text, &err))) return 0;
    for (const char *line = text.p, *end; n < most && (end = strchr(line, '\n')); line = end + 1)
        CHECK(json_parse(&arena, str_of(str_dup(&arena, (Str){ line, (size_t)(end - line) })), &out[n++], &err));
    return n;
}

static void test_pages(void)
{
    enum { CASES = 256, SHEETS = 8 };
    Value *cases = ARRAY(&arena, Value, CASES), sheet[SHEETS];
    TEST("pages");
    size_t n = read_lines(PAGES "cases.jsonl", cases, CASES), sheets = read_lines(PAGES "pages.jsonl", sheet, SHEETS), asked = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; value_get(&cases[i], "question") && k < sheets; k++)
            if (str_eq(value_get(&cases[i], "page")->s, value_get(&sheet[k], "page")->s))
                check_page(&cases[i], &sheet[k]), asked++;
    CHECK(asked > 100);
}

/* ---- what has no pipeline in transformers ---- */
static void check_says(const char *path, const char *task, const char *body, const char *wanted)
{
    ef_code code;
    struct Opened *o = open_once(path, str_of(task));
    if (!o) return;
    const char *found = run_body(o->session, body, &code);
    if (!CHECK(strstr(found, wanted))) printf("  %s\n  found %.300s\n  wanted %s\n", body, found, wanted);
}

static void test_others(void)
{
    TEST("sentence-similarity, text-ranking");
    const char *one = GOLDEN "one", *vectors = GOLDEN "vectors";
    check_says(vectors, "sentence-similarity", "{\"task\":\"sentence-similarity\",\"inputs\":[\"a city\",\"a city\"]}", "[1");
    check_says(vectors, "sentence-similarity",
               "{\"task\":\"sentence-similarity\",\"inputs\":{\"source_sentence\":\"a city\",\"sentences\":[\"a city\"]}}", "[1");
    check_says(vectors, "sentence-similarity", "{\"task\":\"sentence-similarity\",\"inputs\":\"a city\"}",
               "found 1, wanted source_sentence, then sentences");
    check_says(vectors, "sentence-similarity", "{\"task\":\"sentence-embedding\",\"inputs\":[\"a city\"]}", "[[");
    check_says(one, "text-ranking", "{\"task\":\"text-ranking\",\"inputs\":[\"Who?\",\"Ada\",\"the river\"]}", "[{\"index\":");
    check_says(one, "text-ranking", "{\"task\":\"rerank\",\"inputs\":{\"query\":\"Who?\",\"texts\":[\"Ada\"]},"
               "\"parameters\":{\"return_text\":true}}", "[{\"index\":0,\"text\":\"Ada\",\"score\":");
    check_says(one, "text-ranking", "{\"task\":\"text-ranking\",\"inputs\":{\"query\":\"a\",\"texts\":[\"b\"],"
               "\"parameters\":[10,10,10,10,10,10]}}", "[{\"index\":0,\"score\":");
}

/* What an input has beside its keys takes no room from them. */
static void test_unknown_keys(void)
{
    TEST("inputs with keys that are not looked at");
    check_says(GOLDEN "labels", "text-classification",
               "{\"task\":\"text-classification\",\"inputs\":{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"text\":\"x\"},"
               "\"parameters\":{\"text_pair\":\"y\"}}", "\"label\":\"contradiction\"");
}

/* Where somebody speaks: no pipeline of transformers, its options are those of /predict. */
static void test_speech(void)
{
    TEST("speech");
    Str sound;
    Err err = { 0 };
    Buf body = { .arena = &arena };
    if (!CHECK(file_read(&arena, "tests/golden/speech_activity/sound.wav", MOST_FILE, &sound, &err))) return;
    buf_puts(&body, "{\"inputs\":\"");
    base64_write(&body, sound);
    buf_puts(&body, "\",\"parameters\":{\"threshold\":0.5}}");
    const char *model = "tests/golden/speech_activity", *task = "voice-activity-detection";
    check_says(model, task, str_dup(&arena, buf_view(&body)), "[{\"start\":");
    check_says(model, task, "{}", "inputs: found nothing");
}

static void test_empty(void)
{
    TEST("empty texts are their special tokens; an empty second text is none");
    const char *labels = GOLDEN "labels", *all = "text-classification", *roberta = "tests/golden/strides/roberta";
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":\"\"}", "\"label\":");
    check_says(labels, all, "{\"inputs\":[\"\"],\"parameters\":{}}", "\"label\":");
    check_says(labels, all, "{\"inputs\":[{\"text\":\"x\",\"text_pair\":\"\"}],\"parameters\":{}}", "\"label\":");
    check_says(roberta, "ner", "{\"inputs\":\"\"}", "[]");
    check_says(roberta, "ner", "{\"task\":\"ner\",\"inputs\":[{\"words\":[\"\"]}]}", "[[]]");
    check_says(GOLDEN "vectors", "embedding", "{\"task\":\"feature-extraction\",\"inputs\":\"\"}", "[[[");
    check_says(GOLDEN "masks", "fill-mask", "{\"task\":\"fill-mask\",\"inputs\":\"\"}", "found an empty text");
}

/* Ten words; a limit below the special tokens is none, and what then does not fit is refused before it is run. */
static void test_cut(void)
{
    TEST("truncation and max_length");
    const char *labels = GOLDEN "labels", *all = "text-classification";
#define MANY "a b c d e f g h i j k l m n o p q r s t "
#define LONG_PAIR "\"inputs\":{\"text\":\"a b c d e f g h i j\",\"text_pair\":\"k\"},\"parameters\":"
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"truncation\":\"only_first\",\"max_length\":8}}", "\"label\":");
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"truncation\":\"only_second\",\"max_length\":8}}",
               "truncation: the second text");
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"truncation\":\"bad\"}}",
               "parameters.truncation: found \"bad\", wanted one of \"longest_first\"");
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"truncation\":3}}",
               "parameters.truncation: found a number, wanted one of \"longest_first\"");
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"max_length\":3}}", "\"label\":");
    check_says(labels, all, "{\"task\":\"text-classification\"," LONG_PAIR "{\"max_length\":0}}", "max_length: found 0, wanted a whole number from 1");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":\"" MANY MANY MANY MANY "\",\"parameters\":{\"max_length\":1}}",
               "found 82 tokens, wanted at most 64");
#undef LONG_PAIR
#define TAGS(more) "{\"task\":\"ner\",\"inputs\":\"a b c d e f\",\"parameters\":{\"ignore_labels\":[]," more "}}"
    check_says(GOLDEN "tags", "ner", TAGS("\"max_length\":3"), "\"end\":1}]");
    check_says(GOLDEN "tags", "ner", TAGS("\"max_length\":4,\"stride\":0"), "\"end\":11}]");
    check_says(GOLDEN "tags", "ner", TAGS("\"max_length\":2,\"stride\":0"), "max_length: found 2, wanted a whole number from 3");
#undef TAGS
}

static void test_refused(void)
{
    TEST("what is refused");
    const char *labels = GOLDEN "labels", *tags = GOLDEN "tags", *all = "text-classification", *ner = "ner";
    check_says(labels, all, "{\"task\":\"text-clasification\",\"inputs\":\"x\"}", "did you mean text-classification?");
    check_says(labels, all, "{\"task\":\"translation\",\"inputs\":\"x\"}", "translation is not among what this program does");
    check_says(labels, all, "{\"task\":\"ner\",\"inputs\":\"x\"}", "found token-classification, wanted another model");
    check_says(labels, all, "{\"task\":\"text-ranking\",\"inputs\":[\"x\",\"y\"]}", "this model is for sequence_classification");
    check_says(labels, all, "{\"task\":\"text-classification\"}", "inputs: found nothing");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":[]}", "inputs");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":[3]}", "found a number, wanted a string or {");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":\"x\",\"parameters\":{\"topk\":3}}",
               "text-classification has no \"topk\": did you mean top_k?");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":\"x\",\"parameters\":{\"beam\":3}}",
               "wanted one of function_to_apply, top_k, truncation, max_length, text, text_pair");
    check_says(labels, all, "{\"task\":\"text-classification\",\"inputs\":\"x\",\"parameters\":{\"top_k\":\"3\"}}", "top_k: found");
    check_says(labels, all, "{\"task\":\"zero-shot-classification\",\"inputs\":\"x\"}", "candidate_labels");
    check_says(labels, all, "{\"task\":\"zero-shot-classification\",\"inputs\":\"x\",\"parameters\":{\"candidate_labels\":\"\"}}",
               "candidate_labels");
    check_says(labels, all, "{\"task\":\"\",\"inputs\":\"x\",\"parameters\":{\"candidate_labels\":\"y,z\"}}", "\"sequence\":\"x\"");
    check_says(tags, ner, "{\"task\":\"ner\",\"inputs\":\"x\",\"parameters\":{\"aggregation_strategy\":\"all\"}}", "aggregation_strategy");
    check_says(tags, ner, "{\"task\":[],\"inputs\":\"x\"}", "task: found a list");
}

int main(void)
{
    test_texts(GOLDEN "cases_5.jsonl");
    test_texts(GOLDEN "cases_4.jsonl");
    test_pictures("tests/golden/pictures/cases.json");
    test_pictures("tests/golden/pictures/resnet_hidden/cases.json");
    test_hidden_states();
    test_sounds();
    test_pages();
    test_others();
    test_unknown_keys();
    test_speech();
    test_empty();
    test_cut();
    test_refused();
    close_all();
    arena_free(&arena);
    return finish();
}
