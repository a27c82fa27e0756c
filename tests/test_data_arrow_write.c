/* SPDX-License-Identifier: Apache-2.0
 * test_data_arrow_write.c - tables written: what pyarrow and Polars wrote goes through our writer and reads back the same,
 * as a stream and as a file; results as columns; a file that was cut anywhere goes on to the same bytes; CSV and npy. */
#include <math.h>

#include "base/file.h"
#include "check.h"
#include "data/arrow_build.h"
#include "data/arrow_form.h"
#include "data/arrow_kinds.h"
#include "data/csv_form.h"
#include "data/half.h"
#include "data/json.h"
#include "data/npy.h"
#include "data/npy_form.h"

#define GOLDEN "tests/golden/arrow/"
static Err err;

static bool pull(void *context, void *to, size_t room, size_t *got, Err *e)
{
    Str *left = context;
    (void)e;
    *got = MIN(room, left->n);
    memcpy(to, left->p, *got);
    left->p += *got, left->n -= *got;
    return true;
}

static bool put(void *context, Str bytes, Err *e)
{
    (void)e;
    return buf_str(context, bytes), true;
}

static bool patch(void *context, uint64_t at, Str bytes, Err *e)
{
    (void)e;
    return memcpy(((Buf *)context)->p + at, bytes.p, bytes.n), true;
}

static bool open_table(Arena *arena, Str *bytes, BatchReader **r)
{
    bool ok = str_starts(*bytes, "ARROW1") ? arrow_open_file(arena, *bytes, r, &err)
                                           : arrow_open_stream(arena, pull, bytes, r, &err);
    for (int i = 0; ok && i < (*r)->fields->n; i++) batches_want(*r, i);
    return ok;
}

/* All values as text, a line a row; w: and written. */
static void copy_table(Arena *arena, Str bytes, Buf *text, const BatchForm *form, Buf *out, bool stream)
{
    BatchReader *r;
    BatchWriter *w = NULL;
    ArrowBatch batch;
    bool more;
    const BatchOut to = { .put = put, .context = out, .patch = patch };
    if (!CHECK(open_table(arena, &bytes, &r))) return;
    if (form) CHECK((stream ? form->create_stream : form->create_file)(arena, r->fields, &to, &w, &err));
    while (CHECK(batches_next(r, arena, &batch, &more, &err)) && more) {
        for (int64_t row = 0; row < batch.rows; row++, buf_char(text, '\n'))
            for (int i = 0; i < r->fields->n; i++) {
                Value v = arrow_value(arena, &batch.column[i], row);
                buf_str(text, r->fields->field[i].name);
                json_write(text, &v);
            }
        if (w && !CHECK(batches_add(w, &batch, &err))) printf("  %s\n", err.message);
    }
    if (w) CHECK(batches_end(w, &err));
    batches_drop(w);
    batches_close(r);
}

static void test_copy(const char *name, bool stream)
{
    TEST(name);
    Arena arena = { 0 };
    Str bytes;
    Buf want = { .arena = &arena }, got = { .arena = &arena }, out = { .arena = &arena };
    CHECK(file_read(&arena, str_format(&arena, GOLDEN "%s", name), 1 << 20, &bytes, &err));
    copy_table(&arena, bytes, &want, &batch_form_arrow, &out, stream);
    CHECK(out.n > 100 && str_starts(buf_view(&out), "ARROW1") == !stream);
    copy_table(&arena, buf_view(&out), &got, NULL, NULL, false);
    CHECK(want.n > 50 && str_eq(buf_view(&want), buf_view(&got)));
    arena_free(&arena);
}

