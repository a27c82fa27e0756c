/* SPDX-License-Identifier: Apache-2.0
 * table.c - results as CSV. They are walked twice: for the names of all columns (some members are
 * not in every result), then for the cells. */
#include "cli/table.h"

#include "data/csv.h"
#include "data/json.h"
#include "data/number.h"

typedef struct Column {
    Str name;
    Str cell;              /* of the line at hand */
    struct Column *next;
} Column;

typedef struct Table {
    Arena arena;
    Map by_name;
    Column *first, **last;
    Arena line;            /* cells of the line at hand; */
    bool naming;           /* or, in the first walk, only names */
} Table;

static Column *column_of(Table *t, const char *name)
{
    Column *c = map_get(&t->by_name, str_of(name));
    if (c) return c;
    c = NEW(&t->arena, Column);
    c->name = str_of(str_dup(&t->arena, str_of(name)));
    map_put(&t->by_name, &t->arena, c->name, c);
    *t->last = c;
    t->last = &c->next;
    return c;
}

static void put_cell(Table *t, const char *name, const Value *v)
{
    Column *column = column_of(t, name);
    Buf text = { 0 };
    if (t->naming || v->kind == V_NULL) return;
    if (v->kind == V_STR) buf_str(&text, v->s);
    else json_write(&text, v);
    column->cell = (Str){ str_dup(&t->line, buf_view(&text)), text.n };
    buf_free(&text);
}

static void put_cells(Table *t, const char *path, const Value *v)
{
    char inner[256];
    for (size_t i = 0; v->kind == V_F32 && i < v->f32.n; i++) {
        const Value one = value_of_float(number_widen(v->f32.p[i]));
        snprintf(inner, sizeof inner, "%s.%zu", path, i);
        put_cell(t, inner, &one);
    }
    for (size_t i = 0; v->kind == V_MAP && i < v->map.n; i++) {
        const Member *m = &v->map.items[i];
        snprintf(inner, sizeof inner, "%s%s%.*s", path, *path ? "." : "", STR_ARG(m->key));
        put_cells(t, inner, &m->value);
    }
    if (v->kind != V_F32 && v->kind != V_MAP) put_cell(t, path, v);
}

static void put_line(Table *t, Buf *out, size_t row, const Value *entry)
{
    for (Column *c = t->first; c; c = c->next) c->cell.n = 0;
    put_cells(t, "", entry);
    if (t->naming) return;
    buf_printf(out, "%zu", row);
    for (Column *c = t->first; c; c = c->next) {
        buf_char(out, ',');
        csv_write(out, c->cell);
    }
    buf_char(out, '\n');
    arena_reset(&t->line, 1 << 16);
}

/* The member that gives a line for each of its entries, or NULL. */
static const Value *entries_of(const Value *result)
{
    for (size_t i = 0; result->kind == V_MAP && i < result->map.n; i++) {
        const Value *v = &result->map.items[i].value;
        if (v->kind == V_LIST && (v->list.n == 0 || v->list.items[0].kind == V_MAP)) return v;
    }
    return NULL;
}

static void walk(Table *t, Buf *out, const Value *results)
{
    for (size_t r = 0; r < results->list.n; r++) {
        const Value *result = &results->list.items[r], *entries = entries_of(result);
        for (size_t i = 0; i < (entries ? entries->list.n : 1); i++)
            put_line(t, out, r, entries ? &entries->list.items[i] : result);
    }
}

void table_write(Buf *out, const Value *results)
{
    Table t = { .naming = true };
    t.last = &t.first;
    walk(&t, out, results);
    buf_puts(out, "row");
    for (Column *c = t.first; c; c = c->next) {
        buf_char(out, ',');
        csv_write(out, c->name);
    }
    buf_char(out, '\n');
    t.naming = false;
    walk(&t, out, results);
    arena_free(&t.line);
    arena_free(&t.arena);
}
