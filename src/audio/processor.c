/* SPDX-License-Identifier: Apache-2.0
 * processor.c - preprocessor_config.json to an AudioProcessor: a row per class of transformers with its
 * defaults, which the file overrides key by key. */
#include "spectrum.h"

#include <math.h>

#define MODEL_TYPES 16
typedef struct AudioClass {
    const char *name;
    AudioKind kind;
    const char *input;
    const char *model_types[MODEL_TYPES]; /* of config.json, where no file names a class */
} AudioClass;

static const AudioClass classes[] = {
    { "Wav2Vec2FeatureExtractor", AUDIO_SAMPLES, "input_values",
      { "wav2vec2", "hubert", "wavlm", "data2vec-audio", "unispeech", "unispeech-sat", "sew", "sew-d",
        "wav2vec2-conformer" } },
    { "ASTFeatureExtractor", AUDIO_BANKS, "input_values", { "audio-spectrogram-transformer" } },
    { "WhisperFeatureExtractor", AUDIO_LOG_MEL, "input_features", { "whisper" } },
    { "SileroVad", AUDIO_SAMPLES, "input", { 0 } }, /* no class of transformers: model_audio.c names it */
};

static const AudioClass *class_of_name(Str name)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        if (str_is(name, classes[i].name)) return &classes[i];
    return NULL;
}

static bool type_is_one(Str type, const char *const types[MODEL_TYPES])
{
    for (size_t i = 0; i < MODEL_TYPES && types[i]; i++)
        if (str_is(type, types[i])) return true;
    return false;
}

static const AudioClass *class_of_model(Str type)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        if (type_is_one(type, classes[i].model_types)) return &classes[i];
    return NULL;
}

bool audio_model_type(Str type)
{
    return class_of_model(type) != NULL;
}

/* A key that is absent or null has the class's default. */
static const Value *config_get(const Value *file, const char *key)
{
    const Value *v = value_get(file, key);
    return v && v->kind != V_NULL ? v : NULL;
}

static Str class_name(const Value *file, const Value *config)
{
    static const char key[] = "feature_extractor_type";
    Str name = value_str(config_get(file, key), STR(""));
    return name.n ? name : value_str(config_get(config, key), STR(""));
}

static const Value *audio_file(const AudioConfigs *configs)
{
    const Value *inner = config_get(configs->processor, "feature_extractor");
    return inner ? inner : configs->preprocessor;
}

static const AudioClass *class_find(const Value *file, const Value *config)
{
    Str name = class_name(file, config);
    return name.n ? class_of_name(name) : class_of_model(value_str(config_get(config, "model_type"), STR("")));
}

bool audio_configs_say(const AudioConfigs *configs)
{
    const Value *file = audio_file(configs);
    return file && class_find(file, configs->config);
}

/* ---- keys ---- */
static bool config_bool(const Value *file, const char *key, bool otherwise, bool *out, Err *err)
{
    const Value *v = config_get(file, key);
    *out = v && v->kind == V_BOOL ? v->b : otherwise;
    if (!v || v->kind == V_BOOL) return true;
    return fail(err, EF_BAD_MODEL, "%s: found %s, wanted true or false", key, value_kind_name(v->kind));
}

typedef struct IntKey {
    const char *key;
    int otherwise, least, most;
} IntKey;

static bool config_int(const Value *file, const IntKey *k, int *out, Err *err)
{
    const Value *v = config_get(file, k->key);
    *out = k->otherwise;
    if (!v) return true;
    double number = value_float(v, NAN);
    if (isnan(number))
        return fail(err, EF_BAD_MODEL, "%s: found %s, wanted a number", k->key, value_kind_name(v->kind));
    if (!(number >= k->least && number <= k->most && number == floor(number)))
        return fail(err, EF_BAD_MODEL, "%s: found %g, wanted %d to %d", k->key, number, k->least, k->most);
    *out = (int)number;
    return true;
}

