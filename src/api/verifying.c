/* SPDX-License-Identifier: Apache-2.0
 * verifying.c - see verifying.h. The report is the truth; cli/reports.c writes from it what people
 * read. */
#include "api/verifying.h"

#include <math.h>

#include "api/texts.h"
#include "data/npy.h"
#include "data/number.h"
#include "export/hf_metadata.h"
#include "export/hf_task.h"
#include "model/open_options.h"
#include "model/samples.h"
#include "task/bio.h"

enum { MOST_PROBLEMS = 16 };

const Option verify_options[] = {
    OPTIONS_TASK(OPTION_FIELD_OF(Verifying, open.task)),
    OPTION_TOKENIZER(OPTION_FIELD_OF(Verifying, open.tokenizer)),
    { "golden", 0, "DIR", "ids.npy, start.npy and output.npy of a reference (the model's folder)",
      TAKES_TEXT, OPTION_FIELD_OF(Verifying, golden) },
    { 0 },
};

typedef struct Verification {
    Arena *arena;
    Verifying *v;
    const char *folder, *onnx, *small; /* small: the int8 model beside it, or NULL */
    bool processor;         /* there is one of pictures */
    Texts texts;
    Value problems;         /* lines: why it is not verified */
    bool checked;           /* numbers were looked at */
    bool pictures, given;   /* it reads pictures; the caller's */
    const Accuracy *accuracy; /* of small; NULL: not measured */
} Verification;

static void note_problem(Verification *w, const char *format, ...) PRINTF(2, 3);
static void note_problem(Verification *w, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    text_print(line, sizeof line, format, args);
    va_end(args);
    w->v->ok = false;
    if (w->problems.list.n < MOST_PROBLEMS)
        w->problems.list.items[w->problems.list.n++] =
            value_of_str(str_of(str_dup(w->arena, str_of(line))));
}

static Value verifying_text(const char *s)
{
    return value_of_str(str_of(s));
}

/* Copies: what the model or a reply holds does not outlive it. */
static Value kept(Arena *arena, Str s)
{
    return value_of_str((Str){ str_dup(arena, s), s.n });
}

static void find_files(Verification *w)
{
    ModelSource s = { 0 };
    bool folder = dir_is(w->v->path);
    w->folder = folder ? w->v->path : path_dir(w->arena, w->v->path);
    source_folder(w->arena, w->folder, &s);
    w->onnx = folder ? s.weights : w->v->path;
    w->processor = s.preprocessor || s.processor;
    const char *small = path_join(w->arena, w->folder, STR("model_quantized.onnx"));
    if (file_is(small) && strcmp(small, w->onnx) != 0) w->small = small;
    if (!w->v->source) w->v->source = w->folder;
}

static void check_numbers(Verification *w, size_t i, const float *p, int64_t n)
{
    w->checked = true;
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(p[k]))
            return note_problem(w, "text %zu: found a number that is not finite", i + 1);
}

/* ---- answers, by what the task can ---- */

static Value labelled_words(Arena *arena, Str query, const Value *result)
{
    BioSpans words = bio_words(arena, query, bio_tokens(arena, result));
    Value list = value_list(arena, words.n);
    list.list.n = 0;
    for (size_t i = 0; i < words.n; i++) {
        const BioSpan *s = &words.item[i];
        if (!s->label.n || str_is(s->label, "O")) continue;
        Value one = value_map(arena, 4);
        value_add(&one, "label", kept(arena, s->label));
        value_add(&one, "word", value_of_str(s->text));
        value_add(&one, "start", value_of_int(s->start));
        value_add(&one, "end", value_of_int(s->end));
        list.list.items[list.list.n++] = one;
    }
    return list;
}

static void answer_words(Verification *w, size_t i, Value *out)
{
    const Value *result = texts_result(&w->texts, i);
    value_add(out, "entities", labelled_words(w->arena, w->texts.text[i], result));
}

