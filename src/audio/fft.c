/* SPDX-License-Identifier: Apache-2.0
 * fft.c - Stockham's transform: each pass takes one factor out of the length and leaves its results in
 * order, so that nothing is ever reordered. */
#include "fft.h"

#include <math.h>

enum { FACTORS = 16 }; /* of any length up to FFT_MOST */
struct Fft {
    int n, factors;
    int factor[FACTORS];
    const double *cos, *sin; /* [n]: of the turn i / n, clockwise */
};
typedef struct FftNumber {   /* complex */
    FftLanes re, im;
} FftNumber;
typedef struct FftPass {
    const Fft *fft;
    int radix, parts, stride, step; /* length of its transforms = radix * parts; step: turns of the table */
} FftPass;

static int fft_next_factor(int n)
{
    static const int fast[] = { 4, 5, 2 };
    for (size_t i = 0; i < COUNT(fast); i++)
        if (n % fast[i] == 0) return fast[i];
    int f = 3;
    while (n % f) f += 2;
    return f;
}

const Fft *fft_open(Arena *arena, int n)
{
    assert(n >= 1 && n <= FFT_MOST);
    Fft *fft = NEW(arena, Fft);
    double *cosine = ARRAY(arena, double, n), *sine = ARRAY(arena, double, n);
    for (int i = 0; i < n; i++) {
        cosine[i] = cos(2 * M_PI * i / n);
        sine[i] = -sin(2 * M_PI * i / n);
    }
    *fft = (Fft){ .n = n, .cos = cosine, .sin = sine };
    for (int left = n; left > 1; left /= fft->factor[fft->factors++])
        fft->factor[fft->factors] = fft_next_factor(left);
    return fft;
}

static inline FftNumber fft_add(FftNumber a, FftNumber b)
{
    return (FftNumber){ a.re + b.re, a.im + b.im };
}

static inline FftNumber fft_sub(FftNumber a, FftNumber b)
{
    return (FftNumber){ a.re - b.re, a.im - b.im };
}

static inline FftNumber fft_by(FftNumber a, double re, double im)
{
    return (FftNumber){ a.re * re - a.im * im, a.re * im + a.im * re };
}

/* a quarter turn clockwise */
static inline FftNumber fft_quarter(FftNumber a)
{
    return (FftNumber){ a.im, -a.re };
}

/* ---- one butterfly: in[j] are the inputs, out[k] the outputs; before the turn of fft_store ---- */
static inline void fft_two(const FftNumber *in, FftNumber *out)
{
    out[0] = fft_add(in[0], in[1]);
    out[1] = fft_sub(in[0], in[1]);
}

static inline void fft_four(const FftNumber *in, FftNumber *out)
{
    FftNumber a = fft_add(in[0], in[2]), b = fft_sub(in[0], in[2]), c = fft_add(in[1], in[3]),
              d = fft_quarter(fft_sub(in[1], in[3]));
    out[0] = fft_add(a, c);
    out[1] = fft_add(b, d);
    out[2] = fft_sub(a, c);
    out[3] = fft_sub(b, d);
}

static inline void fft_five(const FftNumber *in, FftNumber *out)
{
    const double c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212,
                 s2 = 0.58778525229247312917;
    FftNumber a = fft_add(in[1], in[4]), b = fft_add(in[2], in[3]);
    FftNumber c = fft_quarter(fft_sub(in[1], in[4])), d = fft_quarter(fft_sub(in[2], in[3]));
    FftNumber p = { in[0].re + a.re * c1 + b.re * c2, in[0].im + a.im * c1 + b.im * c2 };
    FftNumber q = { in[0].re + a.re * c2 + b.re * c1, in[0].im + a.im * c2 + b.im * c1 };
    FftNumber r = { c.re * s1 + d.re * s2, c.im * s1 + d.im * s2 };
    FftNumber s = { c.re * s2 - d.re * s1, c.im * s2 - d.im * s1 };
    out[0] = fft_add(in[0], fft_add(a, b));
    out[1] = fft_add(p, r);
    out[2] = fft_add(q, s);
    out[3] = fft_sub(q, s);
    out[4] = fft_sub(p, r);
}

