/* SPDX-License-Identifier: Apache-2.0
 * parquet_write.c - batches to row groups. Where a page or a row group ends depends on the rows alone, not on the
 * batches they came in: equal rows give equal files.
 *
 * A leaf's values are PLAIN; its levels are runs. Pages end near 1 MiB, between two rows; row groups near 64 MiB. */
#include <zlib.h>

#include "arrow_kinds.h"
#include "gzip.h"
#include "parquet.h"
#include "parquet_kinds.h"
#include "parquet_told.h"

enum { PAGE_BYTES = 1 << 20, GROUP_BYTES = 64 << 20, GROUP_ROWS = 1 << 20, CHECK_ROWS = 64 };
enum { LEAF_DEPTH = 2 * PARQUET_DEPTH };
enum { CODEC_PLAIN = 0, CODEC_GZIP = 2, ENCODED_AS_PLAIN = 0, ENCODED_AS_RUNS = 3 };

typedef struct LevelRuns {
    Buf done;
    int level;               /* of the run at hand */
    uint64_t n;
} LevelRuns;
typedef struct WriteLeaf {
    ParquetKind kind;
    int step[LEAF_DEPTH];    /* from the column: which child of each struct */
    int column;
    const Str *path;         /* names of its elements */
    int names;
    int lists;               /* levels of repetition */
    int defined;             /* level of what is there */
    /* the page at hand */
    Buf values;
    size_t bits;             /* of booleans */
    LevelRuns rep, def;
    int64_t entries, nulls, page_entries;
    bool lacks;              /* there was a null where its type has none */
    Buf chunk;               /* pages that are done */
    int64_t unpacked;
} WriteLeaf;

typedef struct ParquetWriter {
    BatchWriter base;
    Arena *arena;
    const ArrowFields *fields;
    BatchOut out;
    WriteLeaf *leaf;
    int leaves;
    uint64_t at;             /* bytes that were put */
    int64_t rows, group_rows;
    Buf elements, groups;    /* the schema; row groups that are done */
    uint32_t n_elements, n_groups;
} ParquetWriter;

static bool writer_put(ParquetWriter *w, Str bytes, Err *err)
{
    w->at += bytes.n;
    return bytes.n == 0 || w->out.put(w->out.context, bytes, err);
}

/* ---- levels ---- */
static void runs_close(LevelRuns *r)
{
    if (!r->n) return;
    wire_put_varint(&r->done, r->n << 1);
    buf_char(&r->done, (char)r->level);
    r->n = 0;
}

static void runs_add(LevelRuns *r, int level, uint64_t n)
{
    if (r->n && level != r->level) runs_close(r);
    r->level = level;
    r->n += n;
}

static void runs_take(LevelRuns *r, Buf *to)
{
    runs_close(r);
    const uint32_t n = (uint32_t)r->done.n;
    buf_add(to, &n, sizeof n);
    buf_str(to, buf_view(&r->done));
    r->done.n = 0;
}

/* ---- pages ---- */
static void page_header(Buf *to, const WriteLeaf *l, size_t unpacked, Str stored)
{
    int last = 0, inner = 0;
    thrift_put_int(to, &last, 1, THRIFT_I32, 0); /* a page of data, version 1 */
    thrift_put_int(to, &last, 2, THRIFT_I32, (int64_t)unpacked);
    thrift_put_int(to, &last, 3, THRIFT_I32, (int64_t)stored.n);
    thrift_put_int(to, &last, 4, THRIFT_I32, (int32_t)crc32_z(0, (const Bytef *)stored.p, stored.n));
    thrift_put_struct(to, &last, 5);
    thrift_put_int(to, &inner, 1, THRIFT_I32, l->page_entries);
    thrift_put_int(to, &inner, 2, THRIFT_I32, ENCODED_AS_PLAIN);
    thrift_put_int(to, &inner, 3, THRIFT_I32, ENCODED_AS_RUNS);
    thrift_put_int(to, &inner, 4, THRIFT_I32, ENCODED_AS_RUNS);
    thrift_put_stop(to);
    thrift_put_stop(to);
}

