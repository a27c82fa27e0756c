/* SPDX-License-Identifier: Apache-2.0
 * test_task_picture_models.c - checkpoints of every picture architecture in two sizes, opened as they are, and
 * pictures of all kinds through them, by the C API, compared with what transformers' pipelines said
 * (tools/oracle/picture_models.py); and what is made of DETR's masks, by itself. */
#include <unistd.h>

#include "folder.h"
#include "picture_answers.h"
#include "seeded_weights.h"
#include "task/task.h"

#define MODELS "tests/golden/picture_models/"

static char work[] = "/tmp/ef-models-XXXXXX";

/* ---- whole models ---- */
static bool copy_file(const char *folder, const char *name, const char *to, Err *err)
{
    Str text;
    return file_read(&arena, path_join(&arena, folder, str_of(name)), MOST_FILE, &text, err) &&
           file_write(&arena, path_join(&arena, to, str_of(name)), text, err);
}

/* The folder of a case with its weights. */
static const char *make_folder(const char *name, Err *err)
{
    Str rows;
    const char *from = str_format(&arena, MODELS "%s", name), *to = path_join(&arena, work, str_of(name));
    const char *weights = path_join(&arena, to, STR("model.safetensors"));
    bool ok = dir_make_parents(weights, err) && copy_file(from, "config.json", to, err) &&
              copy_file(from, "preprocessor_config.json", to, err) &&
              file_read(&arena, path_join(&arena, from, STR("tensors.tsv")), MOST_FILE, &rows, err) &&
              file_write(&arena, weights, seeded_weights(&arena, rows), err);
    return ok ? to : NULL;
}

static ef_model *open_seeded(const char *name)
{
    Err bad = { 0 };
    ef_error err = { 0 };
    TEST(name);
    const char *path = make_folder(name, &bad);
    if (!CHECK(path)) return printf("  %s\n", bad.message), NULL;
    ef_options how = { .struct_size = sizeof how, .threads = 1 };
    if (strstr(name, "clip-") || strstr(name, "siglip-")) how.task = "image_embedding"; /* no tokenizer is there */
    ef_model *m = ef_open(path, &how, &err);
    if (!CHECK(m)) printf("  %s: %s\n", name, err.message);
    return m;
}

/* ---- masks of queries ---- */
static const Task *panoptic_task(void)
{
    const Task *t = task_find(STR("image-segmentation"));
    return t ? t->variant : NULL;
}

static float *noise_of(const char *name, int64_t n, float scale)
{
    float *out = ARRAY(&arena, float, n);
    for (int64_t i = 0; i < n; i++) out[i] = seeded_noise(name, (uint32_t)i) * scale;
    return out;
}

static void check_segments(const Task *task, const Value *row)
{
    enum { LABELS = 4 };
    ModelConfig config = { .num_labels = LABELS };
    TaskOptions options = { 0 };
    Err err = { 0 };
    int number = (int)value_get(row, "number")->i;
    const Value *map = value_get(row, "map"), *want = value_get(row, "result");
    int64_t Q = value_get(row, "queries")->i, h = map->list.items[0].i, w = map->list.items[1].i;
    static const int sizes[][2] = { { 37, 29 }, { 13, 11 }, { 21, 40 } };
    TaskTensor out[] = {
        { noise_of(str_format(&arena, "logits%d", number), Q * (LABELS + 1), 4), Q, LABELS + 1, 2, { Q, LABELS + 1 } },
        { noise_of(str_format(&arena, "masks%d", number), Q * h * w, 6), Q * h, w, 3, { Q, h, w } },
    };
    TaskRow given = { .out = out, .width_given = sizes[number][0], .height_given = sizes[number][1] };
    Value result;
    if (!CHECK(task_options(task, &config, value_get(row, "params"), &options, &err))) printf("  %s\n", err.message);
    task->finish(&arena, &config, &options, &given, 1, &result);
    Value *list = &value_get(&result, "segments")->list.items[0];
    for (size_t i = 0; i < value_get(&result, "segments")->list.n; i++) { /* as JSON has it */
        Value *mask = (Value *)value_get(&list[i], "mask");
        Buf text = { .arena = &arena };
        base64_write(&text, mask->s);
        *mask = value_of_str(buf_view(&text));
    }
    if (!CHECK(same_segments(&result, want))) printf("  segments of row %d\n", number);
}

static void test_segments(void)
{
    TEST("masks of queries");
    Str text;
    Err err = { 0 };
    Value rows;
    const Task *task = panoptic_task();
    if (!CHECK(task && file_read(&arena, MODELS "segments.json", MOST_FILE, &text, &err) &&
               json_parse(&arena, text, &rows, &err)))
        return;
    for (size_t i = 0; i < rows.list.n; i++) check_segments(task, &rows.list.items[i]);
}

/* What the model cannot do is refused by name. */
static void test_subtasks(void)
{
    ef_error err = { 0 };
    ef_model *m = open_seeded("segformer-small");
    ef_input in = picture_input(picture_file(STR("cmyk.jpg")));
    CHECK(m && !ef_predict(m, &in, 1, "{\"subtask\":\"panoptic\"}", &err) && says(&err, "subtask"));
    ef_close(m);
}

int main(void)
{
    if (!CHECK(mkdtemp(work))) return finish();
    check_cases(MODELS "cases.json", open_seeded);
    test_segments();
    test_subtasks();
    remove_tree(work);
    arena_free(&arena);
    return finish();
}
