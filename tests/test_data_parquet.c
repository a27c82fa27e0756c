/* SPDX-License-Identifier: Apache-2.0
 * test_data_parquet.c - Parquet files of five writers (tools/oracle/parquet.py): every value as they have it; written
 * again; cut short, with bytes changed, and with lies in their headers.
 *
 *   test_data_parquet turn IN OUT [IN OUT ...]   reads each IN and writes its columns to OUT: for the oracle */
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "data/parquet.h"
#include "data/thrift.h"
#include "data/unpack.h"

#define GOLDEN "tests/golden/parquet/"
/* ---- for the oracle ---- */
static bool turn_put(void *context, Str bytes, Err *err)
{
    return writer_add(context, bytes.p, bytes.n, err);
}

static bool turn_batches(Arena *arena, BatchReader *r, FileWriter *to, bool gzip, Err *err)
{
    BatchWriter *w;
    ArrowBatch batch;
    bool more = true, ok = parquet_create_file(arena, r->fields, &(BatchOut){ turn_put, to, .gzip = gzip }, &w, err);
    for (int i = 0; i < r->fields->n; i++) batches_want(r, i);
    r->forget = file_forget;
    while (ok && more) {
        Arena rows = { 0 };
        ok = batches_next(r, &rows, &batch, &more, err) && (!more || batches_add(w, &batch, err));
        arena_free(&rows);
    }
    ok = ok && batches_end(w, err);
    batches_drop(w);
    return ok;
}

static bool turn_file(const char *in, const char *out, bool gzip, Err *err)
{
    Arena arena = { 0 };
    Mapping map = { 0 };
    BatchReader *r = NULL;
    FileWriter to;
    bool ok = file_map(in, &map, err) && parquet_open_file(&arena, (Str){ (const char *)map.p, map.n }, &r, err) &&
              writer_open(&to, &arena, out, 0644, err);
    if (ok && !(ok = turn_batches(&arena, r, &to, gzip, err))) writer_abort(&to);
    ok = ok && writer_commit(&to, err);
    batches_close(r);
    file_unmap(&map);
    arena_free(&arena);
    return ok;
}

static int turn_main(int argc, char **argv)
{
    int status = 0;
    for (int i = 2; i + 1 < argc; i += 2) {
        Err err = { 0 };
        if (turn_file(argv[i], argv[i + 1], i / 2 % 2 == 0, &err)) continue;
        printf("%s: %s\n", argv[i], err.message);
        status = 1;
    }
    return status;
}


static Err err;

/* ---- rows as text ---- */
static bool put_buf(void *buf, Str bytes, Err *e)
{
    (void)e;
    buf_str(buf, bytes);
    return true;
}

static void row_text(Buf *to, const BatchReader *r, const ArrowBatch *b, int64_t k)
{
    Arena arena = { 0 };
    Value row = value_map(&arena, (size_t)r->fields->n);
    for (int i = 0; i < r->fields->n; i++)
        if (b->column[i].length) /* wanted */
            row.map.items[row.map.n++] = (Member){ r->fields->field[i].name, arrow_value(&arena, &b->column[i], k) };
    json_write(to, &row);
    buf_char(to, '\n');
    arena_free(&arena);
}

/* All rows, of the columns that are wanted (NULL: all). False: an error. */
static bool read_text(Str file, const char *only, Buf *text)
{
    Arena arena = { 0 };
    BatchReader *r = NULL;
    ArrowBatch batch;
    bool more = true, ok = parquet_open_file(&arena, file, &r, &err);
    for (int i = 0; ok && i < r->fields->n; i++)
        if (!only || str_is(r->fields->field[i].name, only)) batches_want(r, i);
    while (ok && (ok = batches_next(r, &arena, &batch, &more, &err)) && more)
        for (int64_t k = 0; k < batch.rows; k++) row_text(text, r, &batch, k);
    batches_close(r);
    arena_free(&arena);
    return ok;
}

