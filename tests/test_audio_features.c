/* SPDX-License-Identifier: Apache-2.0
 * test_audio_features.c - samples to tensors, against the feature extractors of transformers
 * (tests/golden/sounds/features.json, written by tools/oracle/sounds.py): samples and log-mel within 1e-5,
 * filter banks within 1e-4. Which file and which class; values that make no sense. */
#include "sound_case.h"

static const float *make_sound(Arena *arena, const char *kind, size_t *n)
{
    Err err = { 0 };
    Sound speech;
    float *x;
    if (strcmp(kind, "speech") == 0) {
        if (!CHECK(sound_read(arena, sound_file(arena, "speech.flac"), NULL, 16000, &speech, &err))) return NULL;
        *n = speech.n;
        return speech.samples;
    }
    x = sound_noise(arena, *n);
    for (size_t i = 0; i < *n; i++) {
        if (kind[0] == 't') x[i] = (float)(0.5 * sin(2 * M_PI * 440 * (double)i / 16000));
        if (kind[0] == 'q') x[i] *= 1e-4f;
    }
    return x;
}

static void check_row(Arena *arena, const Value *row)
{
    enum { STEP = 397 };
    Err err = { 0 };
    AudioProcessor p;
    AudioTensor t = { 0 };
    size_t n = (size_t)value_int(value_get(row, "n"), 0);
    char *kind = str_dup(arena, value_str(value_get(row, "sound"), STR("")));
    const Value *shape = value_get(row, "shape");
    const float *x = make_sound(arena, kind, &n);
    bool ok = x && audio_processor_open(arena, &(AudioConfigs){ .preprocessor = value_get(row, "config") }, &p, &err) &&
              audio_prepare(arena, &p, x, n, &t, &err);
    size_t count = 1;
    for (int i = 0; ok && i < t.rank; i++) {
        count *= (size_t)t.dim[i];
        ok = t.rank == (int)shape->list.n && t.dim[i] == value_int(&shape->list.items[i], -1);
    }
    double apart = ok ? sound_apart(t.values, count, STEP, value_get(row, "values")) : 1e9;
    if (!CHECK(ok && str_is(value_str(value_get(row, "input"), STR("")), p.input) &&
               apart < (p.kind == AUDIO_BANKS ? 1e-4 : 1e-5)))
        printf("  %s of %s, %zu samples: %g apart: %s\n", ok ? p.name : "?", kind, n, apart, err.message);
}

static void test_golden(void)
{
    TEST("golden");
    Arena arena = { 0 };
    const Value *rows = sound_rows(&arena, "features.json");
    CHECK(rows && rows->list.n >= 20);
    for (size_t i = 0; rows && i < rows->list.n; i++) {
        Arena local = { 0 };
        check_row(&local, &rows->list.items[i]);
        arena_free(&local);
    }
    arena_free(&arena);
}

/* ---- which file, which class ---- */
static bool open_texts(Arena *arena, const char *const texts[3], AudioProcessor *p, Err *err)
{
    Value v[3];
    for (int i = 0; i < 3; i++)
        if (texts[i] && !CHECK(json_parse(arena, str_of(texts[i]), &v[i], err))) return false;
    AudioConfigs c = { texts[0] ? &v[0] : NULL, texts[1] ? &v[1] : NULL, texts[2] ? &v[2] : NULL };
    bool ok = audio_processor_open(arena, &c, p, err);
    CHECK(!ok || audio_configs_say(&c));
    return ok;
}

static void class_is(const char *preprocessor, const char *processor, const char *config, const char *name)
{
    Arena arena = { 0 };
    AudioProcessor p;
    Err err = { 0 };
    const char *const texts[] = { preprocessor, processor, config };
    if (!CHECK(open_texts(&arena, texts, &p, &err) && !strcmp(p.name, name))) printf("  %s\n", err.message);
    arena_free(&arena);
}

#define WAV2VEC2 "{\"feature_extractor_type\": \"Wav2Vec2FeatureExtractor\"}"

static void test_classes(void)
{
    TEST("classes");
    class_is("{\"feature_extractor_type\": \"Wav2Vec2FeatureExtractor\"}", NULL, NULL, "Wav2Vec2FeatureExtractor");
    class_is("{}", NULL, "{\"model_type\": \"hubert\"}", "Wav2Vec2FeatureExtractor");
    class_is("{}", NULL, "{\"model_type\": \"audio-spectrogram-transformer\"}", "ASTFeatureExtractor");
    class_is("{\"feature_extractor_type\": \"ASTFeatureExtractor\"}",
             "{\"feature_extractor\": {\"feature_extractor_type\": \"WhisperFeatureExtractor\"}}", NULL,
             "WhisperFeatureExtractor");
    Arena arena = { 0 };
    Err err = { 0 };
    AudioProcessor p;
    const char *const wav2vec2[] = { "{\"return_attention_mask\": true}", NULL,
                                     "{\"model_type\": \"wav2vec2\", \"conv_kernel\": [10, 3, 3, 3, 3, 2, 2], "
                                     "\"conv_stride\": [5, 2, 2, 2, 2, 2, 2]}" };
    CHECK(open_texts(&arena, wav2vec2, &p, &err) && p.ratio == 320 && p.least == 400 && p.mask && p.rate == 16000);
    static const char *const silent[] = { "wav2vec2", "hubert", "wavlm", "data2vec-audio", "unispeech", "unispeech-sat",
                                          "sew", "sew-d", "wav2vec2-conformer" };
    for (size_t i = 0; i < COUNT(silent); i++) { /* config.json leaves its class's defaults out */
        const char *const texts[] = { "{}", NULL, str_format(&arena, "{\"model_type\": \"%s\"}", silent[i]) };
        CHECK(open_texts(&arena, texts, &p, &err) && p.ratio == 320 && p.least == 400);
    }
    const char *const half[] = { "{}", NULL, "{\"model_type\": \"hubert\", \"conv_stride\": [5, 2, 2, 2, 2, 2, 4]}" };
    CHECK(open_texts(&arena, half, &p, &err) && p.ratio == 640 && p.least == 400);
    const char *const other[] = { WAV2VEC2, NULL, "{\"model_type\": \"of-our-own\"}" };
    CHECK(open_texts(&arena, other, &p, &err) && p.ratio == 1);
    arena_free(&arena);
}

