/* SPDX-License-Identifier: Apache-2.0
 * heap.h - the only access to the heap for what does not fit an arena: foreign code with its own
 * allocator interface (Lua), and single objects that come and go (connections). */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H
#include "base.h"

/* As realloc, and free for size 0. NULL: no memory (the old block stays), or freed. */
void *heap_resize(void *, size_t size);
/* For servers: large blocks are returned to the system when freed. Otherwise each thread would
 * keep memory of its largest request. */
void heap_keep_little(void);
/* For one long run of equal work: freed blocks below 2 MiB are kept for the next ones, so that their pages are not
 * mapped and cleared again. */
void heap_keep_much(void);
void heap_trim(void); /* returns free memory to the system; slow */

#endif
