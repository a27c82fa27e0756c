/* SPDX-License-Identifier: Apache-2.0
 * request.c - the body of a request: `inputs` in the form of the task's items, the rest by the rows of
 * its schema. The first row is `inputs` as protobuf has it, where less is allowed than in JSON. */
#include "parts.h"

/* In protobuf words with boxes have a field of their own (`pages`), and `inputs` is for texts. A body that
 * is itself a page needs no `inputs`. */
static const Value *find_inputs(const Value *request, const ItemForm *items)
{
    bool page = item_form_has(items, ITEM_BOXES);
    const Value *pages = page ? value_get(request, "pages") : NULL;
    const Value *inputs = pages ? pages : value_get(request, "inputs");
    return !inputs && page && item_form_is_object(items, request) ? request : inputs;
}

bool task_inputs(Arena *arena, const Task *task, const ItemForm *items, const Value *request,
                 size_t limit, Items *out, Err *err)
{
    static const Field none[] = { { 0 } };
    assert(str_is(str_of(task->request[0].name), "inputs"));
    return schema_check(request, none, err) /* is it an object? */
           && items_read(arena, items, find_inputs(request, items), limit, out, err)
           && schema_check(request, task->request + 1, err);
}

/* ---- for OpenAPI ---- */
static void narrow(Value *properties, const char *name, const char *key, int64_t value)
{
    const Value *property = value_get(properties, name);
    Value *field = property ? (Value *)value_get(property, key) : NULL;
    if (field && value) *field = value_of_int(value);
}

static void drop_member(Value *map, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < map->map.n; i++)
        if (!str_is(map->map.items[i].key, key)) map->map.items[n++] = map->map.items[i];
    map->map.n = n;
}

Value task_request_describe(Arena *arena, const Task *task, const ItemForm *items, TaskLimits limits)
{
    Value schema = schema_describe(arena, task->request);
    Value *properties = (Value *)value_get(&schema, "properties");
    assert(properties && properties->map.n > 0);
    Value inputs = items_describe(arena, items, limits.inputs);
    value_add(&inputs, "description", value_of_text(task->request[0].help));
    properties->map.items[0].value = inputs;
    drop_member(properties, "pages");
    narrow(properties, "dimensions", "maximum", limits.width);
    return schema;
}
