/* SPDX-License-Identifier: Apache-2.0
 * sounds.c - sounds to rows: a file's bytes, or samples with their rate, become the tensor that the model's
 * feature extractor makes of them. A sound is one row, or with chunk_length_s one for each chunk, cut as
 * transformers' pipeline cuts them. Rows of one length run together, and rows are never padded to each other's
 * length, so what others send does not change an answer. */
#include <math.h>

#include "audio/audio.h"
#include "engine/engine.h"
#include "items.h"

const Field item_sound_keys[] = {
    { "audio", 1, F_BYTES, .help = "the file's bytes: base64 or a data URI in JSON" },
    { "array", 2, F_F32, .repeated = true,
      .help = "instead of a file: samples in -1 .. 1, or a list of them for each channel" },
    { "raw", 0, F_F32, .repeated = true, .help = "another name of array" },
    { "sampling_rate", 3, F_U32, .help = "of array, in Hz" },
    { 0 },
};
const ItemForm item_sounds = {
    .keys = item_sound_keys,
    .part = { ITEM_SOUND, ITEM_NUMBERS, ITEM_NUMBERS, ITEM_RATE },
    .alone = true,
    .object = true,
    .one = "a sound: base64 or a data URI, or an object with audio, or with array and sampling_rate",
    .all = "a sound (base64 or a data URI, or an object with audio, or with array and sampling_rate), or a list of "
           "sounds",
};

