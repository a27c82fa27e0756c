/* SPDX-License-Identifier: Apache-2.0
 * parquet_read.c - row groups to batches. Each leaf of a wanted column gives its values and levels for some rows;
 * the first leaf below a list or a struct also says which entries of that are there. */
#include "arrow_kinds.h"
#include "base/bytes.h"
#include "parquet.h"
#include "parquet_chunk.h"
#include "parquet_told.h"

enum { BATCH_ROWS = 4096, BATCH_BYTES = 8 << 20, STEP_ROWS = 64 };
enum { ITEMS_MOST = 1 << 24 }; /* of lists in a batch: levels may say any number in a few bytes */
enum { PATH_MOST = 2 * PARQUET_DEPTH + 2 };

typedef struct ParquetSlot ParquetSlot;
struct ParquetSlot {         /* entries of a part, for the batch at hand */
    const ParquetPart *part;
    int64_t length, nulls;
    Buf valid;               /* bits; of parts that may be null */
    Buf offset;              /* of lists: where each entry begins */
    int64_t items;
    ParquetRaw raw;          /* of leaves */
    ParquetSlot *child;
    bool taken;              /* a leaf fills it */
};
typedef struct ParquetLeaf {
    ParquetChunk chunk;
    const ParquetNode *node;
    const ParquetColumn *column;
    ParquetSlot *path[PATH_MOST]; /* from the column to the leaf's own */
    int above[PATH_MOST];    /* lists above each of these */
    int n, own;              /* of these; the first that no other leaf has filled */
    int item[PATH_MOST];     /* [node->repeated + 1] of each list: level from which there is an item; before that 0 */
    int last;                /* definition level of the entry before, of the same row */
    size_t pending;          /* values that are due to be taken */
} ParquetLeaf;

typedef struct ParquetReader {
    BatchReader base;
    Arena *arena;
    Str file;
    ParquetSchema schema;
    ParquetLeaf **leaf;      /* [schema.leaves]; NULL: not wanted */
    ParquetSlot **slot;      /* [schema.fields.n]; NULL: not wanted */
    Thrift groups;           /* those to come */
    ThriftField group_item;
    uint32_t groups_left;
    int group;               /* the one at hand, from 1 */
    int64_t rows_left, rows, rows_done; /* of it; of the file */
    bool packed;             /* by pyarrow before 3.0, whose pages of version 2 are, though they deny it */
} ParquetReader;

/* ---- entries ---- */
static void slot_mark(ParquetSlot *s, bool there)
{
    const int64_t i = s->length++;
    if (!s->part->field->nullable) return;
    if ((i & 7) == 0) buf_char(&s->valid, 0);
    if (there) s->valid.p[i >> 3] |= (char)(1 << (i & 7));
    else s->nulls++;
}

static bool leaf_flush(ParquetLeaf *l, Err *err)
{
    const size_t n = l->pending;
    l->pending = 0;
    return parquet_values_take(&l->chunk.values, &l->path[l->n - 1]->raw, n, err);
}

/* What stands above the values: structs and lists. Each has an entry where the lists above it have another item. */
static void leaf_above(ParquetLeaf *l, int rep, int def)
{
    for (int k = l->own; k < l->n - 1; k++) {
        ParquetSlot *s = l->path[k];
        const int above = l->above[k], item = s->part->item;
        if (rep <= above && def >= l->item[above]) {
            if (item) buf_add(&s->offset, &(int32_t){ (int32_t)s->items }, sizeof(int32_t));
            slot_mark(s, def >= s->part->there);
        }
        if (item && rep <= above + 1 && def >= item) s->items++;
    }
}

static bool leaf_entry(ParquetLeaf *l, int rep, int def, Err *err)
{
    ParquetSlot *own = l->path[l->n - 1];
    if (l->n > 1) leaf_above(l, rep, def);
    if (def < l->item[l->node->repeated]) return true; /* no item, no value */
    const bool there = def == l->node->defined;
    slot_mark(own, there);
    l->pending += there;
    if (there) return true;
    if (!leaf_flush(l, err)) return false;
    parquet_raw_null(&own->raw, l->node, 1);
    return true;
}

