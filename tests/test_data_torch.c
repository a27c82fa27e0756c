/* SPDX-License-Identifier: Apache-2.0
 * test_data_torch.c - files of torch.save: those that torch wrote hold what the safetensors beside
 * them hold (tools/oracle/torch_files.py); those that lie, or ask for more than a dict of tensors,
 * are refused with a word about what is wrong. */
#include <unistd.h>

#include "check.h"
#include "data/checkpoint.h"
#include "data/pickle.h"
#include "data/torch.h"
#include "data/zip.h"
#include "folder.h"
#include "zip_make.h"

#define GOLDEN "tests/golden/torch"

static Str load(Arena *arena, const char *name)
{
    Str bytes = { 0 };
    Err err = { 0 };
    if (!CHECK(file_read(arena, path_join(arena, GOLDEN, str_of(name)), 1 << 24, &bytes, &err)))
        printf("  %s\n", err.message);
    return bytes;
}

static bool same_tensor(const SafeTensor *a, const SafeTensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank && a->bytes == b->bytes;
    for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
    return same && memcmp(a->data, b->data, a->bytes) == 0;
}

static void same_tensors(const Safetensors *found, const Safetensors *wanted, const char *name)
{
    if (!CHECK(found->n == wanted->n)) printf("  %s: %d, not %d\n", name, found->n, wanted->n);
    for (int i = 0; i < wanted->n; i++) {
        const SafeTensor *t = safetensors_find(found, wanted->item[i].name);
        if (!CHECK(t && same_tensor(t, &wanted->item[i])))
            printf("  %s: %.*s\n", name, STR_ARG(wanted->item[i].name));
    }
}

static void golden(void)
{
    static const char *const names[] = {
        "types",     "views",     "many",      "parameters", "module",     "nested",
        "nested_twice", "protocol3", "protocol4", "protocol5", "old", "old_module",
        "old_protocol4", "without_crc",
    };
    TEST("golden");
    for (size_t i = 0; i < COUNT(names); i++) {
        Arena arena = { 0 };
        Err err = { 0 };
        Safetensors found, wanted;
        Str file = load(&arena, str_format(&arena, "%s.bin", names[i]));
        Str safe = load(&arena, str_format(&arena, "%s.safetensors", names[i]));
        CHECK(safetensors_read(&arena, safe, &wanted, &err));
        if (!CHECK(torch_read(&arena, file, &found, &err)))
            printf("  %s: %s\n", names[i], err.message);
        else same_tensors(&found, &wanted, names[i]);
        arena_free(&arena);
    }
}

/* A tensor that lies in order is a view; others are copies. */
static void views(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Safetensors s;
    TEST("views");
    Str file = load(&arena, "views.bin");
    if (!CHECK(torch_read(&arena, file, &s, &err))) return;
    static const struct {
        const char *name;
        bool inside;
    } rows[] = { { "whole", true }, { "rows", true }, { "last", true }, { "ones", true },
                 { "transposed", false }, { "columns", false }, { "expanded", false } };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const SafeTensor *t = safetensors_find(&s, str_of(rows[i].name));
        const char *p = t ? (const char *)t->data : NULL;
        CHECK(t && (p >= file.p && p < file.p + file.n) == rows[i].inside);
    }
    arena_free(&arena);
}

/* ---- pickles made here, in a zip with one storage of six floats ---- */
#define SHORT(n, text) "U" n text
#define ORDERED "ccollections\nOrderedDict\n)R"
#define FLOATS "ctorch\nFloatStorage\n"
#define ID_OF(class, key, count) \
    "(" SHORT("\x07", "storage") class SHORT("\x01", key) SHORT("\x03", "cpu") count "tQ"
#define ID(count) ID_OF(FLOATS, "0", count)
#define V2 "ctorch._utils\n_rebuild_tensor_v2\n"
#define TENSOR(id, offset, sizes, strides) V2 "(" id offset sizes strides "\x89" ORDERED "tR"
#define DICT(value) "\x80\x02}" SHORT("\x01", "w") value "s."
#define ZERO "K\x00"
#define ONE "K\x01"
#define TWO "K\x02"
#define THREE "K\x03"
#define SIX "K\x06"
#define MOST "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"
#define WHOLE TENSOR(ID(SIX), ZERO, TWO THREE "\x86", THREE ONE "\x86")

