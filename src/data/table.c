/* SPDX-License-Identifier: Apache-2.0
 * table.c - results as CSV, from their columns: objects inside them are laid flat, so that a line is
 * one entry of every cell. */
#include "table.h"

#include "base64.h"
#include "columns.h"
#include "csv.h"
#include "json.h"
#include "number.h"

typedef struct Cell {          /* of every line */
    const char *name;
    const Column *column;
    size_t place;              /* in its list, where it is one of numbers */
    struct Cell *next;
} Cell;

typedef struct Table {
    Arena arena, line;         /* line: of the one at hand */
    Cell *first, **last;
} Table;

static bool has_numbers(const Column *c)
{
    return c->offset && c->field->kind == F_F32;
}

static void add_cell(Table *t, const char *name, const Column *c, size_t place)
{
    Cell *cell = NEW(&t->arena, Cell);
    *cell = (Cell){ name, c, place, NULL };
    *t->last = cell;
    t->last = &cell->next;
}

static size_t longest(const Column *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->n; i++) most = MAX(most, c->offset[i + 1] - c->offset[i]);
    return most;
}

static void add_cells(Table *t, const char *path, const Columns *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const Column *c = &all->column[i];
        const char *name = str_format(&t->arena, "%s%s%s", path, *path ? "." : "", c->field->name);
        size_t numbers = has_numbers(c) ? longest(c) : 0;
        if (!column_used(c)) continue;
        for (size_t k = 0; k < numbers; k++)
            add_cell(t, str_format(&t->arena, "%s.%zu", name, k), c, k);
        if (c->field->kind == F_MSG && !c->offset) add_cells(t, name, &c->members);
        else if (!has_numbers(c)) add_cell(t, name, c, 0);
    }
}

static void write_value(Table *t, Buf *out, const Value *v)
{
    Buf text = { .arena = &t->line };
    if (v->kind == V_NULL) return;
    if (v->kind == V_STR) buf_str(&text, v->s);
    else if (v->kind == V_BYTES) base64_write(&text, v->s);
    else json_write(&text, v);
    csv_write(out, buf_view(&text));
}

static void write_cell(Table *t, Buf *out, const Cell *cell, size_t entry)
{
    const Column *c = cell->column;
    if (!has_numbers(c)) {
        const Value v = column_entry(&t->line, c, entry);
        return write_value(t, out, &v);
    }
    size_t at = c->offset[entry] + cell->place;
    if (at >= c->offset[entry + 1]) return;
    const Value v = value_of_float(number_widen(c->f32[at]));
    write_value(t, out, &v);
}

static void write_line(Table *t, Buf *out, size_t row, size_t entry)
{
    buf_printf(out, "%zu", row);
    for (const Cell *c = t->first; c; c = c->next) {
        buf_char(out, ',');
        write_cell(t, out, c, entry);
    }
    buf_char(out, '\n');
    arena_reset(&t->line, 1 << 16);
}

static void write_names(const Table *t, Buf *out)
{
    buf_puts(out, "row");
    for (const Cell *c = t->first; c; c = c->next) {
        buf_char(out, ',');
        csv_write(out, str_of(c->name));
    }
    buf_char(out, '\n');
}

/* The field that gives a line for each of its entries, or NULL. */
static const Column *lines_of(const Columns *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const Column *c = &all->column[i];
        if (c->field->kind == F_MSG && c->offset && column_used(c)) return c;
    }
    return NULL;
}

void table_write(Buf *out, const Field *rows, const Value *results)
{
    Table t = { 0 };
    t.last = &t.first;
    const Columns all = columns_of(&t.arena, rows, results->list.items, results->list.n);
    const Column *lines = lines_of(&all);
    add_cells(&t, "", lines ? &lines->members : &all);
    write_names(&t, out);
    for (size_t r = 0; r < results->list.n; r++) {
        size_t from = lines ? lines->offset[r] : r, to = lines ? lines->offset[r + 1] : r + 1;
        for (size_t i = from; i < to; i++) write_line(&t, out, r, i);
    }
    arena_free(&t.line);
    arena_free(&t.arena);
}
