/* SPDX-License-Identifier: Apache-2.0
 * csv_form.c - a table as CSV: a line of names, then a line for each row. What is null is an empty cell, bytes are
 * base64, lists and objects are JSON, numbers that are none nan and inf. */
#include "csv_form.h"

#include <math.h>

#include "base64.h"
#include "csv.h"
#include "json.h"

typedef struct CsvWriter {
    BatchWriter all;
    const ArrowFields *fields;
    BatchOut out;
    Buf text;
    Arena line;
} CsvWriter;

static void put_cell(CsvWriter *w, const ArrowColumn *c, int64_t row)
{
    const Value v = arrow_value(&w->line, c, row);
    Buf text = { .arena = &w->line };
    if (v.kind == V_NULL) return;
    if (v.kind == V_STR) buf_str(&text, v.s);
    else if (v.kind == V_FLOAT && !isfinite(v.f)) buf_puts(&text, isnan(v.f) ? "nan" : v.f < 0 ? "-inf" : "inf");
    else if (v.kind == V_BYTES) base64_write(&text, v.s);
    else json_write(&text, &v);
    csv_write(&w->text, buf_view(&text));
}

static bool csv_flush(CsvWriter *w, Err *err)
{
    bool ok = w->text.n == 0 || w->out.put(w->out.context, buf_view(&w->text), err);
    w->text.n = 0;
    return ok;
}

static bool csv_add(BatchWriter *writer, const ArrowBatch *batch, Err *err)
{
    enum { ENOUGH = 1 << 16 };
    CsvWriter *w = (CsvWriter *)writer;
    bool ok = true;
    for (int64_t row = 0; ok && row < batch->rows; row++) {
        for (int i = 0; i < w->fields->n; i++) {
            if (i) buf_char(&w->text, ',');
            put_cell(w, &batch->column[i], row);
        }
        buf_char(&w->text, '\n');
        arena_reset(&w->line, ENOUGH);
        if (w->text.n >= ENOUGH) ok = csv_flush(w, err);
    }
    return ok && csv_flush(w, err);
}

static bool csv_end(BatchWriter *w, Err *err)
{
    return csv_flush((CsvWriter *)w, err);
}

static void csv_close(BatchWriter *writer)
{
    CsvWriter *w = (CsvWriter *)writer;
    buf_free(&w->text);
    arena_free(&w->line);
}

bool csv_create(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **writer, Err *err)
{
    CsvWriter *w = NEW(arena, CsvWriter);
    *w = (CsvWriter){ .all = { csv_add, csv_end, csv_close }, .fields = fields, .out = *out };
    *writer = &w->all;
    for (int i = 0; i < fields->n; i++) {
        if (i) buf_char(&w->text, ',');
        csv_write(&w->text, fields->field[i].name);
    }
    buf_char(&w->text, '\n');
    return csv_flush(w, err);
}
