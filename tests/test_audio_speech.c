/* SPDX-License-Identifier: Apache-2.0
 * test_audio_speech.c - probabilities of speech to segments: those of silero-vad's own function
 * (tests/golden/speech_segments.tsv, written by tools/oracle/speech_segments.py). */
#include <stdlib.h>

#include "audio/speech.h"
#include "base/file.h"
#include "check.h"

enum { COLUMNS = 10, MOST_WINDOWS = 128 };

static int read_numbers(char *at, float *out)
{
    int n = 0;
    while (*at >= '0' && *at <= '9' && n < MOST_WINDOWS) {
        out[n++] = (float)(strtod(at, &at) / 1000);
        at += *at == ',';
    }
    return n;
}

static void check_line(Arena *arena, char *column[COLUMNS], int line)
{
    float p[MOST_WINDOWS];
    SpeechSegment *found = NULL;
    Buf text = { .arena = arena };
    SpeechRules r = { .threshold = strtod(column[2], NULL), .silence_threshold = strtod(column[3], NULL),
                      .min_speech_ms = strtod(column[4], NULL), .min_silence_ms = strtod(column[5], NULL),
                      .pad_ms = strtod(column[6], NULL), .max_speech_s = strtod(column[7], NULL) };
    int n = read_numbers(column[8], p);
    size_t count = speech_segments(arena, &r, atoi(column[0]), p, (size_t)n, atoll(column[1]), &found);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%lld-%lld", i ? " " : "", (long long)found[i].start, (long long)found[i].end);
    if (!CHECK(str_eq(buf_view(&text), str_of(column[9]))))
        printf("  line %d: found %.*s, wanted %s\n", line, STR_ARG(buf_view(&text)), column[9]);
}

int main(void)
{
    Arena arena = { 0 };
    Err err = { 0 };
    Str file;
    int line = 0;
    TEST("segments");
    if (!CHECK(file_read(&arena, "tests/golden/speech_segments.tsv", 1 << 20, &file, &err))) return finish();
    for (char *at = (char *)str_dup(&arena, file); *at; line++) {
        char *column[COLUMNS], *end = strchr(at, '\n');
        *end = 0;
        for (int i = 0; i < COLUMNS; i++) {
            column[i] = at;
            at = strchr(at, '\t');
            if (i + 1 < COLUMNS && !CHECK(at)) return finish();
            if (at) *at++ = 0;
        }
        check_line(&arena, column, line + 1);
        at = end + 1;
    }
    CHECK(line == 60);
    arena_free(&arena);
    return finish();
}