static bool page_end(ParquetWriter *w, WriteLeaf *l, Err *err)
{
    Buf page = { 0 }, packed = { 0 };
    if (l->page_entries == 0) return true;
    if (l->lists) runs_take(&l->rep, &page);
    if (l->defined) runs_take(&l->def, &page);
    buf_str(&page, buf_view(&l->values));
    const bool fits = page.n < INT32_MAX;
    if (fits && w->out.gzip) gzip_pack(&packed, buf_view(&page), GZIP_FAST);
    const Str stored = buf_view(w->out.gzip ? &packed : &page);
    const size_t before = l->chunk.n;
    if (fits) page_header(&l->chunk, l, page.n, stored);
    l->unpacked += (int64_t)(l->chunk.n - before + page.n);
    if (fits) buf_str(&l->chunk, stored);
    l->values.n = 0, l->bits = 0, l->page_entries = 0;
    buf_free(&page);
    buf_free(&packed);
    return fits || fail(err, EF_TOO_LARGE, "Parquet: column \"%.*s\": found a row of more than 2 GiB",
                        (int)MIN(l->path[0].n, 60), l->path[0].p);
}

/* ---- entries ---- */
static bool entry_there(const ArrowColumn *a, int64_t i)
{
    if (a->field->kind == ARROW_NULL && !a->values) return false;
    return !a->valid.n || (a->valid.p[i >> 3] >> (i & 7) & 1);
}

static void entry_levels(WriteLeaf *l, int rep, int def, uint64_t n)
{
    if (l->lists) runs_add(&l->rep, rep, n);
    if (l->defined) runs_add(&l->def, def, n);
    l->page_entries += (int64_t)n, l->entries += (int64_t)n;
    if (def < l->defined) l->nulls += (int64_t)n;
}

static void entry_bit(WriteLeaf *l, const ArrowColumn *a, int64_t i)
{
    if ((l->bits & 7) == 0) buf_char(&l->values, 0);
    if (a->data.p[i >> 3] >> (i & 7) & 1) l->values.p[l->bits >> 3] |= (char)(1 << (l->bits & 7));
    l->bits++;
}

/* The values of a dictionary stand for their indexes. */
static const ArrowColumn *entry_value(const ArrowColumn *a, int64_t *i)
{
    if (!a->values) return a;
    int64_t index = arrow_int(a->data, *i, arrow_width(a->field), a->field->index_signed);
    const ArrowColumn *part = a->values->part;
    for (; index >= part->length; part++) index -= part->length;
    *i = index;
    return part;
}

static bool is_nullable(const ArrowField *f)
{
    return f->nullable || f->encoded || f->kind == ARROW_NULL;
}

static void entry_put(WriteLeaf *l, const ArrowColumn *a, int64_t i)
{
    if (l->kind.type == PARQUET_BOOLEAN) entry_bit(l, a, i);
    else l->kind.put(&l->values, a, i);
}

static void entry_leaf(WriteLeaf *l, const ArrowColumn *a, int64_t i, int rep, int def)
{
    if (is_nullable(a->field)) {
        const bool there = entry_there(a, i);
        if (there) a = entry_value(a, &i);
        if (!there || !entry_there(a, i)) return entry_levels(l, rep, def, 1);
        def++;
    }
    l->lacks |= !entry_there(a, i);
    entry_levels(l, rep, def, 1);
    entry_put(l, a, i);
}

typedef struct WriteAt { /* where an entry stands */
    int step;                /* structs above it */
    int lists;               /* lists above it */
    int rep, def;            /* its levels so far */
} WriteAt;

static void entry_below(WriteLeaf *l, WriteAt at, const ArrowColumn *a, int64_t i);

static void entry_span(const ArrowColumn *a, int64_t i, int64_t *from, int64_t *to)
{
    const int bytes = arrow_kinds[a->field->kind].offset;
    const int64_t size = a->field->param[0];
    *from = bytes ? arrow_int(a->offsets, i, bytes, true) : i * size;
    *to = bytes ? arrow_int(a->offsets, i + 1, bytes, true) : (i + 1) * size;
}

