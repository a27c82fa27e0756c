/* SPDX-License-Identifier: Apache-2.0
 * quant.c - ONNX's own quantization, number for number as its reference does it: divisions in
 * the type of the input, rounding half to even, saturation. The fast int8 path of the engine is
 * another one (per token row, ops/fused.c); `onnx run` and the probes of a quantized graph
 * compare with this one. */
#include <math.h>

#include "ops/quant.h"

/* ---- DynamicQuantizeLinear: one scale for the whole tensor ---- */

static bool dynamic_quantize_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0];
    if (t->type != T_F32) return op_wrong_input(call, 0, "float", err);
    return op_out(call, 0, T_U8, t->rank, t->dim) && op_out(call, 1, T_F32, 0, t->dim) &&
           op_out(call, 2, T_U8, 0, t->dim);
}

typedef struct Scaled {
    const float *x;
    uint8_t *y;
    float scale, zero;
} Scaled;

static void scale_range(void *context, int64_t from, int64_t to)
{
    const Scaled *s = context;
    for (int64_t i = from; i < to; i++) {
        const float q = rintf(s->x[i] / s->scale) + s->zero;
        s->y[i] = q > 0 ? (uint8_t)fminf(q, 255) : 0; /* NaN gives 0 */
    }
}

void quant_dynamic(const OpCall *call, const float *x, int64_t n, uint8_t *y, float *scale,
                   uint8_t *zero)
{
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    Scaled s = { .x = x, .y = y, .scale = (high == low ? 1.0f : high - low) / 255.0f };
    s.zero = rintf(fmaxf(0, fminf(255, 0.0f - low / s.scale)));
    if (y) op_split(call, n, 32768, scale_range, &s);
    *scale = s.scale;
    *zero = (uint8_t)s.zero;
}

static bool dynamic_quantize_run(OpCall *call, Err *err)
{
    (void)err;
    float scale;
    uint8_t zero;
    quant_dynamic(call, call->in[0]->data, tensor_count(call->in[0]), call->out[0].data, &scale,
                  &zero);
    if (call->n_out > 1 && call->out[1].data) *(float *)call->out[1].data = scale;
    if (call->n_out > 2 && call->out[2].data) *(uint8_t *)call->out[2].data = zero;
    return true;
}

/* ---- QuantizeLinear, DequantizeLinear: per tensor, per axis, or per block along an axis ---- */

typedef struct Scales {
    int64_t n, inner;       /* along the axis; elements behind it */
    int64_t block;          /* 0: not blocked */
    bool one;               /* a single scale */
} Scales;

static bool find_scales(const OpCall *call, Scales *s, Err *err)
{
    const Tensor *t = call->in[0], *scale = call->in[1], *zero = op_in(call, 2);
    *s = (Scales){ .n = 1, .inner = 1, .one = tensor_count(scale) == 1 && scale->rank <= 1 };
    if (zero && tensor_count(zero) != tensor_count(scale))
        return op_wrong_input(call, 2, "as many zero points as scales", err);
    if (s->one) return true;
    const int axis = op_axis(call, op_attr_int(call, "axis", 1), t->rank, err);
    if (axis < 0) return false;
    s->n = t->dim[axis];
    for (int i = axis + 1; i < t->rank; i++) s->inner *= t->dim[i];
    s->block = op_attr_int(call, "block_size", 0);
    if (scale->rank == 1 && scale->dim[0] == s->n) return s->block = 0, true;
    bool fits = scale->rank == t->rank && scale->dim[axis] > 0;
    for (int i = 0; fits && i < t->rank; i++) fits = i == axis || scale->dim[i] == t->dim[i];
    if (fits && !s->block) s->block = (s->n + scale->dim[axis] - 1) / scale->dim[axis];
    if (fits && s->block > 0 && (s->n + s->block - 1) / s->block == scale->dim[axis]) return true;
    return op_wrong_input(call, 1, "one scale, one for each step of the axis, or blocks", err);
}

static int64_t scale_place(const Scales *s, int64_t i)
{
    if (s->one) return 0;
    const int64_t k = i / s->inner % s->n;
    if (!s->block) return k;
    const int64_t blocks = (s->n + s->block - 1) / s->block;
    return (i / (s->n * s->inner) * blocks + k / s->block) * s->inner + i % s->inner;
}

bool quant_limits(DType type, double *low, double *high)
{
    static const struct {
        DType type;
        double low, high;
    } rows[] = {
        { T_U8, 0, 255 }, { T_I8, -128, 127 }, { T_U16, 0, 65535 }, { T_I16, -32768, 32767 }
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].type != type) continue;
        *low = rows[i].low;
        *high = rows[i].high;
        return true;
    }
    return false;
}

