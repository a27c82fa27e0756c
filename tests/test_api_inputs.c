/* SPDX-License-Identifier: Apache-2.0
 * test_api_inputs.c - inputs that a caller has decoded or cut already answer as their files and texts do; the tensors that a
 * graph is given; what tokens are called, and what a tokenizer says of itself. */
#include <unistd.h>

#include "audio/audio.h"
#include "base/file.h"
#include "check.h"
#include "data/json.h"
#include "image/image.h"

static Arena arena;

static ef_model *model_at(const char *path)
{
    ef_error err = { 0 };
    ef_model *m = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s: %s\n", path, err.message);
    return m;
}

static Str file_at(const char *path)
{
    Str bytes = { 0 };
    Err err = { 0 };
    if (!CHECK(file_read(&arena, path, 1 << 26, &bytes, &err))) printf("  %s\n", err.message);
    return bytes;
}

static const char *answer(ef_model *m, ef_input in)
{
    ef_error err = { 0 };
    ef_reply *r = ef_predict(m, &in, 1, NULL, &err);
    if (!CHECK(r)) return printf("  %s\n", err.message), "";
    const char *json = str_dup(&arena, str_of(ef_reply_json(r)));
    ef_reply_free(r);
    return json;
}

static void refuse(ef_model *m, ef_input in, const char *words)
{
    ef_error err = { 0 };
    CHECK(!ef_predict(m, &in, 1, NULL, &err) && says(&err, words));
}

/* ---- pictures ---- */
static ef_input pixels(const ef_pixels *p)
{
    return (ef_input){ sizeof(ef_input), EF_PICTURE, NULL, 0, p, 1 };
}

static void test_pixels(void)
{
    TEST("decoded pictures");
    ef_model *m = model_at("examples/road-signs");
    Err err = { 0 };
    Picture p;
    Str file = file_at("tests/golden/images/base420_37x29.jpg");
    if (!m || !CHECK(picture_read(&arena, file, NULL, &p, &err))) return;
    const char *wanted = answer(m, (ef_input){ sizeof(ef_input), EF_PICTURE, file.p, file.n, NULL, 0 });
    ef_pixels rgb = { .struct_size = sizeof rgb, .data = p.rgb, .width = p.width, .height = p.height, .channels = 3 };
    CHECK(strcmp(answer(m, pixels(&rgb)), wanted) == 0);
    const size_t stride = (size_t)p.width * 4 + 5;
    uint8_t *rgba = ARRAY(&arena, uint8_t, stride * (size_t)p.height), *grey = ARRAY(&arena, uint8_t, p.width * p.height),
            *same = ARRAY(&arena, uint8_t, p.width * p.height * 3);
    for (int y = 0; y < p.height; y++)
        for (int x = 0; x < p.width; x++) {
            const uint8_t *from = p.rgb + 3 * (y * p.width + x);
            uint8_t *to = rgba + stride * (size_t)y + 4 * x;
            memcpy(to, from, 3);
            to[3] = (uint8_t)(x * y);
            grey[y * p.width + x] = from[1];
            memset(same + 3 * (y * p.width + x), from[1], 3);
        }
    ef_pixels with_alpha = { .struct_size = sizeof rgb, .data = rgba, .width = p.width, .height = p.height, .channels = 4,
                             .stride = stride };
    CHECK(strcmp(answer(m, pixels(&with_alpha)), wanted) == 0);
    ef_pixels one = { .struct_size = sizeof rgb, .data = grey, .width = p.width, .height = p.height, .channels = 1 };
    rgb.data = same;
    CHECK(strcmp(answer(m, pixels(&one)), answer(m, pixels(&rgb))) == 0);
    ef_error failed = { 0 };
    ef_input in = pixels(&one);
    ef_reply *r = ef_run(m, NULL, &in, 1, NULL, &failed); /* a pipeline takes them, too */
    if (!CHECK(r && strstr(ef_reply_json(r), "\"label\""))) printf("  %s\n", failed.message);
    ef_reply_free(r);
    one.channels = 2;
    refuse(m, pixels(&one), "input 0: ef_pixels: channels: found 2, wanted 1, 3 or 4");
    one.channels = 3, one.stride = 5;
    refuse(m, pixels(&one), "ef_pixels: stride: found 5, wanted at least 111");
    one.width = 0;
    refuse(m, pixels(&one), "ef_pixels: found 0 x 29");
    one = (ef_pixels){ .struct_size = 4 };
    refuse(m, pixels(&one), "ef_pixels: struct_size: found 4");
    refuse(m, (ef_input){ sizeof in, EF_PICTURE, NULL, 0, NULL, 0 }, "found no picture");
    ef_close(m);
}

