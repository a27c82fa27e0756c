/* SPDX-License-Identifier: Apache-2.0
 * speech.c - see speech.h. Lengths in milliseconds become samples as numbers with a fraction, as there. */
#include "audio/speech.h"

const SpeechRules speech_rules = {
    .threshold = 0.5, .silence_threshold = -1, .min_speech_ms = 250, .min_silence_ms = 100, .pad_ms = 30,
};

enum { SILENCE_AT_MOST_MS = 98 }; /* a silence that a segment of the greatest length may be cut at */

typedef struct Listening {
    Arena *arena;
    double threshold, silence, min_speech, min_silence, cut_silence, pad, most; /* the last five in samples */
    SpeechSegment *segment;
    size_t n, room;
    bool speaking;
    int64_t start;            /* of the segment that is spoken, while `speaking` */
    bool quiet;               /* since quiet_from it may be over */
    int64_t quiet_from;
    int64_t cut_at, cut_for;  /* the longest silence inside it that was over; cut_for 0: none */
} Listening;

static void speech_add(Listening *l, int64_t start, int64_t end)
{
    if (l->n == l->room) {
        SpeechSegment *more = ARRAY(l->arena, SpeechSegment, 2 * l->room + 16);
        if (l->n) memcpy(more, l->segment, sizeof *more * l->n);
        l->segment = more, l->room = 2 * l->room + 16;
    }
    l->segment[l->n++] = (SpeechSegment){ start, end };
}

static void speech_over(Listening *l)
{
    l->speaking = l->quiet = false;
    l->cut_for = 0;
}

/* Speech again: the silence that was there may be where a long segment is cut. */
static void speech_resumes(Listening *l, int64_t at)
{
    const int64_t silent = at - l->quiet_from;
    if ((double)silent > l->cut_silence && silent > l->cut_for) l->cut_at = l->quiet_from, l->cut_for = silent;
    l->quiet = false;
}

/* A segment that has become too long ends at its longest silence, and the next begins behind that; or here. True: the
 * window is done with. */
static bool speech_cut(Listening *l, int64_t at)
{
    if (!l->cut_for) {
        speech_add(l, l->start, at);
        speech_over(l);
        return true;
    }
    speech_add(l, l->start, l->cut_at);
    l->start = l->cut_at + l->cut_for;
    l->quiet = false;
    l->cut_for = 0;
    return false;
}

static void speech_window_at(Listening *l, double p, int64_t at)
{
    if (p >= l->threshold && l->quiet) speech_resumes(l, at);
    if (p >= l->threshold && !l->speaking) {
        l->speaking = true, l->start = at;
        return;
    }
    if (l->speaking && l->most > 0 && (double)(at - l->start) > l->most && speech_cut(l, at)) return;
    if (p >= l->silence || !l->speaking) return;
    if (!l->quiet) l->quiet = true, l->quiet_from = at;
    if ((double)(at - l->quiet_from) < l->min_silence) return;
    if ((double)(l->quiet_from - l->start) > l->min_speech) speech_add(l, l->start, l->quiet_from);
    speech_over(l);
}

/* A silence that is too short for both neighbours' widths is shared. */
static void speech_widen(const Listening *l, int64_t samples)
{
    for (size_t i = 0; i < l->n; i++) {
        SpeechSegment *s = &l->segment[i], *next = i + 1 < l->n ? s + 1 : NULL;
        const int64_t silent = next ? next->start - s->end : 0;
        if (i == 0) s->start = (int64_t)MAX(0, (double)s->start - l->pad);
        if (next && (double)silent < 2 * l->pad) {
            s->end += silent / 2;
            next->start = MAX(0, next->start - silent / 2);
            continue;
        }
        s->end = (int64_t)MIN((double)samples, (double)s->end + l->pad);
        if (next) next->start = (int64_t)MAX(0, (double)next->start - l->pad);
    }
}

size_t speech_segments(Arena *arena, const SpeechRules *r, int rate, const float *p, size_t n, int64_t samples,
                       SpeechSegment **out)
{
    const double per_ms = rate / 1000.0, window = speech_window(rate);
    Listening l = { .arena = arena, .threshold = r->threshold,
                    .silence = r->silence_threshold < 0 ? MAX(r->threshold - 0.15, 0.01) : r->silence_threshold,
                    .min_speech = per_ms * r->min_speech_ms, .min_silence = per_ms * r->min_silence_ms,
                    .cut_silence = per_ms * SILENCE_AT_MOST_MS, .pad = per_ms * r->pad_ms };
    if (r->max_speech_s > 0) l.most = MAX(rate * r->max_speech_s - window - 2 * l.pad, 1);
    for (size_t i = 0; i < n; i++) speech_window_at(&l, (double)p[i], (int64_t)i * speech_window(rate));
    if (l.speaking && (double)(samples - l.start) > l.min_speech) speech_add(&l, l.start, samples);
    speech_widen(&l, samples);
    *out = l.segment;
    return l.n;
}
