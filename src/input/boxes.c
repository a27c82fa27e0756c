/* SPDX-License-Identifier: Apache-2.0
 * boxes.c - words with boxes to rows: a page as LayoutLM, LayoutLMv3 and LiLT read it. The words are
 * encoded as they come (`word` of a token counts them), a token has the box of its word, special tokens
 * those that the tokenizer's config names, a question's tokens zeros. Offsets count in the words joined by
 * spaces, as transformers' pipeline has it for a text that is split into words. */
#include "items.h"
#include "text/unicode.h"
#include "windows.h"

const Field item_box_keys[] = {
    { "left", 1, F_U32, .required = true },  { "top", 2, F_U32, .required = true },
    { "right", 3, F_U32, .required = true }, { "bottom", 4, F_U32, .required = true },
    { 0 },
};
/* ---- items ---- */
void item_join_words_by(Arena *arena, Str between, Item *item)
{
    size_t bytes = item->n * between.n;
    for (size_t i = 0; i < item->n; i++) bytes += item->list[i].n;
    char *all = arena_raw(arena, bytes + 1), *to = all;
    Str *list = ARRAY(arena, Str, item->n);
    for (size_t i = 0; i < item->n; i++) {
        if (i) memcpy(to, between.p, between.n), to += between.n;
        list[i] = (Str){ to, item->list[i].n };
        memcpy(to, item->list[i].p, item->list[i].n);
        to += item->list[i].n;
    }
    item->first = (Str){ all, (size_t)(to - all) };
    item->list = list;
}

void item_join_words(Arena *arena, Item *item)
{
    item_join_words_by(arena, STR(" "), item);
}

/* Bytes of the white space that begins there; 0: none does. */
static size_t space_at(Str text, size_t at)
{
    uint32_t code;
    int n = utf8_decode(text.p + at, text.p + text.n, &code); /* 0: inside a character */
    return n && unicode_record(code)->flags & UNICODE_SPACE ? (size_t)n : 0;
}

static Str *split_words(Arena *arena, Str text, size_t *n)
{
    Str *words = ARRAY(arena, Str, text.n + 1);
    *n = 0;
    for (size_t at = 0, end, room = 0; at < text.n; at = end + MAX(room, (size_t)1)) {
        for (end = at; end < text.n && !(room = space_at(text, end)); end++) continue;
        if (end > at) words[(*n)++] = (Str){ text.p + at, end - at };
    }
    return words;
}

void item_place_words(Arena *arena, Str text, Item *item)
{
    enum { TOP = 100, BOTTOM = 130 };
    item->list = split_words(arena, text, &item->n);
    int32_t *boxes = ARRAY(arena, int32_t, item->n * BOX_SIDES + 1), *box = boxes;
    for (size_t i = 0; i < item->n; i++, box += BOX_SIDES) {
        box[0] = (int32_t)(i * BOX_MOST / item->n), box[1] = TOP;
        box[2] = (int32_t)((i + 1) * BOX_MOST / item->n), box[3] = BOTTOM;
    }
    item->boxes = boxes;
    item_join_words(arena, item);
}

static bool check_box(const int32_t *box, Err *err)
{
    for (int k = 0; k < BOX_SIDES; k++)
        if (box[k] < 0 || box[k] > BOX_MOST)
            return fail(err, EF_INVALID_INPUT, "[%d]: found %d, wanted 0 to %d", k, (int)box[k], BOX_MOST);
    if (box[0] > box[2])
        return fail(err, EF_INVALID_INPUT, ": found left %d and right %d, wanted left not beyond right",
                    (int)box[0], (int)box[2]);
    if (box[1] > box[3])
        return fail(err, EF_INVALID_INPUT, ": found top %d and bottom %d, wanted top not beyond bottom",
                    (int)box[1], (int)box[3]);
    return true;
}

/* The box's number before what stands there: "[3]" and "[1]: found ..." */
static bool of_box(size_t i, Err *err)
{
    Err below = *err;
    return fail(err, below.code, "[%zu]%s", i, below.message);
}

bool item_check_boxes(const Item *item, Err *err)
{
    for (size_t i = 0; i < item->n; i++)
        if (!check_box(item->boxes + i * BOX_SIDES, err)) return of_box(i, err);
    return true;
}

/* ---- from JSON; protobuf has the sides by their names ---- */
static const char *const sides[BOX_SIDES] = { "left", "top", "right", "bottom" };

static bool read_side(const Value *box, int k, int32_t *out, Err *err)
{
    const Value *side = box->kind == V_LIST ? &box->list.items[k] : value_get(box, sides[k]);
    if (!side || side->kind != V_INT)
        return fail(err, EF_INVALID_INPUT, "[%d]: found %s, wanted a whole number of 0 to %d",
                    k, side ? value_kind_name(side->kind) : "nothing", BOX_MOST);
    if (side->i < 0 || side->i > BOX_MOST)
        return fail(err, EF_INVALID_INPUT, "[%d]: found %lld, wanted 0 to %d", k, (long long)side->i,
                    BOX_MOST);
    *out = (int32_t)side->i;
    return true;
}

