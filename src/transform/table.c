/* SPDX-License-Identifier: Apache-2.0
 * table.c - the functions of Lua's table library whose loops a script could make endless
 * (lengths may come from __len, ranges may be huge), rewritten so that every step is counted.
 * Sorting is heapsort: an inconsistent comparison function can make it neither slow nor read out
 * of bounds. */
#include "vm.h"

static lua_Integer check_length(lua_State *L, int index)
{
    luaL_checktype(L, index, LUA_TTABLE);
    return luaL_len(L, index);
}

/* t[to] = t[from] */
static void move_one(lua_State *L, lua_Integer from, lua_Integer to)
{
    vm_charge(L, 2);
    lua_geti(L, 1, from);
    lua_seti(L, 1, to);
}

static int table_insert(lua_State *L)
{
    lua_Integer n = (lua_Integer)((lua_Unsigned)check_length(L, 1) + 1), at = n;
    if (lua_gettop(L) == 3) {
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)at - 1u < (lua_Unsigned)n, 2, "position out of bounds");
        for (lua_Integer i = n; i > at; i--) move_one(L, i - 1, i);
    } else if (lua_gettop(L) != 2) {
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_seti(L, 1, at);
    return 0;
}

static int table_remove(lua_State *L)
{
    lua_Integer n = check_length(L, 1), at = luaL_optinteger(L, 2, n);
    luaL_argcheck(L, at == n || (lua_Unsigned)at - 1u <= (lua_Unsigned)n, 2,
                  "position out of bounds");
    lua_settop(L, 1);
    lua_geti(L, 1, at);
    for (; at < n; at++) move_one(L, at + 1, at);
    lua_pushnil(L);
    lua_seti(L, 1, at);
    return 1;
}

static int table_move(lua_State *L)
{
    lua_Integer from = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
    lua_Integer to = luaL_checkinteger(L, 4);
    int target = lua_isnoneornil(L, 5) ? 1 : 5;
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, target, LUA_TTABLE);
    if (last >= from) {
        luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3, "too many elements to move");
        lua_Integer n = last - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
        bool upward = to > last || to <= from || !lua_rawequal(L, 1, target);
        for (lua_Integer k = 0; k < n; k++) {
            lua_Integer i = upward ? k : n - 1 - k;
            vm_charge(L, 2);
            lua_geti(L, 1, from + i);
            lua_seti(L, target, to + i);
        }
    }
    lua_pushvalue(L, target);
    return 1;
}

static void add_field(lua_State *L, luaL_Buffer *b, lua_Integer i)
{
    vm_charge(L, 2);
    lua_geti(L, 1, i);
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1),
                   (LUAI_UACINT)i);
    luaL_addvalue(b);
}

static int table_concat(lua_State *L)
{
    size_t n;
    lua_Integer length = check_length(L, 1);
    const char *between = luaL_optlstring(L, 2, "", &n);
    lua_Integer i = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, length);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (; i < last; i++) {
        add_field(L, &b, i);
        luaL_addlstring(&b, between, n);
    }
    if (i == last) add_field(L, &b, i);
    luaL_pushresult(&b);
    return 1;
}

/* ---- sort: a heap in t[1..n] ---- */
/* t[a] < t[b] by the function at 2, or by `<`. */
static bool sort_less(lua_State *L, lua_Integer a, lua_Integer b)
{
    vm_charge(L, 4);
    bool own = lua_isfunction(L, 2);
    if (own) lua_pushvalue(L, 2);
    lua_geti(L, 1, a);
    lua_geti(L, 1, b);
    bool result;
    if (own) lua_call(L, 2, 1), result = lua_toboolean(L, -1), lua_pop(L, 1);
    else result = lua_compare(L, -2, -1, LUA_OPLT), lua_pop(L, 2);
    return result;
}

static void sort_swap(lua_State *L, lua_Integer a, lua_Integer b)
{
    lua_geti(L, 1, a);
    lua_geti(L, 1, b);
    lua_seti(L, 1, a);
    lua_seti(L, 1, b);
}

static void sort_sift(lua_State *L, lua_Integer at, lua_Integer n)
{
    for (lua_Integer child; (child = 2 * at) <= n; at = child) {
        if (child < n && sort_less(L, child, child + 1)) child++;
        if (!sort_less(L, at, child)) return;
        sort_swap(L, at, child);
    }
}

static int table_sort(lua_State *L)
{
    lua_Integer n = check_length(L, 1);
    luaL_argcheck(L, n < INT32_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    for (lua_Integer i = n / 2; i >= 1; i--) sort_sift(L, i, n);
    for (lua_Integer i = n; i > 1; i--) {
        sort_swap(L, 1, i);
        sort_sift(L, 1, i - 1);
    }
    return 0;
}

void table_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "insert", table_insert }, { "remove", table_remove }, { "move", table_move },
        { "concat", table_concat }, { "sort", table_sort },     { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}