/* A file has one dictionary for a column, which may grow. */
static void test_replaced(void)
{
    TEST("a dictionary that changes");
    Arena arena = { 0 };
    Str bytes;
    Buf out = { .arena = &arena };
    BatchReader *r;
    BatchWriter *w;
    ArrowBatch batch;
    bool more, ok = true;
    const BatchOut to = { .put = put, .context = &out };
    CHECK(file_read(&arena, GOLDEN "replaced.arrows", 1 << 20, &bytes, &err));
    CHECK(open_table(&arena, &bytes, &r) && arrow_create_file(&arena, r->fields, &to, &w, &err));
    while (ok && batches_next(r, &arena, &batch, &more, &err) && more) ok = batches_add(w, &batch, &err);
    CHECK(!ok && strstr(err.message, "a dictionary that changes") && strstr(err.message, "word"));
    batches_drop(w), batches_close(r);
    arena_free(&arena);
}

/* Columns without a byte, as pandas and Polars make of nothing but nulls, in batches of millions of rows: what bounds
 * them is the number of rows. */
static void test_empty_columns(int64_t rows, bool taken)
{
    TEST("a batch of many rows without bytes");
    Arena arena = { 0 };
    Buf out = { .arena = &arena };
    ArrowField member = { .name = STR("none"), .kind = ARROW_NULL, .nullable = true };
    ArrowField field[] = { { .name = STR("none"), .kind = ARROW_NULL, .nullable = true },
                           { .name = STR("inside"), .kind = ARROW_STRUCT, .child = &member, .children = 1 } };
    const ArrowFields fields = { field, COUNT(field), NULL, 0 };
    ArrowColumn inside = { .field = &member, .length = rows, .nulls = rows };
    ArrowColumn column[] = { { .field = &field[0], .length = rows, .nulls = rows },
                             { .field = &field[1], .length = rows, .child = &inside } };
    const ArrowBatch batch = { .rows = rows, .column = column };
    const BatchOut to = { .put = put, .context = &out };
    BatchWriter *w;
    BatchReader *r;
    ArrowBatch back;
    bool more;
    CHECK(arrow_create_stream(&arena, &fields, &to, &w, &err) && batches_add(w, &batch, &err) && batches_end(w, &err));
    batches_drop(w);
    Str bytes = buf_view(&out);
    CHECK(open_table(&arena, &bytes, &r) && batches_next(r, &arena, &back, &more, &err) == taken);
    CHECK(!taken || (more && back.rows == rows && arrow_value(&arena, &back.column[1], rows - 1).kind == V_MAP));
    batches_close(r);
    arena_free(&arena);
}

/* One dictionary for columns of two types: the values of the first would be read as those of the second. */
static void test_one_dictionary(void)
{
    TEST("columns of two types with one dictionary");
    Arena arena = { 0 };
    Buf out = { .arena = &arena };
    ArrowField small = { .name = STR("small"), .kind = ARROW_INT, .param = { 8, 1 }, .nullable = true };
    const ArrowColumn values = { .field = &small, .length = 1, .data = STR("\7") };
    ArrowValues all = { .id = 5, .part = (ArrowColumn *)&values, .parts = 1, .length = 1 };
    ArrowField field[] = { small, { .name = STR("large"), .kind = ARROW_FLOAT, .param = { 2 }, .nullable = true } };
    ArrowColumn column[COUNT(field)];
    for (size_t i = 0; i < COUNT(field); i++) {
        field[i].encoded = true, field[i].dictionary = 5, field[i].index_bits = 8;
        column[i] = (ArrowColumn){ .field = &field[i], .length = 1, .data = STR("\0"), .values = &all };
    }
    const ArrowFields fields = { field, COUNT(field), NULL, 0 };
    const ArrowBatch batch = { .rows = 1, .column = column };
    const BatchOut to = { .put = put, .context = &out };
    BatchWriter *w;
    BatchReader *r;
    ArrowBatch back;
    bool more;
    CHECK(arrow_create_stream(&arena, &fields, &to, &w, &err) && batches_add(w, &batch, &err) && batches_end(w, &err));
    batches_drop(w);
    Str bytes = buf_view(&out);
    CHECK(open_table(&arena, &bytes, &r) && !batches_next(r, &arena, &back, &more, &err));
    CHECK(strstr(err.message, "column \"large\": found entries outside"));
    batches_close(r);
    arena_free(&arena);
}

