/* SPDX-License-Identifier: Apache-2.0
 * rows.c - the references of the row kernels, in the words of libm. Sums of many terms are in
 * double: a reference should not have an order of its own. */
#include <math.h>

#include "base/bf16.h"
#include "kernels/tables.h"

static void scalar_norm_row(const Norm *n, const float *x, float *y)
{
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < n->C; c++) sum += x[c];
    double mean = sum / (double)n->C;
    for (int64_t c = 0; c < n->C; c++) squares += (x[c] - mean) * (x[c] - mean);
    double scale = 1 / sqrt(squares / (double)n->C + n->eps);
    for (int64_t c = 0; c < n->C; c++)
        y[c] = (float)((x[c] - mean) * scale) * n->gamma[c] + (n->beta ? n->beta[c] : 0);
}

void scalar_layer_norm(const Norm *n, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++) {
        const float *x = n->x + m * n->C;
        float *y = n->y + m * n->C, *sum = n->sum ? n->sum + m * n->C : y;
        for (int64_t c = 0; n->skip && c < n->C; c++) sum[c] = x[c] + n->skip[m * n->C + c];
        scalar_norm_row(n, n->skip ? sum : x, y);
        if (n->yb) scalar_bf16_rows(n->y, n->C, n->C, n->yb, m, m + 1);
    }
}

void scalar_standardize(const float *x, float *y, int64_t n, float eps)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    const double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / sqrt(squares / (double)n + eps);
    for (int64_t i = 0; i < n; i++) y[i] = (float)((x[i] - mean) * scale);
}

void scalar_softmax(const float *x, float *y, int64_t n)
{
    float max = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > max) max = x[i];
    for (int64_t i = 0; i < n; i++) sum += y[i] = expf(x[i] - max);
    for (int64_t i = 0; i < n; i++) y[i] = (float)(y[i] / sum);
}

static float scalar_activation(Act act, float x)
{
    switch (act) {
    case ACT_RELU: return x < 0 ? 0 : x; /* NaN stays */
    case ACT_GELU: return 0.5f * x * erfcf(x * -0.70710678f);
    case ACT_GELU_TANH:
        return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case ACT_TANH: return tanhf(x);
    case ACT_SIGMOID: return 1 / (1 + expf(-x));
    case ACT_SILU: return x / (1 + expf(-x));
    case ACT_NONE:
    case ACT_COUNT: break;
    }
    return x;
}

void scalar_activate(Act act, const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = scalar_activation(act, x[i]);
}

void scalar_bf16_rows(const float *x, int64_t ldx, int64_t K, uint16_t *b, int64_t m0, int64_t m1)
{
    for (int64_t m = m0; m < m1; m++)
        for (int64_t k = 0; k < row_bf16(K); k++)
            b[m * row_bf16(K) + k] = k < K ? f32_to_bf16(x[m * ldx + k]) : 0;
}
