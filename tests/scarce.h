/* SPDX-License-Identifier: Apache-2.0
 * scarce.h - memory that runs out at a chosen moment. Tests named *_memory are linked so that what
 * base asks the C library for comes here first (Makefile: --wrap). The nth request fails, or all from
 * the nth on; whoever tries n = 1, 2, ... until none was refused has tried every place there is. */
#ifndef SCARCE_H
#define SCARCE_H
#include <stdbool.h>
#include <stddef.h>

void *__real_aligned_alloc(size_t align, size_t size);
void *__real_realloc(void *, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_realloc(void *, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static _Thread_local bool scarce_spares; /* this thread always gets what it asks for */
static int scarce_asked, scarce_from;    /* atomic; from 0: there is enough */
static bool scarce_lasts;                /* atomic */

static bool scarce_refuses(void)
{
    int from = __atomic_load_n(&scarce_from, __ATOMIC_ACQUIRE);
    if (!from || scarce_spares) return false;
    int n = __atomic_add_fetch(&scarce_asked, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&scarce_lasts, __ATOMIC_RELAXED) ? n >= from : n == from;
}

/* From now on, until scarce_end. */
static inline void scarce_begin(int from, bool lasts)
{
    __atomic_store_n(&scarce_lasts, lasts, __ATOMIC_RELAXED);
    __atomic_store_n(&scarce_asked, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&scarce_from, from, __ATOMIC_RELEASE);
}

/* Whether something was refused. */
static inline bool scarce_end(void)
{
    int from = __atomic_exchange_n(&scarce_from, 0, __ATOMIC_ACQ_REL);
    return __atomic_load_n(&scarce_asked, __ATOMIC_RELAXED) >= from;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return scarce_refuses() ? NULL : __real_aligned_alloc(align, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return scarce_refuses() ? NULL : __real_realloc(p, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return scarce_refuses() ? NULL : __real_calloc(n, size);
}

#endif