/* Entries of the levels at hand until `rows` have begun and another would. */
static bool leaf_levels(ParquetLeaf *l, size_t rows, size_t *done, Err *err)
{
    ParquetChunk *c = &l->chunk;
    for (; c->level < c->levels; c->level++) {
        const int rep = c->rep[c->level], def = c->def[c->level];
        if (rep == 0 && *done == rows) break;
        if (rep && (*done == 0 || (l->last < l->item[rep] && def >= l->item[rep])))
            return fail(err, EF_INVALID_INPUT, "found an item without its list");
        if (rep && def < l->item[rep]) continue; /* DuckDB: a null FLOAT[3] has three entries; the others say nothing */
        *done += rep == 0;
        l->last = def;
        if (!leaf_entry(l, rep, def, err)) return false;
    }
    return leaf_flush(l, err);
}

static bool leaf_fits(const ParquetLeaf *l, Err *err)
{
    for (int k = l->own; k < l->n; k++)
        if (l->path[k]->length > ITEMS_MOST)
            return fail(err, EF_TOO_LARGE, "found lists of more than %d items in a few rows", ITEMS_MOST);
    return true;
}

static bool leaf_rows(ParquetLeaf *l, size_t rows, Err *err)
{
    ParquetChunk *c = &l->chunk;
    size_t done = 0;
    for (bool more = true; more;) {
        if (c->level == c->levels) {
            if (done == rows && l->node->repeated == 0) break;
            if (!parquet_chunk_levels(c, &more, err)) return false;
        }
        if (!leaf_levels(l, rows, &done, err)) return false;
        if (c->level < c->levels) break;
        if (!leaf_fits(l, err)) return false;
    }
    return done == rows || fail(err, EF_INVALID_INPUT, "found fewer rows than the row group has");
}

static bool leaf_within(const ParquetReader *r, const ParquetLeaf *l, Err *err)
{
    return within(err, "Parquet: column \"%.*s\", row group %d", (int)MIN(l->column->part.field->name.n, 60),
                  l->column->part.field->name.p, r->group);
}

/* ---- what is wanted ---- */
static void reader_leaf(ParquetReader *r, const ParquetColumn *column, const ParquetPart *part, ParquetSlot **path,
                        int n)
{
    ParquetLeaf *l = r->leaf[part->leaf->leaf] = NEW(r->arena, ParquetLeaf);
    l->node = part->leaf, l->column = column, l->n = n;
    memcpy(l->path, path, (size_t)n * sizeof *path);
    while (path[l->own]->taken) l->own++;
    for (int k = 0, lists = 0; k < n; k++) {
        path[k]->taken = true;
        l->above[k] = lists;
        if (path[k]->part->item) l->item[++lists] = path[k]->part->item;
    }
}

static void reader_slot(ParquetReader *r, const ParquetColumn *column, const ParquetPart *part, ParquetSlot **path,
                        int n)
{
    ParquetSlot *s = path[n - 1];
    s->part = part;
    if (part->leaf) return reader_leaf(r, column, part, path, n);
    s->child = ARRAY(r->arena, ParquetSlot, part->field->children);
    for (int i = 0; i < part->field->children; i++) {
        path[n] = &s->child[i];
        reader_slot(r, column, &part->child[i], path, n + 1);
    }
}

static void parquet_want(BatchReader *base, int column)
{
    ParquetReader *r = (ParquetReader *)base;
    ParquetSlot *path[PATH_MOST];
    const ParquetColumn *c = &r->schema.column[column];
    if (r->slot[column]) return;
    path[0] = r->slot[column] = NEW(r->arena, ParquetSlot);
    path[0]->part = &c->part;
    if (!c->part.field->strange) reader_slot(r, c, &c->part, path, 1);
}

/* ---- a batch ---- */
static void slot_begin(ParquetSlot *s)
{
    s->length = s->nulls = s->items = 0;
    s->valid.n = s->offset.n = 0;
    if (s->part->leaf) parquet_raw_begin(&s->raw, s->part->leaf);
    for (int i = 0; s->child && i < s->part->field->children; i++) slot_begin(&s->child[i]);
}