/* The rows again, `step` at a time. */
static bool write_again(Str file, int64_t step, bool gzip, Buf *out)
{
    Arena arena = { 0 };
    BatchReader *r = NULL;
    BatchWriter *w;
    ArrowBatch batch;
    bool more = true, ok = parquet_open_file(&arena, file, &r, &err);
    for (int i = 0; ok && i < r->fields->n; i++) batches_want(r, i);
    ok = ok && parquet_create_file(&arena, r->fields, &(BatchOut){ put_buf, out, .gzip = gzip }, &w, &err);
    while (ok && (ok = batches_next(r, &arena, &batch, &more, &err)) && more)
        for (int64_t k = 0; ok && k < batch.rows; k += step)
            ok = parquet_add_rows(w, &batch, k, MIN(k + step, batch.rows), &err);
    ok = ok && batches_end(w, &err);
    batches_drop(w);
    batches_close(r);
    arena_free(&arena);
    return ok;
}

static Str golden_file(Arena *arena, const char *name)
{
    Str bytes = { 0 };
    CHECK(file_read(arena, str_format(arena, GOLDEN "%s", name), 1 << 20, &bytes, &err));
    return bytes;
}

/* As our own JSON writes them. */
static Str golden_rows(Arena *arena, const char *name)
{
    Str lines = golden_file(arena, name);
    Buf text = { .arena = arena };
    for (const char *p = lines.p, *end = lines.p + lines.n; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        Value row = value_null();
        CHECK(json_parse(arena, (Str){ p, (size_t)(newline - p) }, &row, &err));
        json_write(&text, &row);
        buf_char(&text, '\n');
        p = newline + 1;
    }
    return buf_view(&text);
}

static bool same_text(const Buf *found, Str wanted)
{
    if (str_eq(buf_view(found), wanted)) return true;
    size_t i = 0;
    while (i < found->n && i < wanted.n && found->p[i] == wanted.p[i]) i++;
    const size_t from = i > 60 ? i - 60 : 0;
    printf("  found  %.*s\n  wanted %.*s\n", (int)MIN(found->n - from, 150), found->p + from,
           (int)MIN(wanted.n - from, 150), wanted.p + from);
    return false;
}

static const char *const writers[] = { "pyarrow", "pyarrow-v2-zstd", "pyarrow-delta-lz4", "pyarrow-gzip", "spark",
                                       "duckdb", "duckdb-v2", "polars", "daft" };

/* first, begin: its first column, and how the rows of that alone begin. */
static void test_writer(Arena *arena, const char *name, Str rows, const char *first, const char *begin)
{
    Buf text = { 0 }, some = { 0 }, ours = { 0 }, slowly = { 0 }, again = { 0 }, packed = { 0 };
    Str file = golden_file(arena, str_format(arena, "%s.parquet", name));
    TEST(name);
    if (!CHECK(read_text(file, NULL, &text))) printf("  %s\n", err.message);
    CHECK(same_text(&text, rows));
    CHECK(read_text(file, first, &some) && str_starts(buf_view(&some), begin));
    CHECK(write_again(file, INT64_MAX / 2, false, &ours) && write_again(file, 7, false, &slowly));
    CHECK(str_eq(buf_view(&ours), buf_view(&slowly))); /* whatever batches they come in */
    CHECK(read_text(buf_view(&ours), NULL, &again) && same_text(&again, rows));
    again.n = 0;
    CHECK(write_again(file, 1000, true, &packed) && packed.n < ours.n);
    CHECK(read_text(buf_view(&packed), NULL, &again) && same_text(&again, rows));
    buf_free(&text), buf_free(&some), buf_free(&ours), buf_free(&slowly), buf_free(&again), buf_free(&packed);
}

static void test_writers(void)
{
    Arena arena = { 0 };
    const Str rows = golden_rows(&arena, "rows.json");
    for (size_t i = 0; i < COUNT(writers); i++)
        test_writer(&arena, writers[i], rows, "id", "{\"id\":0}\n{\"id\":1}\n");
    test_writer(&arena, "deep", golden_rows(&arena, "deep.json"), "boxes", "{\"boxes\":[]}\n{\"boxes\":[[]]}\n");
    arena_free(&arena);
}

