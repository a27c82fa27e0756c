/* SPDX-License-Identifier: Apache-2.0
 * test_task_documents.c - pages: questions, labels of a page and of its tokens, as transformers has them
 * (tools/oracle/documents.py), in JSON, as protobuf and by the Hub's route; and what is refused. */
#define GOLDEN "tests/golden/documents/"
#include "data/base64.h"
#include "item_case.h"

static ItemModel models[] = { { .name = "layoutlm_qa" }, { .name = "lilt_qa" }, { .name = "layoutlmv3_qa" },
                              { .name = "layoutlmv3_class" }, { .name = "layoutlmv3_tags" } };
enum { LAYOUTLM, LILT, SEEING, CLASS, TAGS, PAGES = 3 };

/* ---- pages ---- */
typedef struct GoldenPage {
    Str name, image;             /* image: base64 */
    Value words, boxes;
} GoldenPage;
static GoldenPage pages[PAGES];
static int page_count;

static Str json_of(Arena *arena, const Value *v)
{
    Buf b = { .arena = arena };
    json_write(&b, v);
    return buf_view(&b);
}

static void keep_page(Arena *arena, const Value *row)
{
    GoldenPage *page = &pages[page_count++];
    Err err = { 0 };
    Str bytes, name = value_str(value_get(row, "page"), STR(""));
    Buf text = { .arena = &keep };
    (void)arena;
    Value kept;
    CHECK(json_parse(&keep, json_of(&keep, row), &kept, &err));
    page->name = (Str){ str_dup(&keep, name), name.n };
    page->words = *value_get(&kept, "words");
    page->boxes = *value_get(&kept, "boxes");
    if (!CHECK(file_read(&keep, str_format(&keep, GOLDEN "%.*s.png", STR_ARG(name)), 1 << 20, &bytes, &err))) return;
    base64_write(&text, bytes);
    page->image = buf_view(&text);
}

static const GoldenPage *page_of(const Value *row)
{
    Str name = value_str(value_get(row, "page"), STR(""));
    for (int i = 0; i < page_count; i++)
        if (str_eq(pages[i].name, name)) return &pages[i];
    return NULL;
}

/* {image, words, boxes, question} as one item. */
static Value page_item(Arena *arena, const GoldenPage *page, const Value *question, bool image)
{
    Value item = value_map(arena, 4);
    if (question) value_add(&item, "question", *question);
    if (image) value_add(&item, "image", value_of_str(page->image));
    value_add(&item, "words", page->words);
    value_add(&item, "boxes", page->boxes);
    return item;
}

static Value body_with(Arena *arena, Value item, const Value *params)
{
    Value body = value_map(arena, 8);
    value_add(&body, "inputs", item);
    for (size_t i = 0; params && i < params->map.n; i++)
        value_add(&body, str_dup(arena, params->map.items[i].key), params->map.items[i].value);
    return body;
}

/* ---- what the pipelines say ---- */
static int asked, labelled, tagged;

static bool near(const Value *a, const Value *b)
{
    double x = value_float(a, -9), y = value_float(b, -7);
    return a && b && x - y < 1e-4 && y - x < 1e-4;
}

static bool same_answers(const Value *got, const Value *want)
{
    if (!got || got->kind != V_LIST || got->list.n != want->list.n) return false;
    for (size_t i = 0; i < want->list.n; i++) {
        const Value *g = &got->list.items[i], *w = &want->list.items[i];
        if (!near(value_get(g, "score"), value_get(w, "score")) ||
            value_int(value_get(g, "start"), -1) != value_int(value_get(w, "start"), -2) ||
            value_int(value_get(g, "end"), -1) != value_int(value_get(w, "end"), -2) ||
            !str_eq(value_str(value_get(g, "answer"), STR("?")), value_str(value_get(w, "answer"), STR("!"))))
            return false;
    }
    return true;
}

static void shown(Arena *arena, const Value *row, const Job *job)
{
    Str got = buf_view(&job->out.text), want = json_of(arena, row);
    printf("  %.*s\n  %.*s\n  %s\n", (int)MIN(want.n, 400), want.p, (int)MIN(got.n, 400), got.p, job->work.err.message);
}

static void compare_answers(Arena *arena, ItemModel *m, const GoldenPage *page, const Value *row)
{
    Value item = page_item(arena, page, value_get(row, "question"), m == &models[SEEING]);
    Value body = body_with(arena, item, value_get(row, "params"));
    Job *job = item_run(m, json_of(arena, &body), NULL);
    const Value *got = value_get(item_result(job, 0), "answers");
    if (!CHECK(same_answers(got, value_get(row, "result")))) shown(arena, row, job);
    job_free(job);
    asked++;
}

static void compare_labels(Arena *arena, ItemModel *m, const GoldenPage *page, const Value *row)
{
    Value body = body_with(arena, page_item(arena, page, NULL, true), NULL);
    const Value *want = value_get(row, "labels");
    value_add(&body, "top_k", value_of_int((int64_t)want->list.n));
    Job *job = item_run(m, json_of(arena, &body), NULL);
    const Value *got = value_get(item_result(job, 0), "top");
    bool same = got && got->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = str_eq(value_str(value_get(&got->list.items[i], "label"), STR("?")), want->list.items[i].list.items[0].s) &&
               near(value_get(&got->list.items[i], "score"), &want->list.items[i].list.items[1]);
    if (!CHECK(same)) shown(arena, row, job);
    job_free(job);
    labelled++;
}

