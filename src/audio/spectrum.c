/* SPDX-License-Identifier: Apache-2.0
 * spectrum.c - windows, filters and frames. The scales are those of Kaldi (mel = 1127 ln(1 + f / 700)) and
 * of Slaney's toolbox (linear below 1 kHz, logarithmic above). */
#include "spectrum.h"

#include <math.h>

/* ---- scales ---- */
static double mel_kaldi(double hertz)
{
    return 1127 * log(1 + hertz / 700);
}

#define SLANEY_STEP (log(6.4) / 27)
static double mel_slaney(double hertz)
{
    return hertz < 1000 ? 3 * hertz / 200 : 15 + log(hertz / 1000) / SLANEY_STEP;
}

static double hertz_slaney(double mel)
{
    return mel < 15 ? 200 * mel / 3 : 1000 * exp(SLANEY_STEP * (mel - 15));
}

/* ---- filters ---- */
typedef struct MelPlan {
    int mels, bins;
    double *edge;            /* [mels + 2] of the triangles */
    double *bin;             /* [bins]: where each bin of the spectrum lies, in the edges' unit */
    bool area;               /* triangles of equal area */
} MelPlan;

static double filter_weight(const MelPlan *p, int m, int bin)
{
    const double *e = p->edge + m, x = p->bin[bin];
    double w = MIN((x - e[0]) / (e[1] - e[0]), (e[2] - x) / (e[2] - e[1]));
    return w > 0 ? w * (p->area ? 2 / (e[2] - e[0]) : 1) : 0;
}

static const MelFilter *filters_make(Arena *arena, const MelPlan *p)
{
    MelFilter *filters = ARRAY(arena, MelFilter, p->mels);
    for (int m = 0; m < p->mels; m++) {
        int first = 0, end = p->bins;
        while (first < end && filter_weight(p, m, first) <= 0) first++;
        while (end > first && filter_weight(p, m, end - 1) <= 0) end--;
        double *weight = ARRAY(arena, double, end - first + 1);
        for (int i = first; i < end; i++) weight[i - first] = filter_weight(p, m, i);
        filters[m] = (MelFilter){ first, end - first, weight };
    }
    return filters;
}

/* Evenly from `from` to `to`; the last is exact. */
static double *spread(Arena *arena, double from, double to, int n)
{
    double *x = ARRAY(arena, double, n);
    for (int i = 0; i < n; i++) x[i] = i == n - 1 ? to : from + i * ((to - from) / (n - 1));
    return x;
}

static const double *window_hann(Arena *arena, int length, int period)
{
    double *w = ARRAY(arena, double, length);
    for (int i = 0; i < length; i++) w[i] = 0.5 - 0.5 * cos(2 * M_PI * i / period);
    return w;
}

const Spectrum *spectrum_kaldi(Arena *arena, int rate, int mels)
{
    enum { LENGTH = 400, HOP = 160, TRANSFORM = 512, BINS = TRANSFORM / 2 + 1 };
    MelPlan plan = { .mels = mels, .bins = BINS, .bin = ARRAY(arena, double, BINS) };
    plan.edge = spread(arena, mel_kaldi(20), mel_kaldi(rate / 2), mels + 2);
    for (int i = 0; i < BINS; i++) plan.bin[i] = mel_kaldi((double)rate / TRANSFORM * i);
    Spectrum *s = NEW(arena, Spectrum);
    *s = (Spectrum){ .fft = fft_open(arena, TRANSFORM), .length = LENGTH, .hop = HOP,
                     .window = window_hann(arena, LENGTH, LENGTH - 1), .filter = filters_make(arena, &plan),
                     .mels = mels, .floor = 1.192092955078125e-07, .unit = 1, .emphasis = 0.97 };
    return s;
}

const Spectrum *spectrum_slaney(Arena *arena, int rate, int mels, int length, int hop)
{
    const int bins = length / 2 + 1;
    MelPlan plan = { .mels = mels, .bins = bins, .area = true };
    plan.edge = spread(arena, mel_slaney(0), mel_slaney(8000), mels + 2);
    for (int i = 0; i < mels + 2; i++) plan.edge[i] = hertz_slaney(plan.edge[i]);
    plan.bin = spread(arena, 0, rate / 2, bins);
    Spectrum *s = NEW(arena, Spectrum);
    *s = (Spectrum){ .fft = fft_open(arena, length), .length = length, .hop = hop,
                     .window = window_hann(arena, length, length), .filter = filters_make(arena, &plan),
                     .mels = mels, .floor = 1e-10, .unit = M_LOG10E };
    return s;
}

