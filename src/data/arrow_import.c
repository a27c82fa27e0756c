/* SPDX-License-Identifier: Apache-2.0
 * arrow_import.c - see arrow_import.h. */
#include "arrow_import.h"

#include "arrow_kinds.h"

enum { MOST_ENTRIES_BITS = 58 }; /* so that bytes of buffers can be counted */
static const int64_t most_entries = (int64_t)1 << MOST_ENTRIES_BITS;

/* ---- types ---- */
static const struct ImportText {
    const char *format;
    ArrowKind kind;
} import_texts[] = {
    { "u", ARROW_UTF8 },   { "U", ARROW_LARGE_UTF8 },   { "vu", ARROW_UTF8_VIEW },
    { "z", ARROW_BINARY }, { "Z", ARROW_LARGE_BINARY }, { "vz", ARROW_BINARY_VIEW },
    { "n", ARROW_NULL },
};

bool arrow_import_struct(const struct ArrowSchema *s, Err *err)
{
    if (!s->release || !s->format) return fail(err, EF_INVALID_INPUT, "found no schema, wanted one of a struct");
    if (strcmp(s->format, "+s") != 0)
        return fail(err, EF_INVALID_INPUT, "found a schema of the format \"%s\", wanted a struct, whose children are "
                    "the columns", s->format);
    if (s->n_children < 0 || (s->n_children && !s->children))
        return fail(err, EF_INVALID_INPUT, "found a schema with %lld columns%s", (long long)s->n_children,
                    s->children ? "" : " and no list of them");
    for (int64_t i = 0; i < s->n_children; i++)
        if (!s->children[i] || !s->children[i]->release || !s->children[i]->format)
            return fail(err, EF_INVALID_INPUT, "found a schema whose column %lld was released", (long long)i);
    return true;
}

bool arrow_import_texts(const struct ArrowSchema *s, ArrowField *out, Err *err)
{
    if (s->dictionary)
        return fail(err, EF_UNSUPPORTED, "found a dictionary, wanted utf8, large_utf8 or utf8_view: cast it first");
    for (size_t i = 0; i < COUNT(import_texts); i++) {
        if (strcmp(s->format, import_texts[i].format) != 0) continue;
        *out = (ArrowField){ .name = str_of(s->name), .kind = import_texts[i].kind, .nullable = true };
        return true;
    }
    return fail(err, EF_UNSUPPORTED, "found the type \"%s\", wanted utf8, large_utf8 or utf8_view (\"u\", \"U\", "
                "\"vu\")", s->format);
}

/* ---- numbers ---- */
static bool import_counts(const struct ArrowArray *a, Err *err)
{
    if (a->length < 0 || a->offset < 0 || a->length > most_entries || a->offset > most_entries - a->length)
        return fail(err, EF_INVALID_INPUT, "found %lld entries from %lld on", (long long)a->length,
                    (long long)a->offset);
    if (a->null_count < -1 || a->null_count > a->length)
        return fail(err, EF_INVALID_INPUT, "found %lld nulls in %lld entries", (long long)a->null_count,
                    (long long)a->length);
    if (a->n_buffers < 0 || (a->n_buffers && !a->buffers))
        return fail(err, EF_INVALID_INPUT, "found %lld buffers%s", (long long)a->n_buffers,
                    a->buffers ? "" : " and no list of them");
    return true;
}

static const uint8_t *import_valid(const struct ArrowArray *a)
{
    return a->n_buffers && a->null_count ? a->buffers[0] : NULL;
}

static bool import_is_null(const uint8_t *valid, int64_t entry)
{
    return valid && !(valid[entry >> 3] >> (entry & 7) & 1);
}

static bool import_all_there(const struct ArrowArray *a)
{
    const uint8_t *valid = import_valid(a);
    for (int64_t i = 0; valid && i < a->length; i++)
        if (import_is_null(valid, a->offset + i)) return false;
    return valid || a->null_count <= 0;
}

/* What the rows of a batch are of one of its columns. */
static struct ArrowArray import_cut(const struct ArrowArray *batch, struct ArrowArray column)
{
    const bool whole = batch->offset == 0 && column.length == batch->length;
    column.offset += batch->offset;
    column.length = batch->length;
    if (!whole && column.null_count) column.null_count = -1;
    return column;
}

bool arrow_import_batch(const struct ArrowArray *a, int64_t columns, Err *err)
{
    if (!import_counts(a, err)) return within(err, "a batch");
    if (a->n_children != columns || (columns && !a->children))
        return fail(err, EF_INVALID_INPUT, "a batch: found %lld columns, wanted %lld as in the schema",
                    a->children ? (long long)a->n_children : 0, (long long)columns);
    if (!import_all_there(a)) return fail(err, EF_INVALID_INPUT, "a batch: found rows that are null as a whole");
    for (int64_t i = 0; i < columns; i++) {
        const struct ArrowArray *c = a->children[i];
        if (!c || !c->release) return fail(err, EF_INVALID_INPUT, "a batch: column %lld was released", (long long)i);
        if (!import_counts(c, err)) return within(err, "a batch: column %lld", (long long)i);
        if (c->length - a->offset < a->length)
            return fail(err, EF_INVALID_INPUT, "a batch: column %lld: found %lld entries, wanted %lld, one a row",
                        (long long)i, (long long)c->length, (long long)(a->offset + a->length));
    }
    return true;
}

