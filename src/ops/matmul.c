/* SPDX-License-Identifier: Apache-2.0
 * matmul.c - matrix products with both sides known only at run time. f32 packs the right side
 * into the kernels' panels and runs tiles on the pool; products with constant weights do not
 * come here (the graph's fused linear has its panels). Other types are rare and take plain
 * loops. */
#include "product.h"

/* ---- shapes ---- */

static bool batch_dims(const OpCall *call, const Tensor *side[2], Product *p, Err *err)
{
    char a[128], b[128];
    const int rank[2] = { MAX(side[0]->rank - 2, 0), MAX(side[1]->rank - 2, 0) };
    p->rank = MAX(rank[0], rank[1]);
    p->batches = 1;
    for (int s = 0; s < 2; s++) p->matrices[s] = 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        int64_t dim[2];
        for (int s = 0; s < 2; s++) {
            const int at = i - (p->rank - rank[s]);
            dim[s] = at < 0 ? 1 : side[s]->dim[at];
            p->step[s][i] = dim[s] == 1 ? 0 : p->matrices[s];
            p->matrices[s] *= dim[s];
        }
        if (dim[0] != dim[1] && dim[0] != 1 && dim[1] != 1)
            return op_fail(call, err, "found %s times %s, wanted batches that broadcast",
                           tensor_show(side[0], a), tensor_show(side[1], b));
        p->batch[i] = dim[0] == 1 ? dim[1] : dim[0];
        if (__builtin_mul_overflow(p->batches, p->batch[i], &p->batches))
            return op_fail(call, err, "found %s times %s: too large", tensor_show(side[0], a),
                           tensor_show(side[1], b));
    }
    return true;
}

bool product_of(const OpCall *call, int a, int b, Product *p, Err *err)
{
    const Tensor *side[2] = { call->in[a], call->in[b] };
    char show[2][128];
    *p = (Product){ 0 };
    for (int s = 0; s < 2; s++) {
        if (!side[s]->rank) return op_wrong_input(call, s ? b : a, "at least one dimension", err);
        p->vector[s] = side[s]->rank == 1;
    }
    const int64_t *x = side[0]->dim + side[0]->rank, *y = side[1]->dim + side[1]->rank; /* ends */
    p->M = p->vector[0] ? 1 : x[-2];
    p->K = x[-1];
    p->N = p->vector[1] ? 1 : y[-1];
    if (p->K != (p->vector[1] ? y[-1] : y[-2]))
        return op_fail(call, err, "found %s times %s, wanted equal inner dimensions",
                       tensor_show(side[0], show[0]), tensor_show(side[1], show[1]));
    return batch_dims(call, side, p, err);
}

bool product_shape(OpCall *call, int a, int b, DType type, Err *err)
{
    Product p;
    int64_t dim[MAX_RANK + 2];
    if (!product_of(call, a, b, &p, err)) return false;
    int rank = p.rank;
    memcpy(dim, p.batch, sizeof p.batch);
    if (!p.vector[0]) dim[rank++] = p.M;
    if (!p.vector[1]) dim[rank++] = p.N;
    return op_out(call, 0, type, rank, dim);
}

int64_t product_matrix(const Product *p, int side, int64_t batch)
{
    int64_t at = 0;
    for (int i = p->rank - 1; i >= 0; i--) {
        at += batch % p->batch[i] * p->step[side][i];
        batch /= p->batch[i];
    }
    return at;
}

/* ---- f32 ---- */

enum { TILE_ROWS = 48, TILE_PANELS = 16 };

typedef struct Tiles {
    const Product *p;
    const Gemm *gemm;
    const float *a, *b;     /* b as it came; panels once packed */
    float *y, *panels;
    size_t size;            /* floats of one packed matrix */
    bool transposed;
    int64_t rows, row_tiles, panel_tiles;
} Tiles;

static void pack_one(void *context, int64_t from, int64_t to)
{
    const Tiles *t = context;
    const Product *p = t->p;
    for (int64_t i = from; i < to; i++)
        panels_f32_pack(t->b + i * p->K * p->N, t->transposed, p->N, p->K,
                        t->panels + (size_t)i * t->size);
}

static void run_tiles(void *context, int64_t from, int64_t to)
{
    const Tiles *t = context;
    const Product *p = t->p;
    const int64_t each = t->row_tiles * t->panel_tiles, panels = (p->N + PANEL - 1) / PANEL;
    for (int64_t i = from; i < to; i++) {
        const int64_t batch = i / each, m = i % each / t->panel_tiles * t->rows;
        const int64_t panel = i % t->panel_tiles * TILE_PANELS;
        Linear l = { .x = t->a + product_matrix(p, 0, batch) * p->M * p->K,
                     .ldx = p->K,
                     .w = t->panels + (size_t)product_matrix(p, 1, batch) * t->size,
                     .y = t->y + batch * p->M * p->N,
                     .ldy = p->N,
                     .M = p->M,
                     .N = p->N,
                     .K = p->K };
        t->gemm->run(&l, m, MIN(m + t->rows, p->M), panel, MIN(panel + TILE_PANELS, panels));
    }
}

