/* SPDX-License-Identifier: Apache-2.0
 * fuzz_image.c - any bytes as a picture: what is decoded has every byte it says, and can be
 * resized; what is refused has one of three codes. The limit of pixels keeps a run short. */
#include <stdlib.h>

#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void use_picture(Arena *arena, const Picture *p)
{
    volatile unsigned sum = 0;
    size_t n = (size_t)p->width * (size_t)p->height * 3;
    must(p->width > 0 && p->height > 0 && p->orientation >= 1 && p->orientation <= 8);
    for (size_t i = 0; i < n; i++) sum += p->rgb[i];
    uint8_t out[7 * 5 * 3];
    Resizing r = { 9, 5, (Resample)(n % 6), ROUND_PILLOW, { 1, 0, 7, 5 } };
    picture_resize(arena, p, &r, out);
    for (size_t i = 0; i < sizeof out; i++) sum += out[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PIXELS = 1 << 18 };
    Arena arena = { 0 };
    Picture p;
    Err err = { 0 };
    PictureLimits limits = { PIXELS };
    if (picture_read(&arena, (Str){ (const char *)data, size }, &limits, &p, &err))
        use_picture(&arena, &p);
    else
        must(err.message[0] && (err.code == EF_INVALID_INPUT || err.code == EF_MEDIA_TYPE ||
                                err.code == EF_TOO_LARGE));
    Str bytes;
    if (size < 4096) picture_from_text(&arena, (Str){ (const char *)data, size }, &bytes, &err);
    arena_free(&arena);
    return 0;
}