static void answer_label(Verification *w, size_t i, Value *out)
{
    const Value *result = texts_result(&w->texts, i), *scores = value_get(result, "scores");
    const Value *label = value_get(result, "predicted_label");
    if (!label) label = value_get(result, "predicted_choice");
    bool lone = scores && scores->kind == V_F32 && scores->f32.n == 1; /* a score, no class */
    if (label && label->kind == V_STR) value_add(out, "label", kept(w->arena, label->s));
    else if (!lone) note_problem(w, "text %zu: found no label", i + 1);
    double best = -INFINITY;
    for (size_t k = 0; scores && scores->kind == V_F32 && k < scores->f32.n; k++)
        best = fmax(best, number_widen(scores->f32.p[k]));
    if (isfinite(best)) value_add(out, "score", value_of_float(best));
    else if (lone) note_problem(w, "text %zu: found a score that is not finite", i + 1);
}

/* The mean of a text's token vectors, of length 1. */
static float *mean_vector(Verification *w, size_t i, int64_t *width)
{
    int64_t tokens = 0;
    const float *row = texts_row(&w->texts, i, &tokens, width);
    if (!row || !tokens) return NULL;
    float *out = ARRAY(w->arena, float, *width);
    double square = 0;
    for (int64_t t = 0; t < tokens; t++)
        for (int64_t c = 0; c < *width; c++) out[c] += row[t * *width + c];
    for (int64_t c = 0; c < *width; c++) square += (double)out[c] * out[c];
    for (int64_t c = 0; square > 0 && c < *width; c++) out[c] = (float)(out[c] / sqrt(square));
    return out;
}

/* Cosine of every text with every other. */
static Value similarities(Verification *w)
{
    size_t n = w->texts.n;
    float **vector = ARRAY(w->arena, float *, n);
    int64_t width = 0;
    Value out = value_list(w->arena, n);
    for (size_t i = 0; i < n; i++) vector[i] = mean_vector(w, i, &width);
    for (size_t i = 0; i < n; i++) {
        Value row = value_list(w->arena, n);
        for (size_t k = 0; k < n; k++) {
            double dot = 0;
            for (int64_t c = 0; vector[i] && vector[k] && c < width; c++)
                dot += (double)vector[i][c] * vector[k][c];
            row.list.items[k] = value_of_float(round(dot * 1e4) / 1e4);
        }
        out.list.items[i] = row;
    }
    return out;
}

static void answer_vector(Verification *w, size_t i, Value *out)
{
    int64_t width = 0;
    const float *vector = mean_vector(w, i, &width);
    double most = 0;
    for (int64_t c = 0; vector && c < width; c++) most = fmax(most, fabs(vector[c]));
    value_add(out, "dimensions", value_of_int(width));
    if (!(most > 0)) note_problem(w, "text %zu: found a vector of zeros", i + 1);
}

/* The best word for each mask. */
static void answer_masks(Verification *w, size_t i, Value *out)
{
    const Value *masks = value_get(texts_result(&w->texts, i), "masks");
    size_t n = masks ? masks->list.n : 0;
    Value list = value_list(w->arena, n);
    for (size_t k = 0; k < n; k++) {
        const Value *best = &value_get(&masks->list.items[k], "words")->list.items[0];
        Value one = value_map(w->arena, 2);
        value_add(&one, "word", kept(w->arena, value_str(value_get(best, "token_str"), STR(""))));
        value_add(&one, "score", value_of_float(value_float(value_get(best, "score"), NAN)));
        list.list.items[k] = one;
    }
    value_add(out, "masks", list);
    if (!n) note_problem(w, "text %zu: found no mask to fill", i + 1);
}

static void answer_weights(Verification *w, size_t i, Value *out)
{
    const Value *weights = value_get(texts_result(&w->texts, i), "values");
    size_t n = weights && weights->kind == V_F32 ? weights->f32.n : 0;
    value_add(out, "weights", value_of_int((int64_t)n));
    if (!n) note_problem(w, "text %zu: found no word with a weight", i + 1);
}

