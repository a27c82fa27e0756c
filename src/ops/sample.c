/* SPDX-License-Identifier: Apache-2.0
 * sample.c - pictures read between their pixels: GridSample at places that a grid gives, over any number of
 * dims, and RoiAlign at the middles of the cells of boxes. Both compute in float, a plane at a time. */
#include <math.h>

#include "ops/window.h"

/* ---- GridSample ---- */

typedef enum { SAMPLE_NEAREST = 1, SAMPLE_LINEAR = 2, SAMPLE_CUBIC = 4 } SampleMode; /* taps a dim */
typedef enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } SamplePad;

typedef struct GridJob {
    SampleMode mode;
    SamplePad pad;
    bool corners;
    int dims;
    int64_t N, C, in[SPACE], volume, places; /* places: of the grid, for each picture */
    const float *x, *grid;
    float *y;
} GridJob;

static bool grid_mode(const OpCall *call, GridJob *g, Err *err)
{
    const Str mode = onnx_string(call->node, "mode", "linear");
    const Str pad = onnx_string(call->node, "padding_mode", "zeros");
    g->mode = str_is(mode, "nearest")                              ? SAMPLE_NEAREST
              : str_is(mode, "cubic") || str_is(mode, "bicubic")   ? SAMPLE_CUBIC
              : str_is(mode, "linear") || str_is(mode, "bilinear") ? SAMPLE_LINEAR
                                                                   : 0;
    g->pad = str_is(pad, "border") ? PAD_BORDER : str_is(pad, "reflection") ? PAD_REFLECTION : PAD_ZEROS;
    g->corners = op_attr_int(call, "align_corners", 0);
    if (!g->mode)
        return op_fail(call, err, "mode: found '%.*s', wanted nearest, linear or cubic", STR_ARG(mode));
    return true;
}

static bool grid_of(const OpCall *call, GridJob *g, Err *err)
{
    const Tensor *x = call->in[0], *grid = call->in[1];
    *g = (GridJob){ .dims = x->rank - 2, .volume = 1, .places = 1 };
    if (x->rank < 3 || !dtype_is_float(x->type)) return op_wrong_input(call, 0, "floats [N, C, ...]", err);
    if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != g->dims ||
        !dtype_is_float(grid->type))
        return op_wrong_input(call, 1, "a place for each number of the output", err);
    g->N = x->dim[0], g->C = x->dim[1];
    for (int i = 0; i < g->dims; i++) {
        g->in[i] = x->dim[i + 2];
        g->volume *= g->in[i];
        g->places *= grid->dim[i + 1];
    }
    return grid_mode(call, g, err);
}

static bool grid_shape(OpCall *call, Err *err)
{
    GridJob g;
    const Tensor *x = call->in[0], *grid = call->in[1];
    int64_t dim[MAX_RANK];
    if (!grid_of(call, &g, err)) return false;
    dim[0] = x->dim[0], dim[1] = x->dim[1];
    for (int i = 0; i < g.dims; i++) dim[i + 2] = grid->dim[i + 1];
    if (!g.volume && g.N && g.C && g.places)
        return op_wrong_input(call, 0, "no empty dim", err);
    return op_out(call, 0, x->type, x->rank, dim);
}

/* Back and forth between the borders until it lies within them. */
static double reflected(double x, double low, double high)
{
    const double range = high - low;
    if (!(range > 0)) return low;
    const double far = x < low ? low - x : x > high ? x - high : 0;
    if (far == 0) return x;
    const double times = floor(far / range), rest = far - times * range;
    const bool even = fmod(times, 2) == 0;
    return (x < low) == even ? low + rest : high - rest;
}

/* The index of a tap that may lie outside; -1: it is zero. */
static int64_t grid_tap(const GridJob *g, int64_t i, int64_t n)
{
    if (i >= 0 && i < n) return i;
    if (g->pad == PAD_ZEROS) return -1;
    if (g->pad == PAD_BORDER) return i < 0 ? 0 : n - 1;
    const double at = g->corners ? reflected((double)i, 0, (double)(n - 1))
                                 : reflected((double)i, -0.5, (double)n - 0.5);
    return MIN(MAX((int64_t)at, 0), n - 1);
}

