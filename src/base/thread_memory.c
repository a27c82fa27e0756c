/* SPDX-License-Identifier: Apache-2.0
 * thread_memory.c - memory of a thread that is asked for when it is needed. A large _Thread_local
 * array would be cleared for every thread that starts, whether it is ever used or not. */
#include <pthread.h>
#include <stdlib.h>

#include "budget.h"
#include "thread.h"

enum { LINE = 64 }; /* results are aligned to a cache line */

typedef struct ThreadBlock {
    struct ThreadBlock *next; /* older ones of the same thread */
} ThreadBlock;

static pthread_key_t newest;
static bool made_key;

static void free_blocks(void *first)
{
    for (ThreadBlock *b = first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

static void make_key(void)
{
    made_key = pthread_key_create(&newest, free_blocks) == 0;
}

void *thread_memory(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    ThreadBlock *b = calloc(1, sizeof *b + LINE + bytes); /* its pages stay untouched until used */
    if (b && made_key) b->next = pthread_getspecific(newest);
    if (!b || !made_key || pthread_setspecific(newest, b) != 0) {
        free(b);
        memory_missing(bytes, NULL, false);
    }
    return (void *)ROUND_UP((uintptr_t)(b + 1), LINE);
}
