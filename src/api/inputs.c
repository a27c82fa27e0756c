/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - what a caller gives becomes items of the session; a kind is a row. */
#include "api/handle.h"
#include "api/sized.h"
#include "model/model.h"

typedef bool TakeInput(Job *, size_t index, const ef_input *, Err *);

/* Bytes are copied, so that the job does not depend on the caller's memory. */
static Str copy_text(Job *job, const void *data, size_t size)
{
    return (Str){ str_dup(&job->work.arena, (Str){ data, size }), size };
}

static bool take_text(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data) return fail(err, EF_INVALID_INPUT, "input %zu: found no text", i);
    job->work.item[i].first = copy_text(job, in->data, in->size);
    return true;
}

static bool take_pair(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data2) return fail(err, EF_INVALID_INPUT, "input %zu: found no text", i);
    job->work.item[i].second = copy_text(job, in->data2, in->size2);
    return take_text(job, i, in, err);
}

static bool take_list(Job *job, size_t i, const void *words, size_t n, Err *err)
{
    const ef_word *word = words;
    Item *item = &job->work.item[i];
    if (!words || n == 0) return fail(err, EF_INVALID_INPUT, "input %zu: found no words", i);
    Str *list = ARRAY(&job->work.arena, Str, n);
    for (size_t k = 0; k < n; k++) {
        if (!word[k].data) return fail(err, EF_INVALID_INPUT, "input %zu: word %zu: found no text", i, k);
        list[k] = copy_text(job, word[k].data, word[k].size);
    }
    item->list = list;
    item->n = n;
    return true;
}

static bool take_picture(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no picture", i);
    job->work.item[i].picture = copy_text(job, in->data, in->size);
    return true;
}

static bool take_sound(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no sound", i);
    job->work.item[i].sound = copy_text(job, in->data, in->size);
    return true;
}

static bool take_choices(Job *job, size_t i, const ef_input *in, Err *err)
{
    return take_list(job, i, in->data2, in->size2, err) && take_text(job, i, in, err);
}

static bool take_boxes(Job *job, size_t i, const ef_input *in, Err *err)
{
    _Static_assert(sizeof(ef_box) == BOX_SIDES * sizeof(int32_t), "as items have them");
    Item *item = &job->work.item[i];
    if (!take_list(job, i, in->data, in->size, err)) return false;
    if (!in->data2 || in->size2 != in->size)
        return fail(err, EF_INVALID_INPUT, "input %zu: found %zu boxes, wanted %zu: one for each word", i,
                    in->data2 ? in->size2 : (size_t)0, in->size);
    item->boxes = memcpy(ARRAY(&job->work.arena, int32_t, in->size * BOX_SIDES), in->data2,
                         in->size * sizeof(ef_box));
    item_join_words(&job->work.arena, item);
    return true;
}

/* Words without their number, or a picture without bytes, are none: what the model needs is checked with the items. */
static bool take_page(Job *job, size_t i, const ef_input *in, Err *err)
{
    ef_page page;
    Item *item = &job->work.item[i];
    if (!in->data) return fail(err, EF_INVALID_INPUT, "input %zu: found no ef_page", i);
    if (!sized_read(in->data, 0, &page, sizeof page, "ef_page", err)) return within(err, "input %zu", i);
    ef_input words = { sizeof words, EF_BOXES, page.words, page.count, page.boxes, page.boxes ? page.count : 0 };
    if (page.words && page.count && !take_boxes(job, i, &words, err)) return false;
    if (page.question) item->second = copy_text(job, page.question, strlen(page.question));
    if (page.image && page.image_size) item->picture = copy_text(job, page.image, page.image_size);
    return true;
}

/* Whether the model takes a text or a pair is checked later, with the items. */
static const struct TakeRow {
    TakeInput *take;             /* NULL: no model here takes it */
    const ItemForm *form;        /* of models that do; NULL: any, */
    bool page;                   /*   or those that read pages */
} takes[] = {
    [EF_TEXT] = { take_text, NULL },         [EF_PAIR] = { take_pair, NULL },
    [EF_WORDS] = { NULL, NULL },             [EF_BOXES] = { take_boxes, NULL, true },
    [EF_PICTURE] = { take_picture, &item_pictures },           [EF_SOUND] = { take_sound, &item_sounds },
    [EF_CHOICES] = { take_choices, &item_choices },            [EF_PAGE] = { take_page, NULL, true },
};

static bool take_input(const Model *model, Job *job, size_t i, const ef_input *in, Err *err)
{
    const struct TakeRow *row = &takes[in->kind];
    bool texts = model->items == &item_texts;
    bool fits = row->page   ? model_reads_boxes(model)
                : row->form ? row->form == model->items : !model_reads_pictures(model) && !model_hears(model);
    if (row->take && fits) return row->take(job, i, in, err);
    return fail(err, EF_UNSUPPORTED, "input %zu: found %s, wanted %s: %s takes nothing else", i,
                input_name(in->kind), texts ? "a text or a pair of texts" : model->items->one,
                model->task->name);
}

bool inputs_take(const Model *model, Job *job, const ef_input *in, size_t count, Err *err)
{
    InputList list;
    job_items(job, count);
    if (!inputs_open(&list, in, count, err)) return false;
    for (size_t i = 0; i < count; i++) {
        ef_input one;
        if (!inputs_read(&list, i, &one, err) || !take_input(model, job, i, &one, err)) return false;
    }
    return true;
}