static bool config_number(const Value *file, const char *key, double otherwise, double *out, Err *err)
{
    const Value *v = config_get(file, key);
    *out = value_float(v, otherwise);
    return !v || v->kind == V_INT || v->kind == V_FLOAT ||
           fail(err, EF_BAD_MODEL, "%s: found %s, wanted a number", key, value_kind_name(v->kind));
}

/* ---- each kind's own ---- */

enum { CONVS_MOST = 64 };
typedef struct Convs {
    size_t n;
    int64_t of[CONVS_MOST];
} Convs;
typedef struct ConvDefaults { /* of the configuration's class: save_pretrained may leave them out */
    const char *model_types[MODEL_TYPES];
    Convs kernel, stride;
} ConvDefaults;
static const ConvDefaults conv_defaults[] = {
    { { "wav2vec2", "hubert", "wavlm", "data2vec-audio", "unispeech", "unispeech-sat", "wav2vec2-conformer" },
      { 7, { 10, 3, 3, 3, 3, 2, 2 } }, { 7, { 5, 2, 2, 2, 2, 2, 2 } } },
    { { "sew", "sew-d" },
      { 13, { 10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1 } }, { 13, { 5, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1 } } },
};

static const ConvDefaults *convs_of_model(Str type)
{
    for (size_t i = 0; i < COUNT(conv_defaults); i++)
        if (type_is_one(type, conv_defaults[i].model_types)) return &conv_defaults[i];
    return NULL;
}

/* otherwise: NULL where none is known; then n stays 0. */
static bool config_convs(const Value *config, const char *key, const Convs *otherwise, Convs *out, Err *err)
{
    const Value *v = config_get(config, key);
    *out = otherwise ? *otherwise : (Convs){ 0 };
    if (!v) return true;
    if (v->kind != V_LIST || !v->list.n || v->list.n > CONVS_MOST)
        return fail(err, EF_BAD_MODEL, "config.json: %s: wanted a list of 1 to %d numbers", key, CONVS_MOST);
    out->n = v->list.n;
    for (size_t i = 0; i < out->n; i++) out->of[i] = value_int(&v->list.items[i], 0);
    return true;
}

/* Samples that its convolutions take to make one frame, and from frame to frame. */
static bool processor_strides(const Value *config, AudioProcessor *out, Err *err)
{
    enum { MOST = 1 << 20 };
    const ConvDefaults *known = convs_of_model(value_str(config_get(config, "model_type"), STR("")));
    Convs kernel, stride;
    int64_t least = 1, ratio = 1;
    out->least = out->ratio = 1;
    if (!config_convs(config, "conv_kernel", known ? &known->kernel : NULL, &kernel, err) ||
        !config_convs(config, "conv_stride", known ? &known->stride : NULL, &stride, err))
        return false;
    if (!kernel.n || !stride.n) return true;
    if (kernel.n != stride.n)
        return fail(err, EF_BAD_MODEL, "config.json: conv_kernel and conv_stride: found %zu and %zu numbers, wanted "
                    "lists of one length", kernel.n, stride.n);
    for (size_t i = 0; i < stride.n; i++) {
        int64_t k = kernel.of[i], s = stride.of[i];
        if (k < 1 || s < 1 || k > MOST || s > MOST || least > MOST || ratio > MOST)
            return fail(err, EF_BAD_MODEL, "config.json: conv_kernel and conv_stride: wanted numbers over 0");
        least += (k - 1) * ratio;
        ratio *= s;
    }
    if (least > MOST || ratio > MOST) return fail(err, EF_BAD_MODEL, "config.json: conv_stride: too large");
    out->least = (int)least;
    out->ratio = (int)ratio;
    return true;
}

static bool processor_samples(const Value *file, const Value *config, AudioProcessor *out, Err *err)
{
    static const IntKey features = { "feature_size", 1, 1, 1 };
    int one;
    return config_int(file, &features, &one, err) &&
           config_bool(file, "do_normalize", true, &out->normalize, err) &&
           config_bool(file, "return_attention_mask", false, &out->mask, err) &&
           processor_strides(config, out, err);
}

