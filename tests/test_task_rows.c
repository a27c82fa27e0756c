/* SPDX-License-Identifier: Apache-2.0
 * test_task_rows.c - a task's row is the whole truth: everything that the program looks up is there, what a task
 * cannot do is offered nowhere, and every result of every task, under every option that it takes, has exactly the
 * members that its rows declare. */
#include "base/file.h"
#include "check.h"
#include "data/columns.h"
#include "data/json.h"
#include "encoderfile.h"
#include "folder.h"
#include "server/routes.h"

static Arena arena;

/* ---- rows ---- */
static void test_filled(void)
{
    TEST("every task says everything");
    size_t n;
    const Task *const *all = task_all(&n);
    for (size_t i = 0; i < n; i++) {
        const Task *t = all[i];
        bool ok = t->name && t->many && t->number && t->can && t->outputs[0][0] && t->shape && t->architectures[0];
        ok = ok && t->mcp_instructions && t->mcp_description && !t->lua != !t->no_lua && t->samples;
        ok = ok && t->items && t->preparer;
        ok = ok && t->request && t->result && t->reply && t->finish && (!t->pooled || t->pool);
        if (!CHECK(ok)) printf("  %s\n", t->name);
        CHECK(task_find(str_of(t->name)) == t && task_by_number(t->number) == t);
        for (size_t k = 0; k < i; k++) CHECK(all[k]->number != t->number && strcmp(all[k]->name, t->name) != 0);
    }
}

/* What a new task, which can nothing that the dialects know, is offered. */
static void test_nothing_by_default(void)
{
    TEST("a task that can nothing");
    static const char *const all[] = { "/predict", "/tokenize", "/decode" };
    Task task = *task_find(STR("embedding"));
    ModelConfig config = { .num_labels = 1 };
    Site site = { .task = &task, .config = &config };
    size_t found = 0;
    task.can = 0;
    routes_make(&arena, &site, &family_tei, true);
    const Route *route = site.route;
    size_t n = site.routes;
    for (size_t i = 0; i < n; i++) {
        if (!route[i].job || !route_applies(&route[i], &site)) continue;
        bool known = false;
        for (size_t k = 0; k < COUNT(all); k++) known = known || strcmp(all[k], route[i].path) == 0;
        found++;
        if (!CHECK(known)) printf("  %s\n", route[i].path);
    }
    CHECK(found == COUNT(all));
    Err err = { 0 };
    for (size_t i = 0; i < n; i++)
        if (strcmp(route[i].path, "/embed") == 0)
            CHECK(!route_check(&route[i], &site, &err) && says(&err, "wanted a model for embeddings"));
}

static void test_of_one_label(void)
{
    TEST("what one label is for");
    const Task *task = task_find(STR("sequence_classification"));
    CHECK(!task_can(task, &(ModelConfig){ .num_labels = 2 }, CAN_RANK));
    CHECK(task_can(task, &(ModelConfig){ .num_labels = 1 }, CAN_RANK) && !task_can(task, NULL, CAN_RANK));
    CHECK(!task_can(task_find(STR("token_classification")), &(ModelConfig){ .num_labels = 1 }, CAN_RANK));
    CHECK(strcmp(task_that_can(CAN_EMBED)->name, "embedding") == 0);
    CHECK(strcmp(task_that_can(CAN_SENTENCE)->name, "sentence_embedding") == 0);
}

/* ---- results ---- */
enum { MOST_ROWS = 64 };
typedef struct Walk {
    const Field *seen[MOST_ROWS]; /* rows that a result had */
    size_t n;
    const char *options;
} Walk;

static void see(Walk *w, const Field *f)
{
    size_t i = 0;
    while (i < w->n && w->seen[i] != f) i++;
    if (i == w->n && CHECK(w->n < MOST_ROWS)) w->seen[w->n++] = f;
}

static bool was_seen(const Walk *w, const Field *f)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->seen[i] == f) return true;
    return false;
}

static const Field *row_of(const Field *rows, Str key)
{
    while (rows->name && !str_is(key, rows->name)) rows++;
    return rows->name ? rows : NULL;
}

/* No member but those declared, all the way down; schema_check has seen to their types. */
static void declared(Walk *w, const Value *v, const Field *rows)
{
    for (size_t i = 0; i < v->map.n; i++) {
        const Field *f = row_of(rows, v->map.items[i].key);
        const Value *in = &v->map.items[i].value;
        if (!CHECK(f)) printf("  %.*s: undeclared, with %s\n", STR_ARG(v->map.items[i].key), w->options);
        if (!f) continue;
        see(w, f);
        for (size_t k = 0; f->kind == F_MSG && f->repeated && k < in->list.n; k++) declared(w, &in->list.items[k], f->msg);
        if (f->kind == F_MSG && !f->repeated) declared(w, in, f->msg);
    }
}

