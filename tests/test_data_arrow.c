/* SPDX-License-Identifier: Apache-2.0
 * test_data_arrow.c - Arrow streams and files of pyarrow and Polars (tools/oracle/arrow.py): every value as
 * they have it; cut short, and with bytes changed. */
#include "base/file.h"
#include "check.h"
#include "data/arrow_form.h"
#include "data/base64.h"
#include "data/flat.h"
#include "data/json.h"

#define GOLDEN "tests/golden/arrow/"
static Err err;

typedef struct Bytes {
    Str left;
    size_t step;          /* at most so many at a time */
} Bytes;

static bool pull(void *context, void *to, size_t room, size_t *got, Err *e)
{
    Bytes *b = context;
    (void)e;
    *got = MIN(MIN(room, b->left.n), b->step);
    memcpy(to, b->left.p, *got);
    b->left.p += *got, b->left.n -= *got;
    return true;
}

static bool same_value(const Value *a, const Value *b)
{
    if (a->kind == V_MAP && b->kind == V_MAP) {
        bool same = a->map.n == b->map.n;
        for (size_t i = 0; same && i < a->map.n; i++)
            same = str_eq(a->map.items[i].key, b->map.items[i].key) &&
                   same_value(&a->map.items[i].value, &b->map.items[i].value);
        return same;
    }
    if (a->kind == V_LIST && b->kind == V_LIST) {
        bool same = a->list.n == b->list.n;
        for (size_t i = 0; same && i < a->list.n; i++) same = same_value(&a->list.items[i], &b->list.items[i]);
        return same;
    }
    if (a->kind == V_STR && b->kind == V_STR) return str_eq(a->s, b->s);
    if (a->kind == V_INT || a->kind == V_FLOAT) return value_float(a, 0) == value_float(b, 1e300);
    return a->kind == b->kind && (a->kind != V_BOOL || a->b == b->b);
}

/* Through JSON, so that bytes are base64 there, too. */
static Value as_json(Arena *arena, const Value *v)
{
    Buf text = { .arena = arena };
    Value out = value_null();
    json_write(&text, v);
    CHECK(json_parse(arena, buf_view(&text), &out, &err));
    return out;
}

static bool open_reader(Arena *arena, Bytes *from, BatchReader **r)
{
    if (str_starts(from->left, "ARROW1")) return arrow_open_file(arena, from->left, r, &err);
    return arrow_open_stream(arena, pull, from, r, &err);
}

/* The reader's own texts go with it. */
static Value owned(Arena *arena, Value v)
{
    if (v.kind == V_STR || v.kind == V_BYTES) v.s.p = str_dup(arena, v.s);
    for (size_t i = 0; v.kind == V_LIST && i < v.list.n; i++) v.list.items[i] = owned(arena, v.list.items[i]);
    for (size_t i = 0; v.kind == V_MAP && i < v.map.n; i++) v.map.items[i].value = owned(arena, v.map.items[i].value);
    return v;
}

/* All rows; false: an error. Values are asked for whatever they are. */
static bool read_rows(Arena *arena, Bytes from, Value *rows, size_t *n, size_t most)
{
    BatchReader *r;
    ArrowBatch batch;
    bool more = true, ok = open_reader(arena, &from, &r);
    for (int i = 0; ok && i < r->fields->n; i++) batches_want(r, i);
    for (*n = 0; ok && (ok = batches_next(r, arena, &batch, &more, &err)) && more;)
        for (int64_t k = 0; k < batch.rows && *n < most; k++) {
            Value row = value_map(arena, (size_t)r->fields->n);
            for (int i = 0; i < r->fields->n; i++)
                row.map.items[row.map.n++] = (Member){ r->fields->field[i].name,
                                                       owned(arena, arrow_value(arena, &batch.column[i], k)) };
            rows[(*n)++] = row;
        }
    batches_close(r);
    return ok;
}

enum { MOST = 32 };

