/* SPDX-License-Identifier: Apache-2.0
 * finish.h - what follows the sums of a tile, while it is still in the first cache: scales of int8
 * (sum_of, by the file that includes this one), bias, activation, residual, store. Apart from the
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

INLINE void finish_body(const Linear *l, const Tile *t, Act act)
{
    const char *sum = t->sum;
    for (int64_t m = t->m; m < t->m + t->rows; m++)
        for (int64_t n = t->n; n < t->n + t->panels * PANEL; n += PANEL, sum += 4 * PANEL) {
            int64_t width = MIN(PANEL, l->N - n);
            vf v = sum_of(l, sum, m, n);
            if (l->bias) v = vf_add(v, vf_load(l->bias + n));
            v = vf_act(act, v);
            if (l->residual) v = vf_add(v, load(l->residual + m * l->ldr + n, width));
            store(l->y + m * l->ldy + n, v, width);
        }
}

static void finish_tile(const Linear *l, const Tile *t)
{
    WITH_ACT(l->act, finish_body, l, t)
}

#endif
