/* SPDX-License-Identifier: Apache-2.0
 * resample.h - another sampling rate, as torchaudio.functional.resample makes it by default: a sinc of
 * 6 zero crossings under a Hann window, rolled off at 0.99 of the lower rate. Block by block. */
#ifndef AUDIO_RESAMPLE_H
#define AUDIO_RESAMPLE_H
#include "base/base.h"

typedef struct Resampler Resampler;
Resampler *resample_open(Arena *, int from, int to); /* rates in Hz; NULL: they are equal */
/* Appends floats to `out`. */
void resample_push(Resampler *, const float *, size_t n, Buf *out);
void resample_end(Resampler *, Buf *out);
/* How many there will be of n. */
uint64_t resample_length(int from, int to, uint64_t n);

#endif
