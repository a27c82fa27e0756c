/* SPDX-License-Identifier: Apache-2.0
 * arrow_kinds.c - the types of Arrow, and entries of their arrays as values. */
#include "arrow_kinds.h"

#include "arrow_text.h"
#include "base/bytes.h"
#include "half.h"

const ArrowKindRow arrow_kinds[ARROW_KINDS] = {
    [ARROW_NULL] = { "null", LAYOUT_NONE },
    [ARROW_INT] = { "int", LAYOUT_FIXED, .param = { { 4 }, { 1 } } },               /* bits, sign */
    [ARROW_FLOAT] = { "float", LAYOUT_FIXED, .param = { { 2 } } },                  /* 0 half, 1 single, 2 double */
    [ARROW_BINARY] = { "binary", LAYOUT_BYTES, 4 },
    [ARROW_UTF8] = { "utf8", LAYOUT_BYTES, 4, .text = true },
    [ARROW_BOOL] = { "bool", LAYOUT_BITS },
    [ARROW_DECIMAL] = { "decimal", LAYOUT_FIXED, .param = { { 4 }, { 4 }, { 4, 128 } } }, /* precision, scale, bits */
    [ARROW_DATE] = { "date", LAYOUT_FIXED, .param = { { 2, 1 } } },                 /* 0 days, 1 ms */
    [ARROW_TIME] = { "time", LAYOUT_FIXED, .param = { { 2, 1 }, { 4, 32 } } },      /* unit, bits */
    [ARROW_TIMESTAMP] = { "timestamp", LAYOUT_FIXED, .param = { { 2 } } },          /* unit; then the zone */
    [ARROW_INTERVAL] = { "interval", LAYOUT_FIXED, .param = { { 2 } } }, /* 0 months, 1 days and ms, 2 all three */
    [ARROW_LIST] = { "list", LAYOUT_LIST, 4 },
    [ARROW_STRUCT] = { "struct", LAYOUT_CHILDREN },
    [ARROW_UNION] = { "union", LAYOUT_UNION, .param = { { 2 } } }, /* 0 sparse, 1 dense */
    [ARROW_FIXED_BINARY] = { "fixed_size_binary", LAYOUT_FIXED, .param = { { 4 } } },
    [ARROW_FIXED_LIST] = { "fixed_size_list", LAYOUT_CHILDREN, .param = { { 4 } } },
    [ARROW_MAP] = { "map", LAYOUT_LIST, 4, .param = { { 1 } } },
    [ARROW_DURATION] = { "duration", LAYOUT_FIXED, .param = { { 2, 1 } } },
    [ARROW_LARGE_BINARY] = { "large_binary", LAYOUT_BYTES, 8 },
    [ARROW_LARGE_UTF8] = { "large_utf8", LAYOUT_BYTES, 8, .text = true },
    [ARROW_LARGE_LIST] = { "large_list", LAYOUT_LIST, 8 },
    [ARROW_RUN_END] = { "run_end_encoded", LAYOUT_RUNS },
    [ARROW_BINARY_VIEW] = { "binary_view", LAYOUT_VIEWS },
    [ARROW_UTF8_VIEW] = { "utf8_view", LAYOUT_VIEWS, .text = true },
    [ARROW_LIST_VIEW] = { "list_view", LAYOUT_LIST_VIEW },
    [ARROW_LARGE_LIST_VIEW] = { "large_list_view", LAYOUT_LIST_VIEW },
};

const char *arrow_kind_name(ArrowKind kind)
{
    return arrow_kinds[kind].name;
}

bool arrow_can_read(const ArrowField *f, const char **what)
{
    *what = f->strange;
    bool ok = !*what;
    for (int i = 0; ok && i < f->children; i++) ok = arrow_can_read(&f->child[i], what);
    return ok;
}

bool arrow_is_text(const ArrowField *f)
{
    const ArrowLayout layout = arrow_kinds[f->kind].layout;
    return layout == LAYOUT_BYTES || layout == LAYOUT_VIEWS || layout == LAYOUT_NONE ||
           (f->kind == ARROW_FIXED_BINARY && !f->uuid);
}

bool arrow_is_extension(const ArrowField *f, const char *name)
{
    for (int i = 0; i < f->pairs; i++)
        if (str_is(f->pair[i].key, "ARROW:extension:name")) return str_is(f->pair[i].value, name);
    return false;
}

int64_t arrow_width(const ArrowField *f)
{
    static const int interval[] = { 4, 8, 16 };
    if (f->encoded) return f->index_bits / 8;
    switch (f->kind) {
    case ARROW_INT: return f->param[0] / 8;
    case ARROW_FLOAT: return 2 << f->param[0];
    case ARROW_DECIMAL: return f->param[2] / 8;
    case ARROW_DATE: return f->param[0] ? 8 : 4;
    case ARROW_TIME: return f->param[1] / 8;
    case ARROW_INTERVAL: return interval[f->param[0]];
    case ARROW_FIXED_BINARY: return f->param[0];
    default: return 8; /* timestamps, durations */
    }
}

int arrow_union_child(const ArrowField *f, int code)
{
    for (int i = 0; i < f->codes; i++)
        if (f->code[i] == code) return i;
    return f->codes == 0 && code >= 0 && code < f->children ? code : -1;
}

int arrow_view_width(const ArrowField *f)
{
    return f->kind == ARROW_LIST_VIEW ? 4 : 8;
}

/* ---- entries ---- */
int64_t arrow_int(Str bytes, int64_t entry, int64_t width, bool is_signed)
{
    uint64_t x = 0;
    const uint8_t *p = (const uint8_t *)bytes.p + entry * width;
    if (width == 4) return is_signed ? (int32_t)le32(p) : (int64_t)le32(p); /* offsets: the most */
    const int unused = (int)(64 - 8 * width);
    for (int i = 0; i < width; i++) x |= (uint64_t)p[i] << (8 * i);
    return is_signed ? (int64_t)(x << unused) >> unused : (int64_t)x;
}

