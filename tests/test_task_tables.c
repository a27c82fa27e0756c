/* SPDX-License-Identifier: Apache-2.0
 * test_task_tables.c - the columns that every task has in a table: what engines and Parquet can take. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "task/bio.h"

static Err err;

/* Lists inside of lists are what Parquet's readers disagree about. */
static void check_rows(const Field *rows, bool inside)
{
    for (const Field *f = rows; f->name; f++) {
        const bool list = f->repeated || f->kind == F_STR_MAP || f->kind == F_NULL_STR_MAP || f->kind == F_INT_STR_MAP;
        if (!CHECK(f->kind != F_ANY && !(list && inside))) printf("  %s\n", f->name);
        CHECK(strcmp(f->name, "error") != 0 || inside);
        if (f->kind == F_MSG) check_rows(f->msg, inside || list);
    }
}

static void check_task(const Task *task)
{
    TEST(task->name);
    TaskTable table;
    const ModelConfig config = { .num_labels = 3 }, one = { .num_labels = 1 };
    CHECK(task_table(task, &config, (TaskTold){ 0 }, &table, &err) && table.rows[0].name);
    check_rows(table.rows, false);
    CHECK(task_table(task, &one, (TaskTold){ 0 }, &table, &err));
    if (strcmp(task->name, "sequence_classification") == 0)
        CHECK(strcmp(table.rows[0].name, "score") == 0 && !table.rows[1].name);
    const TaskTold best = { .options = &(TaskOptions){ .top_k = 2 } };
    CHECK(task_table(task, &config, best, &table, &err));
    if (strcmp(task->name, "sequence_classification") == 0) CHECK(strcmp(table.rows[3].name, "top") == 0);
    for (const TaskTable *t = task->tables; t && t->rows; t++) {
        check_rows(t->rows, false);
        if (t->name) CHECK(task_table(task, &config, (TaskTold){ t->name }, &table, &err) && table.rows == t->rows);
    }
    CHECK(!task_table(task, &config, (TaskTold){ "nonsense" }, &table, &err) && says(&err, "--results"));
}

/* ---- straight into a table ---- */
enum { LABELS = 5, TOKENS = 9 };
static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Whitespace\"},"
    "\"post_processor\":null,\"decoder\":null,\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"a\":1}}}";

/* Logits that softmax makes almost equal, equal, infinite or no numbers of, among others. */
static float odd_logit(unsigned *seed, float before)
{
    static const float odd[] = { 0, -0.0f, 1, 12.5f, -40, 88, INFINITY, -INFINITY, NAN };
    *seed = *seed * 1664525 + 1013904223;
    const unsigned r = *seed >> 16;
    if (r % 4 == 0) return before;
    if (r % 4 == 1) return nextafterf(before, r & 64 ? 100.0f : -100.0f);
    if (r % 64 == 2) return odd[r / 64 % COUNT(odd)];
    return (float)(r % 2001) / 100 - 10;
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* The entities of a table against those of the tokens that the task reports. */
static void check_entities(Arena *arena, const ModelConfig *config, const TaskRow *row)
{
    const Task *task = task_find(STR("token_classification"));
    TaskTable table;
    CHECK(task_table(task, config, (TaskTold){ "entities" }, &table, &err) && table.fill);
    TaskOptions options = { .chars = true };
    table.ask(&options);
    Arena scratch = { 0 };
    const TaskFill fill = { arena, &scratch, columns_make(arena, table.rows) };
    table.fill(&fill, config, &options, row, 1);
    arena_free(&scratch); /* nothing of it is in the table */
    const Columns columns = columns_made(arena, table.rows, fill.to);
    const Column *list = &columns.column[0], *of = list->members.column;
    Value result;
    task->finish(arena, config, &(TaskOptions){ .return_tokens = true }, row, 1, &result);
    const BioSpans wanted = bio_entities(arena, row->first, bio_tokens(arena, &result));
    CHECK(list->n == 1 && list->offset[1] == wanted.n);
    for (size_t i = 0; i < wanted.n && i < list->values; i++) {
        const BioSpan *s = &wanted.item[i];
        CHECK(str_eq(of[0].s[i], s->label) && str_eq(of[1].s[i], s->text));
        CHECK(of[2].i[i] == bio_chars(row->first, s->start) && of[3].i[i] == bio_chars(row->first, s->end));
        CHECK(same_bits(of[4].f32[i], s->score));
    }
}

static void test_fill(void)
{
    TEST("entities without a result");
    static const Str labels[LABELS] = { STR("B-A"), STR("I-A"), STR("O"), STR("B-B"), STR("C") };
    static const Str text = STR("\xc3\xbc to New York, (or Goa)");
    static int32_t start[TOKENS] = { 0, 0, 3, 6, 8, 10, 14, 16, 20 }, end[TOKENS] = { 0, 2, 5, 8, 9, 14, 15, 19, 23 };
    static int32_t zero[TOKENS];
    static uint8_t special[TOKENS] = { 1 }, sequence[TOKENS];
    const Encoding e = { .n = TOKENS, .ids = zero, .type_ids = zero, .start = start, .end = end, .word = zero,
                         .special = special, .sequence = sequence };
    const ModelConfig config = { .num_labels = LABELS, .labels = (Str *)labels };
    Tokenizer *tokenizer;
    Arena own = { 0 };
    CHECK(tokenizer_load(&own, str_of(tokenizer_json), &tokenizer, &err));
    unsigned seed = 1;
    for (int turn = 0; turn < 2000; turn++) {
        Arena arena = { 0 };
        float logits[TOKENS * LABELS];
        for (int i = 0; i < TOKENS * LABELS; i++) logits[i] = odd_logit(&seed, i ? logits[i - 1] : 0);
        const TaskRow row = { .first = text, .encoding = &e, .tokenizer = tokenizer, .data = logits, .tokens = TOKENS,
                              .width = LABELS };
        check_entities(&arena, &config, &row);
        arena_free(&arena);
    }
    arena_free(&own);
}

int main(void)
{
    test_fill();
    size_t n;
    const Task *const *all = task_all(&n);
    CHECK(n == 18);
    for (size_t i = 0; i < n; i++) check_task(all[i]);
    return finish();
}
