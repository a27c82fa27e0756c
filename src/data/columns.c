/* SPDX-License-Identifier: Apache-2.0
 * columns.c - see columns.h. A column is filled in two walks: one counts, one copies. */
#include "columns.h"

#include "base64.h"
#include "number.h"

static const Field pair[] = { /* an entry of a map */
    { "key", 1, F_STR, .required = true },
    { "value", 2, F_STR, .required = true, .nullable = true },
    { 0 },
};

static const Field *fields_of(const Field *f)
{
    bool map = f->kind == F_STR_MAP || f->kind == F_NULL_STR_MAP || f->kind == F_INT_STR_MAP;
    return map ? pair : f->kind == F_MSG ? f->msg : NULL;
}

static bool is_list(const Field *f)
{
    return f->repeated || fields_of(f) == pair;
}

/* ---- from results ---- */
static size_t size_of(FieldKind kind)
{
    switch (kind) {
    case F_BOOL: return sizeof(bool);
    case F_I32: case F_U32: case F_U64: return sizeof(int64_t);
    case F_F32: return sizeof(float);
    case F_F64: return sizeof(double);
    case F_STR: case F_BYTES: return sizeof(Str);
    default: return sizeof(Value *); /* of a struct: where its members are */
    }
}

static void copy_one(FieldKind kind, const Value *v, void *to)
{
    switch (kind) {
    case F_BOOL: *(bool *)to = v->b; break;
    case F_I32: case F_U32: case F_U64: *(int64_t *)to = value_int(v, 0); break;
    case F_F32: *(float *)to = (float)value_float(v, 0); break;
    case F_F64: *(double *)to = value_float(v, 0); break;
    case F_STR: case F_BYTES: *(Str *)to = v->s; break;
    default: *(const Value **)to = v; break;
    }
}

static Value pair_of(Arena *arena, const Member *m)
{
    Value v = value_map(arena, 2);
    value_add(&v, "key", value_of_str(m->key));
    value_add(&v, "value", m->value);
    return v;
}

/* What a list holds, whichever form it has: items, numbers, the same as text, or a map. */
static Value list_of(Arena *arena, const Value *v)
{
    Str bytes;
    if (v->kind == V_STR && base64_read(arena, v->s, &bytes))
        return value_of_f32((const float *)bytes.p, bytes.n / sizeof(float));
    if (v->kind != V_MAP) return *v;
    Value list = value_list(arena, v->map.n);
    for (size_t i = 0; i < v->map.n; i++) list.list.items[i] = pair_of(arena, &v->map.items[i]);
    return list;
}

static size_t length_of(const Value *list)
{
    return list->kind == V_F32 ? list->f32.n : list->kind == V_LIST ? list->list.n : 0;
}

static void copy_list(FieldKind kind, const Value *list, char *to)
{
    const size_t size = size_of(kind);
    if (list->kind == V_F32 && list->f32.n) memcpy(to, list->f32.p, list->f32.n * size);
    for (size_t i = 0; list->kind == V_LIST && i < list->list.n; i++)
        copy_one(kind, &list->list.items[i], to + i * size);
}

/* entry[i] NULL: what it would be a member of is absent. */
static Columns columns_from(Arena *, const Field *rows, const Value *const *entry, size_t n);

static void fill_lists(Arena *arena, Column *c, const Value *const *value)
{
    Value *list = ARRAY(arena, Value, c->n);
    size_t *offset = ARRAY(arena, size_t, c->n + 1);
    for (size_t i = 0; i < c->n; i++) {
        if (value[i]) list[i] = list_of(arena, value[i]);
        offset[i + 1] = offset[i] + length_of(&list[i]);
    }
    char *data = ARRAY(arena, char, (c->values = offset[c->n]) * size_of(c->field->kind));
    for (size_t i = 0; i < c->n; i++)
        copy_list(c->field->kind, &list[i], data + offset[i] * size_of(c->field->kind));
    c->offset = offset, c->data = data;
}

static void fill_values(Arena *arena, Column *c, const Value *const *value)
{
    const size_t size = size_of(c->field->kind);
    char *data = ARRAY(arena, char, (c->values = c->n) * size);
    for (size_t i = 0; i < c->n; i++)
        if (value[i]) copy_one(c->field->kind, value[i], data + i * size);
    c->data = data;
}

/* A tree that was read from JSON has base64. */
static const Value *bytes_of(Arena *arena, const Value *v)
{
    Value *bytes = NEW(arena, Value);
    *bytes = value_of_bytes(v->s);
    return v->kind == V_STR && base64_read(arena, v->s, &bytes->s) ? bytes : v;
}

