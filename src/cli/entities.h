/* SPDX-License-Identifier: Apache-2.0
 * entities.h - a token classification reply as a list for people. */
#ifndef CLI_ENTITIES_H
#define CLI_ENTITIES_H
#include "data/value.h"
#include "input/input.h"

/* The lines of one text: its words with a label other than O, `  - B-SRC: "Bangalore"`. */
void entities_of(Buf *, Str text, const Value *result);
/* For each text its words with a label other than O: `  - B-SRC: "Bangalore"`. Offsets must be
 * bytes. */
void entities_write(Buf *, const Value *reply, const Item *texts, size_t n);

#endif