static void test_instants(void)
{
    TEST("INT96");
    Arena arena = { 0 };
    Buf text = { 0 }, ours = { 0 }, again = { 0 };
    const Str file = golden_file(&arena, "int96.parquet");
    CHECK(read_text(file, NULL, &text) && write_again(file, 3, false, &ours) && read_text(buf_view(&ours), NULL, &again));
    CHECK(same_text(&text, STR("{\"text\":\"x\",\"old\":\"2024-02-29T12:30:05.250000Z\",\"more\":[\"2024-02-29T12:30:05.250000Z\",null]}\n"
                               "{\"text\":\"x\",\"old\":null,\"more\":null}\n"
                               "{\"text\":\"x\",\"old\":\"1970-01-01T00:00:00Z\",\"more\":[]}\n"
                               "{\"text\":\"x\",\"old\":\"1902-12-31T23:59:59.999999Z\",\"more\":[\"1970-01-01T00:00:00Z\",\"1902-12-31T23:59:59.999999Z\"]}\n")));
    CHECK(same_text(&again, buf_view(&text)));
    buf_free(&text), buf_free(&ours), buf_free(&again);
    arena_free(&arena);
}

/* Null arrays of DuckDB have entries for items that are not there. */
static void test_null_arrays(void)
{
    TEST("null arrays of one length");
    Arena arena = { 0 };
    Buf text = { 0 }, ours = { 0 }, again = { 0 };
    const Str file = golden_file(&arena, "duckdb-arrays.parquet");
    CHECK(read_text(file, NULL, &text) && write_again(file, 3, false, &ours) && read_text(buf_view(&ours), NULL, &again));
    CHECK(same_text(&text, STR("{\"text\":\"bus to Goa\",\"flat\":null,\"deep\":null,\"pair\":null}\n"
                               "{\"text\":\"bus to Goa\",\"flat\":[1,2],\"deep\":[[1,2],null],\"pair\":[\"Pune\",\"Goa\"]}\n"
                               "{\"text\":\"bus to Goa\",\"flat\":null,\"deep\":[null,[null,4]],\"pair\":null}\n"
                               "{\"text\":\"bus to Goa\",\"flat\":[null,5],\"deep\":null,\"pair\":[\"a\",null]}\n")));
    CHECK(same_text(&again, buf_view(&text)));
    buf_free(&text), buf_free(&ours), buf_free(&again);
    arena_free(&arena);
}

static void test_refused(void)
{
    TEST("refused");
    Arena arena = { 0 };
    Buf text = { 0 };
    CHECK(!read_text(golden_file(&arena, "refused-brotli.parquet"), NULL, &text) && says(&err, "found the compression BROTLI"));
    CHECK(!read_text(STR("PAREPAREPAREPARE"), NULL, &text) && says(&err, "encrypted"));
    CHECK(!read_text(STR(""), NULL, &text) && says(&err, "not written whole"));
    CHECK(!read_text(STR("PAR1\1\1\1\1\1\1\1\1PAR1"), NULL, &text) && says(&err, "larger than the file"));
    buf_free(&text);
    arena_free(&arena);
}

/* A beginning is always an error; a changed byte an error, or other values. */
static void test_broken(const char *name)
{
    TEST(name);
    Arena arena = { 0 };
    Buf text = { 0 };
    size_t errors = 0;
    Str bytes = golden_file(&arena, name);
    for (size_t cut = 0; cut < bytes.n; cut += 1 + cut / 64) {
        err.message[0] = 0;
        CHECK(!read_text((Str){ bytes.p, cut }, NULL, &text) && err.message[0]);
    }
    char *changed = str_dup(&arena, bytes);
    for (size_t i = 0; i < bytes.n; i++) {
        changed[i] = (char)(changed[i] ^ (i % 3 ? 0xff : 0x10));
        text.n = 0;
        errors += !read_text((Str){ changed, bytes.n }, NULL, &text);
        changed[i] = bytes.p[i];
    }
    CHECK(errors > bytes.n / 50 && errors < bytes.n);
    buf_free(&text);
    arena_free(&arena);
}