/* ---- frames ---- */
static void frame_load(const Spectrum *s, const float *x, double *out)
{
    double mean = 0, before;
    if (!s->emphasis) {
        for (int i = 0; i < s->length; i++) out[i * FFT_FRAMES] = x[i] * s->window[i];
        return;
    }
    for (int i = 0; i < s->length; i++) mean += x[i];
    mean /= s->length;
    before = x[0] - mean;
    for (int i = 0; i < s->length; i++) {
        double now = x[i] - mean;
        out[i * FFT_FRAMES] = (now - s->emphasis * before) * s->window[i];
        before = now;
    }
}

/* Natural logarithms of normal numbers over 0, within 1e-9: x = 2^e * m with m in 0.7 .. 1.4, and
 * ln m = 2 (t + t^3 / 3 + t^5 / 5 ...) with t = (m - 1) / (m + 1), below 0.172. */
static inline FftLanes frames_log(FftLanes x)
{
    typedef int64_t LogBits __attribute__((vector_size(8 * FFT_LANES)));
    const int64_t half = 0x3fe6a09e667f3bcd; /* the square root of 1/2 */
    const LogBits bits = (LogBits)x - half, wide = (bits >> 52) + 0x4338000000000000;
    const FftLanes e = (FftLanes)wide - 0x1.8p52;
    const FftLanes m = (FftLanes)((bits & 0x000fffffffffffff) + half), t = (m - 1) / (m + 1), u = t * t;
    FftLanes sum = u * (1.0 / 13) + 1.0 / 11;
    sum = sum * u + 1.0 / 9;
    sum = sum * u + 1.0 / 7;
    sum = sum * u + 1.0 / 5;
    sum = sum * u + 1.0 / 3;
    return e * M_LN2 + 2 * t * (sum * u + 1);
}

/* The four frames of a transform at once; out[i] may be NULL. */
static void frames_filter(const Spectrum *s, const double *power, float *const out[FFT_FRAMES])
{
    for (int m = 0; m < s->mels; m++) {
        const MelFilter *f = &s->filter[m];
        const FftLanes *p = (const FftLanes *)power + (size_t)f->first * (FFT_FRAMES / FFT_LANES);
        union { FftLanes lanes[FFT_FRAMES / FFT_LANES]; double of[FFT_FRAMES]; } sum = { { { 0 } } };
        for (int i = 0; i < f->count; i++)
            for (int k = 0; k < FFT_FRAMES / FFT_LANES; k++) sum.lanes[k] += f->weight[i] * *p++;
        for (int i = 0; i < FFT_FRAMES; i++) sum.of[i] = MAX(sum.of[i], s->floor);
        for (int k = 0; k < FFT_FRAMES / FFT_LANES; k++) sum.lanes[k] = frames_log(sum.lanes[k]) * s->unit;
        for (int i = 0; i < FFT_FRAMES; i++)
            if (out[i]) out[i][m] = (float)sum.of[i];
    }
}

void spectrum_frames(Arena *scratch, const Spectrum *s, const float *samples, int frames, float *out)
{
    size_t each = fft_scratch(s->fft);
    double *frame = arena_raw(scratch, (3 * each + FFT_FRAMES) * sizeof *frame);
    double *power = frame + each, *other = power + each + FFT_FRAMES;
    for (int at = 0; at < frames; at += FFT_FRAMES) {
        int n = MIN(FFT_FRAMES, frames - at);
        const size_t tail = n < FFT_FRAMES ? 0 : (size_t)s->length * FFT_FRAMES; /* frames end in zeros */
        memset(frame + tail, 0, (each - tail) * sizeof *frame);
        for (int i = 0; i < n; i++) frame_load(s, samples + (size_t)(at + i) * (size_t)s->hop, frame + i);
        fft_power(s->fft, frame, power, other);
        float *to[FFT_FRAMES] = { NULL };
        for (int i = 0; i < n; i++) to[i] = out + (size_t)(at + i) * (size_t)s->mels;
        frames_filter(s, power, to);
    }
}
