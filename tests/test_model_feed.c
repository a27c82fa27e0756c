/* SPDX-License-Identifier: Apache-2.0
 * test_model_feed.c - the tensors that models are given, compared with what transformers' AutoTokenizer,
 * AutoImageProcessor and AutoFeatureExtractor make for 27 model types (tools/oracle/process.py): every id, every
 * pixel, and numbers of sounds within 1e-5, of AST within 1e-4. And shapes that a sidecar or a graph fixes. */
#include "check.h"
#include "data/json.h"
#include "model/feed.h"
#include "picture_case.h"

#define CASES "tests/golden/process/"
static Arena arena;

static const Named *named(const Named *made, int n, Str name)
{
    for (int i = 0; i < n; i++)
        if (str_eq(made[i].name, name)) return &made[i];
    return NULL;
}

static int64_t number_at(const Tensor *t, int64_t i)
{
    return t->type == T_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static bool is_zero(const Tensor *t)
{
    for (int64_t i = 0; i < t->dim[0] * t->dim[1]; i++)
        if (number_at(t, i)) return false;
    return true;
}

static bool same_numbers(const Tensor *t, const Value *want)
{
    if (t->rank != 2 || (size_t)t->dim[0] != want->list.n) return false;
    for (size_t r = 0; r < want->list.n; r++) {
        const Value *row = &want->list.items[r];
        if (row->list.n != (size_t)t->dim[1]) return false;
        for (size_t i = 0; i < row->list.n; i++)
            if (number_at(t, (int64_t)r * t->dim[1] + (int64_t)i) != value_int(&row->list.items[i], -1)) return false;
    }
    return true;
}

static bool same_pixels(const Tensor *t, const Value *want)
{
    const Value *shape = value_get(want, "shape");
    size_t n = 1;
    bool same = (size_t)t->rank == shape->list.n;
    for (int i = 0; same && i < t->rank; i++)
        same = t->dim[i] == value_int(&shape->list.items[i], -1), n *= (size_t)t->dim[i];
    return same && digest_is(t->data, n * dtype_size(t->type), value_get(want, "sha256")->s);
}

/* Within 1e-5, of AST within 1e-4, whose numbers transformers makes in floats. */
static bool same_samples(const Tensor *t, const Value *want, double most)
{
    const Value *shape = value_get(want, "shape"), *values = value_get(want, "values");
    int64_t step = value_int(value_get(want, "step"), 1);
    bool same = (size_t)t->rank == shape->list.n && t->type == T_F32;
    for (int i = 0; same && i < t->rank; i++) same = t->dim[i] == value_int(&shape->list.items[i], -1);
    for (size_t i = 0; same && i < values->list.n; i++)
        same = fabs(((const float *)t->data)[(int64_t)i * step] - value_float(&values->list.items[i], NAN)) < most;
    return same;
}

static bool same_tensor(const char *path, const Tensor *t, const Value *want)
{
    if (!want) return is_zero(t);
    if (want->kind == V_LIST) return same_numbers(t, want);
    return value_get(want, "values") ? same_samples(t, want, strstr(path, "ast") ? 1e-4 : 1e-5) : same_pixels(t, want);
}

static Item *case_items(const Value *one, size_t *n)
{
    const Value *texts = value_get(one, "texts"), *pictures = value_get(one, "pictures"),
                *sounds = value_get(one, "sounds");
    *n = (texts ? texts : pictures ? pictures : sounds)->list.n;
    Item *items = ARRAY(&arena, Item, *n);
    Err err = { 0 };
    for (size_t i = 0; texts && i < *n; i++) {
        const Value *parts = &texts->list.items[i];
        items[i].first = parts->list.items[0].s;
        if (parts->list.n > 1) items[i].second = parts->list.items[1].s;
    }
    for (size_t i = 0; pictures && i < *n; i++) {
        const char *path = str_format(&arena, GOLDEN "%.*s", STR_ARG(pictures->list.items[i].s));
        CHECK(file_read(&arena, path, GOLDEN_MOST, &items[i].picture, &err));
    }
    for (size_t i = 0; sounds && i < *n; i++) {
        const char *path = str_format(&arena, CASES "%.*s", STR_ARG(sounds->list.items[i].s));
        CHECK(file_read(&arena, path, GOLDEN_MOST, &items[i].sound, &err));
    }
    return items;
}

/* Every tensor that transformers makes and the graph takes; what the graph takes beside them is zeros. */
static void check_tensors(const char *path, const Feed *feed, const Named *made, const Value *want)
{
    for (int i = 0; i < feed->n; i++) {
        const Value *tensor = value_get(want, str_dup(&arena, feed->input[i].name));
        const Tensor *t = &named(made, feed->n, feed->input[i].name)->t;
        if (!CHECK(same_tensor(path, t, tensor))) printf("  %s: %.*s\n", path, STR_ARG(feed->input[i].name));
    }
    CHECK(feed->n > 0);
}

static void check_case(Str line)
{
    Value one;
    Err err = { 0 };
    Model *m;
    Feed feed;
    size_t n;
    if (!CHECK(json_parse(&arena, str_of(str_dup(&arena, line)), &one, &err))) return;
    Str tokenizer = value_str(value_get(&one, "tokenizer"), (Str){ 0 });
    const char *path = str_format(&arena, "tests/golden/%.*s", STR_ARG(value_get(&one, "model")->s));
    ModelOpen how = { .tokenizer = tokenizer.n ? str_format(&arena, CASES "%.*s", STR_ARG(tokenizer)) : NULL };
    if (!CHECK(model_open_with(path, &how, &m, &err))) return (void)printf("  %s: %s\n", path, err.message);
    Item *items = case_items(&one, &n);
    feed_of(&arena, m, &feed);
    Named *made = ARRAY(&arena, Named, feed.n);
    if (CHECK(feed_make(&arena, m, &feed, &(FeedItems){ items, n, NULL }, made, &err)))
        check_tensors(path, &feed, made, value_get(&one, "tensors"));
    else printf("  %s: %s\n", path, err.message);
    model_close(m);
}

static void test_types(void)
{
    Str text;
    Err err = { 0 };
    TEST("model types");
    if (!CHECK(file_read(&arena, CASES "cases.jsonl", GOLDEN_MOST, &text, &err))) return;
    for (const char *line = text.p, *end; (end = strchr(line, '\n')); line = end + 1)
        check_case((Str){ line, (size_t)(end - line) });
}

/* ---- shapes that are fixed ---- */
static void test_fixed(void)
{
    TEST("fixed shapes");
    Model *m;
    Err err = { 0 };
    Feed feed;
    Item items[] = { { .first = STR("Ada wrote") }, { .first = STR("the river") }, { .first = STR("the city") } };
    if (!CHECK(model_open("tests/golden/pipelines/labels", &m, &err))) return;
    feed_of(&arena, m, &feed);
    CHECK(feed.n == 3 && feed.input[0].from == SHAPE_GRAPH && feed.input[0].dim[0] < 0 && feed.input[0].dim[1] < 0);
    Named *made = ARRAY(&arena, Named, feed.n);
    for (int i = 0; i < feed.n; i++) feed.input[i].dim[0] = 2, feed.input[i].dim[1] = 32;
    CHECK(feed_make(&arena, m, &feed, &(FeedItems){ items, 1, NULL }, made, &err));
    for (int i = 0; i < feed.n; i++) CHECK(made[i].t.dim[0] == 2 && made[i].t.dim[1] == 32);
    CHECK(number_at(&made[0].t, 0) == number_at(&made[0].t, 32)); /* the row again */
    CHECK(!feed_make(&arena, m, &feed, &(FeedItems){ items, 3, NULL }, made, &err) && strstr(err.message, "found 3 inputs, wanted at most 2"));
    for (int i = 0; i < feed.n; i++) feed.input[i].dim[0] = -1, feed.input[i].dim[1] = 4;
    CHECK(!feed_make(&arena, m, &feed, &(FeedItems){ items, 1, NULL }, made, &err) && strstr(err.message, "tokens, wanted at most 4"));
    CHECK(!feed_make(&arena, m, &feed, &(FeedItems){ items, 0, NULL }, made, &err));
    model_close(m);
}

/* Ranks that leave no dim for the tokens; dims before the first are no part of the input. */
static void test_ranks(void)
{
    TEST("ranks that are refused");
    Model *m;
    Err err = { 0 };
    Feed feed;
    Item item = { .first = STR("Ada wrote") };
    const struct { Role role; int rank; const char *words; } rows[] = {
        { ROLE_TOKEN, 0, "found a graph input of 0 dims, wanted rows and tokens" },
        { ROLE_MASK, 1, "found a graph input of 1 dims, wanted rows and tokens" },
        { ROLE_BOX, 1, "found a graph input of 1 dims, wanted rows and tokens and sides" },
        { ROLE_BOX, 2, "found a graph input of 2 dims, wanted rows and tokens and sides" },
    };
    if (!CHECK(model_open("tests/golden/pipelines/labels", &m, &err))) return;
    feed_of(&arena, m, &feed);
    Named *made = ARRAY(&arena, Named, feed.n);
    for (size_t i = 0; i < COUNT(rows); i++) {
        feed.input[0].role = rows[i].role, feed.input[0].rank = rows[i].rank;
        err = (Err){ 0 };
        if (!CHECK(!feed_make(&arena, m, &feed, &(FeedItems){ &item, 1, NULL }, made, &err) && strstr(err.message, rows[i].words)))
            printf("  %s\n", err.message);
    }
    model_close(m);
}

int main(void)
{
    test_types();
    test_fixed();
    test_ranks();
    arena_free(&arena);
    return finish();
}
