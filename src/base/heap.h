/* SPDX-License-Identifier: Apache-2.0
 * heap.h - the one door to the heap for what does not fit an arena: foreign code with its own
 * allocator interface (Lua), and single objects that come and go (connections). */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H
#include "base.h"

/* As realloc, and free for size 0. NULL: no memory (the old block stays), or freed. */
void *heap_resize(void *, size_t size);
/* For servers: large blocks go back to the system as soon as they are free. Otherwise each thread
 * would keep some of its largest request. */
void heap_keep_little(void);
void heap_trim(void); /* what is free goes back to the system; takes a while */

#endif
