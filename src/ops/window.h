/* SPDX-License-Identifier: Apache-2.0
 * window.h - private to src/ops: the windows that convolution and pooling slide over [N, C, ...], or over
 * [N, ..., C] where the graph keeps the channels last. */
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H
#include "ops/ops.h"

enum { SPACE = MAX_RANK - 2 };

typedef struct SlidingWindow {
    int dims;                  /* of the space */
    int64_t in[SPACE], kernel[SPACE], out[SPACE], stride[SPACE], dilation[SPACE];
    int64_t before[SPACE], after[SPACE]; /* padding */
    int64_t size, positions;   /* numbers of a window of one channel; of the output */
} SlidingWindow;

/* From attributes; dims and kernel are filled in already, `in` too. kernel_shape must agree. ceil: the last
 * window may reach beyond the padding, as long as it begins before its end. */
bool window_read(const OpCall *, bool ceil, SlidingWindow *, Err *);
/* kernel_shape, which pooling must give. */
bool window_kernel(const OpCall *, SlidingWindow *, Err *);
/* Numbers `first` .. `first + dims` of an attribute of `wanted`, each at least `least`. */
typedef struct WindowAttr {
    const char *name;
    int first, wanted;
    int64_t least, otherwise;
} WindowAttr;
bool window_numbers(const OpCall *, WindowAttr, int dims, int64_t *out, Err *);
int64_t window_volume(const SlidingWindow *); /* numbers of one channel of the input */
/* Adds one to a position counted in `dim`, last dim first; false: it went round. */
bool window_next(int64_t *at, const int64_t *dim, int dims);
/* Of at most two dims, for a kernel; one dim is a picture of one row. */
Depthwise window_depthwise(const SlidingWindow *);
/* Where in the channel the window's number `k` of the output position `at` lies; -1: in the padding. */
int64_t window_source(const SlidingWindow *, const int64_t *at, const int64_t *k);
/* The numbers of a window that lie inside the input: k from[i] .. to[i] - 1. */
void window_inside(const SlidingWindow *, const int64_t *at, int64_t *from, int64_t *to);

#endif
