/* SPDX-License-Identifier: Apache-2.0
 * prepare.c - a picture to the floats of one model: the size it is resized to, the window that the
 * crop leaves of it, and a table of the 256 floats of each channel. */
#include <math.h>

#include "image.h"

enum { TENSOR_PIXELS = 1 << 24 }; /* 192 MiB of floats: far above any model's input */

typedef struct ImageSize {
    double height, width; /* whole numbers; too large for an int is found out later */
} ImageSize;

/* The shorter edge to p->shortest. */
static ImageSize size_shortest(const ImageProcessor *p, int height, int width)
{
    double other = trunc((double)((int64_t)p->shortest * MAX(height, width)) / MIN(height, width));
    return width <= height ? (ImageSize){ other, p->shortest } : (ImageSize){ p->shortest, other };
}

/* The same, and the longer edge to p->longest at most. YOLOS asks first whether the picture stands
 * upright, DETR whether it has its size already. */
static ImageSize size_between(const ImageProcessor *p, int height, int width)
{
    double small = MIN(height, width), large = MAX(height, width), size = p->shortest, raw = size;
    if (large / small * size > p->longest) {
        raw = p->longest * small / large;
        size = rint(raw);
    }
    bool fits = small == size && !(p->multiple > 1 && width < height);
    ImageSize s = { height, width };
    if (!fits && width < height) s = (ImageSize){ trunc(raw * height / width), size };
    if (!fits && width >= height) s = (ImageSize){ size, trunc(raw * width / height) };
    return (ImageSize){ s.height - fmod(s.height, p->multiple),
                        s.width - fmod(s.width, p->multiple) };
}

static ImageSize size_within(const ImageProcessor *p, int height, int width)
{
    double scale = fmin((double)p->height / height, (double)p->width / width);
    return (ImageSize){ trunc(height * scale), trunc(width * scale) };
}

static ImageSize size_of(const ImageProcessor *p, int height, int width)
{
    switch (p->size) {
    case SIZE_EXACT: return (ImageSize){ p->height, p->width };
    case SIZE_SHORTEST: return size_shortest(p, height, width);
    case SIZE_BETWEEN: return size_between(p, height, width);
    case SIZE_WITHIN: return size_within(p, height, width);
    default: return (ImageSize){ height, width };
    }
}

bool image_fixed_size(const ImageProcessor *p, int *height, int *width)
{
    bool exact = p->size == SIZE_EXACT && !p->crop;
    *height = p->pad_height ? p->pad_height : p->crop ? p->crop_height : exact ? p->height : 0;
    *width = p->pad_width ? p->pad_width : p->crop ? p->crop_width : exact ? p->width : 0;
    return *height > 0;
}

/* Where the crop begins; below 0: in zeros. Pillow's processors round towards the first row and
 * column, torchvision towards the middle. */
static int crop_start(int size, int crop, bool torchvision)
{
    int left = size - crop;
    return torchvision || left >= 0 ? left / 2 : (left - 1) / 2;
}

/* What is computed of which size: the crop's window, or all of it. */
static bool image_resizing(const ImageProcessor *p, const Picture *from, Resizing *r, Err *err)
{
    ImageSize size = size_of(p, from->height, from->width);
    double most = INT32_MAX / 4;
    if (size.height < 1 || size.width < 1 || size.height > most || size.width > most)
        return fail(err, EF_INVALID_INPUT,
                    "picture of %d x %d pixels: would be resized to %.0f x %.0f", from->width,
                    from->height, size.width, size.height);
    int height = (int)size.height, width = (int)size.width;
    *r = (Resizing){ width, height, p->resample,
                     p->torchvision ? ROUND_TORCHVISION : ROUND_PILLOW, { 0, 0, width, height } };
    if (p->crop)
        r->window = (ResizeWindow){ crop_start(width, p->crop_width, p->torchvision),
                                    crop_start(height, p->crop_height, p->torchvision),
                                    p->crop_width, p->crop_height };
    if ((int64_t)r->window.width * r->window.height <= TENSOR_PIXELS) return true;
    return fail(err, EF_TOO_LARGE,
                "picture of %d x %d pixels: would be resized to %d x %d, wanted at most %d in all",
                from->width, from->height, r->window.width, r->window.height, TENSOR_PIXELS);
}

bool image_prepare_bytes(Arena *arena, const ImageProcessor *p, const Picture *from, Picture *out,
                         Err *err)
{
    Resizing r;
    if (!image_resizing(p, from, &r, err)) return false;
    *out = *from;
    if (!p->crop && r.width == from->width && r.height == from->height) return true;
    out->width = r.window.width;
    out->height = r.window.height;
    out->rgb = arena_try(arena, (size_t)out->width * (size_t)out->height, 3, SIZE_MAX, err);
    if (!out->rgb) return false;
    Arena scratch = { .budget = arena->budget, .local = true };
    picture_resize(&scratch, from, &r, out->rgb);
    arena_free(&scratch);
    return true;
}

/* The float of each byte in a channel, with the roundings of the library: numpy multiplies in
 * double and goes on in float; torch moves the factor into mean and deviation. */
static void image_levels(const ImageProcessor *p, int channel, float level[256])
{
    float mean = p->mean[channel], std = p->std[channel];
    bool fused = p->torchvision && p->rescale && p->normalize;
    if (fused) mean *= (float)(1 / p->rescale_factor), std *= (float)(1 / p->rescale_factor);
    for (int i = 0; i < 256; i++) {
        float x = (float)i;
        if (p->rescale && !fused)
            x = p->torchvision ? x * (float)p->rescale_factor : (float)(i * p->rescale_factor);
        level[i] = p->normalize ? (x - mean) / std : x;
    }
}

static void image_put_levels(const ImageProcessor *p, const Picture *from, PixelTensor *out)
{
    size_t plane = (size_t)out->height * (size_t)out->width;
    for (int c = 0; c < 3; c++) {
        float level[256], *to = out->values + (size_t)c * plane;
        image_levels(p, c, level);
        for (int y = 0; y < from->height; y++, to += out->width) {
            const uint8_t *row = from->rgb + (size_t)y * (size_t)from->width * 3 + c;
            for (int x = 0; x < from->width; x++) to[x] = level[row[3 * x]];
        }
    }
}

bool image_prepare(Arena *arena, const ImageProcessor *p, const Picture *from, PixelTensor *out,
                   Err *err)
{
    Arena scratch = { .budget = arena->budget, .local = true };
    Picture bytes;
    bool ok = image_prepare_bytes(&scratch, p, from, &bytes, err);
    *out = (PixelTensor){ .picture_height = from->height, .picture_width = from->width };
    if (ok) {
        out->live_height = bytes.height, out->live_width = bytes.width;
        out->height = p->pad_height ? p->pad_height : bytes.height;
        out->width = p->pad_width ? p->pad_width : bytes.width;
        if (out->height < bytes.height || out->width < bytes.width)
            ok = fail(err, EF_INVALID_INPUT,
                      "picture resized to %d x %d pixels: wanted at most %d x %d", bytes.width,
                      bytes.height, out->width, out->height);
    }
    size_t pixels = (size_t)out->height * (size_t)out->width;
    if (ok)
        ok = (out->values = arena_try(arena, 3 * pixels, sizeof(float), 12 * (size_t)TENSOR_PIXELS,
                                      err)) != NULL;
    if (ok && (out->height > bytes.height || out->width > bytes.width))
        memset(out->values, 0, 3 * pixels * sizeof(float));
    if (ok) image_put_levels(p, &bytes, out);
    arena_free(&scratch);
    return ok;
}
