/* SPDX-License-Identifier: Apache-2.0
 * dot.h - the GEMMs of low precision: panel outer, rows inner, as gemm_f32.h. A step takes four
 * bytes of each row (four int8 or two bf16) and of 16 columns. The including file defines the
 * sum (acc, acc_zero, acc_dot), the size of a tile (DOT_ROWS, DOT_PANELS, DOTS, dot_panels) and,
 * behind it, dot_ends and dot_end. */
#include "finish.h"
#include "tile.h"

enum {
    GROUP = 4,                  /* bytes of one column that lie side by side: one lane */
    WIDE = DOT_PANELS > 1,      /* tiles so fast that they ask for X and Y ahead; others only lose by it */
};

/* A tile of sums, and what it is made of. One of them is kept and changed from tile to tile, as
 * TileProduct is (tile.h). */
typedef struct DotTile {
    const uint8_t *x;           /* row r at r * row, or */
    int64_t row;
    const uint16_t *const *at;  /* row r in `taps` pieces, at at[r * taps] and behind it */
    int64_t taps;               /* 1 where rows are whole */
    int64_t groups;             /* of a piece */
    const uint8_t *w;           /* panels one behind the other */
    int64_t panel;              /* bytes of one */
    Ahead ahead;
    int64_t next;               /* bytes from here to the rows of the next tile, to be prefetched; or 0 */
    acc *sum;                   /* [rows][panels], unless */
    bool ends;                  /* dot_end does what follows: */
    TileEnd end;                /* of sums that are floats; then they are stored: */
    float *y;                   /* of the first row; or NULL: only */
    uint16_t *yb;               /* or NULL */
    int64_t y_row, yb_row;
} DotTile;

/* By the including file: whether sums need not go through memory, and what follows them then. */
INLINE bool dot_ends(const Linear *l, int64_t n, int64_t panels);
INLINE void dot_end(int rows, int panels, acc sum[DOT_ROWS][DOT_PANELS], const DotTile *t);

/* Prefetched while the tile multiplies: what is added to it, and where it goes. */
INLINE void dot_ask(int rows, int panels, const DotTile *t)
{
    tile_end_ask(rows, panels, &t->end);
    if (t->y)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p++) __builtin_prefetch(t->y + r * t->y_row + p * PANEL, 1);
    if (t->yb)
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int p = 0; p < panels; p += 2)
                __builtin_prefetch(t->yb + r * t->yb_row + p * PANEL, 1);
}

INLINE void dot_body(int rows, int panels, DotTile *t)
{
    acc sum[DOT_ROWS][DOT_PANELS];
    const uint8_t *w = t->w;
    const int64_t panel = t->panel;
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) sum[r][p] = acc_zero();
    if (WIDE && t->ends) dot_ask(rows, panels, t);
    for (int64_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *x[DOT_ROWS];
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++)
            x[r] = t->at ? (const uint8_t *)t->at[r * t->taps + tap] : t->x + r * t->row;
        int64_t k = 0;
        for (int64_t left = t->groups; left > 0; left -= STRIDE) {
            ahead_ask(&t->ahead, panels, false);
            if (WIDE && t->next && !(k & 32))
#pragma GCC unroll 32
                for (int r = 0; r < rows; r++) __builtin_prefetch(x[r] + k + t->next);
            for (int64_t n = MIN(STRIDE, left); n > 0; n--, k += GROUP, w += GROUP * PANEL) {
                vi b[DOT_PANELS];
#pragma GCC unroll 32
                for (int p = 0; p < panels; p++) b[p] = vi_load(w + p * panel);
#pragma GCC unroll 32
                for (int r = 0; r < rows; r++) {
                    int32_t group;
                    memcpy(&group, x[r] + k, GROUP);
#pragma GCC unroll 32
                    for (int p = 0; p < panels; p++)
                        sum[r][p] = acc_dot(sum[r][p], vi_set(group), b[p]);
                }
            }
        }
    }
    if (t->ends) {
        dot_end(rows, panels, sum, t);
        return;
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int p = 0; p < panels; p++) t->sum[r * panels + p] = sum[r][p];
}

typedef void DotFn(DotTile *);
#define X(rows, panels) \
    static void dot_##rows##x##panels(DotTile *t) { dot_body(rows, panels, t); }
DOTS(X)
#undef X
#define X(rows, panels) [rows][panels] = dot_##rows##x##panels,
static DotFn *const dot_fn[DOT_ROWS + 1][DOT_PANELS + 1] = { DOTS(X) };
#undef X

typedef struct Groups {         /* X in low precision */
    const uint8_t *x;
    int64_t row;                /* bytes from row to row */
    const uint16_t *const *at;  /* in place of x, or NULL */
    int64_t taps;               /* pieces of a row */
    int64_t count;              /* groups of a piece */
} Groups;

/* Where the tile of row m, column n ends up. */
INLINE void dot_place(const Linear *l, DotTile *t, int64_t m, int64_t n)
{
    t->end.bias = l->bias ? l->bias + n : NULL;
    t->end.residual = l->residual ? l->residual + m * l->ldr + n : NULL;
    t->y = l->y ? l->y + m * l->ldy + n : NULL;
    t->yb = l->yb ? l->yb + m * t->yb_row + n : NULL;
}

INLINE void dot_block(const Linear *l, Groups g, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    acc sum[DOT_ROWS * DOT_PANELS];
    const int64_t bytes = g.taps * g.count * GROUP * PANEL;
    const Tiling rows = tiling_of(m1 - m0, DOT_ROWS, bytes);
    const int widest = dot_panels((int)(rows.rows + (rows.more > 0)));
    if (m1 <= m0) return;
    DotTile t = { .row = g.row, .taps = g.taps, .groups = g.count, .panel = bytes, .sum = sum,
                  .end = { .row = l->ldr, .relu = l->act == ACT_RELU }, .y_row = l->ldy,
                  .yb_row = row_bf16(l->N) };
    for (int64_t p = p0, panels; p < p1; p += panels) {
        panels = group_of(p1 - p, widest);
        t.w = (const uint8_t *)l->w + p * bytes;
        t.ends = dot_ends(l, p * PANEL, panels);
        for (int64_t i = 0; i < rows.count; i++) {
            const PanelRange c = tiling_cut(&rows, i);
            const int64_t m = m0 + c.from;
            /* The first panels find X far away; int8 rows are few bytes and were written just now. */
            t.next = LOW_Y && p == p0 && !g.at ? (c.to - c.from) * g.row : 0;
            t.x = g.x + m * g.row;
            t.at = g.at ? g.at + m * g.taps : NULL;
            t.ahead = tiling_ahead(&rows, i, t.w + panels * bytes, bytes);
            if (t.ends) dot_place(l, &t, m, p * PANEL);
            dot_fn[c.to - c.from][panels](&t);
            if (!t.ends)
                finish_tile(l, &(Tile){ sum, m, p * PANEL, (int)(c.to - c.from), (int)panels });
        }
    }
}

INLINE void dot_gemm(const Linear *l, Groups g, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t blocks = blocks_of(m1 - m0, g.at ? g.count * GROUP : g.row, NEAR_X);
    for (int64_t i = 0; i < blocks; i++) {
        PanelRange c = cut(m1 - m0, blocks, i);
        dot_block(l, g, m0 + c.from, m0 + c.to, p0, p1);
    }
}
