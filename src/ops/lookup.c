/* SPDX-License-Identifier: Apache-2.0
 * lookup.c - Lookup(table, ids, scale?): rows of a table in the form that it is stored in, as floats;
 * and Embed: such rows of several tables added and normed. A table is rows [N, K] of f32, bf16,
 * int8 or uint8 (with a scale for each row and one zero point), or the panels of a product that
 * reads the same numbers (graph/pack.c), of which row n is one lane. */
#include "ops/ops.h"

typedef struct Lookup {
    const OpCall *c;
    const Tensor *table, *ids; /* ids NULL: by the token's place in its row, from row `from` on */
    const float *scale;
    int64_t N, K, per_k; /* per_k: neighbours in a panel; 0: the table is rows */
    int64_t from;
    float zero; /* int8 and uint8: x = scale * (q - zero) */
} Lookup;

static bool is_bytes(const Tensor *t)
{
    return t->type == T_I8 || t->type == T_U8;
}

static bool lookup_table_fits(const Tensor *t, int64_t N, int64_t K)
{
    int64_t per_k = t->type == T_F32 ? 1 : t->type == T_BF16 ? 2 : 4;
    if (t->type != T_F32 && t->type != T_BF16 && !is_bytes(t)) return false;
    if (t->rank == 2) return t->dim[0] == N && t->dim[1] == K;
    return t->type != T_U8 && t->rank == (per_k == 1 ? 3 : 4) &&
           t->dim[0] == ROUND_UP(N, PANEL) / PANEL &&
           t->dim[1] == ROUND_UP(K, per_k) / per_k && t->dim[2] == PANEL &&
           (per_k == 1 || t->dim[3] == per_k);
}

/* Inputs `at`: table, ids, scale. */
static bool inputs_fit(const OpCall *c, const int at[3], int64_t N, int64_t K, Err *err)
{
    const Tensor *t = op_in(c, at[0]), *ids = op_in(c, at[1]), *scale = op_in(c, at[2]);
    if (!t || N <= 0 || K <= 0 || N > INT32_MAX || K > INT32_MAX || !lookup_table_fits(t, N, K))
        return op_fail(c, err, "the table does not fit N = %lld, K = %lld", (long long)N,
                       (long long)K);
    if (ids && ids->type != T_I64 && ids->type != T_I32)
        return op_wrong_input(c, at[1], "int64 or int32 indices", err);
    if (is_bytes(t) != (scale != NULL) ||
        (scale && (scale->type != T_F32 || scale->rank != 1 || scale->dim[0] < N)))
        return op_fail(c, err, "a table of bytes needs a scale for each row");
    return true;
}

static const int lookup_inputs[3] = { 0, 1, 2 };

static bool rows_of_ids(OpCall *c, const Tensor *ids, int64_t K, Err *err)
{
    int64_t dim[MAX_RANK + 1];
    if (ids->rank >= MAX_RANK) return op_fail(c, err, "indices have %d dimensions", ids->rank);
    memcpy(dim, ids->dim, sizeof *dim * (size_t)ids->rank);
    dim[ids->rank] = K;
    return op_out(c, 0, T_F32, ids->rank + 1, dim);
}

static bool lookup_shape(OpCall *c, Err *err)
{
    int64_t N = op_attr_int(c, "N", 0), K = op_attr_int(c, "K", 0);
    return inputs_fit(c, lookup_inputs, N, K, err) && rows_of_ids(c, c->in[1], K, err);
}

/* Where number k of row n stands. */
static int64_t lookup_place(const Lookup *l, int64_t n, int64_t k)
{
    if (!l->per_k) return n * l->K + k;
    int64_t rows = ROUND_UP(l->K, l->per_k) / l->per_k;
    return ((n / PANEL * rows + k / l->per_k) * PANEL + n % PANEL) * l->per_k + k % l->per_k;
}

/* A loop for each type. Of rows 16 numbers are taken at a time: so much the compiler makes vectors
 * of. */
#define NUMBER(type, place, number)                                       \
    {                                                                     \
        const type x = ((const type *)p)[place];                          \
        y[k] = (add ? y[k] : 0) + (number);                               \
    }
