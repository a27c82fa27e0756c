/* SPDX-License-Identifier: Apache-2.0
 * finish.h - what follows the sums of a tile, while it is still in the first cache: scales of int8
 * (ScaleColumns, sum_of, act_of and LOW_Y, by the file that includes this one), bias, activation, residual,
 * store. Apart from the tile itself so that there is one copy per activation and not one per
 * activation and tile size; the detour through the tile buffer costs about 1% at K = 384, 4% at 96,
 * so that tiles of floats without an activation take none (tile_end.h). */
#ifndef KERNELS_BODY_FINISH_H
#define KERNELS_BODY_FINISH_H
#include "act.h"
#include "ends.h"

typedef struct Tile {
    const void *sum;            /* [rows][panels * 16] floats or int32 */
    int64_t m, n;               /* where it belongs in Y */
    int rows, panels;
} Tile;

/* 16 numbers of a row of bf16, of which `width` are there; the row is filled up at its end. */
INLINE void store_low(uint16_t *y, vf v, int64_t width, bool half)
{
    vf_store_bf16(y, part(v, width, vf_set(0)));
    if (half) vf_store_bf16(y + PANEL, vf_set(0));
}

/* One panel of it: what belongs to the columns is loaded once for all rows. */
INLINE void finish_panel(const Linear *l, const Tile *t, int p, int64_t width, Act act)
{
    const int64_t n = t->n + p * PANEL;
    const char *sum = (const char *)t->sum + p * 4 * PANEL;
    const ScaleColumns c = columns_at(l, n);
    const vf bias = l->bias ? vf_load(l->bias + n) : vf_set(0);
    const bool half = n + PANEL >= l->N && n / PANEL % 2 == 0; /* the last, and the first of two */
    float *y = l->y ? l->y + t->m * l->ldy + n : NULL;
    uint16_t *low = LOW_Y && l->yb ? l->yb + t->m * row_bf16(l->N) + n : NULL;
    const float *residual = l->residual ? l->residual + t->m * l->ldr + n : NULL;
    const bool late = l->late && act != ACT_NONE;
    for (int64_t m = t->m; m < t->m + t->rows; m++, sum += t->panels * 4 * PANEL) {
        vf v = sum_of(l, &c, sum, m);
        if (l->bias) v = vf_add(v, bias);
        if (!late) v = act_of(act, v);
        if (residual) v = vf_add(v, load(residual, width)), residual += l->ldr;
        if (late) v = act_of(act, v);
        if (LOW_Y && low) store_low(low, v, width, half), low += row_bf16(l->N);
        if (!LOW_Y || y) store(y, v, width), y += l->ldy;
    }
}

INLINE void finish_body(const Linear *l, const Tile *t, Act act)
{
    for (int p = 0; p < t->panels; p++) {
        int64_t width = l->N - t->n - p * PANEL;
        if (width >= PANEL) finish_panel(l, t, p, PANEL, act);
        else finish_panel(l, t, p, width, act);
    }
}

/* Inlined, the constants of all activations would take the registers of the loop around it: 8 % of an
 * int8 product of K = 384 by AVX2. */
static __attribute__((noinline)) void finish_tile(const Linear *l, const Tile *t)
{
    WITH_ACT(l->act, finish_body, l, t)
}

#endif
