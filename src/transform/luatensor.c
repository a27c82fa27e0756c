/* SPDX-License-Identifier: Apache-2.0
 * luatensor.c - making tensors, reading arguments, writing them as text, and the global Tensor. */
#include "luatensor.h"

#include <math.h>

#include "data/number.h"

#define NAME "Tensor"

/* ---- making ---- */
static int64_t luatensor_count_of(lua_State *L, int rank, const int64_t *dim)
{
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dim[i] == 0) empty = true;
        else if (dim[i] < 0 || dim[i] > TENSOR_MOST || n > TENSOR_MOST / dim[i])
            luaL_error(L, "a Tensor of this shape would have more than %I elements",
                       (LUAI_UACINT)TENSOR_MOST);
        else n *= dim[i];
    }
    return empty ? 0 : n;
}

LuaTensor *luatensor_push(lua_State *L, int rank, const int64_t *dim)
{
    if (rank > TENSOR_RANK) luaL_error(L, "a Tensor has at most %d axes", TENSOR_RANK);
    int64_t n = luatensor_count_of(L, rank, dim);
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    LuaTensor *t = lua_newuserdatauv(L, sizeof *t + (size_t)n * sizeof *t->data, 0);
    *t = (LuaTensor){ .rank = rank, .count = n };
    for (int i = 0; i < rank; i++) t->dim[i] = dim[i];
    luaL_setmetatable(L, NAME);
    luatensor_charge(L, n);
    return t;
}

LuaTensor *luatensor_like(lua_State *L, const LuaTensor *t)
{
    return luatensor_push(L, t->rank, t->dim);
}

/* ---- from tables ---- */
static int shape_error(lua_State *L)
{
    return luaL_error(L, "Tensor: shape error: the nested tables are not of equal length");
}

/* The shape by the first item of every level; the table is on top and stays. */
static int table_shape(lua_State *L, int64_t *dim)
{
    int rank = 0, top = lua_gettop(L);
    while (lua_istable(L, -1)) {
        if (rank == TENSOR_RANK) luaL_error(L, "a Tensor has at most %d axes", TENSOR_RANK);
        luaL_checkstack(L, 4, NULL);
        dim[rank++] = (int64_t)lua_rawlen(L, -1);
        if (dim[rank - 1] == 0) break;
        lua_rawgeti(L, -1, 1);
    }
    lua_settop(L, top);
    return rank;
}

/* Numbers of the table on top, which must have the axes from `axis` on; returns the place
 * behind. */
static float *read_table(lua_State *L, const LuaTensor *t, int axis, float *out)
{
    int64_t n = t->dim[axis];
    if (!lua_istable(L, -1)) shape_error(L);
    if ((int64_t)lua_rawlen(L, -1) != n) shape_error(L);
    luaL_checkstack(L, 4, NULL);
    for (int64_t i = 1; i <= n; i++) {
        int kind = lua_rawgeti(L, -1, i);
        vm_charge(L, 1);
        if (kind != LUA_TTABLE && kind != LUA_TNUMBER)
            luaL_error(L, "Invalid value in tensor table: found a %s, wanted a number or a table",
                       lua_typename(L, kind));
        bool leaf = axis == t->rank - 1;
        if (leaf != (kind == LUA_TNUMBER)) shape_error(L);
        if (leaf) *out++ = (float)lua_tonumber(L, -1);
        else out = read_table(L, t, axis + 1, out);
        lua_pop(L, 1);
    }
    return out;
}

/* Keys that are no places of the list would be lost silently. */
static void check_keys(lua_State *L, int index, int64_t n)
{
    lua_pushnil(L);
    while (lua_next(L, index)) {
        vm_charge(L, 1);
        lua_Integer key = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (key < 1 || key > n)
            luaL_error(L, "Invalid value in tensor table: found a key that is no place of a list");
        lua_pop(L, 1);
    }
}

static const LuaTensor *from_table(lua_State *L, int index)
{
    int64_t dim[TENSOR_RANK];
    lua_pushvalue(L, index);
    int rank = table_shape(L, dim);
    check_keys(L, lua_gettop(L), dim[0]);
    LuaTensor *t = luatensor_push(L, rank, dim);
    lua_insert(L, -2);
    read_table(L, t, 0, t->data);
    lua_pop(L, 1);
    return t;
}

/* ---- reading ---- */
const LuaTensor *luatensor_test(lua_State *L, int index)
{
    return luaL_testudata(L, index, NAME);
}

const LuaTensor *luatensor_check(lua_State *L, int argument)
{
    return luaL_checkudata(L, argument, NAME);
}

const LuaTensor *luatensor_to(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    const LuaTensor *t = luatensor_test(L, index);
    if (t) return t;
    if (!lua_istable(L, index))
        luaL_error(L, "Unknown type: %s", lua_isnone(L, index) ? "nil" : luaL_typename(L, index));
    t = from_table(L, index);
    lua_replace(L, index);
    return t;
}

const LuaTensor *luatensor_operand(lua_State *L, int index)
{
    const LuaTensor *t = luatensor_test(L, index);
    if (t) return t;
    if (lua_type(L, index) != LUA_TNUMBER) luaL_error(L, "Expected either number or Tensor.");
    LuaTensor *one = luatensor_push(L, 0, NULL);
    one->data[0] = (float)lua_tonumber(L, index);
    lua_replace(L, index);
    return one;
}