#define SIXTEEN(type, op, number)                                         \
    for (; !l->per_k && k + PANEL <= K; k += PANEL)                       \
        for (int i = 0; i < PANEL; i++) {                                 \
            const type x = ((const type *)p)[n * K + k + i];              \
            y[k + i] op (number);                                         \
        }
#define ROW(type, number)                                                 \
    {                                                                     \
        if (add) SIXTEEN(type, +=, number)                                \
        else SIXTEEN(type, =, number)                                     \
        for (; k < K; k++) NUMBER(type, l->per_k ? lookup_place(l, n, k) : n * K + k, number) \
        break;                                                            \
    }

/* y = the row, or (add) y += it. */
static void read_row(const Lookup *l, int64_t n, bool add, float *restrict y)
{
    const void *restrict p = l->table->data;
    const float scale = l->scale ? l->scale[n] : 1, zero = l->zero;
    const int64_t K = l->K;
    int64_t k = 0;
    switch (l->table->type) {
    case T_F32: ROW(float, x)
    case T_BF16: ROW(uint16_t, bf16_to_f32(x))
    case T_I8: ROW(int8_t, scale * ((float)x - zero))
    default: ROW(uint8_t, scale * ((float)x - zero))
    }
}
#undef NUMBER
#undef SIXTEEN
#undef ROW

static Lookup lookup_of(const OpCall *c, const int at[3], int64_t N, int64_t K)
{
    const Tensor *scale = op_in(c, at[2]);
    Lookup l = { .c = c, .table = c->in[at[0]], .ids = op_in(c, at[1]), .N = N, .K = K };
    if (scale) l.scale = scale->data;
    if (l.table->rank > 2) l.per_k = l.table->rank == 3 ? 1 : l.table->dim[3];
    return l;
}

static bool ids_fit(const Lookup *l, Err *err)
{
    int64_t count = l->ids ? tensor_count(l->ids) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = tensor_get_int(l->ids, i);
        if (n < -l->N || n >= l->N)
            return op_fail(l->c, err, "index: found %lld, wanted %lld to %lld", (long long)n,
                           (long long)-l->N, (long long)(l->N - 1));
    }
    return true;
}

static int64_t row_at(const Lookup *l, int64_t token)
{
    int64_t n = tensor_get_int(l->ids, token);
    return n < 0 ? n + l->N : n;
}

static void read_rows(void *context, int64_t from, int64_t to)
{
    const Lookup *l = context;
    for (int64_t i = from; i < to; i++)
        read_row(l, row_at(l, i), false, (float *)l->c->out[0].data + i * l->K);
}

static int64_t lookup_grain(int64_t K)
{
    return MAX((1 << 15) / K, (int64_t)1);
}

static bool lookup_run(OpCall *c, Err *err)
{
    Lookup l = lookup_of(c, lookup_inputs, op_attr_int(c, "N", 0), op_attr_int(c, "K", 0));
    l.zero = (float)op_attr_int(c, "zero", 0);
    if (!ids_fit(&l, err)) return false;
    op_split(c, tensor_count(l.ids), lookup_grain(l.K), read_rows, &l);
    return true;
}

/* ---- Embed(gamma, beta?, then table, ids?, scale? of each term) ---- */
enum { MOST_TERMS = 4 };

typedef struct EmbedSum {
    Lookup term[MOST_TERMS];
    int n;
    const int32_t *place; /* [tokens]: of a token in its row */
    Norm norm;
} EmbedSum;

/* How many terms, with their attributes; 0: they do not fit. */
static int terms_of(const OpCall *c, const int64_t **rows, const int64_t **from)
{
    size_t n = 0, n_from = 0;
    *rows = onnx_ints(c->node, "rows", &n), *from = onnx_ints(c->node, "from", &n_from);
    bool fits = *rows && *from && n == n_from && n >= 1 && n <= MOST_TERMS &&
                c->n_in == 2 + 3 * (int)n;
    return fits ? (int)n : 0;
}

static void term_inputs(int k, int at[3])
{
    for (int i = 0; i < 3; i++) at[i] = 2 + 3 * k + i;
}

