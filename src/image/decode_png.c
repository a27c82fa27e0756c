/* SPDX-License-Identifier: Apache-2.0
 * decode_png.c - PNG by libpng: every type and depth, interlaced or not. Colour management,
 * transparency and gamma are left aside, as Pillow leaves them: of 16 bits the upper 8 count,
 * except in grey pictures, where a value above 255 is white.
 *
 * libpng allocates in the scratch arena, and reports an error by a jump that lands in this file. */
#include <setjmp.h>

#include <png.h>

#include "decode.h"

/* libpng has this one, which its reader needs as well, among all that writes files: 38 KB of the program.
 * Weak: a static program of others, which may write files, has libpng's. */
__attribute__((weak)) void(png_save_uint_32)(png_bytep out, png_uint_32 n)
{
    for (int i = 0; i < 4; i++) out[i] = (png_byte)(n >> (24 - 8 * i));
}

typedef struct PngReader {
    PictureJob *job;
    Err *err;
    size_t at;       /* in the file */
    png_structp png;
    png_infop info;
    int width, height, passes;
    int bits;        /* of a pixel in the file */
    int bytes; /* of a pixel as libpng gives it: 1 an index or grey, 2 grey of 16 bits, 3 RGB */
    Colours colours;
} PngReader;

static void png_fail(png_structp png, png_const_charp message)
{
    PngReader *r = png_get_error_ptr(png);
    fail(r->err, EF_INVALID_INPUT, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void png_ignore(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static png_voidp png_take_memory(png_structp png, png_alloc_size_t size)
{
    return arena_raw(png_get_mem_ptr(png), size);
}

static void png_keep_memory(png_structp png, png_voidp p)
{
    (void)png, (void)p; /* it ends with the scratch arena */
}

static void png_take_bytes(png_structp png, png_bytep to, size_t n)
{
    PngReader *r = png_get_io_ptr(png);
    if (n > r->job->bytes.n - r->at) {
        picture_truncated(r->job, r->err);
        longjmp(png_jmpbuf(png), 1);
    }
    memcpy(to, r->job->bytes.p + r->at, n);
    r->at += n;
}

/* Chunks that say nothing about the pixels as Pillow sees them: skipped, so that nothing of them is
 * decompressed or kept. */
static void png_skip_chunks(png_structp png)
{
    static const png_byte names[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0"
                                    "sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0tRNS\0zTXt";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
}

/* Grey of 1, 2 and 4 bits is spread over 0 to 255; indices stand for the file's colours. */
static void png_find_colours(PngReader *r, int type, int depth)
{
    colours_grey(&r->colours);
    int levels = depth < 8 ? (1 << depth) - 1 : 255;
    for (int i = 0; type == PNG_COLOR_TYPE_GRAY && i <= levels; i++)
        memset(r->colours.rgb[i], i * 255 / levels, 3);
    png_colorp palette;
    int count = 0;
    if (type != PNG_COLOR_TYPE_PALETTE || !png_get_PLTE(r->png, r->info, &palette, &count)) return;
    memset(r->colours.rgb, 0, sizeof r->colours.rgb);
    for (int i = 0; i < count; i++) {
        uint8_t *to = r->colours.rgb[i];
        to[0] = palette[i].red, to[1] = palette[i].green, to[2] = palette[i].blue;
    }
}

static bool png_open(PngReader *r)
{
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, png_fail, png_ignore,
                                      r->job->scratch, png_take_memory, png_keep_memory);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info) return fail(r->err, EF_INTERNAL, "libpng refuses to start");
    return true;
}

/* The header, and how its pixels are to be given. Jumps on errors. */
static void png_begin(PngReader *r)
{
    png_structp png = r->png;
    png_set_read_fn(png, r, png_take_bytes);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* picture_room has the limit */
    png_skip_chunks(png);
    png_read_info(png, r->info);
    int type = png_get_color_type(png, r->info), depth = png_get_bit_depth(png, r->info);
    bool grey16 = type == PNG_COLOR_TYPE_GRAY && depth == 16;
    r->width = (int)png_get_image_width(png, r->info);
    r->height = (int)png_get_image_height(png, r->info);
    r->bits = depth * png_get_channels(png, r->info);
    r->bytes = type & PNG_COLOR_MASK_COLOR && type != PNG_COLOR_TYPE_PALETTE ? 3 : grey16 ? 2 : 1;
    png_find_colours(r, type, depth);
    png_set_packing(png);
    png_set_strip_alpha(png);
    if (depth == 16 && !grey16) png_set_strip_16(png);
    r->passes = png_set_interlace_handling(png);
}

static void png_put_row(const PngReader *r, uint8_t *row, uint8_t *rgb)
{
    if (r->bytes == 2) /* 16 bits to 8, in place */
        for (int x = 0; x < r->width; x++) row[x] = row[2 * x] ? 255 : row[2 * x + 1];
    colours_put(&r->colours, row, r->width, rgb);
}

/* rows: room for one row, or for all of an interlaced picture. Jumps on errors. libpng makes room for
 * rows of its own here, when the width is known to be allowed, and not with the header. */
static void png_pass_rows(PngReader *r, uint8_t *rows, size_t row)
{
    size_t out = (size_t)r->width * 3;
    uint8_t *rgb = r->job->picture->rgb;
    bool direct = r->bytes == 3;
    png_start_read_image(r->png);
    for (int pass = 0; pass < r->passes; pass++)
        for (int y = 0; y < r->height; y++) {
            uint8_t *to =
                direct ? rgb + (size_t)y * out : rows + (r->passes > 1 ? (size_t)y * row : 0);
            png_read_row(r->png, to, NULL);
            if (!direct && pass == r->passes - 1) png_put_row(r, to, rgb + (size_t)y * out);
        }
}

static bool png_run_header(PngReader *r)
{
    if (setjmp(png_jmpbuf(r->png))) return false;
    png_begin(r);
    return true;
}

static bool png_run_rows(PngReader *r, uint8_t *rows, size_t row)
{
    if (setjmp(png_jmpbuf(r->png))) return false;
    png_pass_rows(r, rows, row);
    return true;
}

/* Deflate makes at most 1032 bytes out of one: a header that promises more lies. Found out before
 * there is memory for the picture; pictures over the limit have their own message. */
static bool png_may_fit(const PngReader *r)
{
    uint64_t packed = (uint64_t)r->width * (uint64_t)r->bits / 8;
    return packed * (uint64_t)r->height / 1032 <= r->job->bytes.n ||
           (int64_t)r->width > r->job->pixels / r->height;
}

bool picture_read_png(PictureJob *job, Err *err)
{
    PngReader *r = NEW(job->scratch, PngReader);
    r->job = job;
    r->err = err;
    if (!png_open(r) || !png_run_header(r)) return false;
    if (!png_may_fit(r)) return picture_truncated(job, err);
    if (!picture_room(job, r->width, r->height, err)) return false;
    size_t row = (size_t)r->width * (size_t)r->bytes;
    uint8_t *rows = NULL;
    if (r->bytes < 3 && !(rows = arena_try(job->scratch, r->passes > 1 ? (size_t)r->height : 1, row,
                                           SIZE_MAX, err)))
        return false;
    if (r->passes > 1) memset(r->bytes < 3 ? rows : job->picture->rgb, 0, row * (size_t)r->height);
    return png_run_rows(r, rows, row);
}