static Column column_from(Arena *arena, const Field *f, const Value *const *entry, size_t n)
{
    Column c = { .field = f, .n = n };
    const Value **value = ARRAY(arena, const Value *, n);
    bool *there = ARRAY(arena, bool, n);
    for (size_t i = 0; i < n; i++) {
        const Value *v = entry[i] ? value_get(entry[i], f->name) : NULL;
        there[i] = v && v->kind != V_NULL;
        if (there[i]) value[i] = f->kind == F_BYTES ? bytes_of(arena, v) : v;
    }
    c.there = there;
    (is_list(f) ? fill_lists : fill_values)(arena, &c, value);
    if (fields_of(f))
        c.members = columns_from(arena, fields_of(f), (const Value *const *)c.data, c.values);
    return c;
}

static Columns columns_from(Arena *arena, const Field *rows, const Value *const *entry, size_t n)
{
    Columns all = { 0 };
    while (rows[all.n].name) all.n++;
    all.column = ARRAY(arena, Column, all.n);
    for (size_t i = 0; i < all.n; i++) {
        assert(rows[i].kind != F_ANY);
        all.column[i] = column_from(arena, &rows[i], entry, n);
    }
    return all;
}

Columns columns_of(Arena *arena, const Field *rows, const Value *results, size_t n)
{
    const Value **entry = ARRAY(arena, const Value *, n);
    for (size_t i = 0; i < n; i++) entry[i] = &results[i];
    return columns_from(arena, rows, entry, n);
}

bool column_used(const Column *c)
{
    bool used = c->field->required;
    for (size_t i = 0; i < c->n && !used; i++) used = c->there[i];
    return used;
}

/* ---- some of them ---- */
static Column column_slice(Arena *arena, const Column *c, size_t from, size_t to)
{
    const size_t begin = c->offset ? c->offset[from] : from, end = c->offset ? c->offset[to] : to;
    Column out = *c;
    size_t *offset = c->offset ? ARRAY(arena, size_t, to - from + 1) : NULL;
    for (size_t i = 0; offset && i <= to - from; i++) offset[i] = c->offset[from + i] - begin;
    out.n = to - from, out.values = end - begin;
    out.there = c->there + from, out.offset = offset;
    if (c->data) out.data = (const char *)c->data + begin * size_of(c->field->kind);
    out.members = columns_slice(arena, &c->members, begin, end);
    return out;
}

Columns columns_slice(Arena *arena, const Columns *all, size_t from, size_t to)
{
    if (all->n && from == 0 && to == all->column[0].n) return *all;
    Columns out = { ARRAY(arena, Column, all->n), all->n };
    for (size_t i = 0; i < all->n; i++) out.column[i] = column_slice(arena, &all->column[i], from, to);
    return out;
}

/* ---- and back ---- */
static Value value_at(Arena *arena, const Column *c, size_t i)
{
    switch (c->field->kind) {
    case F_BOOL: return value_of_bool(c->b[i]);
    case F_I32: case F_U32: case F_U64: return value_of_int(c->i[i]);
    case F_F32: return value_of_float(number_widen(c->f32[i]));
    case F_F64: return value_of_float(c->f64[i]);
    case F_STR: return value_of_str(c->s[i]);
    case F_BYTES: return value_of_bytes(c->s[i]);
    default: return columns_entry(arena, &c->members, i);
    }
}

static Value map_at(Arena *arena, const Column *c, size_t from, size_t to)
{
    Value map = value_map(arena, to - from);
    for (size_t i = from; i < to; i++)
        map.map.items[map.map.n++] = (Member){ c->members.column[0].s[i],
                                               column_entry(arena, &c->members.column[1], i) };
    return map;
}

Value column_entry(Arena *arena, const Column *c, size_t entry)
{
    if (!c->there[entry]) return value_null();
    if (!c->offset) return value_at(arena, c, entry);
    size_t from = c->offset[entry], to = c->offset[entry + 1];
    if (c->field->kind == F_F32) return value_of_f32(c->f32 + from, to - from);
    if (fields_of(c->field) == pair) return map_at(arena, c, from, to);
    Value list = value_list(arena, to - from);
    for (size_t i = from; i < to; i++) list.list.items[i - from] = value_at(arena, c, i);
    return list;
}

Value columns_entry(Arena *arena, const Columns *all, size_t entry)
{
    Value map = value_map(arena, all->n);
    for (size_t i = 0; i < all->n; i++) {
        const Column *c = &all->column[i];
        if (c->there[entry] || c->field->required)
            value_add(&map, c->field->name, column_entry(arena, c, entry));
    }
    return map;
}