static Str slot_copy(Arena *arena, const Buf *b)
{
    char *p = arena_raw(arena, MAX(b->n, 1));
    if (b->n) memcpy(p, b->p, b->n);
    return (Str){ p, b->n };
}

/* Big endian of `from` bytes, signed, to little endian of `to` bytes. */
static void decimal_turn(const char *in, size_t from, char *out, size_t to)
{
    const char fill = from && (signed char)in[0] < 0 ? (char)0xff : 0;
    for (size_t i = 0; i < to; i++) out[i] = i < from ? in[from - 1 - i] : fill;
}

static bool slot_decimal(Arena *arena, const ParquetSlot *s, ArrowColumn *a, Err *err)
{
    const ParquetNode *leaf = s->part->leaf;
    const size_t to = (size_t)arrow_width(s->part->field), n = (size_t)s->length;
    char *out = arena_raw(arena, MAX(n * to, 1));
    const int32_t *offset = (const int32_t *)s->raw.offset.p;
    for (size_t i = 0; i < n; i++) {
        const size_t at = leaf->width ? i * (size_t)leaf->width : (size_t)offset[i];
        const size_t from = leaf->width ? (size_t)leaf->width : (size_t)(offset[i + 1] - offset[i]);
        const char *in = s->raw.data.p + at;
        if (from > to) return fail(err, EF_INVALID_INPUT, "found a decimal of %zu bytes, wanted %zu", from, to);
        if (leaf->type == PARQUET_BYTES || leaf->type == PARQUET_FIXED) decimal_turn(in, from, out + i * to, to);
        else memset(memcpy(out + i * to, in, from) + from, (signed char)in[from - 1] < 0 ? 0xff : 0, to - from);
    }
    a->data = (Str){ out, n * to };
    return true;
}

static void slot_narrow(Arena *arena, const ParquetSlot *s, ArrowColumn *a)
{
    const size_t from = (size_t)s->part->leaf->width, to = (size_t)arrow_width(s->part->field), n = (size_t)s->length;
    char *out = arena_raw(arena, MAX(n * to, 1));
    for (size_t i = 0; i < n; i++) memcpy(out + i * to, s->raw.data.p + i * from, to);
    a->data = (Str){ out, n * to };
}

/* The time of the day in nanoseconds and the day, counted as Julian ones, to microseconds since 1970. */
static bool slot_instants(Arena *arena, const ParquetSlot *s, ArrowColumn *a, Err *err)
{
    enum { FROM = 12, TO = 8, JULIAN_1970 = 2440588, THOUSAND = 1000 };
    static const int64_t day_us = 86400000000;
    const size_t n = (size_t)s->length;
    char *out = arena_alloc(arena, MAX(n * TO, 1));
    for (size_t i = 0; i < n; i++) {
        if (s->nulls && !(s->valid.p[i >> 3] >> (i & 7) & 1)) continue;
        const uint8_t *p = (const uint8_t *)s->raw.data.p + i * FROM;
        const int64_t ns = (int64_t)(le32(p) | (uint64_t)le32(p + 4) << 32), day = (int32_t)le32(p + 8);
        int64_t us;
        if (__builtin_mul_overflow(day - JULIAN_1970, day_us, &us) || __builtin_add_overflow(us, ns / THOUSAND, &us))
            return fail(err, EF_INVALID_INPUT, "found a timestamp of INT96 on the Julian day %lld", (long long)day);
        memcpy(out + i * TO, &us, TO);
    }
    a->data = (Str){ out, n * TO };
    return true;
}

static void slot_bits(Arena *arena, const ParquetSlot *s, ArrowColumn *a)
{
    const size_t n = (size_t)(s->length + 7) / 8;
    char *out = arena_alloc(arena, MAX(n, 1));
    for (int64_t i = 0; i < s->length; i++) out[i >> 3] |= (char)((s->raw.data.p[i] & 1) << (i & 7));
    a->data = (Str){ out, n };
}

