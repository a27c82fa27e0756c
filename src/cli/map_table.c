/* SPDX-License-Identifier: Apache-2.0
 * map_table.c - see map_table.h. */
#include "cli/map_table.h"

#include "cli/resuming.h"
#include "data/json.h"

static const Field error_rows[] = { { "error", 1, F_STR }, { 0 } };

/* ---- columns ---- */
static int count_rows(const Field *rows)
{
    int n = 0;
    while (rows[n].name) n++;
    return n;
}

/* Of records that are no batches: text, whatever it was. */
static const Field *kept_rows(MapTable *t)
{
    Field *rows = ARRAY(&t->arena, Field, t->in->keeps + 1);
    for (size_t i = 0; i < t->in->keeps; i++) rows[i] = (Field){ .name = t->in->keep[i].p, .kind = F_STR };
    return rows;
}

static bool names_differ(const MapTable *t, Err *err)
{
    for (int i = 0; i < t->fields.n; i++)
        for (int k = i + 1; k < t->fields.n; k++)
            if (str_eq(t->fields.field[i].name, t->fields.field[k].name))
                return fail(err, EF_USAGE, "--keep: found \"%.*s\", which is a column of the results, too; wanted "
                            "other names: rename it in the input", STR_ARG(t->fields.field[i].name));
    return true;
}

bool table_begin(MapTable *t, ArrowPair *facts, int n, Err *err)
{
    t->kept = (int)t->in->keeps, t->results = count_rows(t->table.rows);
    t->fields = (ArrowFields){ .n = t->kept + t->results + 1, .pair = facts, .pairs = n };
    ArrowField *f = t->fields.field = ARRAY(&t->arena, ArrowField, t->fields.n);
    for (int i = 0; t->in->reader && i < t->kept; i++) f[i] = t->in->reader->fields->field[t->in->keep_column[i]];
    if (!t->in->reader && t->kept) {
        arrow_fields_of(&t->arena, kept_rows(t), (ArrowVectors){ 0 }, f);
        t->keep = arrow_build_new(&t->arena, f, t->kept);
    }
    arrow_fields_of(&t->arena, t->table.rows, t->vectors, f + t->kept);
    arrow_fields_of(&t->arena, error_rows, (ArrowVectors){ 0 }, f + t->kept + t->results);
    t->result = arrow_build_new(&t->arena, f + t->kept, t->results);
    t->error = arrow_build_new(&t->arena, f + t->kept + t->results, 1);
    return names_differ(t, err);
}

/* ---- rows ---- */
static Value kept_text(Arena *arena, const Value *v)
{
    Buf text = { .arena = arena };
    if (v->kind == V_NULL || v->kind == V_STR) return *v;
    json_write(&text, v);
    return value_of_str(buf_view(&text));
}

static bool add_kept(MapTable *t, const Record *r, size_t n, Err *err)
{
    Arena *arena = &t->scratch;
    Value *rows = ARRAY(arena, Value, n);
    for (size_t i = 0; i < n; i++) {
        rows[i] = value_map(arena, t->in->keeps);
        for (size_t k = 0; r[i].kept && k < t->in->keeps; k++)
            value_add(&rows[i], t->in->keep[k].p, kept_text(arena, &r[i].kept[k]));
    }
    const Columns columns = columns_of(arena, kept_rows(t), rows, n);
    return arrow_build_add(t->keep, &columns, err);
}

/* Answers that are all there, or (errors) all failed. */
static bool add_alike(MapTable *t, MapAnswers *a, size_t n, Err *err)
{
    Arena *arena = &t->scratch;
    const bool failed = a->err[0] != NULL;
    Value *none = ARRAY(arena, Value, n), *errors = ARRAY(arena, Value, n);
    for (size_t i = 0; failed && i < n; i++) {
        errors[i] = value_map(arena, 1);
        value_add(&errors[i], "error", value_of_text(a->err[i]->message));
    }
    const Columns rows = failed ? columns_of(arena, t->table.rows, none, n)
                                : columns_slice(arena, a->columns, a->next, a->next + n);
    const Columns wrong = columns_of(arena, error_rows, errors, n);
    a->err += n, a->next += failed ? 0 : n;
    return arrow_build_add(t->result, &rows, err) && arrow_build_add(t->error, &wrong, err);
}

