/* SPDX-License-Identifier: Apache-2.0
 * fft.h - the discrete Fourier transform of real frames, in double precision, of any length.
 *
 * Four frames at a time: two share a complex transform (one is its real part, one its imaginary part),
 * and the two lanes of a vector carry two transforms. So every step is plain vector arithmetic without
 * a shuffle, on every machine. Lengths with other factors than 2 and 5 take a general step, whose cost
 * grows with the factor. */
#ifndef AUDIO_FFT_H
#define AUDIO_FFT_H
#include "base/base.h"

enum { FFT_FRAMES = 4, FFT_LANES = 2, FFT_MOST = 16384 };
typedef double FftLanes __attribute__((vector_size(8 * FFT_LANES)));

typedef struct Fft Fft;
const Fft *fft_open(Arena *, int n); /* n: 1 to FFT_MOST */
/* Numbers of scratch for fft_power. */
size_t fft_scratch(const Fft *);
/* frame: [n][FFT_FRAMES], which is overwritten. power: [n / 2 + 1][FFT_FRAMES], the squares of the
 * absolute values. */
void fft_power(const Fft *, double *frame, double *power, double *scratch);

#endif