static bool quantize_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *zero = op_in(call, 2);
    const int64_t said = op_attr_int(call, "output_dtype", 0);
    const DType type = zero ? zero->type : said > 0 && said < T_COUNT ? (DType)said : T_U8;
    double low, high;
    Scales s;
    if (!dtype_is_float(t->type) && t->type != T_I32)
        return op_wrong_input(call, 0, "floats or int32", err);
    if (!dtype_is_float(call->in[1]->type)) return op_wrong_input(call, 1, "floats", err);
    if (!quant_limits(type, &low, &high) || said >= T_COUNT)
        return op_fail(call, err, "output: found %s, wanted 8 or 16-bit integers",
                       dtype_name(type));
    return find_scales(call, &s, err) && op_out(call, 0, type, t->rank, t->dim);
}

/* x / scale as the wider of both types would give it. */
static double quantize_divide(DType x_type, DType scale_type, double x, double scale)
{
    if (x_type == T_I32 || x_type == T_F64 || scale_type == T_F64) return x / scale;
    const float q = (float)x / (float)scale;
    if (x_type != scale_type || x_type == T_F32) return q;
    return x_type == T_F16 ? f16_to_f32(f32_to_f16(q)) : bf16_to_f32(f32_to_bf16(q));
}

static bool quantize_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *scale = call->in[1], *zero = op_in(call, 2);
    const int64_t n = tensor_count(t), precision = op_attr_int(call, "precision", 0);
    const DType x_type = precision == T_F32 ? T_F32 : t->type;
    double low = 0, high = 0;
    Scales s;
    if (!find_scales(call, &s, err)) return false;
    quant_limits(call->out[0].type, &low, &high);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = scale_place(&s, i);
        double q =
            rint(quantize_divide(x_type, scale->type, tensor_get(t, i), tensor_get(scale, at)));
        if (zero) q += tensor_get(zero, at);
        q = q > low ? MIN(q, high) : low;
        tensor_store(&call->out[0], i, 1, &q);
    }
    return true;
}

static bool dequantize_shape(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *scale = call->in[1], *zero = op_in(call, 2);
    const int64_t said = op_attr_int(call, "output_dtype", 0);
    const DType type = said > 0 && said < T_COUNT ? (DType)said : scale->type;
    Scales s;
    if (dtype_is_float(t->type) || t->type == T_BOOL)
        return op_wrong_input(call, 0, "integers", err);
    if (!dtype_is_float(scale->type)) return op_wrong_input(call, 1, "floats", err);
    if (zero && zero->type != t->type) return op_wrong_input(call, 2, "the type of input 0", err);
    if (!dtype_is_float(type))
        return op_fail(call, err, "output_dtype: found %s, wanted floats", dtype_name(type));
    return find_scales(call, &s, err) && op_out(call, 0, type, t->rank, t->dim);
}

static bool dequantize_run(OpCall *call, Err *err)
{
    const Tensor *t = call->in[0], *scale = call->in[1], *zero = op_in(call, 2);
    const int64_t n = tensor_count(t);
    Scales s;
    if (!find_scales(call, &s, err)) return false;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = scale_place(&s, i);
        const float x = (float)tensor_get(t, i) - (zero ? (float)tensor_get(zero, at) : 0);
        const double wide = (double)x * tensor_get(scale, at);
        const double y = scale->type == T_F64 ? wide : x * (float)tensor_get(scale, at);
        tensor_store(&call->out[0], i, 1, &y);
    }
    return true;
}

/* ---- integer products ---- */

static bool is_byte(DType type)
{
    return type == T_U8 || type == T_I8;
}

bool int_side_numbers(const OpCall *call, int input, const Product *p, int side, Err *err)
{
    const Tensor *t = op_in(call, input);
    const int64_t n = t ? tensor_count(t) : 1, each = side ? p->N : p->M;
    if (n == 1 || n == each || n == each * p->matrices[side]) return true;
    return op_wrong_input(call, input, "one number, or one for each row or column", err);
}

int64_t int_side_place(const Tensor *t, int64_t each, int64_t matrix, int64_t index)
{
    const int64_t n = tensor_count(t);
    return n == 1 ? 0 : n == each ? index : matrix * each + index;
}

static void widen_range(void *context, int64_t from, int64_t to)
{
    const IntJob *job = context;
    const Product *p = &job->p;
    for (int64_t i = from; i < to; i++) {
        int64_t zero = 0;
        if (job->b_zero) {
            const int64_t at = int_side_place(job->b_zero, p->N, i / (p->K * p->N), i % p->N);
            zero = tensor_get_int(job->b_zero, at);
        }
        job->wide[i] = (int16_t)(tensor_get_int(job->b, i) - zero);
    }
}

static void int_rows(void *context, int64_t from, int64_t to)
{
    const IntJob *job = context;
    const Product *p = &job->p;
    for (int64_t i = from; i < to; i++) {
        const int64_t matrix = product_matrix(p, 0, i / p->M), m = i % p->M;
        const int16_t *b = job->wide + product_matrix(p, 1, i / p->M) * p->K * p->N;
        uint32_t *y = (uint32_t *)job->y + i * p->N; /* sums wrap around, as int32 does in NumPy */
        int64_t zero = 0;
        if (job->a_zero)
            zero = tensor_get_int(job->a_zero, int_side_place(job->a_zero, p->M, matrix, m));
        memset(y, 0, (size_t)p->N * sizeof *y);
        for (int64_t k = 0; k < p->K; k++) {
            const int64_t x = tensor_get_int(job->a, (matrix * p->M + m) * p->K + k) - zero;
            for (int64_t n = 0; n < p->N; n++) y[n] += (uint32_t)((int32_t)x * b[k * p->N + n]);
        }
    }
}

