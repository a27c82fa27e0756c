/* SPDX-License-Identifier: Apache-2.0
 * spectrum.c - DFT, STFT, windows and MelWeightMatrix. A transform of n numbers is done by powers of two where
 * n has them and by sums over the odd rest, all in double: sizes of sound (400, 512) are quick, and any other
 * size is right. */
#include <math.h>

#include "ops/ops.h"

typedef struct Complex {
    double re, im;
} Complex;

enum { DFT_LENGTH = 1, DFT_AXIS = 2, MOST_DFT = 1 << 24 };

/* Inputs that the shape is read from: one number each. */
static bool spectrum_numbers(const OpCall *call, int first, int last, Err *err)
{
    for (int i = first; i <= last; i++)
        if (op_in(call, i) && tensor_count(call->in[i]) != 1)
            return op_wrong_input(call, i, "one number", err);
    return true;
}

/* ---- the transform ---- */

typedef struct Fourier {
    int64_t n;
    Complex *turn;             /* [n]: exp(-+2 pi i k / n) */
    Complex *room;             /* [n] */
} Fourier;

static bool transform_new(OpCall *call, int64_t n, bool inverse, Fourier *t, Err *err)
{
    t->n = n;
    t->turn = op_scratch(call, MAX(n, 1), sizeof *t->turn, err);
    t->room = t->turn ? op_scratch(call, MAX(n, 1), sizeof *t->room, err) : NULL;
    for (int64_t k = 0; t->room && k < n; k++) {
        const double angle = 2 * M_PI * (double)k / (double)n;
        t->turn[k] = (Complex){ cos(angle), inverse ? sin(angle) : -sin(angle) };
    }
    return t->room != NULL;
}

