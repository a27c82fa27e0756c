/* SPDX-License-Identifier: Apache-2.0
 * luatensor_elements.c - functions of single elements, and of pairs of them with NumPy's
 * broadcasting both ways. A function is a row; comparisons give 1 and 0. */
#include <math.h>

#include "luatensor.h"

/* ---- one operand ---- */
static float f_neg(float x) { return -x; }
static float f_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static const struct Unary {
    const char *name;
    float (*of)(float);
} unary_rows[] = {
    { "neg", f_neg }, /* first: it is unary minus as well */
    { "exp", expf },   { "sqrt", sqrtf }, { "log", logf }, { "abs", fabsf },
    { "tanh", tanhf }, { "sigmoid", f_sigmoid },
};

static int luatensor_unary(lua_State *L)
{
    const struct Unary *row = &unary_rows[lua_tointeger(L, lua_upvalueindex(1))];
    const LuaTensor *t = luatensor_check(L, 1);
    LuaTensor *out = luatensor_like(L, t);
    for (int64_t i = 0; i < t->count; i++) out->data[i] = row->of(t->data[i]);
    return 1;
}

/* ---- two operands ---- */
static float f_add(float a, float b) { return a + b; }
static float f_sub(float a, float b) { return a - b; }
static float f_mul(float a, float b) { return a * b; }
static float f_div(float a, float b) { return a / b; }
static float f_eq(float a, float b) { return a == b; }
static float f_ne(float a, float b) { return a != b; }
static float f_lt(float a, float b) { return a < b; }
static float f_le(float a, float b) { return a <= b; }
static float f_gt(float a, float b) { return a > b; }
static float f_ge(float a, float b) { return a >= b; }

typedef float BinaryFn(float, float);
static const struct Binary {
    const char *method, *meta;   /* NULL: not under that name */
    BinaryFn *of;
} binary_rows[] = {
    { NULL, "__add", f_add }, { NULL, "__sub", f_sub },   { NULL, "__mul", f_mul },
    { NULL, "__div", f_div }, { "pow", "__pow", powf },   { "eq", NULL, f_eq },
    { "ne", NULL, f_ne },     { "lt", NULL, f_lt },       { "le", NULL, f_le },
    { "gt", NULL, f_gt },     { "ge", NULL, f_ge },
};

/* The shape of both together into dim; -1: they do not fit. */
static int broadcast_shape(const LuaTensor *a, const LuaTensor *b, int64_t *dim)
{
    int rank = MAX(a->rank, b->rank);
    for (int i = 0; i < rank; i++) {
        int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
        if (da != db && da != 1 && db != 1) return -1;
        dim[i] = da == 1 ? db : da;
    }
    return rank;
}

/* Distances between neighbours of t along the axes of `out`: 0 where t repeats itself. */
static void broadcast_strides(const LuaTensor *t, const LuaTensor *out, int64_t *stride)
{
    int64_t size = 1;
    for (int i = out->rank - 1; i >= 0; i--) {
        int it = i - (out->rank - t->rank);
        stride[i] = it < 0 || t->dim[it] == 1 ? 0 : size;
        if (it >= 0) size *= t->dim[it];
    }
}

typedef struct BroadcastWalk { /* over the rows (last axis) of a broadcast result */
    int64_t at[TENSOR_RANK], stride_a[TENSOR_RANK], stride_b[TENSOR_RANK];
    int64_t a, b;                /* where the row begins in each operand */
} BroadcastWalk;

/* The next row: the last axis but one counts fastest. */
static void walk_next(BroadcastWalk *w, const LuaTensor *out)
{
    for (int i = out->rank - 2; i >= 0; i--) {
        w->a += w->stride_a[i];
        w->b += w->stride_b[i];
        if (++w->at[i] < out->dim[i]) return;
        w->a -= w->stride_a[i] * out->dim[i];
        w->b -= w->stride_b[i] * out->dim[i];
        w->at[i] = 0;
    }
}

static void luatensor_combine(const LuaTensor *a, const LuaTensor *b, BinaryFn *of, LuaTensor *out)
{
    BroadcastWalk w = { 0 };
    if (out->count == 0) return;
    broadcast_strides(a, out, w.stride_a);
    broadcast_strides(b, out, w.stride_b);
    int last = out->rank - 1;
    int64_t n = out->rank ? out->dim[last] : 1;
    int64_t step_a = out->rank ? w.stride_a[last] : 0, step_b = out->rank ? w.stride_b[last] : 0;
    for (float *y = out->data, *end = y + out->count; y < end; y += n, walk_next(&w, out)) {
        const float *pa = a->data + w.a, *pb = b->data + w.b;
        for (int64_t i = 0; i < n; i++) y[i] = of(pa[i * step_a], pb[i * step_b]);
    }
}

