/* SPDX-License-Identifier: Apache-2.0
 * test_data_columns.c - results as typed columns and as a table: lists, objects inside, what is absent, null or empty. */
#include "check.h"
#include "data/columns.h"
#include "data/json.h"
#include "data/table.h"

static Arena arena;

static const Field word[] = { { "text", 1, F_STR, .required = true }, { "score", 2, F_F32, .required = true }, { 0 } };
static const Field place[] = { { "start", 1, F_U32, .required = true }, { "inside", 2, F_BOOL }, { 0 } };
static const Field item[] = {
    { "place", 1, F_MSG, .required = true, .msg = place },
    { "words", 2, F_MSG, .repeated = true, .msg = word },
    { "weights", 3, F_F32, .repeated = true, .required = true, .or_base64 = true },
    { 0 },
};
static const Field plain[] = {
    { "indices", 1, F_U32, .repeated = true, .required = true },
    { "values", 2, F_F32, .repeated = true, .required = true },
    { "label", 3, F_STR, .required = true, .nullable = true },
    { "names", 4, F_STR_MAP },
    { "exact", 5, F_F64 },
    { "truncated", 6, F_BOOL },
    { 0 },
};
static const Field many[] = { { "items", 1, F_MSG, .repeated = true, .required = true, .msg = item },
                              { "truncated", 2, F_BOOL },
                              { 0 } };

static Value parse(const char *json)
{
    Value v = value_null();
    Err err = { 0 };
    CHECK(json_parse(&arena, str_of(json), &v, &err));
    return v;
}

static Columns columns(const Field *rows, const char *json)
{
    Value v = parse(json);
    return columns_of(&arena, rows, v.list.items, v.list.n);
}

#define ITEMS                                                                                                          \
    "[{\"items\":[{\"place\":{\"start\":3,\"inside\":true},\"words\":[{\"text\":\"a\",\"score\":0.5}],"               \
    "\"weights\":[1.5,2.0]},{\"place\":{\"start\":4},\"weights\":[0.1]}]},{\"items\":[],\"truncated\":true},"          \
    "{\"items\":[{\"place\":{\"start\":5},\"words\":[],\"weights\":[]}]}]"
#define PLAIN                                                                                                          \
    "[{\"indices\":[1,7],\"values\":[0.5,0.25],\"label\":\"x, \\\"y\\\"\",\"names\":{\"b\":\"1\",\"a\":\"2\"}},"        \
    "{\"indices\":[],\"values\":[],\"label\":null,\"exact\":0.1,\"truncated\":true}]"

static void test_arrays(void)
{
    TEST("arrays and offsets");
    Columns all = columns(many, ITEMS);
    const Column *items = &all.column[0], *cut = &all.column[1];
    CHECK(all.n == 2 && items->n == 3 && items->values == 3 && items->members.n == 3);
    CHECK(items->offset[0] == 0 && items->offset[1] == 2 && items->offset[2] == 2 && items->offset[3] == 3);
    CHECK(!cut->offset && !cut->there[0] && cut->there[1] && cut->b[1] && !cut->there[2]);
    const Column *start = &items->members.column[0].members.column[0], *words = &items->members.column[1];
    CHECK(start->n == 3 && start->i[0] == 3 && start->i[1] == 4 && start->i[2] == 5);
    CHECK(words->there[0] && !words->there[1] && words->there[2] && words->values == 1);
    CHECK(str_is(words->members.column[0].s[0], "a") && words->members.column[1].f32[0] == 0.5f);
    const Column *weights = &items->members.column[2];
    CHECK(weights->values == 3 && weights->f32[1] == 2.0f && weights->f32[2] == 0.1f && weights->offset[2] == 3);
    CHECK(column_used(items) && column_used(cut) && column_used(words));
    Columns none = columns(plain, "[]");
    CHECK(none.n == 6 && none.column[0].n == 0 && none.column[0].offset[0] == 0);
    CHECK(column_used(&none.column[2]) && !column_used(&none.column[5]));
}

static void test_maps(void)
{
    TEST("a map is a list of pairs");
    Columns all = columns(plain, PLAIN);
    const Column *names = &all.column[3];
    CHECK(names->there[0] && !names->there[1] && names->offset[1] == 2 && names->offset[2] == 2);
    CHECK(str_is(names->members.column[0].s[1], "a") && str_is(names->members.column[1].s[1], "2"));
}

static void test_base64(void)
{
    TEST("numbers in base64");
    Columns all = columns(item, "[{\"place\":{\"start\":1},\"weights\":\"AABAQAAAgEA=\"}]");
    const Column *weights = &all.column[2];
    CHECK(weights->values == 2 && weights->f32[0] == 3.0f && weights->f32[1] == 4.0f);
}

