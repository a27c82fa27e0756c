/* SPDX-License-Identifier: Apache-2.0
 * files.c - bodies that are no JSON: a picture or a sound by itself, or a form with several (curl -F, browsers and
 * clients of the Rust encoderfile). Both become the tree that the same request in JSON would be, with
 * bytes where JSON has base64. */
#include <strings.h>

#include "data/json.h"
#include "data/multipart.h"
#include "parts.h"

enum { MOST_FIELDS = 64, MOST_FIELD_VALUES = 4096 }; /* of a form, beside its files */

static bool type_begins(Str type, const char *begin)
{
    size_t n = strlen(begin);
    return type.n >= n && strncasecmp(type.p, begin, n) == 0;
}

static bool is_form(Str type)
{
    return type_begins(type, "multipart/form-data");
}

/* The Hub's client sends bytes without a type where it does not know one. */
bool files_type(Str type)
{
    return is_form(type) || type_begins(type, "image/") || type_begins(type, "audio/") ||
           type_begins(type, "application/octet-stream") || type.n == 0;
}

/* As the Rust encoderfile: an object of strings is the metadata, any other is none. */
static Value payload_metadata(const Value *payload)
{
    for (size_t i = 0; payload->kind == V_MAP && i < payload->map.n; i++)
        if (payload->map.items[i].value.kind != V_STR) return value_null();
    return payload->kind == V_MAP ? *payload : value_null();
}

/* Whether an option is a list: a field for each of its parts, or one with a list in JSON. */
static bool option_is_list(const Task *task, Str name)
{
    for (const Field *f = task->request + 1; f->name; f++)
        if (str_is(name, f->name)) return f->repeated && f->kind == F_STR;
    return false;
}

static size_t list_room(size_t n)
{
    size_t room = n ? 4 : 0;
    while (room < n) room *= 2;
    return room;
}

/* Room is a power of two, so that thousands of fields do not copy the list as many times. */
static void list_grow(Arena *arena, Value *list, const Value *more)
{
    const Value *parts = more->kind == V_LIST ? more->list.items : more;
    size_t n = list->list.n, added = more->kind == V_LIST ? more->list.n : 1;
    if (list_room(n + added) > list_room(n)) {
        Value larger = value_list(arena, list_room(n + added));
        if (n) memcpy(larger.list.items, list->list.items, n * sizeof *larger.list.items);
        *list = larger;
    }
    if (added) memcpy(list->list.items + n, parts, added * sizeof *parts);
    list->list.n = n + added;
}

/* A field that is no file: `payload`, or an option of the request, as JSON or else as text. */
static bool form_field(Arena *arena, const Task *task, const FormPart *part, Value *request, Err *err)
{
    Value v;
    Err ignored;
    bool payload = str_is(part->name, "payload");
    const char *name = payload ? "metadata" : str_dup(arena, part->name);
    if (!utf8_valid(part->bytes) || !utf8_valid(part->name))
        return fail(err, EF_INVALID_INPUT, "multipart: found a field that is not UTF-8");
    bool is_list = option_is_list(task, part->name);
    bool json = json_parse_most(arena, part->bytes, MOST_FIELD_VALUES, &v, &ignored);
    if (payload && !json) return fail(err, EF_INVALID_INPUT, "invalid json in 'payload' field");
    if (payload) v = payload_metadata(&v);
    else if (!json) v = value_of_str(part->bytes);
    Value *before = (Value *)value_get(request, name);
    if (!before) value_add(request, name, is_list ? value_list(arena, 0) : v);
    if (is_list) list_grow(arena, before ? before : (Value *)value_get(request, name), &v);
    return true;
}

static bool is_file(const FormPart *part)
{
    static const char *const names[] = { "files", "file", "image", "images", "audio", "inputs" };
    bool named = part->file.p;
    for (size_t i = 0; i < COUNT(names); i++) named |= str_is(part->name, names[i]);
    return named;
}