static bool add_rows(MapTable *t, const Record *record, MapAnswers *a, size_t n, Err *err)
{
    bool ok = true;
    for (size_t at = 0, to; ok && at < n; at = to) {
        for (to = at + 1; to < n && !a->err[to - at] == !a->err[0]; to++) continue;
        ok = add_alike(t, a, to - at, err);
    }
    ok = ok && (!t->keep || add_kept(t, record, n, err));
    arena_reset(&t->scratch, 1 << 20);
    t->pending += (int64_t)n;
    return ok;
}

/* ---- batches ---- */
/* What is at hand. */
static ArrowColumn *batch_columns(MapTable *t)
{
    ArrowColumn *column = ARRAY(&t->scratch, ArrowColumn, t->fields.n);
    for (int i = 0; t->in->reader && i < t->kept; i++) {
        column[i] = t->in->first->rows.column[t->in->keep_column[i]];
        column[i].field = &t->fields.field[i];
    }
    if (t->keep) arrow_build_columns(t->keep, &t->scratch, column);
    arrow_build_columns(t->result, &t->scratch, column + t->kept);
    for (int i = t->kept; i < t->kept + t->results; i++)
        if (!column[i].field->nullable) column[i].valid = (Str){ 0 }; /* zeros stand for what is null */
    arrow_build_columns(t->error, &t->scratch, column + t->kept + t->results);
    return column;
}

static void clear_batch(MapTable *t)
{
    if (t->keep) arrow_build_clear(t->keep);
    arrow_build_clear(t->result), arrow_build_clear(t->error);
    arena_reset(&t->scratch, 1 << 20);
    t->pending = 0;
}

static bool write_batch(MapTable *t, Err *err)
{
    const ArrowBatch batch = { .rows = t->pending, .column = batch_columns(t) };
    bool ok = batches_add(t->writer, &batch, err);
    clear_batch(t);
    if (t->in->reader) records_release(t->in);
    return ok;
}

bool table_same(MapTable *t, const Record *record, MapAnswers answers, const ArrowBatch *before, int64_t row,
                bool *same, Err *err)
{
    const int told = t->kept + t->results;
    bool ok = add_rows(t, record, &answers, 1, err);
    const ArrowColumn *now = batch_columns(t);
    const bool failed = arrow_value(&t->scratch, &before->column[told], row).kind != V_NULL;
    *same = true;
    for (int i = 0; ok && *same && i < (failed ? t->kept : told + 1); i++) {
        const Value was = arrow_value(&t->scratch, &before->column[i], row);
        const Value is = arrow_value(&t->scratch, &now[i], t->in->reader && i < t->kept ? row : 0);
        *same = resuming_same_value(&was, &is);
    }
    clear_batch(t);
    return ok;
}

/* Rows of the batch at hand. */
static int64_t rows_of_batch(const MapTable *t)
{
    return t->in->reader ? t->in->first->rows.rows : t->batch_rows;
}

bool table_ready(MapTable *t, Err *err)
{
    bool ok = true;
    while (ok && t->in->reader && t->in->first && t->in->first->rows.rows == t->pending) ok = write_batch(t, err);
    return ok;
}

bool table_add(MapTable *t, const Record *record, MapAnswers answers, size_t n, Err *err)
{
    bool ok = table_ready(t, err);
    for (size_t at = 0, now; ok && at < n; at += now) {
        now = MIN(n - at, (size_t)(rows_of_batch(t) - t->pending));
        ok = add_rows(t, record + at, &answers, now, err);
        if (ok && t->pending == rows_of_batch(t)) ok = write_batch(t, err) && table_ready(t, err);
    }
    return ok;
}

bool table_flush(MapTable *t, Err *err)
{
    return t->in->reader || t->pending == 0 || write_batch(t, err);
}

void table_free(MapTable *t)
{
    batches_drop(t->writer);
    arrow_build_free(t->keep), arrow_build_free(t->result), arrow_build_free(t->error);
    arena_free(&t->scratch);
    arena_free(&t->arena);
}