static bool same_back(const Field *rows, const char *json)
{
    Value v = parse(json), list = value_list(&arena, v.list.n);
    Columns all = columns_of(&arena, rows, v.list.items, v.list.n);
    Buf text = { .arena = &arena };
    for (size_t i = 0; i < v.list.n; i++) list.list.items[i] = columns_entry(&arena, &all, i);
    json_write(&text, &list);
    bool ok = str_is(buf_view(&text), json);
    if (!ok) printf("  gave %.*s\n", STR_ARG(buf_view(&text)));
    return ok;
}

static bool table_is(const Field *rows, const char *json, const char *wanted)
{
    Value v = parse(json);
    Buf text = { 0 };
    table_write(&text, rows, &v);
    bool ok = str_is(buf_view(&text), wanted);
    if (!ok) printf("  gave\n%.*s", STR_ARG(buf_view(&text)));
    buf_free(&text);
    return ok;
}

static void test_table(void)
{
    TEST("table");
    CHECK(same_back(many, ITEMS) && same_back(plain, PLAIN) && same_back(plain, "[]"));
    CHECK(table_is(many, ITEMS,
                   "row,place.start,place.inside,words,weights.0,weights.1\n"
                   "0,3,true,\"[{\"\"text\"\":\"\"a\"\",\"\"score\"\":0.5}]\",1.5,2.0\n"
                   "0,4,,,0.1,\n"
                   "2,5,,[],,\n"));
    /* a list of numbers that is empty is no list of objects: the result keeps its line */
    CHECK(table_is(plain, PLAIN,
                   "row,indices,values.0,values.1,label,names,exact,truncated\n"
                   "0,\"[1,7]\",0.5,0.25,\"x, \"\"y\"\"\",\"{\"\"b\"\":\"\"1\"\",\"\"a\"\":\"\"2\"\"}\",,\n"
                   "1,[],,,,,0.1,true\n"));
    CHECK(table_is(many, "[{\"items\":[]}]", "row,place.start\n")); /* what every item has is named */
}

/* Every range of entries is what columns of these results alone are. */
static void test_slices(void)
{
    TEST("slices");
    const Columns all = columns(many, ITEMS);
    for (size_t from = 0; from <= 3; from++)
        for (size_t to = from; to <= 3; to++) {
            const Columns some = columns_slice(&arena, &all, from, to);
            CHECK(some.n == all.n && some.column[0].n == to - from && some.column[0].offset[0] == 0);
            for (size_t i = from; i < to; i++) {
                const Value one = columns_entry(&arena, &some, i - from), whole = columns_entry(&arena, &all, i);
                Buf a = { .arena = &arena }, b = { .arena = &arena };
                json_write(&a, &one), json_write(&b, &whole);
                CHECK(str_eq(buf_view(&a), buf_view(&b)));
            }
        }
}

static void test_made(void)
{
    TEST("entry by entry");
    static const Field rows[] = { { "words", 1, F_MSG, .repeated = true, .msg = word },
                                  { "weights", 2, F_F32, .repeated = true }, { "label", 3, F_STR }, { 0 } };
    const float weights[] = { 1.5f, 2, 0.25f };
    ColumnMaker *m = columns_make(&arena, rows);
    for (size_t n = 0; n < 3; n++) {
        column_put_list(&m[0], n);
        for (size_t k = 0; k < n; k++) {
            column_put_str(&m[0].member[0], STR("w"));
            column_put_f32(&m[0].member[1], (float)k);
        }
        column_put_floats(&m[1], weights, n);
        column_put_str(&m[2], n ? STR("some") : STR(""));
    }
    const Columns all = columns_made(&arena, rows, m);
    static const char *const wanted[] = {
        "{\"words\":[],\"weights\":[],\"label\":\"\"}",
        "{\"words\":[{\"text\":\"w\",\"score\":0.0}],\"weights\":[1.5],\"label\":\"some\"}",
        "{\"words\":[{\"text\":\"w\",\"score\":0.0},{\"text\":\"w\",\"score\":1.0}],\"weights\":[1.5,2.0],"
        "\"label\":\"some\"}",
    };
    for (size_t i = 0; i < 3; i++) {
        const Value one = columns_entry(&arena, &all, i);
        Buf text = { .arena = &arena };
        json_write(&text, &one);
        if (!CHECK(str_is(buf_view(&text), wanted[i]))) printf("  %.*s\n", STR_ARG(buf_view(&text)));
    }
}

int main(void)
{
    test_slices();
    test_made();
    test_arrays();
    test_maps();
    test_base64();
    test_table();
    arena_free(&arena);
    return finish();
}
