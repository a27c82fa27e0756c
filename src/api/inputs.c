/* SPDX-License-Identifier: Apache-2.0
 * inputs.c - what a caller gives becomes items of the session; a kind is a row. */
#include "api/handle.h"
#include "api/sized.h"
#include "audio/audio.h"
#include "data/json.h"
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
        if (!size_is_memory(word[k].size, err)) return within(err, "input %zu: word %zu", i, k);
        list[k] = copy_text(job, word[k].data, word[k].size);
    }
    item->list = list;
    item->n = n;
    return true;
}

/* ---- pictures: decoded ones become the simplest file there is ---- */

static void pixel_put(uint8_t *to, size_t bytes, uint32_t number)
{
    for (size_t k = 0; k < bytes; k++) to[k] = (uint8_t)(number >> (8 * k));
}

static void pixel_put_row(uint8_t *to, const uint8_t *from, const ef_pixels *p)
{
    const int blue = p->channels == 1 ? 0 : 2, green = p->channels == 1 ? 0 : 1;
    for (int x = 0; x < p->width; x++, to += 3, from += p->channels)
        to[0] = from[blue], to[1] = from[green], to[2] = from[0];
}

static bool check_pixels(const ef_pixels *p, Err *err)
{
    enum { SIDE_MOST = 1 << 16 };
    if (!p->data || p->width <= 0 || p->height <= 0 || p->width > SIDE_MOST || p->height > SIDE_MOST)
        return fail(err, EF_INVALID_INPUT, "ef_pixels: found %d x %d%s, wanted 1 to %d of each side", p->width,
                    p->height, p->data ? "" : " and no data", SIDE_MOST);
    if (p->channels != 1 && p->channels != 3 && p->channels != 4)
        return fail(err, EF_INVALID_INPUT, "ef_pixels: channels: found %d, wanted 1, 3 or 4", p->channels);
    return !p->stride || p->stride >= (size_t)p->width * (size_t)p->channels ||
           fail(err, EF_INVALID_INPUT, "ef_pixels: stride: found %zu, wanted at least %zu", p->stride,
                (size_t)p->width * (size_t)p->channels);
}

/* Of 24 bits a pixel, rows from the bottom. */
static bool take_pixels(Job *job, const ef_pixels *given, Item *item, Err *err)
{
    enum { HEAD = 54 };
    ef_pixels p;
    if (!sized_read(given, 0, &p, sizeof p, "ef_pixels", err) || !check_pixels(&p, err)) return false;
    const size_t row = ROUND_UP((size_t)p.width * 3, 4), bytes = HEAD + row * (size_t)p.height;
    if (bytes > UINT32_MAX) return fail(err, EF_TOO_LARGE, "ef_pixels: found %d x %d", p.width, p.height);
    uint8_t *bmp = arena_alloc(&job->work.arena, bytes);
    memcpy(bmp, "BM", 2);
    pixel_put(bmp + 2, 4, (uint32_t)bytes);
    pixel_put(bmp + 10, 4, HEAD);
    pixel_put(bmp + 14, 4, 40); /* BITMAPINFOHEADER */
    pixel_put(bmp + 18, 4, (uint32_t)p.width);
    pixel_put(bmp + 22, 4, (uint32_t)p.height);
    pixel_put(bmp + 26, 2, 1); /* planes */
    pixel_put(bmp + 28, 2, 24);
    const size_t stride = p.stride ? p.stride : (size_t)p.width * (size_t)p.channels;
    for (int y = 0; y < p.height; y++)
        pixel_put_row(bmp + HEAD + row * (size_t)(p.height - 1 - y), p.data + stride * (size_t)y, &p);
    item->picture = (Str){ (const char *)bmp, bytes };
    return true;
}

static bool take_picture(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data && in->data2 && in->size2 == 1)
        return take_pixels(job, in->data2, &job->work.item[i], err) || within(err, "input %zu", i);
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no picture", i);
    job->work.item[i].picture = copy_text(job, in->data, in->size);
    return true;
}

static bool take_samples(Job *job, const ef_samples *given, Item *item, Err *err)
{
    ef_samples s;
    Arena *arena = &job->work.arena;
    if (!sized_read(given, 0, &s, sizeof s, "ef_samples", err)) return false;
    if (!s.data || !s.count || s.channels < 1 || s.channels > SOUND_CHANNELS_MOST)
        return fail(err, EF_INVALID_INPUT, "ef_samples: found %zu samples of %d channels, wanted some of 1 to %d",
                    s.data ? s.count : (size_t)0, s.channels, SOUND_CHANNELS_MOST);
    if (s.rate < SOUND_RATE_LEAST || s.rate > SOUND_RATE_MOST)
        return fail(err, EF_INVALID_INPUT, "ef_samples: rate: found %d, wanted %d to %d Hz", s.rate,
                    SOUND_RATE_LEAST, SOUND_RATE_MOST);
    if (s.count > SIZE_MAX / sizeof *s.data / (size_t)s.channels)
        return fail(err, EF_TOO_LARGE, "ef_samples: found %zu samples", s.count);
    const size_t bytes = s.count * (size_t)s.channels * sizeof *s.data;
    float *copy = memcpy(arena_raw(arena, bytes), s.data, bytes);
    const float **channel = ARRAY(arena, const float *, s.channels);
    for (int c = 0; c < s.channels; c++) channel[c] = copy + s.count * (size_t)c;
    item->numbers = NEW(arena, SoundNumbers);
    *item->numbers = (SoundNumbers){ channel, s.channels, s.count, s.rate };
    return true;
}