static void test_file(const char *name, size_t step)
{
    TEST(name);
    Arena arena = { 0 };
    Value rows[MOST];
    size_t n = 0, at = 0;
    Str bytes, lines;
    CHECK(file_read(&arena, str_format(&arena, GOLDEN "%s", name), 1 << 20, &bytes, &err));
    CHECK(file_read(&arena, str_format(&arena, GOLDEN "%s.json", name), 1 << 20, &lines, &err));
    if (!CHECK(read_rows(&arena, (Bytes){ bytes, step }, rows, &n, MOST))) printf("  %s\n", err.message);
    for (const char *p = lines.p, *end = lines.p + lines.n; p < end; at++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        Value want;
        CHECK(json_parse(&arena, (Str){ p, (size_t)(newline - p) }, &want, &err));
        p = newline + 1;
        for (size_t i = 0; at < n && i < want.map.n; i++) {
            Value found = as_json(&arena, &rows[at].map.items[i].value);
            if (!CHECK(same_value(&found, &want.map.items[i].value)))
                printf("  row %zu, %.*s\n", at, STR_ARG(want.map.items[i].key));
        }
    }
    CHECK(at == n && n > 3);
    arena_free(&arena);
}

/* A beginning is whole batches, then the end or an error; a changed byte never more than that. */
static void test_broken(const char *name)
{
    TEST(name);
    Arena arena = { 0 }, scratch = { 0 };
    Value rows[MOST];
    size_t n, whole, errors = 0;
    Str bytes;
    CHECK(file_read(&arena, str_format(&arena, GOLDEN "%s", name), 1 << 20, &bytes, &err));
    CHECK(read_rows(&scratch, (Bytes){ bytes, 1000 }, rows, &whole, MOST));
    const bool file = str_starts(bytes, "ARROW1");
    for (size_t cut = 0; cut + 8 < bytes.n; cut += 1 + cut / 64) {
        arena_reset(&scratch, 1 << 20);
        bool ok = read_rows(&scratch, (Bytes){ { bytes.p, cut }, 1000 }, rows, &n, MOST);
        CHECK(ok ? !file && n <= whole : err.message[0] != 0);
    }
    char *changed = str_dup(&arena, bytes);
    for (size_t i = 0; i < bytes.n; i++) {
        arena_reset(&scratch, 1 << 20);
        changed[i] = (char)(changed[i] ^ (i % 3 ? 0xff : 0x10));
        errors += !read_rows(&scratch, (Bytes){ { changed, bytes.n }, 1000 }, rows, &n, MOST);
        changed[i] = bytes.p[i];
    }
    CHECK(errors > bytes.n / 50 && errors < bytes.n);
    arena_free(&scratch);
    arena_free(&arena);
}

static void test_refused(void)
{
    TEST("refused");
    Arena arena = { 0 };
    BatchReader *r;
    Bytes none = { STR(""), 1 }, text = { STR("{\"text\": \"no Arrow\"}"), 100 };
    CHECK(!arrow_open_stream(&arena, pull, &none, &r, &err) && strstr(err.message, "no schema"));
    CHECK(!arrow_open_stream(&arena, pull, &text, &r, &err) && strstr(err.message, "no message of Arrow"));
    CHECK(!arrow_open_file(&arena, STR("ARROW1\0\0"), &r, &err) && strstr(err.message, "not written whole"));
    arena_free(&arena);
}

/* Dictionaries that hold themselves, that shrink below those who use them, and indexes below zero. */
static void test_dictionaries(void)
{
    TEST("dictionaries");
    static const char *const names[] = { "cycle", "shrink", "int8" };
    for (size_t i = 0; i < COUNT(names); i++) {
        Arena arena = { 0 };
        Value rows[MOST];
        size_t n;
        Str bytes = { 0 };
        const char *path = str_format(&arena, "tests/fuzz/corpus/arrow/%s.arrows", names[i]);
        CHECK(file_read(&arena, path, 1 << 20, &bytes, &err));
        CHECK(!read_rows(&arena, (Bytes){ bytes, 1000 }, rows, &n, MOST));
        CHECK(strstr(err.message, i < 2 ? "inside of a dictionary" : "outside of its buffers"));
        arena_free(&arena);
    }
}