/* ---- what columns mean ---- */
static void same_fields(const ArrowField *a, const ArrowField *b, int n)
{
    for (int i = 0; i < n; i++) {
        const bool told = a[i].told != NULL;
        CHECK(a[i].kind == b[i].kind && memcmp(a[i].param, b[i].param, sizeof a[i].param) == 0 && a[i].uuid == b[i].uuid);
        CHECK(str_eq(a[i].zone, b[i].zone) && a[i].mark.converted == b[i].mark.converted);
        CHECK(str_eq(a[i].mark.logical, b[i].mark.logical) && told == (b[i].told != NULL));
        if (told) CHECK(a[i].told->kind == b[i].told->kind && a[i].told->encoded == b[i].told->encoded);
        if (CHECK(a[i].pairs == b[i].pairs) && a[i].pairs) CHECK(str_eq(a[i].pair[0].value, b[i].pair[0].value));
        if (CHECK(a[i].children == b[i].children)) same_fields(a[i].child, b[i].child, a[i].children);
    }
}

static const ArrowField *field_named(const BatchReader *r, const char *name)
{
    for (int i = 0; i < r->fields->n; i++)
        if (str_is(r->fields->field[i].name, name)) return &r->fields->field[i];
    static const ArrowField none;
    return &none;
}

/* Types that Arrow or Parquet does not have are those of the input in what is written from it. */
/* What a type of an extension says of its storage must be so in the file: others cannot read it. */
static void test_tensors(void)
{
    TEST("tensors of a fixed shape");
    Arena arena = { 0 };
    Buf ours = { 0 };
    BatchReader *was = NULL, *now = NULL;
    const Str bytes = golden_file(&arena, "tensors.parquet");
    CHECK(write_again(bytes, 3, false, &ours));
    CHECK(parquet_open_file(&arena, bytes, &was, &err) && parquet_open_file(&arena, buf_view(&ours), &now, &err));
    for (int i = 0; i < 2; i++) { /* a list, and of one that may be null no more is told */
        const ArrowField *maybe = field_named(i ? now : was, "maybe"), *there = field_named(i ? now : was, "there");
        CHECK(maybe->kind == ARROW_LIST && !maybe->pairs && there->kind == ARROW_LIST && !there->pairs);
        CHECK(there->told && there->told->kind == ARROW_FIXED_LIST && there->told->pairs == 2);
        CHECK(!field_named(i ? now : was, "inside")->child[0].pairs && (i == 0) == (maybe->told != NULL));
    }
    batches_close(was), batches_close(now);
    buf_free(&ours);
    arena_free(&arena);
}

/* pyarrow before 3.0: what says that it is not packed is. */
static void test_old_pages(void)
{
    TEST("pages of an old writer");
    Arena arena = { 0 };
    Buf text = { 0 }, wanted = { 0 };
    for (int i = 0; i < 10; i++) buf_puts(&wanted, "{\"text\":\"bus to Goa\",\"n\":7}\n{\"text\":null,\"n\":8}\n");
    CHECK(read_text(golden_file(&arena, "old-pages.parquet"), NULL, &text) && same_text(&text, buf_view(&wanted)));
    buf_free(&text), buf_free(&wanted);
    arena_free(&arena);
}