static bool form_request(Session *s, Job *job, Value *request, Err *err)
{
    Arena *arena = &job->work.arena;
    Str boundary;
    FormPart *part;
    size_t n, most = session_options(s)->max_inputs;
    if (!multipart_boundary(job->in.type, &boundary, err) ||
        !multipart_read(arena, job->in.body, boundary, most + MOST_FIELDS, &part, &n, err))
        return false;
    Value files = value_list(arena, n);
    files.list.n = 0;
    *request = value_map(arena, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (is_file(&part[i])) files.list.items[files.list.n++] = value_of_bytes(part[i].bytes);
        else if (!form_field(arena, session_model(s)->task, &part[i], request, err)) return false;
    }
    value_add(request, "inputs", files);
    return true;
}

/* A page with what else the form says about it: its question, its words and boxes. */
static Value page_of_file(Arena *arena, const ItemForm *form, const Value *request, Value file)
{
    Value page = value_map(arena, ITEM_KEYS + 1);
    value_add(&page, "image", file);
    for (const Field *key = form->keys; key->name; key++) {
        const Value *said = value_get(request, key->name);
        if (said && !value_get(&page, key->name)) value_add(&page, key->name, *said);
    }
    return page;
}

static void files_to_pages(Arena *arena, const ItemForm *form, Value *request)
{
    Value *inputs = (Value *)value_get(request, "inputs");
    for (size_t i = 0; i < inputs->list.n; i++)
        inputs->list.items[i] = page_of_file(arena, form, request, inputs->list.items[i]);
}

/* ---- the Rust encoderfile's JSON: the bytes of a picture as numbers ---- */
static bool bytes_of_numbers(Arena *arena, const Value *numbers, Value *out, Err *err)
{
    if (!numbers || numbers->kind != V_LIST)
        return fail(err, EF_INVALID_INPUT, "image_bytes: found %s, wanted a list of numbers",
                    numbers ? value_kind_name(numbers->kind) : "nothing");
    char *bytes = arena_alloc(arena, numbers->list.n + 1);
    for (size_t i = 0; i < numbers->list.n; i++) {
        int64_t n = value_int(&numbers->list.items[i], -1);
        if (n < 0 || n > UINT8_MAX) return fail(err, EF_INVALID_INPUT, "image_bytes[%zu]: wanted 0 to 255", i);
        bytes[i] = (char)n;
    }
    *out = value_of_bytes((Str){ bytes, numbers->list.n });
    return true;
}

bool files_of_numbers(Arena *arena, const Value **request, Err *err)
{
    const Value *images = value_get(*request, "images");
    if (!images || images->kind != V_LIST || value_get(*request, "inputs")) return true;
    Value files = value_list(arena, images->list.n), *all = NEW(arena, Value);
    for (size_t i = 0; i < images->list.n; i++)
        if (!bytes_of_numbers(arena, value_get(&images->list.items[i], "image_bytes"), &files.list.items[i], err))
            return fail(err, err->code, "images[%zu].%s", i, str_format(arena, "%s", err->message));
    *all = value_map(arena, (*request)->map.n + 1);
    memcpy(all->map.items, (*request)->map.items, (*request)->map.n * sizeof *all->map.items);
    all->map.n = (*request)->map.n;
    value_add(all, "inputs", files);
    *request = all;
    return true;
}

bool files_request(Session *s, Job *job, Value *request, Err *err)
{
    Arena *arena = &job->work.arena;
    const ItemForm *form = session_model(s)->items;
    if (is_form(job->in.type) && !form_request(s, job, request, err)) return false;
    if (!is_form(job->in.type)) {
        Value files = value_list(arena, 1);
        files.list.items[0] = value_of_bytes(job->in.body);
        *request = value_map(arena, 1);
        value_add(request, "inputs", form->alone ? files.list.items[0] : files);
    }
    if (item_form_has(form, ITEM_BOXES)) files_to_pages(arena, form, request);
    return true;
}
