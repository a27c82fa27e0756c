/* SPDX-License-Identifier: Apache-2.0
 * model_audio.c - how a model's sounds are prepared (preprocessor_config.json, or the feature_extractor of
 * processor_config.json), and how its speech is written (vocab.json and what stands beside it). A package keeps
 * these files as one object. */
#include "audio/speech.h"
#include "data/json.h"
#include "model/model.h"

/* Of the package's object, beside "feature_extractor"; of a folder, files with the ending .json. */
static const char *const ctc_parts[] = { "vocab", "tokenizer_config", "special_tokens_map", "added_tokens" };
enum { CTC_PARTS = COUNT(ctc_parts) };

bool model_hears(const Model *m)
{
    return m->task && item_form_has(m->task->items, ITEM_SOUND);
}

static bool audio_writes(const Model *m)
{
    return task_can(m->task, NULL, CAN_TRANSCRIBE);
}

/* root: the package's object. */
static bool audio_set(Model *m, const Value *root, Err *err)
{
    const Value *part[CTC_PARTS];
    m->audio = NEW(&m->arena, AudioProcessor);
    if (!audio_processor_open(&m->arena, &(AudioConfigs){ .processor = root, .config = m->config.root }, m->audio, err))
        return false;
    if (!audio_writes(m)) return true;
    for (size_t i = 0; i < CTC_PARTS; i++) part[i] = value_get(root, ctc_parts[i]);
    return ctc_open(&m->arena, &(CtcFiles){ part[0], part[1], part[2], part[3] }, &m->ctc, err);
}

/* A model that finds speech comes as one file: its windows are known. */
static const Value *audio_windows(Model *m)
{
    Value *v = NEW(&m->arena, Value);
    *v = value_map(&m->arena, 3);
    value_add(v, "feature_extractor_type", value_of_str(STR("SileroVad")));
    value_add(v, "sampling_rate", value_of_int(SPEECH_RATE));
    value_add(v, "do_normalize", value_of_bool(false));
    return v;
}

/* The first that is there: the object in processor_config.json, or the other file. */
static bool audio_settings(Model *m, const ModelSource *s, const Value **out, Err *err)
{
    const Value *processor, *preprocessor;
    if (task_can(m->task, NULL, CAN_FIND_SPEECH)) return *out = audio_windows(m), true;
    if (!s->preprocessor && !s->processor)
        return fail(err, EF_NOT_FOUND, "preprocessor_config.json not found: Could not locate the feature extractor "
                    "beside \"%s\"", s->weights);
    if (!model_json_file(m, s->processor, &processor, err) || !model_json_file(m, s->preprocessor, &preprocessor, err))
        return false;
    const Value *inner = value_get(processor, "feature_extractor");
    *out = inner && inner->kind == V_MAP ? inner : preprocessor;
    return *out || fail(err, EF_BAD_MODEL, "processor_config.json: found no feature_extractor, and no "
                        "preprocessor_config.json");
}

/* The files of its tokenizer's folder; but for vocab.json they may be missing. */
static bool audio_words(Model *m, const ModelSource *s, Value *root, Err *err)
{
    const char *beside = s->tokenizer.vocab ? s->tokenizer.vocab : s->config;
    const char *folder = beside ? path_dir(&m->arena, beside) : ".";
    for (size_t i = 0; i < CTC_PARTS; i++) {
        const char *path = path_join(&m->arena, folder, str_of(str_format(&m->arena, "%s.json", ctc_parts[i])));
        const Value *file;
        if (i == 0 && !file_is(path))
            return fail(err, EF_NOT_FOUND, "vocab.json not found: Could not locate the vocabulary of a CTC model at "
                        "path: \"%s\"; --tokenizer names another folder", path);
        if (!file_is(path)) continue;
        if (!model_json_file(m, path, &file, err)) return false;
        value_add(root, ctc_parts[i], *file);
    }
    return true;
}

bool model_open_audio(Model *m, const ModelSource *s, Err *err)
{
    const Value *settings = NULL;
    Value *root = NEW(&m->arena, Value);
    if (!audio_settings(m, s, &settings, err)) return false;
    *root = value_map(&m->arena, 1 + CTC_PARTS);
    value_add(root, "feature_extractor", *settings);
    if (audio_writes(m) && !audio_words(m, s, root, err)) return false;
    Buf text = { .arena = &m->arena };
    json_write(&text, root);
    m->audio_text = buf_view(&text);
    return audio_set(m, root, err);
}

bool model_packed_audio(Model *m, Err *err)
{
    Str text = m->package.member[MEMBER_AUDIO].bytes;
    Value *root = NEW(&m->arena, Value);
    if (!text.p) return fail(err, EF_BAD_MODEL, "Missing required artifact: %s", member_name(MEMBER_AUDIO));
    return (json_parse(&m->arena, text, root, err) && audio_set(m, root, err)) ||
           within(err, "%s", member_name(MEMBER_AUDIO));
}

static bool audio_misfit(const AudioProcessor *p, const int64_t *found, const int64_t *want, Err *err)
{
    return fail(err, EF_BAD_MODEL,
                "Input shape mismatch: %s: found a graph for %lld x %lld, wanted %lld x %lld as %s makes", p->input,
                (long long)found[0], (long long)found[1], (long long)want[0], (long long)want[1], p->name);
}

/* A graph of one length gets sounds of that length: longer ones are cut, shorter ones end in silence. */
bool model_audio_fits(Model *m, Err *err)
{
    AudioProcessor *p = m->audio;
    const Graph *g = m->graph;
    if (task_can(m->task, NULL, CAN_FIND_SPEECH)) return true; /* rows are windows, not sounds */
    const int64_t want[2] = { p->kind == AUDIO_LOG_MEL ? p->mels : p->frames,
                              p->kind == AUDIO_LOG_MEL ? p->frames : p->mels };
    for (int i = 0; i < g->n_input; i++) {
        const GraphValue *v = &g->value[g->input[i]];
        const int rank = p->kind == AUDIO_SAMPLES ? 2 : 3;
        if (!str_is(v->name, p->input) || v->t.rank < 0) continue;
        if (v->t.rank != rank)
            return fail(err, EF_BAD_MODEL, "Input shape mismatch: %s: found %d dimensions, wanted %d for %s", p->input,
                        v->t.rank, rank, p->name);
        if (rank == 2 && v->t.dim[1] > 0) p->samples = (int)MIN(v->t.dim[1], INT32_MAX);
        for (int k = 0; rank == 3 && k < 2; k++)
            if (v->t.dim[k + 1] > 0 && v->t.dim[k + 1] != want[k]) return audio_misfit(p, v->t.dim + 1, want, err);
    }
    return true;
}

void model_describe_sounds(const Model *m, Buf *b)
{
    const AudioProcessor *p = m->audio;
    const double seconds = p->samples ? (double)p->samples / p->rate : (double)p->frames * p->hop / p->rate;
    buf_printf(b, "sounds, resampled to %d Hz", p->rate);
    if (seconds > 0) buf_printf(b, ", of up to %g seconds", seconds);
    buf_printf(b, " (%s)", p->name);
}