static void test_meanings(void)
{
    static const char *const names[] = { "meant.parquet", "told.parquet" };
    for (size_t i = 0; i < COUNT(names); i++) {
        TEST(names[i]);
        Arena arena = { 0 };
        Buf ours = { 0 }, text = { 0 };
        BatchReader *was = NULL, *now = NULL;
        const Str bytes = golden_file(&arena, names[i]);
        CHECK(write_again(bytes, 3, false, &ours) && read_text(buf_view(&ours), NULL, &text));
        CHECK(parquet_open_file(&arena, bytes, &was, &err) && parquet_open_file(&arena, buf_view(&ours), &now, &err));
        if (CHECK(was->fields->n == now->fields->n)) same_fields(was->fields->field, now->fields->field, was->fields->n);
        const ArrowField *id = field_named(now, "id"), *json = field_named(now, "json");
        CHECK(id->uuid && strstr(text.p, i ? "\"id\":\"00010203-0405-" : "\"id\":\"00112233-4455-6677-8899-aabbccddee10\""));
        CHECK(json->mark.converted == 19 + 1 && json->kind == ARROW_UTF8);
        if (i == 0) CHECK(field_named(now, "span")->mark.converted == 21 + 1 && field_named(now, "zoned")->mark.logical.n);
        if (i == 1) CHECK(field_named(now, "took")->kind == ARROW_DURATION && str_is(field_named(now, "at")->zone, "Europe/Berlin"));
        if (i == 1) CHECK(field_named(now, "word")->told->encoded && field_named(now, "lists")->told->kind == ARROW_LARGE_LIST);
        if (i == 1) CHECK(field_named(now, "null")->kind == ARROW_NULL && field_named(now, "bits")->pairs == 2);
        CHECK(i == 1 || !memmem(ours.p, ours.n, "ARROW:schema", 12));
        batches_close(was), batches_close(now);
        buf_free(&ours), buf_free(&text);
        arena_free(&arena);
    }
}

/* ---- lies ---- */
typedef struct Lie {         /* a file with one column `text` of one page; what is not named is true */
    const char *says;        /* what the error says; NULL: it is read */
    int depth;               /* of groups around it */
    int64_t children;        /* of the root */
    int64_t unpacked, packed, values, codec, encoding, offset, rows, type;
    bool list;               /* a repeated group around it */
    Str body;                /* of the page */
} Lie;

static void lie_element(Buf *b, const char *name, int type, int repetition, int64_t children)
{
    int last = 0;
    if (type >= 0) thrift_put_int(b, &last, 1, THRIFT_I32, type);
    thrift_put_int(b, &last, 3, THRIFT_I32, repetition);
    thrift_put_bytes(b, &last, 4, str_of(name));
    if (type < 0) thrift_put_int(b, &last, 5, THRIFT_I32, children);
    thrift_put_stop(b);
}

static void lie_page(Buf *b, const Lie *l)
{
    int last = 0, in = 0;
    thrift_put_int(b, &last, 1, THRIFT_I32, l->type);
    thrift_put_int(b, &last, 2, THRIFT_I32, l->unpacked ? l->unpacked : (int64_t)l->body.n);
    thrift_put_int(b, &last, 3, THRIFT_I32, l->packed ? l->packed : (int64_t)l->body.n);
    thrift_put_struct(b, &last, 5);
    thrift_put_int(b, &in, 1, THRIFT_I32, l->values ? l->values : 1);
    thrift_put_int(b, &in, 2, THRIFT_I32, l->encoding);
    thrift_put_int(b, &in, 3, THRIFT_I32, 3);
    thrift_put_int(b, &in, 4, THRIFT_I32, 3);
    thrift_put_stop(b), thrift_put_stop(b);
    buf_str(b, l->body);
}

static void lie_group(Buf *b, const Lie *l, size_t bytes)
{
    int last = 0, chunk = 0, meta = 0;
    thrift_put_list(b, &last, 1, THRIFT_STRUCT, 1);
    thrift_put_struct(b, &chunk, 3);
    thrift_put_int(b, &meta, 1, THRIFT_I32, 6);
    thrift_put_int(b, &meta, 4, THRIFT_I32, l->codec);
    thrift_put_int(b, &meta, 5, THRIFT_I64, l->values ? l->values : 1);
    thrift_put_int(b, &meta, 7, THRIFT_I64, (int64_t)bytes);
    thrift_put_int(b, &meta, 9, THRIFT_I64, l->offset ? l->offset : 4);
    thrift_put_stop(b), thrift_put_stop(b);
    thrift_put_int(b, &last, 3, THRIFT_I64, l->rows ? l->rows : 1);
    thrift_put_stop(b);
}

