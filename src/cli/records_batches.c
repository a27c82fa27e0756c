/* SPDX-License-Identifier: Apache-2.0
 * records_batches.c - records out of batches of columns: those that a record is made of are read, those of
 * --keep are handed through as they are, all others are not looked at. */
#include "cli/records.h"

/* ---- are the columns there? ---- */
static int find_column(const Records *s, Str name)
{
    return item_column_find(s->reader->fields, name);
}

static bool lacks_column(Records *s, const char *name, const char *flag, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    Str *known = ARRAY(&s->head, Str, all->n);
    for (int i = 0; i < all->n; i++) known[i] = all->field[i].name;
    return records_lack(s, known, (size_t)all->n, &(RecordsColumn){ name, flag }, err);
}

static bool lacks_items(void *records, const char *name, ItemLack lack, Err *err)
{
    static const char *const flag[] = { NULL, "", "--column2: ", "" };
    return lacks_column(records, name, flag[lack], err);
}

/* ---- the choice ---- */
static bool keep_columns(Records *s, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    if (s->keeps == 1 && str_is(s->keep[0], "all") && find_column(s, STR("all")) < 0) {
        s->keep = ARRAY(&s->head, Str, s->keeps = (size_t)all->n);
        for (int i = 0; i < all->n; i++) s->keep[i] = all->field[i].name;
    }
    s->keep_column = ARRAY(&s->head, int, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) {
        const int column = s->keep_column[i] = find_column(s, s->keep[i]);
        if (column < 0) return lacks_column(s, s->keep[i].p, "--keep: ", err);
        if (!item_column_single(all, column, err)) return false;
        if (!item_column_readable(all, column, "handed through", err)) return within(err, "--keep");
        batches_want(s->reader, column);
    }
    return true;
}

static bool choose_columns(Records *s, Err *err)
{
    ItemColumns *used = &s->item_columns;
    if (!item_columns_choose(&s->head, &s->names, s->reader->fields, lacks_items, s, used, err))
        return false;
    for (int i = 0; i < used->n; i++) batches_want(s->reader, used->used[i]);
    return keep_columns(s, err);
}

/* Lines of JSON begin with their record's id, where there is one column of ids and it can be read. */
static void choose_id(Records *s)
{
    Err ignored;
    s->begun = true;
    s->id = s->how.hold || s->how.keep ? -1 : find_column(s, STR("id"));
    const ArrowFields *all = s->reader->fields;
    const bool usable = s->id >= 0 && item_column_single(all, s->id, &ignored) &&
                        item_column_readable(all, s->id, "read", &ignored);
    if (!usable) s->id = -1;
    if (s->id >= 0) batches_want(s->reader, s->id);
}

/* From a pipe, from what is packed, or from a stream's file: as the bytes come. */
bool batches_open(Records *s, const char *path, bool stream, Err *err)
{
    const char *file = strcmp(path, "-") == 0 ? "/dev/stdin" : path; /* redirected from a file */
    bool ok;
    if (!stream && (!s->lines.total || s->gunzip || s->unzstd))
        return fail(err, EF_USAGE, "%s: found a file of %s in a pipe or packed, wanted the file itself%s",
                    s->lines.name, s->table->name, s->table->open_stream ? " or a stream" : "");
    if (stream && !s->table->open_stream)
        return fail(err, EF_INVALID_INPUT, "%s: found no file of %s", s->lines.name, s->table->name);
    if (stream) ok = s->table->open_stream(&s->head, lines_bytes, &s->lines, &s->reader, err);
    else ok = file_map(file, &s->file, err) &&
              s->table->open_file(&s->head, (Str){ (const char *)s->file.p, s->file.n }, &s->reader, err);
    if (ok && !stream) s->reader->forget = file_forget;
    return (ok && choose_columns(s, err)) || within(err, "%s", s->lines.name);
}

/* ---- rows ---- */
static void let_go(Records *s, RecordBatch *b)
{
    enum { SPARE = 64 << 20 };
    arena_reset(&b->arena, SPARE);
    b->next = s->spare;
    s->spare = b;
}

void records_release(Records *s)
{
    RecordBatch *b = s->first;
    s->first = b->next;
    if (!s->first) s->last = NULL;
    batches_release(s->reader);
    let_go(s, b);
}

