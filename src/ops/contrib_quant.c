/* SPDX-License-Identifier: Apache-2.0
 * contrib_quant.c - com.microsoft products of quantized matrices, and their sum. The arithmetic is
 * ONNX Runtime's: integer sums, one multiplication by the scales, rounding half to even. */
#include <math.h>

#include "ops/quant.h"

/* ---- MatMulIntegerToFloat and DynamicQuantizeMatMul: to float, with scales of rows and columns ---- */

static bool columns_fit(const OpCall *call, int input, int64_t N, Err *err)
{
    const Tensor *t = op_in(call, input);
    if (!t || (t->type == T_F32 && tensor_count(t) == N)) return true;
    return op_wrong_input(call, input, "a float for each column", err);
}

/* y = sums * a_scale * b_scale + bias. scale of a: one number, or input `a_scale`. */
typedef struct Scaling {
    const IntJob *job;
    const Tensor *a_scale, *b_scale; /* a_scale NULL: `one` */
    const Tensor *bias;
    float one;
    float *y;
} Scaling;

static void scale_rows(void *context, int64_t from, int64_t to)
{
    const Scaling *s = context;
    const Product *p = &s->job->p;
    const float *bias = s->bias ? s->bias->data : NULL;
    for (int64_t i = from; i < to; i++) {
        const int64_t batch = i / p->M, m = i % p->M, matrix = product_matrix(p, 1, batch);
        float a = s->one;
        if (s->a_scale)
            a = (float)tensor_get(s->a_scale,
                                  int_side_place(s->a_scale, p->M, product_matrix(p, 0, batch), m));
        for (int64_t n = 0; n < p->N; n++) {
            const float b =
                (float)tensor_get(s->b_scale, int_side_place(s->b_scale, p->N, matrix, n));
            s->y[i * p->N + n] = (float)s->job->y[i * p->N + n] * (a * b) + (bias ? bias[n] : 0);
        }
    }
}

static bool scale_all(OpCall *call, IntJob *job, Scaling *s, Err *err)
{
    const Product *p = &job->p;
    job->y = op_scratch(call, MAX(p->batches * p->M * p->N, 1), sizeof *job->y, err);
    if (!job->y || !int_product(call, job, err)) return false;
    s->job = job;
    s->y = call->out[0].data;
    op_split(call, p->N ? p->batches * p->M : 0, MAX(8192 / MAX(p->N, 1), 1), scale_rows, s);
    return true;
}

/* a, b, a_scale, b_scale, a_zero, b_zero, bias */
static bool to_float_shape(OpCall *call, Err *err)
{
    Product p;
    if (!int_bytes(call, 0, 4, err) || !int_bytes(call, 1, 5, err)) return false;
    if (!product_of(call, 0, 1, &p, err)) return false;
    for (int i = 2; i < 6; i++)
        if (!int_side_numbers(call, i, &p, i % 2, err)) return false;
    return columns_fit(call, 6, p.N, err) && product_shape(call, 0, 1, T_F32, err);
}

static bool to_float_run(OpCall *call, Err *err)
{
    IntJob job = {
        .a = call->in[0], .b = call->in[1], .a_zero = op_in(call, 4), .b_zero = op_in(call, 5)
    };
    Scaling s = { .a_scale = call->in[2], .b_scale = call->in[3], .bias = op_in(call, 6) };
    return product_of(call, 0, 1, &job.p, err) && scale_all(call, &job, &s, err);
}

/* a (float), b, b_scale, b_zero, bias */
static bool dynamic_matmul_shape(OpCall *call, Err *err)
{
    Product p;
    if (call->in[0]->type != T_F32) return op_wrong_input(call, 0, "float", err);
    return int_bytes(call, 1, 3, err) && product_of(call, 0, 1, &p, err) &&
           int_side_numbers(call, 2, &p, 1, err) && int_side_numbers(call, 3, &p, 1, err) &&
           columns_fit(call, 4, p.N, err) && product_shape(call, 0, 1, T_F32, err);
}

static bool dynamic_matmul_run(OpCall *call, Err *err)
{
    const int64_t n = tensor_count(call->in[0]);
    uint8_t *q = op_scratch(call, MAX(n, 1), 1, err), zero;
    Scaling s = { .b_scale = call->in[2], .bias = op_in(call, 4) };
    if (!q) return false;
    quant_dynamic(call, call->in[0]->data, n, q, &s.one, &zero);
    Tensor a = *call->in[0];
    a.type = T_U8, a.data = q;
    const Tensor a_zero = { .type = T_U8, .data = &zero };
    IntJob job = { .a = &a, .b = call->in[1], .a_zero = &a_zero, .b_zero = op_in(call, 3) };
    return product_of(call, 0, 1, &job.p, err) && scale_all(call, &job, &s, err);
}

