/* SPDX-License-Identifier: Apache-2.0
 * ends.h - the end of a row that is no multiple of 16: its floats are loaded into a full vector and
 * run the same arithmetic as all others. */
#ifndef KERNELS_BODY_ENDS_H
#define KERNELS_BODY_ENDS_H

/* for each 16 floats of n: i is where they start, w how many of them are there */
#define EACH(i, w, n) for (int64_t i = 0, w; w = MIN(PANEL, (n) - i), i < (n); i += PANEL)

INLINE vf load(const float *p, int64_t w) /* lanes from w on are 0 */
{
    return w == PANEL ? vf_load(p) : vf_load_part(p, (int)w);
}
INLINE void store(float *p, vf v, int64_t w)
{
    if (w == PANEL) vf_store(p, v);
    else vf_store_part(p, v, (int)w);
}

#endif