static double grid_weight(SampleMode mode, double x)
{
    x = fabs(x);
    if (mode == SAMPLE_NEAREST) return 1;
    if (mode == SAMPLE_LINEAR) return 1 - x;
    return x <= 1 ? (1.25 * x - 2.25) * x * x + 1 : ((-0.75 * x + 3.75) * x - 6) * x + 3;
}

typedef struct GridTaps {      /* of one place: taps of each dim */
    int64_t index[SPACE][SAMPLE_CUBIC];
    double weight[SPACE][SAMPLE_CUBIC];
} GridTaps;

static void grid_place(const GridJob *g, const float *place, GridTaps *t)
{
    for (int d = 0; d < g->dims; d++) {
        const int64_t n = g->in[d];
        const double low = g->corners ? 0 : -0.5, high = (double)n - (g->corners ? 1 : 0.5);
        const float at = place[g->dims - 1 - d]; /* the last dim stands first */
        double x = g->corners ? (at + 1) / 2 * (float)(n - 1) : ((at + 1) * (float)n - 1) / 2;
        if (!(fabs(x) < 1e15)) x = -1e15; /* NaN too: a place outside */
        if (g->mode == SAMPLE_NEAREST) x = nearbyint(x);
        if (g->mode != SAMPLE_CUBIC) { /* of which the taps alone are moved, as PyTorch does */
            if (g->pad == PAD_BORDER && (x < low || x > high)) x = fmin(fmax(x, 0), (double)(n - 1));
            if (g->pad == PAD_REFLECTION) x = reflected(x, low, high);
        }
        const int64_t first = (int64_t)floor(x) - (g->mode == SAMPLE_CUBIC);
        for (int k = 0; k < (int)g->mode; k++) {
            t->index[d][k] = grid_tap(g, first + k, n);
            t->weight[d][k] = grid_weight(g->mode, x - (double)(first + k));
        }
    }
}

/* Dims from d on; `at`: the place that the dims before it have. */
static double grid_read(const GridJob *g, const GridTaps *t, const float *x, int d, int64_t at)
{
    if (d == g->dims) return x[at];
    double sum = 0;
    for (int k = 0; k < (int)g->mode; k++)
        if (t->index[d][k] >= 0)
            sum += t->weight[d][k] * grid_read(g, t, x, d + 1, at * g->in[d] + t->index[d][k]);
    return sum;
}

static void grid_range(void *context, int64_t from, int64_t to)
{
    const GridJob *g = context;
    GridTaps t;
    for (int64_t i = from; i < to; i++) {
        const int64_t n = i / g->places, p = i % g->places;
        grid_place(g, g->grid + i * g->dims, &t);
        for (int64_t c = 0; c < g->C; c++)
            g->y[(n * g->C + c) * g->places + p] =
                (float)grid_read(g, &t, g->x + (n * g->C + c) * g->volume, 0, 0);
    }
}

/* Output 0 as floats: the output itself, or room that is converted behind. */
static float *sample_output(OpCall *call, Tensor *y, Err *err)
{
    *y = call->out[0];
    y->type = T_F32;
    if (call->out[0].type != T_F32)
        y->data = op_scratch(call, MAX(tensor_count(y), 1), sizeof(float), err);
    return y->data;
}

static bool grid_run(OpCall *call, Err *err)
{
    GridJob g;
    Tensor y;
    if (!grid_of(call, &g, err)) return false;
    g.x = op_f32(call, call->in[0], err);
    g.grid = g.x ? op_f32(call, call->in[1], err) : NULL;
    g.y = g.grid ? sample_output(call, &y, err) : NULL;
    if (!tensor_count(&call->out[0])) return true;
    if (!g.y) return false;
    op_split(call, g.N * g.places, MAX(512 / MAX(g.C, 1), 1), grid_range, &g);
    if (y.data != call->out[0].data) tensor_convert(&y, 0, &call->out[0], 0, tensor_count(&y));
    return true;
}

