/* SPDX-License-Identifier: Apache-2.0
 * test_input_windows.c - windows of questions and of long texts against those that transformers'
 * pipelines made (tools/oracle/question_answering.py, tools/oracle/strides.py). */
#include "question_case.h"

static int compared;

static void same_window(const Value *want, const Value *row, const Encoding *e)
{
    const struct { const char *name; const int32_t *have; } lists[] = {
        { "ids", e->ids }, { "start", e->start }, { "end", e->end }, { "types", e->type_ids },
        { "word", e->word } };
    for (size_t i = 0; i < COUNT(lists); i++) {
        const Value *list = value_get(want, lists[i].name);
        if (list) CHECK(same(lists[i].name, list, row, lists[i].have, e->n));
        compared += list != NULL;
    }
}

static void question(Arena *arena, const Value *row)
{
    Windows w = { 0 };
    Err err = { 0 };
    const Value *want = value_get(row, "windows");
    size_t n = (size_t)value_int(value_get(row, "pair"), 0);
    bool ok = row_windows(arena, row, &w, &err), left = value_bool(value_get(row, "left"), false);
    if (want->kind == V_NULL) {
        CHECK(!ok && says(&err, "question and context: truncation"));
        return;
    }
    if (!CHECK(ok && w.n == want->list.n)) {
        printf("  pair %zu: %zu windows, %s\n", n, w.n, err.message);
        return;
    }
    Str texts[2] = { pairs[n].question, pairs[n].context };
    for (size_t i = 0; i < w.n; i++) {
        encoding_to_chars(&w.items[i], texts[left], &texts[!left]);
        same_window(&want->list.items[i], row, &w.items[i]);
    }
}

static void text(Arena *arena, const Value *row)
{
    Windows w = { 0 };
    Err err = { 0 };
    const Value *want = value_get(row, "windows");
    Str all = value_str(value_get(row, "text"), STR(""));
    if (!want) return;
    WindowOptions options = { (int)value_int(value_get(row, "max_length"), 0),
                              (int)value_int(value_get(row, "stride"), 0), 0, false };
    if (!CHECK(windows_of_text(model_tokenizer(row), arena, all, &options, &w, &err) &&
               w.n == want->list.n))
        printf("  %zu windows, %s\n", w.n, err.message);
    for (size_t i = 0; i < w.n && i < want->list.n; i++) {
        encoding_to_chars(&w.items[i], all, NULL);
        same_window(&want->list.items[i], row, &w.items[i]);
    }
}

/* ---- what is refused ---- */
static bool asked(QuestionOptions options, const char *context, Err *err)
{
    Arena arena = { 0 };
    Windows w;
    Tokenizer *t = tokenizer_named(STR(GOLDEN "bert"));
    *err = (Err){ 0 };
    bool ok = windows_of_question(t, &arena, STR("Who was born in London?"), str_of(context),
                                  &options, &w, err);
    arena_free(&arena);
    return ok;
}

static void refusals(void)
{
    static const char context[] = "Ada Lovelace was born in London in 1815 and wrote about machines.";
    TEST("refusals");
    Err err;
    CHECK(asked((QuestionOptions){ .doc_stride = -1, .limit = 512 }, context, &err));
    CHECK(!asked((QuestionOptions){ 600, -1, 512 }, context, &err) &&
          says(&err, "max_seq_len: found 600, wanted 1 to 512"));
    CHECK(!asked((QuestionOptions){ -4, 0, 512 }, context, &err) && says(&err, "max_seq_len: found -4"));
    CHECK(!asked((QuestionOptions){ 30, 31, 512 }, context, &err) &&
          says(&err, "doc_stride: found 31, wanted at most max_seq_len, 30"));
    CHECK(!asked((QuestionOptions){ 8, 0, 512 }, context, &err) && says(&err, "the second text has"));
    CHECK(!asked((QuestionOptions){ 2, 0, 512 }, context, &err) && says(&err, "windows of 2 tokens"));
    CHECK(!asked((QuestionOptions){ 3, 0, 512 }, context, &err) && says(&err, "windows of 3 tokens"));
    CHECK(!asked((QuestionOptions){ 30, 29, 512 }, context, &err) && says(&err, "stride 29, wanted"));
    for (int length = 3; length < 30; length++) /* a stride that nobody asked for is never too long */
        CHECK(asked((QuestionOptions){ length, -1, 512 }, context, &err) == asked((QuestionOptions){ length, 0, 512 }, context, &err));
    CHECK(asked((QuestionOptions){ 30, 2, 512, .most = 40 }, context, &err));
    CHECK(!asked((QuestionOptions){ 30, 2, 512, .most = 1 }, context, &err) &&
          err.code == EF_TOO_LARGE && says(&err, "windows, wanted at most 1"));
}

int main(void)
{
    pairs_load();
    TEST("questions");
    replay_lines(GOLDEN "windows.jsonl", question);
    TEST("texts");
    replay_lines("tests/golden/strides/overlaps.jsonl", text);
    CHECK(compared > 1000);
    refusals();
    arena_free(&keep);
    return finish();
}
