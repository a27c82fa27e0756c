/* SPDX-License-Identifier: Apache-2.0
 * boxes.c - NonMaxSuppression: of boxes that overlap too much, the one with the best score stays. How many
 * stay decides the output's shape, so that they are counted first and listed when it runs. */
#include <math.h>
#include <stdlib.h>

#include "ops/ops.h"

enum { BOXES, SCORES, MOST, OVERLAP, LEAST }; /* inputs */

typedef struct Suppression {
    const float *boxes, *scores; /* [batches, n, 4], [batches, classes, n] */
    int64_t batches, classes, n, most;
    double overlap, least;
    bool centers, above;       /* boxes are [x, y, width, height]; only scores above `least` count */
} Suppression;

typedef struct BoxRank {
    float score;
    int32_t index;
} BoxRank;

static int best_first(const void *a, const void *b)
{
    const BoxRank *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : x->index - y->index;
}

static bool boxes_checked(const OpCall *call, Err *err)
{
    const Tensor *boxes = call->in[BOXES], *scores = call->in[SCORES];
    if (boxes->rank != 3 || boxes->dim[2] != 4 || boxes->type != T_F32 || boxes->dim[1] > INT32_MAX)
        return op_wrong_input(call, BOXES, "float [batches, boxes, 4]", err);
    if (scores->rank != 3 || scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1] ||
        scores->type != T_F32)
        return op_wrong_input(call, SCORES, "float [batches, classes, boxes]", err);
    for (int i = MOST; i <= LEAST; i++)
        if (op_in(call, i) && tensor_count(call->in[i]) > 1)
            return op_wrong_input(call, i, "one number", err);
    return true;
}

static double boxes_number(const OpCall *call, int i, double otherwise)
{
    const Tensor *t = op_in(call, i);
    return t && tensor_count(t) == 1 ? tensor_get(t, 0) : otherwise;
}

static Suppression suppression_of(const OpCall *call)
{
    const Tensor *boxes = call->in[BOXES], *scores = call->in[SCORES], *least = op_in(call, LEAST);
    return (Suppression){ .boxes = boxes->data, .scores = scores->data, .batches = boxes->dim[0],
                          .classes = scores->dim[1], .n = boxes->dim[1],
                          .most = (int64_t)MIN(MAX(boxes_number(call, MOST, 0), 0), (double)INT32_MAX),
                          .overlap = boxes_number(call, OVERLAP, 0),
                          .least = boxes_number(call, LEAST, 0),
                          .above = least && tensor_count(least),
                          .centers = op_attr_int(call, "center_point_box", 0) };
}

/* low and high of rows, then columns */
static void box_edges(const Suppression *s, const float *box, float edge[2][2])
{
    for (int d = 0; d < 2; d++) {
        const float a = s->centers ? box[1 - d] - box[3 - d] / 2 : box[d];
        const float b = s->centers ? box[1 - d] + box[3 - d] / 2 : box[d + 2];
        edge[d][0] = MIN(a, b), edge[d][1] = MAX(a, b);
    }
}

static bool boxes_overlap(const Suppression *s, const float *one, const float *two)
{
    float a[2][2], b[2][2], common = 1, area_a = 1, area_b = 1;
    box_edges(s, one, a);
    box_edges(s, two, b);
    for (int d = 0; d < 2; d++) {
        const float side = MIN(a[d][1], b[d][1]) - MAX(a[d][0], b[d][0]);
        if (!(side > 0)) return false;
        common *= side;
        area_a *= a[d][1] - a[d][0], area_b *= b[d][1] - b[d][0];
    }
    const float all = area_a + area_b - common;
    return common > 0 && all > 0 && common / all > (float)s->overlap;
}

/* Boxes of one class of one picture that stay; `kept` [n]. */
static int64_t suppress(const Suppression *s, int64_t batch, int64_t class, BoxRank *rank, int32_t *kept)
{
    const float *score = s->scores + (batch * s->classes + class) * s->n;
    const float *box = s->boxes + batch * s->n * 4;
    int64_t n = 0, left = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (!s->above || score[i] > (float)s->least)
            rank[n++] = (BoxRank){ score[i] == score[i] ? score[i] : -INFINITY, (int32_t)i };
    qsort(rank, (size_t)n, sizeof *rank, best_first);
    for (int64_t i = 0; i < n && left < s->most; i++) {
        bool stays = true;
        for (int64_t k = 0; stays && k < left; k++)
            stays = !boxes_overlap(s, box + 4 * (int64_t)rank[i].index, box + 4 * (int64_t)kept[k]);
        if (stays) kept[left++] = rank[i].index;
    }
    return left;
}

/* Counts what stays; lists it too where `out` is given: [count][batch, class, box]. */
static bool suppress_all(OpCall *call, Arena *arena, int64_t *out, int64_t *count, Err *err)
{
    const Suppression s = suppression_of(call);
    BoxRank *rank = arena_try(arena, (size_t)MAX(s.n, 1), sizeof *rank, MOST_BYTES, err);
    int32_t *kept = rank ? arena_try(arena, (size_t)MAX(s.n, 1), sizeof *kept, MOST_BYTES, err) : NULL;
    *count = 0;
    if (!kept) return false;
    for (int64_t i = 0; s.n && i < s.batches * s.classes; i++) {
        const int64_t left = suppress(&s, i / s.classes, i % s.classes, rank, kept);
        for (int64_t k = 0; out && k < left; k++) {
            int64_t *row = out + 3 * (*count + k);
            row[0] = i / s.classes, row[1] = i % s.classes, row[2] = kept[k];
        }
        *count += left;
    }
    return true;
}

static bool suppression_shape(OpCall *call, Err *err)
{
    Arena scratch = { .local = true };
    int64_t dim[2] = { 0, 3 };
    if (!boxes_checked(call, err)) return false;
    const bool ok = suppress_all(call, &scratch, NULL, &dim[0], err);
    arena_free(&scratch);
    return ok && op_out(call, 0, T_I64, 2, dim);
}

static bool suppression_run(OpCall *call, Err *err)
{
    int64_t count;
    return suppress_all(call, call->scratch, call->out[0].data, &count, err);
}

const Op ops_boxes[] = {
    { "NonMaxSuppression", NULL, 10, 2, 5, suppression_shape, suppression_run,
      .values = 1 << BOXES | 1 << SCORES | 1 << MOST | 1 << OVERLAP | 1 << LEAST },
    { 0 }
};