/* ---- RoiAlign ---- */

enum { ROI_X, ROI_BOXES, ROI_BATCH };

typedef struct RoiJob {
    const OpCall *call;
    const float *x, *boxes;
    const int64_t *batch;
    float *y;
    int64_t C, H, W, high, wide, ratio; /* high, wide: of the output */
    double scale;
    bool half, mean;
} RoiJob;

static bool roi_shape(OpCall *call, Err *err)
{
    const Tensor *x = call->in[ROI_X], *boxes = call->in[ROI_BOXES], *batch = call->in[ROI_BATCH];
    if (x->rank != 4 || !dtype_is_float(x->type)) return op_wrong_input(call, 0, "floats [N, C, H, W]", err);
    if (boxes->rank != 2 || boxes->dim[1] != 4 || !dtype_is_float(boxes->type))
        return op_wrong_input(call, ROI_BOXES, "boxes of 4 floats", err);
    if (batch->rank != 1 || batch->dim[0] != boxes->dim[0])
        return op_wrong_input(call, ROI_BATCH, "a picture for each box", err);
    const int64_t dim[4] = { boxes->dim[0], x->dim[1], op_attr_int(call, "output_height", 1),
                             op_attr_int(call, "output_width", 1) };
    if (dim[2] < 1 || dim[3] < 1 || dim[2] > INT16_MAX || dim[3] > INT16_MAX)
        return op_fail(call, err, "output: found %lld x %lld, wanted 1 to %d", (long long)dim[2],
                       (long long)dim[3], INT16_MAX);
    return op_out(call, 0, x->type, 4, dim);
}

typedef struct RoiCorners {
    int64_t at[4];
    double weight[4];
} RoiCorners;

