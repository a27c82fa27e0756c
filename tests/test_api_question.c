/* SPDX-License-Identifier: Apache-2.0
 * test_api_question.c - whole models through the C API, against what transformers' pipelines answer
 * (tools/oracle/question_answering.py, strides.py): questions from folders and from a package, and the
 * entities of texts that do not fit the model. */
#include <unistd.h>

#include "data/json.h"
#include "encoderfile.h"
#include "folder.h"
#include "question_case.h"

static const double near = 1e-4;
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
/* Under sanitizers and emulators a part of the questions: all of them take 3 s, there 850. */
static bool few(void)
{
    return SANITIZED || getenv("EF_EMULATOR");
}

static Value reply_of(Arena *arena, const ef_reply *r)
{
    Value v = value_null();
    CHECK(r && json_parse(arena, str_of(str_dup(arena, str_of(ef_reply_json(r)))), &v, &(Err){ 0 }));
    return v;
}

static const Value *first_result(const Value *reply)
{
    const Value *results = value_get(reply, "results");
    return results && results->list.n ? &results->list.items[0] : NULL;
}

static ef_model *model_at(const char *path)
{
    Err err = { 0 };
    ef_model *m = ef_open(path, &(ef_options){ .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s\n", err.message);
    return m;
}

/* ---- questions ---- */
static const char *params[16]; /* the option sets */
static size_t set_count, compared, refused;
static ef_model *model;        /* of the rows that are being compared, */
static Str model_name;
static const char *from;       /* a package; NULL: the folder */

static void read_set(Arena *arena, const Value *options)
{
    Buf b = { .arena = arena };
    json_write(&b, options);
    Str text = buf_view(&b);
    params[set_count++] = str_format(&keep, "%.*s,\"offsets\":\"chars\"}", (int)text.n - 1, text.p);
    if (options->map.n == 0) params[set_count - 1] = "{\"offsets\":\"chars\"}";
}

static bool same_answer(const Value *want, const Value *found)
{
    const Value *v = want->list.items;
    bool ok = fabs(value_float(&v[0], -1) - value_float(value_get(found, "score"), -9)) < near &&
              value_int(&v[1], -1) == value_int(value_get(found, "start"), -9) &&
              value_int(&v[2], -1) == value_int(value_get(found, "end"), -9) &&
              str_eq(v[3].s, value_str(value_get(found, "answer"), STR("-")));
    if (ok) return true;
    Buf b = { .arena = &keep };
    json_write(&b, found);
    return printf("  found %.*s\n", STR_ARG(buf_view(&b))), false;
}

/* The best one by itself, and in front of the list where several were asked for. */
static bool same_answers(const Value *want, const Value *result)
{
    const Value *list = value_get(result, "answers");
    bool ok = result && (list ? list->list.n == want->list.n : want->list.n == 1) &&
              same_answer(&want->list.items[0], result);
    for (size_t i = 0; ok && list && i < list->list.n; i++)
        ok = same_answer(&want->list.items[i], &list->list.items[i]);
    return ok;
}

static void compare_set(Arena *arena, const Value *row, const Value *wanted)
{
    const Value *want = &wanted->list.items[1];
    size_t pair = (size_t)value_int(value_get(row, "pair"), 0);
    const char *how = params[value_int(&wanted->list.items[0], 0)];
    Str question = pairs[pair].question, context = pairs[pair].context;
    ef_input in = { sizeof(ef_input), EF_PAIR, question.p, question.n, context.p, context.n };
    Err err = { 0 };
    ef_reply *r = ef_predict(model, &in, 1, how, &err);
    if (want->kind == V_NULL) {
        refused++; /* the pipeline fails where its own stride leaves no room; ours gives way */
        CHECK(r ? !strstr(how, "doc_stride") : err.code == EF_INVALID_INPUT);
    } else {
        Value reply = reply_of(arena, r);
        compared++;
        if (want->list.n && !CHECK(same_answers(want, first_result(&reply))))
            differ(how, row);
    }
    ef_reply_free(r);
}

static void compare_row(Arena *arena, const Value *row)
{
    const Value *options = value_get(row, "options"), *answers = value_get(row, "answers");
    Str name = value_str(value_get(row, "model"), STR(""));
    for (size_t i = 0; options && i < options->list.n; i++) read_set(arena, &options->list.items[i]);
    if (options || (from && !str_is(name, "bert"))) return;
    if ((from || few()) && value_int(value_get(row, "pair"), 0) % 8 != 1) return;
    if (!str_eq(name, model_name)) {
        ef_close(model);
        model_name = str_of(str_dup(&keep, name));
        model = model_at(from ? from : str_format(&keep, GOLDEN "%.*s", STR_ARG(name)));
    }
    for (size_t i = 0; model && i < answers->list.n; i++) compare_set(arena, row, &answers->list.items[i]);
}

static void compare_all(void)
{
    set_count = compared = refused = 0;
    model = NULL, model_name = STR("");
    replay_lines(GOLDEN "answers.jsonl", compare_row);
    ef_close(model);
}

static void questions_in_folders(void)
{
    TEST("questions");
    from = NULL;
    compare_all();
    CHECK(compared > (few() ? 200 : 2000));
    printf("  %zu answers compared, %zu refusals\n", compared, refused);
}

static void questions_in_a_package(void)
{
    TEST("questions, package");
    char dir[] = "/tmp/ef-question-XXXXXX";
    Err err = { 0 };
    CHECK(mkdtemp(dir));
    from = str_format(&keep, "%s/qa.encoderfile", dir);
    const char *yaml = str_format(&keep, "%s/qa.yml", dir), *here = path_real(&keep, GOLDEN "bert");
    Str text = str_of(str_format(&keep, "encoderfile:\n  name: qa\n  path: %s\n  model_type: "
                                 "question_answering\n", here));
    if (CHECK(file_write(&keep, yaml, text, &err) && went_well(ef_build(yaml, from, OWN_PROGRAM, &err)))) compare_all();
    else printf("  %s\n", err.message);
    CHECK(compared > 30);
    remove_tree(dir);
}

/* ---- what is refused ---- */
static void refuse(ef_input in, const char *how, ef_code code, const char *words)
{
    Err err = { 0 };
    ef_reply *r = ef_predict(model, &in, 1, how, &err);
    CHECK(!r && err.code == code && says(&err, words));
    ef_reply_free(r);
}

static void refusals(void)
{
    TEST("questions, refusals");
    ef_input pair = { sizeof(ef_input), EF_PAIR, "Who?", 4, "Ada wrote.", 10 }, text = { sizeof(ef_input), EF_TEXT, "Who?", 4, NULL, 0 };
    model = model_at(GOLDEN "bert");
    refuse(text, NULL, EF_INVALID_INPUT, "inputs[0]: found no context");
    refuse(pair, "{\"top_k\":0}", EF_INVALID_INPUT, "top_k: found 0");
    refuse(pair, "{\"top_k\":2000}", EF_INVALID_INPUT, "top_k: found 2000");
    refuse(pair, "{\"max_answer_len\":0}", EF_INVALID_INPUT, "max_answer_len");
    refuse(pair, "{\"max_seq_len\":401}", EF_INVALID_INPUT, "max_seq_len: found 401, wanted 1 to 400");
    refuse(pair, "{\"doc_stride\":-1}", EF_INVALID_INPUT, "doc_stride");
    refuse(pair, "{\"align_to_word\":false}", EF_INVALID_INPUT, "did you mean align_to_words?");
    pair.size2 = 0;
    refuse(pair, NULL, EF_INVALID_INPUT, "Cannot tokenize empty string");
    ef_close(model);
}

/* ---- entities of windows ---- */
#define STRIDES "tests/golden/strides/"
static bool same_entity(const Value *want, const Value *found)
{
    const Value *v = want->list.items;
    bool ok = str_eq(v[0].s, value_str(value_get(found, "entity_group"), STR("-"))) &&
              fabs(value_float(&v[1], -1) - value_float(value_get(found, "score"), -9)) < near &&
              str_eq(v[2].s, value_str(value_get(found, "word"), STR("-"))) &&
              value_int(&v[3], -1) == value_int(value_get(found, "start"), -9) &&
              value_int(&v[4], -1) == value_int(value_get(found, "end"), -9);
    return ok;
}

static Value result_of(Arena *arena, Str text, const char *how)
{
    Err err = { 0 };
    ef_input in = { sizeof(ef_input), EF_TEXT, text.p, text.n, NULL, 0 };
    ef_reply *r = ef_predict(model, &in, 1, how, &err);
    if (!r) printf("  %s: %s\n", how, err.message);
    Value reply = reply_of(arena, r);
    ef_reply_free(r);
    return first_result(&reply) ? *first_result(&reply) : value_null();
}

static void compare_way(Arena *arena, const Value *row, const char *way, const Value *want)
{
    Str text = value_get(row, "text")->s;
    int64_t stride = value_int(value_get(row, "stride"), 0);
    Value result = result_of(arena, text, str_format(arena, "{\"aggregation\":\"%s\",\"stride\":%lld,"
                             "\"offsets\":\"chars\"}", way, (long long)stride));
    const Value *found = value_get(&result, "entities");
    bool ok = found && found->list.n == want->list.n && !value_get(&result, "truncated");
    for (size_t i = 0; ok && i < want->list.n; i++)
        ok = same_entity(&want->list.items[i], &found->list.items[i]);
    compared++;
    if (!CHECK(ok)) differ(way, row);
}

/* All tokens of the text, once and in its order, as when nothing cuts it. */
static void compare_tokens(Arena *arena, const Value *row)
{
    Str text = value_get(row, "text")->s;
    Tokenizer *t = tokenizer_named(str_of(str_format(&keep, STRIDES "%.*s", STR_ARG(model_name))));
    Encoding e;
    CHECK(tokenizer_encode(t, arena, text, NULL, &(EncodeOptions){ .no_special = true }, &e, &(Err){ 0 }));
    Value result = result_of(arena, text, str_format(arena, "{\"stride\":%lld}",
                             (long long)value_int(value_get(row, "stride"), 0)));
    const Value *found = value_get(&result, "tokens");
    bool ok = found && found->list.n == e.n;
    for (size_t i = 0; ok && i < e.n; i++) {
        const Value *info = value_get(&found->list.items[i], "token_info");
        ok = value_int(value_get(info, "token_id"), -1) == e.ids[i] &&
             value_int(value_get(info, "start"), -1) == e.start[i];
    }
    if (!CHECK(ok)) differ("tokens", row);
}

static void compare_entities(Arena *arena, const Value *row)
{
    Str name = value_str(value_get(row, "model"), STR(""));
    if (!str_eq(name, model_name)) {
        ef_close(model);
        model_name = str_of(str_dup(&keep, name));
        model = model_at(str_format(&keep, STRIDES "%.*s", STR_ARG(name)));
    }
    for (size_t i = 0; model && i < row->map.n; i++)
        if (row->map.items[i].value.kind == V_LIST)
            compare_way(arena, row, str_dup(arena, row->map.items[i].key), &row->map.items[i].value);
    if (model) compare_tokens(arena, row);
}

static void entities_of_windows(void)
{
    TEST("entities of windows");
    model = NULL, model_name = STR(""), compared = 0;
    replay_lines(STRIDES "entities.jsonl", compare_entities);
    CHECK(compared > 100);
    ef_input text = { sizeof(ef_input), EF_TEXT, "Ada wrote", 9, NULL, 0 }, pair = { sizeof(ef_input), EF_PAIR, "Ada", 3, "wrote", 5 };
    refuse(text, "{\"stride\":-5}", EF_INVALID_INPUT, "stride");
    ef_error err = { 0 };
    ef_reply *cut = ef_predict(model, &pair, 1, "{}", &err), *same = ef_predict(model, &pair, 1, "{\"stride\":5}", &err);
    CHECK(cut && same && strcmp(ef_reply_json(cut), ef_reply_json(same)) == 0); /* a pair has no windows */
    ef_reply_free(cut), ef_reply_free(same);
    ef_close(model);
}

int main(void)
{
    pairs_load();
    questions_in_folders();
    questions_in_a_package();
    refusals();
    entities_of_windows();
    arena_free(&keep);
    return finish();
}
