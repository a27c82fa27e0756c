/* SPDX-License-Identifier: Apache-2.0
 * test_image_decode.c - pictures to RGB: every byte against Pillow's (tests/golden/images,
 * written by tools/oracle/pictures.py), and the files that are to be refused. */
#include "base/budget.h"
#include "data/base64.h"
#include "picture_case.h"

static bool media = true; /* the build has JPEG, PNG and WebP */

static bool read_bytes(Arena *arena, const char *bytes, size_t n, int64_t pixels, Picture *p,
                       Err *err)
{
    /* A copy to the byte, so that a sanitizer sees what is read behind the end. */
    char *exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    bool ok = picture_read(arena, (Str){ exact, n }, &(PictureLimits){ pixels }, p, err);
    free(exact);
    return ok;
}

/* "name" or "name@N": its first N bytes. */
static Str golden_bytes(Arena *arena, Str name)
{
    const char *cut = memchr(name.p, '@', name.n);
    size_t stem = cut ? (size_t)(cut - name.p) : name.n;
    Str bytes = { 0 };
    Err err = { 0 };
    CHECK(file_read(arena, str_format(arena, GOLDEN "%.*s", (int)stem, name.p), GOLDEN_MOST, &bytes,
                    &err));
    if (cut) bytes.n = (size_t)field_int((Str){ cut + 1, name.n - stem - 1 });
    return bytes;
}

static void decode_row(Arena *arena, Str field[8])
{
    Str bytes = golden_bytes(arena, field[0]);
    Picture p;
    Err err = { 0 };
    bool ok = read_bytes(arena, bytes.p, bytes.n, 0, &p, &err);
    if (!ok && err.code == EF_MEDIA_TYPE && strstr(err.message, "MEDIA=0")) {
        media = false;
        return;
    }
    bool good;
    if (str_is(field[1], "-")) good = CHECK(!ok && err.code == EF_INVALID_INPUT);
    else
        good = CHECK(ok && p.width == field_int(field[1]) && p.height == field_int(field[2]) &&
                     digest_is(p.rgb, (size_t)p.width * (size_t)p.height * 3, field[3]));
    if (!good) printf("  %.*s: %s\n", STR_ARG(field[0]), ok ? "other pixels" : err.message);
}

static void test_golden(void)
{
    TEST("golden");
    golden_rows(GOLDEN "decode.tsv", decode_row);
    if (!media) SKIP("JPEG, PNG and WebP are left out of this build");
}

static void test_orientation(void)
{
    TEST("orientation");
    if (!media) return;
    for (int o = 1; o <= 8; o++) {
        Arena arena = { 0 };
        Picture p;
        Err err = { 0 };
        Str bytes = golden_bytes(&arena, str_of(str_format(&arena, "exif%d.jpg", o)));
        CHECK(read_bytes(&arena, bytes.p, bytes.n, 0, &p, &err) && p.orientation == o);
        CHECK(!strcmp(p.format, "JPEG"));
        arena_free(&arena);
    }
}

/* ---- what is refused ---- */
static void refused(const char *bytes, size_t n, int64_t pixels, ef_code code, const char *words)
{
    Arena arena = { 0 };
    Picture p;
    Err err = { 0 };
    CHECK(!read_bytes(&arena, bytes, n, pixels, &p, &err) && err.code == code && says(&err, words));
    arena_free(&arena);
}
#define REFUSED(bytes, code, words) refused(bytes, sizeof(bytes) - 1, 0, code, words)

static void test_formats(void)
{
    TEST("formats by name");
    REFUSED("", EF_INVALID_INPUT, "found no bytes, wanted JPEG, PNG, WebP, GIF or BMP");
    REFUSED("hello, world", EF_INVALID_INPUT, "found 12 bytes that begin with \"hello, world\"");
    REFUSED("\1\2\3", EF_INVALID_INPUT, "\"\\x01\\x02\\x03\"");
    REFUSED("II*\0abc", EF_MEDIA_TYPE, "found TIFF, wanted JPEG, PNG, WebP, GIF or BMP");
    REFUSED("MM\0*abc", EF_MEDIA_TYPE, "found TIFF");
    REFUSED("\0\0\0\x1c" "ftypavif", EF_MEDIA_TYPE, "found AVIF");
    REFUSED("\0\0\0\x1c" "ftypheic", EF_MEDIA_TYPE, "found HEIC");
    REFUSED("MM\0*abc", EF_MEDIA_TYPE, "BMP: convert it, or in Python open it with Pillow and pass the Image");
    REFUSED("%PDF-1.7", EF_MEDIA_TYPE, "found PDF");
    REFUSED("<svg xmlns=", EF_MEDIA_TYPE, "found SVG");
    REFUSED("BM", EF_INVALID_INPUT, "BMP: the file is truncated");
    REFUSED("GIF89a", EF_INVALID_INPUT, "GIF: the file is truncated: it ends after 6 bytes");
    if (media) REFUSED("\xff\xd8\xff", EF_INVALID_INPUT, "JPEG: the file is truncated");
    if (media) REFUSED("\x89PNG\r\n\x1a\n", EF_INVALID_INPUT, "PNG: the file is truncated");
    if (media) REFUSED("RIFF\x24\0\0\0WEBPVP8 ", EF_INVALID_INPUT, "WebP: the file is truncated");
}