/* Unions, runs and views of lists; and none of them leads out of its buffers, whatever byte is another one. */
static void test_unusual(void)
{
    TEST("unusual types");
    static const char *const rows[] = { "[\"a\",1,\"b\",2,\"c\"]", "[\"a\",1,\"c\",3,\"e\"]", "[\"x\",\"x\",\"y\",\"y\",\"y\"]",
                                        "[[1],null,[2,3],[],[4]]" };
    for (int wanted = 0; wanted < (int)COUNT(rows); wanted++) {
        Arena arena = { 0 };
        BatchReader *r;
        ArrowBatch batch;
        bool more;
        const char *kind;
        Buf text = { .arena = &arena };
        Bytes from = { .step = 1000 };
        CHECK(file_read(&arena, GOLDEN "unusual.arrows", 1 << 20, &from.left, &err));
        CHECK(arrow_open_stream(&arena, pull, &from, &r, &err) && r->fields->n == 5);
        CHECK(arrow_can_read(&r->fields->field[wanted], &kind));
        batches_want(r, wanted);
        CHECK(batches_next(r, &arena, &batch, &more, &err) && more && batch.rows == 5);
        Value all = value_list(&arena, 5);
        for (int i = 0; i < 5; i++) all.list.items[i] = arrow_value(&arena, &batch.column[wanted], i);
        json_write(&text, &all);
        CHECK(str_is(buf_view(&text), rows[wanted]));
        batches_close(r);
        arena_free(&arena);
    }
}

static void test_unusual_damage(void)
{
    TEST("unusual types, damaged");
    Arena arena = { 0 };
    Str bytes;
    size_t errors = 0;
    CHECK(file_read(&arena, GOLDEN "unusual.arrows", 1 << 20, &bytes, &err));
    char *changed = str_dup(&arena, bytes);
    for (size_t at = 0; at < bytes.n; at++)
        for (int bit = 0; bit < 8; bit += 7) {
            Arena scratch = { 0 };
            Value rows[MOST];
            size_t n;
            changed[at] = (char)(bytes.p[at] ^ 1 << bit);
            errors += !read_rows(&scratch, (Bytes){ { changed, bytes.n }, 1000 }, rows, &n, MOST);
            changed[at] = bytes.p[at];
            arena_free(&scratch);
        }
    CHECK(errors > 100);
    arena_free(&arena);
}

/* Rows of millions of values, whose lists have the same items again and again. */
static void test_shared(void)
{
    TEST("shared items");
    static const char *const columns[] = { "runs", "views", "words", "text" };
    for (int wanted = 0; wanted < (int)COUNT(columns); wanted++) {
        Arena arena = { 0 };
        BatchReader *r;
        ArrowBatch batch;
        bool more;
        Bytes from = { .step = 1000 };
        CHECK(file_read(&arena, GOLDEN "shared.arrows", 1 << 20, &from.left, &err));
        CHECK(arrow_open_stream(&arena, pull, &from, &r, &err) && str_is(r->fields->field[wanted].name, columns[wanted]));
        batches_want(r, wanted);
        CHECK(batches_next(r, &arena, &batch, &more, &err) == (wanted == 3));
        if (wanted < 3) CHECK(err.code == EF_TOO_LARGE && strstr(err.message, columns[wanted]));
        batches_close(r);
        arena_free(&arena);
    }
}

