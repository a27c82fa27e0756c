/* SPDX-License-Identifier: Apache-2.0
 * fuzz_image_config.c - any JSON as preprocessor_config.json, processor_config.json and
 * config.json: refused, or a processor that prepares a small picture, or says why it cannot. */
#include <stdlib.h>

#include "data/json.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

/* Sizes of a real model: a run is to be short. */
static bool is_small(const ImageProcessor *p)
{
    enum { EDGE = 600 };
    return p->height < EDGE && p->width < EDGE && p->shortest < EDGE && p->longest < EDGE &&
           p->crop_height < EDGE && p->crop_width < EDGE && p->pad_height < EDGE &&
           p->pad_width < EDGE;
}

static void use_processor(Arena *arena, const ImageProcessor *p)
{
    uint8_t rgb[5 * 3 * 3];
    volatile float sum = 0;
    Picture picture = { rgb, 5, 3, 1, "noise" };
    PixelTensor t;
    Err err = { 0 };
    for (size_t i = 0; i < sizeof rgb; i++) rgb[i] = (uint8_t)(i * 37);
    if (!image_prepare(arena, p, &picture, &t, &err)) {
        must(err.message[0] && (err.code == EF_INVALID_INPUT || err.code == EF_TOO_LARGE));
        return;
    }
    must(t.live_height <= t.height && t.live_width <= t.width);
    for (size_t i = 0; i < (size_t)t.height * (size_t)t.width * 3; i++) sum += t.values[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Value v;
    Err err = { 0 };
    if (json_parse(&arena, (Str){ (const char *)data, size }, &v, &err)) {
        ImageConfigs each[] = { { &v, NULL, &v }, { NULL, &v, &v }, { &v, &v, NULL } };
        for (size_t i = 0; i < COUNT(each); i++) {
            ImageProcessor p;
            bool ok = image_processor_open(&each[i], &p, &err);
            must(ok || err.code == EF_BAD_MODEL || err.code == EF_UNSUPPORTED);
            if (ok && is_small(&p)) use_processor(&arena, &p);
        }
    }
    arena_free(&arena);
    return 0;
}
