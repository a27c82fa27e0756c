/* SPDX-License-Identifier: Apache-2.0
 * pairs.h - the int8 GEMM where the chip multiplies x and w in pairs that it adds in 16 bits, and
 * takes two instructions more to widen and add those to 32: panel outer, rows inner, as gemm_f32.h.
 * Four steps of k are added in 16 bits and widened once: 10 instructions in place of 12, and 5
 * multiplications in place of 8.
 *
 * The eight products of a lane fit in 16 bits once they lie around 0: x is 0..127, so that (x -
 * 64) * w over the lane is at most 64 * sum |w|, which fits up to a sum of 511. The pairs of x *
 * w themselves may wrap around: 64 * sum w (`middle`) is taken off in the same 16 bits and
 * leaves (x - 64) * w exactly. What is taken off a column in all its blocks is where its 32-bit
 * sum starts. A block of larger weights (w_fits) goes step by step, and so does the end of K.
 * The middles of a panel are computed once, if enough rows share them. */
#include "finish.h"
#include "tile.h"

enum {
    GROUP = 4,              /* bytes of one column that lie side by side: one lane of 32 bits */
    BLOCK = FITS_K / GROUP, /* groups that are added in 16 bits */
    MOST_BLOCKS = 256,      /* of a panel: what lies behind them goes step by step */
    LEAST_TILES = 2,        /* of rows: for fewer all goes step by step */
    TILES_FINISHED = 4      /* tiles that are finished together: they are small */
};

typedef struct Middle {     /* of one panel */
    int64_t blocks;
    bool fits[MOST_BLOCKS];
    vi start;               /* what is taken off, by column */
    vi of[MOST_BLOCKS];     /* 64 * w by lanes of 16 bits */
} Middle;

INLINE vi middle_of(const uint8_t *w) { return vi_pairs(vi_set(0x40404040), vi_load(w)); }

/* All of the column, less what goes step by step; what is found there for `of` nobody reads. */
static void middle_find(Middle *m, const uint8_t *w, int64_t groups, const int32_t *w_sum,
                        const uint8_t *fits)
{
    enum { NEXT = GROUP * PANEL };
    m->start = vi_mul(vi_set(64), vi_load(w_sum));
    for (int64_t i = 0; i < m->blocks; i++, w += BLOCK * NEXT) {
        m->fits[i] = fits[i / 8] >> i % 8 & 1;
        m->of[i] = vi_add16(vi_add16(middle_of(w), middle_of(w + NEXT)),
                            vi_add16(middle_of(w + 2 * NEXT), middle_of(w + 3 * NEXT)));
        for (int k = 0; !m->fits[i] && k < BLOCK; k++)
            m->start = vi_sub(m->start, vi_widen(middle_of(w + k * NEXT)));
    }
    for (int64_t k = m->blocks * BLOCK; k < groups; k++, w += NEXT)
        m->start = vi_sub(m->start, vi_widen(middle_of(w)));
}

typedef struct Factors {    /* where the next step is */
    const uint8_t *x, *w;
    int64_t row;            /* bytes from row to row of x */
} Factors;

/* Some steps of k, widened once; middle: NULL for one step. */
INLINE void pairs_add(int rows, int steps, const vi *middle, Factors *f, vi *sum)
{
    vi pairs[PAIRS_ROWS];
#pragma GCC unroll 4
    for (int g = 0; g < steps; g++, f->w += GROUP * PANEL, f->x += GROUP) {
        vi w = vi_keep(vi_load(f->w));
#pragma GCC unroll 32
        for (int r = 0; r < rows; r++) {
            int32_t group;
            memcpy(&group, f->x + r * f->row, GROUP);
            vi more = vi_pairs(vi_set(group), w);
            pairs[r] = g ? vi_add16(pairs[r], more) : middle ? vi_sub16(more, *middle) : more;
        }
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) sum[r] = vi_add(sum[r], vi_widen(pairs[r]));
}

typedef struct Strip {      /* one tile; by address: a copy would stall on store forwarding */
    Factors f;
    int64_t groups;
    const Middle *middle;
    Ahead ahead;
} Strip;

/* out[rows] = x * w */
INLINE void pairs_body(int rows, const Strip *s, vi *out)
{
    const Middle *m = s->middle;
    Factors f = s->f;
    Ahead ahead = s->ahead;
    vi sum[PAIRS_ROWS];
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) sum[r] = m->start;
    for (int64_t i = 0; i < m->blocks; i++) {
        __builtin_prefetch(ahead.p + (ahead.at >> 8)); /* a line at most in so many tiles */
        ahead.at += ahead.step * BLOCK / STRIDE;
        if (m->fits[i]) pairs_add(rows, BLOCK, &m->of[i], &f, sum);
        else for (int k = 0; k < BLOCK; k++) pairs_add(rows, 1, NULL, &f, sum);
    }
    for (int64_t left = s->groups - m->blocks * BLOCK; left > 0; left -= STRIDE) {
        ahead_ask(&ahead, 1, false);
        for (int64_t k = MIN(STRIDE, left); k > 0; k--) pairs_add(rows, 1, NULL, &f, sum);
    }
#pragma GCC unroll 32
    for (int r = 0; r < rows; r++) out[r] = sum[r];
}

typedef void PairsFn(const Strip *, vi *out);
#define X(rows) \
    static void pairs_##rows(const Strip *s, vi *out) { pairs_body(rows, s, out); }
PAIRS(X)
#undef X
#define X(rows) [rows] = pairs_##rows,
static PairsFn *const pairs_fn[PAIRS_ROWS + 1] = { PAIRS(X) };
#undef X

INLINE void pairs_rows(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    const int64_t groups = (l->K + GROUP - 1) / GROUP, row = row_i8(l->K);
    const int64_t bytes = groups * GROUP * PANEL;
    const Tiling rows = tiling_of(m1 - m0, PAIRS_ROWS, bytes);
    vi sum[TILES_FINISHED * PAIRS_ROWS];
    Middle middle; /* too large to be cleared */
    middle.blocks = rows.count < LEAST_TILES ? 0 : MIN(groups / BLOCK, MOST_BLOCKS);
    middle.start = vi_set(0);
    if (m1 <= m0) return;
    for (int64_t p = p0; p < p1; p++) {
        const uint8_t *w = (const uint8_t *)l->w + p * bytes;
        Tile t = { sum, m0, p * PANEL, 0, 1 };
        if (middle.blocks)
            middle_find(&middle, w, groups, l->w_sum + p * PANEL, l->w_fits + p * fits_row(l->K));
        for (int64_t i = 0; i < rows.count; i++) {
            PanelRange c = tiling_cut(&rows, i);
            Strip s = { { l->xq + (m0 + c.from) * row, w, row }, groups, &middle,
                        tiling_ahead(&rows, i, w + bytes, bytes) };
            pairs_fn[c.to - c.from](&s, sum + t.rows);
            t.rows += (int)(c.to - c.from);
            if ((i + 1) % TILES_FINISHED && i + 1 < rows.count) continue;
            finish_tile(l, &t);
            t.m += t.rows, t.rows = 0;
        }
    }
}

static void gemm_i8_pairs(const Linear *l, int64_t m0, int64_t m1, int64_t p0, int64_t p1)
{
    int64_t blocks = blocks_of(m1 - m0, row_i8(l->K), NEAR_X);
    for (int64_t i = 0; i < blocks; i++) {
        PanelRange c = cut(m1 - m0, blocks, i);
        pairs_rows(l, m0 + c.from, m0 + c.to, p0, p1);
    }
}