static void bad(const char *preprocessor, const char *config, ef_code code, const char *words)
{
    Arena arena = { 0 };
    AudioProcessor p;
    Err err = { 0 };
    const char *const texts[] = { preprocessor, NULL, config };
    CHECK(!open_texts(&arena, texts, &p, &err) && err.code == code && says(&err, words));
    arena_free(&arena);
}
#define AST(more) "{\"feature_extractor_type\": \"ASTFeatureExtractor\", " more "}"
#define WHISPER(more) "{\"feature_extractor_type\": \"WhisperFeatureExtractor\", " more "}"

static void test_bad(void)
{
    TEST("values that make no sense");
    bad(NULL, "{\"model_type\": \"hubert\"}", EF_BAD_MODEL, "found no preprocessor_config.json");
    bad("[]", NULL, EF_BAD_MODEL, "preprocessor_config.json: found a list, wanted an object");
    bad("{\"feature_extractor_type\": \"ClapFeatureExtractor\"}", NULL, EF_UNSUPPORTED,
        "found \"ClapFeatureExtractor\", wanted the feature extractor of Wav2Vec2, AST or Whisper");
    bad("{}", "{\"model_type\": \"vit\"}", EF_UNSUPPORTED, "model_type: found \"vit\"");
    bad(AST("\"sampling_rate\": 0"), NULL, EF_BAD_MODEL, "sampling_rate: found 0, wanted 1000 to 384000");
    bad(AST("\"num_mel_bins\": 1e9"), NULL, EF_BAD_MODEL, "num_mel_bins: found 1e+09, wanted 1 to 1024");
    bad(AST("\"max_length\": 1.5"), NULL, EF_BAD_MODEL, "max_length: found 1.5");
    bad(AST("\"std\": 0"), NULL, EF_BAD_MODEL, "std: found 0");
    bad(AST("\"mean\": \"x\""), NULL, EF_BAD_MODEL, "mean: found a string, wanted a number");
    bad(AST("\"do_normalize\": 1"), NULL, EF_BAD_MODEL, "do_normalize: found");
    bad(WHISPER("\"n_fft\": 8"), NULL, EF_BAD_MODEL, "n_fft: found 8, wanted 16 to 8192");
    bad(WHISPER("\"hop_length\": 0"), NULL, EF_BAD_MODEL, "hop_length: found 0");
    bad(WHISPER("\"chunk_length\": 600, \"sampling_rate\": 384000"), NULL, EF_BAD_MODEL, "chunk_length: found 600");
    bad("{\"feature_extractor_type\": \"Wav2Vec2FeatureExtractor\", \"feature_size\": 80}", NULL, EF_BAD_MODEL,
        "feature_size: found 80, wanted 1 to 1");
    bad(WAV2VEC2, "{\"conv_kernel\": [1, 2], \"conv_stride\": [1]}", EF_BAD_MODEL, "wanted lists of one length");
    bad(WAV2VEC2, "{\"conv_kernel\": [10], \"conv_stride\": [0]}", EF_BAD_MODEL, "wanted numbers over 0");
    bad(WAV2VEC2, "{\"conv_kernel\": [9, 9, 9], \"conv_stride\": [99999, 99999, 99999]}", EF_BAD_MODEL, "conv_stride");
}

static void test_short(void)
{
    TEST("too short");
    Arena arena = { 0 };
    Err err = { 0 };
    AudioProcessor p;
    AudioTensor t;
    const char *const ast[] = { AST("\"max_length\": 8"), NULL, NULL };
    CHECK(open_texts(&arena, ast, &p, &err));
    CHECK(!audio_prepare(&arena, &p, sound_noise(&arena, 399), 399, &t, &err) && err.code == EF_INVALID_INPUT &&
          says(&err, "found 399 samples of 16000 Hz, wanted at least 400"));
    CHECK(audio_prepare(&arena, &p, sound_noise(&arena, 400), 400, &t, &err) && !t.truncated);
    CHECK(audio_prepare(&arena, &p, sound_noise(&arena, 1679), 1679, &t, &err) && !t.truncated);
    CHECK(audio_prepare(&arena, &p, sound_noise(&arena, 1680), 1680, &t, &err) && t.truncated);
    arena_free(&arena);
}

int main(void)
{
    test_golden();
    test_classes();
    test_bad();
    test_short();
    return finish();
}