static Tiles tiles_of(const OpCall *call, const Product *p, const float *a, float *y)
{
    const Gemm *gemm = call->k->gemm_f32;
    Tiles t = { .p = p, .gemm = gemm, .a = a, .y = y, .size = panels_f32_size(p->N, p->K),
                .rows = ROUND_UP(TILE_ROWS, gemm->mr) };
    t.row_tiles = (p->M + t.rows - 1) / t.rows;
    t.panel_tiles = ((p->N + PANEL - 1) / PANEL + TILE_PANELS - 1) / TILE_PANELS;
    return t;
}

/* An empty product needs no kernel. */
static bool is_trivial(const Product *p, float *y)
{
    const int64_t out = p->batches * p->M * p->N;
    if (!p->K && out) memset(y, 0, (size_t)out * sizeof *y);
    return !p->K || !out;
}

static void split_tiles(const OpCall *call, Tiles *t)
{
    const Product *p = t->p;
    const int64_t work = p->K * MIN(t->rows, p->M) * MIN(p->N, TILE_PANELS * PANEL); /* of one tile */
    op_split(call, p->batches * t->row_tiles * t->panel_tiles, MAX(100000 / work, 1), run_tiles, t);
}

void product_panels(const OpCall *call, const Product *p, const float *a, float *panels, float *y)
{
    if (is_trivial(p, y)) return;
    Tiles t = tiles_of(call, p, a, y);
    t.panels = panels;
    split_tiles(call, &t);
}

bool product_f32(OpCall *call, const Product *product, const float *a, const float *b,
                 bool transposed, float *y, Err *err)
{
    Product p = *product;
    if (p.matrices[1] == 1 && p.batches == p.matrices[0]) { /* one tall matrix on the left */
        p.M *= p.batches;
        p.batches = 1;
        p.rank = 0;
    }
    if (is_trivial(&p, y)) return true;
    Tiles t = tiles_of(call, &p, a, y);
    t.b = b;
    t.transposed = transposed;
    t.panels = op_scratch(call, p.matrices[1], t.size * sizeof(float), err);
    if (!t.panels) return false;
    op_split(call, p.matrices[1], MAX(65536 / (p.K * p.N), 1), pack_one, &t);
    split_tiles(call, &t);
    return true;
}

/* ---- other types: an element at a time ---- */

static void dot_f64(const Tensor *a, int64_t at, int64_t a_step, const Tensor *b, int64_t bt,
                    int64_t b_step, int64_t K, Tensor *out, int64_t o)
{
    double sum = 0;
    for (int64_t k = 0; k < K; k++)
        sum += tensor_get(a, at + k * a_step) * tensor_get(b, bt + k * b_step);
    tensor_store(out, o, 1, &sum);
}

static void dot_int(const Tensor *a, int64_t at, int64_t a_step, const Tensor *b, int64_t bt,
                    int64_t b_step, int64_t K, Tensor *out, int64_t o)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < K; k++)
        sum += (uint64_t)tensor_get_int(a, at + k * a_step) *
               (uint64_t)tensor_get_int(b, bt + k * b_step);
    int64_t value = (int64_t)sum;
    Tensor exact = { .type = T_I64, .data = &value };
    tensor_convert(&exact, 0, out, o, 1);
}

static void product_plain(const Product *p, const Tensor *a, const Tensor *b, bool trans_a,
                          bool trans_b, Tensor *out)
{
    const int64_t row = trans_a ? 1 : p->K, a_step = trans_a ? p->M : 1;
    const int64_t column = trans_b ? p->K : 1, b_step = trans_b ? 1 : p->N;
    for (int64_t i = 0; i < p->batches * p->M * p->N; i++) {
        const int64_t batch = i / (p->M * p->N), m = i / p->N % p->M, n = i % p->N;
        const int64_t at = product_matrix(p, 0, batch) * p->M * p->K + m * row;
        const int64_t bt = product_matrix(p, 1, batch) * p->K * p->N + n * column;
        (a->type == T_F64 ? dot_f64 : dot_int)(a, at, a_step, b, bt, b_step, p->K, out, i);
    }
}

static bool is_f32_like(DType type)
{
    return type == T_F32 || type == T_F16 || type == T_BF16;
}

/* ---- MatMul ---- */

static bool matmul_shape(OpCall *call, Err *err)
{
    const Tensor *a = call->in[0], *b = call->in[1];
    if (a->type == T_BOOL) return op_wrong_input(call, 0, "numbers", err);
    if (a->type != b->type) return op_wrong_input(call, 1, "the type of input 0", err);
    return product_shape(call, 0, 1, a->type, err);
}

