/* SPDX-License-Identifier: Apache-2.0
 * overlaps.c - see overlaps.h. */
#include "overlaps.h"

#include <stdlib.h>

static int by_start_and_index(const void *a, const void *b)
{
    const EntityPlace *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool entity_replaces(const EntityPlace *entity, const EntityPlace *kept)
{
    int64_t length = entity->end - entity->start, other = kept->end - kept->start;
    return length > other || (length == other && entity->score > kept->score);
}

size_t entities_join(EntityPlace *e, size_t n)
{
    size_t last = 0;
    if (n == 0) return 0;
    qsort(e, n, sizeof *e, by_start_and_index);
    for (size_t i = 1; i < n; i++) {
        if (e[i].start >= e[last].end) e[++last] = e[i];
        else if (entity_replaces(&e[i], &e[last])) e[last] = e[i];
    }
    return last + 1;
}
