/* SPDX-License-Identifier: Apache-2.0
 * arrow_import.c - see arrow_import.h. */
#include "arrow_import.h"

#include "arrow_kinds.h"

enum { MOST_ENTRIES_BITS = 58 }; /* so that bytes of buffers can be counted */
static const int64_t most_entries = (int64_t)1 << MOST_ENTRIES_BITS;

/* ---- types ---- */
typedef struct ImportKind {
    const char *format;      /* all of it, or what stands in front of numbers and zones */
    ArrowKind kind;
    int64_t param[3];
} ImportKind;

static const ImportKind import_kinds[] = {
    { "n", ARROW_NULL },            { "b", ARROW_BOOL },
    { "c", ARROW_INT, { 8, 1 } },   { "C", ARROW_INT, { 8 } },   { "s", ARROW_INT, { 16, 1 } },
    { "S", ARROW_INT, { 16 } },     { "i", ARROW_INT, { 32, 1 } }, { "I", ARROW_INT, { 32 } },
    { "l", ARROW_INT, { 64, 1 } },  { "L", ARROW_INT, { 64 } },
    { "e", ARROW_FLOAT, { 0 } },    { "f", ARROW_FLOAT, { 1 } }, { "g", ARROW_FLOAT, { 2 } },
    { "u", ARROW_UTF8 },            { "U", ARROW_LARGE_UTF8 },   { "vu", ARROW_UTF8_VIEW },
    { "z", ARROW_BINARY },          { "Z", ARROW_LARGE_BINARY }, { "vz", ARROW_BINARY_VIEW },
    { "tdD", ARROW_DATE, { 0 } },   { "tdm", ARROW_DATE, { 1 } },
    { "tts", ARROW_TIME, { 0, 32 } }, { "ttm", ARROW_TIME, { 1, 32 } },
    { "ttu", ARROW_TIME, { 2, 64 } }, { "ttn", ARROW_TIME, { 3, 64 } },
    { "tDs", ARROW_DURATION, { 0 } }, { "tDm", ARROW_DURATION, { 1 } },
    { "tDu", ARROW_DURATION, { 2 } }, { "tDn", ARROW_DURATION, { 3 } },
    { "tiM", ARROW_INTERVAL, { 0 } }, { "tiD", ARROW_INTERVAL, { 1 } }, { "tin", ARROW_INTERVAL, { 2 } },
    { "+s", ARROW_STRUCT },         { "+l", ARROW_LIST },        { "+L", ARROW_LARGE_LIST },
    { "+m", ARROW_MAP },            { "+r", ARROW_RUN_END },     { "+vl", ARROW_LIST_VIEW },
    { "+vL", ARROW_LARGE_LIST_VIEW },
};
static const ImportKind import_kinds_with_more[] = {
    { "w:", ARROW_FIXED_BINARY },   { "+w:", ARROW_FIXED_LIST },
    { "d:", ARROW_DECIMAL, { 0, 0, 128 } },
    { "tss:", ARROW_TIMESTAMP, { 0 } }, { "tsm:", ARROW_TIMESTAMP, { 1 } },
    { "tsu:", ARROW_TIMESTAMP, { 2 } }, { "tsn:", ARROW_TIMESTAMP, { 3 } },
    { "+ud:", ARROW_UNION, { 1 } },     { "+us:", ARROW_UNION, { 0 } },
};

static const ImportKind *import_kind(Str format)
{
    for (size_t i = 0; i < COUNT(import_kinds); i++)
        if (str_is(format, import_kinds[i].format)) return &import_kinds[i];
    for (size_t i = 0; i < COUNT(import_kinds_with_more); i++)
        if (str_starts(format, import_kinds_with_more[i].format)) return &import_kinds_with_more[i];
    return NULL;
}

/* "8": of fixed sizes; "38,2,256": of decimals. */
static void import_numbers(Str text, int64_t param[3])
{
    for (int i = 0; i < 3 && text.n; i++) {
        const char *comma = memchr(text.p, ',', text.n);
        const size_t n = comma ? (size_t)(comma - text.p) : text.n;
        if (!str_int((Str){ text.p, n }, &param[i])) param[i] = -1;
        text.p += n + (comma != NULL), text.n -= n + (comma != NULL);
    }
}

