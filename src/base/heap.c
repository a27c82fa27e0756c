/* SPDX-License-Identifier: Apache-2.0
 * heap.c - realloc under a name of our own, so that nothing else needs stdlib's. */
#include "heap.h"

#include <malloc.h>
#include <stdlib.h>

void *heap_resize(void *p, size_t size)
{
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

void heap_keep_little(void)
{
    enum { LARGE = 256 << 10 };
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 4 * LARGE);
}

void heap_keep_much(void)
{
    enum { LARGE = 2 << 20 }; /* from here on blocks are mapped, and grow without a copy */
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 32 * LARGE);
}

void heap_trim(void)
{
    malloc_trim(0);
}
