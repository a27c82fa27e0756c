/* SPDX-License-Identifier: Apache-2.0
 * decode.c - which format the bytes are, the limits that hold for all of them, and what the
 * decoders share. */
#include "decode.h"

#include "base/budget.h"
#include "data/uri.h"

typedef struct PictureFormat {
    const char *name;
    Magic magic;
    PictureReadFn *read;       /* NULL: known, but not decoded */
    int (*orientation)(Str file); /* NULL: always 1 */
    bool pillow;               /* not decoded here, but by Pillow of Python */
} PictureFormat;

static const PictureFormat formats[] = {
    { "JPEG", MAGIC("\xff\xd8\xff"), picture_read_jpeg, picture_orientation_jpeg },
    { "PNG", MAGIC("\x89PNG\r\n\x1a\n"), picture_read_png, picture_orientation_png },
    { "WebP", MAGIC("RIFF????WEBP"), picture_read_webp, picture_orientation_webp },
    { "GIF", MAGIC("GIF87a"), picture_read_gif },
    { "GIF", MAGIC("GIF89a"), picture_read_gif },
    { "BMP", MAGIC("BM"), picture_read_bmp },
    { "TIFF", MAGIC("II*\0"), .pillow = true },
    { "TIFF", MAGIC("MM\0*"), .pillow = true },
    { "TIFF", MAGIC("II+\0"), .pillow = true },
    { "TIFF", MAGIC("MM\0+"), .pillow = true },
    { "AVIF", MAGIC("????ftypavi"), .pillow = true },
    { "HEIC", MAGIC("????ftyphe") },
    { "HEIC", MAGIC("????ftypmif1") },
    { "HEIC", MAGIC("????ftypmsf1") },
    { "MP4", MAGIC("????ftyp") },
    { "JPEG XL", MAGIC("\xff\x0a") },
    { "JPEG XL", MAGIC("\0\0\0\x0cJXL ") },
    { "JPEG 2000", MAGIC("\0\0\0\x0cjP  "), .pillow = true },
    { "JPEG 2000", MAGIC("\xff\x4f\xff\x51"), .pillow = true },
    { "ICO", MAGIC("\0\0\1\0"), .pillow = true },
    { "PSD", MAGIC("8BPS"), .pillow = true },
    { "PDF", MAGIC("%PDF-") },
    { "SVG", MAGIC("<svg") },
    { "SVG or XML", MAGIC("<?xml") },
    { "HTML", MAGIC("<!") },
};

const char *picture_formats(void)
{
    return "JPEG, PNG, WebP, GIF or BMP";
}

bool picture_from_text(Arena *arena, Str text, Str *bytes, Err *err)
{
    return uri_read(arena, "picture", text, bytes, err);
}

static const PictureFormat *format_of(Str bytes)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (bytes_begin(bytes, &formats[i].magic)) return &formats[i];
    return NULL;
}

static bool format_unknown(Str bytes, Err *err)
{
    if (bytes.n == 0)
        return fail(err, EF_INVALID_INPUT, "picture: found no bytes, wanted %s", picture_formats());
    char start[BYTES_SHOWN];
    return fail(err, EF_INVALID_INPUT, "picture: found %zu bytes that begin with \"%s\", wanted %s",
                bytes.n, bytes_show(bytes, start), picture_formats());
}

bool picture_read(Arena *arena, Str bytes, const PictureLimits *limits, Picture *out, Err *err)
{
    const PictureFormat *format = format_of(bytes);
    if (!format) return format_unknown(bytes, err);
    if (!format->read)
        return fail(err, EF_MEDIA_TYPE, "picture: found %s, wanted %s%s", format->name, picture_formats(),
                    format->pillow ? ": convert it, or in Python open it with Pillow and pass the Image" : "");
    Arena scratch = { .budget = arena->budget, .local = true };
    *out = (Picture){ .format = format->name,
                      .orientation = format->orientation ? format->orientation(bytes) : 1 };
    int64_t pixels = limits && limits->pixels ? MIN(limits->pixels, INT32_MAX) : PICTURE_PIXELS;
    PictureJob job = { .arena = arena, .scratch = &scratch, .bytes = bytes, .picture = out,
                       .pixels = pixels };
    bool ok = format->read(&job, err);
    if (ok && out->orientation > 1) ok = picture_turn(&job, err);
    arena_free(&scratch);
    return ok || within(err, "picture: %s", format->name);
}

void *picture_bytes(Arena *arena, const Picture *p, Err *err)
{
    return arena_try(arena, (size_t)p->width * (size_t)p->height, 3, SIZE_MAX, err);
}

bool picture_room(PictureJob *job, int64_t width, int64_t height, Err *err)
{
    if (width < 1 || height < 1)
        return fail(err, EF_INVALID_INPUT, "found %lld x %lld pixels, wanted at least 1 x 1",
                    (long long)width, (long long)height);
    if (width > job->pixels / height)
        return fail(err, EF_TOO_LARGE, "found %lld x %lld pixels, wanted at most %lld in all",
                    (long long)width, (long long)height, (long long)job->pixels);
    Picture *p = job->picture;
    p->width = (int)width;
    p->height = (int)height;
    Arena *arena = p->orientation > 1 ? job->scratch : job->arena; /* picture_turn makes another */
    return (p->rgb = picture_bytes(arena, p, err)) != NULL;
}

bool picture_truncated(const PictureJob *job, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "the file is truncated: it ends after %zu bytes",
                job->bytes.n);
}

void picture_hold(PictureJob *job, size_t bytes)
{
    Budget *budget = job->arena->budget;
    if (budget && !budget_draw(budget, bytes)) memory_missing(bytes, budget, true);
}

void picture_release(PictureJob *job, size_t bytes)
{
    if (job->arena->budget) budget_return(job->arena->budget, bytes);
}

void colours_grey(Colours *c)
{
    for (int i = 0; i < 256; i++) memset(c->rgb[i], i, 3);
}

void colours_set(Colours *c, const uint8_t *rgb, size_t count)
{
    count = MIN(count, COUNT(c->rgb));
    colours_grey(c);
    if (memcmp(c->rgb, rgb, 3 * count) == 0) return;
    memset(c->rgb, 0, sizeof c->rgb);
    memcpy(c->rgb, rgb, 3 * count);
}

void colours_put(const Colours *c, const uint8_t *index, int n, uint8_t *rgb)
{
    for (int i = 0; i < n; i++, rgb += 3) {
        const uint8_t *from = c->rgb[index[i]];
        rgb[0] = from[0], rgb[1] = from[1], rgb[2] = from[2];
    }
}