static bool slot_values(Arena *arena, const ParquetSlot *s, ArrowColumn *a, Err *err)
{
    const ParquetNode *leaf = s->part->leaf;
    if (a->field->kind == ARROW_DECIMAL) return slot_decimal(arena, s, a, err);
    if (a->field->kind == ARROW_BOOL) return slot_bits(arena, s, a), true;
    if (leaf->type == PARQUET_INT96) return slot_instants(arena, s, a, err);
    if (leaf->width && arrow_width(a->field) < leaf->width) return slot_narrow(arena, s, a), true;
    a->data = slot_copy(arena, &s->raw.data);
    if (!leaf->width) a->offsets = slot_copy(arena, &s->raw.offset);
    return true;
}

static bool slot_column(Arena *arena, ParquetSlot *s, ArrowColumn *a, Err *err)
{
    const ArrowField *f = s->part->field;
    *a = (ArrowColumn){ .field = f, .length = s->length, .nulls = s->nulls };
    if (s->nulls) a->valid = slot_copy(arena, &s->valid);
    if (s->part->leaf) return slot_values(arena, s, a, err);
    if (s->part->item) {
        buf_add(&s->offset, &(int32_t){ (int32_t)s->items }, sizeof(int32_t));
        a->offsets = slot_copy(arena, &s->offset);
    }
    a->child = ARRAY(arena, ArrowColumn, f->children);
    for (int i = 0; i < f->children; i++) {
        const int64_t wanted = s->part->item ? s->items : s->length;
        if (!slot_column(arena, &s->child[i], &a->child[i], err)) return false;
        if (a->child[i].length != wanted)
            return fail(err, EF_INVALID_INPUT, "found members of one struct or list that are not as many");
    }
    return true;
}

/* ---- row groups ---- */
static bool reader_columns(ParquetReader *r, Thrift *t, const ThriftField *list, Err *err)
{
    ThriftField item;
    const uint32_t n = thrift_list(t, list, &item);
    if (n != (uint32_t)r->schema.leaves && !t->broken)
        return fail(err, EF_INVALID_INPUT, "Parquet: row group %d: found %u columns, wanted %d as in the schema",
                    r->group, n, r->schema.leaves);
    for (uint32_t i = 0; i < n && !t->broken; i++) {
        ParquetLeaf *l = r->leaf[i];
        if (l) l->chunk.forget = r->base.forget, l->chunk.packed = r->packed;
        if (!l) thrift_skip(t, &item);
        else if (!parquet_chunk_open(&l->chunk, l->node, r->file, t, &item, err)) return leaf_within(r, l, err);
    }
    return true;
}

/* what: that should be there */
static bool footer_broken(const ParquetReader *r, const Thrift *t, const char *what, Err *err)
{
    return fail(err, EF_INVALID_INPUT, "Parquet: byte %zu, in the footer: found damaged bytes, wanted %s",
                (size_t)((const char *)t->in.p - r->file.p), what);
}

static bool reader_group(ParquetReader *r, Err *err)
{
    Thrift *t = &r->groups;
    bool columns = false;
    r->groups_left--;
    r->group++;
    r->rows_left = -1;
    if (thrift_struct(t, &r->group_item))
        for (ThriftField f = { 0 }; thrift_next(t, &f);) {
            if (f.id == 1) columns = reader_columns(r, t, &f, err);
            if (f.id == 1 && !columns) return false;
            if (f.id == 3) r->rows_left = thrift_int(t, &f);
            else if (f.id != 1) thrift_skip(t, &f);
        }
    if (t->broken) return footer_broken(r, t, "a row group", err);
    if (!columns) return fail(err, EF_INVALID_INPUT, "Parquet: row group %d: found no columns in the footer", r->group);
    return (r->rows_left >= 0 && r->rows_left <= INT64_MAX - r->rows_done) ||
           fail(err, EF_INVALID_INPUT, "Parquet: row group %d: found %lld rows in the footer", r->group,
                (long long)r->rows_left);
}

