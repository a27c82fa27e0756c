/* SPDX-License-Identifier: Apache-2.0
 * heap.h - the one door to the heap for foreign code that brings its own allocator interface (Lua).
 * Everything of ours lives in arenas. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H
#include "base.h"

/* As realloc, and free for size 0. NULL: no memory (the old block stays), or freed. */
void *heap_resize(void *, size_t size);

#endif
