/* SPDX-License-Identifier: Apache-2.0
 * decode.c - which format the bytes are, the limits that hold for all of them, and the way of every
 * block: checked, resampled, kept. */
#include "decode.h"

#include <math.h>

#include "data/uri.h"

typedef struct SoundFormat {
    const char *name;
    Magic magic;
    SoundReadFn *read;  /* NULL: known, but not decoded */
    const char *suffix; /* of the command that converts it */
} SoundFormat;

static const SoundFormat formats[] = {
    { "WAV", MAGIC("RIFF????WAVE"), sound_read_wav },
    { "WAV", MAGIC("RF64????WAVE"), sound_read_wav },
    { "FLAC", MAGIC("fLaC"), sound_read_flac },
    { "MP3", MAGIC("ID3"), NULL, "mp3" },
    { "AAC", MAGIC("\xff\xf1"), NULL, "aac" },
    { "AAC", MAGIC("\xff\xf9"), NULL, "aac" },
    { "MP3", MAGIC("\xff\xfb"), NULL, "mp3" },
    { "MP3", MAGIC("\xff\xfa"), NULL, "mp3" },
    { "MP3", MAGIC("\xff\xf3"), NULL, "mp3" },
    { "MP3", MAGIC("\xff\xf2"), NULL, "mp3" },
    { "MP3", MAGIC("\xff\xe3"), NULL, "mp3" },
    { "Opus", MAGIC("OggS????????????????????????OpusHead"), NULL, "opus" },
    { "Ogg", MAGIC("OggS"), NULL, "ogg" },
    { "M4A", MAGIC("????ftyp"), NULL, "m4a" },
    { "WebM", MAGIC("\x1a\x45\xdf\xa3"), NULL, "webm" },
    { "AIFF", MAGIC("FORM????AIF"), NULL, "aiff" },
    { "AU", MAGIC(".snd"), NULL, "au" },
    { "AMR", MAGIC("#!AMR"), NULL, "amr" },
    { "CAF", MAGIC("caff"), NULL, "caf" },
    { "WMA", MAGIC("\x30\x26\xb2\x75"), NULL, "wma" },
    { "AVI", MAGIC("RIFF????AVI "), NULL, "avi" },
};

const char *sound_formats(void)
{
    return "WAV or FLAC";
}

bool sound_from_text(Arena *arena, Str text, Str *bytes, Err *err)
{
    return uri_read(arena, "sound", text, bytes, err);
}

static const SoundFormat *format_of(Str bytes)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (bytes_begin(bytes, &formats[i].magic)) return &formats[i];
    return NULL;
}

static bool format_unknown(Str bytes, Err *err)
{
    if (bytes.n == 0) return fail(err, EF_INVALID_INPUT, "sound: found no bytes, wanted %s", sound_formats());
    char start[BYTES_SHOWN];
    return fail(err, EF_INVALID_INPUT, "sound: found %zu bytes that begin with \"%s\", wanted %s (samples "
                "without a header: as an array with its sampling_rate)", bytes.n, bytes_show(bytes, start),
                sound_formats());
}

bool sound_read(Arena *arena, Str bytes, const SoundLimits *limits, int rate, Sound *out, Err *err)
{
    const SoundFormat *format = format_of(bytes);
    if (!format) return format_unknown(bytes, err);
    if (!format->read)
        return fail(err, EF_MEDIA_TYPE, "sound: found %s, wanted %s; to convert: ffmpeg -i FILE.%s -ac 1 -ar %d "
                    "FILE.wav", format->name, sound_formats(), format->suffix, rate ? rate : 16000);
    Arena scratch = { .budget = arena->budget, .local = true };
    *out = (Sound){ .format = format->name, .rate = rate };
    SoundJob job = { .arena = arena, .scratch = &scratch, .bytes = bytes, .sound = out,
                     .seconds = limits && limits->seconds > 0 ? limits->seconds : SOUND_SECONDS };
    bool ok = format->read(&job, err) && sound_end(&job, err);
    arena_free(&scratch);
    return ok || within(err, "sound: %s", format->name);
}

