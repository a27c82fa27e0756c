/* SPDX-License-Identifier: Apache-2.0
 * accuracy.c - see accuracy.h. */
#include "api/accuracy.h"

#include <math.h>

#include "dialect/job.h"

enum { MOST_TEXTS = 1 << 24 };

static const char *const samples[] = {
    "Book a table for two in Lyon next Friday evening.",
    "The train from Vienna to Prague leaves at noon.",
    "The quick brown fox jumps over the lazy dog.",
    "Berlin is the capital of Germany, and Angela Merkel was its chancellor.",
    "I love this!",
    "This was the worst film I have seen in years.",
    "How do I reset the password of my account?",
    "Interest rates were left unchanged by the central bank on Thursday.",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
    "Yes.",
};

typedef struct Comparing {
    const Str *texts;
    size_t n;
    bool given;             /* the caller's texts: of pictures their paths */
    Job *job[2];            /* the outputs of both models */
    bool labels, choices, pictures;
    int64_t maps;           /* labels that each have a map of pixels; 0: no such maps */
} Comparing;

static void comparing_open(Comparing *c, Arena *arena, const Str *texts, size_t n)
{
    *c = (Comparing){ .texts = texts, .n = n, .given = n, .job = { job_new(), job_new() } };
    if (n) return;
    Str *own = ARRAY(arena, Str, COUNT(samples));
    for (c->n = 0; c->n < COUNT(samples); c->n++) own[c->n] = str_of(samples[c->n]);
    c->texts = own;
}

static bool comparing_items(const Comparing *c, const Model *model, Job *job, Err *err)
{
    bool ok = true;
    job->work.n = c->n;
    job->work.item = items_of_samples(&job->work.arena, model->items, c->texts, c->n);
    const bool files = model_reads_pictures(model) || model_hears(model);
    for (size_t i = 0; i < c->n && ok && c->given && files; i++)
        ok = item_open_file(&job->work.arena, model->items, c->texts[i], &job->work.item[i], err);
    return ok;
}

/* All texts through one model; its outputs stay in the job. */
static bool run_texts(Comparing *c, int which, const Model *model, Err *err)
{
    Job *job = c->job[which];
    Session *session = job_session(model, &(SessionOptions){ .max_inputs = SIZE_MAX });
    if (!session) return fail(err, EF_IO, "no thread could be started");
    job->in.no_text = true;
    const bool ok = comparing_items(c, model, job, err);
    task_sample_options(&job->work.arena, model->task, &job->work.options);
    if (ok) job_run(session, job);
    session_free(session);
    if (!ok) return false;
    const TaskAxis axis = model->task->shape->last;
    c->labels = axis == AXIS_LABELS || axis == AXIS_LABELS_OR_NONE;
    c->maps = axis == AXIS_MAP ? model->config.num_labels : 0;
    c->choices = task_can(model->task, NULL, CAN_CHOOSE);
    c->pictures = model_reads_pictures(model);
    return job->work.err.code == EF_OK || fail(err, job->work.err.code, "%s", job->work.err.message);
}

static bool run_file(Comparing *c, int which, const char *path, const ModelOpen *how, Err *err)
{
    Model *model;
    if (!model_open_with(path, how, &model, err)) return false;
    bool ok = run_texts(c, which, model, err);
    model_close(model);
    return ok;
}

static int64_t best(const float *p, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (p[i] > p[at]) at = i;
    return at;
}

void accuracy_add(Accuracy *out, const float *x, const float *y, int64_t tokens, int64_t width,
                  bool labels)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < tokens * width; i++) {
        xy += (double)x[i] * y[i], xx += (double)x[i] * x[i], yy += (double)y[i] * y[i];
        out->most = fmax(out->most, fabs((double)x[i] - y[i]));
    }
    double cosine = xx * yy == 0 ? xx == yy : xy / sqrt(xx * yy);
    out->worst = out->texts ? fmin(out->worst, cosine) : cosine;
    out->mean += cosine;
    out->texts++;
    for (int64_t t = 0; labels && t < tokens; t++) {
        out->same += best(x + t * width, width) == best(y + t * width, width);
        out->labels++;
    }
}

/* Of maps [labels][pixels]: the label of every pixel. */
static void accuracy_add_maps(Accuracy *out, const float *x, const float *y, int64_t labels, int64_t pixels)
{
    out->pixels = true;
    for (int64_t p = 0; p < pixels; p++) {
        int64_t a = 0, b = 0;
        for (int64_t l = 1; l < labels; l++) {
            if (x[l * pixels + p] > x[a * pixels + p]) a = l;
            if (y[l * pixels + p] > y[b * pixels + p]) b = l;
        }
        out->same += a == b;
        out->labels++;
    }
}