static LuaTensor *push_broadcast(lua_State *L, const LuaTensor *a, const LuaTensor *b)
{
    int64_t dim[TENSOR_RANK];
    int rank = broadcast_shape(a, b, dim);
    if (rank < 0)
        luaL_error(L, "Shape %s not broadcastable to %s", luatensor_shape_text(L, a),
                   luatensor_shape_text(L, b));
    return luatensor_push(L, rank, dim);
}

static int luatensor_binary(lua_State *L)
{
    const struct Binary *row = &binary_rows[lua_tointeger(L, lua_upvalueindex(1))];
    lua_settop(L, 2);
    const LuaTensor *a = luatensor_operand(L, 1), *b = luatensor_operand(L, 2);
    luatensor_combine(a, b, row->of, push_broadcast(L, a, b));
    return 1;
}

/* t == u: one answer for all elements. */
static int luatensor_equal(lua_State *L)
{
    const LuaTensor *a = luatensor_test(L, 1), *b = luatensor_test(L, 2);
    bool same = a && b && luatensor_same_shape(a, b);
    if (same) luatensor_charge(L, a->count);
    for (int64_t i = 0; same && i < a->count; i++) same = a->data[i] == b->data[i];
    lua_pushboolean(L, same);
    return 1;
}

static int luatensor_count(lua_State *L)
{
    lua_pushinteger(L, luatensor_check(L, 1)->count);
    return 1;
}

/* ---- three operands ---- */
static float first_of(float a, float b)
{
    (void)b;
    return a;
}

/* The operand at `index` spread over the shape of t, in its place. */
static const LuaTensor *luatensor_spread(lua_State *L, int index, const LuaTensor *t)
{
    const LuaTensor *a = luatensor_operand(L, index);
    if (luatensor_same_shape(a, t)) return a;
    LuaTensor *out = push_broadcast(L, a, t);
    luatensor_combine(a, t, first_of, out);
    lua_replace(L, index);
    return out;
}

/* cond:where(a, b): a where the condition is not 0, else b. */
static int luatensor_where(lua_State *L)
{
    lua_settop(L, 3);
    const LuaTensor *cond = luatensor_operand(L, 1), *a = luatensor_operand(L, 2);
    push_broadcast(L, a, luatensor_operand(L, 3));
    const LuaTensor *whole = push_broadcast(L, cond, luatensor_check(L, -1));
    cond = luatensor_spread(L, 1, whole);
    a = luatensor_spread(L, 2, whole);
    const LuaTensor *b = luatensor_spread(L, 3, whole);
    LuaTensor *out = luatensor_like(L, whole);
    for (int64_t i = 0; i < out->count; i++)
        out->data[i] = cond->data[i] != 0 ? a->data[i] : b->data[i];
    return 1;
}

/* clamp(min|nil, max|nil): max first, then min. A bound of NaN makes all NaN; a NaN element becomes
 * the bound. */
static int luatensor_clamp(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    bool low = !lua_isnoneornil(L, 2), high = !lua_isnoneornil(L, 3);
    float least = low ? (float)luaL_checknumber(L, 2) : 0;
    float most = high ? (float)luaL_checknumber(L, 3) : 0;
    bool nan = isnan(least) || isnan(most);
    LuaTensor *out = luatensor_like(L, t);
    for (int64_t i = 0; i < t->count; i++) {
        float x = t->data[i];
        if (low) x = fmaxf(x, least);
        if (high) x = fminf(x, most);
        out->data[i] = nan ? NAN : x;
    }
    return 1;
}

/* ---- opening ---- */
static void set_row(lua_State *L, const char *name, lua_CFunction f, size_t row)
{
    if (!name) return;
    lua_pushinteger(L, (lua_Integer)row);
    lua_pushcclosure(L, f, 1);
    lua_setfield(L, -2, name);
}

void luatensor_open_meta(lua_State *L)
{
    static const luaL_Reg functions[] = { { "__eq", luatensor_equal },
                                          { "__len", luatensor_count },
                                          { 0 } };
    luaL_setfuncs(L, functions, 0);
    set_row(L, "__unm", luatensor_unary, 0);
    for (size_t i = 0; i < COUNT(binary_rows); i++)
        set_row(L, binary_rows[i].meta, luatensor_binary, i);
}

void luatensor_open_elements(lua_State *L)
{
    static const luaL_Reg functions[] = { { "where", luatensor_where },
                                          { "clamp", luatensor_clamp },
                                          { 0 } };
    luaL_setfuncs(L, functions, 0);
    for (size_t i = 0; i < COUNT(unary_rows); i++)
        set_row(L, unary_rows[i].name, luatensor_unary, i);
    for (size_t i = 0; i < COUNT(binary_rows); i++)
        set_row(L, binary_rows[i].method, luatensor_binary, i);
}