static bool processor_banks(Arena *arena, const Value *file, AudioProcessor *out, Err *err)
{
    static const IntKey mels = { "num_mel_bins", 128, 1, 1024 }, frames = { "max_length", 1024, 1, 1 << 16 };
    if (!config_int(file, &mels, &out->mels, err) || !config_int(file, &frames, &out->frames, err) ||
        !config_bool(file, "do_normalize", true, &out->normalize, err) ||
        !config_number(file, "mean", -4.2677393, &out->mean, err) ||
        !config_number(file, "std", 4.5689974, &out->std, err))
        return false;
    if (out->normalize && !(out->std > 0 || out->std < 0))
        return fail(err, EF_BAD_MODEL, "std: found 0, wanted another number");
    out->spectrum = spectrum_kaldi(arena, out->rate, out->mels);
    out->hop = out->spectrum->hop;
    out->least = out->spectrum->length;
    return true;
}

static bool processor_log_mel(Arena *arena, const Value *file, AudioProcessor *out, Err *err)
{
    static const IntKey mels = { "feature_size", 80, 1, 1024 }, length = { "n_fft", 400, 16, 8192 },
                        hop = { "hop_length", 160, 1, 8192 }, seconds = { "chunk_length", 30, 1, 600 };
    int n_fft, chunk;
    if (!config_int(file, &mels, &out->mels, err) || !config_int(file, &length, &n_fft, err) ||
        !config_int(file, &hop, &out->hop, err) || !config_int(file, &seconds, &chunk, err))
        return false;
    if ((int64_t)chunk * out->rate > 1 << 26 || chunk * out->rate < n_fft)
        return fail(err, EF_BAD_MODEL, "chunk_length: found %d seconds of %d Hz, wanted %d to %d samples", chunk,
                    out->rate, n_fft, 1 << 26);
    out->samples = chunk * out->rate;
    out->frames = out->samples / out->hop;
    out->least = 1;
    out->ratio = 2 * out->hop; /* its second convolution has a stride of 2 */
    out->spectrum = spectrum_slaney(arena, out->rate, out->mels, n_fft, out->hop);
    return true;
}

static bool processor_fill(Arena *arena, const AudioClass *c, const Value *file, const Value *config,
                           AudioProcessor *out, Err *err)
{
    static const IntKey rate = { "sampling_rate", 16000, SOUND_RATE_LEAST, SOUND_RATE_MOST };
    *out = (AudioProcessor){ .name = c->name, .input = c->input, .kind = c->kind, .ratio = 1 };
    if (!config_int(file, &rate, &out->rate, err)) return false;
    switch (c->kind) {
    case AUDIO_SAMPLES: return processor_samples(file, config, out, err);
    case AUDIO_BANKS: return processor_banks(arena, file, out, err);
    case AUDIO_LOG_MEL: return processor_log_mel(arena, file, out, err);
    }
    return false;
}

static bool class_unknown(const Value *file, const Value *config, Err *err)
{
    Str name = class_name(file, config), type = value_str(config_get(config, "model_type"), STR(""));
    return fail(err, EF_UNSUPPORTED, "%s: found \"%.*s\", wanted the feature extractor of Wav2Vec2, AST or Whisper",
                name.n ? "feature_extractor_type" : "model_type", STR_ARG(name.n ? name : type));
}

bool audio_processor_open(Arena *arena, const AudioConfigs *configs, AudioProcessor *out, Err *err)
{
    const Value *file = audio_file(configs);
    const char *name = file != configs->preprocessor ? "processor_config.json" : "preprocessor_config.json";
    if (!file) return fail(err, EF_BAD_MODEL, "found no preprocessor_config.json, which a model of sound needs");
    if (file->kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "%s: found %s, wanted an object", name, value_kind_name(file->kind));
    const AudioClass *c = class_find(file, configs->config);
    return (c ? processor_fill(arena, c, file, configs->config, out, err)
              : class_unknown(file, configs->config, err)) ||
           within(err, "%s", name);
}
