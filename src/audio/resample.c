/* SPDX-License-Identifier: Apache-2.0
 * resample.c - `from` samples become `to` samples, both divided by what they have in common: each of the
 * `to` phases has its own taps, made when they are first needed, since rates without a common factor
 * have as many phases as the rate has Hz. */
#include "resample.h"

#include <math.h>

#define ROLLOFF 0.99
enum { CROSSINGS = 6, TAP_LANES = 4 };
typedef float TapLanes __attribute__((vector_size(4 * TAP_LANES)));

struct Resampler {
    Arena *arena;
    int from, to, width;   /* width: inputs that a phase may reach back */
    int taps;              /* of every phase, a multiple of TAP_LANES */
    double base;           /* of the lower rate, rolled off */
    float **phase;         /* [to]: [taps]; NULL: not made yet */
    Buf held;              /* floats: inputs that outputs to come still need, */
    int64_t held_at;       /*   the first of them by its number */
    int64_t in, out;       /* so many came, and went */
};

static int resample_common(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Inputs from the first with a weight of output `out`; by the phase's distance from its block. */
static int64_t phase_first(const Resampler *r, int64_t phase)
{
    return (int64_t)ceil(((double)phase / r->to - CROSSINGS / r->base) * r->from);
}

static void resample_silence(Resampler *r, int n)
{
    size_t bytes = (size_t)n * sizeof(float);
    buf_reserve(&r->held, bytes);
    memset(r->held.p + r->held.n, 0, bytes);
    r->held.n += bytes;
}

Resampler *resample_open(Arena *arena, int from, int to)
{
    if (from == to) return NULL;
    const int common = resample_common(from, to);
    Resampler *r = NEW(arena, Resampler);
    *r = (Resampler){ .arena = arena, .from = from / common, .to = to / common, .held = { .arena = arena } };
    r->base = MIN(r->from, r->to) * ROLLOFF;
    r->width = (int)ceil(CROSSINGS * r->from / r->base);
    r->taps = ROUND_UP(2 * r->width + 1, TAP_LANES);
    r->phase = ARRAY(arena, float *, r->to);
    r->held_at = -r->width;
    resample_silence(r, r->width); /* before the first sample */
    return r;
}

static const float *resample_taps(Resampler *r, int64_t phase)
{
    float *taps = r->phase[phase];
    if (taps) return taps;
    taps = r->phase[phase] = arena_raw(r->arena, (size_t)r->taps * sizeof *taps);
    const int64_t first = phase_first(r, phase);
    for (int k = 0; k < r->taps; k++) {
        double t = ((double)(first + k) / r->from - (double)phase / r->to) * r->base;
        t = MIN(MAX(t, -CROSSINGS), CROSSINGS);
        const double window = cos(t * M_PI / CROSSINGS / 2), x = t * M_PI;
        taps[k] = (float)((x == 0 ? 1 : sin(x) / x) * window * window * r->base / r->from);
    }
    return taps;
}

static float resample_dot(const float *a, const float *b, int n)
{
    TapLanes sum = { 0 }, x, y;
    for (int i = 0; i < n; i += TAP_LANES) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum += x * y;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Outputs whose inputs are all there, `end` of them at most. */
static void resample_run(Resampler *r, int64_t end, Buf *out)
{
    const int64_t have = r->held_at + (int64_t)(r->held.n / sizeof(float));
    int64_t first = 0;
    for (; r->out < end; r->out++) {
        const int64_t phase = r->out % r->to;
        first = r->out / r->to * r->from + phase_first(r, phase);
        if (first + r->taps > have) break;
        const float *from = (const float *)r->held.p + (first - r->held_at);
        float y = resample_dot(resample_taps(r, phase), from, r->taps);
        buf_add(out, &y, sizeof y);
    }
    const int64_t past = MIN(first, have) - r->held_at;
    if (past <= 0 || r->out >= end) return;
    buf_drop(&r->held, (size_t)past * sizeof(float));
    r->held_at += past;
}

void resample_push(Resampler *r, const float *x, size_t n, Buf *out)
{
    buf_add(&r->held, x, n * sizeof *x);
    r->in += (int64_t)n;
    resample_run(r, INT64_MAX, out);
}

void resample_end(Resampler *r, Buf *out)
{
    resample_silence(r, r->taps);
    resample_run(r, (int64_t)resample_length(r->from, r->to, (uint64_t)r->in), out);
}

uint64_t resample_length(int from, int to, uint64_t n)
{
    return (n * (uint64_t)to + (uint64_t)from - 1) / (uint64_t)from;
}