/* The four pixels around a place; all weights 0 outside of the picture. */
static RoiCorners roi_corners(const RoiJob *j, double y, double x)
{
    RoiCorners c = { 0 };
    if (!(y >= -1 && y <= (double)j->H && x >= -1 && x <= (double)j->W)) return c;
    y = fmin(fmax(y, 0), (double)(j->H - 1)), x = fmin(fmax(x, 0), (double)(j->W - 1));
    const int64_t top = (int64_t)y, left = (int64_t)x;
    const int64_t below = MIN(top + 1, j->H - 1), right = MIN(left + 1, j->W - 1);
    const double dy = y - (double)top, dx = x - (double)left;
    return (RoiCorners){ { top * j->W + left, top * j->W + right, below * j->W + left, below * j->W + right },
                         { (1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx } };
}

/* Samples from .. to - 1 of n can lie in the picture, `size` pixels high or wide; none where a box is no number. A box
 * far larger than the picture has millions outside, which are all 0. */
static void roi_inside(double start, double step, int64_t n, int64_t size, int64_t *from, int64_t *to)
{
    const double first = floor((-1 - start) / step - 0.5), last = ceil(((double)size - start) / step - 0.5);
    *from = (int64_t)fmax(fmin(first, (double)n), 0);
    *to = MAX((int64_t)fmax(fmin(last + 1, (double)n), 0), *from);
}

/* One number of the output: the mean, or the largest part, of samples in a cell of the box. */
static double roi_cell(const RoiJob *j, const float *x, const double start[2], const double cell[2],
                       const int64_t grid[2])
{
    const double step[2] = { cell[0] / (double)MAX(grid[0], 1), cell[1] / (double)MAX(grid[1], 1) };
    int64_t from[2], to[2];
    roi_inside(start[0], step[0], grid[0], j->H, &from[0], &to[0]);
    roi_inside(start[1], step[1], grid[1], j->W, &from[1], &to[1]);
    const bool all = to[0] - from[0] == grid[0] && to[1] - from[1] == grid[1];
    double result = j->mean || !all ? 0 : -INFINITY;
    for (int64_t a = from[0]; a < to[0]; a++)
        for (int64_t b = from[1]; b < to[1]; b++) {
            const RoiCorners c = roi_corners(j, start[0] + ((double)a + 0.5) * cell[0] / (double)grid[0],
                                             start[1] + ((double)b + 0.5) * cell[1] / (double)grid[1]);
            for (int k = 0; k < 4; k++) {
                const double v = c.weight[k] * x[c.at[k]];
                result = j->mean ? result + v : fmax(result, v);
            }
        }
    const int64_t n = grid[0] * grid[1];
    return j->mean ? result / (double)MAX(n, 1) : n ? result : 0;
}

static void roi_box(const RoiJob *j, int64_t n)
{
    const float *box = j->boxes + 4 * n;
    const double offset = j->half ? 0.5 : 0;
    double start[2], size[2];
    int64_t grid[2];
    const int64_t out[2] = { j->high, j->wide };
    for (int d = 0; d < 2; d++) { /* rows, then columns; boxes are x1, y1, x2, y2 */
        start[d] = box[1 - d] * j->scale - offset;
        size[d] = box[3 - d] * j->scale - offset - start[d];
        if (!j->half) size[d] = fmax(size[d], 1);
        size[d] /= (double)out[d];
        const double samples = fmin(ceil(size[d]), 4096);
        grid[d] = j->ratio > 0 ? j->ratio : samples > 0 ? (int64_t)samples : 0;
    }
    for (int64_t c = 0; c < j->C; c++)
        for (int64_t p = 0; p < j->high * j->wide; p++) {
            const double at[2] = { start[0] + (double)(p / j->wide) * size[0],
                                   start[1] + (double)(p % j->wide) * size[1] };
            j->y[(n * j->C + c) * j->high * j->wide + p] = (float)roi_cell(
                j, j->x + (j->batch[n] * j->C + c) * j->H * j->W, at, size, grid);
        }
}

static void roi_range(void *context, int64_t from, int64_t to)
{
    for (int64_t n = from; n < to; n++) roi_box(context, n);
}

static bool roi_run(OpCall *call, Err *err)
{
    const Tensor *x = call->in[ROI_X];
    const bool half = call->opset >= 16; /* the default since then */
    Tensor y;
    RoiJob j = { .call = call, .C = x->dim[1], .H = x->dim[2], .W = x->dim[3],
                 .high = call->out[0].dim[2], .wide = call->out[0].dim[3],
                 .ratio = MIN(op_attr_int(call, "sampling_ratio", 0), 4096),
                 .scale = onnx_float(call->node, "spatial_scale", 1),
                 .mean = !str_is(onnx_string(call->node, "mode", "avg"), "max"),
                 .half = str_is(onnx_string(call->node, "coordinate_transformation_mode",
                                            half ? "half_pixel" : "output_half_pixel"), "half_pixel") };
    if (!tensor_count(&call->out[0])) return true;
    j.x = op_f32(call, x, err), j.boxes = j.x ? op_f32(call, call->in[ROI_BOXES], err) : NULL;
    j.batch = j.boxes ? op_ints(call, call->in[ROI_BATCH], err) : NULL;
    j.y = j.batch ? sample_output(call, &y, err) : NULL;
    if (!j.y) return false;
    for (int64_t n = 0; n < y.dim[0]; n++)
        if (j.batch[n] < 0 || j.batch[n] >= x->dim[0] || !j.H || !j.W)
            return op_fail(call, err, "box %lld: found picture %lld of %lld", (long long)n,
                           (long long)j.batch[n], (long long)x->dim[0]);
    op_split(call, y.dim[0], 1, roi_range, &j);
    if (y.data != call->out[0].data) tensor_convert(&y, 0, &call->out[0], 0, tensor_count(&y));
    return true;
}

const Op ops_sample[] = {
    { "GridSample", NULL, 16, 2, 2, grid_shape, grid_run },
    { "RoiAlign", NULL, 10, 3, 3, roi_shape, roi_run },
    { 0 }
};
