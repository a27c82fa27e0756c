/* SPDX-License-Identifier: Apache-2.0
 * decode_bmp.c - BMP: 1, 4, 8 bits with a palette (plain or run-length), 16, 24 and 32 bits, the
 * layouts of channels that Pillow knows; bottom up or top down. */
#include "decode.h"

enum { PLAIN, RLE8, RLE4, FIELDS }; /* the file's numbers for compression */

typedef struct BmpReader {
    PictureJob *job;
    const uint8_t *file;
    size_t size;
    uint32_t header;         /* bytes of the second header: its version */
    int64_t width, height;
    bool down;               /* rows from top to bottom */
    int bits;
    uint32_t compression, colour_count;
    size_t colours_at, data; /* where the palette and the pixels begin */
    uint32_t mask[4];        /* of red, green, blue, alpha */
    Colours colours;
} BmpReader;

static bool bmp_read_core(BmpReader *r) /* OS/2 1.x */
{
    const uint8_t *h = r->file + 14;
    r->width = le16(h + 4);
    r->height = le16(h + 6);
    r->bits = (int)le16(h + 10);
    r->colours_at = 14 + 12;
    return true;
}

/* The masks stand in the header, or behind one of 40 bytes. */
static bool bmp_read_info(BmpReader *r)
{
    const uint8_t *h = r->file + 14;
    uint32_t height = le32(h + 8);
    r->down = h[11] == 0xff;
    r->width = le32(h + 4);
    r->height = r->down ? (int64_t)(1ull << 32) - height : height;
    r->bits = (int)le16(h + 14);
    r->compression = le32(h + 16);
    r->colour_count = le32(h + 32);
    r->colours_at = 14 + r->header;
    if (r->compression != FIELDS) return true;
    if (r->header < 52) r->colours_at += 12;
    if (r->size < 14 + 40 + 12) return false;
    for (int i = 0; i < 3; i++) r->mask[i] = le32(h + 40 + 4 * i);
    if (r->header >= 56 && r->size >= 14 + 56) r->mask[3] = le32(h + 52);
    return true;
}

static bool bmp_read_header(BmpReader *r, Err *err)
{
    static const uint32_t versions[] = { 12, 40, 52, 56, 64, 108, 124 };
    if (r->size < 14 + 12) return picture_truncated(r->job, err);
    r->data = le32(r->file + 10);
    r->header = le32(r->file + 14);
    bool known = false;
    for (size_t i = 0; i < COUNT(versions); i++) known |= versions[i] == r->header;
    if (!known) return fail(err, EF_INVALID_INPUT, "found a header of %u bytes, wanted 12, 40, 52, "
                            "56, 64, 108 or 124", r->header);
    if (r->size < 14 + (size_t)r->header) return picture_truncated(r->job, err);
    if (!(r->header == 12 ? bmp_read_core(r) : bmp_read_info(r)))
        return picture_truncated(r->job, err);
    return true;
}

static bool bmp_read_colours(BmpReader *r, Err *err)
{
    uint32_t count = r->colour_count ? r->colour_count : 1u << r->bits;
    size_t step = r->header == 12 ? 3 : 4;
    if (count > 65536)
        return fail(err, EF_INVALID_INPUT, "found %u colours, wanted at most 65536", count);
    uint8_t rgb[256][3];
    size_t n = 0;
    for (; n < MIN(count, 256u) && r->colours_at + n * step + 3 <= r->size; n++) {
        const uint8_t *from = r->file + r->colours_at + n * step;
        rgb[n][0] = from[2], rgb[n][1] = from[1], rgb[n][2] = from[0];
    }
    colours_set(&r->colours, rgb[0], n);
    if (r->data == 14 + (size_t)r->header)
        r->data += step * count; /* as if it had not counted them */
    if (r->data == 0) r->data = r->colours_at + step * count;
    return true;
}

/* Channels of 16 bits and more: where in a pixel each begins, and how wide it is. */
typedef struct BmpLayout {
    int bits;
    uint32_t mask[4];
    int shift[3];
    int most[3]; /* the channel's largest value */
} BmpLayout;

