/* SPDX-License-Identifier: Apache-2.0
 * schema.c - what a request must look like: checked here, and described for OpenAPI and MCP, by the
 * same rows. The path of a value is a chain on the stack, written out only when one is wrong. */
#include <float.h>
#include <math.h>

#include "json.h"

typedef struct KindRow {
    const char *one, *many;    /* for messages */
    const char *type, *format; /* of JSON Schema; NULL: none */
    ValueKind value;
    double least, most; /* numbers only */
} KindRow;

static const KindRow kinds[] = {
    [F_STR] = { "a string", "strings", "string", NULL, V_STR },
    [F_BOOL] = { "a boolean", "booleans", "boolean", NULL, V_BOOL },
    [F_I32] = { "a whole number", "integers", "integer", "int32", V_INT, INT32_MIN, INT32_MAX },
    [F_U32] = { "a whole number", "integers", "integer", "uint32", V_INT, 0, UINT32_MAX },
    [F_U64] = { "a whole number", "integers", "integer", "uint64", V_INT, 0, 0x1p63 },
    [F_F32] = { "a number", "numbers", "number", "float", V_FLOAT, -FLT_MAX, FLT_MAX },
    [F_F64] = { "a number", "numbers", "number", "double", V_FLOAT, -DBL_MAX, DBL_MAX },
    [F_BYTES] = { "a string", "strings", "string", "byte", V_STR },
    [F_MSG] = { "an object", "objects", "object", NULL, V_MAP },
    [F_STR_MAP] = { "an object of strings", "objects of strings", "object", NULL, V_MAP },
    [F_NULL_STR_MAP] = { "an object of strings or null", "objects", "object", NULL, V_MAP },
    [F_INT_STR_MAP] = { "an object of numbered strings", "objects", "object", NULL, V_MAP },
    [F_ANY] = { "any value", "any values", NULL, NULL, V_NULL },
};
_Static_assert(COUNT(kinds) == F_ANY + 1, "one row per kind of field");

typedef struct Path {
    const struct Path *up; /* NULL: the root, which has no name */
    Str key;               /* empty: an item of a list */
    size_t index;
} Path;

/* ---- messages ---- */
enum { QUOTED = 60, DEEP = 300 }; /* bytes of a client's text that a message may repeat */

/* At most n bytes, and no half of a character. */
static Str schema_cut_text(Str s, size_t n)
{
    if (s.n <= n) return s;
    while (n > 0 && (s.p[n] & 0xC0) == 0x80) n--;
    return (Str){ s.p, n };
}

static void write_path(Buf *b, const Path *path)
{
    if (!path->up) return;
    write_path(b, path->up);
    if (b->n > DEEP) return;
    if (path->key.p) {
        if (b->n) buf_char(b, '.');
        buf_str(b, schema_cut_text(path->key, QUOTED));
    } else {
        buf_printf(b, "[%zu]", path->index);
    }
}

typedef struct Mismatch {           /* of a message; freed with it */
    Arena arena;
    Buf found, wanted;
} Mismatch;

static void mismatch_begin(Mismatch *w)
{
    *w = (Mismatch){ .arena.local = true, .found.arena = &w->arena, .wanted.arena = &w->arena };
}

static bool schema_mismatch(const Path *path, Mismatch *w, Err *err)
{
    Buf where = { .arena = &w->arena };
    write_path(&where, path);
    if (where.n) buf_puts(&where, ": ");
    fail(err, EF_INVALID_INPUT, "%.*sfound %.*s, wanted %.*s", STR_ARG(buf_view(&where)),
         STR_ARG(buf_view(&w->found)), STR_ARG(buf_view(&w->wanted)));
    arena_free(&w->arena);
    return false;
}

static void write_words(Buf *b, const char *const *words)
{
    if (!words[0]) buf_puts(b, "nothing");
    for (size_t i = 0; words[i]; i++) buf_printf(b, "%s\"%s\"", i ? ", " : "one of ", words[i]);
}

static bool kind_is_number(const KindRow *row)
{
    return row->most > row->least;
}

/* The range of a number: its own, or that of its kind. */
static double least_of(const Field *f)
{
    return f->most > f->least ? f->least : kinds[f->kind].least;
}

static double most_of(const Field *f)
{
    return f->most > f->least ? f->most : kinds[f->kind].most;
}

