/* SPDX-License-Identifier: Apache-2.0
 * sound_case.h - what the tests of sound share: the sounds of tools/oracle/sounds.py, and its files. */
#ifndef SOUND_CASE_H
#define SOUND_CASE_H
#include "audio/audio.h"
#include "base/file.h"
#include "check.h"
#include "data/json.h"

#define GOLDEN "tests/golden/sounds/"
enum { GOLDEN_MOST = 4 << 20 };

static inline float *sound_noise(Arena *arena, size_t n)
{
    float *out = ARRAY(arena, float, n + 1);
    uint32_t state = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (float)((int)(state >> 16) - 32768) / 65536.0f;
    }
    return out;
}

static inline Str sound_file(Arena *arena, const char *name)
{
    Str bytes = { 0 };
    Err err = { 0 };
    if (!CHECK(file_read(arena, str_format(arena, GOLDEN "%s", name), GOLDEN_MOST, &bytes, &err)))
        printf("  %s\n", err.message);
    return bytes;
}

/* The rows of a JSON file; NULL: it cannot be read. */
static inline const Value *sound_rows(Arena *arena, const char *name)
{
    Value *rows = NEW(arena, Value);
    Err err = { 0 };
    return CHECK(json_parse(arena, sound_file(arena, name), rows, &err)) ? rows : NULL;
}

/* The largest difference of every step-th number from the list's. */
static inline double sound_apart(const float *x, size_t n, int64_t step, const Value *list)
{
    double most = 0;
    for (size_t i = 0; i < list->list.n; i++) {
        size_t at = i * (size_t)step;
        double d = at < n ? fabs((double)x[at] - value_float(&list->list.items[i], 0)) : 1e9;
        most = d > most ? d : most;
    }
    return most;
}
#endif
