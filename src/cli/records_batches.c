/* SPDX-License-Identifier: Apache-2.0
 * records_batches.c - records out of batches of columns: those that a record is made of are read, those of
 * --keep are handed through as they are, all others are not looked at. */
#include "cli/records.h"

/* ---- columns ---- */
static int find_column(const Records *s, Str name)
{
    const ArrowFields *all = s->reader->fields;
    for (int i = 0; i < all->n; i++)
        if (str_eq(all->field[i].name, name)) return i;
    return -1;
}

/* A pair of texts: a list of them. */
static bool holds_pairs(const ArrowField *f)
{
    const bool list = f->kind == ARROW_LIST || f->kind == ARROW_LARGE_LIST || f->kind == ARROW_FIXED_LIST;
    return list && !f->encoded && arrow_is_text(&f->child[0]);
}

/* {bytes, path} */
static bool holds_files(const ArrowField *f)
{
    return f->kind == ARROW_STRUCT;
}

/* What stands for an item of texts. A second text that nobody has named is one only if it can be. */
static bool is_text_key(const Records *s, const ArrowField *f)
{
    const int text = find_column(s, str_of(records_field(s)));
    if (str_is(f->name, records_field(s))) return true;
    if (s->how.second) return str_is(f->name, s->how.second);
    return str_is(f->name, "text_pair") && arrow_is_text(f) && text >= 0 &&
           !holds_pairs(&s->reader->fields->field[text]);
}

static bool is_key(const Records *s, const ArrowField *f)
{
    const bool path = records_take_files(s) || records_take_pages(s);
    if (s->items == &item_texts) return is_text_key(s, f);
    if (path && str_is(f->name, records_path_key(s))) return s->how.field || arrow_is_text(f) || holds_files(f);
    for (const Field *key = s->items->keys; key->name; key++)
        if (str_is(f->name, key->name)) return true;
    return false;
}

/* ---- are they what is wanted? ---- */
static bool lacks_column(Records *s, const char *name, const char *flag, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    Str *known = ARRAY(&s->head, Str, all->n);
    for (int i = 0; i < all->n; i++) known[i] = all->field[i].name;
    return records_lack(s, known, (size_t)all->n, &(RecordsColumn){ name, flag }, err);
}

static bool has_two(const Records *s, int first, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    for (int i = first + 1; i < all->n; i++)
        if (str_eq(all->field[i].name, all->field[first].name))
            return !fail(err, EF_INVALID_INPUT, "%s: columns %d and %d of %d are both \"%.*s\", wanted one: rename the "
                         "other", s->lines.name, first + 1, i + 1, all->n, STR_ARG(all->field[i].name));
    return false;
}

static bool needs_column(Records *s, const char *name, const char *flag, Err *err)
{
    return find_column(s, str_of(name)) >= 0 || lacks_column(s, name, flag, err);
}

/* The one of that name is there, and fits. */
static bool needs_texts(Records *s, const char *name, const char *flag, bool (*fits)(const ArrowField *), Err *err)
{
    if (!needs_column(s, name, flag, err)) return false;
    const ArrowField *f = &s->reader->fields->field[find_column(s, str_of(name))];
    return arrow_is_text(f) || (fits && fits(f)) ||
           fail(err, EF_INVALID_INPUT, "%s: column \"%s\": found the type %s, wanted texts%s", s->lines.name, name,
                arrow_kind_name(f->kind), fits == holds_pairs ? ", or lists of two" : "");
}

/* Whatever stands for the items is there. */
static bool has_items(Records *s, Err *err)
{
    const char *flag = s->how.field ? "" : NULL;
    if (s->how.second && !needs_texts(s, s->how.second, "--column2: ", NULL, err)) return false;
    if (s->items == &item_texts) return needs_texts(s, records_field(s), flag, holds_pairs, err);
    if (records_take_files(s))
        return (!flag && find_column(s, str_of(item_form_file(s->items)->key)) >= 0) ||
               (!flag && find_column(s, STR("array")) >= 0) ||
               needs_texts(s, records_path_key(s), flag, holds_files, err);
    const bool path = find_column(s, str_of(records_path_key(s))) >= 0;
    for (const Field *key = s->items->keys; key->name; key++)
        if (key->required && !(path && records_path_is(s, key)) && !needs_column(s, key->name, "", err)) return false;
    return true;
}

static bool can_read(const Records *s, int column, const char *flag, Err *err)
{
    const char *what;
    const ArrowField *f = &s->reader->fields->field[column];
    return arrow_can_read(f, &what) ||
           fail(err, EF_UNSUPPORTED, "%s: %scolumn \"%.*s\": found %s, which is not %s", s->lines.name, flag,
                STR_ARG(f->name), what, *flag ? "handed through" : "read");
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
        if (!needs_column(s, s->keep[i].p, "--keep: ", err)) return false;
        const int column = s->keep_column[i] = find_column(s, s->keep[i]);
        if (has_two(s, column, err) || !can_read(s, column, "--keep: ", err)) return false;
        batches_want(s->reader, column);
    }
    return true;
}

