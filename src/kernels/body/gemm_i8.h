/* SPDX-License-Identifier: Apache-2.0
 * gemm_i8.h - the int8 GEMM: as gemm_f32.h, with four products a lane and step. Integer sums are
 * exact in any order; what turns them into floats is the arithmetic of scalar/gemm_i8.c, step by
 * step. */
#include "finish.h"
#include "tile.h"

/* out[rows][panels] = x * w; x: rows of `groups` times four bytes, w: panels one behind the
 * other. */
INLINE void dot_body(int rows, int panels, const uint8_t *x, const int8_t *w, int64_t groups,
                     vi *out)
{
    vi sum[DOT_ROWS][DOT_PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) sum[r][p] = vi_set(0);
    int64_t row = groups * 4;
    for (int64_t k = 0; k < groups; k++, w += 4 * PANEL, x += 4) {
        vi b[DOT_PANELS];
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) b[p] = vi_load(w + p * PANEL * row);
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + r * row, 4);
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) sum[r][p] = vi_dot(sum[r][p], vi_set(four), b[p]);
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) out[r * panels + p] = sum[r][p];
}

#define X(rows, panels)                                                                          \
    static void dot_##rows##x##panels(const uint8_t *x, const int8_t *w, int64_t groups, vi *out) \
    {                                                                                            \
        dot_body(rows, panels, x, w, groups, out);                                               \
    }
DOTS(X)
#undef X

typedef void DotFn(const uint8_t *x, const int8_t *w, int64_t groups, vi *out);
#define X(rows, panels) [rows][panels] = dot_##rows##x##panels,
static DotFn *const dot_fn[DOT_ROWS + 1][DOT_PANELS + 1] = { DOTS(X) };
#undef X

/* Zero points off, scales on: what the float sum would have been. */
INLINE vf dot_scale(const Linear *l, vi dot, int64_t m, int64_t n)
{
    const RowScale *row = l->row + m;
    dot = vi_sub(dot, vi_mul(vi_set(row->zero), vi_load(l->w_sum + n)));
    if (l->w_zero) {
        uint32_t rest = (uint32_t)row->sum - (uint32_t)l->K * (uint32_t)row->zero;
        dot = vi_sub(dot, vi_mul(vi_load(l->w_zero + n), vi_set((int32_t)rest)));
    }
    return vf_mul(vi_float(dot), vf_mul(vf_set(row->scale), vf_load(l->w_scale + n)));
}

static void scale_tile(const Linear *l, const vi *dots, const Tile *t, float *out)
{
    for (int r = 0; r < t->rows; r++)
        for (int p = 0; p < t->panels; p++, out += PANEL)
            vf_store(out, dot_scale(l, *dots++, t->m + r, t->n + p * PANEL));
}

static void gemm_i8_body(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    vi dots[DOT_ROWS * DOT_PANELS];
    _Alignas(64) float sum[DOT_ROWS * DOT_PANELS * PANEL];
    int64_t groups = (l->K + 3) / 4, count = cut_count(m1 - m0, DOT_ROWS), panels;
    if (!count) return;
    int widest = dot_panels((int)cut_count(m1 - m0, (int)count));
    for (int64_t p = p0; p < p1; p += panels) {
        const int8_t *w = (const int8_t *)l->w + p * PANEL * groups * 4;
        panels = group_of(p1 - p, widest);
        for (int64_t i = 0; i < count; i++) {
            Cut c = cut(m1 - m0, count, i);
            Tile t = { sum, m0 + c.from, p * PANEL, (int)(c.to - c.from), (int)panels };
            dot_fn[t.rows][panels](l->xq + t.m * groups * 4, w, groups, dots);
            scale_tile(l, dots, &t, sum);
            finish_tile(l, &t);
        }
    }
}
