/* SPDX-License-Identifier: Apache-2.0
 * decode.h - between decode.c and the decoders. A decoder says what the file has (sound_begin), then
 * gives it block by block, mixed to one channel (sound_push). */
#ifndef AUDIO_DECODE_H
#define AUDIO_DECODE_H
#include "audio.h"
#include "base/bytes.h"
#include "resample.h"

enum { SOUND_BLOCK = 4096 }; /* samples, about; of a channel */

typedef struct SoundJob {
    Arena *arena;          /* the samples' */
    Arena *scratch;        /* ends with the call */
    Str bytes;             /* the whole file */
    double seconds;        /* the limit */
    uint64_t most;         /* the same in samples of the file's rate */
    Sound *sound;
    uint64_t taken;        /* samples that were pushed */
    Resampler *resampler;  /* NULL: none is needed */
    Buf out;
} SoundJob;

typedef bool SoundReadFn(SoundJob *, Err *);
SoundReadFn sound_read_wav, sound_read_flac;

/* Checks what the file's header says, and makes room. samples: of a channel; 0: not known. */
bool sound_begin(SoundJob *, uint64_t rate, uint64_t channels, uint64_t samples, Err *);
bool sound_push(SoundJob *, const float *, size_t n, Err *);
bool sound_end(SoundJob *, Err *);
bool sound_truncated(const SoundJob *, Err *); /* always false */

#endif