/* ---- QGemm: a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero ---- */

static bool q_gemm_product(const OpCall *call, Product *p, Err *err)
{
    const Tensor *a = call->in[0], *b = call->in[3];
    const bool trans_a = op_attr_int(call, "transA", 0), trans_b = op_attr_int(call, "transB", 0);
    char show[2][128];
    if (a->rank != 2) return op_wrong_input(call, 0, "two dimensions", err);
    if (b->rank != 2) return op_wrong_input(call, 3, "two dimensions", err);
    *p = (Product){ .M = a->dim[trans_a],
                    .K = a->dim[!trans_a],
                    .N = b->dim[!trans_b],
                    .batches = 1,
                    .matrices = { 1, 1 } };
    if (p->K == b->dim[trans_b]) return true;
    return op_fail(call, err, "found %s times %s, wanted equal inner dimensions",
                   tensor_show(a, show[0]), tensor_show(b, show[1]));
}

static bool q_gemm_shape(OpCall *call, Err *err)
{
    const Tensor *c = op_in(call, 6), *y_scale = op_in(call, 7), *y_zero = op_in(call, 8);
    Product p;
    double low, high;
    if (!int_bytes(call, 0, 2, err) || !int_bytes(call, 3, 5, err)) return false;
    if (!q_gemm_product(call, &p, err)) return false;
    for (int i = 1; i < 6; i++) {
        const Tensor *t = op_in(call, i);
        if (i != 3 && t && tensor_count(t) != 1 && (i < 3 || tensor_count(t) != p.N))
            return op_wrong_input(call, i, "one number, or one for each column of b", err);
    }
    const int64_t dim[2] = { p.M, p.N };
    bool fits = !c || (c->rank <= 2 && c->type == T_I32);
    for (int i = 0; c && fits && i < c->rank; i++)
        fits = c->dim[i] == 1 || c->dim[i] == dim[i + 2 - c->rank];
    if (!fits) return op_wrong_input(call, 6, "int32 that broadcasts to the product", err);
    if (y_scale && tensor_count(y_scale) != 1) return op_wrong_input(call, 7, "one number", err);
    if (y_zero && (tensor_count(y_zero) != 1 || !quant_limits(y_zero->type, &low, &high)))
        return op_wrong_input(call, 8, "one number of 8 bits", err);
    return op_out(call, 0, !y_scale ? T_F32 : y_zero ? y_zero->type : call->in[0]->type, 2, dim);
}

/* A byte matrix with its axes swapped. */
static bool transposed_bytes(OpCall *call, Tensor *t, Err *err)
{
    const int64_t rows = t->dim[0], columns = t->dim[1];
    uint8_t *to = op_scratch(call, MAX(rows * columns, 1), 1, err);
    const uint8_t *from = t->data;
    if (!to) return false;
    for (int64_t i = 0; i < rows * columns; i++) to[i] = from[i % rows * columns + i / rows];
    t->data = to;
    t->dim[0] = columns, t->dim[1] = rows;
    return true;
}

static int64_t c_at(const Tensor *c, const Product *p, int64_t i)
{
    const int64_t columns = c->rank ? c->dim[c->rank - 1] : 1, rows = c->rank == 2 ? c->dim[0] : 1;
    return tensor_get_int(c, (rows == 1 ? 0 : i / p->N) * columns + (columns == 1 ? 0 : i % p->N));
}

static void q_gemm_finish(OpCall *call, const IntJob *job)
{
    const Product *p = &job->p;
    const Tensor *b_scale = call->in[4], *c = op_in(call, 6), *y_scale = op_in(call, 7),
                 *y_zero = op_in(call, 8);
    const float alpha = onnx_float(call->node, "alpha", 1), a = (float)tensor_get(call->in[1], 0);
    const bool one = tensor_count(b_scale) == 1;
    double low = 0, high = 0;
    if (y_scale) quant_limits(call->out[0].type, &low, &high);
    for (int64_t i = 0; i < p->M * p->N; i++) {
        const float scale = alpha * a * (float)tensor_get(b_scale, one ? 0 : i % p->N);
        const int64_t sum = job->y[i] + (c ? c_at(c, p, i) : 0);
        double y = (float)sum * scale;
        if (y_scale) {
            y = rint((double)((float)sum * (scale / (float)tensor_get(y_scale, 0))));
            y += y_zero ? tensor_get(y_zero, 0) : 0;
            y = y > low ? MIN(y, high) : low;
        }
        tensor_store(&call->out[0], i, 1, &y);
    }
}

