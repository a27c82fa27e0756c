/* SPDX-License-Identifier: Apache-2.0
 * map.c - strings to pointers: open addressing, linear probing, at most half full. */
#include "base.h"

typedef struct MapSlot {
    Str key;
    void *value; /* NULL: free */
} MapSlot;

static MapSlot *map_find_slot(const Map *map, Str key)
{
    size_t at = str_hash(key) & (map->cap - 1);
    while (map->slots[at].value && !str_eq(map->slots[at].key, key)) at = (at + 1) & (map->cap - 1);
    return &map->slots[at];
}

void *map_get(const Map *map, Str key)
{
    return map->cap ? map_find_slot(map, key)->value : NULL;
}

static void map_grow(Map *map, Arena *arena)
{
    Map bigger = { .cap = map->cap ? map->cap * 2 : 16 };
    bigger.slots = ARRAY(arena, MapSlot, bigger.cap);
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].value) *map_find_slot(&bigger, map->slots[i].key) = map->slots[i];
    bigger.used = map->used;
    *map = bigger;
}

void map_put(Map *map, Arena *arena, Str key, void *value)
{
    assert(value);
    if (2 * (map->used + 1) > map->cap) map_grow(map, arena);
    MapSlot *slot = map_find_slot(map, key);
    if (!slot->value) map->used++;
    *slot = (MapSlot){ key, value };
}
