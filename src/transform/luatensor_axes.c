/* SPDX-License-Identifier: Apache-2.0
 * luatensor_axes.c - along one axis (softmax, norms, sums, folds), and over all elements. Sums
 * are kept in double. Error texts are those of the Rust encoderfile. */
#include <math.h>

#include "luatensor.h"

/* ---- lines: every run of elements along the axis, one by one ---- */
typedef struct AxisLine {
    const float *x;
    float *y;
    int64_t n, step;
} AxisLine;
typedef void LineFn(const AxisLine *, const double *settings);

static int each_line(lua_State *L, const LuaTensor *t, int axis, LineFn *f, const double *settings)
{
    Along a = luatensor_along(t, axis);
    LuaTensor *out = luatensor_like(L, t);
    luatensor_charge(L, 4 * t->count);
    if (t->count == 0) return 1;
    for (int64_t o = 0; o < a.outer; o++) {
        for (int64_t k = 0; k < a.inner; k++) {
            int64_t at = o * a.length * a.inner + k;
            f(&(AxisLine){ t->data + at, out->data + at, a.length, a.inner }, settings);
        }
    }
    return 1;
}

static void luatensor_softmax_line(const AxisLine *l, const double *settings)
{
    (void)settings;
    float top = -INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) top = fmaxf(top, l->x[i * l->step]);
    for (int64_t i = 0; i < l->n; i++) sum += l->y[i * l->step] = expf(l->x[i * l->step] - top);
    for (int64_t i = 0; i < l->n; i++) l->y[i * l->step] = (float)(l->y[i * l->step] / sum);
}

static int luatensor_softmax(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    return each_line(L, t, luatensor_axis(L, 2, t), luatensor_softmax_line, NULL);
}

static void lp_line(const AxisLine *l, const double *p)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double x = fabs((double)l->x[i * l->step]);
        sum += *p == 2 ? x * x : *p == 1 ? x : pow(x, *p);
    }
    double norm = *p == 2 ? sqrt(sum) : *p == 1 ? sum : pow(sum, 1 / *p);
    if (norm < 1e-12) norm = 1e-12;
    for (int64_t i = 0; i < l->n; i++) l->y[i * l->step] = (float)(l->x[i * l->step] / norm);
}

static int lp_normalize(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    double p = (float)luaL_checknumber(L, 2);
    if (t->count == 0) return luaL_error(L, "Cannot normalize an empty tensor");
    if (p == 0) return luaL_error(L, "p cannot equal 0.0");
    return each_line(L, t, luatensor_axis(L, 3, t), lp_line, &p);
}

static void norm_line(const AxisLine *l, const double *eps)
{
    double mean = 0, var = 0;
    for (int64_t i = 0; i < l->n; i++) mean += l->x[i * l->step];
    mean /= (double)l->n;
    for (int64_t i = 0; i < l->n; i++) {
        double d = l->x[i * l->step] - mean;
        var += d * d;
    }
    double scale = sqrt(var / (double)l->n + *eps);
    for (int64_t i = 0; i < l->n; i++)
        l->y[i * l->step] = (float)((l->x[i * l->step] - mean) / scale);
}

static int layer_norm(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    double eps = luaL_checknumber(L, 3);
    if (t->dim[axis] == 0)
        return luaL_error(L, "Failed to mean_axis Tensor: Axis length must be > 0.");
    return each_line(L, t, axis, norm_line, &eps);
}

/* ---- an axis less ---- */
/* A tensor without that axis. */
static LuaTensor *push_without(lua_State *L, const LuaTensor *t, int axis)
{
    int64_t dim[TENSOR_RANK];
    for (int i = 0, n = 0; i < t->rank; i++)
        if (i != axis) dim[n++] = t->dim[i];
    luatensor_charge(L, t->count);
    return luatensor_push(L, t->rank - 1, dim);
}

static int sum_axis(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    Along a = luatensor_along(t, axis);
    LuaTensor *out = push_without(L, t, axis);
    for (int64_t o = 0; o < a.outer; o++) {
        for (int64_t k = 0; k < a.inner; k++) {
            double sum = 0;
            for (int64_t i = 0; i < a.length; i++)
                sum += t->data[(o * a.length + i) * a.inner + k];
            out->data[o * a.inner + k] = (float)sum;
        }
    }
    return 1;
}

/* The index of the largest of n numbers; that of a NaN only if all are NaN. */
static int64_t best_of(const float *x, int64_t n, int64_t step)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i * step] > x[best * step] || (isnan(x[best * step]) && !isnan(x[i * step])))
            best = i;
    return best;
}

