/* SPDX-License-Identifier: Apache-2.0
 * items.h - how an item is written: in a JSON body, a line of JSON, a table. A form is rows, from
 * which reader, JSON Schema, protobuf and the columns of a table are made; a task's row names its form.
 *
 * To add a form: its rows and where each value goes. To add a kind of value: a part, and a line in
 * the two lists of items.c. */
#ifndef INPUT_ITEMS_H
#define INPUT_ITEMS_H
#include "input/input.h"

/* Which part of Item a key's value is. */
typedef enum { ITEM_FIRST, ITEM_SECOND, ITEM_LIST, ITEM_BOXES, ITEM_PICTURE, ITEM_WORD_BOXES, ITEM_SOUND,
               ITEM_NUMBERS, ITEM_RATE } ItemPart;
enum { ITEM_KEYS = 6 };
typedef struct ItemForm {
    const Field *keys;           /* of an item that is an object; in protobuf those of its message */
    ItemPart part[ITEM_KEYS];    /* which part of the item each key's value is */
    bool alone;                  /* the first key's value by itself is an item */
    bool listed;                 /* a list of the values of all keys is one */
    bool object;                 /* in a body an object is one; in records it always is */
    bool blank;                  /* its list may be empty: a page without words */
    bool empty;                  /* its texts may be */
    bool either;                 /* an object has one of the keys */
    const char *one, *all;       /* for messages: what an item is; what `inputs` is */
} ItemForm;
extern const ItemForm item_texts;     /* texts and [first, second] pairs */
extern const ItemForm item_any_texts; /* the same, empty ones too; an empty second one is none: as the pipelines */
extern const ItemForm item_questions; /* questions with contexts */
extern const ItemForm item_choices;   /* {prompt, choices} */
/* Pages: words with boxes, or a picture that they are read from; of models that see the page, its picture
 * in any case. */
extern const ItemForm item_words;     /* {words, boxes, image}: for models whose graph reads boxes */
extern const ItemForm item_seen_words; /* and pixels */
extern const ItemForm item_page_questions; /* the same with a question, */
extern const ItemForm item_seen_page_questions; /*   for models that see the page */
extern const ItemForm item_pictures;  /* pictures, as {image} or alone */
extern const ItemForm item_texts_or_pictures; /* {text} or {image}; a text or a data URI alone */
extern const ItemForm item_sounds;    /* sounds, as {audio}, {array, sampling_rate} or alone */
extern const Field item_question_keys[], item_choice_keys[], item_word_keys[], item_picture_keys[],
    item_page_question_keys[], item_box_keys[], item_sound_keys[];
bool item_form_has(const ItemForm *, ItemPart);
bool item_form_needs(const ItemForm *, ItemPart); /* every item has it */
bool item_form_is_object(const ItemForm *, const Value *); /* it has a key of such an item */

#define ITEM_EMPTY "Cannot tokenize empty string" /* the Rust encoderfile's words */

typedef struct Items {
    Item *item;                  /* [n] */
    size_t n;
} Items;
/* A body's `inputs` (NULL: absent, an error): one item or a list. An error too: more than `limit`
 * items, or more than `limit` choices in all items together. Messages begin with the JSON path. */
bool items_read(Arena *, const ItemForm *, const Value *inputs, size_t limit, Items *, Err *);
/* The same where the body calls them otherwise. */
bool items_read_called(Arena *, const ItemForm *, const char *name, const Value *, size_t limit, Items *, Err *);
/* The same checks for items that did not come as JSON; also that no part is missing and that all
 * texts are UTF-8. */
bool items_check(const ItemForm *, const Items *, size_t limit, Err *);
/* How many of n texts make one item: for a form with a list all of them, for a page one. */
size_t items_each(const ItemForm *, size_t n);
/* Items from a flat list of texts. By the form, each text is an item; or two are (question, context,
 * question, context ...); or all are one (prompt, choice, choice ...). */
bool items_of_texts(Arena *, const ItemForm *, const Str *texts, size_t n, Items *, Err *);
/* An item for each text, to try a model with. The context or the choices of an item are the texts that
 * follow it; the words of a page are placed in one line. */
Item *items_of_samples(Arena *, const ItemForm *, const Str *texts, size_t n);
Value items_describe(Arena *, const ItemForm *, size_t limit); /* the JSON Schema; limit 0: not said */
bool item_check(const ItemForm *, const Item *, Err *); /* no part is missing or empty */
/* An object: the values of its keys. Messages begin with the key. */
bool item_read_object(Arena *, const ItemForm *, const Value *, Item *, Err *);
/* pictures.c: bytes as they are, or text as picture_from_text takes it. */
bool item_read_picture(Arena *, const Value *, Str *bytes, Err *);
Str item_sample_picture(Arena *, size_t number); /* a small BMP, to try a model with */
/* sounds.c: bytes as they are, or text as sound_from_text takes it; samples, [samples] or [channels, samples]; */
bool item_read_sound(Arena *, const Value *, Str *bytes, Err *);
bool item_read_numbers(Arena *, const Value *, Item *, Err *);
bool item_read_rate(Arena *, const Value *, Item *, Err *);
bool item_check_sound(const Item *, Err *);    /* it is a file, or samples with their rate */
/* The sound at this rate; its samples live in the call's work arena. */
struct Sound;
bool item_open_sound(const PrepareCall *, const Item *, int rate, struct Sound *, Err *);
Str item_sample_sound(Arena *, size_t number); /* half a second of a tone, to try a model with */
/* Of forms whose items are files: a path stands for an item on a command line and in tables. */
typedef struct ItemFile {
    const char *noun, *key;      /* "picture", "image" */
    bool (*read)(Arena *, const Value *, Str *bytes, Err *);
    size_t at;                   /* of the Str in Item */
} ItemFile;
const ItemFile *item_form_file(const ItemForm *); /* NULL: they are none */
bool item_open_file(Arena *, const ItemForm *, Str path, Item *, Err *); /* or a data URI, or file:///... */

#endif
