/* SPDX-License-Identifier: Apache-2.0
 * speech.c - a sound to windows for a model that says where somebody speaks (Silero VAD): a row for each
 * window, with the end of the window before it in front. The graph carries its state from row to row. */
#include "audio/speech.h"

#include "audio/audio.h"
#include "engine/engine.h"
#include "items.h"

/* Windows are views of one run of samples, with silence before the first and behind the last. */
static float *speech_samples(const PrepareCall *call, const Sound *sound, size_t windows)
{
    const size_t context = (size_t)speech_context(sound->rate), window = (size_t)speech_window(sound->rate);
    float *x = ARRAY(call->arena, float, context + windows * window);
    if (sound->n) memcpy(x + context, sound->samples, sizeof *x * sound->n);
    return x;
}

static bool prepare_speech_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    const int rate = call->options->rate ? call->options->rate : call->model->audio->rate;
    Sound sound;
    if (rate != SPEECH_RATE && rate != SPEECH_RATE_LOW)
        return fail(err, EF_INVALID_INPUT, "sampling_rate: found %d, wanted %d or %d", rate, SPEECH_RATE,
                    SPEECH_RATE_LOW);
    if (!item_open_sound(call, item, rate, &sound, err)) return false;
    const int64_t window = speech_window(rate), wide = speech_context(rate) + window;
    out->n = (sound.n + (size_t)window - 1) / (size_t)window;
    out->row = ARRAY(call->arena, Prepared, out->n + 1);
    float *x = speech_samples(call, &sound, out->n);
    int64_t *hertz = NEW(call->arena, int64_t);
    *hertz = rate;
    for (size_t i = 0; i < out->n; i++) {
        Feature *f = ARRAY(call->arena, Feature, 2);
        const int64_t at = (int64_t)i * window;
        f[0] = (Feature){ call->model->audio->input, { .type = T_F32, .rank = 1, .dim = { wide }, .data = x + at } };
        f[1] = (Feature){ "sr", { .type = T_I64, .data = hertz } };
        out->row[i] = (Prepared){ .feature = f, .features = 2,
                                  .sound = { .at = at, .samples = MIN(window, (int64_t)sound.n - at),
                                             .ratio = (int)window, .rate = rate } };
    }
    return true;
}

const Preparer prepare_speech = { "speech", prepare_speech_rows };
