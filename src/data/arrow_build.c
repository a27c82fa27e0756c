/* SPDX-License-Identifier: Apache-2.0
 * arrow_build.c - see arrow_build.h. */
#include "arrow_build.h"

#include "half.h"

typedef struct ArrowGrowing ArrowGrowing;
struct ArrowGrowing {
    const ArrowField *field;
    int64_t length, nulls;
    Buf valid, offsets, data;
    ArrowGrowing *child;     /* [field->children] */
};
struct ArrowBuild {
    ArrowGrowing *column;
    int n;
};

/* ---- fields ---- */
static const Field pair_rows[] = {
    { "key", 1, F_STR, .required = true },
    { "value", 2, F_STR, .required = true, .nullable = true },
    { 0 },
};

static bool is_map(const Field *f)
{
    return f->kind == F_STR_MAP || f->kind == F_NULL_STR_MAP || f->kind == F_INT_STR_MAP;
}

static void fields_of_rows(Arena *, const Field *rows, ArrowField *of);

/* One value of the field: without its list. */
static ArrowField field_of_value(Arena *arena, const Field *f)
{
    ArrowField out = { .kind = ARROW_STRUCT };
    enum { SINGLE = 1, DOUBLE = 2 };
    switch (f->kind) {
    case F_STR: out.kind = ARROW_UTF8; break;
    case F_BYTES: out.kind = ARROW_BINARY; break;
    case F_BOOL: out.kind = ARROW_BOOL; break;
    case F_I32: case F_U32: out.kind = ARROW_INT, out.param[0] = 32, out.param[1] = 1; break;
    case F_U64: out.kind = ARROW_INT, out.param[0] = 64, out.param[1] = 1; break;
    case F_F32: out.kind = ARROW_FLOAT, out.param[0] = SINGLE; break;
    case F_F64: out.kind = ARROW_FLOAT, out.param[0] = DOUBLE; break;
    default: fields_of_rows(arena, is_map(f) ? pair_rows : f->msg, &out); break;
    }
    return out;
}

static ArrowField field_of_row(Arena *arena, const Field *f)
{
    ArrowField value = field_of_value(arena, f), out = value;
    if (f->repeated || is_map(f)) {
        out = (ArrowField){ .kind = ARROW_LIST, .child = NEW(arena, ArrowField), .children = 1 };
        out.child[0] = value;
        out.child[0].name = STR("item");
    }
    out.name = str_of(f->name);
    out.nullable = f->nullable || !f->required;
    return out;
}

static void fields_of_rows(Arena *arena, const Field *rows, ArrowField *of)
{
    while (rows[of->children].name) of->children++;
    of->child = ARRAY(arena, ArrowField, of->children);
    for (int i = 0; i < of->children; i++) of->child[i] = field_of_row(arena, &rows[i]);
}

void arrow_fields_of(Arena *arena, const Field *rows, ArrowVectors vectors, ArrowField *out)
{
    for (int i = 0; rows[i].name; i++) {
        out[i] = field_of_row(arena, &rows[i]);
        out[i].nullable = true; /* of a row that failed */
        if (rows[i].kind != F_F32 || !rows[i].repeated) continue;
        if (vectors.half) out[i].child[0].param[0] = 0;
        if (!vectors.fixed || !str_is(out[i].name, "embedding")) continue;
        out[i].kind = ARROW_FIXED_LIST, out[i].param[0] = vectors.fixed;
    }
}

/* ---- values ---- */
/* n bits behind those that are there; from NULL: all set. Returns how many are not. */
static int64_t grow_bits(Buf *bits, int64_t length, const bool *from, size_t n)
{
    const size_t bytes = ((size_t)length + n + 7) / 8;
    int64_t unset = 0;
    if (!n) return 0;
    buf_reserve(bits, bytes - bits->n);
    memset(bits->p + bits->n, 0, bytes - bits->n);
    bits->n = bytes;
    for (size_t i = 0; i < n; i++) {
        const int64_t at = length + (int64_t)i;
        const bool is = !from || from[i];
        bits->p[at >> 3] = (char)(bits->p[at >> 3] | is << (at & 7));
        unset += !is;
    }
    return unset;
}

