/* SPDX-License-Identifier: Apache-2.0
 * fuzz_audio.c - any bytes as a sound: what is decoded is as long as it says and has numbers only; what
 * is refused has one of three codes. The limit of seconds keeps a run short. */
#include <math.h>
#include <stdlib.h>

#include "audio/audio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Sound s;
    Err err = { 0 };
    SoundLimits limits = { 2 };
    const int rate = size % 3 ? 0 : 16000; /* the file's own, or resampled */
    if (sound_read(&arena, (Str){ (const char *)data, size }, &limits, rate, &s, &err)) {
        must(s.n > 0 && s.n <= (size_t)(3 * s.rate) && s.rate_given >= SOUND_RATE_LEAST);
        for (size_t i = 0; i < s.n; i++) must(!isnan(s.samples[i])); /* the filter may overshoot a float's range */
    } else {
        must(err.message[0] && (err.code == EF_INVALID_INPUT || err.code == EF_MEDIA_TYPE || err.code == EF_TOO_LARGE));
    }
    Str bytes;
    if (size < 4096) sound_from_text(&arena, (Str){ (const char *)data, size }, &bytes, &err);
    arena_free(&arena);
    return 0;
}