static void answer_question(Verification *w, size_t i, Value *out)
{
    const Value *result = texts_result(&w->texts, i);
    double score = value_float(value_get(result, "score"), NAN);
    value_add(out, "answer", kept(w->arena, value_str(value_get(result, "answer"), STR(""))));
    if (isfinite(score)) value_add(out, "score", value_of_float(score));
    else note_problem(w, "text %zu: found a score that is not finite", i + 1);
}

/* Of a picture: the first label, or how many objects or segments there are. */
static void answer_picture(Verification *w, size_t i, Value *out)
{
    const Value *result = texts_result(&w->texts, i), *labels = value_get(result, "labels");
    static const char *const lists[] = { "objects", "segments" };
    for (size_t k = 0; k < COUNT(lists); k++) {
        const Value *list = value_get(result, lists[k]);
        if (list && list->kind == V_LIST) value_add(out, lists[k], value_of_int((int64_t)list->list.n));
    }
    if (!labels || labels->kind != V_LIST || !labels->list.n) return;
    value_add(out, "label", kept(w->arena, value_str(value_get(&labels->list.items[0], "label"), STR(""))));
    value_add(out, "score", value_of_float(value_float(value_get(&labels->list.items[0], "score"), NAN)));
}

static Value shape_of(Arena *arena, int64_t tokens, int64_t width)
{
    Value shape = value_list(arena, 2);
    shape.list.items[0] = value_of_int(tokens), shape.list.items[1] = value_of_int(width);
    return shape;
}

/* Any other task: only that the result has numbers. */
static void answer_shape(Verification *w, size_t i, Value *out)
{
    int64_t tokens = 0, width = 0;
    texts_row(&w->texts, i, &tokens, &width);
    value_add(out, "output_shape", shape_of(w->arena, tokens, width));
}

static const struct AnswerRow {
    TaskCan can;
    void (*answer)(Verification *, size_t i, Value *out);
    bool vectors;           /* texts are compared with each other, too */
} answers[] = {
    { CAN_TAG, answer_words, false },
    { CAN_CLASSIFY | CAN_CHOOSE, answer_label, false },
    { CAN_EMBED | CAN_EMBED_PICTURE, answer_vector, true },
    { CAN_CLASSIFY_PICTURE | CAN_DETECT | CAN_SEGMENT, answer_picture, false },
    { CAN_FILL, answer_masks, false },
    { CAN_SPARSE, answer_weights, false },
    { CAN_ANSWER, answer_question, false },
    { 0, answer_shape, false }, /* any other */
};

static void report_answers(Verification *w, const Model *m)
{
    const struct AnswerRow *how = answers;
    while (how->can && !task_can(m->task, NULL, how->can)) how++;
    Value list = value_list(w->arena, w->texts.n);
    for (size_t i = 0; i < w->texts.n; i++) {
        int64_t tokens = 0, width = 0;
        const float *row = texts_row(&w->texts, i, &tokens, &width);
        Value one = value_map(w->arena, 4);
        const bool drawn = w->pictures && !w->given;
        value_add(&one, "query", value_of_str(drawn ? STR("a picture drawn here") : *texts_item(&w->texts, i)));
        if (row) how->answer(w, i, &one), check_numbers(w, i, row, tokens * width);
        else note_problem(w, "text %zu is empty", i + 1);
        list.list.items[i] = one;
    }
    value_add(&w->v->report, "results", list);
    if (how->vectors) value_add(&w->v->report, "similarities", similarities(w));
}

/* A mask is spelled as the tokenizer does: what README.md gives may have another. */
static void find_samples(Verification *w, const Model *m)
{
    Verifying *v = w->v;
    bool masks = task_can(m->task, NULL, CAN_FILL);
    if (v->texts.n) return;
    v->texts.n = samples_find(w->arena, masks ? NULL : v->source, m->task, &m->config, m->tokenizer,
                              &v->texts.text);
    if (masks && !v->texts.n)
        note_problem(w, "the tokenizer has no mask: nothing can be filled in");
}

