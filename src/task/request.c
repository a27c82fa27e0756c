/* SPDX-License-Identifier: Apache-2.0
 * request.c - the body of a request: `inputs` in the forms that JSON allows (a text, a list, pairs
 * in it), and the rest by the task's rows. Protobuf knows lists of strings only; that is what the
 * row says. */
#include "parts.h"

#define WANTED_ALL "a string, or a list of strings and [first, second] pairs"
#define WANTED_ONE "a string or a pair of strings"
#define EMPTY "Cannot tokenize empty string" /* the Rust encoderfile's words */

static bool check_limit(size_t n, size_t limit, Err *err)
{
    if (n == 0)
        return fail(err, EF_INVALID_INPUT, "inputs: " EMPTY ": found an empty list, wanted at "
                    "least one text");
    if (n <= limit) return true;
    return fail(err, EF_INVALID_INPUT, "inputs: found %zu, wanted at most %zu", n, limit);
}

static bool check_text(Str text, size_t index, Err *err)
{
    if (text.n == 0) return fail(err, EF_INVALID_INPUT, "inputs[%zu]: " EMPTY, index);
    if (text.n > INT32_MAX)
        return fail(err, EF_TOO_LARGE, "inputs[%zu]: found %zu bytes, wanted at most %d", index,
                    text.n, INT32_MAX);
    return true;
}

static bool read_pair(const Value *list, size_t index, Item *out, Err *err)
{
    const Value *item = list->list.items;
    if (list->list.n != 2)
        return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found a list of %zu, wanted " WANTED_ONE,
                    index, list->list.n);
    for (int i = 0; i < 2; i++)
        if (item[i].kind != V_STR)
            return fail(err, EF_INVALID_INPUT, "inputs[%zu][%d]: found %s, wanted a string", index,
                        i, value_kind_name(item[i].kind));
    out->first = item[0].s;
    out->second = item[1].s;
    return check_text(out->first, index, err) && check_text(out->second, index, err);
}

static bool read_item(const Value *v, size_t index, Item *out, Err *err)
{
    if (v->kind == V_LIST) return read_pair(v, index, out, err);
    if (v->kind != V_STR)
        return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found %s, wanted " WANTED_ONE, index,
                    value_kind_name(v->kind));
    out->first = v->s;
    return check_text(v->s, index, err);
}

bool task_texts(Arena *arena, const Value *v, size_t limit, TaskInputs *out, Err *err)
{
    if (!v || (v->kind != V_STR && v->kind != V_LIST))
        return fail(err, EF_INVALID_INPUT, "inputs: found %s, wanted " WANTED_ALL,
                    v ? value_kind_name(v->kind) : "nothing");
    const Value *items = v->kind == V_STR ? v : v->list.items;
    size_t n = v->kind == V_STR ? 1 : v->list.n;
    if (!check_limit(n, limit, err)) return false;
    *out = (TaskInputs){ ARRAY(arena, Item, n), n };
    for (size_t i = 0; i < n; i++)
        if (!read_item(&items[i], i, &out->item[i], err)) return false;
    return true;
}

bool task_inputs(Arena *arena, const Task *task, const Value *request, size_t limit,
                 TaskInputs *out, Err *err)
{
    static const Field none[] = { { 0 } };
    assert(str_is(str_of(task->request[0].name), "inputs"));
    return schema_check(request, none, err) /* is it an object? */
           && task_texts(arena, value_get(request, "inputs"), limit, out, err)
           && schema_check(request, task->request + 1, err);
}

bool task_inputs_check(const TaskInputs *inputs, size_t limit, Err *err)
{
    if (!check_limit(inputs->n, limit, err)) return false;
    for (size_t i = 0; i < inputs->n; i++) {
        const Item *item = &inputs->item[i];
        bool pair = item_second(item);
        if (!check_text(item->first, i, err)) return false;
        if (pair && !check_text(item->second, i, err)) return false;
        if (!utf8_valid(item->first) || (pair && !utf8_valid(item->second)))
            return fail(err, EF_INVALID_INPUT, "inputs[%zu]: found bytes that are not UTF-8", i);
    }
    return true;
}

/* ---- for OpenAPI ---- */
static Value text(const char *s)
{
    return value_of_str(str_of(s));
}

static Value any_of(Arena *arena, Value one, Value other)
{
    Value choice = value_map(arena, 2), list = value_list(arena, 2);
    list.list.items[0] = one;
    list.list.items[1] = other;
    value_add(&choice, "anyOf", list);
    return choice;
}

static void narrow(Value *properties, const char *name, const char *key, int64_t value)
{
    const Value *property = value_get(properties, name);
    Value *field = property ? (Value *)value_get(property, key) : NULL;
    if (field && value) *field = value_of_int(value);
}

static Value array_of(Arena *arena, Value items, int least, size_t most)
{
    Value array = value_map(arena, 4);
    value_add(&array, "type", text("array"));
    value_add(&array, "items", items);
    value_add(&array, "minItems", value_of_int(least));
    if (most) value_add(&array, "maxItems", value_of_int((int64_t)most));
    return array;
}

Value task_texts_describe(Arena *arena, size_t most)
{
    Value string = value_map(arena, 2);
    value_add(&string, "type", text("string"));
    value_add(&string, "minLength", value_of_int(1));
    Value one = any_of(arena, string, array_of(arena, string, 2, 2));
    return any_of(arena, string, array_of(arena, one, 1, most));
}

Value task_request_describe(Arena *arena, const Task *task, TaskLimits limits)
{
    Value schema = schema_describe(arena, task->request);
    Value *properties = (Value *)value_get(&schema, "properties");
    assert(properties && properties->map.n > 0);
    Value inputs = task_texts_describe(arena, limits.inputs);
    value_add(&inputs, "description", text(task->request[0].help));
    properties->map.items[0].value = inputs;
    narrow(properties, "dimensions", "maximum", limits.width);
    return schema;
}