static bool q_gemm_run(OpCall *call, Err *err)
{
    Tensor a = *call->in[0], b = *call->in[3];
    IntJob job = { .a = &a, .b = &b, .a_zero = op_in(call, 2), .b_zero = op_in(call, 5) };
    if (!q_gemm_product(call, &job.p, err)) return false;
    if (op_attr_int(call, "transA", 0) && !transposed_bytes(call, &a, err)) return false;
    if (op_attr_int(call, "transB", 0) && !transposed_bytes(call, &b, err)) return false;
    job.y = op_scratch(call, MAX(job.p.M * job.p.N, 1), sizeof *job.y, err);
    if (!job.y || !int_product(call, &job, err)) return false;
    q_gemm_finish(call, &job);
    return true;
}

/* ---- QLinearAdd: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero ---- */

static bool q_add_shape(OpCall *call, Err *err)
{
    int64_t dim[MAX_RANK];
    int rank;
    if (call->n_in < 7 || !call->in[3])
        return op_fail(call, err, "found %d inputs, wanted two numbers and their scales",
                       call->n_in);
    if (!int_bytes(call, 0, 2, err) || !int_bytes(call, 3, 5, err)) return false;
    if (call->in[3]->type != call->in[0]->type)
        return op_wrong_input(call, 3, "the type of input 0", err);
    for (int i = 1; i < call->n_in; i++)
        if (i != 3 && call->in[i] && tensor_count(call->in[i]) != 1)
            return op_wrong_input(call, i, "one number", err);
    if (!call->in[4] || !call->in[6]) return op_fail(call, err, "a scale is missing");
    return op_broadcast(call, 0, 3, dim, &rank, err) &&
           op_out(call, 0, call->in[0]->type, rank, dim);
}

/* y = a * (a_scale / y_scale) + (b * (b_scale / y_scale) + rest): in this order, since halves must
 * round as ONNX Runtime rounds them. */
static bool q_add_run(OpCall *call, Err *err)
{
    (void)err;
    Tensor *y = &call->out[0];
    float ratio[2], zero[2];
    for (int s = 0; s < 2; s++) {
        const Tensor *z = op_in(call, 3 * s + 2);
        ratio[s] = (float)tensor_get(call->in[3 * s + 1], 0) / (float)tensor_get(call->in[6], 0);
        zero[s] = z ? (float)tensor_get(z, 0) : 0;
    }
    const float y_zero = op_in(call, 7) ? (float)tensor_get(call->in[7], 0) : 0;
    const float rest = y_zero - (ratio[0] * zero[0] + ratio[1] * zero[1]);
    double low = 0, high = 0;
    quant_limits(y->type, &low, &high);
    for (int64_t i = 0, n = tensor_count(y); i < n; i++) {
        const float a = (float)tensor_get(call->in[0], op_broadcast_place(call->in[0], y, i)),
                    b = (float)tensor_get(call->in[3], op_broadcast_place(call->in[3], y, i));
        double q = rint((double)(a * ratio[0] + (b * ratio[1] + rest)));
        q = q > low ? MIN(q, high) : low;
        tensor_store(y, i, 1, &q);
    }
    return true;
}

#define MICROSOFT "com.microsoft"
const Op ops_contrib_quant[] = {
    /* name, domain, since, inputs, shape, run, values, token, mixes rows */
    { "DynamicQuantizeMatMul", MICROSOFT, 1, 3, 5, dynamic_matmul_shape, dynamic_matmul_run, 0,
      TOKEN_NO, true, .cost = COST_PRODUCT },
    { "MatMulIntegerToFloat", MICROSOFT, 1, 4, 7, to_float_shape, to_float_run, 0, TOKEN_MATMUL,
      .cost = COST_PRODUCT },
    { "QGemm", MICROSOFT, 1, 6, 9, q_gemm_shape, q_gemm_run, 0, TOKEN_NO, .cost = COST_PRODUCT },
    { "QLinearAdd", MICROSOFT, 1, 2, 8, q_add_shape, q_add_run, 0, TOKEN_EACH },
    { 0 }
};
