/* SPDX-License-Identifier: Apache-2.0
 * picture_case.h - what the tests of src/image share: the noise of tools/oracle/pictures.py, and
 * the digests it wrote. */
#ifndef PICTURE_CASE_H
#define PICTURE_CASE_H
#include "base/file.h"
#include "check.h"
#include "image/image.h"
#include "kernels/kernels.h"

#define GOLDEN "tests/golden/images/"
enum { GOLDEN_MOST = 1 << 20 };

/* The upper bytes of a linear congruential generator. */
static inline Picture picture_noise(Arena *arena, int width, int height)
{
    Picture p = { .width = width, .height = height, .orientation = 1, .format = "noise" };
    size_t n = (size_t)width * (size_t)height * 3;
    uint32_t state = (uint32_t)width * 65536u + (uint32_t)height;
    p.rgb = arena_raw(arena, n);
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p.rgb[i] = (uint8_t)(state >> 24);
    }
    return p;
}

/* The first 16 digits of a SHA-256. */
static inline bool digest_is(const void *bytes, size_t n, Str want)
{
    Sha256 s;
    uint8_t digest[32];
    char text[17];
    sha256_start(&s);
    sha256_add(&s, bytes, n);
    sha256_end(&s, digest);
    for (int i = 0; i < 8; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return str_is(want, text);
}

/* Calls row with the tab-separated fields of every line; those behind the last are empty. */
static inline void golden_rows(const char *path, void (*row)(Arena *, Str field[8]))
{
    Arena arena = { 0 };
    Str text;
    Err err = { 0 };
    if (!CHECK(file_read(&arena, path, GOLDEN_MOST, &text, &err))) return;
    for (const char *line = text.p, *end; (end = strchr(line, '\n')); line = end + 1) {
        Str field[8] = { { 0 } };
        const char *at = line;
        for (int i = 0; i < 8 && at <= end; i++) {
            size_t n = strcspn(at, "\t\n");
            field[i] = (Str){ at, n };
            at += n + 1;
        }
        Arena local = { 0 };
        row(&local, field);
        arena_free(&local);
    }
    arena_free(&arena);
}

static inline int field_int(Str s)
{
    int64_t n = -1;
    return str_int(s, &n) ? (int)n : -1;
}
#endif
