/* SPDX-License-Identifier: Apache-2.0
 * ends.h - the end of a row that is no multiple of 16: its floats are loaded into a full vector and
 * run the same arithmetic as all others. */
#ifndef KERNELS_BODY_ENDS_H
#define KERNELS_BODY_ENDS_H

/* for each 16 floats of n: i is where they start, w how many of them are there */
#define EACH(i, w, n) for (int64_t i = 0, w; w = MIN(PANEL, (n) - i), i < (n); i += PANEL)

/* The same with the body as an argument: w is a constant for all but the last, so that only the
 * last checks it. */
#define SWEEP(i, w, n, ...)                               \
    do {                                                 \
        int64_t i = 0;                                   \
        for (; i + PANEL <= (n); i += PANEL) {           \
            enum { w = PANEL };                          \
            __VA_ARGS__                                  \
        }                                                \
        const int64_t w = (n) - i;                       \
        if (w > 0) { __VA_ARGS__ }                       \
    } while (0)

INLINE vf load(const float *p, int64_t w) /* lanes from w on are 0 */
{
    return w == PANEL ? vf_load(p) : vf_load_part(p, (int)w);
}
INLINE void store(float *p, vf v, int64_t w)
{
    if (w == PANEL) vf_store(p, v);
    else vf_store_part(p, v, (int)w);
}

INLINE vf part(vf v, int64_t w, vf rest) /* lanes from w on are those of rest */
{
    return w == PANEL ? v : vf_part(v, (int)w, rest);
}

#endif
