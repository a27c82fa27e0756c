/* SPDX-License-Identifier: Apache-2.0
 * test_data_gzip.c - gzip both ways, a file that Python wrote, damaged and greedy ones; base64. */
#include "check.h"
#include "data/base64.h"
#include "data/gunzip.h"
#include "data/gzip.h"

/* gzip.compress(b"hello hello hello\n" * 3, 9, mtime=0) */
static const char python[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\x5c\x19\x44\x88\x00"
    "\x00\x18\x18\x01\xda\x36\x00\x00\x00";
static const char text[] = "hello hello hello\nhello hello hello\nhello hello hello\n";

static void test_gzip(void)
{
    TEST("gzip");
    Err err = { 0 };
    Buf big = { 0 }, packed = { 0 }, out = { 0 };
    for (uint32_t i = 0; i < 300000; i++) buf_char(&big, (char)(i * i >> 7));
    gzip_pack(&packed, buf_view(&big), GZIP_FAST);
    CHECK(gzip_unpack(&out, buf_view(&packed), big.n, &err));
    CHECK(str_eq(buf_view(&out), buf_view(&big)));
    out.n = 0;
    CHECK(!gzip_unpack(&out, buf_view(&packed), big.n - 1, &err) && err.code == EF_TOO_LARGE);
    CHECK(out.n == 0);
    for (size_t cut = 0; cut < packed.n; cut += 997)
        CHECK(!gzip_unpack(&out, (Str){ packed.p, cut }, big.n, &err) && says(&err, "cut short"));
    packed.p[packed.n / 2] ^= 1;
    CHECK(!gzip_unpack(&out, buf_view(&packed), big.n, &err) && says(&err, "damaged"));
    packed.n = 0;
    gzip_pack(&packed, (Str){ 0 }, GZIP_SMALL);
    CHECK(gzip_unpack(&out, buf_view(&packed), 0, &err) && out.n == 0);
    buf_free(&big), buf_free(&packed), buf_free(&out);
}

/* RFC 1952, 2.2: a file is a series of members. */
static void test_members(void)
{
    TEST("several members");
    Err err = { 0 };
    Buf packed = { 0 }, out = { 0 };
    gzip_pack(&packed, STR("one "), GZIP_FAST);
    size_t first = packed.n;
    gzip_pack(&packed, (Str){ 0 }, GZIP_FAST);
    gzip_pack(&packed, STR("two"), GZIP_SMALL);
    size_t whole = packed.n;
    CHECK(gzip_unpack(&out, buf_view(&packed), 7, &err) && str_is(buf_view(&out), "one two"));
    out.n = 0;
    CHECK(!gzip_unpack(&out, buf_view(&packed), 6, &err) && err.code == EF_TOO_LARGE);
    buf_add(&packed, "\0\0\0", 3); /* padding */
    CHECK(gzip_unpack(&out, buf_view(&packed), 7, &err) && str_is(buf_view(&out), "one two"));
    out.n = 0;
    buf_char(&packed, 'x');
    CHECK(!gzip_unpack(&out, buf_view(&packed), 7, &err) && says(&err, "4 bytes behind the end"));
    CHECK(!gzip_unpack(&out, (Str){ packed.p, whole - 1 }, 7, &err) && says(&err, "cut short"));
    CHECK(!gzip_unpack(&out, (Str){ packed.p, first + 1 }, 7, &err) && says(&err, "1 bytes behind"));
    packed.p[first + 2] ^= 1;
    CHECK(!gzip_unpack(&out, (Str){ packed.p, whole }, 7, &err) && out.n == 0);
    buf_free(&packed), buf_free(&out);
}

static void test_python(void)
{
    TEST("a file of Python's");
    Err err = { 0 };
    Buf out = { 0 };
    CHECK(gzip_unpack(&out, (Str){ python, sizeof python - 1 }, 1000, &err));
    CHECK(str_is(buf_view(&out), text));
    CHECK(!gzip_unpack(&out, STR("no gzip at all"), 1000, &err) && err.code == EF_BAD_MODEL);
    buf_free(&out);
}

/* ---- a stream ---- */
typedef struct Pieces {
    Str left;
    size_t n;               /* bytes of a piece */
} Pieces;

static bool next_piece(void *context, void *to, size_t room, size_t *got, Err *err)
{
    Pieces *p = context;
    (void)err;
    *got = MIN(MIN(room, p->n), p->left.n);
    if (*got) memcpy(to, p->left.p, *got);
    p->left.p += *got, p->left.n -= *got;
    return true;
}

static bool stream(Str packed, size_t piece, Buf *out, Err *err)
{
    Arena arena = { 0 };
    Pieces rest = { packed, piece };
    Gunzip *g = gunzip_open(&arena, STR(""), next_piece, &rest);
    size_t got = 1;
    bool ok = true;
    out->n = 0;
    while (ok && got) {
        buf_reserve(out, 777);
        ok = gunzip_read(g, out->p + out->n, 777, &got, err);
        out->n += got;
    }
    gunzip_close(g);
    arena_free(&arena);
    return ok;
}

static void test_stream(void)
{
    TEST("a stream of several members");
    Err err = { 0 };
    Buf packed = { 0 }, plain = { 0 }, out = { 0 };
    for (int member = 0; member < 3; member++) {
        Buf one = { 0 };
        for (uint32_t i = 0; member != 1 && i < 100000; i++) buf_char(&one, (char)(i * i >> (7 + member)));
        gzip_pack(&packed, buf_view(&one), GZIP_FAST);
        buf_str(&plain, buf_view(&one));
        buf_free(&one);
    }
    for (size_t piece = 1; piece < 200000; piece *= 13)
        CHECK(stream(buf_view(&packed), piece, &out, &err) && str_eq(buf_view(&out), buf_view(&plain)));
    for (size_t cut = 1; cut < packed.n; cut += 9973)
        CHECK(!stream((Str){ packed.p, cut }, 1000, &out, &err) && says(&err, "cut short"));
    CHECK(stream((Str){ packed.p, 0 }, 1000, &out, &err) && out.n == 0);
    buf_puts(&packed, "tail");
    CHECK(!stream(buf_view(&packed), 1000, &out, &err) && says(&err, "behind the end"));
    CHECK(str_eq(buf_view(&out), buf_view(&plain))); /* all that was good came */
    packed.p[packed.n / 3] ^= 1;
    CHECK(!stream(buf_view(&packed), 1000, &out, &err) && says(&err, "damaged"));
    CHECK(gunzip_is(buf_view(&packed)) && !gunzip_is(STR("\x1f")) && !gunzip_is(STR("{\"a\"")));
    buf_free(&packed), buf_free(&plain), buf_free(&out);
}

static void test_base64(void)
{
    static const char *const pairs[][2] = { /* RFC 4648, part 10 */
        { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfd", "//79" },
    };
    TEST("base64");
    Arena arena = { 0 };
    Buf b = { 0 };
    Str back;
    for (size_t i = 0; i < COUNT(pairs); i++, b.n = 0) {
        base64_write(&b, str_of(pairs[i][0]));
        CHECK(str_is(buf_view(&b), pairs[i][1]));
        CHECK(base64_read(&arena, str_of(pairs[i][1]), &back) && str_is(back, pairs[i][0]));
    }
    CHECK(base64_read(&arena, STR("Zm8"), &back) && str_is(back, "fo"));
    CHECK(!base64_read(&arena, STR("Zm9vY"), &back));
    CHECK(!base64_read(&arena, STR("Zm\n9"), &back));
    CHECK(!base64_read(&arena, STR("=Zg="), &back));
    CHECK(!base64_read(&arena, STR("Zg==="), &back));
    buf_free(&b);
    arena_free(&arena);
}

int main(void)
{
    test_gzip();
    test_members();
    test_python();
    test_stream();
    test_base64();
    return finish();
}
