/* SPDX-License-Identifier: Apache-2.0
 * arena.c - blocks that double up to a limit; one free for everything. The only malloc besides buf.c. */
#include <stdlib.h>

#include "budget.h"
#include "guard.h"

struct ArenaBlock {
    ArenaBlock *older;
    size_t used, size;
    _Alignas(64) char bytes[];
};

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

/* NULL: none; *limit: the budget's word. */
static ArenaBlock *block_of(Arena *arena, size_t size, bool *limit)
{
    if (size > SIZE_MAX - sizeof(ArenaBlock) - 64) return NULL;
    if (arena->budget && !budget_draw(arena->budget, size)) return *limit = true, NULL;
    ArenaBlock *block = aligned_alloc(64, ROUND_UP(sizeof *block + size, 64));
    if (!block && arena->budget) budget_return(arena->budget, size);
    if (!block) return NULL;
    if (size > LARGEST_STEP) memory_large(block, size);
    if (arena->local && !arena->head) guard_enter(arena);
    *block = (ArenaBlock){ .older = arena->head, .size = size };
    arena->head = block;
    arena->total += size;
    return block;
}

/* A block with room for more; a block of exactly this size if memory does not suffice for that. */
static ArenaBlock *block_new(Arena *arena, size_t at_least, bool *limit)
{
    size_t step = arena->step ? arena->step : LARGEST_STEP;
    size_t size = arena->head ? MIN(arena->head->size * 2, step) : FIRST_BLOCK;
    at_least = MAX(at_least, (size_t)1); /* a block of no bytes would be kept by arena_reset(a, 0) */
    ArenaBlock *block = size > at_least ? block_of(arena, size, limit) : NULL;
    return block ? block : block_of(arena, at_least, limit);
}

static void *arena_take(Arena *arena, size_t size, size_t align, bool *limit)
{
    ArenaBlock *block = arena->head;
    size_t at = block ? ROUND_UP(block->used, align) : 0;
    if (!block || at > block->size || block->size - at < size) {
        block = block_new(arena, size, limit);
        at = 0;
    }
    if (!block) return NULL;
    block->used = at + size;
    return block->bytes + at;
}

static void *take_or_leave(Arena *arena, size_t size, size_t align)
{
    bool limit = false;
    void *p = arena_take(arena, size, align, &limit);
    if (!p) memory_missing(size, arena->budget, limit);
    return p;
}

void *arena_raw(Arena *arena, size_t size)
{
    return take_or_leave(arena, size, 64);
}

void *arena_alloc(Arena *arena, size_t size)
{
    return memset(take_or_leave(arena, size, 16), 0, size);
}

void *arena_try(Arena *arena, size_t count, size_t size, size_t limit, Err *err)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > limit) {
        fail(err, EF_TOO_LARGE, "%zu items of %zu bytes are over the limit of %zu bytes", count,
             size, limit);
        return NULL;
    }
    bool limit_of_all = false;
    void *p = arena_take(arena, bytes, 64, &limit_of_all);
    if (!p && is_guarded()) memory_missing(bytes, arena->budget, limit_of_all);
    if (!p) fail(err, EF_IO, "out of memory: %zu bytes wanted", bytes);
    return p;
}

static void block_free(Arena *arena, ArenaBlock *block)
{
    if (arena->budget) budget_return(arena->budget, block->size);
    arena->total -= block->size;
    free(block);
}

void arena_reset(Arena *arena, size_t keep)
{
    ArenaBlock *kept = NULL; /* the largest: it serves most of what will be asked for */
    for (ArenaBlock *block = arena->head; block; block = block->older)
        if (block->size <= keep && (!kept || block->size > kept->size)) kept = block;
    while (arena->head) {
        ArenaBlock *block = arena->head;
        arena->head = block->older;
        if (block != kept) block_free(arena, block);
    }
    arena->head = kept;
    if (kept) kept->older = NULL, kept->used = 0;
    else guard_leave(arena);
}

void arena_keep_first(Arena *arena)
{
    for (ArenaBlock *block; (block = arena->head) && block->older;) {
        arena->head = block->older;
        block_free(arena, block);
    }
}

void arena_free(Arena *arena)
{
    arena_reset(arena, 0);
}