/* Dictionaries that are replaced again and again take no memory but that of the batches that are there. */
static void test_many_dictionaries(void)
{
    TEST("dictionaries that are replaced again and again");
    enum { BATCHES = 40, WIDE = 100000, HELD = 3 };
    Arena arena = { 0 }, reader = { 0 }, batches[HELD] = { 0 };
    Buf out = { .arena = &arena };
    ArrowField text = { .name = STR("text"), .kind = ARROW_UTF8, .nullable = true }, field = text;
    char *bytes = ARRAY(&arena, char, WIDE);
    const int32_t ends[] = { 0, WIDE };
    const ArrowColumn value = { .field = &text, .length = 1, .offsets = { (const char *)ends, sizeof ends },
                                .data = { bytes, WIDE } };
    ArrowValues all = { .part = (ArrowColumn *)&value, .parts = 1, .length = 1 };
    field.encoded = true, field.index_bits = 8;
    ArrowColumn column = { .field = &field, .length = 1, .data = STR("\0"), .values = &all };
    const ArrowFields fields = { &field, 1, NULL, 0 };
    const BatchOut to = { .put = put, .context = &out };
    BatchWriter *w;
    CHECK(arrow_create_stream(&arena, &fields, &to, &w, &err));
    for (int i = 0; i < BATCHES; i++) {
        memset(bytes, 'a' + i % 26, WIDE);
        all.version++;
        CHECK(batches_add(w, &(ArrowBatch){ .rows = 1, .column = &column }, &err));
    }
    CHECK(batches_end(w, &err));
    batches_drop(w);
    BatchReader *r;
    ArrowBatch batch[HELD];
    bool more;
    Str stream = buf_view(&out);
    CHECK(open_table(&reader, &stream, &r));
    for (int i = 0; i < BATCHES; i++) {
        if (i >= HELD) batches_release(r);
        arena_reset(&batches[i % HELD], 0);
        if (!CHECK(batches_next(r, &batches[i % HELD], &batch[i % HELD], &more, &err) && more)) break;
        for (int k = MAX(0, i + 1 - HELD); k <= i; k++) {
            const Str now = arrow_value(&arena, &batch[k % HELD].column[0], 0).s;
            CHECK(now.n == WIDE && now.p[0] == 'a' + k % 26 && now.p[WIDE - 1] == 'a' + k % 26);
        }
    }
    CHECK(reader.total < 2 * 2 * WIDE);
    batches_close(r);
    for (int i = 0; i < HELD; i++) arena_free(&batches[i]);
    arena_free(&reader), arena_free(&arena);
}

/* One row, written and read again. */
static bool row_comes_back(Arena *arena, ArrowField *field, ArrowColumn *column)
{
    Buf out = { .arena = arena };
    const ArrowFields fields = { field, 1, NULL, 0 };
    const ArrowBatch batch = { .rows = 1, .column = column };
    const BatchOut to = { .put = put, .context = &out };
    BatchWriter *w;
    BatchReader *r;
    ArrowBatch back;
    bool more;
    CHECK(arrow_create_stream(arena, &fields, &to, &w, &err) && batches_add(w, &batch, &err) && batches_end(w, &err));
    batches_drop(w);
    Str bytes = buf_view(&out);
    const bool ok = open_table(arena, &bytes, &r) && batches_next(r, arena, &back, &more, &err) && more;
    batches_close(r);
    return ok;
}

