/* SPDX-License-Identifier: Apache-2.0
 * sample.h - private to src/graph: the numbers that a value [..., queries, keys] has at chosen points. */
#ifndef GRAPH_SAMPLE_H
#define GRAPH_SAMPLE_H
#include "graph.h"

typedef enum { AXIS_NONE, AXIS_ROW, AXIS_HEAD, AXIS_QUERY, AXIS_KEY } Axis; /* what an axis counts */
typedef struct Point {
    int32_t row, query, key;
} Point;
typedef struct Points {
    const Point *point;
    int64_t n, B, S; /* of them; rows and tokens of the batch that they are in */
} Points;
typedef bool SampleMask(int row, int64_t S, int64_t key); /* whether a token is live */
typedef struct Sampler Sampler;

/* mask may be NULL: what depends on it cannot be taken. What is taken lives in the arena, or for one head
 * in the second. */
Sampler *sampler_new(Arena *, Arena *head, const Graph *, const Symbols *, const Points *,
                     SampleMask *mask);
/* From now on the points are in this head; what was taken of another is gone. Head 0 at first. */
void sampler_head(Sampler *, int head);
/* out: one number for each point; axis: [rank of the value]. false: a maker cannot be followed. */
bool sampler_take(Sampler *, int value, const Axis *axis, Tensor *out);

#endif