/* Another batch, behind those that are held. *more false: there is none. A reader that is unready has none yet. */
static bool next_batch(Records *s, bool *more, Err *err)
{
    RecordBatch *b = s->spare;
    if (!s->begun) choose_id(s); /* now it is known whether it is wanted */
    if (b) s->spare = b->next;
    else b = NEW(&s->head, RecordBatch);
    b->next = NULL;
    if (!batches_step(s->reader, &b->arena, &b->rows, more, err)) return let_go(s, b), within(err, "%s", s->lines.name);
    if (!*more || s->reader->unready) return let_go(s, b), true;
    *(s->last ? &s->last->next : &s->first) = b;
    s->last = b;
    s->row = 0;
    if (s->file.n) s->lines.bytes = b->rows.end;
    return true;
}

static bool await_batch(Records *s, bool *more, Err *err)
{
    do
        if (!next_batch(s, more, err)) return false;
    while (*more && s->reader->unready);
    return true;
}

/* *left: rows that the input does not have. */
static bool drop_records(Records *s, int64_t rows, int64_t *left, bool *more, Err *err)
{
    Arena arena = { 0 };
    Record r;
    bool ok = true;
    *more = true;
    for (*left = rows; ok && *left; *left -= *more) {
        ok = records_next(s, &arena, &r, more, err);
        if (!*more) break;
        arena_reset(&arena, 1 << 20);
    }
    arena_free(&arena);
    return ok;
}

static bool skip_rows(Records *s, int64_t rows, Err *err)
{
    int64_t left;
    bool more;
    return drop_records(s, rows, &left, &more, err) &&
           (more || fail(err, EF_INVALID_INPUT, "found more rows than the input has: it is another input"));
}

bool records_drop(Records *s, int64_t rows, int64_t *left, bool *more, Err *err)
{
    if (!s->reader) return drop_records(s, rows, left, more, err);
    for (*left = rows, *more = true; *left;) {
        if (!await_batch(s, more, err)) return false;
        if (!*more || s->last->rows.rows > *left) return true;
        *left -= s->last->rows.rows;
        s->lines.number += (uint64_t)s->last->rows.rows;
        records_release(s);
    }
    return true;
}

bool records_skip(Records *s, int64_t rows, size_t number, Err *err)
{
    bool more;
    if (!s->reader) return skip_rows(s, rows, err);
    if (s->first) records_release(s);
    if (!await_batch(s, &more, err)) return false;
    if (!more || s->last->rows.rows != rows)
        return fail(err, EF_INVALID_INPUT, "batch %zu has %lld rows, that of the input %lld: it is another input",
                    number, (long long)rows, more ? (long long)s->last->rows.rows : 0);
    s->row = rows, s->lines.number += (uint64_t)rows;
    return true;
}

/* Unless the batch is held, its views become the record's own. */
static Value settled_value(const Records *s, Arena *arena, int column, int64_t row)
{
    return item_cell(arena, &s->last->rows.column[column], row, !s->how.hold);
}

static const Value *kept_values(const Records *s, Arena *arena, int64_t row)
{
    Value *kept = ARRAY(arena, Value, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) kept[i] = settled_value(s, arena, s->keep_column[i], row);
    return kept;
}

static bool take_row(Records *s, Arena *arena, Record *r, Err *err)
{
    const int64_t row = s->row++;
    s->lines.number++;
    if (s->keeps && !s->how.hold) r->kept = kept_values(s, arena, row);
    if (s->id >= 0) {
        Value *id = NEW(arena, Value);
        *id = settled_value(s, arena, s->id, row);
        if (id->kind != V_NULL) r->id = id;
    }
    return item_of_row(arena, &s->item_columns, s->last->rows.column, row, !s->how.hold, &r->item, err);
}

bool batches_record(Records *s, Arena *arena, Record *r, bool *more, Err *err)
{
    *more = true;
    if (!s->last || s->row >= s->last->rows.rows) {
        if (s->last && !s->how.hold) records_release(s);
        if (!next_batch(s, more, err)) return false;
        r->nothing = *more && (s->reader->unready || s->last->rows.rows == 0);
        if (!*more || r->nothing) return true;
    }
    const bool ok = take_row(s, arena, r, &r->err) && item_check(s->names.form, &r->item, &r->err);
    if (!ok && !s->how.hold) /* else it stands in its row */
        within(&r->err, "row %llu", (unsigned long long)s->lines.number);
    return true;
}

void batches_free(Records *s)
{
    while (s->first) records_release(s);
    for (RecordBatch *b = s->spare; b; b = b->next) arena_free(&b->arena);
    batches_close(s->reader);
    if (s->file.n) file_unmap(&s->file);
}
