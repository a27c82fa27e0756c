/* SPDX-License-Identifier: Apache-2.0
 * items.h - how an item is written: in a JSON body, a line of JSON, a table. A form is rows, so that
 * reader, JSON Schema, protobuf and the columns of a table say the same; a task's row names its form.
 *
 * To add a form: its rows and where each value goes. To add a kind of value: a part, and a line in
 * the two lists of items.c. */
#ifndef INPUT_ITEMS_H
#define INPUT_ITEMS_H
#include "input/input.h"

typedef enum { ITEM_FIRST, ITEM_SECOND, ITEM_LIST, ITEM_BOXES } ItemPart; /* of Item: what a key's value is */
enum { ITEM_KEYS = 4 };
typedef struct ItemForm {
    const Field *keys;           /* of an item that is an object; in protobuf those of its message */
    ItemPart part[ITEM_KEYS];    /* what each of them is */
    bool alone;                  /* the first key's value by itself is an item */
    bool listed;                 /* a list of the values of all keys is one */
    bool object;                 /* in a body an object is one; in records it always is */
    const char *one, *all;       /* for messages: an item; a body's `inputs` */
} ItemForm;
extern const ItemForm item_texts;     /* texts and [first, second] pairs */
extern const ItemForm item_questions; /* questions with contexts */
extern const ItemForm item_choices;   /* {prompt, choices} */
extern const ItemForm item_words;     /* {words, boxes} of a page: for models whose graph reads boxes */
extern const Field item_question_keys[], item_choice_keys[], item_word_keys[];

#define ITEM_EMPTY "Cannot tokenize empty string" /* the Rust encoderfile's words */

typedef struct Items {
    Item *item;                  /* [n] */
    size_t n;
} Items;
/* A body's `inputs` (NULL: absent, which is an error like others): one item or a list of them, at
 * most `limit`, and at most so many choices in all. Messages begin with the JSON path. */
bool items_read(Arena *, const ItemForm *, const Value *inputs, size_t limit, Items *, Err *);
/* The same of items that did not come as JSON: also that none lacks a part, and UTF-8. */
bool items_check(const ItemForm *, const Items *, size_t limit, Err *);
/* Texts that an item needs, of n that there are: of a form with a list all of them, for a page one. */
size_t items_each(const ItemForm *, size_t n);
/* Texts in a row, as many an item as the form needs: each is one, or question, context, question ... Of a
 * form with a list all are one item: prompt, choice, choice ... */
bool items_of_texts(Arena *, const ItemForm *, const Str *texts, size_t n, Items *, Err *);
/* Texts to try a model with: an item for each. What else it needs is made of the texts: the next ones are
 * its choices or its context, and the words of a page stand in a line. */
Item *items_of_samples(Arena *, const ItemForm *, const Str *texts, size_t n);
Value items_describe(Arena *, const ItemForm *, size_t limit); /* the JSON Schema; limit 0: not said */
bool item_check(const ItemForm *, const Item *, Err *); /* lacks no part, and none is empty */
/* An object: the values of its keys. Messages begin with the key. */
bool item_read_object(Arena *, const ItemForm *, const Value *, Item *, Err *);

#endif