static void compare_tokens(Arena *arena, ItemModel *m, const GoldenPage *page, const Value *row)
{
    Value body = body_with(arena, page_item(arena, page, NULL, true), NULL);
    const Value *want = value_get(row, "tokens");
    Job *job = item_run(m, json_of(arena, &body), NULL);
    const Value *got = value_get(item_result(job, 0), "tokens");
    bool same = got && got->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *g = &got->list.items[i], *w = want->list.items[i].list.items;
        same = str_eq(value_str(value_get(g, "label"), STR("?")), w[0].s) && near(value_get(g, "score"), &w[1]) &&
               value_int(value_get(value_get(g, "token_info"), "word"), -1) == w[2].i;
    }
    if (!CHECK(same)) shown(arena, row, job);
    job_free(job);
    tagged++;
}

static void compare_case(Arena *arena, const Value *row)
{
    ItemModel *m = item_model(models, COUNT(models), row);
    const GoldenPage *page = page_of(row);
    if (!m || !CHECK(page)) return;
    if (value_get(row, "result")) compare_answers(arena, m, page, row);
    else if (value_get(row, "labels")) compare_labels(arena, m, page, row);
    else compare_tokens(arena, m, page, row);
}

/* ---- other ways to say it ---- */
static Str answer_of(Arena *arena, ItemModel *m, Str body)
{
    Job *job = item_run(m, body, NULL);
    const Value *answers = value_get(item_result(job, 0), "answers");
    Str said = answers ? json_of(arena, answers) : str_of(str_dup(arena, str_of(job->work.err.message)));
    job_free(job);
    return said;
}

static void test_forms(void)
{
    TEST("the same page in other forms");
    Arena arena = { 0 };
    Value question = value_of_text("What is the total?");
    Value item = page_item(&arena, &pages[0], &question, true), body = body_with(&arena, item, NULL);
    Str want = answer_of(&arena, &models[SEEING], json_of(&arena, &body));
    CHECK(memmem(want.p, want.n, "\"answer\"", 8));
    CHECK(str_eq(want, answer_of(&arena, &models[SEEING], json_of(&arena, &item)))); /* without inputs */
    size_t n = pages[0].words.list.n;
    Value pairs = value_list(&arena, n), flat = value_list(&arena, 2 * n);
    for (size_t i = 0; i < n; i++) {
        pairs.list.items[i] = value_list(&arena, 2);
        pairs.list.items[i].list.items[0] = flat.list.items[2 * i] = pages[0].words.list.items[i];
        pairs.list.items[i].list.items[1] = flat.list.items[2 * i + 1] = pages[0].boxes.list.items[i];
    }
    const Value *const lists[] = { &pairs, &flat };
    for (size_t i = 0; i < COUNT(lists); i++) {
        Value other = value_map(&arena, 3);
        value_add(&other, "question", question);
        value_add(&other, "image", value_of_str(pages[0].image));
        value_add(&other, "word_boxes", *lists[i]);
        CHECK(str_eq(want, answer_of(&arena, &models[SEEING], json_of(&arena, &other))));
    }
    arena_free(&arena);
}

/* Boxes by their names, the picture as bytes. */
static void test_proto(void)
{
    TEST("protobuf");
    Arena arena = { 0 };
    Value question = value_of_text("What is the total?"), image;
    Value item = page_item(&arena, &pages[0], &question, true), body = body_with(&arena, item, NULL);
    Value list = value_list(&arena, 1), tree = value_map(&arena, 4), boxes = value_list(&arena, pages[0].boxes.list.n);
    static const char *const sides[] = { "left", "top", "right", "bottom" };
    for (size_t i = 0; i < boxes.list.n; i++) {
        boxes.list.items[i] = value_map(&arena, 4);
        for (size_t k = 0; k < 4; k++)
            value_add(&boxes.list.items[i], sides[k], pages[0].boxes.list.items[i].list.items[k]);
    }
    Err err = { 0 };
    Str bytes;
    CHECK(file_read(&arena, GOLDEN "invoice.png", 1 << 20, &bytes, &err));
    image = value_of_bytes(bytes);
    value_add(&tree, "question", question);
    value_add(&tree, "words", pages[0].words);
    value_add(&tree, "boxes", boxes);
    value_add(&tree, "image", image);
    list.list.items[0] = tree;
    Value request = body_with(&arena, list, NULL);
    item_same_in_proto(&models[SEEING], json_of(&arena, &body), &request);
    arena_free(&arena);
}

