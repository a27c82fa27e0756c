/* SPDX-License-Identifier: Apache-2.0
 * texts.c - see texts.h. A session refuses empty texts: they are left out, and results are matched to
 * the others. */
#include "api/texts.h"

#include "model/model.h"

static bool texts_submit(Texts *t, Err *err)
{
    Session *session = job_session(t->model, &(SessionOptions){ .max_inputs = SIZE_MAX });
    if (!session) return fail(err, EF_IO, "no thread could be started");
    job_run(session, t->job);
    session_free(session);
    const Err *e = &t->job->work.err;
    return e->code == EF_OK || fail(err, e->code, "%s", e->message);
}

bool texts_open(Texts *t, const Model *model, const Str *text, size_t n, Err *err)
{
    size_t each = items_each(model->items, n);
    *t = (Texts){ .model = model, .text = text, .n = n / each, .each = each };
    return n % each == 0 || fail(err, EF_INVALID_INPUT, "found %zu texts, wanted %zu for each of %s", n,
                                 each, model->items->one);
}

const Str *texts_item(const Texts *t, size_t i)
{
    return &t->text[i * t->each];
}

static bool is_empty(const Texts *t, size_t i)
{
    for (size_t k = 0; k < t->each; k++)
        if (texts_item(t, i)[k].n == 0) return true;
    return false;
}

static bool make_item(Texts *t, size_t i, Item *out, Err *err)
{
    Arena *arena = &t->job->work.arena;
    Items one = { 0 };
    bool made = t->samples && (model_reads_boxes(t->model) || item_form_file(t->model->items));
    if (made && t->each == 1) /* no two alike */
        one.item = items_of_samples(arena, t->model->items, t->text, i + 1) + i;
    else if (made) one.item = items_of_samples(arena, t->model->items, texts_item(t, i), 1);
    else if (model_reads_pictures(t->model) || model_hears(t->model))
        return item_open_file(arena, t->model->items, *texts_item(t, i), out, err);
    else if (!items_of_texts(arena, t->model->items, texts_item(t, i), t->each, &one, err)) return false;
    *out = one.item[0];
    return true;
}

bool texts_run(Texts *t, Err *err)
{
    Job *job = t->job = job_new();
    job->in.no_text = true;
    size_t n = 0;
    job_items(job, t->n + 1);
    for (size_t i = 0; i < t->n * t->each; i++)
        if (!utf8_valid(t->text[i]))
            return fail(err, EF_INVALID_INPUT, "text %zu is not valid UTF-8", i + 1);
    for (size_t i = 0; i < t->n; i++) {
        if (is_empty(t, i)) continue;
        if (!make_item(t, i, &job->work.item[n++], err)) return false;
    }
    job->work.n = n;
    task_sample_options(&job->work.arena, t->model->task, &job->work.options);
    return job->work.n == 0 || texts_submit(t, err);
}

/* Where an item stands among those that are not empty. */
static size_t texts_place(const Texts *t, size_t index)
{
    size_t at = 0;
    for (size_t i = 0; i < index; i++) at += !is_empty(t, i);
    return at;
}

const Value *texts_result(const Texts *t, size_t i)
{
    const Value *results = value_get(&t->job->out.value, "results");
    return !is_empty(t, i) && results ? &results->list.items[texts_place(t, i)] : NULL;
}

const float *texts_row(const Texts *t, size_t i, int64_t *tokens, int64_t *width)
{
    if (is_empty(t, i)) return NULL;
    const Work *work = &t->job->work;
    const TaskTensor *row = work_result(work, work_row(work, texts_place(t, i)));
    *tokens = row->tokens, *width = row->width;
    return row->data;
}

void texts_close(Texts *t)
{
    job_free(t->job);
    t->job = NULL;
}
