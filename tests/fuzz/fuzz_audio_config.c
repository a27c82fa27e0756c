/* SPDX-License-Identifier: Apache-2.0
 * fuzz_audio_config.c - any JSON as preprocessor_config.json and config.json of a model of sound: what is
 * taken prepares a sound, as a tensor of the size that it says. */
#include <stdlib.h>

#include "audio/audio.h"
#include "data/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void use_processor(Arena *arena, const AudioProcessor *p)
{
    enum { MOST = 1 << 15 };
    AudioTensor t;
    Err err = { 0 };
    if (p->least > MOST || p->samples > MOST || (int64_t)p->frames * p->mels > 16 * MOST) return; /* slow, not wrong */
    size_t n = (size_t)p->least + 100;
    float *x = ARRAY(arena, float, n);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i % 17) / 17;
    must(audio_prepare(arena, p, x, n, &t, &err));
    volatile float sum = 0;
    size_t count = (size_t)t.dim[0] * (t.rank > 1 ? (size_t)t.dim[1] : 1);
    for (size_t i = 0; i < count; i++) sum += t.values[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Value root;
    Err err = { 0 };
    AudioProcessor p;
    if (json_parse(&arena, (Str){ (const char *)data, size }, &root, &err)) {
        const Value *config = value_get(&root, "config");
        AudioConfigs c = { .preprocessor = &root, .processor = value_get(&root, "processor"),
                           .config = config ? config : &root };
        audio_configs_say(&c);
        if (audio_processor_open(&arena, &c, &p, &err)) use_processor(&arena, &p);
        else must(err.message[0] && (err.code == EF_BAD_MODEL || err.code == EF_UNSUPPORTED));
    }
    arena_free(&arena);
    return 0;
}
