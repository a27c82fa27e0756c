/* SPDX-License-Identifier: Apache-2.0
 * item_columns.h - an item out of a row of a table, or out of an object of JSON that stands for one: which columns
 * it is made of, what they may hold, and which part of the item each of them becomes.
 *
 * Pictures and sounds: a path stands for the file, under the name "path"; or "image" or "audio" has its bytes, base64
 * or a data URI. */
#ifndef INPUT_ITEM_COLUMNS_H
#define INPUT_ITEM_COLUMNS_H
#include "data/arrow.h"
#include "input/items.h"

typedef struct ItemNames {   /* what a row's columns, or an object's keys, are called; zero but the form: the default */
    const ItemForm *form;
    const char *field;       /* of the text, or of a file's path; NULL: "text", "path" */
    const char *second;      /* of the second text of a pair; NULL: "text_pair", which need not be there */
    Str question;            /* p: of it, texts that come alone are contexts */
} ItemNames;

/* Whether such items can be called otherwise; flags: how the options are written, "--field". */
bool item_names_fit(const ItemNames *, const char *field_flag, const char *second_flag, Err *);
bool item_names_texts(const ItemNames *);  /* texts and pairs of them */
bool item_names_files(const ItemNames *);  /* pictures or sounds */
bool item_names_pages(const ItemNames *);
const char *item_names_path(const ItemNames *);
const char *item_names_text(const ItemNames *);
bool item_names_path_for(const ItemNames *, const Field *key); /* for this key of a page, too, a path may stand */

/* An object, a text, a pair of them, or a path. It is not checked yet (item_check). */
bool item_of_value(const ItemNames *, Arena *, const Value *, Item *, Err *);
void item_of_text(const ItemNames *, Str text, Item *);

/* ---- tables ---- */
/* Fails, and says that there is no such column. */
typedef enum { ITEM_LACKS_DEFAULT, ITEM_LACKS_FIELD, ITEM_LACKS_SECOND, ITEM_LACKS_KEY } ItemLack;
typedef bool ItemLacks(void *context, const char *name, ItemLack, Err *);
typedef struct ItemColumns { /* of a table, those that an item is made of */
    const ItemNames *names;
    const ArrowFields *all;
    int *used, n;
    int alone;               /* the only one of them, with the text; -1: there are more */
} ItemColumns;
/* The names must outlive what is chosen. */
bool item_columns_choose(Arena *, const ItemNames *, const ArrowFields *, ItemLacks *, void *context, ItemColumns *,
                         Err *);
/* The item of a row. own: what it has is copied; else it views the columns. It is not checked yet (item_check). */
bool item_of_row(Arena *, const ItemColumns *, const ArrowColumn *, int64_t row, bool own, Item *, Err *);
Value item_cell(Arena *, const ArrowColumn *, int64_t row, bool own); /* a text that is no UTF-8 is bytes */
int item_column_find(const ArrowFields *, Str name); /* -1: there is none */
bool item_column_single(const ArrowFields *, int column, Err *); /* no other one has its name */
bool item_column_readable(const ArrowFields *, int column, const char *what, Err *); /* else it is "not read" */

#endif
