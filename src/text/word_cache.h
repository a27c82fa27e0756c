/* SPDX-License-Identifier: Apache-2.0
 * word_cache.h - tokens of words that this thread has met before. Nothing is shared, nothing is
 * locked; the table is made once, by the first word of a thread. */
#ifndef TEXT_WORD_CACHE_H
#define TEXT_WORD_CACHE_H
#include "pieces.h"

enum { CACHED_BYTES = 64, CACHED_PARTS = 10 }; /* of a word; longer ones are not kept */

uint32_t word_cache_model(void); /* a name for a model, never given again */
/* True: its tokens were added. Otherwise *place is where word_cache_keep would put them. */
bool word_cache_find(uint32_t model, Str word, uint64_t *place, Tokens *out);
/* Keeps tokens first .. of `out` for that word, if they are its parts, one after the other. */
void word_cache_keep(uint32_t model, Str word, uint64_t place, const Tokens *out, size_t first);

#endif