static bool take_sound(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (!in->data && in->data2 && in->size2 == 1)
        return take_samples(job, in->data2, &job->work.item[i], err) || within(err, "input %zu", i);
    if (!in->data || !in->size) return fail(err, EF_INVALID_INPUT, "input %zu: found no sound", i);
    job->work.item[i].sound = copy_text(job, in->data, in->size);
    return true;
}

/* The words of a text, which the tokenizer does not cut again. */
static bool take_words(Job *job, size_t i, const ef_input *in, Err *err)
{
    if (in->data2) return fail(err, EF_INVALID_INPUT, "input %zu: found two texts of words, wanted one", i);
    if (!take_list(job, i, in->data, in->size, err)) return false;
    item_join_words(&job->work.arena, &job->work.item[i]);
    job->work.item[i].cut = true;
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
    size_t asked = page.question && !page.question_size ? strlen(page.question) : page.question_size;
    if (page.question) item->second = copy_text(job, page.question, asked);
    if (page.image && page.image_size) item->picture = copy_text(job, page.image, page.image_size);
    else if (page.pixels && !take_pixels(job, page.pixels, item, err)) return within(err, "input %zu", i);
    return true;
}

/* Whether the model takes a text or a pair is checked later, with the items. */
static const struct TakeRow {
    TakeInput *take;             /* NULL: no model here takes it */
    const ItemForm *form;        /* of models that do; NULL: any, */
    bool page;                   /*   or those that read pages, */
    bool tags;                   /*   or those that label the tokens of texts */
} takes[] = {
    [EF_TEXT] = { take_text, NULL },         [EF_PAIR] = { take_pair, NULL },
    [EF_WORDS] = { take_words, NULL, .tags = true },           [EF_BOXES] = { take_boxes, NULL, true },
    [EF_PICTURE] = { take_picture, &item_pictures },           [EF_SOUND] = { take_sound, &item_sounds },
    [EF_CHOICES] = { take_choices, &item_choices },            [EF_PAGE] = { take_page, NULL, true },
};

static bool take_input(const Model *model, Job *job, size_t i, const ef_input *in, Err *err)
{
    const struct TakeRow *row = &takes[in->kind];
    bool texts = model->items == &item_texts;
    bool fits = row->page   ? model_reads_boxes(model)
                : row->tags ? texts && task_can(model->task, NULL, CAN_TAG)
                : row->form ? row->form == model->items : !model_reads_pictures(model) && !model_hears(model);
    if (row->take && fits) return row->take(job, i, in, err);
    return fail(err, EF_UNSUPPORTED, "input %zu: found %s, wanted %s: %s takes nothing else", i,
                input_name(in->kind), texts ? "a text or a pair of texts" : model->items->one,
                model->task->name);
}

bool inputs_take(InputsCall *c)
{
    InputList list;
    c->job = job_new();
    if (!inputs_open(&list, c->in, c->count, &c->err)) return false;
    job_items(c->job, c->count);
    for (size_t i = 0; i < c->count; i++) {
        ef_input one;
        if (!inputs_read(&list, i, &one, &c->err) || !take_input(c->m->model, c->job, i, &one, &c->err)) return false;
    }
    return true;
}

bool inputs_params(InputsCall *c, Value **out)
{
    Arena *arena = &c->job->work.arena;
    *out = c->params ? NEW(arena, Value) : NULL;
    return !c->params || json_parse(arena, str_of(str_dup(arena, str_of(c->params))), *out, &c->err) ||
           within(&c->err, "params_json");
}

static bool option_is_of(const Task *task, Str key)
{
    for (const Field *f = task->request + 1; f->name; f++)
        if (str_is(key, f->name)) return true;
    return false;
}

/* A body may hold keys of other servers' clients; who writes options for this model means each of them. */
static bool options_are_known(const Task *task, const Value *params, Err *err)
{
    for (size_t i = 0; i < params->map.n; i++) {
        const Member *m = &params->map.items[i];
        if (m->value.kind == V_NULL || option_is_of(task, m->key)) continue;
        char names[512] = "";
        for (const Field *f = task->request + 1; f->name; f++)
            if (strcmp(f->name, "pages") != 0) /* they are inputs */
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", f->name);
        return fail(err, EF_INVALID_INPUT, "unknown option \"%.*s\", wanted those of %s: %s", (int)MIN(m->key.n, 60),
                    m->key.p, task->name, names);
    }
    return true;
}

bool inputs_options(InputsCall *c)
{
    Value *params;
    if (!inputs_params(c, &params)) return false;
    if (!params) return true;
    if (job_options(c->m->session, c->job, params)) return options_are_known(c->m->model->task, params, &c->err);
    return fail(&c->err, c->job->work.err.code, "%s", c->job->work.err.message);
}
