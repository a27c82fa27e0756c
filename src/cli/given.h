/* SPDX-License-Identifier: Apache-2.0
 * given.h - the inputs of a command that runs a model: words of the line, files, what a pipe brings. */
#ifndef CLI_GIVEN_H
#define CLI_GIVEN_H
#include "cli/cli.h"
#include "cli/records.h"

#define OPTIONS_GIVEN                                                                                 \
    { "input", 'i', "FILE", "read texts from there (-: stdin), beside those of the line" },           \
    { "input-format", 0, "FORM", "of the input (default: by the name)", TAKES_WORD,                   \
      .words = records_forms },                                                                       \
    OPTION_FIELD

typedef struct GivenItems {
    Args *a;
    const ItemForm *form;        /* of the model's items */
    Arena *arena;
    Item *item;
    size_t n, room;
} GivenItems;
/* Those of the line, then those of --context-file and --input; none given: those that a pipe brings. No item at
 * all is an error. */
bool given_items(GivenItems *, Err *);
/* The program that reads the words of pages, if it is installed; NULL: it is not, or the model reads none. */
const char *given_ocr(Args *, const Model *);

#endif
