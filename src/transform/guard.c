/* SPDX-License-Identifier: Apache-2.0
 * guard.c - the basic functions through which a script could get around its limits: those that
 * catch errors (pcall, xpcall, coroutines) pass a stop on; those that run code behind the hook's
 * back (finalizers, message handlers) are not there or run it elsewhere; code comes as text. */
#include "vm.h"

enum { THREAD_STEPS = 256 }; /* a new coroutine runs that many instructions before its first hook */

/* ---- catching ---- */
/* Neither a stop nor running out of memory can be caught. */
static void pass_stop(lua_State *L, int status)
{
    TransformVm *vm = vm_of(L);
    if (status == LUA_ERRMEM && !vm->stop) vm->stop = STOP_MEMORY;
    if (vm->stop) vm_stopped(L);
}

static int finish_pcall(lua_State *L, int status, lua_KContext below)
{
    pass_stop(L, status);
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)below;
    lua_pushboolean(L, false);
    lua_insert(L, -2);
    return 2;
}

static int guard_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, true);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall);
    return finish_pcall(L, status, 0);
}

/* Stack: handler, true, then function and arguments, or what came of it. */
static int finish_xpcall(lua_State *L, int status, lua_KContext below)
{
    pass_stop(L, status);
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)below;
    lua_pushvalue(L, 1);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    lua_pushboolean(L, false);
    lua_insert(L, -2);
    return 2;
}

static int guard_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_insert(L, 1);            /* handler, function, handler, arguments */
    lua_pushboolean(L, true);
    lua_replace(L, 3);           /* handler, function, true, arguments */
    lua_pushvalue(L, 2);
    lua_copy(L, 3, 2);
    lua_replace(L, 3);           /* handler, true, function, arguments */
    int status = lua_pcallk(L, lua_gettop(L) - 3, LUA_MULTRET, 0, 1, finish_xpcall);
    return finish_xpcall(L, status, 1);
}

/* ---- coroutines ---- */
static lua_State *check_thread(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "coroutine");
    return co;
}

static int guard_create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    vm_charge(L, THREAD_STEPS);
    lua_State *co = lua_newthread(L);
    vm_hook(co);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

/* Results on top of L, their number; -1: the error is there. */
static int guard_resume_thread(lua_State *L, lua_State *co, int arguments)
{
    TransformVm *vm = vm_of(L);
    int results;
    vm_charge(L, 1);
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, arguments);
    vm->running = co;
    int status = lua_resume(co, L, arguments, &results);
    vm->running = L;
    pass_stop(L, status);
    if (status != LUA_OK && status != LUA_YIELD) return lua_xmove(co, L, 1), -1;
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, results);
    return results;
}

static int guard_resume(lua_State *L)
{
    lua_State *co = check_thread(L);
    int n = guard_resume_thread(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, n >= 0);
    if (n < 0) n = 1;
    lua_insert(L, -(n + 1));
    return n + 1;
}

static int resume_wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int n = guard_resume_thread(L, co, lua_gettop(L));
    if (n >= 0) return n;
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int guard_wrap(lua_State *L)
{
    guard_create(L);
    lua_pushcclosure(L, resume_wrapped, 1);
    return 1;
}

static int guard_close(lua_State *L)
{
    lua_State *co = check_thread(L);
    int status = lua_status(co);
    lua_Debug ar;
    bool idle = status == LUA_YIELD || (status == LUA_OK && !lua_getstack(co, 0, &ar));
    if (co == L || (!idle && status == LUA_OK))
        return luaL_error(L, "cannot close a running coroutine");
    status = lua_resetthread(co);
    pass_stop(L, status);
    lua_pushboolean(L, status == LUA_OK);
    if (status == LUA_OK) return 1;
    lua_xmove(co, L, 1);
    return 2;
}

/* ---- code and metatables ---- */
/* The pieces a reader function gives, as one string on top. */
static void guard_read_chunks(lua_State *L)
{
    lua_newtable(L);
    lua_Integer n = 0;
    for (;; n++) {
        vm_charge(L, 1);
        lua_pushvalue(L, 1);
        lua_call(L, 0, 1);
        int kind = lua_type(L, -1);
        if (kind == LUA_TNIL || (kind == LUA_TSTRING && lua_rawlen(L, -1) == 0)) break;
        if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
        lua_rawseti(L, -2, n + 1);
    }
    lua_pop(L, 1);
    int pieces = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, pieces, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lua_remove(L, pieces);
}

static int guard_load(lua_State *L)
{
    size_t n;
    if (lua_isstring(L, 1)) lua_pushvalue(L, 1);
    else luaL_checktype(L, 1, LUA_TFUNCTION), guard_read_chunks(L);
    lua_insert(L, 1);            /* text, chunk, name, mode, globals */
    const char *text = lua_tolstring(L, 1, &n);
    const char *mode = luaL_optstring(L, 4, "t");
    const char *name = luaL_optstring(L, 3, lua_type(L, 2) == LUA_TSTRING ? text : "=(load)");
    if (!strchr(mode, 't')) return luaL_error(L, "load: only text can be loaded in a transform");
    vm_charge(L, (int64_t)(n / 16));
    int status = luaL_loadbufferx(L, text, n, name, "t");
    if (status != LUA_OK) {
        pass_stop(L, status);
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    if (lua_gettop(L) < 6) lua_rawgetp(L, LUA_REGISTRYINDEX, &vm_key_env);
    else lua_pushvalue(L, 5);
    if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
    return 1;
}

/* A finalizer would run without the instruction hook. */
static int guard_setmetatable(lua_State *L)
{
    int kind = lua_type(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
    if (kind == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "__gc is not available in a transform");
        lua_pop(L, 1);
    }
    lua_setmetatable(L, 1);
    return 1;
}

/* Collecting is the VM's business; "count" is answered. */
static int guard_collectgarbage(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "collect");
    if (strcmp(what, "count") == 0) lua_pushnumber(L, (lua_Number)vm_of(L)->used / 1024);
    else lua_pushinteger(L, 0);
    return 1;
}

static int guard_print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1) luaL_addchar(&b, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    vm_log(L, text, length);
    return 0;
}

void guard_open(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "pcall", guard_pcall },
        { "xpcall", guard_xpcall },
        { "load", guard_load },
        { "setmetatable", guard_setmetatable },
        { "collectgarbage", guard_collectgarbage },
        { "print", guard_print },
        { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}

void guard_open_coroutine(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "create", guard_create },
        { "wrap", guard_wrap },
        { "resume", guard_resume },
        { "close", guard_close },
        { 0 },
    };
    luaL_setfuncs(L, functions, 0);
}
