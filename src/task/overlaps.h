/* SPDX-License-Identifier: Apache-2.0
 * overlaps.h - entities that overlapping windows of one text found, to one list: as transformers'
 * token-classification pipeline does with `stride`. */
#ifndef TASK_OVERLAPS_H
#define TASK_OVERLAPS_H
#include "base/base.h"

typedef struct EntityPlace {
    int64_t start, end; /* in the whole text, in any unit */
    float score;
    size_t index;       /* the caller's; all different, in the order of the windows */
} EntityPlace;

/* Sorts by start and keeps, of those that begin inside the one before, the longest; of equally long
 * ones the best, of these the first. Returns how many are left, in front. */
size_t entities_join(EntityPlace *, size_t n);

#endif
