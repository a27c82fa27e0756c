/* SPDX-License-Identifier: Apache-2.0
 * npy_form.c - see npy_form.h. How many rows there are is known at the end, so the head is written twice. */
#include "npy_form.h"

#include "arrow_kinds.h"

enum { HEAD = 128 };

typedef struct NpyWriter {
    BatchWriter all;
    BatchOut out;
    int column;
    int bytes;               /* of a number */
    int64_t width, rows;     /* width 0: the table does not say it, and no row had a vector yet */
    int64_t late;            /* rows before the first vector */
    Buf nan;                 /* a row of NaN */
} NpyWriter;

static void put_head(const NpyWriter *w, char head[HEAD])
{
    const int n = snprintf(head, HEAD, "%s{'descr': '<f%d', 'fortran_order': False, 'shape': (%lld, %lld), }",
                           "\x93NUMPY\1...", w->bytes, (long long)w->rows, (long long)w->width);
    assert(n > 0 && n < HEAD);
    memset(head + n, ' ', HEAD - (size_t)n);
    head[HEAD - 1] = '\n';
    head[7] = 0, head[8] = HEAD - 10, head[9] = 0;
}

static bool put_missing(NpyWriter *w, int64_t rows, Err *err)
{
    const uint16_t half = 0x7e00;
    const float single = __builtin_nanf("");
    for (int64_t i = (int64_t)w->nan.n / w->bytes; i < w->width; i++)
        buf_add(&w->nan, w->bytes == 2 ? (const void *)&half : (const void *)&single, (size_t)w->bytes);
    bool ok = true;
    for (int64_t i = 0; ok && i < rows; i++) ok = w->out.put(w->out.context, buf_view(&w->nan), err);
    return ok;
}

static bool put_vector(NpyWriter *w, const ArrowColumn *c, int64_t row, Err *err)
{
    const bool fixed = c->field->kind == ARROW_FIXED_LIST;
    const int64_t from = fixed ? row * c->field->param[0] : arrow_int(c->offsets, row, 4, true);
    const int64_t to = fixed ? from + c->field->param[0] : arrow_int(c->offsets, row + 1, 4, true);
    const bool missing = c->valid.n && !(c->valid.p[row >> 3] >> (row & 7) & 1);
    if (missing && !w->width) return w->late++, true;
    if (missing) return put_missing(w, 1, err);
    if (!w->width) {
        w->width = to - from;
        if (!put_missing(w, w->late, err)) return false;
    }
    if (to - from != w->width)
        return fail(err, EF_INVALID_INPUT, "npy: row %lld: found %lld numbers, wanted %lld as in the rows before",
                    (long long)w->rows + 1, (long long)(to - from), (long long)w->width);
    const Str numbers = { c->child[0].data.p + from * w->bytes, (size_t)((to - from) * w->bytes) };
    return w->out.put(w->out.context, numbers, err);
}

static bool npy_add(BatchWriter *writer, const ArrowBatch *batch, Err *err)
{
    NpyWriter *w = (NpyWriter *)writer;
    bool ok = true;
    for (int64_t row = 0; ok && row < batch->rows; row++, w->rows++)
        ok = put_vector(w, &batch->column[w->column], row, err);
    return ok;
}

static bool npy_end(BatchWriter *writer, Err *err)
{
    NpyWriter *w = (NpyWriter *)writer;
    char head[HEAD];
    put_head(w, head);
    return w->out.patch(w->out.context, 0, (Str){ head, HEAD }, err);
}

static void npy_close(BatchWriter *w)
{
    buf_free(&((NpyWriter *)w)->nan);
}

static bool is_vectors(const ArrowField *f)
{
    const bool list = f->kind == ARROW_LIST || f->kind == ARROW_FIXED_LIST;
    return list && str_is(f->name, "embedding") && f->child[0].kind == ARROW_FLOAT && f->child[0].param[0] < 2;
}

bool npy_create(Arena *arena, const ArrowFields *fields, const BatchOut *out, BatchWriter **writer, Err *err)
{
    NpyWriter *w = NEW(arena, NpyWriter);
    char head[HEAD];
    *w = (NpyWriter){ .all = { npy_add, npy_end, npy_close }, .out = *out, .column = -1 };
    *writer = &w->all;
    for (int i = fields->n - 1; i >= 0; i--)
        if (is_vectors(&fields->field[i])) w->column = i;
    if (w->column < 0) return fail(err, EF_USAGE, "npy: found results without vectors, wanted a model that makes them");
    const ArrowField *vectors = &fields->field[w->column];
    w->bytes = vectors->child[0].param[0] ? 4 : 2;
    if (vectors->kind == ARROW_FIXED_LIST) w->width = vectors->param[0];
    put_head(w, head);
    return out->put(out->context, (Str){ head, HEAD }, err);
}