/* A row of a million items, each of some columns that take next to no bytes. */
static void test_large_rows(void)
{
    TEST("rows of many values in few bytes");
    enum { ITEMS = 1 << 20, MOST = 20 };
    static char zeros[ITEMS];
    static const int32_t ends[] = { 0, ITEMS };
    ArrowField number = { .name = STR("n"), .kind = ARROW_INT, .param = { 8, 1 } };
    ArrowField run[] = { { .name = STR("ends"), .kind = ARROW_INT, .param = { 32, 1 } }, number };
    ArrowField plain = { .name = STR("p"), .kind = ARROW_LIST, .child = &number, .children = 1 }, words = plain;
    words.encoded = words.index_signed = true, words.index_bits = 8, words.dictionary = 1;
    ArrowColumn numbers = { .field = &number, .length = ITEMS, .data = { zeros, ITEMS } };
    ArrowColumn word = { .field = &plain, .length = 1, .child = &numbers, .offsets = { (const char *)ends, sizeof ends } };
    const ArrowValues values = { .id = 1, .version = 1, .part = &word, .parts = 1, .length = 1 };
    ArrowColumn runs[] = { { .field = &run[0], .length = 1, .data = { (const char *)&ends[1], sizeof *ends } },
                           { .field = &run[1], .length = 1, .data = { zeros, 1 } } };
    const ArrowField kinds[] = { { .name = STR("none"), .kind = ARROW_NULL, .nullable = true },
                                 { .name = STR("runs"), .kind = ARROW_RUN_END, .child = run, .children = 2 }, words };
    const ArrowColumn made[] = { { .length = ITEMS, .nulls = ITEMS }, { .length = ITEMS, .child = runs },
                                 { .length = 1, .data = { zeros, 1 }, .values = &values } };
    for (int i = 0; i < 2 * (int)COUNT(kinds); i++) {
        Arena arena = { 0 };
        ArrowField member[MOST], each = { .name = STR("each"), .kind = ARROW_STRUCT, .child = member };
        ArrowField list = { .name = STR("list"), .kind = ARROW_LIST, .child = &each, .children = 1 };
        ArrowColumn column[MOST], inside = { .field = &each, .length = made[i / 2].length, .child = column };
        const int32_t offsets[] = { 0, (int32_t)inside.length };
        ArrowColumn all = { .field = &list, .length = 1, .child = &inside, .offsets = { (const char *)offsets, sizeof offsets } };
        each.children = i % 2 ? MOST : 1;
        for (int k = 0; k < each.children; k++)
            member[k] = kinds[i / 2], column[k] = made[i / 2], column[k].field = &member[k];
        const bool taken = row_comes_back(&arena, &list, &all);
        if (!CHECK(taken ? i % 2 == 0 : i % 2 && err.code == EF_TOO_LARGE)) printf("  %d: %s\n", i, err.message);
        arena_free(&arena);
    }
}

/* A union has a byte to say which of its columns an entry is of; more of them than that would only take time. */
static void test_wide_unions(void)
{
    TEST("unions of many columns");
    enum { MOST = 129 };
    for (int n = MOST - 1; n <= MOST; n++) {
        Arena arena = { 0 };
        ArrowField member[MOST];
        ArrowColumn column[MOST];
        ArrowField which = { .name = STR("u"), .kind = ARROW_UNION, .child = member, .children = n };
        ArrowColumn all = { .field = &which, .length = 1, .child = column, .data = { "\x7f", 1 } };
        for (int k = 0; k < n; k++) {
            member[k] = (ArrowField){ .name = STR("none"), .kind = ARROW_NULL, .nullable = true };
            column[k] = (ArrowColumn){ .field = &member[k], .length = 1, .nulls = 1 };
        }
        CHECK(row_comes_back(&arena, &which, &all) == (n < MOST));
        if (n == MOST) CHECK(strstr(err.message, "129 columns inside of the type union"));
        arena_free(&arena);
    }
}

/* ---- results ---- */
static const Field part[] = {
    { "label", 1, F_STR, .required = true }, { "start", 2, F_I32, .required = true }, { "score", 3, F_F32 }, { 0 },
};
static const Field rows[] = {
    { "embedding", 1, F_F32, .repeated = true }, { "parts", 2, F_MSG, .repeated = true, .msg = part },
    { "ok", 3, F_BOOL }, { "size", 4, F_U64 }, { "share", 5, F_F64 }, { "raw", 6, F_BYTES }, { "names", 7, F_STR_MAP },
    { 0 },
};
enum { COLUMNS = COUNT(rows) - 1 };