/* The first of each depth is that of a file without masks. */
static const BmpLayout layouts[] = {
    { 16, { 0x7c00, 0x3e0, 0x1f }, { 10, 5, 0 }, { 31, 31, 31 } },
    { 16, { 0xf800, 0x7e0, 0x1f }, { 11, 5, 0 }, { 31, 63, 31 } },
    { 24, { 0xff0000, 0xff00, 0xff }, { 16, 8, 0 }, { 255, 255, 255 } },
    { 32, { 0xff0000, 0xff00, 0xff }, { 16, 8, 0 }, { 255, 255, 255 } },
    { 32, { 0xff000000, 0xff0000, 0xff00 }, { 24, 16, 8 }, { 255, 255, 255 } },
    { 32, { 0xff000000, 0xff00, 0xff }, { 24, 8, 0 }, { 255, 255, 255 } },
    { 32, { 0xff000000, 0xff0000, 0xff00, 0xff }, { 24, 16, 8 }, { 255, 255, 255 } },
    { 32, { 0xff, 0xff00, 0xff0000, 0xff000000 }, { 0, 8, 16 }, { 255, 255, 255 } },
    { 32, { 0xff0000, 0xff00, 0xff, 0xff000000 }, { 16, 8, 0 }, { 255, 255, 255 } },
    { 32, { 0xff000000, 0xff00, 0xff, 0xff0000 }, { 24, 8, 0 }, { 255, 255, 255 } },
    { 32, { 0, 0, 0, 0 }, { 16, 8, 0 }, { 255, 255, 255 } },
};

static const BmpLayout *bmp_layout(const BmpReader *r)
{
    for (size_t i = 0; i < COUNT(layouts); i++) {
        const BmpLayout *l = &layouts[i];
        size_t compared = l->bits == 32 ? sizeof l->mask : 3 * sizeof l->mask[0];
        if (l->bits != r->bits) continue;
        if (r->compression != FIELDS || memcmp(l->mask, r->mask, compared) == 0) return l;
    }
    return NULL;
}

/* Channels of 8 bits are bytes of the pixel. */
static void bmp_put_bytes(const BmpLayout *l, const uint8_t *row, int n, uint8_t *rgb)
{
    int red = l->shift[0] / 8, green = l->shift[1] / 8, blue = l->shift[2] / 8;
    for (int i = 0; i < n; i++, row += l->bits / 8, rgb += 3)
        rgb[0] = row[red], rgb[1] = row[green], rgb[2] = row[blue];
}

static void bmp_put_channels(const BmpLayout *l, const uint8_t *row, int n, uint8_t *rgb)
{
    if (l->bits > 16) return bmp_put_bytes(l, row, n, rgb);
    for (int i = 0; i < n; i++, row += 2, rgb += 3)
        for (int c = 0; c < 3; c++) {
            uint32_t most = (uint32_t)l->most[c];
            rgb[c] = (uint8_t)((le16(row) >> l->shift[c] & most) * 255 / most);
        }
}

static void bmp_put_indices(const BmpReader *r, const uint8_t *row, int n, uint8_t *rgb)
{
    int each = 8 / r->bits, most = (1 << r->bits) - 1;
    for (int i = 0; i < n; i++) {
        int shift = 8 - r->bits * (i % each + 1);
        memcpy(rgb + 3 * i, r->colours.rgb[row[i / each] >> shift & most], 3);
    }
}

/* Row y of the file in the picture. */
static uint8_t *bmp_row(const BmpReader *r, int y)
{
    const Picture *p = r->job->picture;
    return p->rgb + (size_t)(r->down ? y : p->height - 1 - y) * (size_t)p->width * 3;
}

/* Whether the file has the rows that its header promises; the last one needs no padding. */
static bool bmp_has_rows(const BmpReader *r)
{
    uint64_t used = ((uint64_t)r->width * (uint64_t)r->bits + 7) / 8, stride = ROUND_UP(used, 4);
    if (r->height < 1 || r->data > r->size || r->size - r->data < used) return r->height < 1;
    return (uint64_t)(r->height - 1) <= (r->size - r->data - used) / MAX(stride, (uint64_t)1);
}

static void bmp_read_plain(BmpReader *r, const BmpLayout *layout)
{
    const Picture *p = r->job->picture;
    size_t stride = ((size_t)p->width * (size_t)r->bits + 31) / 32 * 4;
    for (int y = 0; y < p->height; y++) {
        const uint8_t *row = r->file + r->data + (size_t)y * stride;
        if (layout) bmp_put_channels(layout, row, p->width, bmp_row(r, y));
        else bmp_put_indices(r, row, p->width, bmp_row(r, y));
    }
}

typedef struct BmpRuns { /* run-length data on its way to indices, row after row */
    const BmpReader *r;
    size_t at;             /* in the file */
    uint8_t *index;
    size_t n, total, width;
    size_t x;              /* in the row, as the encoder counts */
} BmpRuns;

/* The i-th index of packed bytes. */
static uint8_t bmp_index(const BmpRuns *s, const uint8_t *bytes, size_t i)
{
    if (s->r->compression == RLE8) return bytes[i];
    return i % 2 ? bytes[i / 2] & 15 : bytes[i / 2] >> 4;
}

