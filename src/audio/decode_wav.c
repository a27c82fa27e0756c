/* SPDX-License-Identifier: Apache-2.0
 * decode_wav.c - WAV: integers of 8, 16, 24 and 32 bits, floats of 32 and 64, A-law and mu-law, also in
 * the extensible form and in RF64. A file that was written into a pipe does not know its length (all ones,
 * or zero): then the rest of the file is sound. Otherwise a file that is shorter than it says is refused. */
#include "decode.h"

#include <math.h>

typedef float WavSample(const uint8_t *);
typedef struct WavCoding {
    int tag, bits;
    WavSample *sample;
} WavCoding;
enum { WAV_INTEGER = 1, WAV_FLOAT = 3, WAV_A_LAW = 6, WAV_MU_LAW = 7, WAV_EXTENSIBLE = 0xfffe };

static float wav_u8(const uint8_t *p) { return (float)(*p - 128) / 128.0f; }
static float wav_s16(const uint8_t *p) { return (float)(int16_t)le16(p) / 32768.0f; }
static float wav_s24(const uint8_t *p)
{
    return (float)((int32_t)((le16(p) << 8) | (uint32_t)p[2] << 24) >> 8) / 8388608.0f;
}
static float wav_s32(const uint8_t *p) { return (float)((double)(int32_t)le32(p) / 2147483648.0); }
static float wav_f32(const uint8_t *p)
{
    uint32_t bits = le32(p);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float wav_f64(const uint8_t *p)
{
    uint64_t bits = le32(p) | (uint64_t)le32(p + 4) << 32;
    double x;
    memcpy(&x, &bits, sizeof x);
    return (float)x;
}

/* G.711: three bits of exponent, four of mantissa. */
static float wav_a_law(const uint8_t *p)
{
    int code = *p ^ 0x55, exponent = code >> 4 & 7, low = (code & 15) << 4;
    int x = exponent ? (low + 0x108) << (exponent - 1) : low + 8;
    return (float)(code & 0x80 ? x : -x) / 32768.0f;
}
static float wav_mu_law(const uint8_t *p)
{
    int code = ~*p & 0xff, x = (((code & 15) << 3) + 0x84) << (code >> 4 & 7);
    return (float)(code & 0x80 ? 0x84 - x : x - 0x84) / 32768.0f;
}

static const WavCoding codings[] = {
    { WAV_INTEGER, 8, wav_u8 },   { WAV_INTEGER, 16, wav_s16 }, { WAV_INTEGER, 24, wav_s24 },
    { WAV_INTEGER, 32, wav_s32 }, { WAV_FLOAT, 32, wav_f32 },   { WAV_FLOAT, 64, wav_f64 },
    { WAV_A_LAW, 8, wav_a_law },  { WAV_MU_LAW, 8, wav_mu_law },
};

typedef struct WavFile {
    const WavCoding *coding;
    uint32_t rate, channels;
    uint64_t long_data;    /* RF64: what the chunk "ds64" says */
    Str data;
} WavFile;

static bool wav_format(WavFile *w, Str chunk, Err *err)
{
    const uint8_t *p = (const uint8_t *)chunk.p;
    enum { LEAST = 16, EXTENSIBLE = 26 };
    if (chunk.n < LEAST)
        return fail(err, EF_INVALID_INPUT, "the format chunk has %zu bytes, wanted at least %d", chunk.n, LEAST);
    int tag = (int)le16(p), bits = (int)le16(p + 14);
    if (tag == WAV_EXTENSIBLE && chunk.n >= EXTENSIBLE) tag = (int)le16(p + 24); /* of its GUID */
    w->channels = le16(p + 2);
    w->rate = le32(p + 4);
    for (size_t i = 0; i < COUNT(codings); i++)
        if (codings[i].tag == tag && codings[i].bits == bits) w->coding = &codings[i];
    if (!w->coding)
        return fail(err, EF_MEDIA_TYPE, "found coding 0x%04x of %d bits, wanted integers of 8, 16, 24 or 32, "
                    "floats of 32 or 64, A-law or mu-law", (unsigned)tag, bits);
    if (w->channels && le16(p + 12) != w->channels * (unsigned)bits / 8)
        return fail(err, EF_INVALID_INPUT, "found frames of %u bytes, wanted %u: %u channels of %d bits",
                    le16(p + 12), w->channels * (unsigned)bits / 8, w->channels, bits);
    return true;
}

/* The chunk's bytes as far as they are there; false: they are not. */
static bool wav_data(const SoundJob *job, WavFile *w, uint64_t size, Str rest, Err *err)
{
    bool piped = size == UINT32_MAX || size == 0;
    if (size == UINT32_MAX && w->long_data) size = w->long_data, piped = false;
    if (!piped && size > rest.n) return sound_truncated(job, err);
    w->data = (Str){ rest.p, piped ? rest.n : (size_t)size };
    return w->coding || fail(err, EF_INVALID_INPUT, "found samples before their format");
}

static bool wav_chunks(const SoundJob *job, WavFile *w, Err *err)
{
    enum { HEAD = 12, NAME = 8 };
    for (size_t at = HEAD; job->bytes.n - at >= NAME && at < job->bytes.n;) {
        const uint8_t *p = (const uint8_t *)job->bytes.p + at;
        uint64_t size = le32(p + 4);
        Str rest = { job->bytes.p + at + NAME, job->bytes.n - at - NAME };
        if (memcmp(p, "data", 4) == 0) return wav_data(job, w, size, rest, err);
        if (size > rest.n) return sound_truncated(job, err);
        if (memcmp(p, "fmt ", 4) == 0 && !wav_format(w, (Str){ rest.p, size }, err)) return false;
        if (memcmp(p, "ds64", 4) == 0 && size >= 16)
            w->long_data = le32(p + NAME + 8) | (uint64_t)le32(p + NAME + 12) << 32;
        at += NAME + size + (size & 1);
        if (at > job->bytes.n) break;
    }
    return fail(err, EF_INVALID_INPUT, "found no chunk of samples in %zu bytes", job->bytes.n);
}

static bool wav_samples(SoundJob *job, const WavFile *w, uint64_t frames, Err *err)
{
    const uint8_t *p = (const uint8_t *)w->data.p;
    const size_t step = (size_t)w->coding->bits / 8;
    float mono[SOUND_BLOCK];
    for (uint64_t at = 0, n; at < frames; at += n) {
        n = MIN(frames - at, (uint64_t)SOUND_BLOCK);
        for (uint64_t i = 0; i < n; i++) {
            float sum = 0;
            for (uint32_t c = 0; c < w->channels; c++, p += step) sum += w->coding->sample(p);
            mono[i] = w->channels > 1 ? sum / (float)w->channels : sum;
        }
        if (!sound_push(job, mono, n, err)) return false;
    }
    return true;
}

bool sound_read_wav(SoundJob *job, Err *err)
{
    WavFile w = { 0 };
    if (!wav_chunks(job, &w, err)) return false;
    uint64_t frame = (uint64_t)w.coding->bits / 8 * MAX(w.channels, 1u), frames = w.data.n / frame;
    return sound_begin(job, w.rate, w.channels, frames, err) && wav_samples(job, &w, frames, err);
}