/* Only models that read places on a page tell them: tests/test_input_boxes.c. */
static bool of_pages(const Field *f)
{
    bool places = strcmp(f->name, "box") == 0 && f->repeated;
    return places || (strcmp(f->name, "word") == 0 ? f->kind == F_U32 : str_ends(str_of(f->name), "_word"));
}

static void all_seen(const Walk *w, const Field *rows)
{
    for (const Field *f = rows; f->name; f++) {
        if (!of_pages(f) && !CHECK(was_seen(w, f))) printf("  %s: declared, but no result has it\n", f->name);
        if (f->kind == F_MSG) all_seen(w, f->msg);
    }
}

/* As typed columns, and back: nothing is lost, and the order of members is that of the rows. */
static void check_columns(Walk *w, const Task *task, const Value *results)
{
    Columns all = columns_of(&arena, task->result, results->list.items, results->list.n);
    for (size_t i = 0; i < results->list.n; i++) {
        Buf was = { .arena = &arena }, is = { .arena = &arena };
        Value back = columns_entry(&arena, &all, i);
        json_write(&was, &results->list.items[i]);
        json_write(&is, &back);
        if (!CHECK(str_eq(buf_view(&was), buf_view(&is)))) printf("  columns of %s\n", w->options);
    }
}

static void check_reply(Walk *w, const Task *task, const ef_reply *r)
{
    Value reply;
    Err err = { 0 };
    if (!CHECK(json_parse(&arena, str_of(ef_reply_json(r)), &reply, &err))) return;
    if (!CHECK(schema_check(&reply, task->reply, &err))) printf("  %s: %s\n", w->options, err.message);
    const Value *results = value_get(&reply, "results");
    for (size_t i = 0; results && i < results->list.n; i++) declared(w, &results->list.items[i], task->result);
    if (results && !strstr(w->options, "base64")) check_columns(w, task, results);
}

static Str file_of(const char *path)
{
    Str bytes = { 0 };
    Err err = { 0 };
    CHECK(file_read(&arena, path, 1 << 20, &bytes, &err));
    return bytes;
}

static void ask(Walk *w, ef_model *m, const char *options)
{
    static char long_text[4096];
    for (size_t i = 0; i + 4 < sizeof long_text; i += 3) memcpy(long_text + i, "w1 ", 3);
    ef_error err = { 0 };
    ef_input in[] = { ef_text("w1 <mask> from Bangalore to Mumbai"), ef_text(long_text), ef_text("w2") };
    const Task *task = task_find(str_of(ef_describe(m)->task));
    if (task_has_option(task, "candidate_labels")) /* which no request does without */
        options = str_format(&arena, "{\"candidate_labels\":[\"cat\",\"dog\"]%s%s", options[1] == '}' ? "" : ",", options + 1);
    for (size_t i = task->items->alone ? 2 : 0; i < COUNT(in); i++)
        in[i].kind = EF_PAIR, in[i].data2 = "w3 from Chennai to Hyderabad", in[i].size2 = 28;
    if (!task->items->alone) in[1] = ef_pair("w1", long_text);
    const ef_word choices[] = { { "to Mumbai", 9 }, { in[1].data, in[1].size } };
    for (size_t i = 0; task->items == &item_choices && i < COUNT(in); i++)
        in[i].kind = EF_CHOICES, in[i].data2 = choices, in[i].size2 = i ? COUNT(choices) : 1;
    if (task->items == &item_choices) in[1] = (ef_input){ sizeof *in, EF_CHOICES, long_text, sizeof long_text - 4, choices, 2 };
    const bool sounds = task->items == &item_sounds;
    Str file = task->items == &item_pictures ? file_of("tests/golden/images/exif6.jpg")
               : sounds                      ? file_of("tests/golden/sounds/stereo.flac")
                                             : (Str){ 0 };
    for (size_t i = 0; file.p && i < COUNT(in); i++)
        in[i] = (ef_input){ sizeof *in, sounds ? EF_SOUND : EF_PICTURE, file.p, file.n, NULL, 0 };
    static const ef_word word = { "w1", 2 };
    static const ef_box place = { 1, 2, 3, 4 };
    static const ef_page page = { .struct_size = sizeof page, .question = "w2", .words = &word, .boxes = &place, .count = 1 };
    for (size_t i = 0; item_form_has(task->items, ITEM_BOXES) && i < COUNT(in); i++)
        in[i] = (ef_input){ sizeof *in, EF_PAGE, &page, 0, NULL, 0 };
    w->options = options;
    size_t n = strstr(options, "\"truncate\":false") ? 1 : strstr(options, "\"stride\"") ? 2 : COUNT(in);
    ef_reply *r = ef_predict(m, in, n, options, &err);
    if (!CHECK(r)) printf("  %s: %s\n", options, err.message);
    if (r) check_reply(w, task, r);
    ef_reply_free(r);
}