static bool answer_texts(Verification *w, const Model *m, Err *err)
{
    Verifying *v = w->v;
    const bool paths = v->texts.n && model_reads_pictures(m);
    find_samples(w, m);
    value_add(&v->report, "task", verifying_text(m->task->name));
    bool ok = texts_open(&w->texts, m, v->texts.text, v->texts.n, err);
    w->texts.samples = !paths;
    w->pictures = model_reads_pictures(m), w->given = paths;
    ok = ok && texts_run(&w->texts, err);
    if (ok) report_answers(w, m);
    texts_close(&w->texts);
    return ok;
}

/* ---- a head that no task here reads: its shapes ---- */

typedef struct Bare {
    Model *model[2];        /* the second: int8, or NULL */
    Runner *runner[2];
    Tokenizer *tokenizer;
    Accuracy accuracy;
} Bare;

static bool open_bare(Verification *w, Bare *b, Err *err)
{
    const char *const file[] = { w->onnx, w->small };
    for (int i = 0; i < 2 && file[i]; i++) {
        if (!model_open_bare(file[i], &b->model[i], err)) return false;
        b->runner[i] = runner_new(b->model[i]->engine, NULL);
    }
    return !w->v->texts.n || tokenizer_open(w->arena, w->folder, &b->tokenizer, err);
}

static void close_bare(Bare *b)
{
    for (int i = 0; i < 2 && b->model[i]; i++) {
        runner_free(b->runner[i]);
        model_close(b->model[i]);
    }
}

static bool run_bare(Verification *w, Bare *b, size_t i, Value *out, Err *err)
{
    Encoding e;
    RowOutput row[2] = { 0 };
    Str query = w->v->texts.text[i];
    EncodeOptions most = { .max_length = 512 };
    if (!tokenizer_encode(b->tokenizer, w->arena, query, NULL, &most, &e, err)) return false;
    int32_t start[] = { 0, (int32_t)e.n };
    Batch batch = { 1, start, e.ids, e.type_ids };
    for (int k = 0; k < 2 && b->runner[k]; k++)
        if (!runner_run(b->runner[k], &batch, &row[k], err)) return false;
    bool same = row[0].tokens == row[1].tokens && row[0].width == row[1].width;
    if (b->runner[1] && !same) note_problem(w, "the quantized model's output has another shape");
    else if (b->runner[1])
        accuracy_add(&b->accuracy, row[0].data, row[1].data, row->tokens, row->width, false);
    *out = value_map(w->arena, 2);
    value_add(out, "query", value_of_str(query));
    value_add(out, "output_shape", shape_of(w->arena, row->tokens, row->width));
    check_numbers(w, i, row->data, row->tokens * row->width);
    return true;
}

static bool answer_bare(Verification *w, const char *task, Err *err)
{
    Verifying *v = w->v;
    Bare *b = NEW(w->arena, Bare);
    if (!v->texts.n)
        v->texts.n = samples_find(w->arena, v->source, NULL, NULL, NULL, &v->texts.text);
    if (!tokenizer_files(w->arena, w->folder).vocab) v->texts.n = 0;
    Value list = value_list(w->arena, v->texts.n);
    bool ok = open_bare(w, b, err);
    for (size_t i = 0; ok && i < v->texts.n; i++) ok = run_bare(w, b, i, &list.list.items[i], err);
    close_bare(b);
    value_add(&v->report, "task", verifying_text(task));
    value_add(&v->report, "results", list);
    if (b->accuracy.texts) accuracy_finish(&b->accuracy), w->accuracy = &b->accuracy;
    return ok;
}

/* ---- numbers ---- */

