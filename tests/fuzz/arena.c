/* SPDX-License-Identifier: Apache-2.0
 * arena.c - stands in for base/arena.c under the fuzzer: every allocation is a block of its own, to
 * the byte, so that the address sanitizer sees what runs over its end or outlives its arena. No
 * budget is drawn on. */
#include <stdlib.h>

#include "base/base.h"

struct ArenaBlock {
    ArenaBlock *older;
    void *bytes;
    size_t size;
};

static void *take(Arena *arena, size_t size)
{
    ArenaBlock *block = malloc(sizeof *block);
    if (!block) return NULL;
    *block = (ArenaBlock){ .older = arena->head, .size = size };
    if (posix_memalign(&block->bytes, 64, MAX(size, (size_t)1)) != 0) {
        free(block);
        return NULL;
    }
    arena->head = block;
    arena->total += size;
    return block->bytes;
}

static void *or_die(void *p)
{
    if (!p) abort();
    return p;
}

void *arena_raw(Arena *arena, size_t size)
{
    return or_die(take(arena, size));
}

void *arena_alloc(Arena *arena, size_t size)
{
    return memset(or_die(take(arena, size)), 0, size);
}

void *arena_try(Arena *arena, size_t count, size_t size, size_t limit, Err *err)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > limit) {
        fail(err, EF_TOO_LARGE, "%zu items of %zu bytes are over the limit of %zu bytes", count,
             size, limit);
        return NULL;
    }
    void *p = take(arena, bytes);
    if (!p) fail(err, EF_IO, "out of memory: %zu bytes wanted", bytes);
    return p;
}

void arena_reset(Arena *arena, size_t keep)
{
    (void)keep;
    arena_free(arena);
}

static void drop_newest(Arena *arena)
{
    ArenaBlock *block = arena->head;
    arena->head = block->older;
    arena->total -= block->size;
    free(block->bytes);
    free(block);
}

void arena_keep_first(Arena *arena)
{
    while (arena->head && arena->head->older) drop_newest(arena);
}

void arena_free(Arena *arena)
{
    while (arena->head) drop_newest(arena);
}