/* ---- sounds ---- */
static ef_input samples(const ef_samples *s)
{
    return (ef_input){ sizeof(ef_input), EF_SOUND, NULL, 0, s, 1 };
}

static void test_samples(void)
{
    TEST("decoded sounds");
    ef_model *m = model_at("tests/golden/export_sound/wav2vec2-labels");
    Err err = { 0 };
    Sound s;
    Str file = file_at("tests/golden/process/second.wav");
    if (!m || !CHECK(sound_read(&arena, file, NULL, 0, &s, &err))) return;
    const char *wanted = answer(m, (ef_input){ sizeof(ef_input), EF_SOUND, file.p, file.n, NULL, 0 });
    ef_samples one = { .struct_size = sizeof one, .data = s.samples, .count = s.n, .channels = 1, .rate = s.rate };
    CHECK(strcmp(answer(m, samples(&one)), wanted) == 0);
    float *both = ARRAY(&arena, float, 2 * s.n); /* two equal channels are one */
    memcpy(both, s.samples, s.n * sizeof *both);
    memcpy(both + s.n, s.samples, s.n * sizeof *both);
    ef_samples two = { .struct_size = sizeof one, .data = both, .count = s.n, .channels = 2, .rate = s.rate };
    CHECK(strcmp(answer(m, samples(&two)), wanted) == 0);
    one.rate = 0;
    refuse(m, samples(&one), "input 0: ef_samples: rate: found 0");
    one.rate = s.rate, one.channels = 0;
    refuse(m, samples(&one), "ef_samples: found");
    one.channels = 1, one.count = 0;
    refuse(m, samples(&one), "ef_samples: found 0 samples");
    one.count = SIZE_MAX / 2, one.channels = 2;
    refuse(m, samples(&one), "ef_samples: found");
    refuse(m, (ef_input){ sizeof(ef_input), EF_SOUND, NULL, 0, NULL, 0 }, "found no sound");
    ef_close(m);
}

/* ---- words ---- */
static void test_words(void)
{
    TEST("words");
    ef_model *m = model_at("examples/bus-ner"), *other = model_at("tests/golden/question_answering/bert");
    static const ef_word words[] = { { "AC", 2 }, { "bus", 3 }, { "to", 2 }, { "Goa", 3 } }, none[] = { { NULL, 0 } };
    ef_input in = { sizeof in, EF_WORDS, words, 4, NULL, 0 };
    if (!m || !other) return;
    CHECK(strcmp(answer(m, in), answer(m, ef_text("AC bus to Goa"))) == 0);
    static const ef_word glued[] = { { "AC bus", 6 }, { "to", 2 } }; /* offsets count in the words joined by spaces */
    ef_error err = { 0 };
    ef_reply *r = ef_predict(m, &(ef_input){ sizeof in, EF_WORDS, glued, 2, NULL, 0 }, 1, NULL, &err);
    CHECK(r && strstr(ef_reply_json(r), "\"start\":7,\"end\":9"));
    ef_reply_free(r);
    refuse(m, (ef_input){ sizeof in, EF_WORDS, words, 0, NULL, 0 }, "found no words");
    refuse(m, (ef_input){ sizeof in, EF_WORDS, none, 1, NULL, 0 }, "word 0: found no text");
    refuse(m, (ef_input){ sizeof in, EF_WORDS, words, 2, words, 2 }, "found two texts of words");
    refuse(other, in, "input 0: found words, wanted");
    r = ef_run(m, NULL, &in, 1, "{\"delimiter\":\"--\",\"ignore_labels\":[]}", &err);
    CHECK(r && strstr(ef_reply_json(r), "\"word\":\"bus\",\"start\":4,\"end\":7"));
    ef_reply_free(r);
    ef_close(m), ef_close(other);
}

/* ---- prepared ---- */
static const ef_array *named(const ef_arrays *list, const char *name)
{
    for (size_t i = 0; list && i < ef_arrays_count(list); i++)
        if (strcmp(ef_arrays_at(list, i)->name, name) == 0) return ef_arrays_at(list, i);
    return NULL;
}