static bool import_has_known_numbers(const ArrowField *f)
{
    enum { SIZE_MOST = 1 << 24 };
    const int64_t bits = f->param[2];
    if (f->kind == ARROW_DECIMAL) return bits == 32 || bits == 64 || bits == 128 || bits == 256;
    return (f->kind != ARROW_FIXED_BINARY && f->kind != ARROW_FIXED_LIST) ||
           (f->param[0] >= 0 && f->param[0] <= SIZE_MOST);
}

static void import_type(Arena *arena, Str format, ArrowField *out)
{
    const ImportKind *kind = import_kind(format);
    out->kind = kind ? kind->kind : ARROW_UNION;
    if (kind) memcpy(out->param, kind->param, sizeof out->param);
    const size_t n = kind ? strlen(kind->format) : 0;
    const Str more = { format.p + n, format.n - n };
    if (out->kind == ARROW_TIMESTAMP) out->zone = (Str){ str_dup(arena, more), more.n };
    else if (kind && more.n) import_numbers(more, out->param);
    const ArrowLayout layout = arrow_kinds[out->kind].layout;
    if (kind && (layout == LAYOUT_UNION || layout == LAYOUT_RUNS || layout == LAYOUT_LIST_VIEW))
        out->strange = str_format(arena, "the type %s", arrow_kind_name(out->kind)); /* handed through, not read */
    if (!kind || !import_has_known_numbers(out))
        out->strange = str_format(arena, "the type \"%.*s\"", (int)MIN(format.n, 60), format.p);
}

static void import_field(Arena *arena, const struct ArrowSchema *s, int depth, ArrowField *out)
{
    enum { DEPTH_MOST = 32, CHILDREN_MOST = 1 << 16 };
    const struct ArrowSchema *values = s->dictionary ? s->dictionary : s;
    const Str name = str_of(s->name);
    *out = (ArrowField){ .name = { str_dup(arena, name), name.n }, .nullable = true };
    import_type(arena, str_of(values->format), out);
    if (s->dictionary) {
        ArrowField index = { 0 };
        import_type(arena, str_of(s->format), &index);
        out->encoded = true, out->index_bits = (int)index.param[0], out->index_signed = index.param[1];
        if (index.kind != ARROW_INT) out->strange = "a dictionary whose indexes are no integers";
    }
    const bool list = arrow_kinds[out->kind].layout == LAYOUT_LIST || out->kind == ARROW_FIXED_LIST;
    const bool known = list ? values->n_children == 1 && values->children
                            : values->n_children >= 0 && values->n_children <= CHILDREN_MOST;
    if (!known || depth > DEPTH_MOST || values->dictionary) out->strange = "a column nested in an unknown way";
    if (out->strange || !values->children) return;
    out->children = (int)values->n_children;
    out->child = ARRAY(arena, ArrowField, out->children);
    for (int i = 0; i < out->children; i++) {
        import_field(arena, values->children[i], depth + 1, &out->child[i]);
        if (s->dictionary && out->child[i].encoded) out->strange = "a dictionary inside of a dictionary";
    }
}

void arrow_import_fields(Arena *arena, const struct ArrowSchema *s, ArrowFields *out)
{
    *out = (ArrowFields){ .field = ARRAY(arena, ArrowField, s->n_children), .n = (int)s->n_children };
    for (int i = 0; i < out->n; i++) import_field(arena, s->children[i], 0, &out->field[i]);
}

bool arrow_import_struct(const struct ArrowSchema *s, Err *err)
{
    if (!s->release || !s->format) return fail(err, EF_INVALID_INPUT, "found no schema, wanted one of a struct");
    if (strcmp(s->format, "+s") != 0)
        return fail(err, EF_INVALID_INPUT, "found a schema of the format \"%s\", wanted a struct, whose children are "
                    "the columns", s->format);
    if (s->n_children < 0 || s->n_children > INT32_MAX || (s->n_children && !s->children))
        return fail(err, EF_INVALID_INPUT, "found a schema with %lld columns%s", (long long)s->n_children,
                    s->children ? "" : " and no list of them");
    for (int64_t i = 0; i < s->n_children; i++)
        if (!s->children[i] || !s->children[i]->release || !s->children[i]->format)
            return fail(err, EF_INVALID_INPUT, "found a schema whose column %lld was released", (long long)i);
    return true;
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

/* ---- values ---- */
typedef struct ImportPart {  /* of an array: entries from .. to - 1, counted behind its offset */
    const struct ArrowArray *a;
    int64_t from, to;
} ImportPart;

static bool import_array(Arena *arena, const ArrowField *field, ImportPart part, ArrowColumn *out, Err *err);

static bool import_lacks(const char *what, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "found no %s, wanted one for its entries", what);
}

