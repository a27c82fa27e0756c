/* SPDX-License-Identifier: Apache-2.0
 * test_task_answers.c - answers and entities of several windows against those that transformers'
 * pipelines make of the same made-up logits (tools/oracle/question_answering.py, strides.py). */
#include "task/answers.h"

#include "question_case.h"
#include "task/overlaps.h"
#include "task/task.h"

static uint32_t next_random(uint32_t seed)
{
    return (uint32_t)(((uint64_t)seed * 1103515245 + 12345) & 0x7fffffff);
}

/* ---- questions ---- */
static AnswerOptions sets[16]; /* of answers.jsonl */
static size_t set_count;

static void read_sets(Arena *arena, const Value *row)
{
    (void)arena;
    const Value *list = value_get(row, "options");
    for (size_t i = 0; list && i < list->list.n && i < COUNT(sets); i++) {
        const Value *o = &list->list.items[i];
        sets[set_count++] = (AnswerOptions){
            .top_k = (int)value_int(value_get(o, "top_k"), 1),
            .max_answer_len = (int)value_int(value_get(o, "max_answer_len"), ANSWER_MAX_LEN),
            .impossible = value_bool(value_get(o, "handle_impossible_answer"), false),
            .align_to_words = value_bool(value_get(o, "align_to_words"), true),
        };
    }
}

static AnswerWindow made_up(Arena *arena, const Encoding *e, uint32_t seed)
{
    float *out[2] = { ARRAY(arena, float, e->n), ARRAY(arena, float, e->n) };
    for (size_t i = 0; i < 2 * e->n; i++) {
        seed = next_random(seed);
        out[i % 2][i / 2] = (float)((seed >> 8) * 12.0 / (1 << 23) - 6.0);
    }
    return (AnswerWindow){ e, out[0], out[1] };
}

static int64_t chars(Str text, int64_t bytes)
{
    return (int64_t)utf8_length((Str){ text.p, (size_t)bytes });
}

static bool same_answer(const Value *want, const Answer *a, Str context)
{
    const Value *v = want->list.items;
    bool ok = fabs(value_float(&v[0], -1) - a->score) < 1e-5 &&
              value_int(&v[1], -1) == chars(context, a->start) &&
              value_int(&v[2], -1) == chars(context, a->end) && str_eq(v[3].s, a->text);
    if (!ok)
        printf("  found %.9g, %lld to %lld, \"%.*s\"\n", a->score, (long long)chars(context, a->start),
               (long long)chars(context, a->end), STR_ARG(a->text));
    return ok;
}

static void compare(Arena *arena, const Value *row, const AnswerWindow *windows, size_t n,
                    const Value *wanted)
{
    AnswerOptions options = sets[value_int(&wanted->list.items[0], 0)];
    const Value *want = &wanted->list.items[1];
    Str context = pairs[value_int(value_get(row, "pair"), 0)].context;
    Answer out[16];
    Tokenizer *t = model_tokenizer(row);
    options.context_first = value_bool(value_get(row, "left"), false);
    options.cls = answers_class_token(t);
    size_t found = answers_find(arena, context, windows, n, &options, out);
    if (want->list.n == 0) { /* all of the pipeline's had a score of 0 */
        CHECK(found == 1 && out[0].score == 0 && out[0].text.n == 0);
        return;
    }
    bool ok = found == want->list.n;
    for (size_t i = 0; ok && i < found; i++) ok = same_answer(&want->list.items[i], &out[i], context);
    if (!CHECK(ok)) differ("answers", row);
}

static void made_up_answers(Arena *arena, const Value *row)
{
    Windows w = { 0 };
    Err err = { 0 };
    if (!CHECK(row_windows(arena, row, &w, &err))) return;
    AnswerWindow *windows = ARRAY(arena, AnswerWindow, w.n);
    uint32_t seed = (uint32_t)value_int(value_get(row, "seed"), 0);
    for (size_t i = 0; i < w.n; i++)
        windows[i] = made_up(arena, &w.items[i], seed + (uint32_t)i);
    const Value *all = value_get(row, "answers");
    for (size_t i = 0; i < all->list.n; i++)
        compare(arena, row, windows, w.n, &all->list.items[i]);
}

/* ---- what no pipeline shows ---- */
static void oddities(void)
{
    TEST("oddities");
    Arena arena = { 0 };
    int32_t ids[] = { 1, 7, 2, 5, 6, 2 }, start[] = { 0, 0, 0, 0, 3, 0 }, end[] = { 0, 2, 0, 3, 5, 0 };
    int32_t word[] = { -1, 0, -1, 0, 1, -1 };
    uint8_t special[] = { 1, 0, 1, 0, 0, 1 }, sequence[] = { 0, 0, 0, 1, 1, 0 };
    Encoding e = { .n = 6, .ids = ids, .start = start, .end = end, .word = word, .special = special,
                   .sequence = sequence };
    float even[6] = { 0 }, cls[6] = { 200, 0, 0, 0, 0, 0 }, broken[6] = { NAN, NAN, NAN, NAN, NAN, NAN };
    AnswerOptions o = { .top_k = 8, .max_answer_len = 15, .align_to_words = true, .cls = 1 };
    Answer out[8];
    AnswerWindow w = { &e, even, even };
    CHECK(answers_find(&arena, STR("abcde"), &w, 1, &o, out) == 3); /* abc, abcde, de: in order */
    CHECK(str_is(out[0].text, "abc") && str_is(out[1].text, "abcde") && str_is(out[2].text, "de"));
    CHECK(fabs(out[0].score - 1.0 / 9) < 1e-6); /* two tokens of the context, and the class token */
    w = (AnswerWindow){ &e, cls, cls };
    CHECK(answers_find(&arena, STR("abcde"), &w, 1, &o, out) == 1 && out[0].score == 0 &&
          out[0].text.n == 0);
    o.impossible = true;
    CHECK(answers_find(&arena, STR("abcde"), &w, 1, &o, out) == 1 && out[0].score == 1 &&
          out[0].end == 0);
    w = (AnswerWindow){ &e, broken, broken };
    CHECK(answers_find(&arena, STR("abcde"), &w, 1, &o, out) == 1 && out[0].score == 0);
    o.top_k = INT32_MAX, o.max_answer_len = INT32_MAX, o.impossible = false; /* no more memory than spans */
    w = (AnswerWindow){ &e, even, even };
    CHECK(answers_find(&arena, STR("abcde"), &w, 1, &o, out) == 3);
    arena_free(&arena);
}

