/* SPDX-License-Identifier: Apache-2.0
 * picture_answers.h - what the tests of models of pictures share: a picture in, the results compared with those
 * of transformers' pipelines as tools/oracle/picture_tasks.py and picture_models.py wrote them. */
#ifndef PICTURE_ANSWERS_H
#define PICTURE_ANSWERS_H
#include "base/file.h"
#include "check.h"
#include "data/base64.h"
#include "data/json.h"
#include "encoderfile.h"
#include "image/image.h"

#define PICTURES "tests/golden/images/"
enum { MOST_FILE = 1 << 20 };

static Arena arena; /* of the whole test */

static inline ef_input picture_input(Str bytes)
{
    return (ef_input){ sizeof(ef_input), EF_PICTURE, bytes.p, bytes.n, NULL, 0 };
}

static inline Str picture_file(Str name)
{
    Err err = { 0 };
    Str bytes = { 0 };
    const char *path = str_format(&arena, PICTURES "%.*s", STR_ARG(name));
    if (!CHECK(file_read(&arena, path, MOST_FILE, &bytes, &err))) printf("  %s\n", err.message);
    return bytes;
}

/* ---- results ---- */
static inline bool same_label(const Value *found, const Value *want)
{
    double score = value_float(value_get(found, "score"), NAN), wanted = value_float(value_get(want, "score"), NAN);
    return str_eq(value_get(found, "label")->s, value_get(want, "label")->s) && fabs(score - wanted) < 1e-4;
}

static inline bool same_labels(const Value *result, const Value *want)
{
    const Value *found = value_get(result, "labels");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) same = same_label(&found->list.items[i], &want->list.items[i]);
    return same;
}

/* Boxes are equal, but where a picture has more pixels than a float has digits. */
static inline bool same_objects(const Value *result, const Value *want)
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
static inline double wrong_pixels(const Value *png, const Value *want)
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

static inline bool same_segments(const Value *result, const Value *want)
{
    const Value *found = value_get(result, "segments");
    bool same = found && found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++) {
        const Value *a = &found->list.items[i], *b = &want->list.items[i];
        bool none = value_get(b, "score")->kind == V_NULL;
        same = (none ? str_eq(value_get(a, "label")->s, value_get(b, "label")->s) &&
                           value_get(a, "score")->kind == V_NULL
                     : same_label(a, b)) &&
               wrong_pixels(value_get(a, "mask"), b) <= 1;
    }
    return same;
}

static inline bool same_vector(const Value *found, const Value *want)
{
    bool same = found->list.n == want->list.n;
    for (size_t i = 0; same && i < want->list.n; i++)
        same = fabs(value_float(&found->list.items[i], NAN) - value_float(&want->list.items[i], NAN)) < 1e-4;
    return same;
}

static inline bool same_result(const Value *result, const Value *want)
{
    if (value_get(result, "embedding")) return same_vector(value_get(result, "embedding"), want);
    if (value_get(result, "objects")) return same_objects(result, want);
    return value_get(result, "segments") ? same_segments(result, want) : same_labels(result, want);
}

/* ---- golden cases ---- */
static inline Value predict(ef_model *m, const ef_input *in, size_t n, const char *params)
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

static inline void check_case(ef_model *m, const Value *row)
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
static inline void check_together(ef_model *m, const Value *rows, Str name)
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
    if (!n) return; /* all have parameters */
    Value results = predict(m, in, n, NULL);
    for (size_t i = 0; results.kind == V_LIST && i < n; i++) CHECK(same_result(&results.list.items[i], want[i]));
}

/* The rows of a file, [{"case", "picture", "params", "result"}]; the model of each case by `open`. */
static inline void check_cases(const char *path, ef_model *(*open)(const char *name))
{
    Str text, opened = { 0 };
    Err err = { 0 };
    Value rows;
    if (!CHECK(file_read(&arena, path, MOST_FILE, &text, &err) && json_parse(&arena, text, &rows, &err)))
        return;
    ef_model *m = NULL;
    for (size_t i = 0; i < rows.list.n; i++) {
        Str name = value_get(&rows.list.items[i], "case")->s;
        if (!str_eq(name, opened)) {
            ef_close(m);
            m = open(str_dup(&arena, opened = name));
            if (m) check_together(m, &rows, name);
        }
        if (m) check_case(m, &rows.list.items[i]);
    }
    ef_close(m);
}

#endif
