/* SPDX-License-Identifier: Apache-2.0
 * decode_gif.c - GIF, the first frame. What the frame does not cover has the transparent index, or
 * index 0; transparent pixels keep the colour of their index. */
#include "decode.h"

enum { LZW_CODES = 4096, LZW_BITS = 12 };

typedef struct GifReader {
    const uint8_t *p, *end;
    int transparent;       /* an index; -1: none */
    Colours colours;
} GifReader;

typedef struct GifFrame {
    int left, top, width, height;
    bool interlaced;
    uint8_t *index;        /* [height][width] */
} GifFrame;

typedef struct Lzw {
    const uint8_t *p, *end;
    size_t block;          /* bytes left of the data block */
    uint32_t bits;
    int bit_count, size;   /* of a code, in bits */
    int clear, next;       /* clear + 1 ends the data; next: the first free code */
    int last, last_byte;   /* the code before; -1: none since the table was cleared */
    uint16_t link[LZW_CODES];
    uint8_t byte[LZW_CODES];
    uint8_t text[LZW_CODES + 1]; /* a code's bytes, filled from the back */
} Lzw;

/* The next code; -1: the data ends before. */
static int lzw_code(Lzw *z)
{
    while (z->bit_count < z->size) {
        if (z->p >= z->end) return -1;
        uint32_t c = *z->p++;
        if (z->block-- == 0) {
            z->block = c; /* one of no bytes ends nothing: Pillow reads on */
            if (c > (size_t)(z->end - z->p)) z->p = z->end; /* truncated, whatever is missing */
            continue;
        }
        z->bits |= c << z->bit_count;
        z->bit_count += 8;
    }
    int code = (int)(z->bits & ((1u << z->size) - 1));
    z->bits >>= z->size;
    z->bit_count -= z->size;
    return code;
}

static void lzw_clear(Lzw *z, int bits)
{
    z->size = bits + 1;
    z->next = z->clear + 2;
    z->last = -1;
}

/* Writes a code's bytes to the end of z->text and returns how many; 0: there is no such code. */
static int lzw_expand(Lzw *z, int code)
{
    uint8_t *to = z->text + sizeof z->text;
    int c = code;
    if (z->last < 0 ? c >= z->clear : c > z->next) return 0;
    if (z->last >= 0 && c == z->next) *--to = (uint8_t)z->last_byte, c = z->last;
    for (; c >= z->clear; c = z->link[c]) {
        if (c >= LZW_CODES || to == z->text) return 0;
        *--to = z->byte[c];
    }
    *--to = (uint8_t)c;
    z->last_byte = c;
    if (z->last >= 0 && z->next < LZW_CODES) {
        z->byte[z->next] = (uint8_t)c;
        z->link[z->next] = (uint16_t)z->last;
        if (z->next == (1 << z->size) - 1 && z->size < LZW_BITS) z->size++;
        z->next++;
    }
    z->last = code;
    return (int)(z->text + sizeof z->text - to);
}

/* Where the row after y is stored; the height itself after the last. */
static int gif_next_row(const GifFrame *f, int y, int *pass)
{
    static const struct { int first, step; } passes[] = { { 0, 8 }, { 4, 8 }, { 2, 4 }, { 1, 2 } };
    if (!f->interlaced) return y + 1;
    y += passes[*pass].step;
    while (y >= f->height && *pass < 3) y = passes[++*pass].first;
    return y;
}

/* Fills the frame. False: the data is broken or ends early. */
static bool gif_read_pixels(Lzw *z, const GifFrame *f, int bits)
{
    int x = 0, y = 0, pass = 0;
    z->clear = 1 << bits;
    lzw_clear(z, bits);
    while (y < f->height) {
        int code = lzw_code(z);
        if (code == z->clear) {
            lzw_clear(z, bits);
            continue;
        }
        if (code < 0 || code == z->clear + 1) return false;
        int n = lzw_expand(z, code);
        if (n == 0) return false;
        for (const uint8_t *text = z->text + sizeof z->text - n; n > 0 && y < f->height;) {
            int part = MIN(n, f->width - x);
            uint8_t *to = f->index + (size_t)y * (size_t)f->width + x;
            for (int i = 0; i < part; i++) to[i] = text[i]; /* most are a few bytes */
            text += part, n -= part, x += part;
            if (x == f->width) x = 0, y = gif_next_row(f, y, &pass);
        }
    }
    return true;
}