static void lie_file(Buf *b, const Lie *l)
{
    int last = 0;
    const int groups = l->depth + l->list;
    buf_puts(b, "PAR1");
    lie_page(b, l);
    const size_t pages = b->n - 4, from = b->n;
    thrift_put_list(b, &last, 2, THRIFT_STRUCT, (size_t)groups + 2);
    lie_element(b, "schema", -1, 0, l->children ? l->children : 1);
    for (int i = 0; i < groups; i++) lie_element(b, "g", -1, l->list && i == 0 ? 2 : 0, 1);
    lie_element(b, "text", 6, 0, 0);
    thrift_put_list(b, &last, 4, THRIFT_STRUCT, 1);
    lie_group(b, l, pages);
    thrift_put_stop(b);
    const uint32_t n = (uint32_t)(b->n - from);
    buf_add(b, &n, 4);
    buf_puts(b, "PAR1");
}

static void test_lies(void)
{
    TEST("lies");
    const Str body = STR("\2\0\0\0hi");
    /* levels of repetition: 0, then 2^28 times 1; of definition: 1 as often; then one text */
    const Str many = STR("\6\0\0\0\2\0\xfe\xff\xff\xff" "\1\6\0\0\0\xff\xff\xff\xff\1\1\2\0\0\0hi");
    const Lie lies[] = {
        { NULL, .body = body },
        { NULL, .body = body, .depth = 20 },
        { "nested too deep", .body = body, .depth = 40 },
        { "fewer elements than it says", .body = body, .children = 1000 },
        { "larger than its bytes can make", .body = body, .codec = 1, .unpacked = 1 << 28 },
        { "larger than its bytes can make", .body = body, .codec = 7, .unpacked = 1 << 28 },
        { "at most 512 MiB", .body = body, .codec = 6, .unpacked = INT32_MAX },
        { "cannot be unpacked (ZSTD)", .body = body, .codec = 6, .unpacked = 100 },
        { "cannot be unpacked (SNAPPY)", .body = body, .codec = 1, .unpacked = 100 },
        { "cannot be unpacked (GZIP)", .body = body, .codec = 2, .unpacked = 100 },
        { "the compression LZO", .body = body, .codec = 3 },
        { "cannot be unpacked (LZ4)", .body = body, .codec = 5 },
        { "leads out of its chunk", .body = body, .packed = 1000 },
        { "leads out of the file", .body = body, .offset = 1 << 20 },
        { "leads out of the file", .body = body, .offset = -5 },
        { "fewer values than there should be", .body = body, .values = 1000000, .rows = 1000000 },
        { "fewer rows than the row group has", .body = body, .rows = 2 },
        { "more rows than the row group has", .body = STR("\1\0\0\0a\1\0\0\0b"), .values = 2 },
        { "fewer values than there should be", .body = STR("\xff\xff\xff\xffhi") },
        { "no RLE_DICTIONARY", .body = body, .encoding = 8 },
        { "the encoding BIT_PACKED", .body = body, .encoding = 4 },
        { "encoding 77", .body = body, .encoding = 77 },
        { "no DELTA_BYTE_ARRAY", .body = body, .encoding = 7 },
        { "page of type 9", .body = body, .type = 9 },
        { "", .body = many, .list = true, .values = 1 << 28 },
    };
    for (size_t i = 0; i < COUNT(lies); i++) {
        Buf file = { 0 }, text = { 0 };
        lie_file(&file, &lies[i]);
        err.message[0] = 0;
        const bool read = read_text(buf_view(&file), NULL, &text);
        if (!CHECK(lies[i].says ? !read && says(&err, lies[i].says) : read)) printf("  lie %zu: %s\n", i, err.message);
        buf_free(&file), buf_free(&text);
    }
}