/* Columns that end later than their row group have rows that belong nowhere. */
static bool reader_group_end(ParquetReader *r, Err *err)
{
    for (int i = 0; i < r->schema.leaves; i++) {
        ParquetLeaf *l = r->leaf[i];
        bool more = true;
        if (!l) continue;
        if (l->chunk.level == l->chunk.levels && !parquet_chunk_levels(&l->chunk, &more, err))
            return leaf_within(r, l, err);
        if (!more) continue;
        fail(err, EF_INVALID_INPUT, "found more rows than the row group has");
        return leaf_within(r, l, err);
    }
    return true;
}

static size_t leaf_bytes(const ParquetLeaf *l)
{
    const ParquetSlot *s = l->path[l->n - 1];
    return s->raw.data.n + s->raw.offset.n;
}

/* Few rows at first: they may be large. */
static bool reader_rows(ParquetReader *r, int64_t *rows, Err *err)
{
    const int64_t most = MIN(BATCH_ROWS, r->rows_left);
    size_t bytes = 0;
    for (int64_t step = 1; *rows < most && bytes < BATCH_BYTES; step = MIN(2 * step, STEP_ROWS)) {
        const int64_t n = MIN(step, most - *rows);
        bytes = 0;
        for (int i = 0; i < r->schema.leaves; i++) {
            ParquetLeaf *l = r->leaf[i];
            if (!l) continue;
            if (!leaf_rows(l, (size_t)n, err)) return leaf_within(r, l, err);
            bytes += leaf_bytes(l);
        }
        *rows += n;
    }
    return true;
}

static bool reader_refused(const ParquetReader *r, Err *err)
{
    for (int i = 0; i < r->schema.fields.n; i++) {
        const ArrowField *f = &r->schema.fields.field[i];
        if (r->slot[i] && f->strange)
            return fail(err, EF_UNSUPPORTED, "Parquet: column \"%.*s\": found %s, which is not read",
                        (int)MIN(f->name.n, 60), f->name.p, f->strange);
    }
    return true;
}

static bool reader_batch(ParquetReader *r, Arena *arena, ArrowBatch *out, Err *err)
{
    for (int i = 0; i < r->schema.fields.n; i++)
        if (r->slot[i]) slot_begin(r->slot[i]);
    *out = (ArrowBatch){ .column = ARRAY(arena, ArrowColumn, r->schema.fields.n) };
    if (!reader_rows(r, &out->rows, err)) return false;
    for (int i = 0; i < r->schema.fields.n; i++) {
        out->column[i] = (ArrowColumn){ .field = &r->schema.fields.field[i] };
        if (r->slot[i] && !slot_column(arena, r->slot[i], &out->column[i], err))
            return within(err, "Parquet: column \"%.*s\", row group %d", (int)MIN(r->slot[i]->part->field->name.n, 60),
                          r->slot[i]->part->field->name.p, r->group);
    }
    for (int i = 0; i < r->schema.leaves; i++)
        if (r->leaf[i]) parquet_chunk_rest(&r->leaf[i]->chunk);
    r->rows_left -= out->rows, r->rows_done += out->rows;
    out->end = (size_t)((double)r->file.n * ((double)r->rows_done / (double)MAX(r->rows, r->rows_done)));
    return r->rows_left > 0 || reader_group_end(r, err);
}

static bool parquet_next(BatchReader *base, Arena *arena, ArrowBatch *out, bool *more, Err *err)
{
    ParquetReader *r = (ParquetReader *)base;
    if (!reader_refused(r, err)) return false;
    while (r->rows_left == 0) {
        *more = r->groups_left > 0;
        if (!*more) return true;
        if (!reader_group(r, err)) return false;
    }
    return *more = true, reader_batch(r, arena, out, err);
}

/* ---- opening ---- */
static void slot_free(ParquetSlot *s)
{
    buf_free(&s->valid);
    buf_free(&s->offset);
    parquet_raw_free(&s->raw);
    for (int i = 0; s->child && i < s->part->field->children; i++) slot_free(&s->child[i]);
}