/* The int8 model beside it. A text that fails in both has been reported before. */
static void report_quantized(Verification *w)
{
    Err err = { 0 };
    Accuracy *a = NEW(w->arena, Accuracy);
    AccuracyFiles files = { w->onnx, w->small, w->v->open };
    if (!w->small || !w->v->texts.n) return;
    if (!w->accuracy) {
        w->accuracy = a;
        if (!accuracy_files(w->arena, &files, w->v->texts.text, w->pictures && !w->given ? 0 : w->v->texts.n, a, &err))
            return note_problem(w, "the quantized model cannot be compared: %s", err.message);
    }
    value_add(&w->v->report, "quantized", accuracy_json(w->arena, w->accuracy));
    w->v->accuracy = w->accuracy;
    if (!isfinite(w->accuracy->mean))
        note_problem(w, "the quantized model's numbers are not finite");
}

typedef struct Golden {
    Npy start, ids, types, output; /* types.data NULL: zeros */
    Npy boxes;                     /* [T, 4]; data NULL: zeros */
} Golden;

static const char *golden_file(const Verification *w, const char *name)
{
    return path_join(w->arena, w->v->golden ? w->v->golden : w->v->source, str_of(name));
}

static bool read_npy(const Verification *w, const char *name, char kind, Npy *out, Err *err)
{
    enum { MOST = 1 << 28 };
    Str file;
    const char *path = golden_file(w, name);
    if (!file_read(w->arena, path, MOST, &file, err)) return false;
    if (!npy_read(file, out, err)) return within(err, "%s", path);
    return (out->kind == kind && out->size == 4) ||
           fail(err, EF_INVALID_INPUT, "%s: found '%c%d', wanted '%c4'", path, out->kind, out->size,
                kind);
}

/* Row starts must ascend from 0 to the number of ids. */
static bool rows_fit(const Golden *g, Err *err)
{
    const int32_t *start = g->start.data;
    int64_t rows = g->start.dim[0] - 1, ids = (int64_t)(g->ids.bytes / 4);
    bool ok = g->start.rank == 1 && rows > 0 && rows < 1 << 16;
    ok = ok && start[0] == 0 && start[rows] == ids;
    for (int64_t i = 0; ok && i < rows; i++) ok = start[i] < start[i + 1];
    if (ok && g->types.data) ok = g->types.bytes == g->ids.bytes;
    if (ok && g->boxes.data) ok = g->boxes.bytes == BOX_NUMBERS * g->ids.bytes;
    return ok || fail(err, EF_INVALID_INPUT, "start.npy: found rows that do not fit ids.npy");
}

static bool read_golden(Verification *w, Golden *g, Err *err)
{
    if (!read_npy(w, "start.npy", 'i', &g->start, err) ||
        !read_npy(w, "ids.npy", 'i', &g->ids, err) ||
        !read_npy(w, "output.npy", 'f', &g->output, err))
        return false;
    bool typed = file_is(golden_file(w, "type_ids.npy")), boxed = file_is(golden_file(w, "bbox.npy"));
    if (typed && !read_npy(w, "type_ids.npy", 'i', &g->types, err)) return false;
    if (boxed && !read_npy(w, "bbox.npy", 'i', &g->boxes, err)) return false;
    return rows_fit(g, err);
}

/* The largest difference; infinite where the sizes differ. */
static double difference(const RowOutput *row, int rows, const Npy *want)
{
    const float *p = want->data;
    size_t left = want->bytes / 4;
    double most = 0;
    for (int r = 0; r < rows; r++) {
        size_t n = (size_t)(row[r].tokens * row[r].width);
        if (n > left) return INFINITY;
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)row[r].data[i] - p[i]));
        p += n, left -= n;
    }
    return left ? INFINITY : most;
}