/* There are bits from the first null on. */
static void grow_valid(ArrowGrowing *g, const bool *there, size_t n)
{
    const bool whole = !there || !n || !memchr(there, false, n);
    if (!whole && !g->nulls) grow_bits(&g->valid, 0, NULL, (size_t)g->length);
    if (!whole || g->nulls) g->nulls += grow_bits(&g->valid, g->length, there, n);
    g->length += (int64_t)n;
}

static bool too_long(const ArrowGrowing *g, Err *err)
{
    return fail(err, EF_TOO_LARGE, "column \"%.*s\": found more than 2 GiB in one batch, wanted smaller batches",
                STR_ARG(g->field->name));
}

/* Where the next entry's values begin. */
static int64_t last_offset(const ArrowGrowing *g)
{
    int32_t last = 0;
    if (g->offsets.n) memcpy(&last, g->offsets.p + g->offsets.n - sizeof last, sizeof last);
    return last;
}

/* Room for the ends of n entries more. */
static int32_t *grow_offsets(ArrowGrowing *g, size_t n)
{
    const int32_t zero = 0;
    if (!g->offsets.n) buf_add(&g->offsets, &zero, sizeof zero);
    buf_reserve(&g->offsets, n * sizeof zero);
    g->offsets.n += n * sizeof zero;
    return (int32_t *)(void *)(g->offsets.p + g->offsets.n) - n;
}

static bool grow_bytes(ArrowGrowing *g, const Str *s, size_t n, Err *err)
{
    int64_t end = last_offset(g);
    int32_t *offset = grow_offsets(g, n);
    for (size_t i = 0; i < n; i++) {
        end += (int64_t)s[i].n;
        if (end > INT32_MAX) return too_long(g, err);
        buf_str(&g->data, s[i]);
        offset[i] = (int32_t)end;
    }
    return true;
}

static void grow_ints(ArrowGrowing *g, const int64_t *from, size_t n)
{
    if (g->field->param[0] == 64) return buf_add(&g->data, from, n * sizeof *from);
    buf_reserve(&g->data, n * sizeof(int32_t));
    int32_t *to = (int32_t *)(void *)(g->data.p + g->data.n);
    for (size_t i = 0; i < n; i++) to[i] = (int32_t)from[i];
    g->data.n += n * sizeof *to;
}

static void grow_floats(ArrowGrowing *g, const float *from, size_t n)
{
    if (g->field->param[0]) return buf_add(&g->data, from, n * sizeof *from);
    buf_reserve(&g->data, n * sizeof(uint16_t));
    uint16_t *to = (uint16_t *)(void *)(g->data.p + g->data.n);
    for (size_t i = 0; i < n; i++) to[i] = f32_to_half(from[i]);
    g->data.n += n * sizeof *to;
}

static bool grow_column(ArrowGrowing *, const Column *, Err *);

static bool grow_values(ArrowGrowing *g, const Column *c, const bool *there, Err *err)
{
    bool ok = true;
    if (!c->values) return true;
    grow_valid(g, there, c->values);
    switch (c->field->kind) {
    case F_STR: case F_BYTES: return grow_bytes(g, c->s, c->values, err);
    case F_BOOL: grow_bits(&g->data, g->length - (int64_t)c->values, c->b, c->values); break; /* validity came first */
    case F_I32: case F_U32: case F_U64: grow_ints(g, c->i, c->values); break;
    case F_F32: grow_floats(g, c->f32, c->values); break;
    case F_F64: buf_add(&g->data, c->f64, c->values * sizeof *c->f64); break;
    default:
        for (int i = 0; ok && i < g->field->children; i++)
            ok = grow_column(&g->child[i], &c->members.column[i], err);
    }
    return ok;
}

