/* SPDX-License-Identifier: Apache-2.0
 * texts.c - see texts.h. A session refuses empty texts: those are left out and counted around. */
#include "api/texts.h"

#include "model/model.h"

static bool submit(Texts *t, Err *err)
{
    Session *session = job_session(t->model, &(SessionOptions){ .max_inputs = t->n });
    if (!session) return fail(err, EF_IO, "no thread could be started");
    job_run(session, t->job);
    session_free(session);
    const Err *e = &t->job->work.err;
    return e->code == EF_OK || fail(err, e->code, "%s", e->message);
}

bool texts_run(Texts *t, Err *err)
{
    Job *job = t->job = job_new();
    job->in.no_text = true;
    Str *text = ARRAY(&job->work.arena, Str, t->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!utf8_valid(t->text[i]))
            return fail(err, EF_INVALID_INPUT, "text %zu is not valid UTF-8", i + 1);
        if (t->text[i].n) text[n++] = t->text[i];
    }
    const ItemForm *form = t->samples ? t->model->items : &item_texts;
    job->work.item = items_of_samples(&job->work.arena, form, text, n);
    job->work.n = n;
    return job->work.n == 0 || submit(t, err);
}

/* Where a text stands among those that are not empty. */
static size_t place(const Texts *t, size_t index)
{
    size_t at = 0;
    for (size_t i = 0; i < index; i++) at += t->text[i].n > 0;
    return at;
}

const Value *texts_result(const Texts *t, size_t i)
{
    const Value *results = value_get(&t->job->out.value, "results");
    return t->text[i].n && results ? &results->list.items[place(t, i)] : NULL;
}

const float *texts_row(const Texts *t, size_t i, int64_t *tokens, int64_t *width)
{
    if (!t->text[i].n) return NULL;
    size_t at = place(t, i);
    const TaskTensor *row = work_result(&t->job->work, work_row(&t->job->work, at));
    *tokens = row->tokens, *width = row->width;
    return row->data;
}

void texts_close(Texts *t)
{
    job_free(t->job);
    t->job = NULL;
}