/* The leaf's own column below the items of a list, if all of its values are there; else NULL. */
static const ArrowColumn *entry_whole(const WriteLeaf *l, int step, const ArrowColumn *items)
{
    while (items->field->kind == ARROW_STRUCT && !is_nullable(items->field) && !items->valid.n)
        items = &items->child[l->step[step++]];
    return items->field->children || is_nullable(items->field) || items->valid.n ? NULL : items;
}

static void entry_values(WriteLeaf *l, const ArrowColumn *a, int64_t from, int64_t to)
{
    const size_t width = (size_t)arrow_width(a->field);
    if (l->kind.as_it_is)
        return buf_add(&l->values, a->data.p + (size_t)from * width, (size_t)(to - from) * width);
    for (int64_t i = from; i < to; i++) entry_put(l, a, i);
}

static void entry_list(WriteLeaf *l, WriteAt at, const ArrowColumn *a, int64_t i)
{
    int64_t from, to;
    const ArrowColumn *items = &a->child[0], *whole = entry_whole(l, at.step, items);
    entry_span(a, i, &from, &to);
    if (from == to) return entry_levels(l, at.rep, at.def, 1);
    at.def++, at.lists++;
    if (whole) {
        entry_levels(l, at.rep, at.def, 1);
        if (to - from > 1) entry_levels(l, at.lists, at.def, (uint64_t)(to - from - 1));
        return entry_values(l, whole, from, to);
    }
    for (int64_t k = from; k < to; k++, at.rep = at.lists) entry_below(l, at, items, k);
}

/* Entry i of a column that is the leaf's own or above it. */
static void entry_below(WriteLeaf *l, WriteAt at, const ArrowColumn *a, int64_t i)
{
    const ArrowField *f = a->field;
    const bool list = f->kind == ARROW_FIXED_LIST || arrow_kinds[f->kind].layout == LAYOUT_LIST;
    if (!list && f->kind != ARROW_STRUCT) return entry_leaf(l, a, i, at.rep, at.def);
    const bool there = entry_there(a, i);
    if (is_nullable(f)) {
        if (!there) return entry_levels(l, at.rep, at.def, 1);
        at.def++;
    }
    l->lacks |= !there;
    if (list) return entry_list(l, at, a, i);
    const ArrowColumn *member = &a->child[l->step[at.step++]];
    entry_below(l, at, member, i);
}

/* ---- row groups ---- */
static void chunk_describe(Buf *to, const ParquetWriter *w, const WriteLeaf *l)
{
    int last = 0, in = 0, deep = 0;
    thrift_put_int(to, &last, 2, THRIFT_I64, 0);
    thrift_put_struct(to, &last, 3);
    thrift_put_int(to, &in, 1, THRIFT_I32, l->kind.type);
    thrift_put_list(to, &in, 2, THRIFT_I32, 2);
    thrift_put_item_int(to, ENCODED_AS_PLAIN);
    thrift_put_item_int(to, ENCODED_AS_RUNS);
    thrift_put_list(to, &in, 3, THRIFT_BYTES, (size_t)l->names);
    for (int i = 0; i < l->names; i++) thrift_put_item_bytes(to, l->path[i]);
    thrift_put_int(to, &in, 4, THRIFT_I32, w->out.gzip ? CODEC_GZIP : CODEC_PLAIN);
    thrift_put_int(to, &in, 5, THRIFT_I64, l->entries);
    thrift_put_int(to, &in, 6, THRIFT_I64, l->unpacked);
    thrift_put_int(to, &in, 7, THRIFT_I64, (int64_t)l->chunk.n);
    thrift_put_int(to, &in, 9, THRIFT_I64, (int64_t)w->at);
    thrift_put_struct(to, &in, 12);
    thrift_put_int(to, &deep, 3, THRIFT_I64, l->nulls);
    for (int i = 0; i < 3; i++) thrift_put_stop(to);
}

static bool group_end(ParquetWriter *w, Err *err)
{
    int last = 0;
    int64_t bytes = 0;
    if (w->group_rows == 0) return true;
    thrift_put_list(&w->groups, &last, 1, THRIFT_STRUCT, (size_t)w->leaves);
    for (int i = 0; i < w->leaves; i++) {
        WriteLeaf *l = &w->leaf[i];
        if (!page_end(w, l, err)) return false;
        chunk_describe(&w->groups, w, l);
        if (!writer_put(w, buf_view(&l->chunk), err)) return false;
        bytes += l->unpacked;
        l->chunk.n = 0, l->entries = l->nulls = l->unpacked = 0;
    }
    thrift_put_int(&w->groups, &last, 2, THRIFT_I64, bytes);
    thrift_put_int(&w->groups, &last, 3, THRIFT_I64, w->group_rows);
    thrift_put_stop(&w->groups);
    w->n_groups++;
    w->rows += w->group_rows;
    w->group_rows = 0;
    return true;
}