/* Each value of an option, alone and together with `beside`. */
static void ask_each(Walk *w, ef_model *m, const Field *f, const char *beside)
{
    static const char *const numbers[] = { "1", "2", NULL }, *const lengths[] = { "64", NULL }, *const bools[] = { "true", "false", NULL },
                      *const none[] = { "null", NULL };
    const char *const *values = f->words ? f->words : f->kind == F_BOOL ? bools : f->kind == F_STR ? none : numbers;
    if (strcmp(f->name, "max_seq_len") == 0) values = lengths; /* it must hold the question */
    static const char *const parts[] = { "0", "0.5", NULL };
    if (f->kind == F_F32) values = parts;
    static const char *const rates[] = { "8000", "16000", NULL };
    if (strcmp(f->name, "sampling_rate") == 0) values = rates;
    const char *quote = f->words ? "\"" : "";
    for (; *values; values++)
        ask(w, m, str_format(&arena, "{\"%s\":%s%s%s%s}", f->name, quote, *values, quote, beside));
}

static void walk_options(const Task *task, ef_model *m)
{
    Walk w = { 0 };
    ask(&w, m, "{}");
    for (const Field *f = task->request; f->name; f++) {
        bool own = f->required || strcmp(f->name, "metadata") == 0 || strcmp(f->name, "pages") == 0;
        bool tokens = row_of(task->request, STR("return_tokens")) && strcmp(f->name, "return_tokens") != 0;
        if (!own) ask_each(&w, m, f, "");
        if (!own && tokens) ask_each(&w, m, f, ",\"return_tokens\":true");
    }
    all_seen(&w, task->result);
}

#define FOLDERS "tests/golden/families/"
static const struct Case {
    const char *task, *folder;
} cases[] = {
    { "embedding", FOLDERS "bert-masked" },        { "sentence_embedding", FOLDERS "bert-masked" },
    { "sequence_classification", FOLDERS "gpt2" }, { "token_classification", "examples/bus-ner" },
    { "fill_mask", FOLDERS "bert-masked" },        { "sparse_embedding", FOLDERS "bert-masked" },
    { "question_answering", "tests/golden/question_answering/bert" },
    { "document_question_answering", "tests/golden/documents/layoutlm_qa" },
    { "multiple_choice", "tests/golden/multiple_choice/bert" },
    { "image_classification", "tests/golden/pictures/vit" },
    { "object_detection", "tests/golden/pictures/yolos" },
    { "image_segmentation", "tests/golden/pictures/segformer" },
    { "image_embedding", "tests/golden/pictures/vit_hidden" },
    { "zero_shot_image_classification", "tests/golden/pairs/clip" },
    { "audio_classification", "tests/golden/speech/wav2vec2" },
    { "automatic_speech_recognition", "tests/golden/speech/ctc" },
    { "audio_embedding", "tests/golden/speech/vectors" },
    { "voice_activity_detection", "tests/golden/speech_activity" },
};

/* The tokenizer of that model with a mask in place of its unknown token. */
static const char *masked_tokenizer(const char *folder)
{
    Str text;
    Err err = { 0 };
    Buf out = { .arena = &arena };
    const char *path = path_join(&arena, folder, STR("tokenizer.json"));
    CHECK(file_read(&arena, FOLDERS "bert-masked/tokenizer.json", 1 << 16, &text, &err));
    for (char *p = str_dup(&arena, text), *at; p; p = at ? at + 5 : NULL) {
        at = strstr(p, "<unk>");
        buf_add(&out, p, at ? (size_t)(at - p) : strlen(p));
        if (at) buf_puts(&out, "<mask>");
    }
    CHECK(file_write(&arena, path, buf_view(&out), &err));
    return path;
}

static void test_results(void)
{
    TEST("results have what their rows declare");
    char folder[] = "/tmp/ef_rows_XXXXXX";
    size_t n;
    task_all(&n);
    CHECK(n == COUNT(cases)); /* a new task has a case here */
    if (!CHECK(mkdtemp(folder))) return;
    const char *tokenizer = masked_tokenizer(folder);
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool own = strcmp(cases[i].folder, FOLDERS "bert-masked") != 0;
        ef_error err = { 0 };
        ef_options o = { .struct_size = sizeof o, .threads = 1, .task = cases[i].task, .tokenizer = own ? NULL : tokenizer };
        ef_model *m = ef_open(cases[i].folder, &o, &err);
        check_group = cases[i].task;
        if (!CHECK(m)) printf("  %s: %s\n", cases[i].folder, err.message);
        if (m) walk_options(task_find(str_of(cases[i].task)), m);
        ef_close(m);
    }
    remove_tree(folder);
}

int main(void)
{
    test_filled();
    test_nothing_by_default();
    test_of_one_label();
    test_results();
    arena_free(&arena);
    return finish();
}