/* *first, *last: what the offsets of the part begin and end with. */
static bool import_offsets(ImportPart part, ArrowColumn *out, int64_t *first, int64_t *last, Err *err)
{
    const int64_t width = arrow_kinds[out->field->kind].offset, end = part.a->offset + part.to;
    if (!part.a->buffers[1]) return import_lacks("buffer of offsets", err);
    out->offsets = (Str){ part.a->buffers[1], (size_t)((end + 1) * width) };
    *first = *last = arrow_int(out->offsets, part.a->offset + part.from, width, true);
    for (int64_t i = part.a->offset + part.from + 1; i <= end; i++) {
        const int64_t next = arrow_int(out->offsets, i, width, true);
        if (*last < 0 || next < *last)
            return fail(err, EF_INVALID_INPUT, "found the offset %lld behind %lld", (long long)next, (long long)*last);
        *last = next;
    }
    return true;
}

static bool import_bytes(ImportPart part, ArrowColumn *out, Err *err)
{
    int64_t first, last;
    if (!import_offsets(part, out, &first, &last, err)) return false;
    const char *bytes = part.a->buffers[2];
    out->data = (Str){ bytes ? bytes : "", (size_t)last };
    return bytes || last == first || import_lacks("buffer of bytes", err);
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
static bool import_views(Arena *arena, ImportPart part, ArrowColumn *out, Err *err)
{
    const struct ArrowArray *a = part.a;
    const uint8_t *valid = import_valid(a);
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    if (!a->buffers[1]) return import_lacks("buffer of views", err);
    out->data = (Str){ a->buffers[1], (size_t)(a->offset + part.to) * 16 };
    out->n_more = a->n_buffers - 3;
    if (out->n_more && !sizes) return import_lacks("buffer of sizes", err);
    out->more = ARRAY(arena, Str, out->n_more);
    for (int64_t i = 0; i < out->n_more; i++) out->more[i] = (Str){ a->buffers[2 + i], (size_t)MAX(sizes[i], 0) };
    bool ok = true;
    for (int64_t i = a->offset + part.from; ok && i < a->offset + part.to; i++)
        ok = import_is_null(valid, i) || import_view(out, i, err);
    return ok;
}

/* The values of a dictionary, and that every index is one of them. */
static bool import_dictionary(Arena *arena, ImportPart part, ArrowColumn *out, Err *err)
{
    const struct ArrowArray *values = part.a->dictionary;
    const uint8_t *valid = import_valid(part.a);
    const int64_t width = arrow_width(out->field);
    if (!values) return import_lacks("dictionary", err);
    if (!import_counts(values, err)) return within(err, "the dictionary");
    ArrowField *plain = NEW(arena, ArrowField);
    *plain = *out->field;
    plain->encoded = false;
    ArrowValues *all = NEW(arena, ArrowValues);
    *all = (ArrowValues){ .part = NEW(arena, ArrowColumn), .parts = 1, .room = 1, .length = values->length };
    if (!import_array(arena, plain, (ImportPart){ values, 0, values->length }, all->part, err))
        return within(err, "the dictionary");
    out->values = all;
    for (int64_t i = part.a->offset + part.from; i < part.a->offset + part.to; i++) {
        const int64_t index = arrow_int(out->data, i, width, out->field->index_signed);
        if (!import_is_null(valid, i) && (index < 0 || index >= all->length))
            return fail(err, EF_INVALID_INPUT, "found the index %lld in a dictionary of %lld", (long long)index,
                        (long long)all->length);
    }
    return true;
}

static bool import_children(Arena *arena, ImportPart part, int64_t from, int64_t to, ArrowColumn *out, Err *err)
{
    const ArrowField *f = out->field;
    if (part.a->n_children != f->children || (f->children && !part.a->children))
        return fail(err, EF_INVALID_INPUT, "found %lld columns inside, wanted %d as in the schema",
                    (long long)part.a->n_children, f->children);
    out->child = ARRAY(arena, ArrowColumn, f->children);
    for (int i = 0; i < f->children; i++) {
        const struct ArrowArray *child = part.a->children[i];
        const Str name = f->child[i].name;
        if (!child) return import_lacks("column inside", err);
        if (!import_counts(child, err) ||
            !import_array(arena, &f->child[i], (ImportPart){ child, from, to }, &out->child[i], err))
            return within(err, "\"%.*s\"", (int)MIN(name.n, 60), name.p);
    }
    return true;
}

static bool import_fixed_lists(Arena *arena, ImportPart part, ArrowColumn *out, Err *err)
{
    const int64_t size = out->field->param[0], from = part.a->offset + part.from, to = part.a->offset + part.to;
    const bool there = part.a->n_children == 1 && part.a->children && part.a->children[0];
    if (there && size && part.a->children[0]->length / size < to)
        return fail(err, EF_INVALID_INPUT, "found %lld entries for %lld lists of %lld",
                    (long long)part.a->children[0]->length, (long long)to, (long long)size);
    return import_children(arena, part, from * size, to * size, out, err);
}

static bool import_values(Arena *arena, ImportPart part, ArrowColumn *out, Err *err)
{
    const ArrowField *f = out->field;
    const int64_t offset = part.a->offset, width = f->encoded || f->kind != ARROW_BOOL ? arrow_width(f) : 1;
    int64_t first, last;
    switch (f->encoded ? LAYOUT_FIXED : arrow_kinds[f->kind].layout) {
    case LAYOUT_BITS: case LAYOUT_FIXED:
        if (!part.a->buffers[1] && width) return import_lacks("buffer of values", err);
        out->data = (Str){ part.a->buffers[1], (size_t)((offset + part.to) * width) };
        return !f->encoded || import_dictionary(arena, part, out, err);
    case LAYOUT_BYTES: return import_bytes(part, out, err);
    case LAYOUT_VIEWS: return import_views(arena, part, out, err);
    case LAYOUT_LIST:
        return import_offsets(part, out, &first, &last, err) && import_children(arena, part, first, last, out, err);
    default:
        if (f->kind == ARROW_FIXED_LIST) return import_fixed_lists(arena, part, out, err);
        return import_children(arena, part, offset + part.from, offset + part.to, out, err);
    }
}

static bool import_array(Arena *arena, const ArrowField *field, ImportPart part, ArrowColumn *out, Err *err)
{
    static const int buffers[] = { [LAYOUT_BITS] = 2, [LAYOUT_FIXED] = 2, [LAYOUT_BYTES] = 3, [LAYOUT_VIEWS] = 3,
                                   [LAYOUT_LIST] = 2, [LAYOUT_CHILDREN] = 1 };
    const struct ArrowArray *a = part.a;
    const ArrowLayout layout = field->encoded ? LAYOUT_FIXED : arrow_kinds[field->kind].layout;
    *out = (ArrowColumn){ .field = field, .length = part.to, .from = a->offset };
    if (part.to > a->length)
        return fail(err, EF_INVALID_INPUT, "found %lld entries, wanted %lld", (long long)a->length, (long long)part.to);
    if (layout == LAYOUT_NONE || part.from >= part.to) return true;
    if (layout == LAYOUT_VIEWS ? a->n_buffers < buffers[layout] : a->n_buffers != buffers[layout])
        return fail(err, EF_INVALID_INPUT, "found %lld buffers, wanted %d%s", (long long)a->n_buffers, buffers[layout],
                    layout == LAYOUT_VIEWS ? " or more" : "");
    if (a->null_count > 0 && !a->buffers[0]) return import_lacks("buffer of validity, but nulls", err);
    if (import_valid(a)) out->valid = (Str){ a->buffers[0], (size_t)(a->offset + part.to + 7) / 8 };
    return import_values(arena, part, out, err);
}

bool arrow_import_column(Arena *arena, const ArrowField *field, const struct ArrowArray *batch, int64_t index,
                         ArrowColumn *out, Err *err)
{
    const ImportPart part = { batch->children[index], batch->offset, batch->offset + batch->length };
    if (!import_array(arena, field, part, out, err)) return within(err, "column \"%.*s\"", STR_ARG(field->name));
    out->from += batch->offset;
    return true;
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