/* Headers that promise more than there is, or than is allowed: found out before memory is taken. */
static void test_limits(void)
{
    TEST("limits");
    static const char gif[] = "GIF89a\x70\x11\x70\x11\0\0\0,\0\0\0\0\1\0\1\0\0\2\2\4\1\0;";
    static const char bmp[] = "BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\xff\x7f\xff\0\1\0\x18\0....";
    refused(gif, sizeof gif - 1, 4463 * 4463, EF_TOO_LARGE,
            "GIF: found 4464 x 4464 pixels, wanted at most 19918369 in all");
    refused(bmp, sizeof bmp - 1, 100, EF_TOO_LARGE,
            "BMP: found 32767 x 255 pixels, wanted at most 100");
    refused(bmp, sizeof bmp - 1, 0, EF_INVALID_INPUT, "BMP: the file is truncated");
    static const char empty[] = "BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\0\0\1\0\1\0\x18\0....";
    refused(empty, sizeof empty - 1, 0, EF_INVALID_INPUT,
            "found 0 x 1 pixels, wanted at least 1 x 1");
    /* A width that is no int, under a limit that would allow it. */
    static const char runs[] = "BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xf0\xff\xff\xff\1\0\0\0"
                               "\1\0\x08\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0....";
    refused(runs, sizeof runs - 1, INT64_MAX, EF_TOO_LARGE, "BMP: found 4294967280 x 1 pixels");
    if (!media) return;
    Arena arena = { 0 };
    Str png = golden_bytes(&arena, STR("png2_8_13x11.png"));
    refused(png.p, png.n, 13 * 11 - 1, EF_TOO_LARGE,
            "PNG: found 13 x 11 pixels, wanted at most 142 in all");
    Str jpeg = golden_bytes(&arena, STR("base420_37x29.jpg"));
    refused(jpeg.p, jpeg.n, 1000, EF_TOO_LARGE,
            "JPEG: found 37 x 29 pixels, wanted at most 1000 in all");
    Str webp = golden_bytes(&arena, STR("lossy_37x29.webp"));
    refused(webp.p, webp.n, 1000, EF_TOO_LARGE,
            "WebP: found 37 x 29 pixels, wanted at most 1000 in all");
    Picture p;
    Err err = { 0 };
    CHECK(read_bytes(&arena, png.p, png.n, 13 * 11, &p, &err));
    arena_free(&arena);
}