/* ---- pages without words, and with too many ---- */
static void test_blank(void)
{
    TEST("a page without words");
    Arena arena = { 0 };
    for (int i = LAYOUTLM; i <= LILT; i++) {
        CHECK(str_is(answer_of(&arena, &models[i], STR("{\"question\":\"a b\",\"words\":[],\"boxes\":[]}")), "[]"));
        CHECK(str_is(answer_of(&arena, &models[i], STR("{\"question\":\"a b\",\"word_boxes\":[],\"handle_impossible_answer\":true}")),
                     "[{\"score\":1.0,\"answer\":\"\",\"start\":0,\"end\":0}]"));
    }
    arena_free(&arena);
}

static void test_many_words(void)
{
    TEST("more words than a page may have");
    Buf body = { 0 };
    buf_puts(&body, "{\"question\":\"a\",\"words\":[\"a\"");
    for (int i = 1; i <= PAGE_WORDS_MOST; i++) buf_puts(&body, ",\"a\"");
    buf_puts(&body, "],\"boxes\":[[0,0,1,1]");
    for (int i = 1; i <= PAGE_WORDS_MOST; i++) buf_puts(&body, ",[0,0,1,1]");
    buf_puts(&body, "]}");
    Job *job = item_run(&models[LAYOUTLM], buf_view(&body), NULL);
    CHECK(job->work.err.code == EF_TOO_LARGE && says(&job->work.err, "inputs[0].words: found 16385, wanted at most 16384"));
    job_free(job);
    buf_free(&body);
}

/* ---- refused ---- */
#define LONG "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="
#define TWO "\"words\":[\"a\",\"b\"],"
static const Refusal refused[] = {
    { "{\"inputs\":\"a text\"}", "inputs: found a string, wanted an object with question, words and boxes" },
    { "{\"inputs\":{\"question\":\"a\"}}", "inputs[0].words: found nothing, wanted words and boxes, or an image" },
    { "{\"inputs\":{" TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]]}}", "inputs[0].question: found nothing" },
    { "{\"question\":\"\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]]}", "inputs[0].question: Cannot tokenize empty string" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1]]}", "inputs[0].boxes: found 1, wanted 2: one for each word" },
    { "{\"question\":\"a\",\"words\":[\"a\"],\"boxes\":[[0,0,1,1],[0,0,1,1]]}", "inputs[0].boxes: found 2, wanted 1" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1001,1]]}", "inputs[0].boxes[1][2]: found 1001, wanted 0 to 1000" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,-1,1,1]]}", "inputs[0].boxes[1][1]: found -1, wanted 0 to 1000" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0.5,0,1,1]]}", "inputs[0].boxes[1][0]: found a number, wanted a whole number" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[5,0,1,1]]}", "inputs[0].boxes[1]: found left 5 and right 1" },
    { "{\"question\":\"a\"," TWO "\"word_boxes\":[]}", "inputs[0].word_boxes: found words beside them" },
    { "{\"question\":\"a\",\"word_boxes\":[[\"a\"]]}", "inputs[0].word_boxes[0]: found a list of another length, wanted [word, [left" },
    { "{\"question\":\"a\",\"word_boxes\":[[7,[0,0,1,1]]]}", "inputs[0].word_boxes[0]: found a number, wanted a word" },
    { "{\"question\":\"a\",\"word_boxes\":[[\"\",[0,0,1,1]]]}", "inputs[0].word_boxes[0]: Cannot tokenize empty string" },
    { "{\"question\":\"a\",\"word_boxes\":[[\"a\",[0,0,1,2000]]]}", "inputs[0].word_boxes[0][3]: found 2000, wanted 0 to 1000" },
    { "{\"question\":\"a\",\"word_boxes\":7}", "inputs[0].word_boxes: found a number, wanted a list of [word, box]" },
    { "{\"question\":\"a\",\"image\":\"" LONG "\"}", "inputs[0]: found an image without its words, wanted words and boxes beside it" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]],\"max_seq_len\":100}", "max_seq_len: found 100, wanted 1 to 80" },
};
static const Refusal unseen[] = {
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]]}", "inputs[0].image: found nothing, wanted one" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]],\"image\":null}", "inputs[0].image: found null" },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]],\"image\":\"" LONG "\"}", "inputs[0]: image: " },
    { "{\"question\":\"a\"," TWO "\"boxes\":[[0,0,1,1],[0,0,1,1]],\"image\":\"http://localhost/a.png\"}", "inputs[0].image: " },
};

int main(void)
{
    TEST("open");
    for (size_t i = 0; i < COUNT(models); i++) item_open(&models[i], GOLDEN);
    replay_lines(GOLDEN "pages.jsonl", keep_page);
    CHECK(page_count == PAGES);
    TEST("what transformers says");
    replay_lines(GOLDEN "cases.jsonl", compare_case);
    CHECK(asked == 144 && labelled == 3 && tagged == 3);
    if (models[SEEING].session) test_forms(), test_proto();
    test_blank();
    test_many_words();
    TEST("bodies that cannot be used");
    if (models[LAYOUTLM].session) items_refused(&models[LAYOUTLM], refused, COUNT(refused));
    if (models[SEEING].session) items_refused(&models[SEEING], unseen, COUNT(unseen));
    for (size_t i = 0; i < COUNT(models); i++) item_close(&models[i]);
    return finish();
}