static Str zip_of(ZipMaker *z, Str pickle, const char *order)
{
    static const float storage[] = { 1, 2, 3, 4, 5, 6 };
    zip_add(z, "x/data.pkl", pickle);
    zip_add(z, "x/byteorder", str_of(order));
    zip_add(z, "x/data/0", (Str){ (const char *)storage, sizeof storage });
    return zip_end(z);
}

static const struct {
    Str pickle;
    const char *says; /* NULL: one tensor is read */
} pickles[] = {
    { STR(DICT(WHOLE)), NULL },
    { STR(DICT(TENSOR(ID(SIX), THREE, ONE "\x85", MOST "\x85"))), NULL },
    { STR(DICT(TENSOR(ID(SIX), ZERO, THREE TWO "\x86", ONE THREE "\x86"))), NULL },
    { STR("\x80\x02}q\0(U\x01" "w" WHOLE "U\x03" "own" "h\0u."), NULL },
    { STR("\x80\x02}(]q\0h\0aK\1U\x01" "w" WHOLE "u."), NULL },
    /* code */
    { STR("\x80\x02" "cos\nsystem\nU\x02" "id\x85R."), "global `os system` is not one of a plain" },
    { STR("\x80\x02" "cbuiltins\neval\n."), "global `builtins eval`" },
    { STR("\x80\x04\x8c\x02" "os\x8c\x06" "system\x93."), "global `os system`" },
    { STR("\x80\x02" "ccollections\nOrderedDict\n}\x81."), "opcode 0x81" },
    { STR("\x80\x02" "(ios\nsystem\n."), "opcode 0x69" },
    { STR("\x80\x02" "ctorch.nn.modules.linear\nLinear\n."), "`torch.nn.modules.linear Linear`" },
    { STR(DICT("ccollections\nOrderedDict\n]\x85R")), "without tensors" },
    { STR(DICT("K\x01)R")), "no global" },
    { STR("\x80\x02}2."), "opcode 0x32" },
    { STR("\xff"), "opcode 0xff" },
    { STR("\x80\x01}."), "protocol 1" },
    { STR("\x80\x07}."), "protocol 7" },
    /* the machine */
    { STR(""), "cut short" },
    { STR("\x80\x02"), "cut short" },
    { STR("\x80\x02."), "no value" },
    { STR("\x80\x02(."), "no value" },
    { STR("\x80\x02}}."), "more than the result" },
    { STR("\x80\x02t."), "no mark" },
    { STR("\x80\x02}K\x01s."), "no value" },
    { STR("\x80\x02}K\x01" "a."), "no list" },
    { STR("\x80\x02}(K\x01u."), "no list" },
    { STR("\x80\x02}q\x01."), "out of order" },
    { STR("\x80\x02}r\xff\xff\xff\xff."), "out of order" },
    { STR("\x80\x02h\0."), "not given" },
    { STR("\x80\x02j\xff\xff\xff\xff."), "not given" },
    { STR("\x80\x02X\xff\xff\xff\xff" "a."), "cut short" },
    { STR("\x80\x02U\x01\xc3."), "UTF-8" },
    { STR("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff."), "cut short" },
    { STR("\x80\x02" "cos"), "cut short" },
    { STR("\x80\x02K\x01Q."), "no tuple" },
    /* what is no dict of tensors */
    { STR("\x80\x02K\x01."), "found an int, wanted a dict" },
    { STR("\x80\x02" WHOLE "."), "found a tensor, wanted a dict" },
    { STR("\x80\x02}q\0U\x0a" "state_dict" "h\0s."), "without tensors" },
    { STR("\x80\x02}K\x01" WHOLE "s."), "without tensors" },
    { STR(DICT("ctorch._utils\n_rebuild_parameter\n)R")), "w: found a parameter" },
    { STR(DICT("ctorch._utils\n_rebuild_parameter\nh\0\x85R")), "not given" },
    /* storages and places */
    { STR(DICT(TENSOR(")Q", ZERO, ")", ")"))), "no storage" },
    { STR(DICT(TENSOR(ID_OF("N", "0", SIX), ZERO, ")", ")"))), "no storage" },
    { STR(DICT(TENSOR(ID_OF("ctorch\nuint16\n", "0", SIX), ZERO, ")", ")"))), "no storage" },
    { STR(DICT(TENSOR(ID("J\xff\xff\xff\xff"), ZERO, ")", ")"))), "no storage" },
    { STR(DICT(TENSOR(ID_OF(FLOATS, "1", SIX), ZERO, ")", ")"))), "x/data/1: not there" },
    { STR(DICT(TENSOR(ID("K\x07"), ZERO, ")", ")"))), "found 24 bytes, wanted 7" },
    { STR(DICT(TENSOR(ID(MOST), ZERO, ")", ")"))), "found 24 bytes" },
    { STR(DICT(TENSOR(ID_OF("ctorch\nDoubleStorage\n", "0", SIX), ZERO, ")", ")"))), "6 elements" },
    { STR(DICT(TENSOR("N", ZERO, ")", ")"))), "wanted a storage" },
    { STR(DICT(TENSOR(ID(SIX), "J\xff\xff\xff\xff", ")", ")"))), "offset from 0" },
    { STR(DICT(TENSOR(ID(SIX), SIX, ")", ")"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), MOST, ")", ")"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), ONE, TWO THREE "\x86", THREE ONE "\x86"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, TWO "\x85", MOST "\x85"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), MOST, TWO "\x85", MOST "\x85"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, MOST "\x85", MOST "\x85"))), "beyond its storage" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, MOST "\x85", ZERO "\x85"))), "w: found more elements" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, MOST MOST "\x86", ZERO ZERO "\x86"))), "more elements" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, "M\xff\xff\x85", ZERO "\x85"))), "must be copied" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, TWO THREE "\x86", ONE "\x85"))), "2 sizes and 1 strides" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, "J\xff\xff\xff\xff\x85", ONE "\x85"))), "from 0" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, "N", ")"))), "sizes and strides" },
    { STR(DICT(TENSOR(ID(SIX), ZERO, "(NNNNNNNNNt", ")"))), "at most 8" },
    { STR(DICT(V2 "(" ID(SIX) "tR")), "wanted a storage" },
    { STR(DICT(TENSOR(ID_OF("ctorch.storage\nUntypedStorage\n", "0", SIX), ZERO, ")", ")"))),
      "without a type" },
    { STR("\x80\x02}U\x01" "v" WHOLE "sU\x01" "w" TENSOR(ID(ONE), ZERO, ")", ")") "s."),
      "two types or sizes" },
};