void accuracy_finish(Accuracy *out)
{
    out->mean /= (double)MAX(out->texts, (size_t)1);
    out->same /= (double)MAX(out->labels, (size_t)1);
}

/* Two files beside each other may be of different models. */
static bool same_shapes(const Work *a, const Work *b, Err *err)
{
    if (a->rows != b->rows)
        return fail(err, EF_BAD_MODEL, "the models cut the texts in %zu and %zu windows", a->rows, b->rows);
    for (size_t r = 0; r < a->rows; r++) {
        const TaskTensor *x = work_result(a, r), *y = work_result(b, r);
        if (x->tokens != y->tokens || x->width != y->width)
            return fail(err, EF_BAD_MODEL, "the models' outputs differ in shape: found %lld x %lld "
                        "and %lld x %lld", (long long)x->tokens, (long long)x->width,
                        (long long)y->tokens, (long long)y->width);
    }
    return true;
}

/* One for each choice of an item, which is a row. */
static const float *choice_numbers(Job *job, size_t item)
{
    const size_t n = work_rows(&job->work, item), first = work_row(&job->work, item);
    float *out = ARRAY(&job->work.arena, float, n);
    for (size_t i = 0; i < n; i++) out[i] = work_result(&job->work, first + i)->data[0];
    return out;
}

static bool comparing_close(Comparing *c, bool ok, Accuracy *out, Err *err)
{
    const Work *a = &c->job[0]->work, *b = &c->job[1]->work;
    ok = ok && same_shapes(a, b, err);
    *out = (Accuracy){ 0 };
    for (size_t r = 0; ok && r < a->rows && !c->choices; r++) {
        const TaskTensor *x = work_result(a, r);
        accuracy_add(out, x->data, work_result(b, r)->data, x->tokens, x->width, c->labels);
        if (c->maps && x->tokens * x->width % c->maps == 0)
            accuracy_add_maps(out, x->data, work_result(b, r)->data, c->maps, x->tokens * x->width / c->maps);
    }
    out->pictures = c->pictures;
    for (size_t i = 0; ok && i < c->n && c->choices; i++)
        accuracy_add(out, choice_numbers(c->job[0], i), choice_numbers(c->job[1], i), 1,
                     (int64_t)work_rows(a, i), true);
    accuracy_finish(out);
    job_free(c->job[0]), job_free(c->job[1]);
    return ok;
}

bool accuracy_models(Arena *arena, const Model *full, const Model *small, const Str *texts,
                     size_t n, Accuracy *out, Err *err)
{
    Comparing c;
    comparing_open(&c, arena, texts, n);
    return comparing_close(&c, run_texts(&c, 0, full, err) && run_texts(&c, 1, small, err), out,
                           err);
}

bool accuracy_files(Arena *arena, const AccuracyFiles *files, const Str *texts, size_t n,
                    Accuracy *out, Err *err)
{
    Comparing c;
    comparing_open(&c, arena, texts, n);
    bool ok = run_file(&c, 0, files->full, &files->open, err) &&
              run_file(&c, 1, files->small, &files->open, err);
    return comparing_close(&c, ok, out, err);
}

/* One line is one text; empty lines are passed over. */
bool accuracy_texts(Arena *arena, const char *file, Str **texts, size_t *n, Err *err)
{
    Str all;
    if (!file_read(arena, file, MOST_TEXTS, &all, err)) return false;
    size_t lines = 1;
    for (size_t i = 0; i < all.n; i++) lines += all.p[i] == '\n';
    *texts = ARRAY(arena, Str, lines);
    *n = 0;
    for (const char *p = all.p, *end = all.p + all.n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        Str line = { p, (size_t)((stop ? stop : end) - p) };
        p = stop ? stop + 1 : end;
        if (line.n && line.p[line.n - 1] == '\r') line.n--;
        if (!utf8_valid(line)) return fail(err, EF_INVALID_INPUT, "%s: not valid UTF-8", file);
        if (line.n) (*texts)[(*n)++] = line;
    }
    return *n || fail(err, EF_INVALID_INPUT, "%s: found no text, wanted one a line", file);
}

Value accuracy_json(Arena *arena, const Accuracy *acc)
{
    Value a = value_map(arena, 8);
    value_add(&a, acc->pictures ? "pictures" : "texts", value_of_int((int64_t)acc->texts));
    if (acc->labels) value_add(&a, acc->pixels ? "pixels" : "labels", value_of_int((int64_t)acc->labels));
    if (acc->labels) value_add(&a, acc->pixels ? "same_pixels" : "same_labels", value_of_float(acc->same));
    value_add(&a, "mean_cosine", value_of_float(acc->mean));
    value_add(&a, "worst_cosine", value_of_float(acc->worst));
    value_add(&a, "largest_difference", value_of_float(acc->most));
    return a;
}
