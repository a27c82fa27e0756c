/* SPDX-License-Identifier: Apache-2.0
 * test_input_boxes.c - words with boxes through LayoutLM and LiLT, against PyTorch (tests/golden/boxes, by
 * tools/oracle/boxes.py): ids, the words of tokens and the logits; what the results say about words; and bodies
 * that are refused. */
#define GOLDEN "tests/golden/boxes/"
#include "item_case.h"

static ItemModel models[] = { { .name = "layoutlm" }, { .name = "lilt" } };
static int rows_seen;

/* ---- against the reference ---- */
static double worst_of(const TaskTensor *found, const Value *logits)
{
    double worst = 0;
    if (found->tokens != (int64_t)logits->list.n) return INFINITY;
    for (int64_t t = 0; t < found->tokens; t++) {
        const Value *row = &logits->list.items[t];
        if (found->width != (int64_t)row->list.n) return INFINITY;
        for (int64_t k = 0; k < found->width; k++)
            worst = fmax(worst, fabs((double)found->data[t * found->width + k] -
                                     value_float(&row->list.items[k], NAN)));
    }
    return worst;
}

static void check_tokens(const Prepared *made, const Value *row)
{
    const Encoding *e = &made->encoding;
    const Value *ids = value_get(row, "ids"), *words = value_get(row, "word"), *boxes = value_get(row, "bbox");
    if (!CHECK(e->n == ids->list.n)) return;
    for (size_t i = 0; i < e->n; i++) {
        CHECK(e->ids[i] == value_int(&ids->list.items[i], -2));
        CHECK((e->special[i] ? -1 : e->word[i]) == value_int(&words->list.items[i], -2));
        for (size_t k = 0; k < BOX_SIDES; k++)
            CHECK(made->boxes[i * BOX_SIDES + k] == value_int(&boxes->list.items[i].list.items[k], -1));
    }
}

/* Offsets lie in the words joined by spaces, inside the token's own word. */
static void check_result(const Value *result, const Value *row)
{
    const Value *tokens = value_get(result, "tokens"), *words = value_get(row, "words");
    if (!CHECK(tokens && tokens->list.n)) return;
    for (size_t i = 0; i < tokens->list.n; i++) {
        const Value *info = value_get(&tokens->list.items[i], "token_info");
        int64_t word = value_int(value_get(info, "word"), -1), from = 0;
        if (!CHECK(word >= 0 && word < (int64_t)words->list.n)) return;
        for (int64_t w = 0; w < word; w++) from += (int64_t)words->list.items[w].s.n + 1;
        CHECK(value_int(value_get(info, "start"), -1) >= from &&
              value_int(value_get(info, "end"), -1) <= from + (int64_t)words->list.items[word].s.n);
    }
}

static Value page_of(Arena *arena, const Value *row)
{
    Value page = value_map(arena, 2);
    value_add(&page, "words", *value_get(row, "words"));
    value_add(&page, "boxes", *value_get(row, "boxes"));
    return page;
}

/* Protobuf names the sides of a box. */
static Value named_page(Arena *arena, const Value *row)
{
    static const char *const sides[] = { "left", "top", "right", "bottom" };
    const Value *boxes = value_get(row, "boxes");
    Value page = value_map(arena, 2), named = value_list(arena, boxes->list.n);
    for (size_t i = 0; i < boxes->list.n; i++) {
        Value box = value_map(arena, BOX_SIDES);
        for (size_t k = 0; k < BOX_SIDES; k++) value_add(&box, sides[k], boxes->list.items[i].list.items[k]);
        named.list.items[i] = box;
    }
    value_add(&page, "words", *value_get(row, "words"));
    value_add(&page, "boxes", named);
    return page;
}

static void compare_row(Arena *arena, const Value *row)
{
    ItemModel *m = item_model(models, COUNT(models), row);
    if (!m) return;
    Buf json = { .arena = arena };
    Value body = value_map(arena, 1), proto = value_map(arena, 1), pages = value_list(arena, 1);
    value_add(&body, "inputs", page_of(arena, row));
    json_write(&json, &body);
    Job *job = item_run(m, buf_view(&json), NULL);
    rows_seen++;
    if (CHECK(job->work.err.code == EF_OK && job->work.rows == 1)) {
        check_tokens(&job->work.row[0], row);
        CHECK(worst_of(work_result(&job->work, 0), value_get(row, "logits")) <= 1e-4);
        check_result(item_result(job, 0), row);
    } else printf("  %s\n", job->work.err.message);
    job_free(job);
    pages.list.items[0] = named_page(arena, row);
    value_add(&proto, "pages", pages);
    item_same_in_proto(m, buf_view(&json), &proto);
}

/* ---- results ---- */
#define PAGE "\"inputs\":[{\"words\":[\"Invoice\",\"London\"],\"boxes\":[[1,2,30,40],[50,2,90,40]]}," \
             "{\"words\":[\"Ada\"],\"boxes\":[[0,0,1000,1000]]}]"

