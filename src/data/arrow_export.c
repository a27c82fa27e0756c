/* SPDX-License-Identifier: Apache-2.0
 * arrow_export.c - see arrow_export.h. All structs of one call share their memory and count who still has some. */
#include "arrow_export.h"

#include <stdatomic.h>

#include "arrow_build.h"
#include "arrow_kinds.h"

struct ArrowExport {
    Arena arena;             /* this, too */
    ArrowField all;          /* the struct around the columns */
    ArrowBuild *build;       /* NULL: of a schema */
    atomic_int holders;      /* structs that are not released; 0: it is still being filled */
};

static ArrowExport *shared_new(void)
{
    Arena arena = { 0 };
    ArrowExport *s = NEW(&arena, ArrowExport);
    s->arena = arena;
    return s;
}

static void shared_drop(ArrowExport *s)
{
    if (atomic_fetch_sub(&s->holders, 1) != 1) return;
    arrow_build_free(s->build);
    Arena arena = s->arena;
    arena_free(&arena);
}

/* ---- the schema ---- */
static const char *format_of(Arena *arena, const ArrowField *f)
{
    switch (f->kind) {
    case ARROW_UTF8: return "u";
    case ARROW_BINARY: return "z";
    case ARROW_BOOL: return "b";
    case ARROW_INT: return f->param[0] == 64 ? "l" : "i";
    case ARROW_FLOAT: return f->param[0] == 0 ? "e" : f->param[0] == 1 ? "f" : "g";
    case ARROW_LIST: return "+l";
    case ARROW_FIXED_LIST: return str_format(arena, "+w:%lld", (long long)f->param[0]);
    default: return "+s"; /* arrow_build makes no others */
    }
}

static void schema_release(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    if (s->dictionary && s->dictionary->release) s->dictionary->release(s->dictionary);
    ArrowExport *shared = s->private_data;
    s->release = NULL;
    shared_drop(shared);
}

static void schema_fill(ArrowExport *shared, const ArrowField *f, struct ArrowSchema *out)
{
    enum { NULLABLE = 2 };
    Arena *arena = &shared->arena;
    atomic_fetch_add(&shared->holders, 1);
    *out = (struct ArrowSchema){ .format = format_of(arena, f), .name = str_dup(arena, f->name),
                                 .flags = f->nullable ? NULLABLE : 0, .n_children = f->children,
                                 .release = schema_release, .private_data = shared };
    out->children = ARRAY(arena, struct ArrowSchema *, f->children + 1);
    for (int i = 0; i < f->children; i++)
        schema_fill(shared, &f->child[i], out->children[i] = NEW(arena, struct ArrowSchema));
}

/* A number of pairs, then keys and values, each behind its length. */
static const char *schema_copy_metadata(Arena *arena, const char *from)
{
    int32_t pairs, n;
    size_t size = sizeof pairs;
    if (!from) return NULL;
    memcpy(&pairs, from, sizeof pairs);
    for (int64_t i = 0; i < 2 * (int64_t)pairs; i++) {
        memcpy(&n, from + size, sizeof n);
        size += sizeof n + (size_t)MAX(n, 0);
    }
    return memcpy(ARRAY(arena, int32_t, size / sizeof pairs + 1), from, size);
}

static void schema_copy(ArrowExport *shared, const struct ArrowSchema *from, struct ArrowSchema *out)
{
    Arena *arena = &shared->arena;
    atomic_fetch_add(&shared->holders, 1);
    *out = (struct ArrowSchema){ .format = str_dup(arena, str_of(from->format)), .flags = from->flags,
                                 .metadata = schema_copy_metadata(arena, from->metadata),
                                 .n_children = from->n_children, .release = schema_release, .private_data = shared };
    if (from->name) out->name = str_dup(arena, str_of(from->name));
    out->children = ARRAY(arena, struct ArrowSchema *, from->n_children + 1);
    for (int64_t i = 0; i < from->n_children; i++)
        schema_copy(shared, from->children[i], out->children[i] = NEW(arena, struct ArrowSchema));
    if (from->dictionary) schema_copy(shared, from->dictionary, out->dictionary = NEW(arena, struct ArrowSchema));
}

void arrow_export_copies(struct ArrowSchema *const *column, int64_t n, struct ArrowSchema *out)
{
    const struct ArrowSchema all = { .format = "+s", .name = "", .n_children = n,
                                     .children = (struct ArrowSchema **)column };
    schema_copy(shared_new(), &all, out);
}

/* ---- the array ---- */
static void array_release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    ArrowExport *shared = a->private_data;
    a->release = NULL;
    shared_drop(shared);
}

static void array_buffers(const ArrowColumn *c, struct ArrowArray *out)
{
    static const int32_t zero[2];
    const ArrowLayout layout = arrow_kinds[c->field->kind].layout;
    int64_t n = 0;
    out->buffers[n++] = c->nulls ? c->valid.p : NULL;
    if (layout == LAYOUT_BYTES || layout == LAYOUT_LIST)
        out->buffers[n++] = c->offsets.n ? c->offsets.p : (const void *)zero;
    if (layout == LAYOUT_BYTES || layout == LAYOUT_FIXED || layout == LAYOUT_BITS)
        out->buffers[n++] = c->data.n ? c->data.p : (const void *)zero;
    out->n_buffers = n;
}

static void array_fill(ArrowExport *shared, const ArrowColumn *c, struct ArrowArray *out)
{
    enum { MOST = 3 };
    Arena *arena = &shared->arena;
    atomic_fetch_add(&shared->holders, 1);
    *out = (struct ArrowArray){ .length = c->length, .null_count = c->nulls, .n_children = c->field->children,
                                .buffers = ARRAY(arena, const void *, MOST), .release = array_release,
                                .private_data = shared };
    array_buffers(c, out);
    out->children = ARRAY(arena, struct ArrowArray *, out->n_children + 1);
    for (int i = 0; i < c->field->children; i++)
        array_fill(shared, &c->child[i], out->children[i] = NEW(arena, struct ArrowArray));
}

ArrowExport *arrow_export_new(const Field *rows)
{
    ArrowExport *e = shared_new();
    int n = 0;
    while (rows[n].name) n++;
    e->all = (ArrowField){ .kind = ARROW_STRUCT, .children = n, .child = ARRAY(&e->arena, ArrowField, n) };
    arrow_fields_of(&e->arena, rows, (ArrowVectors){ 0 }, e->all.child);
    e->build = arrow_build_new(&e->arena, e->all.child, n);
    return e;
}

bool arrow_export_add(ArrowExport *e, const Columns *columns, Err *err)
{
    return arrow_build_add(e->build, columns, err);
}

void arrow_export_schema(const ArrowExport *e, struct ArrowSchema *out)
{
    schema_fill(shared_new(), &e->all, out);
}

void arrow_export_array(ArrowExport *e, struct ArrowArray *out)
{
    ArrowColumn whole = { .field = &e->all, .length = arrow_build_rows(e->build) };
    whole.child = ARRAY(&e->arena, ArrowColumn, e->all.children);
    arrow_build_columns(e->build, &e->arena, whole.child);
    array_fill(e, &whole, out);
}

void arrow_export_drop(ArrowExport *e)
{
    if (!e) return;
    e->holders = 1;
    shared_drop(e);
}

bool arrow_export(const Field *rows, const Columns *columns, struct ArrowSchema *schema, struct ArrowArray *array,
                  Err *err)
{
    ArrowExport *e = arrow_export_new(rows);
    if (!arrow_export_add(e, columns, err)) return arrow_export_drop(e), false;
    arrow_export_schema(e, schema);
    arrow_export_array(e, array);
    return true;
}