/* argmax() of all elements, or argmax(axis); places count from 1. */
static int luatensor_argmax(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    if (t->count == 0) return luaL_error(L, "argmax: the tensor is empty");
    if (lua_isnoneornil(L, 2)) {
        luatensor_charge(L, t->count);
        lua_pushinteger(L, best_of(t->data, t->count, 1) + 1);
        return 1;
    }
    int axis = luatensor_axis(L, 2, t);
    Along a = luatensor_along(t, axis);
    LuaTensor *out = push_without(L, t, axis);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t k = 0; k < a.inner; k++)
            out->data[o * a.inner + k] =
                (float)(best_of(t->data + o * a.length * a.inner + k, a.length, a.inner) + 1);
    return 1;
}

/* ---- mean_pool ---- */
/* The mask's dims must be t's without the last, or 1. */
static void check_mask(lua_State *L, const LuaTensor *t, const LuaTensor *mask)
{
    bool fits = mask->rank == t->rank - 1;
    if (!fits)
        luaL_error(L, "mean_pool: found a mask of rank %d, wanted %d", mask->rank, t->rank - 1);
    for (int i = 0; i < mask->rank; i++)
        fits = fits && (mask->dim[i] == t->dim[i] || mask->dim[i] == 1);
    if (!fits)
        luaL_error(L, "cannot broadcast shape %s to %s", luatensor_shape_text(L, mask),
                   luatensor_shape_text(L, t));
}

/* Place in the mask of position s (all axes but first and last as one number) of row b. */
static int64_t mask_place(const LuaTensor *t, const LuaTensor *mask, int64_t b, int64_t s)
{
    int64_t place = 0, size = 1;
    for (int i = mask->rank - 1; i > 0; i--) {
        if (mask->dim[i] != 1) place += s % t->dim[i] * size;
        s /= t->dim[i];
        size *= mask->dim[i];
    }
    return place + (mask->rank && mask->dim[0] != 1 ? b * size : 0);
}

/* The divisor is the sum of the mask itself, as it was given. */
static double mask_sum(const LuaTensor *mask, int64_t b)
{
    double sum = 0;
    int64_t n = mask->rank && mask->dim[0] ? mask->count / mask->dim[0] : mask->count;
    if (mask->rank == 0 || mask->dim[0] == 1) b = 0;
    for (int64_t i = 0; i < n; i++) sum += mask->data[b * n + i];
    return sum;
}

static int mean_pool(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1), *mask = luatensor_to(L, 2);
    check_mask(L, t, mask);
    if (t->rank < 2) return luaL_error(L, "mean_pool: wanted a tensor of rank 2 or more");
    int64_t B = t->dim[0], C = t->dim[t->rank - 1], S = t->count ? t->count / (B * C) : 0;
    LuaTensor *out = luatensor_push(L, 2, (int64_t[]){ B, C });
    luatensor_charge(L, 2 * t->count);
    for (int64_t b = 0; b < B; b++) {
        float *y = out->data + b * C;
        double count = mask_sum(mask, b);
        for (int64_t c = 0; c < C; c++) y[c] = 0;
        for (int64_t s = 0; s < S; s++) {
            const float *x = t->data + (b * S + s) * C;
            float weight = mask->data[mask_place(t, mask, b, s)];
            for (int64_t c = 0; c < C; c++) y[c] += x[c] * weight;
        }
        for (int64_t c = 0; c < C; c++) y[c] = (float)(y[c] / count);
    }
    return 1;
}

/* ---- functions of the script ---- */
/* Slice i of an axis, pushed. */
static void push_slice(lua_State *L, const LuaTensor *t, int axis, int64_t i)
{
    Along a = luatensor_along(t, axis);
    int64_t dim[TENSOR_RANK];
    for (int k = 0, n = 0; k < t->rank; k++)
        if (k != axis) dim[n++] = t->dim[k];
    LuaTensor *out = luatensor_push(L, t->rank - 1, dim);
    for (int64_t o = 0; out->count && o < a.outer; o++)
        memcpy(out->data + o * a.inner, t->data + (o * a.length + i) * a.inner,
               (size_t)a.inner * sizeof *out->data);
}

/* Room for n results like `one`, with the axis put in. */
static LuaTensor *push_stack(lua_State *L, const LuaTensor *one, int axis, int64_t n)
{
    int64_t dim[TENSOR_RANK + 1];
    if (axis > one->rank) luaL_error(L, "Axis out of range.");
    for (int i = 0; i <= one->rank; i++)
        dim[i] = i < axis ? one->dim[i] : i == axis ? n : one->dim[i - 1];
    return luatensor_push(L, one->rank + 1, dim);
}

static void put_slice(const LuaTensor *one, int axis, int64_t i, LuaTensor *out)
{
    Along a = luatensor_along(out, axis);
    for (int64_t o = 0; out->count && o < a.outer; o++)
        memcpy(out->data + (o * a.length + i) * a.inner, one->data + o * a.inner,
               (size_t)a.inner * sizeof *out->data);
}