static void made_pickles(void)
{
    TEST("pickles");
    for (size_t i = 0; i < COUNT(pickles); i++) {
        Arena arena = { 0 };
        ZipMaker z = { 0 };
        Err err = { 0 };
        Safetensors s;
        bool ok = torch_read(&arena, zip_of(&z, pickles[i].pickle, "little"), &s, &err);
        if (!CHECK(ok == !pickles[i].says) || (!ok && !CHECK(says(&err, pickles[i].says))))
            printf("  pickle %zu (%s): %s\n", i, ok ? "read" : err.message,
                   pickles[i].says ? pickles[i].says : "");
        if (ok) CHECK(s.n == 1 && safetensors_find(&s, STR("w")));
        zip_free(&z);
        arena_free(&arena);
    }
}

static void transposed(void)
{
    Arena arena = { 0 };
    ZipMaker z = { 0 };
    Err err = { 0 };
    Safetensors s;
    TEST("transposed");
    Str pickle = STR(DICT(TENSOR(ID(SIX), ZERO, THREE TWO "\x86", ONE THREE "\x86")));
    static const float wanted[] = { 1, 4, 2, 5, 3, 6 };
    CHECK(torch_read(&arena, zip_of(&z, pickle, "little"), &s, &err) && s.item[0].bytes == 24 &&
          memcmp(s.item[0].data, wanted, 24) == 0);
    zip_free(&z);
    CHECK(!torch_read(&arena, zip_of(&z, pickle, "big"), &s, &err) && says(&err, "found \"big\""));
    zip_free(&z);
    arena_free(&arena);
}

/* Pickles that grow out of a few bytes, or never end: refused at once, in little memory. */
static void bombs(void)
{
    static const struct {
        Str head, again;
        size_t times;
        Str tail;
        const char *says;
    } rows[] = {
        { STR("\x80\x02"), STR("N"), 3000000, STR("."), "more than 1048576 values" },
        { STR("\x80\x02("), STR("("), 3000000, STR("."), "more than 1048576 values" },
        { STR("\x80\x02)"), STR("\x85"), 200000, STR("."), "found a tuple" }, /* deep */
        { STR("\x80\x02)\x94"), STR("h\0h\0\x86q\0"), 200000, STR("."), "more than the result" },
        { STR("\x80\x02]\x94"), STR("\x94"), 3000000, STR("."), "out of order" },
    };
    TEST("bombs");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Arena arena = { 0 };
        ZipMaker z = { 0 };
        Buf pickle = { 0 };
        Err err = { 0 };
        Safetensors s;
        buf_str(&pickle, rows[i].head);
        for (size_t k = 0; k < rows[i].times; k++) buf_str(&pickle, rows[i].again);
        buf_str(&pickle, rows[i].tail);
        CHECK(!torch_read(&arena, zip_of(&z, buf_view(&pickle), "little"), &s, &err));
        CHECK(says(&err, rows[i].says));
        CHECK(arena.total < (size_t)256 << 20);
        buf_free(&pickle);
        zip_free(&z);
        arena_free(&arena);
    }
}