/* A deflated PNG of a few bytes cannot hold 9000 x 9000 pixels: no memory is taken for them. */
static void test_lying_png(void)
{
    TEST("a PNG that lies");
    if (!media) return;
    static const char png[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x23\x28\0\0\x23\x28\x08\2\0\0\0\x55\x10\x8f\x8c"
        "\0\0\0\x0cIDATx\x9c\x63\x60\0\0\0\2\0\1\xe5\x27\xde\xfc\0\0\0\0IEND\xae\x42\x60\x82";
    Arena arena = { 0 };
    Picture p;
    Err err = { 0 };
    CHECK(!read_bytes(&arena, png, sizeof png - 1, 0, &p, &err));
    CHECK(err.code == EF_INVALID_INPUT && arena.total < 1 << 16);
    arena_free(&arena);
}

/* ---- memory ---- */
typedef struct Guarded {
    Arena *arena;
    Str bytes;
    bool ok;
    Err err;
} Guarded;

static void guarded_read(void *arg)
{
    Guarded *g = arg;
    Picture p;
    g->ok = picture_read(g->arena, g->bytes, NULL, &p, &g->err);
}

/* Of any budget that does not suffice, nothing is left drawn: what a library took is given back. */
static void test_budget(const char *name)
{
    Arena keep = { 0 };
    Str bytes = golden_bytes(&keep, str_of(name));
    int enough = 0;
    for (size_t limit = 1 << 12; limit < 1 << 23; limit *= 2) {
        Budget budget = { .limit = limit };
        Arena arena = { .budget = &budget };
        Guarded g = { .arena = &arena, .bytes = bytes };
        Shortage shortage;
        bool finished = guarded(guarded_read, &g, &shortage);
        enough += finished && g.ok;
        CHECK(finished ? g.ok : shortage.limit);
        arena_free(&arena);
        CHECK(budget_used(&budget) == 0);
    }
    CHECK(enough > 0);
    arena_free(&keep);
}

/* 2^31 - 1 pixels of 8 bytes in one row: refused by its size, before libpng has room for the row. */
static void test_wide_png(void)
{
    TEST("a PNG of one long row");
    if (!media) return;
    static const char png[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\0\0\0\1\x10\6\0\0\0\xf0\xa6\xef\x9e"
        "\0\0\0\x0cIDATx\x9c\x63\x60\0\0\0\2\0\1\xe5\x27\xde\xfc\0\0\0\0IEND\xae\x42\x60\x82";
    Budget budget = { .limit = 1 << 20 };
    Arena arena = { .budget = &budget };
    Guarded g = { .arena = &arena, .bytes = { png, sizeof png - 1 } };
    Shortage shortage;
    CHECK(guarded(guarded_read, &g, &shortage));
    CHECK(!g.ok && g.err.code == EF_TOO_LARGE && says(&g.err, "PNG: found 2147483647 x 1 pixels"));
    arena_free(&arena);
}

/* The last scan of a progressive file, so many times more. */
static void test_scans(int times, bool fine)
{
    Arena arena = { 0 };
    Str jpeg = golden_bytes(&arena, STR("progressive_37x29.jpg"));
    Buf file = { .arena = &arena };
    Picture p;
    Err err = { 0 };
    size_t scan = jpeg.n - 2, end = jpeg.n - 2; /* the end marker stands last */
    while (scan && memcmp(jpeg.p + scan, "\xff\xda", 2) != 0) scan--;
    buf_str(&file, (Str){ jpeg.p, end });
    for (int i = 0; i < times; i++) buf_str(&file, (Str){ jpeg.p + scan, end - scan });
    buf_str(&file, (Str){ jpeg.p + end, 2 });
    CHECK(scan > 0 && read_bytes(&arena, file.p, file.n, 0, &p, &err) == fine);
    CHECK(fine || (err.code == EF_INVALID_INPUT && says(&err, "JPEG: found over 500 scans")));
    arena_free(&arena);
}

static void test_budgets(void)
{
    TEST("budgets");
    static const char *const names[] = {
        "progressive_37x29.jpg", "ycck.jpg",   "exif6.jpg",    "png2_8_interlaced.png",
        "png3_4_interlaced.png", "exif6.webp", "animated.webp"
    };
    test_budget("interlaced_37x29.gif");
    test_budget("rle8.bmp");
    for (size_t i = 0; media && i < COUNT(names); i++) test_budget(names[i]);
}

/* ---- pictures as text ---- */
static void test_text_refused(const char *text, const char *words)
{
    Arena arena = { 0 };
    Str bytes;
    Err err = { 0 };
    CHECK(!picture_from_text(&arena, str_of(text), &bytes, &err) && err.code == EF_INVALID_INPUT &&
          says(&err, words));
    arena_free(&arena);
}

static void test_text(void)
{
    TEST("text");
#define GIF_BASE64 "R0lGODlhAAAAAAAAAAAAAAAAAAAAAAAA" /* as many letters as a picture has at least */
    static const char *const texts[] = { GIF_BASE64, "data:image/gif;base64,R0lGODlh",
                                         "data:;base64,R0lG\r\nODlh\n", "  " GIF_BASE64 " " };
    for (size_t i = 0; i < COUNT(texts); i++) {
        Arena arena = { 0 };
        Str bytes = { 0 };
        Err err = { 0 };
        CHECK(picture_from_text(&arena, str_of(texts[i]), &bytes, &err) && str_starts(bytes, "GIF89a"));
        arena_free(&arena);
    }
    test_text_refused("https://example.org/cat.jpg", "URLs are not fetched");
    test_text_refused("http://example.org/cat.jpg", "found the URL \"http://example.org/cat.jpg\"");
    test_text_refused("data:image/gif;base64", "without a comma");
    test_text_refused("data:image/svg+xml,<svg/>", "wanted base64");
    test_text_refused("", "not base64");
    test_text_refused("cat.jpg", "not base64 (\"cat.jpg\")");
}

int main(void)
{
    test_golden();
    test_orientation();
    test_formats();
    test_limits();
    test_lying_png();
    test_wide_png();
    TEST("scans of a JPEG");
    if (media) test_scans(20, true), test_scans(1000, false);
    test_budgets();
    test_text();
    return finish();
}