static void test_prepare(void)
{
    TEST("prepared texts");
    ef_error err = { 0 };
    ef_model *m = model_at("examples/bus-ner");
    if (!m) return;
    ef_input in[] = { ef_text("AC bus to Goa"), ef_text("Volvo from Pune to Mumbai tomorrow") };
    ef_arrays *list = ef_prepare(m, in, 2, NULL, &err);
    const ef_array *ids = named(list, "input_ids"), *mask = named(list, "attention_mask");
    if (!CHECK(ids && mask && ids->rank == 2 && ids->dim[0] == 2 && ids->type == EF_I64)) printf("  %s\n", err.message);
    for (size_t i = 0; ids && i < 2; i++) {
        ef_tokens *t = ef_tokenize(m, in[i].data, in[i].size, &err);
        size_t n = 0;
        const int32_t *wanted = ef_tokens_ids(t, &n);
        const int64_t *row = (const int64_t *)ids->data + (int64_t)i * ids->dim[1], *on = (const int64_t *)mask->data + (int64_t)i * ids->dim[1];
        for (size_t k = 0; k < (size_t)ids->dim[1]; k++) CHECK(on[k] == (k < n) && row[k] == (k < n ? wanted[k] : 0));
        ef_tokens_free(t);
    }
    ef_graph *g = ef_graph_open("examples/bus-ner", NULL, &err); /* what it is made for */
    ef_arrays *out = g && list ? ef_graph_run(g, ef_arrays_at(list, 0), ef_arrays_count(list), NULL, 0, &err) : NULL;
    ef_reply *r = ef_predict(m, &in[0], 1, NULL, &err);
    const ef_tensor *same = r ? ef_reply_tensor(r, 0) : NULL;
    if (CHECK(out && same))
        for (int64_t i = 0; i < same->dim[0] * same->dim[1]; i++)
            CHECK(fabsf(((const float *)ef_arrays_at(out, 0)->data)[i] - same->data[i]) < 1e-4f);
    ef_reply_free(r), ef_arrays_free(out), ef_arrays_free(list), ef_graph_close(g);
    ef_input bad = ef_text("");
    CHECK(!ef_prepare(m, &bad, 1, NULL, &err) && says(&err, "empty"));
    CHECK(!ef_prepare(m, NULL, 0, NULL, &err) && !ef_prepare(m, in, 1, "[", &err) && says(&err, "params_json"));
    ef_close(m);
    TEST("prepared pictures");
    m = model_at("examples/road-signs");
    Str file = file_at("tests/golden/images/base420_37x29.jpg");
    ef_input picture = { sizeof picture, EF_PICTURE, file.p, file.n, NULL, 0 };
    list = m ? ef_prepare(m, &picture, 1, NULL, &err) : NULL;
    const ef_array *values = named(list, "pixel_values");
    if (!CHECK(values && values->type == EF_F32 && values->rank == 4 && values->dim[1] == 3)) printf("  %s\n", err.message);
    ef_arrays_free(list);
    ef_close(m);
}

/* ---- options ---- */
static void test_options(void)
{
    TEST("precision, replicas, processor");
    ef_error err = { 0 };
    ef_input in = ef_text("AC bus to Goa");
    static const char *const lower[] = { "bf16", "int8" };
    ef_model *full = model_at("examples/bus-ner");
    ef_reply *a = full ? ef_predict(full, &in, 1, NULL, &err) : NULL;
    for (size_t i = 0; a && i < COUNT(lower); i++) {
        ef_options o = { .struct_size = sizeof o, .threads = 2, .replicas = 2, .precision = lower[i] };
        ef_model *m = ef_open("examples/bus-ner", &o, &err);
        ef_reply *b = m ? ef_predict(m, &in, 1, NULL, &err) : NULL;
        if (!CHECK(b)) printf("  %s\n", err.message);
        const float x = ef_reply_tensor(a, 0)->data[0], y = b ? ef_reply_tensor(b, 0)->data[0] : NAN;
        CHECK(x != y && fabsf(x - y) < 0.5f);
        ef_reply_free(b), ef_close(m);
    }
    ef_reply_free(a), ef_close(full);
    CHECK(!ef_open("examples/bus-ner", &(ef_options){ .struct_size = sizeof(ef_options), .precision = "fp64" }, &err) &&
          says(&err, "precision: found \"fp64\""));
    ef_options o = { .struct_size = sizeof o, .processor = "nowhere" };
    CHECK(!ef_open("examples/road-signs", &o, &err) && says(&err, "nowhere"));
    o.processor = "examples/road-signs";
    ef_model *m = ef_open("examples/road-signs", &o, &err);
    if (!CHECK(m)) printf("  %s\n", err.message);
    ef_close(m);
}