/* ---- the zip around it ---- */

/* A copy of a golden file with `bytes` at a distance from the first (or last) mark. */
static Str patched(Arena *arena, Str file, Str mark, bool last, size_t behind, Str bytes)
{
    char *copy = str_dup(arena, file);
    char *at = memmem(copy, file.n, mark.p, mark.n);
    for (char *next = at; last && next;) {
        at = next;
        next = memmem(next + 1, file.n - (size_t)(next + 1 - copy), mark.p, mark.n);
    }
    if (CHECK(at)) memcpy(at + behind, bytes.p, bytes.n);
    return (Str){ copy, file.n };
}

static const struct {
    Str mark;
    bool last;
    size_t behind;
    Str bytes;
    const char *says;
} lies[] = {
    { STR("PK\1\2"), false, 10, STR("\x08\0"), "compressed member (method 8)" },
    { STR("PK\1\2"), false, 8, STR("\x01\0"), "encrypted" },
    { STR("PK\1\2"), false, 16, STR("\1\2\3\4"), "data.pkl: found checksum" },
    { STR("PK\1\2"), false, 20, STR("\1\0\0\0"), "found 1 bytes stored" },
    { STR("PK\1\2"), false, 20, STR("\xf0\xff\xff\xff\xf0\xff\xff\xff"), "in a file of" },
    { STR("PK\1\2"), false, 20, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), "zip64 field" },
    { STR("PK\1\2"), false, 28, STR("\xff\xff"), "cut short" },
    { STR("PK\1\2"), false, 30, STR("\xff\xff"), "cut short" },
    { STR("PK\1\2"), false, 42, STR("\xf0\xff\xff\xff"), "no header at byte" },
    { STR("PK\1\2"), false, 42, STR("\1\0\0\0"), "no header at byte" },
    { STR("PK\1\2"), true, 0, STR("PK\1\3"), "no entry of the directory" },
    { STR("PK\3\4"), false, 28, STR("\xff\xff"), "in a file of" },
    { STR("PK\6\6"), false, 32, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), "in a file of" },
    { STR("PK\6\6"), false, 32, STR("\x40"), "in a file of" },
    { STR("PK\6\6"), false, 40, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), "in a file of" },
    { STR("PK\6\6"), false, 48, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), "in a file of" },
    { STR("PK\6\7"), false, 8, STR("\xff\xff\xff\xff\xff\xff\xff\xff"), "zip64 end record" },
    { STR("PK\6\7"), false, 8, STR("\0\0\0\0\0\0\0\0"), "zip64 end record" },
    { STR("PK\5\6"), false, 4, STR("\x01"), "several volumes" },
    { STR("PK\5\6"), false, 20, STR("\x01"), "no end record" },
    { STR("views/data.pkl"), false, 60, STR("\xff"), "data.pkl: found checksum" },
    { STR("views/data/0"), false, 90, STR("\x55"), "data/0: found checksum" }, /* a weight */
    { STR("views/data/1"), true, 11, STR("0"), "comes twice" },
};

static void zip_lies(void)
{
    Arena arena = { 0 };
    TEST("zip lies");
    Str file = load(&arena, "views.bin");
    for (size_t i = 0; i < COUNT(lies); i++) {
        Err err = { 0 };
        Safetensors s;
        Str bad = patched(&arena, file, lies[i].mark, lies[i].last, lies[i].behind, lies[i].bytes);
        if (!CHECK(!torch_read(&arena, bad, &s, &err)) || !CHECK(says(&err, lies[i].says)))
            printf("  lie %zu: %s\n", i, lies[i].says);
    }
    arena_free(&arena);
}