static bool leaf_add(ParquetWriter *w, WriteLeaf *l, const ArrowBatch *b, int64_t from, int64_t to, Err *err)
{
    for (int64_t i = from; i < to; i++) {
        entry_below(l, (WriteAt){ 0 }, &b->column[l->column], i);
        if (l->values.n + l->def.done.n + l->rep.done.n >= PAGE_BYTES && !page_end(w, l, err)) return false;
    }
    return !l->lacks || fail(err, EF_INVALID_INPUT, "column \"%.*s\": found a null, wanted none: its type is not null",
                             (int)MIN(l->path[0].n, 60), l->path[0].p);
}

static bool group_is_full(const ParquetWriter *w)
{
    size_t bytes = 0;
    for (int i = 0; i < w->leaves; i++) bytes += w->leaf[i].chunk.n + w->leaf[i].values.n;
    return bytes >= GROUP_BYTES || w->group_rows >= GROUP_ROWS;
}

bool parquet_add_rows(BatchWriter *base, const ArrowBatch *b, int64_t from, int64_t to, Err *err)
{
    ParquetWriter *w = (ParquetWriter *)base;
    for (int64_t until; from < to; from = until) {
        until = MIN(to, from + CHECK_ROWS - w->group_rows % CHECK_ROWS);
        for (int i = 0; i < w->leaves; i++)
            if (!leaf_add(w, &w->leaf[i], b, from, until, err)) return false;
        w->group_rows += until - from;
        if (w->group_rows % CHECK_ROWS == 0 && group_is_full(w) && !group_end(w, err)) return false;
    }
    return true;
}

static bool parquet_add(BatchWriter *base, const ArrowBatch *b, Err *err)
{
    return parquet_add_rows(base, b, 0, b->rows, err);
}

/* ---- the schema ---- */
static void element_logical(Buf *to, int *last, const ParquetLogical *l)
{
    int kind = 0, in = 0, unit = 0;
    if (!l->means) return;
    thrift_put_struct(to, last, 10);
    thrift_put_struct(to, &kind, l->means);
    if (l->means == MEANS_DECIMAL) {
        thrift_put_int(to, &in, 1, THRIFT_I32, l->scale);
        thrift_put_int(to, &in, 2, THRIFT_I32, l->precision);
    }
    if (l->means == MEANS_INTEGER) {
        thrift_put_int(to, &in, 1, THRIFT_I8, l->bits);
        thrift_put_bool(to, &in, 2, l->is_signed);
    }
    if (l->means == MEANS_TIME || l->means == MEANS_TIMESTAMP) {
        thrift_put_bool(to, &in, 1, l->utc);
        thrift_put_struct(to, &in, 2);
        thrift_put_struct(to, &unit, l->unit);
        thrift_put_stop(to);
        thrift_put_stop(to);
    }
    thrift_put_stop(to);
    thrift_put_stop(to);
}

typedef struct WriteElement {
    Str name;
    ParquetRepetition repetition;
    int children;            /* of a group */
    int converted;           /* -1: none */
    ParquetLogical logical;
    const ParquetKind *kind; /* NULL: a group */
    ArrowMark mark;          /* instead of both, where there is one */
} WriteElement;