static bool read_box(const Value *box, int32_t *out, Err *err)
{
    if (box->kind != V_LIST && box->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, ": found %s, wanted [left, top, right, bottom]",
                    value_kind_name(box->kind));
    if (box->kind == V_LIST && box->list.n != BOX_SIDES)
        return fail(err, EF_INVALID_INPUT, ": found %zu numbers, wanted [left, top, right, bottom]",
                    box->list.n);
    for (int k = 0; k < BOX_SIDES; k++)
        if (!read_side(box, k, &out[k], err)) return false;
    return true;
}

bool item_read_boxes(Arena *arena, const Value *v, Item *out, Err *err)
{
    if (v->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a list of boxes", value_kind_name(v->kind));
    if (v->list.n != out->n)
        return fail(err, EF_INVALID_INPUT, "found %zu, wanted %zu: one for each word", v->list.n, out->n);
    int32_t *boxes = ARRAY(arena, int32_t, out->n * BOX_SIDES);
    out->boxes = boxes;
    for (size_t i = 0; i < out->n; i++)
        if (!read_box(&v->list.items[i], boxes + i * BOX_SIDES, err)) return of_box(i, err);
    return item_check_boxes(out, err);
}

/* ---- rows ---- */
static const int32_t *box_of(const InputModel *m, const Item *item, const Encoding *e, size_t token)
{
    static const int32_t of_question[BOX_SIDES];
    if (e->special[token]) return token == 0 ? m->special.front : m->special.behind;
    bool asked = item_second(item) && e->sequence[token] == 0;
    return asked ? of_question : item->boxes + (size_t)e->word[token] * BOX_SIDES;
}

void item_place_tokens(const Item *item, Encoding *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->special[i] || (item_second(item) && e->sequence[i] == 0)) continue;
        int32_t at = (int32_t)(item->list[e->word[i]].p - item->first.p);
        e->start[i] += at;
        e->end[i] += at;
    }
}

static void add_boxes(const PrepareCall *call, const Item *item, Prepared *row)
{
    Encoding *e = &row->encoding;
    int32_t *boxes = ARRAY(call->arena, int32_t, e->n * BOX_SIDES);
    for (size_t i = 0; i < e->n; i++)
        memcpy(boxes + i * BOX_SIDES, box_of(call->model, item, e, i), BOX_SIDES * sizeof *boxes);
    row->boxes = boxes;
    item_place_tokens(item, e);
}

static bool encode_page(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    Words words = { item->list, item->n };
    EncodeOptions how = prepare_how(call);
    WindowOptions cut = windows_options(call);
    Windows windows;
    out->n = 1;
    if (!windows_wanted(call)) return prepare_words(call, words, &how, &out->row->encoding, err);
    if (!windows_of_words(call->model->tokenizer, call->arena, words, &cut, &windows, err))
        return within(err, "Error during tokenization");
    windows_to_rows(call, &windows, false, out);
    return true;
}

static bool encode_question(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    const InputOptions *o = call->options;
    const InputModel *m = call->model;
    Windows windows;
    Words question = { NULL, 0 };
    QuestionOptions how = { .max_seq_len = o->window, .doc_stride = o->windows ? o->stride : -1,
                            .limit = m->encode.max_length, .most = WINDOWS_MOST, .page = true,
                            .truncate_left = m->encode.truncate_left, .work = call->work };
    question.items = split_words(call->arena, item->second, &question.n);
    if (!windows_of_page(m->tokenizer, call->arena, question, (Words){ item->list, item->n }, &how, &windows, err))
        return false;
    windows_to_rows(call, &windows, false, out);
    return true;
}

/* The picture is prepared first: encoding resets the scratch that it is decoded in. */
static bool prepare_page(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err,
                         bool (*encode)(const PrepareCall *, const Item *, PreparedRows *, Err *))
{
    Prepared seen = { 0 };
    if (!item->boxes)
        return fail(err, EF_INVALID_INPUT, item->picture.n ? "found an image without its words, wanted words and boxes "
                    "beside it" : "found a text, wanted words with boxes: the model reads places on a page");
    if (call->model->image && !prepare_pixels(call, item->picture, &seen, err)) return within(err, "image");
    if (!encode(call, item, out, err)) return false;
    for (size_t i = 0; i < out->n; i++) {
        Prepared *row = &out->row[i];
        add_boxes(call, item, row);
        row->feature = seen.feature, row->features = seen.features;
        row->width = seen.width, row->height = seen.height;
    }
    return true;
}

static bool prepare_box_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    return prepare_page(call, item, out, err, encode_page);
}

static bool prepare_page_question_rows(const PrepareCall *call, const Item *item, PreparedRows *out, Err *err)
{
    return prepare_page(call, item, out, err, encode_question);
}

const Preparer prepare_boxes = { "boxes", prepare_box_rows };
const Preparer prepare_page_questions = { "page questions", prepare_page_question_rows };