static void parquet_close(BatchReader *base)
{
    ParquetReader *r = (ParquetReader *)base;
    if (!r->leaf) return; /* it was not opened */
    for (int i = 0; i < r->schema.leaves; i++)
        if (r->leaf[i]) parquet_chunk_free(&r->leaf[i]->chunk);
    for (int i = 0; i < r->schema.fields.n; i++)
        if (r->slot[i]) slot_free(r->slot[i]);
}

static void footer_groups(ParquetReader *r, Thrift *t, const ThriftField *f)
{
    ThriftField item;
    const uint32_t n = thrift_list(t, f, &item);
    r->groups = *t, r->groups_left = n, r->group_item = item;
    for (uint32_t i = 0; i < n && !t->broken; i++) thrift_skip(t, &item);
}

/* The value that has the key, of the list of pairs. */
static Str footer_value(Thrift *t, const ThriftField *list, const char *wanted)
{
    ThriftField item;
    Str found = { 0 };
    for (uint32_t n = thrift_list(t, list, &item); n && !t->broken; n--) {
        Str key = { 0 }, value = { 0 };
        if (!thrift_struct(t, &item)) break;
        for (ThriftField f = { 0 }; thrift_next(t, &f);)
            if (f.id == 1) key = thrift_bytes(t, &f);
            else if (f.id == 2) value = thrift_bytes(t, &f);
            else thrift_skip(t, &f);
        if (str_is(key, wanted)) found = value;
    }
    return found;
}

/* Where single columns are encrypted, their chunks say so. */
static bool parquet_footer(ParquetReader *r, Str footer, Err *err)
{
    Thrift t = thrift_over(footer);
    Str told = { 0 };
    static const char *const parts[] = { "its fields", "its version", "the schema", "the number of rows", "row groups",
                                         "metadata", "its writer" };
    size_t part = 0;
    for (ThriftField f = { 0 }; thrift_next(&t, &f);) {
        part = f.id > 0 && (size_t)f.id < COUNT(parts) ? (size_t)f.id : 0;
        if (f.id == 2 && !r->schema.column && !parquet_read_schema(r->arena, &t, &f, &r->schema, err))
            return t.broken ? footer_broken(r, &t, parts[part], err) : false;
        if (f.id == 3) r->rows = thrift_int(&t, &f);
        else if (f.id == 4) footer_groups(r, &t, &f);
        else if (f.id == 5) told = footer_value(&t, &f, PARQUET_TOLD);
        else if (f.id == 6) r->packed = str_starts(thrift_bytes(&t, &f), "parquet-cpp version 1.");
        else if (f.id != 2) thrift_skip(&t, &f);
    }
    if (t.broken) return footer_broken(r, &t, parts[part], err);
    if (!r->schema.column) return fail(err, EF_INVALID_INPUT, "Parquet: found a footer without a schema");
    parquet_told_read(r->arena, told, &r->schema.fields);
    return true;
}

bool parquet_open_file(Arena *arena, Str file, BatchReader **out, Err *err)
{
    enum { HEAD = 4, TAIL = 8 };
    ParquetReader *r = NEW(arena, ParquetReader);
    *r = (ParquetReader){ .base = { .want = parquet_want, .next = parquet_next, .close = parquet_close },
                          .arena = arena, .file = file };
    *out = &r->base;
    r->base.fields = &r->schema.fields;
    if (str_starts(file, "PARE"))
        return fail(err, EF_UNSUPPORTED, "Parquet: found a file whose footer is encrypted, which is not read");
    if (file.n < HEAD + TAIL || !str_starts(file, "PAR1") || !str_ends(file, "PAR1"))
        return fail(err, EF_INVALID_INPUT, "Parquet: found a file without its end, wanted PAR1 there: it was not "
                    "written whole");
    const size_t n = le32((const uint8_t *)file.p + file.n - TAIL);
    if (n > file.n - HEAD - TAIL)
        return fail(err, EF_INVALID_INPUT, "Parquet: found a footer that is larger than the file");
    if (!parquet_footer(r, (Str){ file.p + file.n - TAIL - n, n }, err)) return false;
    r->slot = ARRAY(arena, ParquetSlot *, r->schema.fields.n);
    r->leaf = ARRAY(arena, ParquetLeaf *, r->schema.leaves);
    return true;
}
