/* SPDX-License-Identifier: Apache-2.0
 * tree.h - for parsers: building lists and maps whose length is not known yet. Children wait on one
 * stack for all open containers; closing one copies its own children into the arena. */
#ifndef DATA_TREE_H
#define DATA_TREE_H
#include "value.h"

static inline void tree_push_item(Buf *stack, Value item)
{
    buf_add(stack, &item, sizeof item);
}

static inline void tree_push_member(Buf *stack, Member member)
{
    buf_add(stack, &member, sizeof member);
}

/* Everything above `from` becomes a list (of items) or a map (of members). */
static inline Value tree_close(Arena *arena, Buf *stack, size_t from, ValueKind kind)
{
    size_t bytes = stack->n - from;
    void *items = NULL;
    if (bytes) items = memcpy(arena_alloc(arena, bytes), stack->p + from, bytes);
    stack->n = from;
    if (kind == V_MAP) return (Value){ .kind = V_MAP, .map = { items, bytes / sizeof(Member) } };
    return (Value){ .kind = V_LIST, .list = { items, bytes / sizeof(Value) } };
}

#endif