static Complex complex_times(Complex a, Complex b)
{
    return (Complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static void transform_sum(const Fourier *t, const Complex *x, int64_t n, int64_t step, Complex *y)
{
    for (int64_t k = 0; k < n; k++) {
        y[k] = (Complex){ 0, 0 };
        for (int64_t i = 0; i < n; i++) {
            const Complex v = complex_times(x[i * step], t->turn[i * k % n * (t->n / n)]);
            y[k].re += v.re, y[k].im += v.im;
        }
    }
}

/* y = transform of the n numbers x, step apart: even and odd ones by themselves, while there are such. */
static void transform_part(const Fourier *t, const Complex *x, int64_t n, int64_t step, Complex *y,
                           Complex *room)
{
    if (n % 2 || n < 4) return transform_sum(t, x, n, step, y);
    const int64_t half = n / 2;
    transform_part(t, x, half, 2 * step, room, y);
    transform_part(t, x + step, half, 2 * step, room + half, y + half);
    for (int64_t k = 0; k < half; k++) {
        const Complex odd = complex_times(room[half + k], t->turn[k * (t->n / n)]), even = room[k];
        y[k] = (Complex){ even.re + odd.re, even.im + odd.im };
        y[k + half] = (Complex){ even.re - odd.re, even.im - odd.im };
    }
}

static void transform_run(const Fourier *t, const Complex *x, Complex *y)
{
    transform_part(t, x, t->n, 1, y, t->room);
}

/* ---- DFT ---- */

typedef struct Dft {
    int axis;
    int64_t n, in, out;        /* length; numbers there are along the axis, and numbers made */
    int64_t parts;             /* 1: real, 2: complex */
    bool inverse, onesided;
} Dft;

static bool dft_of(const OpCall *call, Dft *d, Err *err)
{
    const Tensor *x = call->in[0], *length = op_in(call, DFT_LENGTH), *axis = op_in(call, DFT_AXIS);
    const bool old = call->opset < 20;
    *d = (Dft){ .inverse = op_attr_int(call, "inverse", 0), .onesided = op_attr_int(call, "onesided", 0) };
    if (x->rank < 2 || !dtype_is_float(x->type) || x->dim[x->rank - 1] < 1 || x->dim[x->rank - 1] > 2)
        return op_wrong_input(call, 0, "floats [..., 1 or 2]", err);
    if (!spectrum_numbers(call, DFT_AXIS, DFT_AXIS, err)) return false;
    d->parts = x->dim[x->rank - 1];
    const int64_t wanted = axis ? tensor_get_int(axis, 0) : old ? op_attr_int(call, "axis", 1) : -2;
    d->axis = op_axis(call, wanted, x->rank, err);
    if (d->axis < 0) return false;
    if (d->axis == x->rank - 1) return op_fail(call, err, "axis: found the one of real and imaginary parts");
    d->in = x->dim[d->axis];
    d->n = length && tensor_count(length) ? tensor_get_int(length, 0)
           : d->inverse && d->onesided    ? 2 * (d->in - 1)
                                          : d->in;
    if (d->n < 1 || d->n > MOST_DFT)
        return op_fail(call, err, "length: found %lld, wanted 1 to %d", (long long)d->n, MOST_DFT);
    if (d->onesided && !d->inverse && d->parts == 2)
        return op_wrong_input(call, 0, "real numbers, where the result is one-sided", err);
    d->out = d->onesided && !d->inverse ? d->n / 2 + 1 : d->n;
    return true;
}

static bool dft_shape(OpCall *call, Err *err)
{
    Dft d;
    const Tensor *x = call->in[0];
    int64_t dim[MAX_RANK];
    if (!dft_of(call, &d, err)) return false;
    memcpy(dim, x->dim, sizeof dim);
    dim[d.axis] = d.out;
    dim[x->rank - 1] = d.inverse && d.onesided ? 1 : 2;
    return op_out(call, 0, x->type, x->rank, dim);
}

/* One line of the input as n complex numbers: cut off, or filled up with zeros; of a one-sided spectrum the
 * other half is the conjugate of the first. */
static void dft_read(const Tensor *x, const Dft *d, int64_t at, int64_t step, Complex *out)
{
    const bool mirrored = d->inverse && d->onesided;
    const int64_t given = mirrored ? MIN(d->in, d->n / 2 + 1) : MIN(d->in, d->n);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t k = mirrored && i > d->n / 2 ? d->n - i : i;
        const int64_t place = at + k * step;
        out[i] = (Complex){ 0, 0 };
        if (k >= given) continue;
        out[i].re = tensor_get(x, place);
        if (d->parts == 2) out[i].im = k == i ? tensor_get(x, place + 1) : -tensor_get(x, place + 1);
    }
}

static void dft_write(Tensor *y, const Dft *d, int64_t at, int64_t step, const Complex *from)
{
    const double by = d->inverse ? 1 / (double)d->n : 1;
    const int64_t parts = y->dim[y->rank - 1];
    for (int64_t i = 0; i < d->out; i++) {
        const double pair[2] = { from[i].re * by, from[i].im * by };
        tensor_store(y, at + i * step, parts, pair);
    }
}

static bool dft_run(OpCall *call, Err *err)
{
    Dft d;
    Fourier t;
    const Tensor *x = call->in[0];
    Tensor *y = &call->out[0];
    int64_t inner = 1;
    if (!dft_of(call, &d, err) || !transform_new(call, d.n, d.inverse, &t, err)) return false;
    Complex *line = op_scratch(call, 2 * d.n, sizeof *line, err);
    if (!line) return false;
    for (int i = d.axis + 1; i < x->rank - 1; i++) inner *= x->dim[i];
    const int64_t parts = y->dim[y->rank - 1];
    const int64_t lines = tensor_count(y) / (d.out * parts); /* of an empty input too: zeros */
    for (int64_t i = 0; i < lines; i++) {
        dft_read(x, &d, (i / inner * d.in * inner + i % inner) * d.parts, inner * d.parts, line);
        transform_run(&t, line, line + d.n);
        dft_write(y, &d, (i / inner * d.out * inner + i % inner) * parts, inner * parts, line + d.n);
    }
    return true;
}

/* ---- STFT ---- */

enum { STFT_STEP = 1, STFT_WINDOW = 2, STFT_LENGTH = 3 };

typedef struct Stft {
    Dft d;
    int64_t step, frames, window; /* window: numbers of it */
} Stft;

static bool stft_of(const OpCall *call, Stft *s, Err *err)
{
    const Tensor *x = call->in[0], *window = op_in(call, STFT_WINDOW), *length = op_in(call, STFT_LENGTH);
    *s = (Stft){ .d.onesided = op_attr_int(call, "onesided", 1) };
    if ((x->rank != 3 && x->rank != 2) || !dtype_is_float(x->type) ||
        (x->rank == 3 && (x->dim[2] < 1 || x->dim[2] > 2)))
        return op_wrong_input(call, 0, "floats [rows, samples, 1 or 2]", err);
    if (!spectrum_numbers(call, STFT_STEP, STFT_STEP, err)) return false;
    if (window && (window->rank != 1 || window->type != x->type))
        return op_wrong_input(call, STFT_WINDOW, "a list of the type of input 0", err);
    s->d.parts = x->rank == 3 ? x->dim[2] : 1;
    s->d.n = length && tensor_count(length) ? tensor_get_int(length, 0) : window ? window->dim[0] : x->dim[1];
    s->step = tensor_get_int(call->in[STFT_STEP], 0);
    s->window = window ? MIN(window->dim[0], s->d.n) : s->d.n;
    if (s->d.n < 1 || s->d.n > MIN(x->dim[1], MOST_DFT) || s->step < 1)
        return op_fail(call, err, "found frames of %lld, %lld apart, wanted 1 to %lld", (long long)s->d.n,
                       (long long)s->step, (long long)x->dim[1]);
    if (s->d.onesided && s->d.parts == 2)
        return op_wrong_input(call, 0, "real numbers, where the result is one-sided", err);
    s->d.out = s->d.onesided ? s->d.n / 2 + 1 : s->d.n;
    s->frames = 1 + (x->dim[1] - s->d.n) / s->step;
    return true;
}

static bool stft_shape(OpCall *call, Err *err)
{
    Stft s;
    if (!stft_of(call, &s, err)) return false;
    const int64_t dim[4] = { call->in[0]->dim[0], s.frames, s.d.out, 2 };
    return op_out(call, 0, call->in[0]->type, 4, dim);
}

static bool stft_run(OpCall *call, Err *err)
{
    Stft s;
    Fourier t;
    const Tensor *x = call->in[0], *window = op_in(call, STFT_WINDOW);
    if (!stft_of(call, &s, err) || !transform_new(call, s.d.n, false, &t, err)) return false;
    Complex *line = op_scratch(call, 2 * s.d.n, sizeof *line, err);
    if (!line) return false;
    for (int64_t i = 0; i < x->dim[0] * s.frames; i++) {
        const int64_t at = (i / s.frames * x->dim[1] + i % s.frames * s.step) * s.d.parts;
        for (int64_t k = 0; k < s.d.n; k++) {
            const double by = k >= s.window ? 0 : window ? tensor_get(window, k) : 1;
            line[k].re = tensor_get(x, at + k * s.d.parts) * by;
            line[k].im = s.d.parts == 2 ? tensor_get(x, at + k * 2 + 1) * by : 0;
        }
        transform_run(&t, line, line + s.d.n);
        dft_write(&call->out[0], &s.d, i * s.d.out * 2, 2, line + s.d.n);
    }
    return true;
}

/* ---- windows: a - b cos(2 pi i / n) + c cos(4 pi i / n) ---- */

static bool window_shape(OpCall *call, Err *err)
{
    if (!spectrum_numbers(call, 0, 0, err)) return false;
    const int64_t size = tensor_get_int(call->in[0], 0), type = op_attr_int(call, "output_datatype", T_F32);
    if (size < 0 || size > INT32_MAX)
        return op_fail(call, err, "size: found %lld, wanted 0 to %d", (long long)size, INT32_MAX);
    if (type <= 0 || type >= T_COUNT || !dtype_size((DType)type))
        return op_fail(call, err, "output_datatype: found type %lld, wanted numbers", (long long)type);
    return op_out(call, 0, (DType)type, 1, &size);
}

static bool window_run(OpCall *call, double a, double b, double c)
{
    Tensor *y = &call->out[0];
    const int64_t size = y->dim[0], n = op_attr_int(call, "periodic", 1) ? size : size - 1;
    for (int64_t i = 0; i < size; i++) {
        const double x = n ? 2 * M_PI * (double)i / (double)n : 0;
        const double v = a - b * cos(x) + c * cos(2 * x);
        tensor_store(y, i, 1, &v);
    }
    return true;
}

static bool hann_run(OpCall *call, Err *err) { return (void)err, window_run(call, 0.5, 0.5, 0); }
static bool hamming_run(OpCall *call, Err *err) { return (void)err, window_run(call, 25.0 / 46, 21.0 / 46, 0); }
static bool blackman_run(OpCall *call, Err *err) { return (void)err, window_run(call, 0.42, 0.5, 0.08); }

/* ---- MelWeightMatrix ---- */

enum { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOW, MEL_HIGH };

static bool mel_shape(OpCall *call, Err *err)
{
    if (!spectrum_numbers(call, MEL_BINS, MEL_HIGH, err)) return false;
    const int64_t bins = tensor_get_int(call->in[MEL_BINS], 0), n = tensor_get_int(call->in[MEL_LENGTH], 0);
    const int64_t type = op_attr_int(call, "output_datatype", T_F32);
    const double rate = tensor_get(call->in[MEL_RATE], 0);
    if (bins < 1 || bins > INT16_MAX || n < 1 || n > MOST_DFT || rate < 1)
        return op_fail(call, err, "found %lld bins of %lld samples, wanted 1 or more", (long long)bins,
                       (long long)n);
    if (type <= 0 || type >= T_COUNT || !dtype_size((DType)type))
        return op_fail(call, err, "output_datatype: found type %lld, wanted numbers", (long long)type);
    const int64_t dim[2] = { n / 2 + 1, bins };
    return op_out(call, 0, (DType)type, 2, dim);
}

static int64_t mel_edge(const OpCall *call, int64_t i, int64_t rows)
{
    const double bins = tensor_get(call->in[MEL_BINS], 0), n = tensor_get(call->in[MEL_LENGTH], 0);
    const double low = 2595 * log1p(tensor_get(call->in[MEL_LOW], 0) / 700) / log(10);
    const double high = 2595 * log1p(tensor_get(call->in[MEL_HIGH], 0) / 700) / log(10);
    const double mel = (double)i * (high - low) / (bins + 2) + low;
    const double at = floor((n + 1) * 700 * expm1(mel / 2595 * log(10)) / tensor_get(call->in[MEL_RATE], 0));
    return at >= 0 && at < (double)rows ? (int64_t)at : at >= (double)rows ? rows - 1 : 0;
}

/* Each bin is a triangle from the middle of the bin before it to that of the one behind. */
static bool mel_run(OpCall *call, Err *err)
{
    (void)err;
    Tensor *y = &call->out[0];
    const int64_t rows = y->dim[0], bins = y->dim[1];
    memset(y->data, 0, tensor_bytes(y));
    for (int64_t i = 0; i < bins; i++) {
        const int64_t left = mel_edge(call, i, rows), middle = mel_edge(call, i + 1, rows),
                      right = mel_edge(call, i + 2, rows);
        for (int64_t k = left; k < right || k == middle; k++) {
            const double up = middle > left ? (double)(k - left) / (double)(middle - left) : 1;
            const double down = right > middle ? (double)(right - k) / (double)(right - middle) : up;
            const double v = k < middle || (k == middle && right == middle) ? up : down;
            tensor_store(y, k * bins + i, 1, &v);
        }
    }
    return true;
}

const Op ops_spectrum[] = {
    { "BlackmanWindow", NULL, 17, 1, 1, window_shape, blackman_run, .values = 1 },
    { "DFT", NULL, 17, 1, 2, dft_shape, dft_run, .values = 1 << DFT_LENGTH },
    { "DFT", NULL, 20, 1, 3, dft_shape, dft_run, .values = 1 << DFT_LENGTH | 1 << DFT_AXIS },
    { "HammingWindow", NULL, 17, 1, 1, window_shape, hamming_run, .values = 1 },
    { "HannWindow", NULL, 17, 1, 1, window_shape, hann_run, .values = 1 },
    { "MelWeightMatrix", NULL, 17, 5, 5, mel_shape, mel_run,
      .values = 1 << MEL_BINS | 1 << MEL_LENGTH | 1 << MEL_RATE | 1 << MEL_LOW | 1 << MEL_HIGH },
    { "STFT", NULL, 17, 2, 4, stft_shape, stft_run, .values = 1 << STFT_STEP | 1 << STFT_LENGTH },
    { 0 }
};