/* One byte, or two indices of 4 bits, over and over; what leaves the row is dropped. */
static void bmp_repeat(BmpRuns *s, size_t count, const uint8_t *byte)
{
    size_t n = MIN(count, s->width - MIN(s->x, s->width));
    n = MIN(n, s->total - s->n);
    for (size_t i = 0; i < n; i++)
        s->index[s->n++] = bmp_index(s, byte, s->r->compression == RLE8 ? 0 : i % 2);
    s->x += n;
}

static void bmp_skip(BmpRuns *s, size_t count)
{
    count = MIN(count, s->total - s->n);
    memset(s->index + s->n, 0, count);
    s->n += count;
}

/* Indices as they are. False: the data ends. */
static bool bmp_copy(BmpRuns *s, size_t count)
{
    size_t n = MIN(count, s->total - s->n);
    size_t bytes = s->r->compression == RLE8 ? n : (n + 1) / 2;
    if (bytes > s->r->size - s->at) return false;
    for (size_t i = 0; i < n; i++) s->index[s->n++] = bmp_index(s, s->r->file + s->at, i);
    s->x += count;
    s->at += bytes;
    s->at += s->at & 1; /* to a word, counted from the file's start */
    return true;
}

/* One step. False: nothing follows. */
static bool bmp_step(BmpRuns *s)
{
    enum { LINE_ENDS, ENDS, MOVE };
    const BmpReader *r = s->r;
    if (s->n >= s->total || s->at > r->size || r->size - s->at < 2) return false;
    size_t count = r->file[s->at], what = r->file[s->at + 1];
    s->at += 2;
    if (count) return bmp_repeat(s, count, r->file + s->at - 1), true;
    if (what == LINE_ENDS) {
        bmp_skip(s, (s->width - s->n % s->width) % s->width);
        s->x = 0;
        return true;
    }
    if (what == ENDS || (what == MOVE && r->size - s->at < 2)) return false;
    if (what != MOVE) return bmp_copy(s, what);
    bmp_skip(s, r->file[s->at] + r->file[s->at + 1] * s->width);
    s->x = s->n % s->width;
    s->at += 2;
    return true;
}

static bool bmp_read_runs(BmpReader *r, Err *err)
{
    const Picture *p = r->job->picture;
    BmpRuns s = { .r = r, .at = r->data, .width = (size_t)p->width,
                  .total = (size_t)p->width * (size_t)p->height };
    if (!(s.index = arena_try(r->job->scratch, s.total, 1, SIZE_MAX, err))) return false;
    while (bmp_step(&s)) {
    }
    if (s.n < s.total) return picture_truncated(r->job, err);
    for (int y = 0; y < p->height; y++)
        colours_put(&r->colours, s.index + (size_t)y * s.width, p->width, bmp_row(r, y));
    return true;
}

static bool bmp_check(const BmpReader *r, const BmpLayout *layout, Err *err)
{
    bool indices = r->bits == 1 || r->bits == 4 || r->bits == 8;
    if (r->compression > FIELDS)
        return fail(err, EF_INVALID_INPUT, "found compression %u, wanted 0 to 3", r->compression);
    if (!indices && r->bits != 16 && r->bits != 24 && r->bits != 32)
        return fail(err, EF_INVALID_INPUT, "found %d bits a pixel, wanted 1, 4, 8, 16, 24 or 32",
                    r->bits);
    bool runs = r->compression == RLE8 || r->compression == RLE4;
    if (runs ? r->bits != (r->compression == RLE8 ? 8 : 4) : !indices && !layout)
        return fail(err, EF_INVALID_INPUT, "found %d bits a pixel in a layout that is not known",
                    r->bits);
    if (indices && r->compression == FIELDS)
        return fail(err, EF_INVALID_INPUT, "found masks and %d bits a pixel", r->bits);
    return true;
}

bool picture_read_bmp(PictureJob *job, Err *err)
{
    BmpReader *r = NEW(job->scratch, BmpReader);
    r->job = job;
    r->file = (const uint8_t *)job->bytes.p;
    r->size = job->bytes.n;
    if (!bmp_read_header(r, err)) return false;
    const BmpLayout *layout = bmp_layout(r);
    if (!bmp_check(r, layout, err)) return false;
    if (r->bits <= 8 && !bmp_read_colours(r, err)) return false;
    if (r->data == 0) r->data = r->colours_at;
    bool runs = r->compression == RLE8 || r->compression == RLE4;
    bool small = r->height < 1 || r->width <= job->pixels / r->height;
    if (!runs && small && !bmp_has_rows(r)) return picture_truncated(job, err);
    if (!picture_room(job, r->width, r->height, err)) return false;
    if (runs) return bmp_read_runs(r, err);
    bmp_read_plain(r, layout);
    return true;
}
