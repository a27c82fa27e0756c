/* SPDX-License-Identifier: Apache-2.0
 * request.c - the body of a request: `inputs` in the form of the task's items, and the rest by its
 * rows. Protobuf knows less than JSON allows there; that is what the first row says. */
#include "parts.h"

bool task_inputs(Arena *arena, const Task *task, const Value *request, size_t limit, Items *out,
                 Err *err)
{
    static const Field none[] = { { 0 } };
    assert(str_is(str_of(task->request[0].name), "inputs"));
    return schema_check(request, none, err) /* is it an object? */
           && items_read(arena, task->items, value_get(request, "inputs"), limit, out, err)
           && schema_check(request, task->request + 1, err);
}

/* ---- for OpenAPI ---- */
static void narrow(Value *properties, const char *name, const char *key, int64_t value)
{
    const Value *property = value_get(properties, name);
    Value *field = property ? (Value *)value_get(property, key) : NULL;
    if (field && value) *field = value_of_int(value);
}

Value task_request_describe(Arena *arena, const Task *task, TaskLimits limits)
{
    Value schema = schema_describe(arena, task->request);
    Value *properties = (Value *)value_get(&schema, "properties");
    assert(properties && properties->map.n > 0);
    Value inputs = items_describe(arena, task->items, limits.inputs);
    value_add(&inputs, "description", value_of_text(task->request[0].help));
    properties->map.items[0].value = inputs;
    narrow(properties, "dimensions", "maximum", limits.width);
    return schema;
}
