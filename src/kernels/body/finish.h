/* SPDX-License-Identifier: Apache-2.0
 * finish.h - what follows the sums of a tile, while it is still in the first cache: scales of int8
 * (Column and sum_of, by sum.h or scale.h), bias, activation, residual, store. Apart from the
 * tile itself so that there is one copy per activation and not one per activation and tile size;
 * the detour through the tile buffer costs about 1% at K = 384. */
#ifndef KERNELS_BODY_FINISH_H
#define KERNELS_BODY_FINISH_H
#include "act.h"
#include "ends.h"

typedef struct Tile {
    const void *sum;            /* [rows][panels * 16] floats or int32 */
    int64_t m, n;               /* where it belongs in Y */
    int rows, panels;
} Tile;

/* Panel after panel: what belongs to its columns is loaded once. */
INLINE void finish_body(const Linear *l, const Tile *t, Act act)
{
    const float *all_bias = l->bias, *all_residual = l->residual;
    const RowScale *rows = l->row;
    int64_t ldr = l->ldr, ldy = l->ldy;
    for (int p = 0; p < t->panels; p++) {
        int64_t n = t->n + p * PANEL, width = MIN(PANEL, l->N - n);
        const char *sum = (const char *)t->sum + p * 4 * PANEL;
        const float *residual = all_residual ? all_residual + t->m * ldr + n : NULL;
        float *y = l->y + t->m * ldy + n;
        Column column = column_of(l, n);
        vf bias = all_bias ? vf_load(all_bias + n) : vf_set(0);
        for (int r = 0; r < t->rows; r++, sum += t->panels * 4 * PANEL, y += ldy) {
            vf v = sum_of(&column, rows, t->m + r, sum);
            if (all_bias) v = vf_add(v, bias);
            v = vf_act(act, v);
            if (residual) v = vf_add(v, load(residual + r * ldr, width));
            store(y, v, width);
        }
    }
}

static void finish_tile(const Linear *l, const Tile *t)
{
    WITH_ACT(l->act, finish_body, l, t)
}

#endif
