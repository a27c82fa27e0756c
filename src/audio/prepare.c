/* SPDX-License-Identifier: Apache-2.0
 * prepare.c - samples to the tensor of one sound, by the kind of its feature extractor. */
#include <math.h>

#include "kernels/kernels.h"
#include "spectrum.h"

static const float VARIANCE_FLOOR = 1e-7f; /* of Wav2Vec2FeatureExtractor: added to the variance */

static void prepare_samples(Arena *arena, const AudioProcessor *p, const float *x, size_t n, AudioTensor *out)
{
    const size_t size = p->samples ? (size_t)p->samples : n, live = MIN(n, size);
    out->values = arena_raw(arena, size * sizeof *out->values);
    memset(out->values + live, 0, (size - live) * sizeof *out->values); /* silence behind a short one */
    out->truncated = n > live;
    if (p->normalize) kernels()->standardize(x, out->values, (int64_t)live, VARIANCE_FLOOR);
    else memcpy(out->values, x, live * sizeof *x);
    out->rank = 1;
    out->dim[0] = (int64_t)size;
}

static void prepare_banks(Arena *arena, const AudioProcessor *p, const float *x, size_t n, AudioTensor *out)
{
    const Spectrum *s = p->spectrum;
    const size_t have = 1 + (n - (size_t)s->length) / (size_t)s->hop, live = MIN(have, (size_t)p->frames);
    const size_t mels = (size_t)p->mels, total = (size_t)p->frames * mels;
    Arena scratch = { .budget = arena->budget, .local = true };
    out->values = ARRAY(arena, float, total); /* zeros behind a short one, before they are normalized */
    spectrum_frames(&scratch, s, x, (int)live, out->values);
    arena_free(&scratch);
    const float mean = (float)p->mean, twice = (float)(p->std * 2);
    for (size_t i = 0; p->normalize && i < total; i++) out->values[i] = (out->values[i] - mean) / twice;
    out->truncated = have > live;
    out->rank = 2;
    out->dim[0] = p->frames, out->dim[1] = p->mels;
}

/* The sound with half a frame of its mirror image on each side, and silence up to its full length. */
static float *log_mel_padded(Arena *scratch, const AudioProcessor *p, const float *x, size_t n)
{
    const int64_t half = p->spectrum->length / 2, total = p->samples;
    float *out = ARRAY(scratch, float, total + 2 * half + p->spectrum->length);
    memcpy(out + half, x, MIN(n, (size_t)total) * sizeof *x);
    for (int64_t i = 1; i <= half; i++) {
        out[half - i] = out[half + i];
        out[half + total - 1 + i] = out[half + total - 1 - i];
    }
    return out;
}

static float log_mel_top(const float *x, size_t n)
{
    float top = -INFINITY;
    for (size_t i = 0; i < n; i++) top = MAX(top, x[i]);
    return top;
}

/* [frames][mels] to [mels][frames], within 8 of the largest, scaled. Frames from `live` on are silence. */
static void log_mel_turn(const AudioProcessor *p, const float *from, int live, float *out)
{
    const float silence = (float)log10(p->spectrum->floor);
    const size_t n = (size_t)live * (size_t)p->mels;
    float least = MAX(log_mel_top(from, n), live < p->frames ? silence : -INFINITY) - 8;
    const float rest = (MAX(silence, least) + 4) / 4;
    for (int m = 0; m < p->mels; m++) {
        float *row = out + (size_t)m * (size_t)p->frames;
        for (int f = 0; f < live; f++) row[f] = (MAX(from[(size_t)f * (size_t)p->mels + (size_t)m], least) + 4) / 4;
        for (int f = live; f < p->frames; f++) row[f] = rest;
    }
}

static void prepare_log_mel(Arena *arena, const AudioProcessor *p, const float *x, size_t n, AudioTensor *out)
{
    const int half = p->spectrum->length / 2;
    Arena scratch = { .budget = arena->budget, .local = true };
    /* A frame whose first sample lies behind the sound's end is silence, except at the mirrored end. */
    int live = (int)MIN((MIN(n, (size_t)p->samples) + (size_t)half) / (size_t)p->hop + 1, (size_t)p->frames);
    if (n + (size_t)half + 1 >= (size_t)p->samples) live = p->frames;
    float *padded = log_mel_padded(&scratch, p, x, n);
    float *frames = arena_raw(&scratch, (size_t)live * (size_t)p->mels * sizeof *frames);
    spectrum_frames(&scratch, p->spectrum, padded, live, frames);
    out->values = arena_raw(arena, (size_t)p->mels * (size_t)p->frames * sizeof *out->values);
    log_mel_turn(p, frames, live, out->values);
    arena_free(&scratch);
    out->truncated = n > (size_t)p->samples;
    out->rank = 2;
    out->dim[0] = p->mels, out->dim[1] = p->frames;
}

bool audio_prepare(Arena *arena, const AudioProcessor *p, const float *x, size_t n, AudioTensor *out, Err *err)
{
    *out = (AudioTensor){ 0 };
    if (n < (size_t)p->least)
        return fail(err, EF_INVALID_INPUT, "sound: found %zu samples of %d Hz, wanted at least %d: the model takes "
                    "no shorter ones", n, p->rate, p->least);
    switch (p->kind) {
    case AUDIO_SAMPLES: prepare_samples(arena, p, x, n, out); break;
    case AUDIO_BANKS: prepare_banks(arena, p, x, n, out); break;
    case AUDIO_LOG_MEL: prepare_log_mel(arena, p, x, n, out); break;
    }
    return true;
}