static bool choose_columns(Records *s, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    s->used = ARRAY(&s->head, int, all->n);
    if (!has_items(s, err)) return false;
    for (int i = 0; i < all->n; i++) {
        if (!is_key(s, &all->field[i])) continue;
        if (has_two(s, i, err) || !can_read(s, i, "", err)) return false;
        batches_want(s->reader, s->used[s->n_used++] = i);
    }
    s->alone = s->items == &item_texts && s->n_used == 1 ? s->used[0] : -1;
    return keep_columns(s, err);
}

/* Lines of JSON begin with their record's id, where there is one column of ids and it can be read. */
static void choose_id(Records *s)
{
    Err ignored;
    s->begun = true;
    s->id = s->how.hold || s->how.keep ? -1 : find_column(s, STR("id"));
    if (s->id >= 0 && (has_two(s, s->id, &ignored) || !can_read(s, s->id, "", &ignored))) s->id = -1;
    if (s->id >= 0) batches_want(s->reader, s->id);
}

/* From a pipe, from what is packed, or from a stream's file: as the bytes come. */
bool batches_open(Records *s, const char *path, bool stream, Err *err)
{
    bool ok;
    if (!stream && (!s->lines.total || s->gunzip || s->unzstd))
        return fail(err, EF_USAGE, "%s: found a file of %s in a pipe or packed, wanted the file itself%s",
                    s->lines.name, s->table->name, s->table->open_stream ? " or a stream" : "");
    if (stream && !s->table->open_stream)
        return fail(err, EF_INVALID_INPUT, "%s: found no file of %s", s->lines.name, s->table->name);
    if (stream) ok = s->table->open_stream(&s->head, lines_bytes, &s->lines, &s->reader, err);
    else ok = file_map(path, &s->file, err) &&
              s->table->open_file(&s->head, (Str){ (const char *)s->file.p, s->file.n }, &s->reader, err);
    if (ok && !stream) s->reader->forget = file_forget;
    return ok ? choose_columns(s, err) : within(err, "%s", s->lines.name);
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

/* Unless the batch is held, its views become the record's own. A text that is none is bytes. */
static void settle_value(const Records *s, Arena *arena, Value *v)
{
    if (v->kind == V_STR && !utf8_valid(v->s)) v->kind = V_BYTES;
    if (!s->how.hold && (v->kind == V_STR || v->kind == V_BYTES)) v->s.p = str_dup(arena, v->s);
    for (size_t i = 0; v->kind == V_LIST && i < v->list.n; i++) settle_value(s, arena, &v->list.items[i]);
    for (size_t i = 0; v->kind == V_MAP && i < v->map.n; i++) settle_value(s, arena, &v->map.items[i].value);
}

static Value settled_value(const Records *s, Arena *arena, int column, int64_t row)
{
    Value v = arrow_value(arena, &s->last->rows.column[column], row);
    settle_value(s, arena, &v);
    return v;
}

static const Value *kept_values(const Records *s, Arena *arena, int64_t row)
{
    Value *kept = ARRAY(arena, Value, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) kept[i] = settled_value(s, arena, s->keep_column[i], row);
    return kept;
}

/* Bytes of a column that does not say whether they are texts, and texts whose bytes are none. */
static bool take_texts(Value *v, Err *err)
{
    if (v->kind == V_BYTES && !utf8_valid(v->s))
        return fail(err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    if (v->kind == V_BYTES) v->kind = V_STR;
    for (size_t i = 0; v->kind == V_LIST && i < v->list.n; i++)
        if (!take_texts(&v->list.items[i], err)) return false;
    return true;
}

/* A value of a column that a record is made of. */
static bool take_cell(const Records *s, Arena *arena, int column, int64_t row, Value *out, Err *err)
{
    *out = settled_value(s, arena, column, row);
    return s->items != &item_texts || take_texts(out, err);
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
    if (s->alone >= 0) {
        Value text;
        return take_cell(s, arena, s->alone, row, &text, err) && record_take_text(s, &text, &r->item, err);
    }
    Value *v = NEW(arena, Value);
    *v = value_map(arena, (size_t)s->n_used);
    for (int i = 0; i < s->n_used; i++) {
        Value cell;
        const Str name = s->reader->fields->field[s->used[i]].name;
        if (!take_cell(s, arena, s->used[i], row, &cell, err)) return false;
        if (cell.kind != V_NULL || str_is(name, records_field(s)))
            v->map.items[v->map.n++] = (Member){ name, cell };
    }
    return record_take(s, arena, v, r, err);
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
    const bool ok = take_row(s, arena, r, &r->err) && item_check(s->items, &r->item, &r->err);
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