static Value result(Arena *arena, int i)
{
    Buf text = { .arena = arena };
    Value v = value_null();
    if (i % 5 == 4) return v; /* it failed */
    buf_printf(&text, "{\"embedding\":[%d.25,0.5,-2.25],\"parts\":[", i);
    for (int k = 0; k < i % 3; k++)
        buf_printf(&text, "%s{\"label\":\"L%d\",\"start\":%d,\"score\":%s}", k ? "," : "", k, i, k ? "0.25" : "null");
    buf_printf(&text, "],\"ok\":%s,\"size\":%d,\"share\":0.125,\"raw\":\"AAEC\",\"names\":{\"a\":\"b\"}}", i % 2 ? "true" : "false", i);
    CHECK(json_parse(arena, buf_view(&text), &v, &err));
    return v;
}

/* Rows from..to of the results, in chunks of odd sizes. */
static void build(Arena *arena, ArrowBuild *b, int from, int to)
{
    for (int n; from < to; from += n) {
        n = MIN(1 + from % 7, to - from);
        Value *list = ARRAY(arena, Value, n);
        for (int i = 0; i < n; i++) list[i] = result(arena, from + i);
        const Columns columns = columns_of(arena, rows, list, (size_t)n);
        CHECK(arrow_build_add(b, &columns, &err));
    }
}

typedef struct Made {
    ArrowFields fields;
    ArrowField field[COLUMNS];
    ArrowBuild *build;
    ArrowPair fact;
} Made;

static void make(Arena *arena, ArrowVectors vectors, Made *m)
{
    m->fact = (ArrowPair){ STR("encoderfile.name"), STR("test") };
    m->fields = (ArrowFields){ m->field, COLUMNS, &m->fact, 1 };
    arrow_fields_of(arena, rows, vectors, m->field);
    m->build = arrow_build_new(arena, m->field, COLUMNS);
}

/* Batches of ten rows each. */
static bool write_rows(Arena *arena, const Made *m, BatchWriter *w, int from, int to)
{
    bool ok = true;
    for (; ok && from < to; from += 10) {
        ArrowColumn column[COLUMNS];
        build(arena, m->build, from, from + 10);
        CHECK(arrow_build_rows(m->build) == 10);
        arrow_build_columns(m->build, arena, column);
        ok = batches_add(w, &(ArrowBatch){ .rows = 10, .column = column }, &err);
        arrow_build_clear(m->build);
    }
    return ok;
}

static void test_results(ArrowVectors vectors)
{
    TEST(vectors.fixed ? "results, vectors of one length" : "results");
    Arena arena = { 0 };
    Made m;
    Buf out = { .arena = &arena };
    BatchWriter *w;
    BatchReader *r;
    ArrowBatch batch;
    bool more;
    make(&arena, vectors, &m);
    CHECK(arrow_create_stream(&arena, &m.fields, &(BatchOut){ .put = put, .context = &out }, &w, &err));
    CHECK(write_rows(&arena, &m, w, 0, 30) && batches_end(w, &err));
    Str bytes = buf_view(&out);
    CHECK(open_table(&arena, &bytes, &r) && r->fields->pairs == 1 && str_is(r->fields->pair[0].value, "test"));
    CHECK(r->fields->field[0].kind == (vectors.fixed ? ARROW_FIXED_LIST : ARROW_LIST) && !r->fields->field[0].child[0].nullable);
    CHECK(r->fields->field[1].child[0].kind == ARROW_STRUCT && r->fields->field[1].child[0].child[2].nullable);
    for (int i = 0; i < 30; i++) {
        if (i % 10 == 0) CHECK(batches_next(r, &arena, &batch, &more, &err) && more && batch.rows == 10);
        const Value was = result(&arena, i);
        for (int k = 0; k < COLUMNS; k++) {
            Value now = arrow_value(&arena, &batch.column[k], i % 10);
            if (was.kind == V_NULL) CHECK(now.kind == V_NULL);
            if (was.kind == V_NULL || strcmp(rows[k].name, "names") == 0) continue;
            Buf a = { .arena = &arena }, b = { .arena = &arena };
            json_write(&a, value_get(&was, rows[k].name)), json_write(&b, &now);
            if (!CHECK(str_eq(buf_view(&a), buf_view(&b)))) printf("  %.*s, wanted %.*s\n", STR_ARG(buf_view(&b)), STR_ARG(buf_view(&a)));
        }
    }
    batches_drop(w), batches_close(r);
    arrow_build_free(m.build);
    arena_free(&arena);
}