bool int_product(OpCall *call, IntJob *job, Err *err)
{
    const Product *p = &job->p;
    const int64_t size = p->matrices[1] * p->K * p->N;
    job->call = call;
    job->wide = op_scratch(call, MAX(size, 1), sizeof *job->wide, err);
    if (!job->wide) return false;
    op_split(call, size, 32768, widen_range, job);
    op_split(call, p->N ? p->batches * p->M : 0, MAX(32768 / MAX(p->K * p->N, 1), 1), int_rows,
             job);
    return true;
}

bool int_bytes(const OpCall *call, int input, int zero, Err *err)
{
    const Tensor *t = call->in[input], *z = op_in(call, zero);
    if (!is_byte(t->type)) return op_wrong_input(call, input, "uint8 or int8", err);
    return !z || z->type == t->type || op_wrong_input(call, zero, "the type of its matrix", err);
}

static bool matmul_integer_shape(OpCall *call, Err *err)
{
    Product p;
    return int_bytes(call, 0, 2, err) && int_bytes(call, 1, 3, err) &&
           product_of(call, 0, 1, &p, err) && int_side_numbers(call, 2, &p, 0, err) &&
           int_side_numbers(call, 3, &p, 1, err) && product_shape(call, 0, 1, T_I32, err);
}

static bool matmul_integer_run(OpCall *call, Err *err)
{
    IntJob job = { .a = call->in[0],
                   .b = call->in[1],
                   .a_zero = op_in(call, 2),
                   .b_zero = op_in(call, 3),
                   .y = call->out[0].data };
    return product_of(call, 0, 1, &job.p, err) && int_product(call, &job, err);
}

/* QLinearMatMul: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero. */
static bool qlinear_shape(OpCall *call, Err *err)
{
    Product p;
    if (!int_bytes(call, 0, 2, err) || !int_bytes(call, 3, 5, err)) return false;
    if (!product_of(call, 0, 3, &p, err)) return false;
    for (int i = 1; i < 6; i++)
        if (i != 3 && !int_side_numbers(call, i, &p, i > 3, err)) return false;
    for (int i = 6; i < 8; i++)
        if (tensor_count(call->in[i]) != 1) return op_wrong_input(call, i, "one number", err);
    if (!is_byte(call->in[7]->type)) return op_wrong_input(call, 7, "uint8 or int8", err);
    return product_shape(call, 0, 3, call->in[7]->type, err);
}

static bool qlinear_run(OpCall *call, Err *err)
{
    const Tensor *a_scale = call->in[1], *b_scale = call->in[4];
    IntJob job = {
        .a = call->in[0], .b = call->in[3], .a_zero = call->in[2], .b_zero = call->in[5]
    };
    Tensor *out = &call->out[0];
    const int64_t n = tensor_count(out);
    double low = 0, high = 0;
    if (!product_of(call, 0, 3, &job.p, err)) return false;
    job.y = op_scratch(call, MAX(n, 1), sizeof *job.y, err);
    if (!job.y || !int_product(call, &job, err)) return false;
    quant_limits(out->type, &low, &high);
    const Product *p = &job.p;
    const float y_scale = (float)tensor_get(call->in[6], 0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t batch = i / (p->M * p->N), m = i / p->N % p->M, column = i % p->N;
        const int64_t at_a = int_side_place(a_scale, p->M, product_matrix(p, 0, batch), m);
        const int64_t at_b = int_side_place(b_scale, p->N, product_matrix(p, 1, batch), column);
        const float scale =
            (float)tensor_get(a_scale, at_a) * (float)tensor_get(b_scale, at_b) / y_scale;
        double y = rint(job.y[i] * (double)scale + tensor_get(call->in[7], 0));
        y = y > low ? MIN(y, high) : low;
        tensor_store(out, i, 1, &y);
    }
    return true;
}

const Op ops_quant[] = {
    /* name, domain, since, inputs, shape, run, values, token, mixes rows */
    { "DequantizeLinear", NULL, 10, 2, 3, dequantize_shape, dequantize_run, 0, TOKEN_EACH },
    { "DynamicQuantizeLinear", NULL, 11, 1, 1, dynamic_quantize_shape, dynamic_quantize_run, 0,
      TOKEN_NO, true },
    { "MatMulInteger", NULL, 10, 2, 4, matmul_integer_shape, matmul_integer_run, 0, TOKEN_MATMUL,
      .cost = COST_PRODUCT },
    { "QLinearMatMul", NULL, 10, 8, 8, qlinear_shape, qlinear_run, 0, TOKEN_MATMUL,
      .cost = COST_PRODUCT },
    { "QuantizeLinear", NULL, 10, 2, 3, quantize_shape, quantize_run, 0, TOKEN_EACH },
    { 0 }
};
