/* SPDX-License-Identifier: Apache-2.0
 * spectrum.h - frames of a sound to the logarithms of mel filters, as transformers' numpy code makes
 * them: window, power spectrum, triangles. All sums are in double precision. */
#ifndef AUDIO_SPECTRUM_H
#define AUDIO_SPECTRUM_H
#include "audio.h"
#include "fft.h"

typedef struct MelFilter {
    int first, count;        /* of the bins that count */
    const double *weight;    /* [count] */
} MelFilter;
struct Spectrum {
    const Fft *fft;
    int length;              /* of a frame; the transform is as long or longer */
    int hop;
    const double *window;    /* [length] */
    const MelFilter *filter; /* [mels] */
    int mels;
    double floor;            /* the least that a logarithm is taken of */
    double unit;             /* that a natural logarithm is multiplied by: 1, or for those to the base 10 */
    double emphasis;         /* pre-emphasis; with it the mean of a frame is taken off; 0: neither */
};

/* Kaldi's: triangles in mel, from 20 Hz to half the rate. */
const Spectrum *spectrum_kaldi(Arena *, int rate, int mels);
/* Slaney's: triangles in Hz of equal area, up to 8 kHz. */
const Spectrum *spectrum_slaney(Arena *, int rate, int mels, int length, int hop);

/* Logarithms of `frames` frames, out: [frames][mels]. Frame i begins at sample i * hop. */
void spectrum_frames(Arena *scratch, const Spectrum *, const float *samples, int frames, float *out);

#endif