/* ---- entities ---- */
static const char *const label_names[] = { "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "TIME" };
enum { LABELS = COUNT(label_names) };

static const float *made_up_labels(Arena *arena, size_t tokens, uint32_t seed)
{
    float *out = ARRAY(arena, float, tokens * LABELS);
    uint32_t best = 0;
    for (size_t t = 0; t < tokens; t++) {
        seed = next_random(seed);
        if (t == 0 || (seed >> 16) % 3 == 0) best = (seed >> 18) % LABELS;
        else if (best == 1 || best == 3) best++;
        for (uint32_t l = 0; l < LABELS; l++) {
            seed = next_random(seed);
            out[t * LABELS + l] = (float)((seed >> 8) * 3.0 / (1 << 23) + (l == best ? 3.5 : 0.0));
        }
    }
    return out;
}

typedef struct Found { /* entities of all windows, and where they lie */
    const Value **items;
    EntityPlace *at;
    size_t n;
} Found;

static void add_window(Arena *arena, const Value *row, const Encoding *e, const float *logits,
                       TaskGrouping how, Found *found)
{
    static Str names[LABELS];
    for (size_t i = 0; i < LABELS; i++) names[i] = str_of(label_names[i]);
    ModelConfig config = { .num_labels = LABELS, .labels = names };
    TaskOptions options = { .chars = true, .grouping = how };
    TaskRow one = { .first = value_str(value_get(row, "text"), STR("")), .encoding = e,
                    .tokenizer = model_tokenizer(row), .data = logits, .tokens = (int64_t)e->n,
                    .width = LABELS };
    Value *result = NEW(arena, Value);
    task_find(STR("token_classification"))->finish(arena, &config, &options, &one, 1, result);
    const Value *list = value_get(result, "entities");
    for (size_t i = 0; i < list->list.n; i++, found->n++) {
        const Value *entity = found->items[found->n] = &list->list.items[i];
        found->at[found->n] = (EntityPlace){ value_int(value_get(entity, "start"), -1),
                                             value_int(value_get(entity, "end"), -1),
                                             (float)value_float(value_get(entity, "score"), -1),
                                             found->n };
    }
}

static bool same_entities(const Value *want, const Found *found)
{
    bool ok = want->list.n == found->n;
    for (size_t i = 0; ok && i < found->n; i++) {
        const Value *w = want->list.items[i].list.items, *e = found->items[found->at[i].index];
        ok = str_eq(w[0].s, value_get(e, "entity_group")->s) && str_eq(w[2].s, value_get(e, "word")->s) &&
             fabs(value_float(&w[1], -1) - found->at[i].score) < 1e-5 &&
             value_int(&w[3], -1) == found->at[i].start && value_int(&w[4], -1) == found->at[i].end;
    }
    return ok;
}

static void made_up_entities(Arena *arena, const Value *row)
{
    static const struct { const char *name; TaskGrouping how; } ways[] = {
        { "simple", GROUP_SIMPLE }, { "first", GROUP_FIRST }, { "average", GROUP_AVERAGE },
        { "max", GROUP_MAX } };
    Windows w = { 0 };
    Err err = { 0 };
    Str text = value_str(value_get(row, "text"), STR(""));
    WindowOptions options = { (int)value_int(value_get(row, "max_length"), 0),
                              (int)value_int(value_get(row, "stride"), 0), 0, false };
    if (!CHECK(windows_of_text(model_tokenizer(row), arena, text, &options, &w, &err))) return;
    uint32_t seed = (uint32_t)value_int(value_get(row, "seed"), 0);
    for (size_t k = 0; k < COUNT(ways); k++) {
        size_t most = w.n * (size_t)options.max_length;
        Found found = { ARRAY(arena, const Value *, most), ARRAY(arena, EntityPlace, most), 0 };
        for (size_t i = 0; i < w.n; i++)
            add_window(arena, row, &w.items[i],
                       made_up_labels(arena, w.items[i].n, seed + (uint32_t)i), ways[k].how, &found);
        if (w.n > 1) found.n = entities_join(found.at, found.n);
        if (value_get(row, ways[k].name) &&
            !CHECK(same_entities(value_get(row, ways[k].name), &found)))
            differ(ways[k].name, row);
    }
}

int main(void)
{
    pairs_load();
    TEST("option sets");
    replay_lines(GOLDEN "answers.jsonl", read_sets);
    CHECK(set_count == 9);
    TEST("made-up logits");
    replay_lines(GOLDEN "spans.jsonl", made_up_answers);
    oddities();
    TEST("overlapping windows");
    replay_lines("tests/golden/strides/overlaps.jsonl", made_up_entities);
    CHECK(entities_join(NULL, 0) == 0);
    arena_free(&keep);
    return finish();
}