/* ---- items ---- */
bool item_read_sound(Arena *arena, const Value *v, Str *out, Err *err)
{
    if (v->kind != V_BYTES && v->kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a sound: base64 or a data URI", value_kind_name(v->kind));
    if (v->s.n == 0) return fail(err, EF_INVALID_INPUT, "sound: found no bytes");
    *out = v->s;
    return v->kind == V_BYTES || sound_from_text(arena, v->s, out, err);
}

static SoundNumbers *item_numbers(Arena *arena, Item *item)
{
    if (!item->numbers) item->numbers = NEW(arena, SoundNumbers);
    return item->numbers;
}

/* One channel; of those behind the first, *n is the length that it must have. */
static bool numbers_channel(Arena *arena, const Value *v, bool first, const float **out, size_t *n, Err *err)
{
    bool floats = v->kind == V_F32;
    size_t count = floats ? v->f32.n : v->kind == V_LIST ? v->list.n : 0;
    if (!floats && v->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a list of numbers", value_kind_name(v->kind));
    if (!first && count != *n)
        return fail(err, EF_INVALID_INPUT, "found channels of %zu and %zu samples, wanted one length", *n, count);
    *n = count;
    *out = floats ? v->f32.p : NULL;
    if (floats) return true;
    float *x = ARRAY(arena, float, count + 1);
    for (size_t i = 0; i < count; i++) {
        const Value *one = &v->list.items[i];
        if (one->kind != V_INT && one->kind != V_FLOAT)
            return fail(err, EF_INVALID_INPUT, "[%zu]: found %s, wanted a number", i, value_kind_name(one->kind));
        x[i] = (float)value_float(one, 0);
    }
    *out = x;
    return true;
}

bool item_read_numbers(Arena *arena, const Value *v, Item *item, Err *err)
{
    const bool none = (v->kind == V_LIST && !v->list.n) || (v->kind == V_F32 && !v->f32.n);
    if (none && item->sound.n) return true; /* protobuf's way to say nothing */
    SoundNumbers *numbers = item_numbers(arena, item);
    const ValueKind inner = v->kind == V_LIST && v->list.n ? v->list.items[0].kind : V_NULL;
    const bool channels = inner == V_LIST || inner == V_F32;
    size_t count = channels ? v->list.n : 1;
    if (count > SOUND_CHANNELS_MOST)
        return fail(err, EF_INVALID_INPUT, "found %zu channels, wanted at most %d: [channels][samples]", count,
                    SOUND_CHANNELS_MOST);
    const float **channel = ARRAY(arena, const float *, count);
    for (size_t i = 0; i < count; i++)
        if (!numbers_channel(arena, channels ? &v->list.items[i] : v, i == 0, &channel[i], &numbers->n, err))
            return false;
    numbers->channel = channel;
    numbers->channels = (int)count;
    return true;
}

bool item_read_rate(Arena *arena, const Value *v, Item *item, Err *err)
{
    double rate = value_float(v, -1);
    if (rate == 0 && v->kind == V_INT && !item->numbers) return true; /* protobuf's way to say nothing */
    if (!(rate >= SOUND_RATE_LEAST && rate <= SOUND_RATE_MOST && rate == floor(rate)))
        return fail(err, EF_INVALID_INPUT, "found %s%g, wanted %d to %d Hz",
                    v->kind == V_INT || v->kind == V_FLOAT ? "" : value_kind_name(v->kind), rate, SOUND_RATE_LEAST,
                    SOUND_RATE_MOST);
    item_numbers(arena, item)->rate = (int)rate;
    return true;
}

bool item_check_sound(const Item *item, Err *err)
{
    const SoundNumbers *x = item->numbers;
    if (item->sound.n && x && x->channels)
        return fail(err, EF_INVALID_INPUT, "found audio and array, wanted one of them");
    if (item->sound.n) return true;
    if (!x || !x->channels) return fail(err, EF_INVALID_INPUT, "found no audio, wanted %s", item_sounds.one);
    if (x->n == 0) return fail(err, EF_INVALID_INPUT, "array: found no samples, wanted at least 1");
    return x->rate || fail(err, EF_INVALID_INPUT, "sampling_rate: found nothing, wanted one beside array");
}

size_t item_sound_bytes(const Item *item)
{
    const SoundNumbers *x = item->numbers;
    return item->sound.n + (x ? x->n * (size_t)x->channels * sizeof(float) : 0);
}

static void wave_put(uint8_t *to, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(number >> (8 * i));
}

Str item_sample_sound(Arena *arena, size_t number)
{
    enum { HEAD = 44, RATE = 16000, SAMPLES = RATE / 2, BYTES = HEAD + 2 * SAMPLES };
    uint8_t *wav = arena_alloc(arena, BYTES);
    memcpy(wav, "RIFF....WAVEfmt ", 16);
    wave_put(wav + 4, 4, BYTES - 8);
    wave_put(wav + 16, 4, 16);
    wave_put(wav + 20, 2, 1); /* integers, */
    wave_put(wav + 22, 2, 1); /*   one channel */
    wave_put(wav + 24, 4, RATE);
    wave_put(wav + 28, 4, 2 * RATE);
    wave_put(wav + 32, 2, 2);
    wave_put(wav + 34, 2, 16);
    memcpy(wav + 36, "data", 4);
    wave_put(wav + 40, 4, 2 * SAMPLES);
    const double step = 2 * M_PI * (double)(220 + 110 * (number % 8)) / RATE;
    for (size_t i = 0; i < SAMPLES; i++)
        wave_put(wav + HEAD + 2 * i, 2, (uint32_t)(int32_t)(12000 * sin(step * (double)i)));
    return (Str){ (char *)wav, BYTES };
}

/* ---- chunks: as chunk_iter of the pipeline ---- */
enum { WHOLE_S = 60, CHUNK_S = 30 };
enum { STEP_PART = 8 }; /* a step is at least such a part of a chunk: it bounds how often a sample is heard */

typedef struct Chunks {
    int64_t length, left, right; /* in samples; length 0: the sound is one row */
} Chunks;

/* A multiple of a frame's samples, rounded as Python does. */
static int64_t chunk_samples(const AudioProcessor *p, double seconds)
{
    return (int64_t)rint(seconds * p->rate / p->ratio) * p->ratio;
}

static bool chunks_check(const Chunks *c, const AudioProcessor *p, Err *err)
{
    if (c->left < 0 || c->right < 0)
        return fail(err, EF_INVALID_INPUT, "stride_length_s: found a negative number, wanted 0 or more");
    const int64_t shared = c->left + c->right, most = c->length - (c->length + STEP_PART - 1) / STEP_PART;
    if (shared > most)
        return fail(err, EF_INVALID_INPUT, "stride_length_s: found %g seconds on both sides of a chunk of %g, wanted "
                    "at most %g: seven eighths of it", (double)shared / p->rate, (double)c->length / p->rate,
                    (double)most / p->rate);
    return c->length >= p->least || fail(err, EF_INVALID_INPUT, "chunk_length_s: found %lld samples, wanted at "
                                         "least %d", (long long)c->length, p->least);
}

/* Without the samples of a frame, frames of chunks cannot be joined, and have no seconds. */
static bool ratio_unknown(const char *wanted_by, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "%s: found no conv_kernel and conv_stride in the model's config.json, wanted "
                "them: they say how many samples a frame is", wanted_by);
}

static bool chunks_of(const PrepareCall *call, size_t n, Chunks *out, Err *err)
{
    const AudioProcessor *p = call->model->audio;
    const InputOptions *o = call->options;
    const bool open = p->kind == AUDIO_SAMPLES && !p->samples; /* else every sound is cut to the model's length */
    const bool long_one = open && n > (size_t)WHOLE_S * (size_t)p->rate;
    double seconds = o->chunk_s > 0 ? o->chunk_s : long_one ? CHUNK_S : 0;
    *out = (Chunks){ 0 };
    if (long_one && !call->model->chunks)
        return fail(err, EF_TOO_LARGE, "sound: found %.1f seconds, wanted at most %d: the model hears a sound whole",
                    (double)n / p->rate, WHOLE_S);
    if (seconds <= 0 || !open) return true;
    if (p->ratio == 1)
        return ratio_unknown(o->chunk_s > 0 ? "chunk_length_s" : "a sound of over a minute", err);
    if (seconds > WHOLE_S)
        return fail(err, EF_TOO_LARGE, "chunk_length_s: found %g, wanted at most %d", seconds, WHOLE_S);
    const double sixth = seconds / 6;
    *out = (Chunks){ chunk_samples(p, seconds), chunk_samples(p, o->stride_said ? o->stride_s[0] : sixth),
                     chunk_samples(p, o->stride_said ? o->stride_s[1] : sixth) };
    return chunks_check(out, p, err);
}

/* ---- rows ---- */
static bool sound_row(const PrepareCall *call, const Sound *sound, SoundPart part, Prepared *out, Err *err)
{
    const AudioProcessor *p = call->model->audio;
    AudioTensor t;
    if (!audio_prepare(call->arena, p, sound->samples + part.at, (size_t)part.samples, &t, err)) return false;
    Feature *feature = NEW(call->arena, Feature);
    *feature = (Feature){ p->input,
                          { .type = T_F32, .rank = t.rank, .dim = { t.dim[0], t.dim[1] }, .data = t.values } };
    *out = (Prepared){ .feature = feature, .features = 1, .sound = part };
    return true;
}

/* A last chunk that is too short for a frame is left out. */
static bool sound_chunks(const PrepareCall *call, const Sound *sound, const Chunks *c, PreparedRows *out, Err *err)
{
    const AudioProcessor *p = call->model->audio;
    const int64_t n = (int64_t)sound->n, step = c->length - c->left - c->right;
    out->row = ARRAY(call->arena, Prepared, n / step + 1);
    for (int64_t at = 0;; at += step) {
        const bool last = at + c->length >= n;
        SoundPart part = { .at = at, .samples = last ? n - at : c->length, .left = at ? c->left : 0,
                           .right = last ? 0 : c->right, .ratio = p->ratio, .rate = p->rate };
        const bool heard = part.samples > part.left && part.samples >= (out->n ? p->least : 1);
        if (heard && !sound_row(call, sound, part, &out->row[out->n++], err)) return false;
        if (last) return true;
    }
}

bool item_open_sound(const PrepareCall *call, const Item *item, int rate, Sound *out, Err *err)
{
    SoundLimits limits = { call->model->max_seconds };
    return item->numbers && !item->sound.n ? sound_take(call->work, item->numbers, &limits, rate, out, err)
                                           : sound_read(call->work, item->sound, &limits, rate, out, err);
}

static bool prepare_sound_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    const AudioProcessor *p = call->model->audio;
    Sound sound;
    Chunks chunks;
    if (call->options->times && p->ratio == 1) return ratio_unknown("return_timestamps", err);
    if (!item_open_sound(call, item, p->rate, &sound, err) || !chunks_of(call, sound.n, &chunks, err)) return false;
    if (chunks.length) return sound_chunks(call, &sound, &chunks, out, err);
    SoundPart whole = { .samples = (int64_t)sound.n, .ratio = p->ratio, .rate = p->rate };
    out->n = 1;
    return sound_row(call, &sound, whole, out->row, err);
}

const Preparer prepare_sounds = { "sounds", prepare_sound_rows };