#define FOUR "\4\0\0\0\0\0\0\0"
#define NOUGHT "\0\0\0\0\0\0\0\0"
#define HUGE8 "\xff\xff\xff\xff\xff\xff\xff\xff"
/* Sizes and places of an entry in its zip64 field: true ones, then others. */
static void zip64_fields(void)
{
    static const struct {
        Str extra;
        const char *says; /* NULL: read */
    } rows[] = {
        { STR("\x09\0\1\0x\1\0\x18\0" FOUR FOUR NOUGHT), NULL },
        { STR("\1\0\x10\0" FOUR FOUR), "zip64 field" },
        { STR("\1\0\x18\0" FOUR FOUR "\0\0\0\0"), "zip64 field" },
        { STR("\2\0\x00\0"), "zip64 field" },
        { STR(""), "zip64 field" },
        { STR("\1\0\x18\0" HUGE8 HUGE8 NOUGHT), "in a file" },
        { STR("\1\0\x18\0" FOUR "\5\0\0\0\0\0\0\0" NOUGHT), "stored for" },
        { STR("\1\0\x18\0" FOUR FOUR HUGE8), "no header" },
    };
    TEST("zip64 fields");
    for (size_t i = 0; i < COUNT(rows); i++) {
        Arena arena = { 0 };
        ZipMaker z = { 0 };
        Zip zip;
        Err err = { 0 };
        zip_data(&z, STR("a"), STR("four"));
        zip_entry(&z, STR("a"), 0, UINT32_MAX, UINT32_MAX, rows[i].extra);
        bool ok = zip_read(&arena, zip_end(&z), &zip, &err);
        if (!CHECK(ok == !rows[i].says) || (!ok && !CHECK(says(&err, rows[i].says))))
            printf("  field %zu\n", i);
        if (ok) CHECK(str_is(zip_find(&zip, STR("a"))->bytes, "four"));
        zip_free(&z);
        arena_free(&arena);
    }
}

/* Reads a copy that ends where it ends, so that a sanitizer sees an overrun. */
static bool read_exact(const char *p, size_t n, Err *err)
{
    Arena arena = { 0 };
    Safetensors s;
    char *exact = malloc(n ? n : 1);
    if (!exact) abort();
    if (n) memcpy(exact, p, n);
    bool ok = torch_read(&arena, (Str){ exact, n }, &s, err);
    unsigned sum = 0;
    for (int i = 0; ok && i < s.n; i++)
        for (size_t k = 0; k < s.item[i].bytes; k++) sum += s.item[i].data[k];
    CHECK(sum || !sum);
    free(exact);
    arena_free(&arena);
    return ok;
}

static void damaged(void)
{
    static const char *const names[] = { "views.bin", "old.bin" };
    TEST("damaged");
    for (size_t i = 0; i < COUNT(names); i++) {
        Arena arena = { 0 };
        Str file = load(&arena, names[i]);
        char *copy = str_dup(&arena, file);
        int refused = 0;
        for (size_t n = 0; n < file.n; n++) {
            Err err = { 0 };
            refused += !read_exact(file.p, n, &err) && err.message[0];
        }
        CHECK(refused == (int)file.n);
        for (size_t at = 0; at < file.n; at++) {
            Err err = { 0 };
            copy[at] ^= (char)0xff;
            CHECK(read_exact(copy, file.n, &err) || err.message[0]);
            copy[at] = file.p[at];
        }
        arena_free(&arena);
    }
}

/* ---- the old layout ---- */
#define BEFORE "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."
#define SYSTEM "\x80\x02}X\x0d\0\0\0little_endian\x88s."
#define KEYS "\x80\x02]U\x01" "0a."
#define STORED "\6\0\0\0\0\0\0\0" "111122223333444455556666"
#define OLD_ID(view) \
    "(" SHORT("\x07", "storage") FLOATS SHORT("\x01", "0") SHORT("\x03", "cpu") SIX view "tQ"
#define OLD(view) DICT(TENSOR(OLD_ID(view), ZERO, TWO THREE "\x86", THREE ONE "\x86"))