int luatensor_axis(lua_State *L, int argument, const LuaTensor *t)
{
    lua_Integer axis = luaL_checkinteger(L, argument);
    if (axis <= 0) return luaL_error(L, "Axis must be >= 1.");
    if (axis > t->rank) return luaL_error(L, "Axis out of range.");
    return (int)axis - 1;
}

bool luatensor_same_shape(const LuaTensor *a, const LuaTensor *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

int luatensor_result(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, -1);
    if (t->rank == 0) lua_pushnumber(L, (lua_Number)t->data[0]);
    return 1;
}

Along luatensor_along(const LuaTensor *t, int axis)
{
    Along a = { 1, t->dim[axis], 1 };
    for (int i = 0; i < axis; i++) a.outer *= t->dim[i];
    for (int i = axis + 1; i < t->rank; i++) a.inner *= t->dim[i];
    return a;
}

/* ---- text ---- */
const char *luatensor_shape_text(lua_State *L, const LuaTensor *t)
{
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '[');
    for (int i = 0; i < t->rank; i++) {
        lua_pushfstring(L, i ? ", %I" : "%I", (LUAI_UACINT)t->dim[i]);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, ']');
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

typedef struct Print { /* as the Rust encoderfile prints: long axes lose their middle */
    const LuaTensor *t;
    luaL_Buffer *b;
    bool whole;
} Print;

static void print_number(luaL_Buffer *b, float x)
{
    char text[NUMBER_ROOM];
    if (isnan(x)) return luaL_addstring(b, "NaN");
    if (isinf(x)) return luaL_addstring(b, x < 0 ? "-inf" : "inf");
    char *end = number_write_f32(text, x);
    if (end - text > 2 && end[-1] == '0' && end[-2] == '.') end -= 2;
    luaL_addlstring(b, text, (size_t)(end - text));
}

static int64_t luatensor_shown_of(const Print *p, int axis)
{
    int64_t limit = p->whole ? INT64_MAX : p->t->rank - axis <= 2 ? 11 : 6;
    return p->t->dim[axis] <= limit ? INT64_MAX : limit / 2;
}

static const float *print_axis(const Print *p, int axis, const float *x)
{
    if (axis == p->t->rank) return print_number(p->b, *x), x + 1;
    int64_t n = p->t->dim[axis], edge = luatensor_shown_of(p, axis),
            size = luatensor_along(p->t, axis).inner;
    luaL_addchar(p->b, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i) luaL_addstring(p->b, axis == p->t->rank - 1 ? ", " : ",");
        if (i && axis < p->t->rank - 1) {
            for (int k = axis; k < p->t->rank - 1; k++) luaL_addchar(p->b, '\n');
            for (int k = 0; k <= axis; k++) luaL_addchar(p->b, ' ');
        }
        if (i == edge && edge < n) {
            luaL_addstring(p->b, "...");
            i = n - edge - 1;
        } else {
            print_axis(p, axis + 1, x + i * size);
        }
    }
    luaL_addchar(p->b, ']');
    return x + n * size;
}

static int luatensor_tostring(lua_State *L)
{
    const LuaTensor *t = luatensor_check(L, 1);
    luaL_Buffer b;
    Print print = { t, &b, t->count < 500 };
    luaL_buffinit(L, &b);
    if (t->count) print_axis(&print, 0, t->data);
    for (int i = 0; t->count == 0 && i < t->rank; i++) luaL_addchar(&b, '[');
    for (int i = 0; t->count == 0 && i < t->rank; i++) luaL_addchar(&b, ']');
    luaL_pushresult(&b);
    return 1;
}

/* ---- opening ---- */
/* Tensor(table): called with the global Tensor itself in front. */
static int luatensor_call(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    from_table(L, 2);
    return 1;
}

static int luatensor_new(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    from_table(L, 1);
    return 1;
}

/* t.name is a method, t[2] a part. */
static int luatensor_index(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TNUMBER) {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
        return 1;
    }
    lua_getfield(L, lua_upvalueindex(1), "index");
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

static int luatensor_newindex(lua_State *L)
{
    return luaL_error(L, "a Tensor cannot be changed: make another one");
}

/* The methods are the fields of the global Tensor as well: Tensor.concat({a, b}, 1). */
void luatensor_open(lua_State *L)
{
    static const luaL_Reg meta[] = {
        { "__tostring", luatensor_tostring },
        { "__newindex", luatensor_newindex },
        { 0 },
    };
    luaL_newmetatable(L, NAME);
    luaL_setfuncs(L, meta, 0);
    luatensor_open_meta(L);
    lua_newtable(L);
    luatensor_open_elements(L);
    luatensor_open_axes(L);
    luatensor_open_shapes(L);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, luatensor_index, 1);
    lua_setfield(L, -3, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -3, "__metatable");
    lua_remove(L, -2);
    /* scripts get copies of this table; methods look into the one kept above */
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, -3)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
    lua_pushcfunction(L, luatensor_new);
    lua_setfield(L, -2, "new");
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, luatensor_call);
    lua_setfield(L, -2, "__call");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}