/* One part: turned: its outputs are turned by c and s, else the turn is 0. */
static inline __attribute__((always_inline)) void fft_part_of(
    const FftPass *p, const FftNumber *restrict in, FftNumber *restrict out, int radix, bool turned,
    const double *c, const double *s, void butterfly(const FftNumber *, FftNumber *))
{
    const int jump = p->stride * p->parts, stride = p->stride;
    FftNumber x[5], y[5];
    for (int q = 0; q < stride; q++) {
#pragma GCC unroll 5 /* so that x and y are registers */
        for (int j = 0; j < radix; j++) x[j] = in[q + jump * j];
        butterfly(x, y);
        out[q] = y[0];
#pragma GCC unroll 5
        for (int k = 1; k < radix; k++) out[q + stride * k] = turned ? fft_by(y[k], c[k], s[k]) : y[k];
    }
}

static inline __attribute__((always_inline)) void fft_pass_of(
    const FftPass *p, const FftNumber *from, FftNumber *to, int radix,
    void butterfly(const FftNumber *, FftNumber *))
{
    double c[5], s[5];
    fft_part_of(p, from, to, radix, false, c, s, butterfly);
    for (int part = 1; part < p->parts; part++) {
        for (int k = 1; k < radix; k++) {
            c[k] = p->fft->cos[p->step * part * k];
            s[k] = p->fft->sin[p->step * part * k];
        }
        fft_part_of(p, from + p->stride * part, to + p->stride * radix * part, radix, true, c, s, butterfly);
    }
}

/* Any factor, by the definition. */
static void fft_pass_any(const FftPass *p, const FftNumber *from, FftNumber *to)
{
    const int jump = p->stride * p->parts, n = p->fft->n;
    for (int part = 0; part < p->parts; part++)
        for (int k = 0; k < p->radix; k++)
            for (int q = 0; q < p->stride; q++) {
                const FftNumber *in = from + q + p->stride * part;
                FftNumber sum = { { 0 }, { 0 } };
                for (int j = 0; j < p->radix; j++) {
                    const int64_t turn = (int64_t)p->step * part * k + (int64_t)n / p->radix * j * k;
                    sum = fft_add(sum, fft_by(in[jump * j], p->fft->cos[turn % n], p->fft->sin[turn % n]));
                }
                to[q + p->stride * (p->radix * part + k)] = sum;
            }
}

static void fft_pass(const FftPass *p, const FftNumber *from, FftNumber *to)
{
    switch (p->radix) {
    case 2: fft_pass_of(p, from, to, 2, fft_two); break;
    case 4: fft_pass_of(p, from, to, 4, fft_four); break;
    case 5: fft_pass_of(p, from, to, 5, fft_five); break;
    default: fft_pass_any(p, from, to);
    }
}

/* Gives the one of the two arrays in which the result is. */
static const FftNumber *fft_run(const Fft *fft, FftNumber *x, FftNumber *y)
{
    FftPass p = { .fft = fft, .parts = fft->n, .stride = 1, .step = 1 };
    for (int i = 0; i < fft->factors; i++) {
        p.radix = fft->factor[i];
        p.parts /= p.radix;
        fft_pass(&p, x, y);
        p.stride *= p.radix;
        p.step *= p.radix;
        FftNumber *other = x;
        x = y;
        y = other;
    }
    return x;
}

size_t fft_scratch(const Fft *fft)
{
    return (size_t)fft->n * FFT_FRAMES;
}

/* A frame's lanes lie as a number's: the first two frames are real parts, the others imaginary ones.
 * With Z = A + iB of two real frames: A[k] = (Z[k] + conj Z[n-k]) / 2, B[k] = (Z[k] - conj Z[n-k]) / 2i. */
void fft_power(const Fft *fft, double *frame, double *power, double *scratch)
{
    const FftNumber *z = fft_run(fft, (FftNumber *)frame, (FftNumber *)scratch);
    FftNumber *out = (FftNumber *)power;
    for (int k = 0; k <= fft->n / 2; k++) {
        FftNumber up = z[k], down = z[k ? fft->n - k : 0];
        FftLanes a = up.re + down.re, b = up.im - down.im, c = up.im + down.im, d = down.re - up.re;
        out[k] = (FftNumber){ (a * a + b * b) * 0.25, (c * c + d * d) * 0.25 };
    }
}
