/* SPDX-License-Identifier: Apache-2.0
 * resize.c - Pillow's resampling, to the bit: for each axis a table of whole-number weights, the
 * horizontal pass first, rounded to 8 bits between the passes. torchvision differs only in how
 * many bits a weight has.
 *
 * Both passes are one kernel, a weighted sum of rows of bytes. For the horizontal pass 16 rows are
 * transposed, so that a column is a row of 16 * 3 bytes; only what the window needs is computed. */
#include <math.h>

#include "image.h"
#include "kernels/kernels.h"

enum { LANES = 16 };   /* rows that are transposed together */

static double filter_bilinear(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double filter_bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double filter_sinc(double x)
{
    return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI);
}

static double filter_lanczos(double x)
{
    return -3 <= x && x < 3 ? filter_sinc(x) * filter_sinc(x / 3) : 0;
}

static double filter_box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double filter_hamming(double x)
{
    x = fabs(x);
    if (x == 0) return 1;
    if (x >= 1) return 0;
    x *= M_PI;
    return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x));
}

static const struct ResizeFilter {
    double (*weight)(double);
    double support; /* it is zero further away */
} filters[] = {
    [RESAMPLE_LANCZOS] = { filter_lanczos, 3 },   [RESAMPLE_BILINEAR] = { filter_bilinear, 1 },
    [RESAMPLE_BICUBIC] = { filter_bicubic, 2 },   [RESAMPLE_BOX] = { filter_box, 0.5 },
    [RESAMPLE_HAMMING] = { filter_hamming, 1 },
};

typedef struct ResizeAxis { /* of the window's rows or columns, in terms of the picture's */
    int from, to;           /* of the resized picture: those that are computed */
    int *first;             /* [to - from]: the first that counts */
    int *count;             /* [to - from]: how many count; 1 and no weights: copied */
    int32_t *weight;        /* [to - from][taps] */
    int taps, shift;
    int low, high;          /* all that count lie here */
} ResizeAxis;

typedef struct ResizeSpan { /* an axis that is asked for */
    int in, out;            /* pixels before and after */
    int from, to;           /* what is wanted of those after */
} ResizeSpan;

/* Which pixels count for the output i. Returns how many, and the middle in *centre. */
static int axis_reach(const ResizeSpan *s, double support, int i, int *first, double *centre)
{
    *centre = (i + 0.5) * ((double)s->in / s->out);
    int low = MAX((int)(*centre - support + 0.5), 0);
    *first = low;
    return MIN((int)(*centre + support + 0.5), s->in) - low;
}

/* The weights of the output i; they add up to 1. Returns how many. */
static int axis_weigh(const ResizeSpan *s, Resample resample, int i, int *first, double *w)
{
    const struct ResizeFilter *f = &filters[resample];
    double stretch = fmax((double)s->in / s->out, 1), step = 1 / stretch, centre, sum = 0;
    int n = axis_reach(s, f->support * stretch, i, first, &centre);
    for (int t = 0; t < n; t++) sum += w[t] = f->weight((t + *first - centre + 0.5) * step);
    for (int t = 0; t < n && sum != 0; t++) w[t] /= sum;
    return n;
}

/* Bits of a weight. torchvision: as many as keep the largest of the axis in 16, window or not. */
static int axis_shift(const ResizeSpan *s, Resample resample, ResizeRounding rounding, double *w)
{
    enum { PILLOW_BITS = 22 };
    if (rounding == ROUND_PILLOW) return PILLOW_BITS;
    double most = 0;
    for (int i = 0, first; i < s->out; i++)
        for (int t = axis_weigh(s, resample, i, &first, w); t-- > 0;) most = fmax(most, w[t]);
    int bits = 0;
    while (bits < PILLOW_BITS && (int)(0.5 + most * (1 << (bits + 1))) < 1 << 15) bits++;
    return bits;
}

static void axis_round(const double *w, int n, int shift, int32_t *out)
{
    for (int t = 0; t < n; t++) out[t] = (int32_t)((w[t] < 0 ? -0.5 : 0.5) + w[t] * (1 << shift));
}

static void axis_bounds(ResizeAxis *a)
{
    int n = a->to - a->from;
    a->low = n ? a->first[0] : 0;
    a->high = n ? a->first[n - 1] + a->count[n - 1] : 0; /* `first` and its end never go back */
}

/* Without weights: the pixel in whose place the middle of the new one falls. Pillow adds up steps
 * in double, torch multiplies in float: their roundings are part of the result. */
