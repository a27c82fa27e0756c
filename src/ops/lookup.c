/* SPDX-License-Identifier: Apache-2.0
 * lookup.c - Lookup(table, ids, scale?): rows of a table in the form that it is stored in, as floats.
 * The table is rows [N, K] of f32, bf16 or int8 (with a scale for each row), or the panels of a
 * product that reads the same numbers (graph/pack.c), of which row n is one lane. */
#include "ops/ops.h"

typedef struct Lookup {
    const OpCall *c;
    const Tensor *table, *ids;
    const float *scale;
    int64_t N, K, per_k; /* per_k: neighbours in a panel; 0: the table is rows */
} Lookup;

static bool table_fits(const Tensor *t, int64_t N, int64_t K)
{
    int64_t per_k = t->type == T_F32 ? 1 : t->type == T_BF16 ? 2 : 4;
    if (t->type != T_F32 && t->type != T_BF16 && t->type != T_I8) return false;
    if (t->rank == 2) return t->dim[0] == N && t->dim[1] == K;
    return t->rank == (per_k == 1 ? 3 : 4) && t->dim[0] == ROUND_UP(N, PANEL) / PANEL &&
           t->dim[1] == ROUND_UP(K, per_k) / per_k && t->dim[2] == PANEL &&
           (per_k == 1 || t->dim[3] == per_k);
}

static bool lookup_shape(OpCall *c, Err *err)
{
    const Tensor *t = c->in[0], *ids = c->in[1], *scale = op_in(c, 2);
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0), dim[MAX_RANK + 1];
    if (N <= 0 || K <= 0 || N > INT32_MAX || K > INT32_MAX || !table_fits(t, N, K))
        return op_fail(c, err, "the table does not fit N = %lld, K = %lld", (long long)N,
                       (long long)K);
    if (ids->type != T_I64 && ids->type != T_I32)
        return op_wrong_input(c, 1, "int64 or int32 indices", err);
    if ((t->type == T_I8) != (scale != NULL) ||
        (scale && (scale->type != T_F32 || scale->rank != 1 || scale->dim[0] < N)))
        return op_fail(c, err, "an int8 table needs a scale for each row");
    if (ids->rank >= MAX_RANK) return op_wrong_input(c, 1, "fewer dimensions", err);
    memcpy(dim, ids->dim, sizeof *dim * (size_t)ids->rank);
    dim[ids->rank] = K;
    return op_out(c, 0, T_F32, ids->rank + 1, dim);
}

/* Where number k of row n stands. */
static int64_t place(const Lookup *l, int64_t n, int64_t k)
{
    if (!l->per_k) return n * l->K + k;
    int64_t rows = ROUND_UP(l->K, l->per_k) / l->per_k;
    return ((n / PANEL * rows + k / l->per_k) * PANEL + n % PANEL) * l->per_k + k % l->per_k;
}

static void read_row(const Lookup *l, int64_t n, float *y)
{
    const void *p = l->table->data;
    if (l->table->type == T_F32 && !l->per_k)
        memcpy(y, (const float *)p + n * l->K, sizeof *y * (size_t)l->K);
    else if (l->table->type == T_F32)
        for (int64_t k = 0; k < l->K; k++) y[k] = ((const float *)p)[place(l, n, k)];
    else if (l->table->type == T_BF16)
        for (int64_t k = 0; k < l->K; k++) y[k] = bf16_to_f32(((const uint16_t *)p)[place(l, n, k)]);
    else
        for (int64_t k = 0; k < l->K; k++)
            y[k] = l->scale[n] * (float)((const int8_t *)p)[place(l, n, k)];
}

static void read_rows(void *context, int64_t from, int64_t to)
{
    const Lookup *l = context;
    for (int64_t i = from; i < to; i++) {
        int64_t n = tensor_get_int(l->ids, i);
        read_row(l, n < 0 ? n + l->N : n, (float *)l->c->out[0].data + i * l->K);
    }
}

static bool lookup_run(OpCall *c, Err *err)
{
    const Tensor *scale = op_in(c, 2);
    Lookup l = { .c = c, .table = c->in[0], .ids = c->in[1], .scale = scale ? scale->data : NULL };
    l.N = op_attr_int(c, "N", 0), l.K = op_attr_int(c, "K", 0);
    if (l.table->rank > 2) l.per_k = l.table->rank == 3 ? 1 : l.table->dim[3];
    int64_t count = tensor_count(l.ids);
    for (int64_t i = 0; i < count; i++) {
        int64_t n = tensor_get_int(l.ids, i);
        if (n < -l.N || n >= l.N)
            return op_fail(c, err, "index: found %lld, wanted %lld to %lld", (long long)n,
                           (long long)-l.N, (long long)(l.N - 1));
    }
    op_split(c, count, MAX((1 << 15) / l.K, (int64_t)1), read_rows, &l);
    return true;
}

const Op ops_lookup[] = {
    { "Lookup", "encoderfile", 1, 2, 3, lookup_shape, lookup_run, .token = TOKEN_GATHER },
    { 0 },
};