static bool lookup_embed_shape(OpCall *c, Err *err)
{
    const int64_t *rows, *from, K = op_attr_int(c, "K", 0);
    const Tensor *ids = NULL;
    int n = terms_of(c, &rows, &from), at[3];
    if (!n) return op_fail(c, err, "found %d inputs, wanted three for each table", c->n_in);
    for (int i = 0; i < 2; i++)
        if (c->in[i] && (c->in[i]->type != T_F32 || c->in[i]->rank != 1 || c->in[i]->dim[0] != K))
            return op_wrong_input(c, i, "a float for each column", err);
    for (int k = 0; k < n; k++) {
        term_inputs(k, at);
        if (!inputs_fit(c, at, rows[k], K, err)) return false;
        const Tensor *other = op_in(c, at[1]);
        if (from[k] < 0 || from[k] > INT32_MAX || 
            (other && (other->rank != 2 || (ids && !tensor_same_shape(ids, other)))))
            return op_fail(c, err, "indices do not have one shape [B, S]");
        if (other) ids = other;
    }
    if (!ids || !c->in[0]) return op_fail(c, err, "indices or weights of the norm are missing");
    return rows_of_ids(c, ids, K, err);
}

static void embed_rows(void *context, int64_t from, int64_t to)
{
    const EmbedSum *e = context;
    for (int64_t i = from; i < to; i++)
        for (int k = 0; k < e->n; k++) {
            const Lookup *l = &e->term[k];
            read_row(l, l->ids ? row_at(l, i) : l->from + e->place[i], k > 0,
                     e->norm.y + i * e->norm.C);
        }
    e->term[0].c->k->layer_norm(&e->norm, from, to);
}

/* Of each token in its row; the longest must have rows in every table by position. */
static bool find_places(OpCall *c, EmbedSum *e, int64_t tokens, Err *err)
{
    int64_t S = c->ragged ? c->ragged->S : c->out[0].dim[1];
    for (int k = 0; k < e->n; k++)
        if (!e->term[k].ids && e->term[k].from + S > e->term[k].N)
            return op_fail(c, err, "position: found %lld, wanted 0 to %lld", (long long)S - 1,
                           (long long)(e->term[k].N - e->term[k].from - 1));
    int32_t *place = op_scratch(c, tokens, sizeof *place, err);
    if (!place) return false;
    for (int64_t t = 0; !c->ragged && t < tokens; t++) place[t] = (int32_t)(t % S);
    for (int r = 0; c->ragged && r < c->ragged->B; r++)
        for (int32_t t = c->ragged->start[r]; t < c->ragged->start[r + 1]; t++)
            place[t] = t - c->ragged->start[r];
    e->place = place;
    return true;
}

static bool lookup_embed_run(OpCall *c, Err *err)
{
    const int64_t *rows, *from, K = op_attr_int(c, "K", 0);
    int64_t tokens = tensor_count(&c->out[0]) / K;
    const Tensor *beta = c->in[1];
    size_t n_zero;
    const int64_t *zero = onnx_ints(c->node, "zero", &n_zero); /* absent: all are 0 */
    EmbedSum e = { .n = terms_of(c, &rows, &from) };
    for (int k = 0, at[3]; k < e.n; k++) {
        term_inputs(k, at);
        e.term[k] = lookup_of(c, at, rows[k], K);
        e.term[k].from = from[k];
        e.term[k].zero = zero && (size_t)k < n_zero ? (float)zero[k] : 0;
        if (!ids_fit(&e.term[k], err)) return false;
    }
    if (!tokens) return true;
    if (!find_places(c, &e, tokens, err)) return false;
    float *y = c->out[0].data;
    e.norm = (Norm){ .x = y, .y = y, .yb = c->low_out, .gamma = c->in[0]->data, .beta = beta ? beta->data : NULL,
                     .M = tokens, .C = K, .eps = onnx_float(c->node, "epsilon", 1e-5f) };
    op_split(c, tokens, lookup_grain(K), embed_rows, &e);
    return true;
}

const Op ops_lookup[] = {
    { "Lookup", "encoderfile", 1, 2, 3, lookup_shape, lookup_run, .token = TOKEN_GATHER },
    { "Embed", "encoderfile", 1, 1, 2 + 3 * MOST_TERMS, lookup_embed_shape, lookup_embed_run,
      .token = TOKEN_EMBED, .low = op_low_beside },
    { 0 },
};