static void write_wanted(Buf *b, const Field *f, bool item)
{
    const KindRow *row = &kinds[f->kind];
    if (f->repeated && !item)
        buf_printf(b, "a list of %s", row->many);
    else if (f->words)
        write_words(b, f->words), buf_puts(b, f->kind == F_ANY ? ", true, false" : "");
    else if (row->value == V_INT)
        buf_printf(b, "%s from %.0f to %.0f", row->one, least_of(f), most_of(f));
    else /* F_ANY: checked elsewhere, with its own message */
        buf_puts(b, f->kind == F_ANY && f->help ? f->help : row->one);
    if (f->nullable && !item) buf_puts(b, " or null");
}

/* A wrong value of the right kind is shown, of a wrong kind only named; NULL is a missing one. */
static void write_found(Buf *b, const Value *v, const Field *f)
{
    if (!v)
        buf_puts(b, "nothing");
    else if (kind_is_number(&kinds[f->kind]) && (v->kind == V_INT || v->kind == V_FLOAT))
        json_write(b, v);
    else if (f->words && v->kind == V_STR)
        json_write_string(b, schema_cut_text(v->s, QUOTED));
    else
        buf_puts(b, value_kind_name(v->kind));
}

static bool schema_wrong_kind(const Value *v, const Field *f, bool item, const Path *path, Err *err)
{
    Mismatch w;
    mismatch_begin(&w);
    write_found(&w.found, v, f);
    write_wanted(&w.wanted, f, item);
    return schema_mismatch(path, &w, err);
}

/* ---- checking ---- */
static bool check_rows(const Value *, const Field *rows, const Path *, Err *);

static bool check_words(const Value *v, const Field *f, const Path *path, Err *err)
{
    if (!f->words) return true;
    for (size_t i = 0; v->kind == V_STR && f->words[i]; i++)
        if (str_is(v->s, f->words[i])) return true;
    return schema_wrong_kind(v, f, true, path, err);
}

static bool schema_check_key(Str key, const Path *path, Err *err)
{
    int64_t n;
    bool digits = key.n && key.p[0] >= '0' && key.p[0] <= '9';
    if (digits && str_int(key, &n) && n <= UINT32_MAX) return true;
    Mismatch w;
    mismatch_begin(&w);
    buf_puts(&w.found, "key ");
    json_write_string(&w.found, schema_cut_text(key, QUOTED));
    buf_puts(&w.wanted, "a whole number");
    return schema_mismatch(path, &w, err);
}

static bool check_strings(const Value *v, const Field *f, const Path *path, Err *err)
{
    static const Field text = { .kind = F_STR };
    for (size_t i = 0; i < v->map.n; i++) {
        const Member *m = &v->map.items[i];
        Path below = { path, m->key, 0 };
        if (f->kind == F_INT_STR_MAP && !schema_check_key(m->key, path, err)) return false;
        if (m->value.kind == V_NULL && f->kind == F_NULL_STR_MAP) continue;
        if (m->value.kind != V_STR) return schema_wrong_kind(&m->value, &text, true, &below, err);
    }
    return true;
}

static bool check_item(const Value *v, const Field *f, const Path *path, Err *err)
{
    const KindRow *row = &kinds[f->kind];
    if (f->kind == F_ANY) return v->kind == V_BOOL || check_words(v, f, path, err);
    if (kind_is_number(row)) {
        double x = value_float(v, NAN); /* NAN fails both comparisons */
        bool fits = x >= least_of(f) && x <= most_of(f);
        bool whole = v->kind == V_INT || x == floor(x); /* JSON Schema calls 2.0 an integer */
        if (fits && (whole || row->value == V_FLOAT)) return true;
        return schema_wrong_kind(v, f, true, path, err);
    }
    if (f->kind == F_BYTES && v->kind == V_BYTES) return true;
    if (v->kind != row->value) return schema_wrong_kind(v, f, true, path, err);
    if (f->kind == F_STR) return check_words(v, f, path, err);
    if (f->kind == F_MSG) return check_rows(v, f->msg, path, err);
    return row->value != V_MAP || check_strings(v, f, path, err);
}

static bool check_field(const Value *v, const Field *f, const Path *path, Err *err)
{
    if (!v) return !f->required || schema_wrong_kind(v, f, false, path, err);
    if (v->kind == V_NULL) {
        if (f->nullable || (f->kind == F_ANY && !f->repeated)) return true;
        return schema_wrong_kind(v, f, false, path, err);
    }
    if (!f->repeated) return check_item(v, f, path, err);
    if (v->kind == V_F32 && kind_is_number(&kinds[f->kind])) return true;
    if (v->kind == V_STR && f->or_base64) return true;
    if (v->kind != V_LIST) return schema_wrong_kind(v, f, false, path, err);
    for (size_t i = 0; i < v->list.n; i++)
        if (!check_item(&v->list.items[i], f, &(Path){ path, { 0 }, i }, err)) return false;
    return true;
}