static void check_entities(ItemModel *m, const char *how)
{
    char body[300];
    size_t tokens = 0;
    snprintf(body, sizeof body, "{" PAGE ",\"aggregation\":\"%s\"}", how);
    Job *job = item_run(m, str_of(body), NULL);
    for (size_t i = 0; i < 2; i++) {
        const Value *list = value_get(item_result(job, i), "entities");
        Str text = i ? STR("Ada") : STR("Invoice London");
        int64_t last = -1;
        if (!CHECK(list)) break;
        for (size_t k = 0; k < list->list.n; k++, tokens++) {
            const Value *one = &list->list.items[k];
            int64_t first = value_int(value_get(one, "first_word"), -1), end = value_int(value_get(one, "end"), -1);
            int64_t start = value_int(value_get(one, "start"), -1);
            CHECK(first > last && value_int(value_get(one, "last_word"), -1) >= first); /* words are never cut */
            CHECK((start == 0 || text.p[start - 1] == ' ') && (end == (int64_t)text.n || text.p[end] == ' '));
            last = value_int(value_get(one, "last_word"), -1);
            const Value *box = value_get(one, "box"); /* around the words */
            static const int64_t of_words[2][4] = { { 1, 2, 30, 40 }, { 50, 2, 90, 40 } }, whole[] = { 0, 0, 1000, 1000 };
            const int64_t *near = i ? whole : of_words[first], *far = i ? whole : of_words[last];
            CHECK(box && box->list.n == 4 && box->list.items[0].i == near[0] && box->list.items[1].i == near[1] &&
                  box->list.items[2].i == far[2] && box->list.items[3].i == far[3]);
        }
    }
    CHECK(tokens > 0);
    job_free(job);
}

static void test_entities(void)
{
    TEST("entities are made of whole words");
    for (size_t i = 0; i < COUNT(models); i++)
        if (models[i].session) check_entities(&models[i], "first"), check_entities(&models[i], "average");
}

/* 300 words do not fit: cut, or in windows, whose tokens are each told once and in order. */
static void long_page(ItemModel *m, const char *more, bool cut)
{
    enum { WORDS = 300 };
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":{\"words\":[");
    for (int i = 0; i < WORDS; i++) buf_printf(&body, "%s\"ada%d\"", i ? "," : "", i);
    buf_puts(&body, "],\"boxes\":[");
    for (int i = 0; i < WORDS; i++) buf_printf(&body, "%s[%d,0,%d,9]", i ? "," : "", i, i + 1);
    buf_printf(&body, "]}%s}", more);
    Job *job = item_run(m, buf_view(&body), NULL);
    const Value *tokens = value_get(item_result(job, 0), "tokens");
    int64_t last = 0;
    CHECK(tokens && value_bool(value_get(item_result(job, 0), "truncated"), false) == cut);
    for (size_t i = 0; tokens && i < tokens->list.n; i++) {
        int64_t word = value_int(value_get(value_get(&tokens->list.items[i], "token_info"), "word"), -1);
        CHECK(word == last || word == last + 1);
        last = word;
    }
    CHECK(cut ? last < WORDS - 1 : last == WORDS - 1 && job->work.rows > 2);
    for (size_t r = 0; r < job->work.rows; r++)
        for (size_t i = 0; i < job->work.row[r].encoding.n; i++)
            if (!job->work.row[r].encoding.special[i])
                CHECK(job->work.row[r].boxes[i * BOX_SIDES] == job->work.row[r].encoding.word[i]);
    job_free(job);
    buf_free(&body);
}

static void test_long(void)
{
    TEST("pages that do not fit");
    for (size_t i = 0; i < COUNT(models); i++) {
        if (!models[i].session) continue;
        long_page(&models[i], "", true);
        long_page(&models[i], ",\"stride\":20", false);
    }
}

/* ---- refused ---- */
static const Refusal refused[] = {
    { "{\"inputs\":\"a text\"}", "inputs: found a string, wanted an object with words and boxes" },
    { "{\"inputs\":[\"a text\"]}", "inputs[0]: found a string, wanted an object with words and boxes" },
    { "{\"inputs\":{\"words\":[\"a\"]}}", "inputs[0].boxes: found nothing" },
    { "{\"inputs\":{\"words\":[],\"boxes\":[]}}", "inputs[0].words: found an empty list" },
    { "{\"inputs\":[{\"words\":[\"a\",\"b\"],\"boxes\":[[0,0,1,1]]}]}",
      "inputs[0].boxes: found 1, wanted 2: one for each word" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[[0,0,1]]}]}",
      "inputs[0].boxes[0]: found 3 numbers, wanted [left, top, right, bottom]" },
    { "{\"inputs\":[{\"words\":[\"a\",\"b\"],\"boxes\":[[0,0,1,1],[0,1200,1,1]]}]}",
      "inputs[0].boxes[1][1]: found 1200, wanted 0 to 1000" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[[0,0,1,-1]]}]}",
      "inputs[0].boxes[0][3]: found -1, wanted 0 to 1000" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[[0,0.5,1,1]]}]}",
      "inputs[0].boxes[0][1]: found a number, wanted a whole number of 0 to 1000" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[[9,0,1,1]]}]}",
      "inputs[0].boxes[0]: found left 9 and right 1, wanted left not beyond right" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[[0,9,1,1]]}]}",
      "inputs[0].boxes[0]: found top 9 and bottom 1, wanted top not beyond bottom" },
    { "{\"inputs\":[{\"words\":[\"a\"],\"boxes\":[7]}]}", "inputs[0].boxes[0]: found a number, wanted [left" },
    { "{\"inputs\":[{\"words\":[\"a\",\"\"],\"boxes\":[[0,0,1,1],[0,0,1,1]]}]}",
      "inputs[0].words[1]: Cannot tokenize empty string" },
};

int main(void)
{
    TEST("open");
    for (size_t i = 0; i < COUNT(models); i++)
        if (item_open(&models[i], GOLDEN)) CHECK(model_reads_boxes(models[i].model));
    TEST("tokens and logits");
    replay_lines(GOLDEN "words.jsonl", compare_row);
    CHECK(rows_seen >= 16);
    test_entities();
    test_long();
    TEST("bodies that cannot be used");
    if (models[0].session) items_refused(&models[0], refused, COUNT(refused));
    for (size_t i = 0; i < COUNT(models); i++) item_close(&models[i]);
    return finish();
}