/* ---- parts ---- */
static void test_thrift(void)
{
    TEST("thrift");
    Buf b = { 0 };
    int last = 0, in = 0;
    thrift_put_int(&b, &last, 1, THRIFT_I32, -7);
    thrift_put_bool(&b, &last, 2, true);
    thrift_put_bytes(&b, &last, 40, STR("name"));
    thrift_put_list(&b, &last, 41, THRIFT_I64, 20);
    for (int i = 0; i < 20; i++) thrift_put_item_int(&b, INT64_MIN + i);
    thrift_put_struct(&b, &last, 42);
    thrift_put_int(&b, &in, 3, THRIFT_I8, -1);
    thrift_put_stop(&b), thrift_put_stop(&b);
    Thrift t = thrift_over(buf_view(&b));
    int64_t found = 0, sum = 0;
    for (ThriftField f = { 0 }, item; thrift_next(&t, &f);)
        switch (f.id) {
        case 1: CHECK(thrift_int(&t, &f) == -7); break;
        case 2: found = thrift_int(&t, &f); break;
        case 40: CHECK(str_is(thrift_bytes(&t, &f), "name")); break;
        case 41:
            for (uint32_t n = thrift_list(&t, &f, &item); n; n--) sum += thrift_int(&t, &item) - INT64_MIN;
            break;
        default: thrift_skip(&t, &f);
        }
    CHECK(found == 1 && sum == 190 && !t.broken && t.in.p == t.in.end);
    static const char *const broken[] = { "\x19\xfc\xff\xff\xff\x0f", "\x18\x7f" "abc", "\x1d", "\x15", "\x15\xff\xff" };
    for (size_t i = 0; i < COUNT(broken); i++) {
        t = thrift_over(str_of(broken[i]));
        for (ThriftField f = { 0 }; thrift_next(&t, &f);) thrift_skip(&t, &f);
        CHECK(t.broken);
    }
    b.n = 0; /* structs in structs */
    for (int i = 0; i < 1000; i++) buf_char(&b, 0x1c);
    t = thrift_over(buf_view(&b));
    for (ThriftField f = { 0 }; thrift_next(&t, &f);) thrift_skip(&t, &f);
    CHECK(t.broken);
    buf_free(&b);
}

static void test_unpack(void)
{
    TEST("unpack");
    char out[32];
    CHECK(unpack_snappy(STR("\x0b\x08" "abc\x11\x03"), out, 11) && !memcmp(out, "abcabcabcab", 11));
    CHECK(!unpack_snappy(STR("\x0b\x08" "abc\x11\x03"), out, 12));   /* another size */
    CHECK(!unpack_snappy(STR("\x0b\x08" "abc\x11\x04"), out, 11));   /* from before the beginning */
    CHECK(!unpack_snappy(STR("\x0b\x08" "abc\x11"), out, 11));       /* cut short */
    CHECK(!unpack_snappy(STR("\x05\x08" "abc\x11\x03"), out, 5));    /* more than there is room for */
    CHECK(unpack_lz4_block(STR("\x33" "abc\x03\x00\x10z"), out, 11) && !memcmp(out, "abcabcabcaz", 11));
    const Str frames = STR("\0\0\0\x0b\0\0\0\x08" "\x33" "abc\x03\x00\x10z" "\0\0\0\x04\0\0\0\x03" "\x20" "hi" "\0\0\0\x03" "\x20" "ho");
    CHECK(unpack_lz4_hadoop(frames, out, 15) && !memcmp(out, "abcabcabcazhiho", 15)); /* the second one has two blocks */
    CHECK(unpack_lz4_hadoop((Str){ frames.p + 8, 8 }, out, 11) && !memcmp(out, "abcabcabcaz", 11)); /* without a frame */
    for (size_t n = 1; n < frames.n; n++) { /* in memory of its own: nothing behind it is read */
        char *cut = malloc(n);
        CHECK(cut && !unpack_lz4_hadoop((Str){ memcpy(cut, frames.p, n), n }, out, 15));
        free(cut);
    }
    CHECK(!unpack_lz4_hadoop(frames, out, 14) && !unpack_lz4_hadoop(frames, out, 16));
    CHECK(!unpack_lz4_block(STR("\x33" "abc\x00\x00\x10z"), out, 11)); /* a distance of nothing */
    CHECK(!unpack_lz4_block(STR("\x33" "abc\x03\x00\x10z"), out, 10) && !unpack_lz4_block(STR("\xf0\xff"), out, 10));
    CHECK(!unpack_zstd(STR("no frame"), out, 8));
}