/* The lengths that packed buffers name are believed up to 2 GiB a batch, and only if so many bytes come. */
static void test_bombs(void)
{
    TEST("bombs");
    static const char *const names[] = { "lz4.arrows", "zstd.arrow" };
    for (size_t i = 0; i < COUNT(names); i++) {
        Arena arena = { 0 };
        Value rows[MOST];
        size_t n, huge = 0, damaged = 0;
        Str bytes;
        CHECK(file_read(&arena, str_format(&arena, GOLDEN "%s", names[i]), 1 << 20, &bytes, &err));
        char *changed = str_dup(&arena, bytes);
        const char *magic = i ? "\x28\xb5\x2f\xfd" : "\x04\x22\x4d\x18";
        for (size_t at = 8; at + 4 < bytes.n; at++) { /* the length stands before the frame */
            Arena scratch = { 0 };
            if (memcmp(bytes.p + at, magic, 4) != 0) continue;
            changed[at - 3] = 64; /* 2^46 and more */
            CHECK(!read_rows(&scratch, (Bytes){ { changed, bytes.n }, 1000 }, rows, &n, MOST));
            huge += strstr(err.message, "more than 2 GiB") != NULL;
            changed[at - 3] = 0, changed[at - 6]++; /* 65536 more than there are */
            CHECK(!read_rows(&scratch, (Bytes){ { changed, bytes.n }, 1000 }, rows, &n, MOST));
            damaged += strstr(err.message, "damaged") != NULL;
            changed[at - 6]--;
            arena_free(&scratch);
        }
        CHECK(huge > 5 && huge == damaged);
        arena_free(&arena);
    }
}

