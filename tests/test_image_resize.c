/* SPDX-License-Identifier: Apache-2.0
 * test_image_resize.c - resized noise against Pillow and torchvision, byte by byte
 * (tests/golden/images/resize.tsv, written by tools/oracle/pictures.py); windows against the
 * whole. */
#include "picture_case.h"

static uint8_t *resized(Arena *arena, const Picture *from, const Resizing *r)
{
    uint8_t *out = arena_raw(arena, (size_t)r->window.width * (size_t)r->window.height * 3);
    picture_resize(arena, from, r, out);
    return out;
}

static void resize_row(Arena *arena, Str field[8])
{
    Picture from = picture_noise(arena, field_int(field[0]), field_int(field[1]));
    int width = field_int(field[2]), height = field_int(field[3]);
    for (int rounding = ROUND_PILLOW; rounding <= ROUND_TORCHVISION; rounding++) {
        Str want = field[5 + rounding];
        if (str_is(want, "-")) continue;
        Resizing r = { width, height, (Resample)field_int(field[4]), (ResizeRounding)rounding,
                       { 0, 0, width, height } };
        if (!CHECK(digest_is(resized(arena, &from, &r), (size_t)width * (size_t)height * 3, want)))
            printf("  %dx%d to %dx%d, filter %d, rounding %d\n", from.width, from.height, width,
                   height, r.resample, rounding);
    }
}

/* Any part of the result is the same as cut out of the whole; zeros where it reaches outside. */
static void check_window(Arena *arena, const Picture *from, const uint8_t *whole, Resizing r)
{
    uint8_t *part = resized(arena, from, &r);
    bool same = true;
    for (int y = 0; y < r.window.height; y++)
        for (int x = 0; x < r.window.width; x++) {
            int sx = x + r.window.left, sy = y + r.window.top;
            static const uint8_t zero[3];
            bool inside = sx >= 0 && sx < r.width && sy >= 0 && sy < r.height;
            const uint8_t *want =
                inside ? whole + ((size_t)sy * (size_t)r.width + (size_t)sx) * 3 : zero;
            same &=
                memcmp(want, part + ((size_t)y * (size_t)r.window.width + (size_t)x) * 3, 3) == 0;
        }
    CHECK(same);
}

static void test_windows(void)
{
    TEST("windows");
    static const ResizeWindow windows[] = {
        { 3, 5, 20, 17 },  { -4, -7, 60, 60 }, { 0, 0, 1, 1 },
        { 30, -3, 40, 5 }, { 100, 0, 5, 5 },   { -9, 0, 3, 3 }
    };
    static const struct {
        int in_w, in_h, w, h;
    } sizes[] = { { 61, 47, 41, 37 }, { 20, 90, 41, 37 }, { 41, 37, 41, 37 }, { 9, 8, 41, 37 } };
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int filter = RESAMPLE_NEAREST; filter <= RESAMPLE_HAMMING; filter++)
            for (int rounding = ROUND_PILLOW; rounding <= ROUND_TORCHVISION; rounding++) {
                Arena arena = { 0 };
                Picture from = picture_noise(&arena, sizes[s].in_w, sizes[s].in_h);
                Resizing r = { sizes[s].w, sizes[s].h, (Resample)filter, (ResizeRounding)rounding,
                               { 0, 0, sizes[s].w, sizes[s].h } };
                uint8_t *whole = resized(&arena, &from, &r);
                for (size_t i = 0; i < COUNT(windows); i++) {
                    r.window = windows[i];
                    check_window(&arena, &from, whole, r);
                }
                arena_free(&arena);
            }
}

/* 1 x 60000 to the middle 224 x 224 of 224 x 13,440,000: only what is seen is computed. */
static void test_thin(void)
{
    TEST("a thin picture");
    Arena arena = { 0 }, scratch = { 0 };
    Picture from = picture_noise(&arena, 1, 60000);
    Resizing r = { 224, 13440000, RESAMPLE_BICUBIC, ROUND_PILLOW, { 0, 6719888, 224, 224 } };
    uint8_t *out = arena_raw(&arena, 224 * 224 * 3);
    picture_resize(&scratch, &from, &r, out);
    CHECK(scratch.total < 1 << 20);
    arena_free(&scratch);
    arena_free(&arena);
}

int main(void)
{
    TEST("golden");
    golden_rows(GOLDEN "resize.tsv", resize_row);
    test_windows();
    test_thin();
    return finish();
}
