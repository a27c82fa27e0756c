/* SPDX-License-Identifier: Apache-2.0
 * records_batches.c - records out of batches of columns: those that a record is made of are read, those of
 * --keep are handed through as they are, all others are not looked at. */
#include "cli/records.h"

/* ---- columns ---- */
static bool is_key(const Records *s, Str name)
{
    const bool path = records_take_files(s) || records_take_pages(s);
    const char *own[] = { "id", records_field(s), s->how.second ? s->how.second : "text_pair",
                          path ? records_path_key(s) : "id" };
    for (size_t i = 0; i < COUNT(own); i++)
        if (str_is(name, own[i])) return true;
    for (const Field *key = s->items->keys; key->name; key++)
        if (str_is(name, key->name)) return true;
    return false;
}

static int find_column(const Records *s, const char *name)
{
    const ArrowFields *all = s->reader->fields;
    for (int i = 0; i < all->n; i++)
        if (str_is(all->field[i].name, name)) return i;
    return -1;
}

static bool lacks_column(Records *s, const char *name, const char *flag, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    const char **known = ARRAY(&s->head, const char *, all->n);
    for (int i = 0; i < all->n; i++) known[i] = all->field[i].name.p;
    const char *near = str_nearest(str_of(name), known, (size_t)all->n);
    if (near) return fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\": did you mean %s %s?", s->lines.name, name,
                          flag, near);
    return fail(err, EF_INVALID_INPUT, "%s: found no column \"%s\"; %s names another one", s->lines.name, name, flag);
}

static bool needs_column(Records *s, const char *name, const char *flag, Err *err)
{
    return find_column(s, name) >= 0 || lacks_column(s, name, flag, err);
}

/* Whatever stands for the items is there. */
static bool has_items(Records *s, Err *err)
{
    if (s->how.second && !needs_column(s, s->how.second, "--column2", err)) return false;
    if (s->items == &item_texts) return needs_column(s, records_field(s), "--field", err);
    if (records_take_files(s))
        return find_column(s, item_form_file(s->items)->key) >= 0 || find_column(s, "array") >= 0 ||
               needs_column(s, records_path_key(s), "--field", err);
    for (const Field *key = s->items->keys; key->name; key++)
        if (key->required && !needs_column(s, key->name, "--field", err)) return false;
    return true;
}

static bool keep_columns(Records *s, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    if (s->keeps == 1 && str_is(s->keep[0], "all") && find_column(s, "all") < 0) {
        s->keep = ARRAY(&s->head, Str, s->keeps = (size_t)all->n);
        for (int i = 0; i < all->n; i++) s->keep[i] = all->field[i].name;
    }
    s->keep_column = ARRAY(&s->head, int, s->keeps);
    for (size_t i = 0; i < s->keeps; i++) {
        if (!needs_column(s, s->keep[i].p, "--keep", err)) return false;
        const int column = s->keep_column[i] = find_column(s, s->keep[i].p);
        const char *kind;
        if (!arrow_can_read(&all->field[column], &kind))
            return fail(err, EF_UNSUPPORTED, "--keep: column \"%s\": found the type %s, which is not handed through",
                        s->keep[i].p, kind);
        batches_want(s->reader, column);
    }
    return true;
}

static int lone_text(const Records *s)
{
    int text = -1;
    if (s->items != &item_texts) return -1;
    for (int i = 0; i < s->n_used; i++) {
        const Str name = s->reader->fields->field[s->used[i]].name;
        if (text < 0 && str_is(name, records_field(s))) text = s->used[i];
        else if (!str_is(name, "id")) return -1;
    }
    return text;
}

static bool choose_columns(Records *s, Err *err)
{
    const ArrowFields *all = s->reader->fields;
    s->used = ARRAY(&s->head, int, all->n);
    for (int i = 0; i < all->n; i++) {
        if (!is_key(s, all->field[i].name)) continue;
        batches_want(s->reader, s->used[s->n_used++] = i);
    }
    s->alone = lone_text(s);
    return has_items(s, err) && keep_columns(s, err);
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

bool records_skip(Records *s, const int64_t *rows, size_t n, Err *err)
{
    bool ok = true, more = true;
    for (size_t i = 0; !s->reader && ok && i < n; i++) ok = skip_rows(s, rows[i], err);
    for (size_t i = 0; s->reader && ok && i < n; i++) {
        if (s->first) records_release(s);
        ok = await_batch(s, &more, err);
        if (ok && (!more || s->last->rows.rows != rows[i]))
            return fail(err, EF_INVALID_INPUT, "batch %zu has %lld rows, that of the input %lld: it is another input",
                        i + 1, (long long)rows[i], more ? (long long)s->last->rows.rows : 0);
        if (ok) s->row = rows[i], s->lines.number += (uint64_t)rows[i];
    }
    return ok;
}

/* Texts are checked. Unless the batch is held, its views become the record's own. */
static bool settle_value(const Records *s, Arena *arena, Value *v, Err *err)
{
    bool ok = true;
    if (v->kind == V_STR && !utf8_valid(v->s))
        return fail(err, EF_INVALID_INPUT, "found bytes that are not valid UTF-8");
    if (!s->how.hold && (v->kind == V_STR || v->kind == V_BYTES)) v->s.p = str_dup(arena, v->s);
    for (size_t i = 0; v->kind == V_LIST && ok && i < v->list.n; i++)
        ok = settle_value(s, arena, &v->list.items[i], err);
    for (size_t i = 0; v->kind == V_MAP && ok && i < v->map.n; i++)
        ok = settle_value(s, arena, &v->map.items[i].value, err);
    return ok;
}

static bool kept_values(const Records *s, Arena *arena, int64_t row, Record *r, Err *err)
{
    Value *kept = ARRAY(arena, Value, s->keeps);
    bool ok = true;
    for (size_t i = 0; ok && i < s->keeps; i++) {
        kept[i] = arrow_value(arena, &s->last->rows.column[s->keep_column[i]], row);
        ok = settle_value(s, arena, &kept[i], err);
    }
    r->kept = kept;
    return ok;
}

/* A value of a column that a record is made of. */
static bool take_cell(const Records *s, Arena *arena, int column, int64_t row, Value *out, Err *err)
{
    *out = arrow_value(arena, &s->last->rows.column[column], row);
    if (out->kind == V_BYTES && s->items == &item_texts) out->kind = V_STR; /* of a column that does not say it */
    return settle_value(s, arena, out, err);
}

static bool take_row(Records *s, Arena *arena, Record *r, Err *err)
{
    if (s->alone >= 0 && s->how.hold) { /* an id is a column of its own, if it is kept */
        Value text;
        s->lines.number++;
        return take_cell(s, arena, s->alone, s->row++, &text, err) && record_take_text(s, &text, &r->item, err);
    }
    const ArrowFields *all = s->reader->fields;
    const int64_t row = s->row++;
    Value *v = NEW(arena, Value);
    *v = value_map(arena, (size_t)s->n_used);
    s->lines.number++;
    if (s->keeps && !s->how.hold && !kept_values(s, arena, row, r, err)) return false;
    for (int i = 0; i < s->n_used; i++) {
        Value cell;
        const Str name = all->field[s->used[i]].name;
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
