/* SPDX-License-Identifier: Apache-2.0
 * encode_png.c - masks as PNG files: one channel of 8 bits. */
#include <zlib.h>

#include "base/budget.h"
#include "image.h"

static void png_put_u32(uint8_t to[4], uint32_t n)
{
    to[0] = (uint8_t)(n >> 24), to[1] = (uint8_t)(n >> 16), to[2] = (uint8_t)(n >> 8), to[3] = (uint8_t)n;
}

static void png_put_chunk(Buf *out, const char type[5], const uint8_t *bytes, size_t n)
{
    uint8_t number[4];
    png_put_u32(number, (uint32_t)n);
    buf_add(out, number, sizeof number);
    size_t from = out->n;
    buf_add(out, type, 4);
    buf_add(out, bytes, n);
    png_put_u32(number, (uint32_t)crc32(0, (const Bytef *)out->p + from, (uInt)(n + 4)));
    buf_add(out, number, sizeof number);
}

/* Each row begins with its filter: 2, the difference to the row above, of which a mask has little. */
static uint8_t *png_filter(Arena *scratch, const uint8_t *grey, int width, int height)
{
    size_t w = (size_t)width;
    uint8_t *rows = arena_raw(scratch, (w + 1) * (size_t)height), *to = rows;
    for (int y = 0; y < height; y++, grey += w) {
        *to++ = 2;
        for (size_t x = 0; x < w; x++) *to++ = (uint8_t)(grey[x] - (y ? grey[x - w] : 0));
    }
    return rows;
}

void png_write_grey(Arena *scratch, Buf *out, const uint8_t *grey, int width, int height)
{
    uint8_t head[13] = { [8] = 8 }; /* bits; grey, no interlacing */
    uLong n = (uLong)(width + 1) * (uLong)height;
    uLongf packed = compressBound(n);
    uint8_t *rows = png_filter(scratch, grey, width, height), *bytes = arena_raw(scratch, packed);
    int status = compress2(bytes, &packed, rows, n, Z_BEST_SPEED);
    if (status != Z_OK) memory_missing(packed, NULL, false);
    png_put_u32(head, (uint32_t)width);
    png_put_u32(head + 4, (uint32_t)height);
    buf_add(out, "\x89PNG\r\n\x1a\n", 8);
    png_put_chunk(out, "IHDR", head, sizeof head);
    png_put_chunk(out, "IDAT", bytes, packed);
    png_put_chunk(out, "IEND", bytes, 0);
}
