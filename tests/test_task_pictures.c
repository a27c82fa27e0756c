/* SPDX-License-Identifier: Apache-2.0
 * test_task_pictures.c - pictures through tiny models of each task, by the C API, compared with what
 * transformers' pipelines said (tools/oracle/picture_tasks.py); and what is no picture. */
#include "base/file.h"
#include "check.h"
#include "data/base64.h"
#include "data/json.h"
#include "encoderfile.h"
#include "image/image.h"

#define MODELS "tests/golden/pictures/"
#define PICTURES "tests/golden/images/"
enum { MOST_FILE = 1 << 20 };

static Arena arena;

static ef_model *open_case(const char *name)
{
    ef_error err = { 0 };
    const char *path = str_format(&arena, MODELS "%s", name);
    ef_model *m = ef_open(path, &(ef_options){ .struct_size = sizeof(ef_options), .threads = 1 }, &err);
    if (!CHECK(m)) printf("  %s: %s\n", path, err.message);
    return m;
}

static ef_input picture_input(Str bytes)
{
    return (ef_input){ sizeof(ef_input), EF_PICTURE, bytes.p, bytes.n, NULL, 0 };
}

static Str picture_file(Str name)
{
    Err err = { 0 };
    Str bytes = { 0 };
    const char *path = str_format(&arena, PICTURES "%.*s", STR_ARG(name));
    if (!CHECK(file_read(&arena, path, MOST_FILE, &bytes, &err))) printf("  %s\n", err.message);
    return bytes;
}

/* ---- results ---- */
static bool same_label(const Value *found, const Value *want)
{
    double score = value_float(value_get(found, "score"), NAN), wanted = value_float(value_get(want, "score"), NAN);
    return str_eq(value_get(found, "label")->s, value_get(want, "label")->s) && fabs(score - wanted) < 1e-4;
}

static bool same_labels(const Value *result, const Value *want)
{
    const Value *found = value_get(result, "labels");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) same = same_label(&found->list.items[i], &want->list.items[i]);
    return same;
}

/* Boxes are equal, but where a picture has more pixels than a float has digits. */
static bool same_objects(const Value *result, const Value *want)
{
    static const char *const sides[] = { "xmin", "ymin", "xmax", "ymax" };
    const Value *found = value_get(result, "objects");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        same = same_label(a, b);
        for (size_t k = 0; same && k < COUNT(sides); k++) {
            int64_t x = value_int(value_get(value_get(a, "box"), sides[k]), -1),
                    y = value_int(value_get(value_get(b, "box"), sides[k]), -2);
            same = llabs(x - y) <= (llabs(y) > 20000);
        }
    }
    return same;
}

/* The pixels of a PNG in base64 that are not as the runs say, of a thousand; 1000: another size. */
static double wrong_pixels(const Value *png, const Value *want)
{
    Str bytes;
    Picture p;
    Err err = { 0 };
    const Value *size = value_get(want, "size"), *runs = value_get(want, "runs");
    if (!png || !base64_read(&arena, png->s, &bytes) || !picture_read(&arena, bytes, NULL, &p, &err)) return 1000;
    if (p.width != size->list.items[0].i || p.height != size->list.items[1].i) return 1000;
    size_t at = 0, wrong = 0, all = (size_t)p.width * (size_t)p.height;
    for (size_t r = 0; r < runs->list.n; r++)
        for (int64_t i = 0; i < runs->list.items[r].i && at < all; i++, at++)
            wrong += p.rgb[3 * at] != (r % 2 ? 255 : 0);
    return at == all ? 1000.0 * (double)wrong / (double)all : 1000;
}

static bool same_segments(const Value *result, const Value *want)
{
    const Value *found = value_get(result, "segments");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        same = str_eq(value_get(a, "label")->s, value_get(b, "label")->s) &&
               value_get(a, "score")->kind == V_NULL && wrong_pixels(value_get(a, "mask"), b) <= 1;
    }
    return same;
}

static bool same_vector(const Value *found, const Value *want)
{
    bool same = found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = fabs(value_float(&found->list.items[i], NAN) - value_float(&want->list.items[i], NAN)) < 1e-4;
    return same;
}

static bool same_result(const Value *result, const Value *want)
{
    if (value_get(result, "embedding")) return same_vector(value_get(result, "embedding"), want);
    if (value_get(result, "objects")) return same_objects(result, want);
    return value_get(result, "segments") ? same_segments(result, want) : same_labels(result, want);
}

/* ---- golden cases ---- */
static Value predict(ef_model *m, const ef_input *in, size_t n, const char *params)
{
    ef_error err = { 0 };
    Err bad = { 0 };
    Value reply = value_null();
    ef_reply *r = ef_predict(m, in, n, params, &err);
    if (!CHECK(r)) return printf("  %s\n", err.message), reply;
    const char *text = str_dup(&arena, str_of(ef_reply_json(r)));
    CHECK(json_parse(&arena, str_of(text), &reply, &bad));
    ef_reply_free(r);
    const Value *results = value_get(&reply, "results");
    return CHECK(results && results->list.n == n) ? *results : value_null();
}

static void check_case(ef_model *m, const Value *row)
{
    Buf params = { .arena = &arena };
    json_write(&params, value_get(row, "params"));
    buf_char(&params, 0);
    Str name = value_get(row, "picture")->s;
    ef_input in = picture_input(picture_file(name));
    Value results = predict(m, &in, 1, params.p);
    if (results.kind == V_LIST && !CHECK(same_result(&results.list.items[0], value_get(row, "result"))))
        printf("  %.*s: %.*s %s\n", STR_ARG(value_get(row, "case")->s), STR_ARG(name), params.p);
}

/* All pictures of a case in one call: each has the answer that it has alone. */
static void check_together(ef_model *m, const Value *rows, Str name)
{
    enum { MOST = 64 };
    ef_input in[MOST];
    const Value *want[MOST];
    size_t n = 0;
    for (size_t i = 0; i < rows->list.n && n < MOST; i++) {
        const Value *row = &rows->list.items[i];
        if (!str_eq(value_get(row, "case")->s, name) || value_get(row, "params")->map.n) continue;
        in[n] = picture_input(picture_file(value_get(row, "picture")->s));
        want[n++] = value_get(row, "result");
    }
    Value results = predict(m, in, n, NULL);
    for (size_t i = 0; results.kind == V_LIST && i < n; i++) CHECK(same_result(&results.list.items[i], want[i]));
}

static void test_golden(void)
{
    TEST("as transformers");
    Str text;
    Err err = { 0 };
    Value rows;
    if (!CHECK(file_read(&arena, MODELS "cases.json", MOST_FILE, &text, &err) && json_parse(&arena, text, &rows, &err)))
        return;
    Str open = { 0 };
    ef_model *m = NULL;
    for (size_t i = 0; i < rows.list.n; i++) {
        Str name = value_get(&rows.list.items[i], "case")->s;
        if (!str_eq(name, open)) {
            ef_close(m);
            m = open_case(str_dup(&arena, open = name));
            if (m) check_together(m, &rows, name);
        }
        if (m) check_case(m, &rows.list.items[i]);
    }
    ef_close(m);
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