bool sound_take(Arena *arena, const SoundNumbers *from, const SoundLimits *limits, int rate, Sound *out, Err *err)
{
    Arena scratch = { .budget = arena->budget, .local = true };
    float mono[SOUND_BLOCK];
    *out = (Sound){ .format = "samples", .rate = rate };
    SoundJob job = { .arena = arena, .scratch = &scratch, .sound = out,
                     .seconds = limits && limits->seconds > 0 ? limits->seconds : SOUND_SECONDS };
    bool ok = sound_begin(&job, (uint64_t)MAX(from->rate, 0), (uint64_t)from->channels, from->n, err);
    for (size_t at = 0, n; ok && at < from->n; at += n) {
        n = MIN(from->n - at, (size_t)SOUND_BLOCK);
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (int c = 0; c < from->channels; c++) sum += from->channel[c][at + i];
            mono[i] = sum / (float)from->channels;
        }
        ok = sound_push(&job, mono, n, err);
    }
    ok = ok && sound_end(&job, err);
    arena_free(&scratch);
    return ok || within(err, "sound");
}

/* ---- the way of a block ---- */
static bool sound_too_long(const SoundJob *job, double seconds, bool more, Err *err)
{
    return fail(err, EF_TOO_LARGE, "found %s%.1f seconds, wanted at most %g", more ? "over " : "", seconds,
                job->seconds);
}

/* Over the seconds, or within them over the numbers. */
static bool sound_too_much(const SoundJob *job, double samples, bool more, Err *err)
{
    const Sound *s = job->sound;
    const double seconds = samples / s->rate_given;
    if (samples > job->seconds * s->rate_given) return sound_too_long(job, more ? job->seconds : seconds, more, err);
    return fail(err, EF_TOO_LARGE, "found %s%.1f seconds of %d channels at %d Hz, wanted at most %g of 2 at 48000, or "
                "as many numbers", more ? "over " : "", seconds, s->channels_given, s->rate_given, job->seconds);
}

bool sound_begin(SoundJob *job, uint64_t rate, uint64_t channels, uint64_t samples, Err *err)
{
    Sound *s = job->sound;
    if (rate < SOUND_RATE_LEAST || rate > SOUND_RATE_MOST)
        return fail(err, EF_INVALID_INPUT, "found a sampling rate of %llu Hz, wanted %d to %d",
                    (unsigned long long)rate, SOUND_RATE_LEAST, SOUND_RATE_MOST);
    if (channels < 1 || channels > SOUND_CHANNELS_MOST)
        return fail(err, EF_INVALID_INPUT, "found %llu channels, wanted 1 to %d", (unsigned long long)channels,
                    SOUND_CHANNELS_MOST);
    s->rate_given = (int)rate;
    s->channels_given = (int)channels;
    if (!s->rate) s->rate = s->rate_given;
    job->most = (uint64_t)MIN(job->seconds * MIN((double)rate, SOUND_NUMBERS / (double)channels), 1e15);
    if (samples > job->most) return sound_too_much(job, (double)samples, false, err);
    job->resampler = resample_open(job->scratch, s->rate_given, s->rate);
    job->out.arena = job->arena;
    enum { PACKED = 256 }; /* samples of a byte: room for more is made when they are there, not promised */
    if (job->bytes.p) samples = MIN(samples, (uint64_t)job->bytes.n * PACKED);
    buf_reserve(&job->out, (size_t)resample_length(s->rate_given, s->rate, samples) * sizeof(float));
    return true;
}

bool sound_push(SoundJob *job, const float *x, size_t n, Err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return fail(err, EF_INVALID_INPUT, "found %f as sample %llu, wanted numbers", (double)x[i],
                        (unsigned long long)(job->taken + i));
    if (job->taken + n > job->most) return sound_too_much(job, (double)(job->taken + n), true, err);
    job->taken += n;
    if (job->resampler) resample_push(job->resampler, x, n, &job->out);
    else buf_add(&job->out, x, n * sizeof *x);
    return true;
}

bool sound_end(SoundJob *job, Err *err)
{
    if (job->taken == 0) return fail(err, EF_INVALID_INPUT, "found no samples, wanted at least 1");
    if (job->resampler) resample_end(job->resampler, &job->out);
    job->sound->samples = (const float *)job->out.p;
    job->sound->n = job->out.n / sizeof(float);
    return true;
}

bool sound_truncated(const SoundJob *job, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "the file is truncated: it ends after %zu bytes", job->bytes.n);
}