/* ---- texts ---- */
static bool import_lacks(const char *what, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "found no %s, wanted one for its entries", what);
}

static bool import_bytes(const struct ArrowArray *a, ArrowColumn *out, Err *err)
{
    const int64_t width = arrow_kinds[out->field->kind].offset, end = a->offset + a->length;
    if (!a->buffers[1]) return import_lacks("buffer of offsets", err);
    out->offsets = (Str){ a->buffers[1], (size_t)((end + 1) * width) };
    const int64_t first = arrow_int(out->offsets, a->offset, width, true);
    int64_t at = first;
    for (int64_t i = a->offset + 1; i <= end; i++) {
        const int64_t next = arrow_int(out->offsets, i, width, true);
        if (at < 0 || next < at)
            return fail(err, EF_INVALID_INPUT, "found the offset %lld behind %lld", (long long)next, (long long)at);
        at = next;
    }
    out->data = (Str){ a->buffers[2] ? a->buffers[2] : "", (size_t)at };
    return a->buffers[2] || at == first || import_lacks("buffer of bytes", err);
}

static bool import_view(const ArrowColumn *c, int64_t entry, Err *err)
{
    enum { VIEW = 16, SHORT = 12 };
    const Str view = { c->data.p + entry * VIEW, VIEW };
    const int64_t n = arrow_int(view, 0, 4, true), buffer = arrow_int(view, 2, 4, true);
    const int64_t at = arrow_int(view, 3, 4, true);
    if (n >= 0 && n <= SHORT) return true;
    return (n > 0 && buffer >= 0 && buffer < c->n_more && at >= 0 && c->more[buffer].p &&
            at + n <= (int64_t)c->more[buffer].n) ||
           fail(err, EF_INVALID_INPUT, "entry %lld: found a view that shows nothing", (long long)entry);
}

/* Behind the views lie any number of buffers, and then one with their sizes. */
static bool import_views(Arena *arena, const struct ArrowArray *a, ArrowColumn *out, Err *err)
{
    const uint8_t *valid = import_valid(a);
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    if (!a->buffers[1]) return import_lacks("buffer of views", err);
    out->data = (Str){ a->buffers[1], (size_t)(a->offset + a->length) * 16 };
    out->n_more = a->n_buffers - 3;
    if (out->n_more && !sizes) return import_lacks("buffer of sizes", err);
    out->more = ARRAY(arena, Str, out->n_more);
    for (int64_t i = 0; i < out->n_more; i++) out->more[i] = (Str){ a->buffers[2 + i], (size_t)MAX(sizes[i], 0) };
    bool ok = true;
    for (int64_t i = a->offset; ok && i < a->offset + a->length; i++)
        ok = import_is_null(valid, i) || import_view(out, i, err);
    return ok;
}

static bool import_buffers(Arena *arena, const struct ArrowArray *a, ArrowColumn *out, Err *err)
{
    const ArrowLayout layout = arrow_kinds[out->field->kind].layout;
    if (layout == LAYOUT_NONE || a->length == 0) return true;
    if (layout == LAYOUT_BYTES ? a->n_buffers != 3 : a->n_buffers < 3)
        return fail(err, EF_INVALID_INPUT, "found %lld buffers, wanted 3%s", (long long)a->n_buffers,
                    layout == LAYOUT_BYTES ? "" : " or more");
    if (a->null_count > 0 && !a->buffers[0]) return import_lacks("buffer of validity, but nulls", err);
    if (import_valid(a)) out->valid = (Str){ a->buffers[0], (size_t)(a->offset + a->length + 7) / 8 };
    return layout == LAYOUT_BYTES ? import_bytes(a, out, err) : import_views(arena, a, out, err);
}

bool arrow_import_column(Arena *arena, const ArrowField *field, const struct ArrowArray *batch, int64_t index,
                         ArrowColumn *out, int64_t *from, Err *err)
{
    const struct ArrowArray a = import_cut(batch, *batch->children[index]);
    *out = (ArrowColumn){ .field = field, .length = a.offset + a.length };
    *from = a.offset;
    return import_buffers(arena, &a, out, err) || within(err, "column \"%.*s\"", STR_ARG(field->name));
}

/* ---- children that are taken out ---- */
static void join_array_release(struct ArrowArray *a)
{
    Arena arena = *(Arena *)a->private_data;
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    a->release = NULL;
    arena_free(&arena);
}

/* Everything is allocated before the first child is moved: whoever is abandoned for memory has moved none. */
void arrow_join_arrays(struct ArrowArray **from, int64_t n, const struct ArrowArray *batch, int64_t cut,
                       struct ArrowArray *out)
{
    Arena arena = { 0 }, *held = NEW(&arena, Arena);
    struct ArrowArray a = { .length = batch->length, .n_buffers = 1, .buffers = ARRAY(&arena, const void *, 1),
                            .n_children = n, .children = ARRAY(&arena, struct ArrowArray *, n + 1),
                            .release = join_array_release, .private_data = held };
    struct ArrowArray *own = ARRAY(&arena, struct ArrowArray, n + 1);
    *held = arena;
    for (int64_t i = 0; i < n; i++) {
        own[i] = i < cut ? import_cut(batch, *from[i]) : *from[i];
        from[i]->release = NULL;
        a.children[i] = &own[i];
    }
    *out = a;
}
