/* SPDX-License-Identifier: Apache-2.0
 * conv_quant.c - ONNX's own quantized convolutions, number for number as its reference does them: ConvInteger
 * gives int32 sums, QLinearConv rounds them half to even into the output's scale. */
#include <math.h>

#include "ops/conv.h"
#include "ops/quant.h"

typedef struct ByteConv {
    const Conv *c;
    const Tensor *x, *w, *x_zero, *w_zero; /* zero points or NULL */
    int32_t *y;                            /* [images, group * M, positions] */
} ByteConv;

static int32_t byte_zero(const Tensor *zero, int64_t channel)
{
    if (!zero) return 0;
    return (int32_t)tensor_get_int(zero, tensor_count(zero) > 1 ? channel : 0);
}

/* One number of the filter over all positions of one channel. */
static void byte_step(const ByteConv *j, int64_t plane, const int64_t *k, int32_t weight, int32_t *y)
{
    const SlidingWindow *w = &j->c->w;
    const int32_t zero = byte_zero(j->x_zero, 0);
    int64_t at[SPACE] = { 0 };
    for (int64_t p = 0; p < w->positions; p++, window_next(at, w->out, w->dims)) {
        const int64_t place = window_source(w, at, k);
        if (place < 0) continue; /* padding is the zero point */
        y[p] += weight * ((int32_t)tensor_get_int(j->x, plane + place) - zero);
    }
}

static void byte_channels(void *context, int64_t from, int64_t to)
{
    const ByteConv *j = context;
    const Conv *c = j->c;
    const int64_t volume = window_volume(&c->w), channels = c->M * c->group;
    for (int64_t i = from; i < to; i++) {
        const int64_t image = i / channels, m = i % channels;
        int32_t *y = j->y + i * c->w.positions;
        memset(y, 0, sizeof *y * (size_t)c->w.positions);
        for (int64_t ch = 0; ch < c->C; ch++) {
            const int64_t plane = ((image * c->group + m / c->M) * c->C + ch) * volume;
            int64_t k[SPACE] = { 0 }, n = (m * c->C + ch) * c->w.size;
            do
                byte_step(j, plane, k, (int32_t)tensor_get_int(j->w, n++) - byte_zero(j->w_zero, m), y);
            while (window_next(k, c->w.kernel, c->w.dims));
        }
    }
}

static void byte_conv(const OpCall *call, ByteConv *j)
{
    const Conv *c = j->c;
    const int64_t work = MAX(c->K * c->w.positions, 1);
    if (c->w.positions)
        op_split(call, c->images * c->M * c->group, MAX(8192 / work, 1), byte_channels, j);
}

/* A number for all, or one for each output channel. */
static bool byte_numbers(const OpCall *call, int input, int64_t channels, Err *err)
{
    const Tensor *t = op_in(call, input);
    if (!t || tensor_count(t) == 1 || (t->rank == 1 && t->dim[0] == channels)) return true;
    return op_wrong_input(call, input, "one number, or one for each output channel", err);
}

/* ---- ConvInteger ---- */

enum { INT_X, INT_W, INT_X_ZERO, INT_W_ZERO };

static bool conv_integer_shape(OpCall *call, Err *err)
{
    Conv c;
    const Tensor *zero = op_in(call, INT_X_ZERO);
    if (!int_bytes(call, INT_X, INT_X_ZERO, err) || !int_bytes(call, INT_W, INT_W_ZERO, err) ||
        !conv_of(call, INT_X, INT_W, &c, err) || !byte_numbers(call, INT_W_ZERO, c.M * c.group, err))
        return false;
    if (zero && tensor_count(zero) != 1) return op_wrong_input(call, INT_X_ZERO, "one number", err);
    return conv_output(call, &c, T_I32);
}

static bool conv_integer_run(OpCall *call, Err *err)
{
    Conv c;
    if (!conv_of(call, INT_X, INT_W, &c, err)) return false;
    ByteConv j = { &c, call->in[INT_X], call->in[INT_W], op_in(call, INT_X_ZERO),
                   op_in(call, INT_W_ZERO), call->out[0].data };
    byte_conv(call, &j);
    return true;
}

/* ---- QLinearConv ---- */

enum { Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_Y_SCALE, Q_Y_ZERO, Q_BIAS };

static bool qlinear_conv_shape(OpCall *call, Err *err)
{
    Conv c;
    static const int one[] = { Q_X_SCALE, Q_X_ZERO, Q_Y_SCALE, Q_Y_ZERO };
    const Tensor *bias = op_in(call, Q_BIAS);
    if (!int_bytes(call, Q_X, Q_X_ZERO, err) || !int_bytes(call, Q_W, Q_W_ZERO, err) ||
        !conv_of(call, Q_X, Q_W, &c, err) || !byte_numbers(call, Q_W_SCALE, c.M * c.group, err) ||
        !byte_numbers(call, Q_W_ZERO, c.M * c.group, err))
        return false;
    for (size_t i = 0; i < COUNT(one); i++)
        if (tensor_count(call->in[one[i]]) != 1) return op_wrong_input(call, one[i], "one number", err);
    double low, high;
    if (!quant_limits(call->in[Q_Y_ZERO]->type, &low, &high))
        return op_wrong_input(call, Q_Y_ZERO, "int8 or uint8", err);
    if (bias && (bias->type != T_I32 || tensor_count(bias) != c.M * c.group))
        return op_wrong_input(call, Q_BIAS, "an int32 for each output channel", err);
    return conv_output(call, &c, call->in[Q_Y_ZERO]->type);
}

static bool qlinear_conv_run(OpCall *call, Err *err)
{
    Conv c;
    double low, high;
    Tensor *out = &call->out[0];
    const Tensor *bias = op_in(call, Q_BIAS), *w_scale = call->in[Q_W_SCALE];
    const int64_t n = tensor_count(out);
    if (!conv_of(call, Q_X, Q_W, &c, err)) return false;
    ByteConv j = { &c, call->in[Q_X], call->in[Q_W], call->in[Q_X_ZERO], call->in[Q_W_ZERO],
                   op_scratch(call, MAX(n, 1), sizeof(int32_t), err) };
    if (!j.y) return false;
    byte_conv(call, &j);
    quant_limits(out->type, &low, &high);
    const double scale = tensor_get(call->in[Q_X_SCALE], 0) / tensor_get(call->in[Q_Y_SCALE], 0);
    const double zero = tensor_get(call->in[Q_Y_ZERO], 0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t m = i / c.w.positions % (c.M * c.group);
        const double sum = j.y[i] + (bias ? tensor_get(bias, m) : 0);
        const double by = scale * tensor_get(w_scale, tensor_count(w_scale) > 1 ? m : 0);
        const double y = fmin(fmax(rint(sum * by) + zero, low), high);
        tensor_store(out, i, 1, &y);
    }
    return true;
}

const Op ops_conv_quant[] = {
    { "ConvInteger", NULL, 10, 2, 4, conv_integer_shape, conv_integer_run, .cost = COST_WINDOW },
    { "QLinearConv", NULL, 10, 8, 9, qlinear_conv_shape, qlinear_conv_run },
    { 0 }
};