static bool gif_has(const GifReader *r, size_t n)
{
    return (size_t)(r->end - r->p) >= n;
}

/* A table of colours, where the flags say that there is one. */
static bool gif_read_colours(GifReader *r, int flags)
{
    int count = 2 << (flags & 7);
    if (!(flags & 128)) return true;
    if (!gif_has(r, (size_t)count * 3)) return false;
    colours_set(&r->colours, r->p, (size_t)count);
    r->p += count * 3;
    return true;
}

/* Past the blocks of an extension, up to the one of no bytes. */
static bool gif_read_extension(GifReader *r)
{
    enum { GRAPHIC_CONTROL = 249 };
    if (!gif_has(r, 1)) return false;
    int label = *r->p++;
    for (bool first = true; gif_has(r, 1); first = false) {
        size_t n = *r->p++;
        if (n == 0) return true;
        if (!gif_has(r, n)) return false;
        if (first && label == GRAPHIC_CONTROL && n >= 4 && r->p[0] & 1) r->transparent = r->p[3];
        r->p += n;
    }
    return false;
}

/* Up to the first frame's descriptor. False: there is none. */
static bool gif_find_frame(GifReader *r)
{
    while (gif_has(r, 1)) {
        int kind = *r->p++;
        if (kind == ',') return true;
        if (kind == ';' || (kind == '!' && !gif_read_extension(r))) return false;
    }
    return false;
}

static void gif_put(const PictureJob *job, const GifReader *r, const GifFrame *f)
{
    const Picture *p = job->picture;
    const uint8_t *around = r->colours.rgb[MAX(r->transparent, 0)];
    bool covered = f->width == p->width && f->height == p->height;
    for (size_t i = 0; !covered && i < (size_t)p->width * (size_t)p->height; i++)
        memcpy(p->rgb + 3 * i, around, 3);
    for (int y = 0; y < f->height; y++)
        colours_put(&r->colours, f->index + (size_t)y * (size_t)f->width, f->width,
                    p->rgb + 3 * ((size_t)(f->top + y) * (size_t)p->width + (size_t)f->left));
}

/* r->p is behind the frame's descriptor. */
static bool gif_read_frame(PictureJob *job, GifReader *r, GifFrame *f, Err *err)
{
    if (!gif_has(r, 1)) return picture_truncated(job, err);
    int bits = *r->p++;
    if (bits > LZW_BITS - 1)
        return fail(err, EF_INVALID_INPUT, "found codes of %d bits, wanted at most 11", bits);
    size_t pixels = (size_t)f->width * (size_t)f->height;
    if (!(f->index = arena_try(job->scratch, pixels, 1, SIZE_MAX, err))) return false;
    Lzw *z = NEW(job->scratch, Lzw);
    z->p = r->p;
    z->end = r->end;
    if (gif_read_pixels(z, f, bits)) return gif_put(job, r, f), true;
    if (z->p >= z->end) return picture_truncated(job, err);
    return fail(err, EF_INVALID_INPUT,
                "the data is broken, or ends before the picture is complete");
}

bool picture_read_gif(PictureJob *job, Err *err)
{
    enum { SCREEN = 13, DESCRIPTOR = 9 };
    GifReader *r = NEW(job->scratch, GifReader);
    const uint8_t *head = (const uint8_t *)job->bytes.p;
    r->end = head + job->bytes.n;
    r->p = head + SCREEN;
    r->transparent = -1;
    colours_grey(&r->colours);
    if (job->bytes.n < SCREEN || !gif_read_colours(r, head[10])) return picture_truncated(job, err);
    if (!gif_find_frame(r)) return fail(err, EF_INVALID_INPUT, "found no frame, wanted one");
    const uint8_t *d = r->p;
    if (!gif_has(r, DESCRIPTOR)) return picture_truncated(job, err);
    r->p += DESCRIPTOR;
    GifFrame f = { (int)le16(d), (int)le16(d + 2), (int)le16(d + 4), (int)le16(d + 6),
                   .interlaced = d[8] & 64 };
    if (f.width < 1 || f.height < 1)
        return fail(err, EF_INVALID_INPUT, "found a frame of %d x %d pixels, wanted at least 1 x 1",
                    f.width, f.height);
    if (!gif_read_colours(r, d[8])) return picture_truncated(job, err);
    int width = MAX((int)le16(head + 6), f.left + f.width);
    int height = MAX((int)le16(head + 8), f.top + f.height);
    return picture_room(job, width, height, err) && gif_read_frame(job, r, &f, err);
}
