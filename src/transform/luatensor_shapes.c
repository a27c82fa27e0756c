/* SPDX-License-Identifier: Apache-2.0
 * luatensor_shapes.c - parts of tensors, tensors put together, other shapes of the same numbers,
 * and the matrix product. Places count from 1; negative ones of slice from the end, as in
 * string.sub. */
#include "luatensor.h"

/* ---- asking ---- */
static int luatensor_ndim(lua_State *L)
{
    lua_pushinteger(L, luatensor_check(L, 1)->rank);
    return 1;
}

/* shape(): a table; shape(axis): a number. */
static int luatensor_shape(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    if (!lua_isnoneornil(L, 2)) {
        lua_pushinteger(L, t->dim[luatensor_axis(L, 2, t)]);
        return 1;
    }
    lua_createtable(L, t->rank, 0);
    for (int i = 0; i < t->rank; i++) {
        lua_pushinteger(L, t->dim[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const float *push_table(lua_State *L, const LuaTensor *t, int axis, const float *x)
{
    luaL_checkstack(L, 4, NULL);
    vm_charge(L, 2);
    if (axis == t->rank) return lua_pushnumber(L, (lua_Number)*x), x + 1;
    lua_createtable(L, (int)MIN(t->dim[axis], INT32_MAX), 0);
    for (int64_t i = 1; i <= t->dim[axis]; i++) {
        x = push_table(L, t, axis + 1, x);
        lua_rawseti(L, -2, i);
    }
    return x;
}

static int to_table(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    push_table(L, t, 0, t->data);
    return 1;
}

/* ---- parts ---- */
/* index(i, j, ...): a number once every axis has its place, else the rest. */
static int index_of(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int n = lua_gettop(L) - 1;
    int64_t at = 0;
    if (n < 1 || n > t->rank)
        return luaL_error(L, "index: found %d places, wanted 1 to %d", n, t->rank);
    for (int i = 0; i < n; i++) {
        lua_Integer place = luaL_checkinteger(L, i + 2);
        if (place < 1 || place > t->dim[i])
            return luaL_error(L, "Index out of range: found %I on axis %d of %s",
                              (LUAI_UACINT)place, i + 1, luatensor_shape_text(L, t));
        at = at * t->dim[i] + place - 1;
    }
    if (n == t->rank) return lua_pushnumber(L, (lua_Number)t->data[at]), 1;
    LuaTensor *out = luatensor_push(L, t->rank - n, t->dim + n);
    memcpy(out->data, t->data + at * out->count, (size_t)out->count * sizeof *out->data);
    return 1;
}

/* Entries from .. from+n-1 of an axis. */
static int push_part(lua_State *L, const LuaTensor *t, int axis, int64_t from, int64_t n)
{
    Along a = luatensor_along(t, axis);
    int64_t dim[TENSOR_RANK];
    memcpy(dim, t->dim, sizeof dim);
    dim[axis] = n;
    LuaTensor *out = luatensor_push(L, t->rank, dim);
    for (int64_t o = 0; out->count && o < a.outer; o++)
        memcpy(out->data + o * n * a.inner, t->data + (o * a.length + from) * a.inner,
               (size_t)(n * a.inner) * sizeof *out->data);
    return 1;
}

static int truncate_axis(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    lua_Integer n = luaL_checkinteger(L, 3);
    if (n < 0) return luaL_error(L, "truncate_axis: found length %I, wanted 0 or more",
                                 (LUAI_UACINT)n);
    return push_part(L, t, axis, 0, MIN(n, t->dim[axis]));
}

/* slice(axis, first, last): both included. */
static int luatensor_slice(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int axis = luatensor_axis(L, 2, t);
    lua_Integer n = t->dim[axis], first = luaL_checkinteger(L, 3), last = luaL_optinteger(L, 4, -1);
    if (first < 0) first = MAX(first, -n - 1) + n + 1;
    if (last < 0) last = MAX(last, -n - 1) + n + 1;
    first = MAX(first, 1);
    last = MIN(last, n);
    return push_part(L, t, axis, first - 1, MAX(last - first + 1, 0));
}

/* ---- other shapes ---- */
/* Dims from a table at `index`, or from the arguments from there on. */
static int luatensor_read_dims(lua_State *L, int index, int64_t *dim)
{
    bool table = lua_istable(L, index);
    lua_Integer n = table ? (lua_Integer)lua_rawlen(L, index) : lua_gettop(L) - index + 1;
    if (n > TENSOR_RANK) luaL_error(L, "a Tensor has at most %d axes", TENSOR_RANK);
    for (int i = 0; i < n; i++) {
        if (table) lua_rawgeti(L, index, i + 1);
        else lua_pushvalue(L, index + i);
        int whole;
        dim[i] = lua_tointegerx(L, -1, &whole);
        if (!whole || dim[i] < -1 || dim[i] > TENSOR_MOST)
            luaL_error(L, "shape: wanted whole numbers from 0 on");
        lua_pop(L, 1);
    }
    return (int)n;
}

/* reshape(2, -1) or reshape({2, -1}): one -1 stands for what is left. */
static int luatensor_reshape(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int64_t dim[TENSOR_RANK], known = 1;
    int rank = luatensor_read_dims(L, 2, dim), open = -1;
    for (int i = 0; i < rank; i++) {
        if (dim[i] >= 0) known = known > TENSOR_MOST ? known : known * dim[i];
        else if (open >= 0) return luaL_error(L, "reshape: only one length may be -1");
        else open = i;
    }
    if (open >= 0 && known > 0 && t->count % known == 0) dim[open] = t->count / known;
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0)
            return luaL_error(L, "reshape: %s does not fit", luatensor_shape_text(L, t));
    LuaTensor *out = luatensor_push(L, rank, dim);
    if (out->count != t->count)
        return luaL_error(L, "reshape: %s does not fit into %s", luatensor_shape_text(L, t),
                          luatensor_shape_text(L, out));
    memcpy(out->data, t->data, (size_t)t->count * sizeof *t->data);
    return 1;
}

/* Reverses all axes. */
static int luatensor_transpose(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    int64_t dim[TENSOR_RANK], step[TENSOR_RANK], at[TENSOR_RANK] = { 0 }, size = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        dim[t->rank - 1 - i] = t->dim[i];
        step[t->rank - 1 - i] = size;
        size *= t->dim[i];
    }
    LuaTensor *out = luatensor_push(L, t->rank, dim);
    luatensor_charge(L, 2 * t->count);
    int64_t from = 0;
    for (int64_t n = 0; n < out->count; n++) {
        out->data[n] = t->data[from];
        for (int i = t->rank - 1; i >= 0; i--) {
            from += step[i];
            if (++at[i] < dim[i]) break;
            from -= step[i] * dim[i];
            at[i] = 0;
        }
    }
    return 1;
}

/* Tensor.full(value, 2, 3), Tensor.full(value, {2, 3}) */
static int luatensor_full(lua_State *L)
{
    float value = (float)luaL_checknumber(L, 1);
    int64_t dim[TENSOR_RANK];
    int rank = luatensor_read_dims(L, 2, dim);
    LuaTensor *out = luatensor_push(L, rank, dim);
    for (int64_t i = 0; i < out->count; i++) out->data[i] = value;
    return 1;
}

/* ---- together ---- */
/* Tensor.concat({a, b}, axis) or a:concat(b, axis): a table of tensors at 1, the axis at 2. */
static lua_Integer luatensor_gather_list(lua_State *L)
{
    if (luatensor_test(L, 1)) {
        luatensor_to(L, 2);
        lua_createtable(L, 2, 0);
        lua_pushvalue(L, 1);
        lua_rawseti(L, -2, 1);
        lua_pushvalue(L, 2);
        lua_rawseti(L, -2, 2);
        lua_replace(L, 1);
        lua_remove(L, 2);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    if (n == 0) luaL_error(L, "wanted at least one tensor");
    return n;
}

static const LuaTensor *luatensor_gathered(lua_State *L, lua_Integer i)
{
    lua_rawgeti(L, 1, i);
    const LuaTensor *t = luatensor_check(L, -1);
    lua_pop(L, 1); /* the table keeps it */
    return t;
}

static void check_joint(lua_State *L, const LuaTensor *a, const LuaTensor *b, int axis)
{
    bool fits = a->rank == b->rank;
    for (int i = 0; fits && i < a->rank; i++) fits = i == axis || a->dim[i] == b->dim[i];
    if (!fits)
        luaL_error(L, "Shape %s does not fit to %s", luatensor_shape_text(L, b),
                   luatensor_shape_text(L, a));
}

static int luatensor_concat(lua_State *L)
{
    lua_Integer n = luatensor_gather_list(L);
    const LuaTensor *first = luatensor_gathered(L, 1);
    int axis = luatensor_axis(L, 2, first);
    int64_t dim[TENSOR_RANK], at = 0;
    memcpy(dim, first->dim, sizeof dim);
    dim[axis] = 0;
    for (lua_Integer k = 1; k <= n; k++) {
        const LuaTensor *t = luatensor_gathered(L, k);
        check_joint(L, first, t, axis);
        dim[axis] = MIN(dim[axis] + t->dim[axis], TENSOR_MOST + 1);
        vm_charge(L, 1);
    }
    LuaTensor *out = luatensor_push(L, first->rank, dim);
    for (lua_Integer k = 1; k <= n; k++) {
        const LuaTensor *t = luatensor_gathered(L, k);
        Along a = luatensor_along(t, axis);
        size_t run = (size_t)(a.length * a.inner);
        for (int64_t o = 0; run && o < a.outer; o++)
            memcpy(out->data + (o * dim[axis] + at) * a.inner, t->data + o * (int64_t)run,
                   run * sizeof *t->data);
        at += t->dim[axis];
    }
    return 1;
}

/* stack: as concat, along an axis that is not there yet. */
static int luatensor_stack(lua_State *L)
{
    lua_Integer n = luatensor_gather_list(L), axis = luaL_checkinteger(L, 2);
    const LuaTensor *first = luatensor_gathered(L, 1);
    if (axis <= 0) return luaL_error(L, "Axis must be >= 1.");
    if (axis > first->rank + 1) return luaL_error(L, "Axis out of range.");
    int64_t dim[TENSOR_RANK + 1];
    for (int i = 0; i <= first->rank; i++)
        dim[i] = i < axis - 1 ? first->dim[i] : i == axis - 1 ? n : first->dim[i - 1];
    LuaTensor *out = luatensor_push(L, first->rank + 1, dim);
    Along a = luatensor_along(out, (int)axis - 1);
    for (lua_Integer k = 1; k <= n; k++) {
        const LuaTensor *t = luatensor_gathered(L, k);
        check_joint(L, first, t, -1);
        vm_charge(L, 1);
        for (int64_t o = 0; out->count && o < a.outer; o++)
            memcpy(out->data + (o * n + k - 1) * a.inner, t->data + o * a.inner,
                   (size_t)a.inner * sizeof *t->data);
    }
    return 1;
}

/* ---- matrix product ---- */
typedef struct MatmulShape {
    int64_t batches, M, N, K;
    int64_t next_b;              /* between the right-hand matrices: 0: one for all */
} MatmulShape;

static bool product_shape(const LuaTensor *a, const LuaTensor *b, MatmulShape *p)
{
    if (a->rank < 1 || b->rank < 1) return false;
    *p = (MatmulShape){ 1, a->rank > 1 ? a->dim[a->rank - 2] : 1, 1, a->dim[a->rank - 1], 0 };
    for (int i = 0; i < a->rank - 2; i++) p->batches *= a->dim[i];
    if (b->rank == 1) return b->dim[0] == p->K;
    p->N = b->dim[b->rank - 1];
    if (b->dim[b->rank - 2] != p->K) return false;
    if (b->rank == 2) return true;
    p->next_b = p->K * p->N;
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank - 2; i++) same = a->dim[i] == b->dim[i];
    return same;
}

static void multiply_row(const float *x, const float *b, const MatmulShape *p, float *y)
{
    for (int64_t j = 0; j < p->N; j++) y[j] = 0;
    for (int64_t k = 0; k < p->K; k++)
        for (int64_t j = 0; j < p->N; j++) y[j] += x[k] * b[k * p->N + j];
}

/* [.., M, K] by [K], [K, N], or [.., K, N] with the same axes in front; [K] by [K] or [K, N]. */
static int luatensor_matmul(lua_State *L)
{
    const LuaTensor *a = luatensor_to(L, 1), *b = luatensor_to(L, 2);
    MatmulShape p;
    if (!product_shape(a, b, &p))
        return luaL_error(L, "matmul: %s does not fit to %s", luatensor_shape_text(L, b),
                          luatensor_shape_text(L, a));
    int64_t dim[TENSOR_RANK];
    memcpy(dim, a->dim, sizeof dim);
    dim[a->rank - 1] = p.N;
    LuaTensor *out = luatensor_push(L, b->rank == 1 ? a->rank - 1 : a->rank, dim);
    for (int64_t r = 0; out->count && r < p.batches * p.M; r++) {
        luatensor_charge(L, p.N * p.K);
        multiply_row(a->data + r * p.K, b->data + r / p.M * p.next_b, &p, out->data + r * p.N);
    }
    return luatensor_result(L);
}

void luatensor_open_shapes(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "ndim", luatensor_ndim },
        { "shape", luatensor_shape },
        { "to_table", to_table },
        { "index", index_of },
        { "slice", luatensor_slice },
        { "truncate_axis", truncate_axis },
        { "reshape", luatensor_reshape },
        { "transpose", luatensor_transpose },
        { "concat", luatensor_concat },
        { "stack", luatensor_stack },
        { "matmul", luatensor_matmul },
        { "full", luatensor_full },
        { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}