static Value entry_float(const ArrowColumn *a, int64_t entry)
{
    enum { HALF, SINGLE };
    float f;
    double d;
    if (a->field->param[0] == HALF)
        return value_of_float(half_to_double((uint32_t)arrow_int(a->data, entry, 2, false)));
    if (a->field->param[0] == SINGLE)
        return memcpy(&f, a->data.p + entry * 4, sizeof f), value_of_float((double)f);
    return memcpy(&d, a->data.p + entry * 8, sizeof d), value_of_float(d);
}

static Value entry_fixed(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    const ArrowField *f = a->field;
    const int64_t width = arrow_width(f);
    const Str bytes = { a->data.p + entry * width, (size_t)width };
    const bool is_signed = f->kind != ARROW_INT || f->param[1];
    int64_t i;
    switch (f->kind) {
    case ARROW_FLOAT: return entry_float(a, entry);
    case ARROW_DECIMAL: case ARROW_DATE: case ARROW_TIME: case ARROW_TIMESTAMP: return arrow_text(arena, f, bytes);
    case ARROW_FIXED_BINARY: return f->uuid ? arrow_text(arena, f, bytes) : value_of_bytes(bytes);
    default:
        if (width > 8) return value_of_bytes(bytes); /* of an interval */
        i = arrow_int(bytes, 0, width, is_signed);
        return !is_signed && i < 0 ? value_of_uint((uint64_t)i) : value_of_int(i);
    }
}

static Str entry_view(const ArrowColumn *a, int64_t entry)
{
    enum { VIEW = 16, SHORT = 12 };
    Str view = { a->data.p + entry * VIEW, VIEW };
    size_t n = (size_t)arrow_int(view, 0, 4, true);
    if (n <= SHORT) return (Str){ view.p + 4, n };
    return (Str){ a->more[arrow_int(view, 2, 4, true)].p + arrow_int(view, 3, 4, true), n };
}

static Value entry_list(Arena *arena, const ArrowColumn *a, int64_t from, int64_t to)
{
    Value list = value_list(arena, (size_t)(to - from));
    for (int64_t i = from; i < to; i++) list.list.items[i - from] = arrow_value(arena, &a->child[0], i);
    return list;
}

static Value entry_children(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    int64_t size = a->field->param[0];
    if (a->field->kind == ARROW_FIXED_LIST) return entry_list(arena, a, entry * size, (entry + 1) * size);
    Value map = value_map(arena, (size_t)a->field->children);
    for (int i = 0; i < a->field->children; i++)
        map.map.items[map.map.n++] = (Member){ a->field->child[i].name, arrow_value(arena, &a->child[i], entry) };
    return map;
}

static Value entry_of_dictionary(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    int64_t i = arrow_int(a->data, entry, arrow_width(a->field), a->field->index_signed);
    const ArrowColumn *part = a->values->part;
    for (; i >= part->length; part++) i -= part->length;
    return arrow_value(arena, part, i);
}

static Value entry_of_union(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    const bool dense = a->field->param[0] != 0;
    const ArrowColumn *child = &a->child[arrow_union_child(a->field, (signed char)a->data.p[entry])];
    return arrow_value(arena, child, dense ? arrow_int(a->offsets, entry, 4, true) : entry);
}

/* The first run that ends behind the entry. */
static Value entry_of_run(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    const ArrowColumn *ends = &a->child[0];
    const int64_t width = arrow_width(ends->field);
    int64_t first = 0, last = ends->length - 1;
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (arrow_int(ends->data, middle, width, true) > entry) last = middle;
        else first = middle + 1;
    }
    return arrow_value(arena, &a->child[1], first);
}

static Value entry_list_view(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    const int width = arrow_view_width(a->field);
    const int64_t from = arrow_int(a->offsets, entry, width, true);
    return entry_list(arena, a, from, from + arrow_int(a->data, entry, width, true));
}

Value arrow_value(Arena *arena, const ArrowColumn *a, int64_t entry)
{
    const ArrowKindRow *row = &arrow_kinds[a->field->kind];
    entry += a->from;
    if (a->valid.n && !(a->valid.p[entry >> 3] >> (entry & 7) & 1)) return value_null();
    if (a->values) return entry_of_dictionary(arena, a, entry);
    int64_t from = 0, to = 0;
    if (row->offset) {
        from = arrow_int(a->offsets, entry, row->offset, true);
        to = arrow_int(a->offsets, entry + 1, row->offset, true);
    }
    Str bytes;
    switch (row->layout) {
    case LAYOUT_BITS: return value_of_bool(a->data.p[entry >> 3] >> (entry & 7) & 1);
    case LAYOUT_FIXED: return entry_fixed(arena, a, entry);
    case LAYOUT_LIST: return entry_list(arena, a, from, to);
    case LAYOUT_CHILDREN: return entry_children(arena, a, entry);
    case LAYOUT_LIST_VIEW: return entry_list_view(arena, a, entry);
    case LAYOUT_UNION: return entry_of_union(arena, a, entry);
    case LAYOUT_RUNS: return entry_of_run(arena, a, entry);
    case LAYOUT_BYTES:
    case LAYOUT_VIEWS:
        bytes = row->layout == LAYOUT_VIEWS ? entry_view(a, entry) : (Str){ a->data.p + from, (size_t)(to - from) };
        return row->text ? value_of_str(bytes) : value_of_bytes(bytes);
    default: return value_null();
    }
}