static void element_put(ParquetWriter *w, const WriteElement *e)
{
    Buf *to = &w->elements;
    int last = 0;
    if (e->kind) thrift_put_int(to, &last, 1, THRIFT_I32, e->kind->type);
    if (e->kind && e->kind->type == PARQUET_FIXED) thrift_put_int(to, &last, 2, THRIFT_I32, e->kind->width);
    if (w->n_elements) thrift_put_int(to, &last, 3, THRIFT_I32, e->repetition);
    thrift_put_bytes(to, &last, 4, e->name);
    if (!e->kind) thrift_put_int(to, &last, 5, THRIFT_I32, e->children);
    const bool marked = e->mark.converted || e->mark.logical.n;
    const int converted = marked ? e->mark.converted - 1 : e->converted;
    if (converted >= 0) thrift_put_int(to, &last, 6, THRIFT_I32, converted);
    if (e->logical.means == MEANS_DECIMAL) {
        thrift_put_int(to, &last, 7, THRIFT_I32, e->logical.scale);
        thrift_put_int(to, &last, 8, THRIFT_I32, e->logical.precision);
    }
    if (e->mark.logical.n) thrift_put_struct(to, &last, 10), buf_str(to, e->mark.logical);
    else if (!marked) element_logical(to, &last, &e->logical);
    thrift_put_stop(to);
    w->n_elements++;
}

typedef struct WritePath {   /* from a column down */
    Str name[LEAF_DEPTH + 2];
    int step[LEAF_DEPTH];
    int names, steps, column, defined, lists;
} WritePath;

static bool field_refuse(const WritePath *p, const char *what, Err *err)
{
    return fail(err, EF_UNSUPPORTED, "column \"%.*s\": found %s, which Parquet is not written with here",
                (int)MIN(p->name[0].n, 60), p->name[0].p, what);
}

static bool field_add(ParquetWriter *, const ArrowField *, Str name, WritePath, Err *);

static bool field_leaf(ParquetWriter *w, const ArrowField *f, const WritePath *p, Err *err)
{
    WriteLeaf *l = &w->leaf[w->leaves];
    Str *path = ARRAY(w->arena, Str, p->names);
    *l = (WriteLeaf){ .column = p->column, .path = path, .names = p->names,
                      .lists = p->lists, .defined = p->defined };
    memcpy(path, p->name, (size_t)p->names * sizeof *path);
    memcpy(l->step, p->step, sizeof l->step);
    if (!parquet_kind_of(f, &l->kind)) return field_refuse(p, arrow_kind_name(f->kind), err);
    const WriteElement e = { p->name[p->names - 1], is_nullable(f) ? PARQUET_OPTIONAL : PARQUET_REQUIRED, 0,
                             l->kind.converted, l->kind.logical, &l->kind, f->mark };
    element_put(w, &e);
    w->leaves++;
    return true;
}

static bool field_struct(ParquetWriter *w, const ArrowField *f, WritePath p, const WriteElement *e, Err *err)
{
    if (f->children == 0) return field_refuse(&p, "a struct without members", err);
    if (p.steps == LEAF_DEPTH) return field_refuse(&p, "structs that are nested too deep", err);
    element_put(w, e);
    for (int i = 0; i < f->children; i++) {
        WritePath below = p;
        below.step[below.steps++] = i;
        if (!field_add(w, &f->child[i], f->child[i].name, below, err)) return false;
    }
    return true;
}

/* A group with the name, a repeated one in it, the items in that. The items of a map are its pairs. */
static bool field_list(ParquetWriter *w, const ArrowField *f, WritePath p, Err *err)
{
    enum { MAP = 1, LIST = 3 };
    const bool map = f->kind == ARROW_MAP;
    const ArrowField *item = &f->child[0];
    const WriteElement outer = { p.name[p.names - 1], is_nullable(f) ? PARQUET_OPTIONAL : PARQUET_REQUIRED, 1,
                                 map ? MAP : LIST, { map ? MEANS_MAP : MEANS_LIST }, NULL };
    const WriteElement inner = { map ? STR("key_value") : STR("list"), PARQUET_REPEATED, map ? item->children : 1, -1,
                                 { MEANS_NOTHING }, NULL };
    element_put(w, &outer);
    p.name[p.names++] = inner.name;
    p.defined++;
    p.lists++;
    if (map && item->kind == ARROW_STRUCT && !item->nullable) return field_struct(w, item, p, &inner, err);
    element_put(w, &inner);
    return field_add(w, item, STR("element"), p, err);
}