/* Stack: tensor, axis, function, result (from the first slice on). */
static int map_axis(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    if (t->dim[axis] == 0) return luaL_error(L, "stack error: the axis has no slices");
    int64_t first[TENSOR_RANK] = { 0 };
    int rank = 0;
    LuaTensor *out = NULL;
    for (int64_t i = 0; i < t->dim[axis]; i++) {
        lua_pushvalue(L, 3);
        push_slice(L, t, axis, i);
        lua_call(L, 1, 1);
        const LuaTensor *one = luatensor_to(L, -1);
        if (!out) {
            out = push_stack(L, one, axis, t->dim[axis]);
            lua_insert(L, 4);
            rank = one->rank;
            memcpy(first, one->dim, sizeof first);
        }
        if (one->rank != rank || memcmp(one->dim, first, sizeof first) != 0)
            return luaL_error(L, "stack error: the function must return tensors of equal shape");
        put_slice(one, axis, i, out);
        lua_settop(L, 4);
    }
    return 1;
}

/* fold_axis(axis, start, f): all elements of every slice, in order. */
static int fold_axis(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    float start = (float)luaL_checknumber(L, 3);
    luaL_checktype(L, 4, LUA_TFUNCTION);
    lua_settop(L, 4);
    Along a = luatensor_along(t, axis);
    LuaTensor *out = luatensor_push(L, 1, &a.length);
    for (int64_t i = 0; i < a.length; i++) {
        float sum = start;
        for (int64_t e = 0; e < a.outer * a.inner; e++) {
            int64_t o = e / a.inner, k = e % a.inner;
            vm_charge(L, 1);
            lua_pushvalue(L, 4);
            lua_pushnumber(L, (lua_Number)sum);
            lua_pushnumber(L, (lua_Number)t->data[(o * a.length + i) * a.inner + k]);
            lua_call(L, 2, 1);
            if (lua_type(L, -1) != LUA_TNUMBER)
                return luaL_error(L, "fold_axis: the function returned a %s, wanted a number",
                                  luaL_typename(L, -1));
            sum = (float)lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
        out->data[i] = sum;
    }
    return 1;
}

/* ---- over all ---- */
static double luatensor_total(lua_State *L, const LuaTensor *t)
{
    double sum = 0;
    luatensor_charge(L, t->count);
    for (int64_t i = 0; i < t->count; i++) sum += t->data[i];
    return sum;
}

static int luatensor_sum(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)(float)luatensor_total(L, luatensor_check(L, 1)));
    return 1;
}

static int luatensor_mean(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    if (t->count == 0) lua_pushnil(L);
    else lua_pushnumber(L, (lua_Number)(float)(luatensor_total(L, t) / (double)t->count));
    return 1;
}

static int luatensor_std(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    double ddof = luaL_checknumber(L, 2), var = 0;
    if (!(ddof >= 0 && ddof <= (double)t->count))
        return luaL_error(L, "`ddof` should not be <0 or greater than the length of the axis");
    double middle = luatensor_total(L, t) / (double)t->count;
    for (int64_t i = 0; i < t->count; i++) {
        double d = t->data[i] - middle;
        var += d * d;
    }
    lua_pushnumber(L, (lua_Number)(float)sqrt(var / ((double)t->count - ddof)));
    return 1;
}

/* The largest of sign * x. */
static int luatensor_extreme(lua_State *L, float sign)
{
    const LuaTensor *t = luatensor_check(L, 1);
    if (t->count == 0) return luaL_error(L, "Min max error: Empty input.");
    luatensor_charge(L, t->count);
    float best = t->data[0];
    for (int64_t i = 0; i < t->count; i++) {
        if (isnan(t->data[i]))
            return luaL_error(L, "Min max error: Undefined ordering between a tested pair of "
                                 "values.");
        if (sign * t->data[i] > sign * best) best = t->data[i];
    }
    lua_pushnumber(L, (lua_Number)best);
    return 1;
}

static int luatensor_min(lua_State *L)
{
    return luatensor_extreme(L, -1);
}

static int luatensor_max(lua_State *L)
{
    return luatensor_extreme(L, 1);
}

void luatensor_open_axes(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "softmax", luatensor_softmax }, { "lp_normalize", lp_normalize },
        { "layer_norm", layer_norm },     { "mean_pool", mean_pool },
        { "sum_axis", sum_axis },         { "map_axis", map_axis },
        { "fold_axis", fold_axis },       { "argmax", luatensor_argmax },
        { "sum", luatensor_sum },         { "mean", luatensor_mean },
        { "std", luatensor_std },         { "min", luatensor_min },
        { "max", luatensor_max },         { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}
