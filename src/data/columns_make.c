/* SPDX-License-Identifier: Apache-2.0
 * columns_make.c - columns that grow entry by entry; see columns.h. */
#include "columns.h"

static ColumnMaker maker_of(Arena *arena, const Field *f)
{
    ColumnMaker m = { .field = f, .offset.arena = arena, .data.arena = arena };
    const size_t zero = 0;
    if (f->repeated) buf_add(&m.offset, &zero, sizeof zero);
    if (f->kind == F_MSG) m.member = columns_make(arena, f->msg);
    return m;
}

ColumnMaker *columns_make(Arena *arena, const Field *rows)
{
    size_t n = 0;
    while (rows[n].name) n++;
    ColumnMaker *all = ARRAY(arena, ColumnMaker, n);
    for (size_t i = 0; i < n; i++) all[i] = maker_of(arena, &rows[i]);
    return all;
}

Columns columns_made(Arena *arena, const Field *rows, const ColumnMaker *all)
{
    Columns out = { 0 };
    while (rows[out.n].name) out.n++;
    out.column = ARRAY(arena, Column, out.n);
    for (size_t i = 0; i < out.n; i++) {
        const ColumnMaker *m = &all[i];
        bool *there = memset(arena_raw(arena, MAX(m->n, 1)), true, m->n);
        out.column[i] = (Column){ .field = m->field, .n = m->n, .there = there, .values = m->values,
                                  .data = m->data.p };
        if (m->field->repeated) out.column[i].offset = (const size_t *)(const void *)m->offset.p;
        if (m->member) out.column[i].members = columns_made(arena, m->field->msg, m->member);
    }
    return out;
}

/* Where the value of the next entry goes. */
static void *maker_value(ColumnMaker *m, size_t size)
{
    assert(!m->field->repeated);
    buf_reserve(&m->data, size);
    m->data.n += size;
    m->n++, m->values++;
    return m->data.p + m->data.n - size;
}

void column_put_str(ColumnMaker *m, Str s)
{
    assert(m->field->kind == F_STR);
    *(Str *)maker_value(m, sizeof s) = s;
}

void column_put_int(ColumnMaker *m, int64_t number)
{
    assert(m->field->kind == F_I32 || m->field->kind == F_U32 || m->field->kind == F_U64);
    *(int64_t *)maker_value(m, sizeof number) = number;
}

void column_put_f32(ColumnMaker *m, float number)
{
    assert(m->field->kind == F_F32);
    *(float *)maker_value(m, sizeof number) = number;
}

void column_put_list(ColumnMaker *m, size_t n)
{
    assert(m->field->repeated);
    m->n++;
    m->values += n;
    buf_add(&m->offset, &m->values, sizeof m->values);
}

void column_put_floats(ColumnMaker *m, const float *number, size_t n)
{
    assert(m->field->kind == F_F32);
    column_put_list(m, n);
    buf_add(&m->data, number, n * sizeof *number);
}