/* A schema of a few kilobytes whose columns all have the same metadata, which is copied for each. */
static void test_shared_metadata(void)
{
    TEST("shared metadata");
    enum { FIELDS = 4096, PAIRS = 1 << 13, SCHEMA = 1, NULL_TYPE = 1 };
    Arena arena = { 0 };
    Buf b = { .arena = &arena };
    BatchReader *r;
    FlatSlot root[] = { { 1, 1, SCHEMA }, { 2, FLAT_OFFSET } }, schema[] = { { 1, FLAT_OFFSET } };
    FlatSlot field[] = { { 2, 1, NULL_TYPE }, { 6, FLAT_OFFSET } };
    buf_add(&b, "\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12);
    flat_point(&b, 8, flat_put_table(&b, root, COUNT(root)));
    flat_point(&b, root[1].at, flat_put_table(&b, schema, COUNT(schema)));
    const size_t fields = flat_put_offsets(&b, FIELDS), shared = flat_put_table(&b, field, COUNT(field));
    flat_point(&b, schema[0].at, fields);
    for (size_t i = 1; i <= FIELDS; i++) flat_point(&b, fields + 4 * i, shared);
    const size_t pairs = flat_put_offsets(&b, PAIRS), pair = flat_put_table(&b, NULL, 0);
    flat_point(&b, field[1].at, pairs);
    for (size_t i = 1; i <= PAIRS; i++) flat_point(&b, pairs + 4 * i, pair);
    flat_align(&b, 8);
    const uint32_t n = (uint32_t)b.n - 8;
    memcpy(b.p + 4, &n, sizeof n);
    Bytes from = { buf_view(&b), 1000 };
    CHECK(!arrow_open_stream(&arena, pull, &from, &r, &err) && strstr(err.message, "too much metadata"));
    batches_close(r);
    arena_free(&arena);
}

/* ---- streams one behind the other ---- */
static Str golden(Arena *arena, const char *name)
{
    Str bytes = { 0 };
    CHECK(file_read(arena, str_format(arena, GOLDEN "%s", name), 1 << 20, &bytes, &err));
    return bytes;
}

static Str both(Arena *arena, Str a, Str b)
{
    Buf all = { .arena = arena };
    buf_str(&all, a);
    buf_str(&all, b);
    return buf_view(&all);
}

/* Where the message that begins at `at` ends. */
static size_t message_end(Str bytes, size_t at, int *kind)
{
    bool broken = false;
    uint32_t n;
    memcpy(&n, bytes.p + at + 4, 4);
    FlatTable root = flat_root((Str){ bytes.p + at + 8, n }, &broken);
    *kind = n ? (int)flat_int(&root, 1, 1, 0) : 0;
    return at + 8 + n + (size_t)(n ? flat_int(&root, 3, 8, 0) : 0);
}

static void test_twice(const char *name, size_t step)
{
    TEST(name);
    Arena arena = { 0 };
    static const Str marks[] = { { "", 0 }, { "\xff\xff\xff\xff\0\0\0\0", 8 }, { "\0\0\0\0", 4 } };
    const Str bytes = golden(&arena, name);
    for (size_t i = 0; i < COUNT(marks); i++) { /* further marks of an end are nothing */
        Value rows[2 * MOST];
        size_t n = 0, once = 0;
        CHECK(read_rows(&arena, (Bytes){ bytes, step }, rows, &once, MOST) && once > 3);
        const Str twice = both(&arena, both(&arena, bytes, marks[i]), both(&arena, bytes, marks[i]));
        if (!CHECK(read_rows(&arena, (Bytes){ twice, step }, rows, &n, 2 * MOST))) printf("  %s\n", err.message);
        CHECK(n == 2 * once);
        for (size_t k = 0; k < once && n == 2 * once; k++) {
            const Value a = as_json(&arena, &rows[k]), b = as_json(&arena, &rows[once + k]);
            CHECK(same_value(&a, &b));
        }
    }
    arena_free(&arena);
}

static void test_behind(Str bytes, Str more, const char *says)
{
    TEST(says);
    Arena arena = { 0 };
    Value rows[2 * MOST];
    size_t n;
    CHECK(!read_rows(&arena, (Bytes){ both(&arena, bytes, more), 1000 }, rows, &n, 2 * MOST));
    CHECK(strstr(err.message, says) || printf("  %s\n", err.message) < 0);
    arena_free(&arena);
}

/* What is behind the end is read, or refused by its place: never left out. */
static void test_streams(void)
{
    Arena arena = { 0 };
    int kind;
    const Str bytes = golden(&arena, "replaced.arrows"), other = golden(&arena, "polars.arrows");
    const char *at = str_format(&arena, "byte %zu: found bytes behind the end", bytes.n);
    test_behind(bytes, STR("x"), at);
    test_behind(bytes, STR("\n"), at);
    test_behind(bytes, STR("PAR1 and more"), at);
    test_behind(bytes, STR("\xff\xff\xff\xff"), "cut short");
    test_behind(bytes, STR("\xff\xff\xff\xff\x10\0\0\0garbage, 16 bytes"), "no Arrow message");
    test_behind(bytes, (Str){ bytes.p, bytes.n - 20 }, "cut short");
    test_behind(bytes, other, "another stream: found");
    test_behind(other, bytes, str_format(&arena, "byte %zu: another stream", other.n));
    const size_t schema = message_end(bytes, 0, &kind);
    CHECK(kind == 1);
    test_behind(bytes, (Str){ bytes.p + schema, bytes.n - schema }, at); /* no schema before it */
    const size_t first = message_end(bytes, schema, &kind);
    CHECK(kind == 2);
    const Str without = both(&arena, (Str){ bytes.p, schema }, (Str){ bytes.p + first, bytes.n - first });
    test_behind(bytes, without, "outside of its buffers"); /* dictionaries of the first are not those of the second */
    char *renamed = str_dup(&arena, bytes);
    char *name = memmem(renamed, bytes.n, "\x04\0\0\0word", 8);
    if (!CHECK(name)) return;
    name[7] = 'k';
    test_behind(bytes, (Str){ renamed, bytes.n }, "found column 1 as \"work\" (utf8), wanted \"word\" (utf8)");
    arena_free(&arena);
}

/* A message at a time: what comes behind one is not waited for. */
static void test_steps(void)
{
    TEST("steps");
    Arena arena = { 0 };
    BatchReader *r;
    ArrowBatch batch;
    const Str all = golden(&arena, "replaced.arrows"), twice = both(&arena, all, all);
    bool more = true;
    size_t at = 0, ends = 0, batches = 0;
    int kind;
    Bytes from = { { twice.p, at = message_end(twice, 0, &kind) }, 1000 };
    CHECK(arrow_open_stream(&arena, pull, &from, &r, &err));
    while (at < twice.n) {
        const size_t begin = at;
        from.left = (Str){ twice.p + begin, (at = message_end(twice, begin, &kind)) - begin };
        if (!CHECK(batches_step(r, &arena, &batch, &more, &err) && more && from.left.n == 0)) break;
        CHECK(r->unready == (kind != 3));
        ends += kind == 0, batches += kind == 3;
    }
    CHECK(ends == 2 && batches > 2 && batches_step(r, &arena, &batch, &more, &err) && !more);
    batches_close(r);
    arena_free(&arena);
}

/* ---- values that are text ---- */
static void test_text(void)
{
    TEST("text");
    static const struct TextCase {
        ArrowField field;
        const char *bytes;
        const char *text;
    } cases[] = {
        { { .kind = ARROW_DECIMAL, .param = { 9, 2, 32 } }, "\x84\xff\xff\xff", "-1.24" },
        { { .kind = ARROW_DECIMAL, .param = { 9, 2, 32 } }, "\x05\0\0\0", "0.05" },
        { { .kind = ARROW_DECIMAL, .param = { 9, 0, 32 } }, "\0\0\0\0", "0" },
        { { .kind = ARROW_DECIMAL, .param = { 9, -3, 32 } }, "\x05\0\0\0", "5e3" },
        { { .kind = ARROW_DECIMAL, .param = { 18, 1, 64 } }, "\0\0\0\0\0\0\0\x80", "-922337203685477580.8" },
        { { .kind = ARROW_DECIMAL, .param = { 38, 40, 128 } }, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "0.0000000000000000000000000000000000000001" },
        { { .kind = ARROW_DECIMAL, .param = { 9, 2000000000, 32 } }, "\x07\0\0\0", "7e-2000000000" },
        { { .kind = ARROW_DATE }, "\0\0\0\0", "1970-01-01" },
        { { .kind = ARROW_DATE }, "\xff\xff\xff\xff", "1969-12-31" },
        { { .kind = ARROW_DATE }, "\x46\x4d\0\0", "2024-02-29" },
        { { .kind = ARROW_DATE }, "\0\0\0\x80", "-5877641-06-23" },
        { { .kind = ARROW_DATE }, "\xff\xff\xff\x7f", "+5881580-07-11" },
        { { .kind = ARROW_DATE, .param = { 1 } }, "\xff\xff\xff\xff\xff\xff\xff\xff", "1969-12-31" },
        { { .kind = ARROW_TIME, .param = { 1, 32 } }, "\x05\0\0\0", "00:00:00.005" },
        { { .kind = ARROW_TIME, .param = { 0, 32 } }, "\x80\x51\1\0", NULL }, /* 24 hours */
        { { .kind = ARROW_TIMESTAMP, .param = { 2 } }, "\xff\xff\xff\xff\xff\xff\xff\xff", "1969-12-31T23:59:59.999999" },
        { { .kind = ARROW_TIMESTAMP, .param = { 2 } }, "\0\0\0\0\0\0\0\x80", "-290308-12-21T19:59:05.224192" },
        { { .kind = ARROW_TIMESTAMP, .zone = { "Asia/Tokyo", 10 } }, "\0\0\0\0\0\0\0\0", "1970-01-01T00:00:00Z" },
        { { .kind = ARROW_TIMESTAMP, .param = { 9 } }, "\0\0\0\0\0\0\0\0", NULL }, /* an unknown unit */
        { { .kind = ARROW_FIXED_BINARY, .param = { 16 }, .uuid = true }, "0123456789abcdef", "30313233-3435-3637-3839-616263646566" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const ArrowColumn column = { .field = &cases[i].field, .length = 1, .data = { cases[i].bytes, 16 } };
        const Value v = arrow_value(&arena, &column, 0);
        const bool same = cases[i].text ? v.kind == V_STR && str_is(v.s, cases[i].text) : v.kind == V_INT;
        if (!CHECK(same)) printf("  case %zu: %.*s\n", i, v.kind == V_STR ? (int)v.s.n : 0, v.s.p);
    }
    const ArrowField wide = { .kind = ARROW_INT, .param = { 64 } };
    const Value v = arrow_value(&arena, &(ArrowColumn){ .field = &wide, .length = 1, .data = { "\xff\xff\xff\xff\xff\xff\xff\xff", 8 } }, 0);
    Buf text = { .arena = &arena };
    json_write(&text, &v);
    CHECK(str_is(buf_view(&text), "18446744073709551615"));
    arena_free(&arena);
}

/* What is written is read, and slots are where their sizes want them. */
static void test_flat(void)
{
    TEST("flat");
    Buf b = { 0 };
    bool broken;
    static const int64_t pairs[] = { 1, -2, 3, 1LL << 40 };
    buf_add(&b, "\0\0\0", 4);
    FlatSlot slot[] = { { 0, 2, -7 }, { 1, 1, 200 }, { 3, 8, -(1LL << 50) },
                        { 4, FLAT_OFFSET }, { 5, FLAT_OFFSET }, { 6, FLAT_OFFSET } };
    size_t root = flat_put_table(&b, slot, COUNT(slot));
    flat_point(&b, 0, root);
    flat_point(&b, slot[3].at, flat_put_str(&b, STR("name")));
    flat_point(&b, slot[4].at, flat_put_i64(&b, pairs, 2, 2));
    size_t vector = flat_put_offsets(&b, 1);
    flat_point(&b, slot[5].at, vector);
    flat_point(&b, vector + 4, flat_put_table(&b, (FlatSlot[]){ { 2, 4, 9 } }, 1));
    FlatTable t = flat_root(buf_view(&b), &broken);
    CHECK(flat_int(&t, 0, 2, 0) == -7 && (uint8_t)flat_int(&t, 1, 1, 0) == 200);
    CHECK(flat_int(&t, 3, 8, 0) == -(1LL << 50));
    CHECK(flat_int(&t, 2, 4, 5) == 5 && flat_int(&t, 99, 4, 6) == 6 && str_is(flat_str(&t, 4), "name"));
    CHECK(slot[2].at % 8 == 0 && slot[3].at % 4 == 0);
    FlatVector v = flat_vector(&t, 5, 16), tables = flat_vector(&t, 6, 4);
    CHECK(v.n == 2 && v.at % 8 == 0 && flat_vector_i64(&v, 1) == -2 && flat_vector_i64(&v, 3) == 1LL << 40);
    FlatTable child = flat_vector_table(&tables, 0);
    CHECK(tables.n == 1 && flat_int(&child, 2, 4, 0) == 9 && !broken);
    buf_free(&b);
}

int main(void)
{
    test_text();
    test_flat();
    test_file("stream.arrows", SIZE_MAX);
    test_file("stream.arrows", 1);
    test_file("slice.arrows", 100);
    test_file("file.arrow", 0);
    test_file("polars.arrows", 100);
    test_file("polars.arrow", 0);
    test_file("lz4.arrows", 1000);
    test_file("zstd.arrow", 0);
    test_file("deltas.arrow", 0);
    test_file("replaced.arrows", 7);
    test_unusual();
    test_unusual_damage();
    test_shared();
    test_bombs();
    test_shared_metadata();
    test_broken("lz4.arrows");
    test_broken("zstd.arrow");
    test_broken("slice.arrows");
    test_broken("file.arrow");
    test_broken("polars.arrow");
    test_refused();
    test_dictionaries();
    test_twice("stream.arrows", 1);
    test_twice("stream.arrows", 1000);
    test_twice("polars.arrows", 100);
    test_twice("lz4.arrows", 1000);
    test_twice("replaced.arrows", 7);
    test_streams();
    test_steps();
    return finish();
}