/* More than a page and rows that are wide: where pages end, and that the bytes add up. */
static void test_pages(void)
{
    TEST("pages");
    enum { ROWS = 3000, WIDE = 1000 };
    Arena arena = { 0 };
    Buf text = { .arena = &arena }, offset = { .arena = &arena }, file = { 0 }, found = { 0 };
    for (int32_t i = 0, at = 0; i <= ROWS; i++, at += WIDE) buf_add(&offset, &at, sizeof at);
    for (int i = 0; i < ROWS * WIDE; i++) buf_char(&text, (char)('a' + i / WIDE % 26));
    ArrowField field = { .name = STR("text"), .kind = ARROW_UTF8 };
    ArrowFields fields = { .field = &field, .n = 1 };
    ArrowColumn column = { .field = &field, .length = ROWS, .offsets = buf_view(&offset), .data = buf_view(&text) };
    BatchWriter *w;
    CHECK(parquet_create_file(&arena, &fields, &(BatchOut){ put_buf, &file }, &w, &err));
    CHECK(batches_add(w, &(ArrowBatch){ ROWS, &column }, &err) && batches_end(w, &err));
    batches_drop(w);
    size_t pages = 0;
    for (size_t i = 4; i + 3 < file.n; i++) pages += !memcmp(file.p + i, "\x15\x00\x15", 3);
    CHECK(pages == 2 * 3); /* each has these bytes twice: at its beginning, and where its encoding is */
    CHECK(read_text(buf_view(&file), NULL, &found) && found.n == ROWS * (WIDE + sizeof "{\"text\":\"\"}\n" - 1));
    buf_free(&file), buf_free(&found);
    arena_free(&arena);
}

/* A null in a column, a struct or a list whose type has none is no zero. Below a null struct nothing is asked. */
static void test_required(void)
{
    TEST("nulls where the type has none");
    Arena arena = { 0 };
    static const int32_t ends[] = { 0, 1, 2 };
    static const int64_t numbers[] = { 7, 8 };
    const Str first = { "\1", 1 }, data = { (const char *)numbers, sizeof numbers };
    const ArrowField number = { .name = STR("n"), .kind = ARROW_INT, .param = { 64, 1 } };
    ArrowField field[] = { number, number, number };
    field[1].kind = ARROW_STRUCT, field[2].kind = ARROW_LIST;
    for (int i = 1; i < 3; i++) field[i].children = 1, field[i].child = (ArrowField *)&number;
    const ArrowColumn there = { .field = &number, .length = 2, .data = data };
    ArrowColumn null = there;
    null.nulls = 1, null.valid = first;
    for (size_t kind = 0; kind < COUNT(field); kind++)
        for (int inside = 0; inside < 2; inside++) {
            Buf file = { 0 };
            BatchWriter *w;
            field[kind].nullable = kind == 1 && inside;
            ArrowColumn column = { .field = &field[kind], .length = 2, .offsets = { (const char *)ends, sizeof ends },
                                   .data = data, .child = inside ? &null : (ArrowColumn *)&there };
            if (!inside || kind == 1) column.nulls = 1, column.valid = first;
            const ArrowFields fields = { &field[kind], 1, NULL, 0 };
            const BatchOut to = { .put = put_buf, .context = &file };
            const ArrowBatch batch = { .rows = 2, .column = &column };
            const bool legal = inside && kind < 2; /* no null at all; one below a null struct */
            CHECK(parquet_create_file(&arena, &fields, &to, &w, &err));
            CHECK(batches_add(w, &batch, &err) == legal && (legal || says(&err, "column \"n\": found a null")));
            batches_drop(w);
            buf_free(&file);
        }
    arena_free(&arena);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "turn") == 0) return turn_main(argc, argv);
    test_thrift();
    test_unpack();
    test_writers();
    test_instants();
    test_null_arrays();
    test_old_pages();
    test_tensors();
    test_refused();
    test_meanings();
    test_broken("told.parquet");
    test_broken("duckdb-v2.parquet");
    test_broken("pyarrow-delta-lz4.parquet");
    test_broken("spark.parquet");
    test_broken("deep.parquet");
    test_broken("int96.parquet");
    test_lies();
    test_pages();
    test_required();
    return finish();
}