static bool field_add(ParquetWriter *w, const ArrowField *f, Str name, WritePath p, Err *err)
{
    const bool list = f->kind == ARROW_FIXED_LIST || arrow_kinds[f->kind].layout == LAYOUT_LIST;
    if (p.names >= LEAF_DEPTH) return field_refuse(&p, "lists or structs that are nested too deep", err);
    p.name[p.names++] = name;
    p.defined += is_nullable(f);
    if (f->encoded && f->children) return field_refuse(&p, "a dictionary of lists or structs", err);
    if (list) return field_list(w, f, p, err);
    if (f->kind != ARROW_STRUCT) return field_leaf(w, f, &p, err);
    const WriteElement e = { name, f->nullable ? PARQUET_OPTIONAL : PARQUET_REQUIRED, f->children, -1,
                             { MEANS_NOTHING }, NULL };
    return field_struct(w, f, p, &e, err);
}

/* ---- the end ---- */
static void footer_pair(Buf *to, Str key, Str value)
{
    int last = 0;
    thrift_put_bytes(to, &last, 1, key);
    thrift_put_bytes(to, &last, 2, value);
    thrift_put_stop(to);
}

static void footer_pairs(const ParquetWriter *w, Buf *to, int *last)
{
    Buf text = { 0 };
    const bool more = parquet_told_write(w->arena, w->fields, &text);
    const size_t n = (size_t)w->fields->pairs + more;
    if (n) thrift_put_list(to, last, 5, THRIFT_STRUCT, n);
    for (int i = 0; i < w->fields->pairs; i++) footer_pair(to, w->fields->pair[i].key, w->fields->pair[i].value);
    if (more) footer_pair(to, STR(PARQUET_TOLD), buf_view(&text));
    buf_free(&text);
}

static bool parquet_end(BatchWriter *base, Err *err)
{
    ParquetWriter *w = (ParquetWriter *)base;
    Buf meta = { 0 };
    int last = 0;
    if (!group_end(w, err)) return false;
    thrift_put_int(&meta, &last, 1, THRIFT_I32, 2);
    thrift_put_list(&meta, &last, 2, THRIFT_STRUCT, w->n_elements);
    buf_str(&meta, buf_view(&w->elements));
    thrift_put_int(&meta, &last, 3, THRIFT_I64, w->rows);
    thrift_put_list(&meta, &last, 4, THRIFT_STRUCT, w->n_groups);
    buf_str(&meta, buf_view(&w->groups));
    footer_pairs(w, &meta, &last);
    thrift_put_bytes(&meta, &last, 6, STR("encoderfile version " EF_VERSION));
    thrift_put_stop(&meta);
    const uint32_t n = (uint32_t)meta.n;
    buf_add(&meta, &n, sizeof n);
    buf_puts(&meta, "PAR1");
    const bool ok = writer_put(w, buf_view(&meta), err);
    buf_free(&meta);
    return ok;
}

static void parquet_drop(BatchWriter *base)
{
    ParquetWriter *w = (ParquetWriter *)base;
    for (int i = 0; i < w->leaves; i++) {
        WriteLeaf *l = &w->leaf[i];
        buf_free(&l->values);
        buf_free(&l->rep.done);
        buf_free(&l->def.done);
        buf_free(&l->chunk);
    }
    buf_free(&w->elements);
    buf_free(&w->groups);
}

static int count_leaves(const ArrowField *f, int n)
{
    int leaves = 0;
    for (int i = 0; i < n; i++) leaves += f[i].children ? count_leaves(f[i].child, f[i].children) : 1;
    return leaves;
}

bool parquet_create_file(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **result, Err *err)
{
    ParquetWriter *w = NEW(arena, ParquetWriter);
    *w = (ParquetWriter){ .base = { .add = parquet_add, .end = parquet_end, .close = parquet_drop }, .arena = arena,
                          .fields = fields, .out = *out };
    *result = &w->base;
    w->leaf = ARRAY(arena, WriteLeaf, count_leaves(fields->field, fields->n));
    element_put(w, &(WriteElement){ STR("schema"), 0, fields->n, -1, { MEANS_NOTHING }, NULL });
    for (int i = 0; i < fields->n; i++)
        if (!field_add(w, &fields->field[i], fields->field[i].name, (WritePath){ .column = i }, err)) return false;
    return writer_put(w, STR("PAR1"), err);
}
