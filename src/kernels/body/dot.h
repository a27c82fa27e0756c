/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the GEMMs of low precision: panel outer, rows inner, as gemm_f32.h. A step takes four
 * bytes of each row (four int8 or two bf16) and of 16 columns. The including file defines the
 * sum (acc, acc_zero, acc_dot) and the size of a tile (DOT_ROWS, DOT_PANELS, DOTS, dot_panels). */
#include "finish.h"
#include "tile.h"

enum { GROUP = 4 }; /* bytes of one column that lie side by side: one lane */

/* out[rows][panels] = x * w; x: rows `row` bytes apart, w: panels one behind the other. */
INLINE void dot_body(int rows, int panels, const uint8_t *x, int64_t row, const uint8_t *w,
                     int64_t groups, const Ahead *from, acc *out)
{
    Ahead ahead = *from;
    acc sum[DOT_ROWS][DOT_PANELS];
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) sum[r][p] = acc_zero();
    int64_t panel = groups * GROUP * PANEL;
    for (int64_t left = groups; left > 0; left -= STRIDE) {
        ahead_ask(&ahead, panels, false);
        for (int64_t k = MIN(STRIDE, left); k > 0; k--, w += GROUP * PANEL, x += GROUP) {
            vi b[DOT_PANELS];
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) b[p] = vi_load(w + p * panel);
#pragma GCC unroll 32
            for (int r = 0; r < rows; r++) {
                int32_t group;
                memcpy(&group, x + r * row, GROUP);
#pragma GCC unroll 32
                for (int p = 0; p < panels; p++)
                    sum[r][p] = acc_dot(sum[r][p], vi_set(group), b[p]);
            }
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) out[r * panels + p] = sum[r][p];
}

/* Ahead is passed by address: a copy for the call would stall on store forwarding. */
typedef void DotFn(const uint8_t *x, int64_t row, const uint8_t *w, int64_t groups,
                   const Ahead *ahead, acc *out);
#define X(rows, panels)                                                             \
    static void dot_##rows##x##panels(const uint8_t *x, int64_t row, const uint8_t *w, \
                                      int64_t groups, const Ahead *ahead, acc *out) \
    {                                                                               \
        dot_body(rows, panels, x, row, w, groups, ahead, out);                      \
    }
DOTS(X)
#undef X
#define X(rows, panels) [rows][panels] = dot_##rows##x##panels,
static DotFn *const dot_fn[DOT_ROWS + 1][DOT_PANELS + 1] = { DOTS(X) };
#undef X

typedef struct Groups {         /* X in low precision */
    const uint8_t *x;
    int64_t row;                /* bytes from row to row */
    int64_t count;              /* groups of a row */
} Groups;

INLINE void dot_block(const Linear *l, Groups g, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    acc sum[DOT_ROWS * DOT_PANELS];
    const int64_t bytes = g.count * GROUP * PANEL;
    const Tiling rows = tiling_of(m1 - m0, DOT_ROWS, bytes);
    const int widest = dot_panels((int)(rows.rows + (rows.more > 0)));
    if (m1 <= m0) return;
    for (int64_t p = p0, panels; p < p1; p += panels) {
        const uint8_t *w = (const uint8_t *)l->w + p * bytes;
        panels = group_of(p1 - p, widest);
        for (int64_t i = 0; i < rows.count; i++) {
            PanelRange c = tiling_cut(&rows, i);
            Tile t = { sum, m0 + c.from, p * PANEL, (int)(c.to - c.from), (int)panels };
            Ahead ahead = tiling_ahead(&rows, i, w + panels * bytes, bytes);
            dot_fn[t.rows][panels](g.x + t.m * g.row, g.row, w, g.count, &ahead, sum);
            finish_tile(l, &t);
        }
    }
}

INLINE void dot_gemm(const Linear *l, Groups g, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t blocks = blocks_of(m1 - m0, g.row, NEAR_X);
    for (int64_t i = 0; i < blocks; i++) {
        PanelRange c = cut(m1 - m0, blocks, i);
        dot_block(l, g, m0 + c.from, m0 + c.to, p0, p1);
    }
}
