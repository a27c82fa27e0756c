/* SPDX-License-Identifier: Apache-2.0
 * page.c - how a page is written: its words and boxes, or its picture; with a question, or without. A
 * model that sees the page needs the picture in any case. */
#include "items.h"

#define PAGE_WORDS(number, box)                                                                   \
    { "words", number, F_STR, .repeated = true,                                                   \
      .help = "as they stand on the page; without them they are read from the image, where the server can" }, \
    { "boxes", (number) + 1, F_MSG, .repeated = true, .msg = item_box_keys, .msg_name = box,      \
      .help = "of each word: left, top, right, bottom, 0 to 1000 of the page's width and height" }
#define PAGE_IMAGE(number, needed)                                                                \
    { "image", number, F_BYTES, .required = needed, .nullable = !(needed),                        \
      .help = "the page: the file's bytes, base64 or a data URI in JSON" }
#define PAGE_WORD_BOXES                                                                           \
    { "word_boxes", 0, F_ANY, .nullable = true, .help = "instead of words and boxes: a list of [word, box]" }
#define PAGE_QUESTION { "question", 1, F_STR, .required = true }

const Field item_word_keys[] = { PAGE_WORDS(1, "Box"), PAGE_IMAGE(3, false), PAGE_WORD_BOXES, { 0 } };
static const Field seen_word_keys[] = { PAGE_WORDS(1, "Box"), PAGE_IMAGE(3, true), PAGE_WORD_BOXES, { 0 } };
const Field item_page_question_keys[] = {
    PAGE_QUESTION, PAGE_WORDS(2, "PageBox"), PAGE_IMAGE(4, false), PAGE_WORD_BOXES, { 0 },
};
static const Field seen_question_keys[] = {
    PAGE_QUESTION, PAGE_WORDS(2, "PageBox"), PAGE_IMAGE(4, true), PAGE_WORD_BOXES, { 0 },
};

const ItemForm item_words = {
    .keys = item_word_keys,
    .part = { ITEM_LIST, ITEM_BOXES, ITEM_PICTURE, ITEM_WORD_BOXES },
    .object = true,
    .one = "an object with words and boxes: the model reads places on a page",
    .all = "an object with words and boxes, or a list of such objects: the model reads places on a page",
};
const ItemForm item_seen_words = {
    .keys = seen_word_keys,
    .part = { ITEM_LIST, ITEM_BOXES, ITEM_PICTURE, ITEM_WORD_BOXES },
    .object = true,
    .one = "an object with image, words and boxes: the model sees the page",
    .all = "an object with image, words and boxes, or a list of such objects: the model sees the page",
};
const ItemForm item_page_questions = {
    .keys = item_page_question_keys,
    .part = { ITEM_SECOND, ITEM_LIST, ITEM_BOXES, ITEM_PICTURE, ITEM_WORD_BOXES },
    .object = true,
    .blank = true,
    .one = "an object with question, words and boxes, or question and image",
    .all = "an object with question, words and boxes, or question and image; or a list of such objects",
};
const ItemForm item_seen_page_questions = {
    .keys = seen_question_keys,
    .part = { ITEM_SECOND, ITEM_LIST, ITEM_BOXES, ITEM_PICTURE, ITEM_WORD_BOXES },
    .object = true,
    .blank = true,
    .one = "an object with question, image, words and boxes: the model sees the page",
    .all = "an object with question, image, words and boxes, or a list of such objects: the model sees the page",
};

/* ---- [[word, box], ...] ---- */
static bool pair_at(const Value *list, size_t i, bool flat, const Value **word, const Value **box, Err *err)
{
    const Value *one = &list->list.items[flat ? 2 * i : i];
    bool paired = one->kind == V_LIST && one->list.n == 2;
    if (!flat && !paired)
        return fail(err, EF_INVALID_INPUT, "[%zu]: found %s, wanted [word, [left, top, right, bottom]]", i,
                    one->kind == V_LIST ? "a list of another length" : value_kind_name(one->kind));
    *word = flat ? one : &one->list.items[0];
    *box = flat ? one + 1 : &one->list.items[1];
    return (*word)->kind == V_STR || fail(err, EF_INVALID_INPUT, "[%zu]: found %s, wanted a word", i,
                                          value_kind_name((*word)->kind));
}

bool item_read_word_boxes(Arena *arena, const Value *v, Item *out, Err *err)
{
    if (v->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "found %s, wanted a list of [word, box]", value_kind_name(v->kind));
    if (out->list) return fail(err, EF_INVALID_INPUT, "found words beside them, wanted one of the two");
    bool flat = v->list.n > 1 && v->list.n % 2 == 0 && v->list.items[0].kind == V_STR;
    size_t n = flat ? v->list.n / 2 : v->list.n;
    Str *words = ARRAY(arena, Str, n);
    Value boxes = value_list(arena, n);
    for (size_t i = 0; i < n; i++) {
        const Value *word = NULL, *box = NULL;
        if (!pair_at(v, i, flat, &word, &box, err)) return false;
        if (word->s.n == 0) return fail(err, EF_INVALID_INPUT, "[%zu]: " ITEM_EMPTY, i);
        words[i] = word->s;
        boxes.list.items[i] = *box;
    }
    out->list = words;
    out->n = n;
    return item_read_boxes(arena, &boxes, out, err);
}