/* ---- tokenizer ---- */
static Value described(const ef_tokenizer *t)
{
    ef_error err = { 0 };
    Value v = value_null();
    char *text = ef_tokenizer_describe(t, &err);
    if (!CHECK(text)) return printf("  %s\n", err.message), v;
    CHECK(json_parse(&arena, str_of(str_dup(&arena, str_of(text))), &v, &err));
    ef_string_free(text);
    return v;
}

static bool is_text(const Value *v, const char *key, const char *text)
{
    return str_is(value_str(value_get(v, key), STR("")), text);
}

static void check_described(const ef_tokenizer *t)
{
    Value v = described(t);
    CHECK(is_text(&v, "cls_token", "[CLS]") && is_text(&v, "mask_token", "[MASK]") && is_text(&v, "pad_token", "[PAD]"));
    CHECK(value_int(value_get(&v, "cls_token_id"), -1) == ef_token_id(t, "[CLS]"));
    CHECK(value_get(&v, "bos_token")->kind == V_NULL && value_get(&v, "bos_token_id")->kind == V_NULL);
    CHECK(is_text(&v, "padding_side", "right") && is_text(&v, "truncation_side", "right") && is_text(&v, "model", "WordPiece"));
    CHECK(value_get(&v, "all_special_ids")->list.n == 5 && value_get(&v, "added_tokens")->list.n == 5);
    CHECK(value_int(value_get(&v, "vocab_size"), 0) == (int64_t)ef_token_count(t));
    CHECK(value_get(&v, "model_input_names")->list.n >= 2 && value_get(&v, "model_max_length")->kind != V_NULL);
}

/* 900 entries, and <mask> behind them. */
static void check_added_token(void)
{
    ef_error err = { 0 };
    ef_tokenizer *t = ef_tokenizer_open("tests/golden/text_models/c_roberta", &err);
    if (!CHECK(t)) return;
    Value v = described(t);
    CHECK(value_int(value_get(&v, "vocab_size"), 0) == 900 && ef_token_count(t) == 901);
    ef_tokenizer_close(t);
}

static void test_tokenizer(void)
{
    TEST("what tokens are called");
    ef_error err = { 0 };
    ef_tokenizer *t = ef_tokenizer_open("examples/bus-ner", &err);
    if (!CHECK(t)) return;
    size_t wrong = 0;
    for (int32_t i = 0; i < (int32_t)ef_token_count(t); i++) {
        const char *text = ef_token_text(t, i);
        wrong += !text || ef_token_id(t, text) != i;
    }
    CHECK(wrong == 0 && !ef_token_text(t, -1) && !ef_token_text(t, (int32_t)ef_token_count(t)));
    CHECK(ef_token_text(t, 5) == ef_token_text(t, 5));
    TEST("what a tokenizer says of itself");
    check_described(t);
    ef_tokenizer_close(t);
    check_added_token();
    ef_model *m = model_at("examples/bus-ner");
    if (m) check_described(ef_model_tokenizer(m));
    CHECK(!m || strcmp(ef_token_text(ef_model_tokenizer(m), 5), "") != 0);
    ef_close(m);
    char path[] = "/tmp/ef-inputs-XXXXXX";
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    CHECK(went_well(ef_build("examples/bus-ner", path, OWN_PROGRAM, &err))); /* a package keeps it */
    t = ef_tokenizer_open(path, &err);
    if (CHECK(t)) check_described(t);
    ef_tokenizer_close(t);
    unlink(path);
    t = ef_tokenizer_open("examples/bus-ner/tokenizer.json", &err); /* nothing beside it: by the usual names */
    if (CHECK(t)) {
        Value v = described(t);
        CHECK(is_text(&v, "cls_token", "[CLS]") && value_get(&v, "tokenizer_class")->kind == V_NULL);
    }
    ef_tokenizer_close(t);
}

int main(void)
{
    test_pixels();
    test_samples();
    test_words();
    test_prepare();
    test_options();
    test_tokenizer();
    arena_free(&arena);
    return finish();
}