static const struct {
    Str file;
    const char *says; /* NULL: read */
} olds[] = {
    { STR(BEFORE SYSTEM OLD("N") KEYS STORED), NULL },
    { STR(BEFORE SYSTEM OLD("(U\x01" "1K\x00K\x06t") KEYS STORED), "part of another storage" },
    { STR(BEFORE "\x80\x02}X\x0d\0\0\0little_endian\x89s." OLD("N") KEYS STORED), "little_endian" },
    { STR(BEFORE "\x80\x02}." OLD("N") KEYS STORED), "little_endian" },
    { STR(BEFORE SYSTEM OLD("N") "\x80\x02]." STORED), "found 0 storages, wanted 1" },
    { STR(BEFORE SYSTEM OLD("N") "\x80\x02}." STORED), "found a dict, wanted the list" },
    { STR(BEFORE SYSTEM OLD("N") "\x80\x02]U\x01" "1a." STORED), "no tensor has" },
    { STR(BEFORE SYSTEM OLD("N") "\x80\x02](U\x01" "0U\x01" "0e." STORED), "twice" },
    { STR(BEFORE SYSTEM OLD("N") KEYS "\7\0\0\0\0\0\0\0" "1111222233334444"), "7 elements" },
    { STR(BEFORE SYSTEM OLD("N") KEYS "\6\0\0\0"), "cut short" },
    { STR(BEFORE SYSTEM OLD("N") KEYS "\6\0\0\0\0\0\0\0" "1111"), "found 4 bytes" },
    { STR("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe8\x03."), "1001" },
    { STR("\x80\x02K\x01.\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"), "another magic number" },
    { STR("\x80\x02}."), "did not write" },
    { STR("\x80\x02" "cos\nsystem\nU\x02" "id\x85R."), "did not write" },
    { STR(""), "did not write" },
};

static void old_layout(void)
{
    TEST("old layout");
    for (size_t i = 0; i < COUNT(olds); i++) {
        Err err = { 0 };
        bool ok = read_exact(olds[i].file.p, olds[i].file.n, &err);
        if (!CHECK(ok == !olds[i].says) || (!ok && !CHECK(says(&err, olds[i].says))))
            printf("  file %zu: %s\n", i, err.message);
    }
}

/* ---- folders ---- */
static char work[] = "/tmp/ef-torch-XXXXXX";

static void put(Arena *arena, const char *name, Str bytes)
{
    Err err;
    const char *path = path_join(arena, work, str_of(name));
    CHECK(dir_make_parents(path, &err) && file_write(arena, path, bytes, &err));
}

static void forms(void)
{
    static const char *const names[] = { "ner/bin", "ner/shards", "ner/bin/pytorch_model.bin",
                                         "ner/shards/pytorch_model.bin.index.json" };
    Arena arena = { 0 };
    Err err = { 0 };
    Safetensors wanted, found;
    TEST("forms");
    CHECK(checkpoint_open(&arena, GOLDEN "/ner", &wanted, &err) && wanted.n > 20);
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *path = path_join(&arena, GOLDEN, str_of(names[i]));
        if (!CHECK(checkpoint_open(&arena, path, &found, &err))) printf("  %s\n", err.message);
        same_tensors(&found, &wanted, names[i]);
        CHECK(dir_is(path) || checkpoint_is(path));
        safetensors_close(&found);
    }
    safetensors_close(&wanted);
    CHECK(!checkpoint_is(GOLDEN "/ner/config.json") && !checkpoint_is(GOLDEN));
    arena_free(&arena);
}

static void not_there(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Safetensors s;
    TEST("not there");
    const char *folder = path_join(&arena, work, STR("none"));
    put(&arena, "none/config.json", STR("{}"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "neither model.safetensors"));
    put(&arena, "none/adapter_config.json", STR("{\"base_model_name_or_path\": \"org/base\"}"));
    put(&arena, "none/adapter_model.safetensors", STR("x"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "LoRA adapter"));
    CHECK(says(&err, "(org/base)") && says(&err, "merge_and_unload"));
    put(&arena, "none/adapter_config.json", STR("["));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "base model; merge"));
    put(&arena, "none/pytorch_model.bin",
        STR("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 438000000\n"));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) &&
          says(&err, "none/pytorch_model.bin: found a git-lfs pointer"));
    put(&arena, "none/pytorch_model.bin.index.json", STR("{\"weight_map\": {\"a\": \"../x\"}}"));
    unlink(path_join(&arena, folder, STR("pytorch_model.bin")));
    CHECK(!checkpoint_open(&arena, folder, &s, &err) && says(&err, "a file of this folder"));
    arena_free(&arena);
}

int main(void)
{
    golden();
    views();
    made_pickles();
    transposed();
    bombs();
    zip_lies();
    zip64_fields();
    damaged();
    old_layout();
    forms();
    if (CHECK(mkdtemp(work))) not_there();
    remove_tree(work);
    return finish();
}
