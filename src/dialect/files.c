/* SPDX-License-Identifier: Apache-2.0
 * files.c - bodies that are no JSON: a picture by itself, or a form with several (curl -F, browsers and
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
    return is_form(type) || type_begins(type, "image/") || type_begins(type, "application/octet-stream") ||
           type.n == 0;
}

/* As the Rust encoderfile: an object of strings is the metadata, any other is none. */
static Value payload_metadata(const Value *payload)
{
    for (size_t i = 0; payload->kind == V_MAP && i < payload->map.n; i++)
        if (payload->map.items[i].value.kind != V_STR) return value_null();
    return payload->kind == V_MAP ? *payload : value_null();
}

/* A field that is no file: `payload`, or an option of the request, as JSON or else as text. */
static bool form_field(Arena *arena, const FormPart *part, Value *request, Err *err)
{
    Value v;
    Err ignored;
    bool payload = str_is(part->name, "payload");
    const char *name = payload ? "metadata" : str_dup(arena, part->name);
    if (!utf8_valid(part->bytes) || !utf8_valid(part->name))
        return fail(err, EF_INVALID_INPUT, "multipart: found a field that is not UTF-8");
    bool json = json_parse_most(arena, part->bytes, MOST_FIELD_VALUES, &v, &ignored);
    if (payload && !json) return fail(err, EF_INVALID_INPUT, "invalid json in 'payload' field");
    if (!value_get(request, name))
        value_add(request, name, payload ? payload_metadata(&v) : json ? v : value_of_str(part->bytes));
    return true;
}

static bool is_file(const FormPart *part)
{
    static const char *const names[] = { "files", "file", "image", "images", "inputs" };
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
        else if (!form_field(arena, &part[i], request, err)) return false;
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