static void axis_pick(ResizeAxis *a, const ResizeSpan *s, ResizeRounding rounding)
{
    double step = (double)s->in / s->out, at = step * 0.5;
    float step32 = (float)s->in / (float)s->out;
    for (int i = 0; i < a->to; i++, at += step) {
        int pixel = rounding == ROUND_PILLOW ? (int)at : (int)(((float)i + 0.5f) * step32);
        if (i >= a->from) a->first[i - a->from] = MIN(pixel, s->in - 1), a->count[i - a->from] = 1;
    }
}

static ResizeAxis axis_of(Arena *scratch, const ResizeSpan *s, Resample resample,
                          ResizeRounding rounding)
{
    ResizeAxis a = { .from = s->from, .to = s->to };
    size_t n = (size_t)(s->to - s->from);
    a.first = ARRAY(scratch, int, n);
    a.count = ARRAY(scratch, int, n);
    double scale = (double)s->in / s->out;
    if (s->in == s->out || resample == RESAMPLE_NEAREST) {
        axis_pick(&a, s, rounding);
    } else {
        a.taps = 2 * (int)ceil(filters[resample].support * fmax(scale, 1)) + 1;
        double *w = ARRAY(scratch, double, a.taps);
        a.shift = axis_shift(s, resample, rounding, w);
        a.weight = ARRAY(scratch, int32_t, n * (size_t)a.taps);
        for (size_t i = 0; i < n; i++) {
            a.count[i] = axis_weigh(s, resample, s->from + (int)i, &a.first[i], w);
            axis_round(w, a.count[i], a.shift, a.weight + i * (size_t)a.taps);
        }
    }
    axis_bounds(&a);
    return a;
}

typedef uint8_t Bytes16 __attribute__((vector_size(16), aligned(1), may_alias));

/* The bytes of the lower halves, and of the upper ones, in turns. */
#define LOWER(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* to[16][16] = transposed from[16][16]; rows so many bytes apart. Four rounds, each of which pairs
 * the rows i and i + 8. Unrolled, or the vectors would go through memory: 1.5 times slower. */