static bool measure(Verification *w, const Golden *g, const char *onnx, double *out, Err *err)
{
    Model *m;
    Batch batch = { (int)g->start.dim[0] - 1, g->start.data, g->ids.data, g->types.data,
                    g->boxes.data };
    RowOutput *row = ARRAY(w->arena, RowOutput, batch.B);
    if (!model_open_bare(onnx, &m, err)) return false;
    Runner *runner = runner_new(m->engine, NULL);
    bool ok = runner_run(runner, &batch, row, err);
    if (ok) *out = difference(row, batch.B, &g->output);
    runner_free(runner);
    model_close(m);
    return ok;
}

static bool report_golden(Verification *w, Err *err)
{
    Golden g = { 0 };
    double fp32 = 0, small = 0;
    if (!file_is(golden_file(w, "output.npy")))
        return !w->v->golden ||
               fail(err, EF_NOT_FOUND, "--golden: found no output.npy in %s", w->v->golden);
    if (w->pictures)
        return fail(err, EF_UNSUPPORTED, "--golden: found a model that reads pictures, wanted one that reads token "
                    "ids: `onnx run` computes with any tensors");
    if (!read_golden(w, &g, err) || !measure(w, &g, w->onnx, &fp32, err)) return false;
    if (w->small && !measure(w, &g, w->small, &small, err)) return false;
    Value out = value_map(w->arena, 3);
    value_add(&out, "largest_difference", value_of_float(fp32));
    value_add(&out, "allowed", value_of_float(VERIFY_ALLOWED));
    if (w->small) value_add(&out, "quantized_difference", value_of_float(small));
    value_add(&w->v->report, "golden", out);
    w->checked = true;
    if (!(fp32 <= VERIFY_ALLOWED))
        note_problem(w, "fp32 differs from the golden outputs by %.3g, %.0g allowed", fp32,
                     VERIFY_ALLOWED);
    return true;
}

/* ---- all of it ---- */

/* The task that the file or its config names, if none of ours reads it; NULL: one does. */
static const char *foreign_task(Verification *w)
{
    HfMetadata m;
    Value config;
    Err ignored;
    HfSource from = { .folder = w->folder };
    if (w->v->open.task.n || !file_is(w->onnx)) return NULL;
    if (!hf_metadata_open(w->arena, w->onnx, &m, &ignored)) return NULL;
    const char *task = m.state == HF_GOOD ? hf_task_known(hf_metadata_get(&m, "hf_pipeline_task"))
                                          : NULL;
    if (!task && hf_read_config(w->arena, &from, &config, &ignored))
        task = hf_task_detect(&config, NULL);
    bool tokens = tokenizer_files(w->arena, w->folder).vocab ||
                  (m.state == HF_GOOD && hf_metadata_get(&m, "hf_tokenizer").p);
    return task && (!task_find(str_of(task)) || (!tokens && !w->processor)) ? task : NULL;
}

static bool verifying_answer(Verification *w, Err *err)
{
    Model *m;
    const char *foreign = foreign_task(w);
    if (foreign) return answer_bare(w, foreign, err);
    if (!model_open_with(w->v->path, &w->v->open, &m, err)) return false;
    bool ok = answer_texts(w, m, err);
    model_close(m);
    return ok;
}

bool verifying_run(Arena *arena, Verifying *v, Err *err)
{
    Verification w = { .arena = arena, .v = v };
    v->report = value_map(arena, 9);
    v->ok = true;
    w.problems = value_list(arena, MOST_PROBLEMS);
    w.problems.list.n = 0;
    find_files(&w);
    value_add(&v->report, "model", verifying_text(v->path));
    if (!verifying_answer(&w, err)) return false;
    report_quantized(&w);
    if (!report_golden(&w, err)) return false;
    if (!w.checked)
        note_problem(&w, "nothing could be checked: found no text that the model takes (is there a "
                     "tokenizer?), no picture, and no golden outputs (--golden)");
    value_add(&v->report, "problems", w.problems);
    value_add(&v->report, "ok", value_of_bool(v->ok));
    return true;
}
