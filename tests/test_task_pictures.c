/* SPDX-License-Identifier: Apache-2.0
 * test_task_pictures.c - pictures through tiny models of each task, by the C API, compared with what
 * transformers' pipelines said (tools/oracle/picture_tasks.py); and what is no picture. */
#include "picture_answers.h"

#define MODELS "tests/golden/pictures/"

static ef_model *open_case(const char *name)
{
    ef_error err = { 0 };
    const char *path = str_format(&arena, MODELS "%s", name);
    ef_model *m = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s: %s\n", path, err.message);
    return m;
}

static void test_golden(void)
{
    TEST("as transformers");
    check_cases(MODELS "cases.json", open_case);
}

/* ---- masks as run lengths ---- */
static void test_runs(void)
{
    TEST("run lengths");
    ef_model *m = open_case("segformer");
    if (!m) return;
    ef_input in = picture_input(picture_file(STR("cmyk.jpg")));
    Value png = predict(m, &in, 1, NULL), rle = predict(m, &in, 1, "{\"masks\":\"rle\"}");
    const Value *a = value_get(&png.list.items[0], "segments"), *b = value_get(&rle.list.items[0], "segments");
    CHECK(a->list.n == 2 && b->list.n == a->list.n);
    for (size_t i = 0; i < a->list.n; i++) {
        const Value *runs = value_get(&b->list.items[i], "rle"), *counts = value_get(runs, "counts");
        Str bytes;
        Picture p;
        Err err = { 0 };
        CHECK(!value_get(&b->list.items[i], "mask") && !value_get(&a->list.items[i], "rle"));
        if (!CHECK(base64_read(&arena, value_get(&a->list.items[i], "mask")->s, &bytes) &&
                   picture_read(&arena, bytes, NULL, &p, &err)))
            continue;
        const Value *size = value_get(runs, "size");
        CHECK(size->list.items[0].i == p.height && size->list.items[1].i == p.width);
        int64_t at = 0, wrong = 0;
        for (size_t r = 0; r < counts->list.n; r++)
            for (int64_t k = 0; k < counts->list.items[r].i; k++, at++)
                wrong += p.rgb[3 * (at % p.height * p.width + at / p.height)] != (r % 2 ? 255 : 0);
        CHECK(at == (int64_t)p.width * p.height && wrong == 0);
    }
    ef_close(m);
}

/* ---- what is no picture ---- */
static void refuse(ef_model *m, ef_input in, ef_code code, const char *words)
{
    ef_error err = { 0 };
    ef_input two[] = { picture_input(picture_file(STR("base420_37x29.jpg"))), in };
    CHECK(!ef_predict(m, two, 2, NULL, &err) && says(&err, words));
    if (!CHECK(err.code == code)) printf("  %d: %s\n", (int)err.code, err.message);
}

static void test_refused(void)
{
    TEST("what is no picture");
    ef_model *m = open_case("vit");
    if (!m) return;
    Str jpeg = picture_file(STR("base420_37x29.jpg")), gif = picture_file(STR("plain_37x29.gif")),
        bmp = picture_file(STR("rgb24.bmp"));
    refuse(m, ef_text("a text"), EF_UNSUPPORTED, "input 1: found a text, wanted a picture");
    refuse(m, picture_input(STR("a text")), EF_INVALID_INPUT, "inputs[1]");
    refuse(m, picture_input((Str){ jpeg.p, 0 }), EF_INVALID_INPUT, "input 1: found no picture");
    refuse(m, picture_input((Str){ jpeg.p, jpeg.n / 2 }), EF_INVALID_INPUT, "inputs[1]");
    refuse(m, picture_input(STR("II*\0")), EF_MEDIA_TYPE, "TIFF");
    char *bomb = str_dup(&arena, gif), *flat = str_dup(&arena, bmp);
    memset(bomb + 6, 0xff, 4); /* its width and height: 65535 x 65535 */
    refuse(m, picture_input((Str){ bomb, gif.n }), EF_TOO_LARGE, "inputs[1]");
    memset(flat + 18, 0, 4);
    refuse(m, picture_input((Str){ flat, bmp.n }), EF_INVALID_INPUT, "inputs[1]");
    ef_error err = { 0 };
    CHECK(!ef_model_tokenizer(m) && !ef_tokenize(m, "w", 1, &err) && says(&err, "reads no texts"));
    ef_close(m);
    ef_options o = { .struct_size = sizeof o, .threads = 1, .task = "embedding" };
    m = ef_open("tests/golden/question_answering/bert", &o, &err);
    ef_input in = picture_input(jpeg);
    CHECK(m && !ef_predict(m, &in, 1, NULL, &err) && says(&err, "input 0: found a picture, wanted a text"));
    ef_close(m);
}

int main(void)
{
    test_golden();
    test_runs();
    test_refused();
    arena_free(&arena);
    return finish();
}
