/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.h - the int8 GEMM: as gemm_f32.h, with four products a lane and step. Integer sums are exact in
 * any order; what turns them into floats is the arithmetic of scalar/gemm_i8.c, step by step. */
#include "finish.h"
#include "tile.h"

/* sum[rows][16] = x * w; x: rows of `groups` times four bytes. */
INLINE void dot_body(int rows, const uint8_t *x, const int8_t *w, int64_t groups, vi *out)
{
    vi sum[DOT_ROWS];
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) sum[r] = vi_set(0);
    int64_t row = groups * 4;
    for (int64_t k = 0; k < groups; k++, w += 4 * PANEL, x += 4) {
        vi b = vi_load(w);
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + r * row, 4);
            sum[r] = vi_dot(sum[r], vi_set(four), b);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) out[r] = sum[r];
}

#define X(rows)                                                                                \
    static void dot_##rows(const uint8_t *x, const int8_t *w, int64_t groups, vi *out)         \
    {                                                                                          \
        dot_body(rows, x, w, groups, out);                                                     \
    }
DOTS(X)
#undef X

typedef void DotFn(const uint8_t *x, const int8_t *w, int64_t groups, vi *out);
#define X(rows) [rows] = dot_##rows,
static DotFn *const dot_fn[DOT_ROWS + 1] = { DOTS(X) };
#undef X

/* Zero points off, scales on: what the float sum would have been. */
INLINE void dot_scale(const Linear *l, const vi *dots, Tile *t, float *out)
{
    vi w_sum = vi_load(l->w_sum + t->n);
    vf w_scale = vf_load(l->w_scale + t->n);
    for (int r = 0; r < t->rows; r++) {
        const RowScale *row = l->row + t->m + r;
        vi dot = vi_sub(dots[r], vi_mul(vi_set(row->zero), w_sum));
        if (l->w_zero) {
            int32_t rest = (int32_t)((uint32_t)row->sum - (uint32_t)l->K * (uint32_t)row->zero);
            dot = vi_sub(dot, vi_mul(vi_load(l->w_zero + t->n), vi_set(rest)));
        }
        vf_store(out + r * PANEL, vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), w_scale)));
    }
}

static void gemm_i8_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    vi dots[DOT_ROWS];
    _Alignas(64) float sum[DOT_ROWS * PANEL];
    int64_t groups = (l->K + 3) / 4, count = cut_count(m1 - m0, DOT_ROWS);
    for (int64_t p = p0; p < p1; p++) {
        const int8_t *w = (const int8_t *)l->w + p * PANEL * groups * 4;
        for (int64_t i = 0; i < count; i++) {
            Cut c = cut(m1 - m0, count, i);
            Tile t = { sum, m0 + c.from, p * PANEL, (int)(c.to - c.from), 1 };
            dot_fn[t.rows](l->xq + t.m * groups * 4, w, groups, dots);
            dot_scale(l, dots, &t, sum);
            finish_tile(l, &t);
        }
    }
}