static void test_other_lengths(void)
{
    TEST("vectors of another length");
    Arena arena = { 0 };
    Made m;
    make(&arena, (ArrowVectors){ .fixed = 4 }, &m);
    const Value v = result(&arena, 0);
    const Columns columns = columns_of(&arena, rows, &v, 1);
    CHECK(!arrow_build_add(m.build, &columns, &err) && strstr(err.message, "found a vector of 3 numbers, wanted 4"));
    arrow_build_free(m.build);
    arena_free(&arena);
}

/* Whatever is there of a table: the rest written behind it makes the same bytes. */
static void test_resume(bool file)
{
    TEST(file ? "going on in a file" : "going on in a stream");
    Arena arena = { 0 };
    Made m;
    Buf whole = { .arena = &arena };
    BatchWriter *w;
    make(&arena, (ArrowVectors){ 0 }, &m);
    const BatchForm *f = &batch_form_arrow;
    CHECK((file ? f->create_file : f->create_stream)(&arena, &m.fields, &(BatchOut){ .put = put, .context = &whole }, &w, &err));
    CHECK(write_rows(&arena, &m, w, 0, 30) && batches_end(w, &err));
    batches_drop(w);
    for (size_t cut = 0; cut <= whole.n; cut += cut + 40 < whole.n ? 13 : 1) {
        Arena scratch = { 0 };
        Buf out = { .arena = &scratch };
        ArrowResumed found;
        const BatchOut to = { .put = put, .context = &out };
        (file ? f->create_file : f->create_stream)(&scratch, &m.fields, &to, &w, &err);
        if (CHECK(arrow_resume(w, (Str){ whole.p, cut }, buf_view(&out), &found, &err))) {
            CHECK(found.whole == (cut == whole.n) && found.n <= 3);
            if (found.bytes) out.n = 0, buf_add(&out, whole.p, found.bytes);
            if (!found.whole) {
                CHECK(write_rows(&scratch, &m, w, 10 * (int)found.n, 30) && batches_end(w, &err));
                CHECK(str_eq(buf_view(&out), buf_view(&whole)));
            }
        }
        batches_drop(w);
        arena_free(&scratch);
    }
    Buf other = { .arena = &arena };
    m.fact.value = STR("another");
    arrow_create_stream(&arena, &m.fields, &(BatchOut){ .put = put, .context = &other }, &w, &err);
    ArrowResumed found;
    CHECK(!arrow_resume(w, buf_view(&whole), buf_view(&other), &found, &err) && strstr(err.message, "another model"));
    batches_drop(w);
    arrow_build_free(m.build);
    arena_free(&arena);
}

/* ---- other forms ---- */
static void test_csv(void)
{
    TEST("csv");
    Arena arena = { 0 };
    Made m;
    Buf out = { .arena = &arena };
    BatchWriter *w;
    make(&arena, (ArrowVectors){ 0 }, &m);
    CHECK(csv_create(&arena, &m.fields, &(BatchOut){ .put = put, .context = &out }, &w, &err));
    CHECK(write_rows(&arena, &m, w, 0, 10) && batches_end(w, &err));
    const char *want = "embedding,parts,ok,size,share,raw,names\n\"[0.25,0.5,-2.25]\",[],false,0,0.125,AAEC,"
                       "\"[{\"\"key\"\":\"\"a\"\",\"\"value\"\":\"\"b\"\"}]\"\n";
    if (!CHECK(str_starts(buf_view(&out), want))) printf("  %.200s\n", out.p);
    buf_char(&out, 0);
    CHECK(strstr(out.p, "\n,,,,,,\n"));
    batches_drop(w);
    arrow_build_free(m.build);
    arena_free(&arena);
}

