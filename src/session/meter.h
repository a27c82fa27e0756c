/* SPDX-License-Identifier: Apache-2.0
 * meter.h - histograms that any thread may fill and any thread may read: relaxed atomics, buckets
 * that double. */
#ifndef SESSION_METER_H
#define SESSION_METER_H
#include "base/base.h"

enum { METER_BUCKETS = 18 };
/* Upper bounds: METER_SECONDS * 2^k (0.1 ms to 13 s), METER_COUNT * 2^k (1 to 131072). */
#define METER_SECONDS 1e-4
#define METER_COUNT 1.0

typedef struct Meter {
    uint64_t bucket[METER_BUCKETS + 1]; /* not cumulative; the last: above all bounds */
    uint64_t sum;                       /* in METER_UNITs */
} Meter;
#define METER_UNIT 1e-6

/* least: METER_SECONDS or METER_COUNT, always the same for one meter. */
static inline void meter_add(Meter *m, double least, double value)
{
    int k = 0;
    for (double bound = least; k < METER_BUCKETS && value > bound; bound *= 2) k++;
    double units = value > 0 ? value / METER_UNIT : 0;
    __atomic_add_fetch(&m->bucket[k], 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&m->sum, (uint64_t)units, __ATOMIC_RELAXED);
}

static inline void count_add(uint64_t *counter, uint64_t n)
{
    __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

static inline uint64_t count_get(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