static void transpose_16(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row)
{
    Bytes16 a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = *(const Bytes16 *)(from + (size_t)i * from_row);
#pragma GCC unroll 2
    for (int round = 0; round < 2; round++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            b[2 * i] = LOWER(a[i], a[i + 8]), b[2 * i + 1] = UPPER(a[i], a[i + 8]);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            a[2 * i] = LOWER(b[i], b[i + 8]), a[2 * i + 1] = UPPER(b[i], b[i + 8]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) *(Bytes16 *)(to + (size_t)i * to_row) = a[i];
}
#undef LOWER
#undef UPPER

typedef struct PixelRows {
    uint8_t *p;
    size_t step; /* bytes from row to row */
} PixelRows;

static PixelRows rows_at(PixelRows r, int row)
{
    return (PixelRows){ r.p + (size_t)row * r.step, r.step };
}

/* turned[bytes][16] = up to 16 rows, transposed. Squares that are not whole go through a copy. */
static void transpose_from(PixelRows from, int rows, size_t bytes, uint8_t *turned)
{
    size_t whole = rows == LANES ? bytes / LANES * LANES : 0;
    for (size_t c = 0; c < whole; c += LANES)
        transpose_16(from.p + c, from.step, turned + c * LANES, LANES);
    for (size_t c = whole; c < bytes; c += LANES) {
        uint8_t square[LANES * LANES] = { 0 };
        for (int y = 0; y < rows; y++)
            memcpy(square + y * LANES, rows_at(from, y).p + c, MIN(bytes - c, (size_t)LANES));
        transpose_16(square, LANES, turned + c * LANES, LANES);
    }
}

static void transpose_to(const uint8_t *turned, size_t bytes, PixelRows to, int rows)
{
    size_t whole = rows == LANES ? bytes / LANES * LANES : 0;
    for (size_t c = 0; c < whole; c += LANES)
        transpose_16(turned + c * LANES, LANES, to.p + c, to.step);
    for (size_t c = whole; c < bytes; c += LANES) {
        uint8_t square[LANES * LANES];
        transpose_16(turned + c * LANES, LANES, square, LANES);
        for (int y = 0; y < rows; y++)
            memcpy(rows_at(to, y).p + c, square + y * LANES, MIN(bytes - c, (size_t)LANES));
    }
}

typedef struct ResizeTurned { /* 16 rows, transposed: [bytes rounded up to 16][16] */
    uint8_t *in, *out;
} ResizeTurned;

/* Up to 16 rows, which begin at the column x->low. */
static void across_lanes(const ResizeAxis *x, ResizeTurned turned, PixelRows from, int rows,
                         PixelRows to)
{
    const Kernels *k = kernels();
    size_t width = (size_t)(x->to - x->from), pixel = 3 * LANES;
    transpose_from(from, rows, (size_t)(x->high - x->low) * 3, turned.in);
    for (size_t i = 0; i < width; i++)
        k->blend_rows(turned.in + (size_t)(x->first[i] - x->low) * pixel, (int64_t)pixel,
                      x->weight + i * (size_t)x->taps, x->count[i], x->shift,
                      turned.out + i * pixel, (int64_t)pixel);
    transpose_to(turned.out, width * 3, to, rows);
}

/* Without weights. */
static void across_pick(const ResizeAxis *x, const uint8_t *row, uint8_t *to)
{
    for (int i = 0; i < x->to - x->from; i++, to += 3) {
        const uint8_t *from = row + (size_t)(x->first[i] - x->low) * 3;
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
}

static void resize_across(Arena *scratch, const ResizeAxis *x, PixelRows from, int rows,
                          PixelRows to)
{
    for (int y = 0; !x->weight && y < rows; y++)
        across_pick(x, rows_at(from, y).p, rows_at(to, y).p);
    if (!x->weight) return;
    size_t in = ROUND_UP((size_t)(x->high - x->low) * 3, LANES),
           out = ROUND_UP((size_t)(x->to - x->from) * 3, LANES);
    ResizeTurned turned = { arena_raw(scratch, in * LANES), arena_raw(scratch, out * LANES) };
    for (int y = 0; y < rows; y += LANES)
        across_lanes(x, turned, rows_at(from, y), MIN(rows - y, LANES), rows_at(to, y));
}

/* from begins at the row y->low; so many bytes of each row. */
static void resize_down(const ResizeAxis *y, PixelRows from, size_t bytes, PixelRows to)
{
    for (int i = 0; i < y->to - y->from; i++) {
        const uint8_t *row = rows_at(from, y->first[i] - y->low).p;
        if (!y->weight) memcpy(rows_at(to, i).p, row, bytes);
        else
            kernels()->blend_rows(row, (int64_t)from.step, y->weight + (size_t)i * (size_t)y->taps,
                                  y->count[i], y->shift, rows_at(to, i).p, (int64_t)bytes);
    }
}

/* Both passes; each rounds to 8 bits, so that their order counts. */
static void resize_both(Arena *scratch, const ResizeAxis *x, const ResizeAxis *y, bool down_first,
                        PixelRows from, PixelRows to)
{
    int width = x->to - x->from, rows = y->high - y->low;
    PixelRows middle = { .step = 3 * (size_t)(down_first ? x->high - x->low : width) };
    middle.p = arena_raw(scratch, middle.step * (size_t)(down_first ? y->to - y->from : rows));
    if (down_first) {
        resize_down(y, from, middle.step, middle);
        resize_across(scratch, x, middle, y->to - y->from, to);
    } else {
        resize_across(scratch, x, from, rows, middle);
        resize_down(y, middle, middle.step, to);
    }
}

/* What the window wants of an axis of `out` pixels: [from, to), behind `skip` that lie outside. */
static ResizeSpan resize_span(int in, int out, int start, int length, int *skip)
{
    int from = MIN(MAX(start, 0), out), to = MAX(MIN(start + length, out), from);
    *skip = from - start;
    return (ResizeSpan){ in, out, from, to };
}

void picture_resize(Arena *scratch, const Picture *from, const Resizing *r, uint8_t *out)
{
    int left, top;
    const ResizeWindow *w = &r->window;
    ResizeSpan across = resize_span(from->width, r->width, w->left, w->width, &left);
    ResizeSpan down = resize_span(from->height, r->height, w->top, w->height, &top);
    size_t row = (size_t)w->width * 3;
    if (across.to - across.from < w->width || down.to - down.from < w->height)
        memset(out, 0, row * (size_t)w->height);
    if (across.to == across.from || down.to == down.from) return;
    ResizeAxis x = axis_of(scratch, &across, r->resample, r->rounding);
    ResizeAxis y = axis_of(scratch, &down, r->resample, r->rounding);
    /* Pillow 13: rows go first if they lose more than twice as many pixels as columns do. */
    bool down_first = r->rounding == ROUND_PILLOW && r->height < from->height &&
                      2 * ((int64_t)from->width - r->width) < (int64_t)from->height - r->height;
    PixelRows in = { from->rgb + ((size_t)y.low * (size_t)from->width + (size_t)x.low) * 3,
                     (size_t)from->width * 3 };
    PixelRows to = { out + (size_t)top * row + (size_t)left * 3, row };
    resize_both(scratch, &x, &y, down_first, in, to);
}
