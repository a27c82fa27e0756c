/* SPDX-License-Identifier: Apache-2.0
 * value.c - reading a tree without a check at every step (a missing key is NULL, and NULL has no
 * keys), and building one for a reply. */
#include "value.h"

const Value *value_get(const Value *map, const char *key)
{
    if (!map || map->kind != V_MAP) return NULL;
    Str wanted = str_of(key);
    for (size_t i = map->map.n; i-- > 0;) /* the last of equal keys */
        if (str_eq(map->map.items[i].key, wanted)) return &map->map.items[i].value;
    return NULL;
}

Str value_str(const Value *v, Str otherwise)
{
    return v && v->kind == V_STR ? v->s : otherwise;
}

int64_t value_int(const Value *v, int64_t otherwise)
{
    return v && v->kind == V_INT ? v->i : otherwise;
}

double value_float(const Value *v, double otherwise)
{
    if (v && v->kind == V_INT) return (double)v->i;
    return v && v->kind == V_FLOAT ? v->f : otherwise;
}

bool value_bool(const Value *v, bool otherwise)
{
    return v && v->kind == V_BOOL ? v->b : otherwise;
}

const char *value_kind_name(ValueKind kind)
{
    static const char *const names[] = {
        [V_NULL] = "null",    [V_BOOL] = "a boolean", [V_INT] = "a number",  [V_FLOAT] = "a number",
        [V_STR] = "a string", [V_LIST] = "a list",    [V_MAP] = "an object", [V_F32] = "a list",
        [V_BYTES] = "bytes",  [V_UINT] = "a number",
    };
    assert((size_t)kind < COUNT(names));
    return names[kind];
}

Value value_list(Arena *arena, size_t n)
{
    return (Value){ .kind = V_LIST, .list = { n ? ARRAY(arena, Value, n) : NULL, n } };
}

/* The room of a map stands in front of its members, so that value_add can check it. */
typedef struct Room {
    size_t left;
    _Alignas(16) Member items[];
} Room;

Value value_map(Arena *arena, size_t room)
{
    Room *r = arena_alloc(arena, sizeof *r + room * sizeof(Member));
    r->left = room;
    return (Value){ .kind = V_MAP, .map = { r->items, 0 } };
}

void value_add(Value *map, const char *key, Value value)
{
    assert(map->kind == V_MAP);
    Room *r = (Room *)((char *)map->map.items - offsetof(Room, items));
    assert(r->left > 0);
    r->left--;
    map->map.items[map->map.n++] = (Member){ str_of(key), value };
}
