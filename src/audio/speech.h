/* SPDX-License-Identifier: Apache-2.0
 * speech.h - from the probability of speech in each window of a sound to the segments that are spoken, by the
 * rules and with the parameters of silero-vad's get_speech_timestamps.
 *
 * A segment begins with the first window from `threshold` on, and ends where windows stay below
 * `silence_threshold` for min_silence_ms; shorter ones than min_speech_ms are left out; one longer than max_speech_s is
 * cut at its longest silence; each is widened by pad_ms, but not into its neighbour. */
#ifndef AUDIO_SPEECH_H
#define AUDIO_SPEECH_H
#include "base/base.h"

typedef struct SpeechRules {
    double threshold;         /* 0.5 */
    double silence_threshold; /* negative: threshold - 0.15, but not below 0.01 */
    double min_speech_ms, min_silence_ms, pad_ms; /* 250, 100, 30 */
    double max_speech_s;      /* 0: any */
} SpeechRules;
extern const SpeechRules speech_rules; /* silero's defaults */

typedef struct SpeechSegment {
    int64_t start, end;       /* in samples; the end is not in it */
} SpeechSegment;

/* Windows and what each sees of the one before it, of the two rates that the model knows. */
enum { SPEECH_RATE = 16000, SPEECH_RATE_LOW = 8000 };
static inline int speech_window(int rate)
{
    return rate == SPEECH_RATE_LOW ? 256 : 512;
}
static inline int speech_context(int rate)
{
    return rate == SPEECH_RATE_LOW ? 32 : 64;
}

/* p: [n], one a window; samples: of the sound, whose last window may be a part of one. */
size_t speech_segments(Arena *, const SpeechRules *, int rate, const float *p, size_t n, int64_t samples,
                       SpeechSegment **out);

#endif
