/* SPDX-License-Identifier: Apache-2.0
 * relative.c - attention by distance: how far each key is from each query, in buckets. */
#include <math.h>

#include "arch.h"

/* j - i of every query and key, [S, S] */
static Str relative_distances(Builder *b, const char *path, Str length)
{
    Str end = NODE(b, path, "Squeeze", length, INTS(b, 0));
    Str at = NODE(b, path, "Range", build_int(b, 0), end, build_int(b, 1));
    Str down = NODE(b, path, "Unsqueeze", at, INTS(b, 1));
    return NODE(b, path, "Sub", NODE(b, path, "Unsqueeze", at, INTS(b, 0)), down);
}

static Str relative_to_int(Builder *b, const char *path, Str x)
{
    Str y = NODE(b, path, "Cast", x);
    build_attr_int(b, "to", T_I64);
    return y;
}

/* Distances from `exact` on: by the logarithm, the last of `half` for all that are farther. */
static Str relative_grown(Builder *b, const char *path, Str far, int64_t half, int64_t farthest)
{
    int64_t exact = half / 2;
    Str real = NODE(b, path, "Cast", NODE(b, path, "Max", far, build_int(b, 1)));
    build_attr_int(b, "to", T_F32);
    Str log = NODE(b, path, "Log", NODE(b, path, "Div", real, build_float(b, (double)exact)));
    log = NODE(b, path, "Div", log, build_float(b, logf((float)farthest / (float)exact)));
    log = relative_to_int(b, path, NODE(b, path, "Mul", log, build_float(b, (double)(half - exact))));
    Str bucket = NODE(b, path, "Add", log, build_int(b, exact));
    return NODE(b, path, "Min", bucket, build_int(b, half - 1));
}

Str relative_buckets(Builder *b, const char *path, Str length, int64_t buckets, int64_t farthest)
{
    int64_t half = buckets / 2;
    Str distance = relative_distances(b, path, length);
    Str behind = relative_to_int(b, path, NODE(b, path, "Greater", distance, build_int(b, 0)));
    Str side = NODE(b, path, "Mul", behind, build_int(b, half));
    Str far = NODE(b, path, "Abs", distance);
    Str large = relative_grown(b, path, far, half, farthest);
    Str near = NODE(b, path, "Less", far, build_int(b, half / 2));
    return NODE(b, path, "Add", side, NODE(b, path, "Where", near, far, large));
}