static void test_csv_floats(void)
{
    TEST("csv: numbers that are none");
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0.5 };
    Arena arena = { 0 };
    Buf out = { .arena = &arena };
    BatchWriter *w;
    ArrowField field = { .name = STR("x"), .kind = ARROW_FLOAT, .param = { 2 } };
    ArrowFields fields = { .field = &field, .n = 1 };
    ArrowColumn column = { .field = &field, .length = COUNT(odd), .data = { (const char *)odd, sizeof odd } };
    const ArrowBatch batch = { .rows = COUNT(odd), .column = &column };
    CHECK(csv_create(&arena, &fields, &(BatchOut){ .put = put, .context = &out }, &w, &err));
    CHECK(batches_add(w, &batch, &err) && batches_end(w, &err) && str_eq(buf_view(&out), STR("x\nnan\ninf\n-inf\n0.5\n")));
    batches_drop(w);
    arena_free(&arena);
}

static void test_npy(bool half)
{
    TEST(half ? "npy, float16" : "npy");
    Arena arena = { 0 };
    Made m;
    Npy npy;
    Buf out = { .arena = &arena };
    BatchWriter *w;
    make(&arena, (ArrowVectors){ .half = half }, &m);
    CHECK(npy_create(&arena, &m.fields, &(BatchOut){ .put = put, .context = &out, .patch = patch }, &w, &err));
    CHECK(write_rows(&arena, &m, w, 0, 10) && batches_end(w, &err));
    CHECK(npy_read(buf_view(&out), &npy, &err) && npy.rank == 2 && npy.dim[0] == 10 && npy.dim[1] == 3);
    CHECK(npy.size == (half ? 2 : 4) && npy.kind == 'f');
    for (int i = 0; i < 10; i++) {
        float first;
        uint16_t low;
        memcpy(&first, (const char *)npy.data + i * 12, 4), memcpy(&low, (const char *)npy.data + i * 6, 2);
        if (half) first = (float)half_to_double(low);
        CHECK(i % 5 == 4 ? isnan(first) : first == (float)i + 0.25f);
    }
    batches_drop(w);
    arrow_build_free(m.build);
    arena_free(&arena);
}

/* Every half is itself; between two neighbours the nearer one, and of two equally near the even one. */
static void test_half(void)
{
    TEST("float16");
    int wrong = 0;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const float x = (float)half_to_double(h), next = h < 0x7bff ? (float)half_to_double(h + 1) : 65536;
        const float middle = (x + next) / 2;
        wrong += f32_to_half(x) != h || f32_to_half(-x) != (h | 0x8000);
        wrong += f32_to_half(middle) != (h & 1 ? h + 1 : h);
        wrong += f32_to_half(nextafterf(middle, 0)) != h || f32_to_half(nextafterf(middle, 1e9f)) != h + 1;
    }
    CHECK(wrong == 0);
    CHECK(f32_to_half(1e9f) == 0x7c00 && f32_to_half(-INFINITY) == 0xfc00 && isnan(half_to_double(f32_to_half(NAN))));
    CHECK(f32_to_half(1e-10f) == 0 && f32_to_half(-1e-40f) == 0x8000);
}

int main(void)
{
    static const char *const names[] = { "stream.arrows", "file.arrow", "slice.arrows", "polars.arrows", "polars.arrow",
                                         "lz4.arrows", "zstd.arrow", "deltas.arrow" };
    for (size_t i = 0; i < COUNT(names); i++) test_copy(names[i], true), test_copy(names[i], false);
    test_copy("replaced.arrows", true);
    test_replaced();
    test_empty_columns(10000000, true);
    test_empty_columns((int64_t)1 << 40, false);
    test_one_dictionary();
    test_many_dictionaries();
    test_large_rows();
    test_wide_unions();
    test_results((ArrowVectors){ 0 });
    test_results((ArrowVectors){ .fixed = 3 });
    test_other_lengths();
    test_resume(true);
    test_resume(false);
    test_csv();
    test_csv_floats();
    test_npy(false);
    test_npy(true);
    test_half();
    return finish();
}
