/* SPDX-License-Identifier: Apache-2.0
 * arena.c - blocks that double up to a limit; one free for everything. The only malloc besides buf.c. */
#include <stdlib.h>

#include "base.h"

struct ArenaBlock {
    ArenaBlock *older;
    size_t used, size;
    _Alignas(64) char bytes[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

static ArenaBlock *block_new(Arena *arena, size_t at_least)
{
    size_t step = arena->step ? arena->step : LARGEST_STEP;
    size_t size = arena->head ? MIN(arena->head->size * 2, step) : FIRST_BLOCK;
    size = MAX(size, at_least);
    if (size > SIZE_MAX - sizeof(ArenaBlock) - 64) return NULL;
    ArenaBlock *block = aligned_alloc(64, ROUND_UP(sizeof *block + size, 64));
    if (!block) return NULL;
    if (size > LARGEST_STEP) memory_large(block, size);
    *block = (ArenaBlock){ .older = arena->head, .size = size };
    arena->head = block;
    arena->total += size;
    return block;
}

static void *take(Arena *arena, size_t size, size_t align)
{
    ArenaBlock *block = arena->head;
    size_t at = block ? ROUND_UP(block->used, align) : 0;
    if (!block || at > block->size || block->size - at < size) {
        block = block_new(arena, size);
        at = 0;
    }
    if (!block) return NULL;
    block->used = at + size;
    return block->bytes + at;
}

static void *or_die(void *p, size_t size)
{
    if (p) return p;
    fprintf(stderr, "encoderfile: out of memory (%zu bytes)\n", size);
    abort();
}

void *arena_raw(Arena *arena, size_t size)
{
    return or_die(take(arena, size, 64), size);
}

void *arena_alloc(Arena *arena, size_t size)
{
    return memset(or_die(take(arena, size, 16), size), 0, size);
}

void *arena_try(Arena *arena, size_t count, size_t size, size_t limit, Err *err)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > limit) {
        fail(err, EF_TOO_LARGE, "%zu items of %zu bytes are over the limit of %zu bytes", count,
             size, limit);
        return NULL;
    }
    void *p = take(arena, bytes, 64);
    if (!p) fail(err, EF_IO, "out of memory: %zu bytes wanted", bytes);
    return p;
}

void arena_reset(Arena *arena, size_t keep)
{
    ArenaBlock *kept = NULL;
    while (arena->head) {
        ArenaBlock *block = arena->head;
        arena->head = block->older;
        if (!kept && block->size <= keep) {
            kept = block;
        } else {
            free(block);
        }
    }
    arena->head = kept;
    arena->total = kept ? kept->size : 0;
    if (kept) kept->older = NULL, kept->used = 0;
}

void arena_free(Arena *arena)
{
    arena_reset(arena, 0);
}