static bool grow_fixed(ArrowGrowing *g, const Column *c, Err *err)
{
    const size_t size = (size_t)g->field->param[0];
    grow_valid(g, c->there, c->n);
    for (size_t i = 0; i < c->n; i++) {
        static const float zero;
        const size_t n = c->offset[i + 1] - c->offset[i];
        if (c->there[i] && n != size)
            return fail(err, EF_INVALID_INPUT, "column \"%.*s\": found a vector of %zu numbers, wanted %zu as all "
                        "others", STR_ARG(g->field->name), n, size);
        grow_valid(&g->child[0], NULL, size);
        if (n) grow_floats(&g->child[0], c->f32 + c->offset[i], n);
        for (size_t k = n; k < size; k++) grow_floats(&g->child[0], &zero, 1);
    }
    return true;
}

static bool grow_list(ArrowGrowing *g, const Column *c, Err *err)
{
    const int64_t begin = last_offset(g);
    if (begin + (int64_t)c->values > INT32_MAX) return too_long(g, err);
    grow_valid(g, c->there, c->n);
    int32_t *offset = grow_offsets(g, c->n);
    for (size_t i = 0; i < c->n; i++) offset[i] = (int32_t)(begin + (int64_t)c->offset[i + 1]);
    return grow_values(&g->child[0], c, NULL, err);
}

static bool grow_column(ArrowGrowing *g, const Column *c, Err *err)
{
    if (g->field->kind == ARROW_FIXED_LIST) return grow_fixed(g, c, err);
    return c->offset ? grow_list(g, c, err) : grow_values(g, c, c->there, err);
}

/* ---- the batch ---- */
static ArrowGrowing *new_growing(Arena *arena, const ArrowField *f, int n)
{
    ArrowGrowing *all = ARRAY(arena, ArrowGrowing, n);
    for (int i = 0; i < n; i++)
        all[i] = (ArrowGrowing){ .field = &f[i], .child = new_growing(arena, f[i].child, f[i].children) };
    return all;
}

ArrowBuild *arrow_build_new(Arena *arena, const ArrowField *fields, int n)
{
    ArrowBuild *b = NEW(arena, ArrowBuild);
    *b = (ArrowBuild){ new_growing(arena, fields, n), n };
    return b;
}

bool arrow_build_add(ArrowBuild *b, const Columns *c, Err *err)
{
    bool ok = true;
    assert(c->n == (size_t)b->n);
    for (int i = 0; ok && i < b->n; i++) ok = grow_column(&b->column[i], &c->column[i], err);
    return ok;
}

int64_t arrow_build_rows(const ArrowBuild *b)
{
    return b->n ? b->column[0].length : 0;
}

static void view_column(const ArrowGrowing *g, Arena *arena, ArrowColumn *out)
{
    *out = (ArrowColumn){ .field = g->field, .length = g->length, .nulls = g->nulls, .offsets = buf_view(&g->offsets),
                          .data = buf_view(&g->data) };
    if (g->nulls) out->valid = buf_view(&g->valid);
    out->child = ARRAY(arena, ArrowColumn, g->field->children);
    for (int i = 0; i < g->field->children; i++) view_column(&g->child[i], arena, &out->child[i]);
}

void arrow_build_columns(const ArrowBuild *b, Arena *arena, ArrowColumn *out)
{
    for (int i = 0; i < b->n; i++) view_column(&b->column[i], arena, &out[i]);
}

static void clear_growing(ArrowGrowing *g, int n, void (*clear)(Buf *))
{
    for (int i = 0; i < n; i++) {
        g[i].length = g[i].nulls = 0;
        clear(&g[i].valid), clear(&g[i].offsets), clear(&g[i].data);
        clear_growing(g[i].child, g[i].field->children, clear);
    }
}

static void clear_buf(Buf *b)
{
    if (b->cap > 1 << 20 && b->cap / 4 > b->n) buf_free(b);
    b->n = 0;
}

void arrow_build_clear(ArrowBuild *b)
{
    clear_growing(b->column, b->n, clear_buf);
}

void arrow_build_free(ArrowBuild *b)
{
    if (b) clear_growing(b->column, b->n, buf_free);
}