static bool check_rows(const Value *v, const Field *rows, const Path *path, Err *err)
{
    for (const Field *f = rows; f->name; f++) {
        Path below = { path, str_of(f->name), 0 };
        if (!check_field(value_get(v, f->name), f, &below, err)) return false;
    }
    return true;
}

bool schema_check(const Value *v, const Field *rows, Err *err)
{
    static const Field root = { .kind = F_MSG };
    Path path = { 0 };
    if (v->kind != V_MAP) return schema_wrong_kind(v, &root, true, &path, err);
    return check_rows(v, rows, &path, err);
}

/* ---- describing ---- */
enum { ROOM = 6 }; /* members that one description can have */

/* "string", or ["string", "null"]. */
static Value describe_type(Arena *arena, const char *type, bool nullable)
{
    if (!nullable) return value_of_text(type);
    Value both = value_list(arena, 2);
    both.list.items[0] = value_of_text(type);
    both.list.items[1] = value_of_text("null");
    return both;
}

static Value describe_words(Arena *arena, const Field *f, bool nullable)
{
    const size_t bools = f->kind == F_ANY ? 2 : 0;
    size_t n = 0;
    while (f->words[n]) n++;
    Value list = value_list(arena, n + bools + nullable); /* the last one stays null */
    for (size_t i = 0; i < n; i++) list.list.items[i] = value_of_text(f->words[i]);
    for (size_t i = 0; i < bools; i++) list.list.items[n + i] = value_of_bool(i == 0);
    return list;
}

static Value describe_field(Arena *, const Field *);

static void add_properties(Arena *arena, Value *out, const Field *rows)
{
    size_t n = 0, required = 0;
    for (const Field *f = rows; f->name; f++) n++, required += f->required;
    Value properties = value_map(arena, n), names = value_list(arena, required);
    required = 0;
    for (const Field *f = rows; f->name; f++) {
        value_add(&properties, f->name, describe_field(arena, f));
        if (f->required) names.list.items[required++] = value_of_text(f->name);
    }
    value_add(out, "properties", properties);
    if (required) value_add(out, "required", names);
}

static void add_strings(Arena *arena, Value *out, FieldKind kind)
{
    Value string = value_map(arena, 1);
    value_add(&string, "type", describe_type(arena, "string", kind == F_NULL_STR_MAP));
    value_add(out, "additionalProperties", string);
    if (kind != F_INT_STR_MAP) return;
    Value keys = value_map(arena, 1);
    value_add(&keys, "pattern", value_of_text("^[0-9]+$"));
    value_add(out, "propertyNames", keys);
}

static Value describe_item(Arena *arena, const Field *f, bool nullable)
{
    const KindRow *row = &kinds[f->kind];
    Value out = value_map(arena, ROOM);
    if (row->type) value_add(&out, "type", describe_type(arena, row->type, nullable));
    if (row->format) value_add(&out, "format", value_of_text(row->format));
    if (f->kind == F_U32) {
        value_add(&out, "minimum", value_of_int((int64_t)least_of(f)));
        value_add(&out, "maximum", value_of_int((int64_t)most_of(f)));
    }
    if (f->words) value_add(&out, "enum", describe_words(arena, f, nullable));
    if (f->msg_name) value_add(&out, "title", value_of_text(f->msg_name));
    if (f->kind == F_MSG) add_properties(arena, &out, f->msg);
    else if (row->value == V_MAP) add_strings(arena, &out, f->kind);
    return out;
}

/* The list, or a string with the same in it. */
static Value describe_base64(Arena *arena, Value list)
{
    Value out = value_map(arena, ROOM), both = value_list(arena, 2), string = value_map(arena, 2);
    value_add(&string, "type", value_of_text("string"));
    value_add(&string, "contentEncoding", value_of_text("base64"));
    both.list.items[0] = list;
    both.list.items[1] = string;
    value_add(&out, "anyOf", both);
    return out;
}

static Value describe_field(Arena *arena, const Field *f)
{
    Value out;
    if (f->repeated) {
        out = value_map(arena, ROOM);
        value_add(&out, "type", describe_type(arena, "array", f->nullable));
        value_add(&out, "items", describe_item(arena, f, false));
        if (f->or_base64) out = describe_base64(arena, out);
    } else {
        out = describe_item(arena, f, f->nullable);
    }
    if (f->help) value_add(&out, "description", value_of_text(f->help));
    return out;
}

Value schema_describe(Arena *arena, const Field *rows)
{
    return describe_item(arena, &(Field){ .kind = F_MSG, .msg = rows }, false);
}