static bool matmul_run(OpCall *call, Err *err)
{
    const Tensor *a = call->in[0], *b = call->in[1];
    Tensor *out = &call->out[0];
    Product p;
    if (!product_of(call, 0, 1, &p, err)) return false;
    if (!is_f32_like(a->type)) {
        product_plain(&p, a, b, false, false, out);
        return true;
    }
    if (a->type == T_F32) return product_f32(call, &p, a->data, b->data, false, out->data, err);
    const float *x = op_f32(call, a, err), *w = x ? op_f32(call, b, err) : NULL;
    Tensor y = *out;
    y.type = T_F32;
    y.data = w ? op_scratch(call, MAX(tensor_count(out), 1), sizeof(float), err) : NULL;
    if (!y.data || !product_f32(call, &p, x, w, false, y.data, err)) return false;
    tensor_convert(&y, 0, out, 0, tensor_count(out));
    return true;
}

/* ---- Gemm: alpha * A' * B' + beta * C ---- */

bool gemm_product(const OpCall *call, Product *p, Err *err)
{
    const Tensor *a = call->in[0], *b = call->in[1];
    const bool trans_a = op_attr_int(call, "transA", 0), trans_b = op_attr_int(call, "transB", 0);
    char show_a[128], show_b[128];
    if (a->rank != 2) return op_wrong_input(call, 0, "two dimensions", err);
    if (b->rank != 2 || b->type != a->type)
        return op_wrong_input(call, 1, "two dimensions of the type of input 0", err);
    *p = (Product){ .M = a->dim[trans_a], .K = a->dim[!trans_a], .N = b->dim[!trans_b], .batches = 1,
                    .matrices = { 1, 1 } };
    if (p->K == b->dim[trans_b]) return true;
    return op_fail(call, err, "found %s times %s, wanted equal inner dimensions",
                   tensor_show(a, show_a), tensor_show(b, show_b));
}

bool gemm_shape(OpCall *call, Err *err)
{
    const Tensor *a = call->in[0], *c = op_in(call, 2);
    Product p;
    if (!gemm_product(call, &p, err)) return false;
    const int64_t dim[2] = { p.M, p.N };
    bool fits = !c || (c->rank <= 2 && c->type == a->type);
    for (int i = 0; c && fits && i < c->rank; i++)
        fits = c->dim[i] == 1 || c->dim[i] == dim[i + 2 - c->rank];
    if (!fits) return op_wrong_input(call, 2, "a tensor that broadcasts to the product", err);
    return op_out(call, 0, a->type, 2, dim);
}

/* y = alpha * y + beta * c, with c broadcast; integers too, as ONNX allows them. */
static void gemm_finish(const OpCall *call, const Product *p, const Tensor *from, Tensor *out)
{
    const Tensor *c = op_in(call, 2);
    const double alpha = onnx_float(call->node, "alpha", 1),
                 beta = onnx_float(call->node, "beta", 1);
    const int64_t columns = c && c->rank ? c->dim[c->rank - 1] : 1;
    const int64_t rows = c && c->rank == 2 ? c->dim[0] : 1;
    for (int64_t i = 0; i < p->M * p->N; i++) {
        const int64_t m = rows == 1 ? 0 : i / p->N, n = columns == 1 ? 0 : i % p->N;
        double y = alpha * tensor_get(from, i);
        if (c) y += beta * tensor_get(c, m * columns + n);
        tensor_store(out, i, 1, &y);
    }
}

static float *transposed_copy(OpCall *call, const float *a, const Product *p, Err *err)
{
    float *out = op_scratch(call, MAX(p->M * p->K, 1), sizeof *out, err);
    for (int64_t i = 0; out && i < p->M * p->K; i++) out[i] = a[i % p->K * p->M + i / p->K];
    return out;
}

bool gemm_run(OpCall *call, Err *err)
{
    const Tensor *a = call->in[0], *b = call->in[1];
    const bool trans_a = op_attr_int(call, "transA", 0), trans_b = op_attr_int(call, "transB", 0);
    Product p;
    if (!gemm_product(call, &p, err)) return false;
    Tensor y = call->out[0];
    if (!is_f32_like(a->type)) {
        product_plain(&p, a, b, trans_a, trans_b, &y);
        gemm_finish(call, &p, &y, &call->out[0]);
        return true;
    }
    const float *x = op_f32(call, a, err), *w = x ? op_f32(call, b, err) : NULL;
    if (w && trans_a) x = transposed_copy(call, x, &p, err);
    if (y.type != T_F32 && w && x) y.data = op_scratch(call, MAX(p.M * p.N, 1), sizeof(float), err);
    y.type = T_F32;
    if (!w || !x || !y.data || !product_f32(call, &p, x, w, trans_b, y.data, err)) return false;
    gemm_finish(call, &p, &y, &call->out[0]);
    return true;
}

const Op ops_matmul[] = {
    { "MatMul", NULL, 1, 2, 2, matmul_shape, matmul_run, 0, TOKEN_MATMUL, .cost = COST_PRODUCT },
    { "Gemm", NULL, 7, 2, 3, gemm_shape, gemm_run, 0, TOKEN_NO, .cost = COST_PRODUCT },
    { 0 }
};
