/* SPDX-License-Identifier: Apache-2.0
 * outside.c - what is left of io, os and package. Functions that are not available exist as
 * stubs that raise an error, so that the dry run of a build finds their use. */
#include "vm.h"

#define STREAM "Stream"

/* ---- refusing ---- */
static int outside_refuse_call(lua_State *L)
{
    return luaL_error(L, "%s is not available in a transform",
                      lua_tostring(L, lua_upvalueindex(1)));
}

void outside_refuse(lua_State *L, const char *prefix, const char *const *name)
{
    for (; *name; name++) {
        lua_pushfstring(L, "%s%s", prefix, *name);
        lua_pushcclosure(L, outside_refuse_call, 1);
        lua_setfield(L, -2, *name);
    }
}

/* ---- io: lines for the operator ---- */
/* The arguments from `first` on as one line of the log. */
static void log_arguments(lua_State *L, int first)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = first; i <= n; i++) {
        luaL_checkstring(L, i);
        lua_pushvalue(L, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    vm_log(L, text, length);
}

static void push_stream(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, STREAM);
}

static int io_write(lua_State *L)
{
    log_arguments(L, 1);
    push_stream(L);
    return 1;
}

static int stream_write(lua_State *L)
{
    luaL_checkudata(L, 1, STREAM);
    log_arguments(L, 2);
    lua_settop(L, 1);
    return 1;
}

static int stream_itself(lua_State *L)
{
    lua_settop(L, 1);
    return 1;
}

static void open_streams(lua_State *L)
{
    static const luaL_Reg methods[] = {
        { "write", stream_write },
        { "flush", stream_itself },
        { "setvbuf", stream_itself },
        { 0 },
    };
    luaL_newmetatable(L, STREAM);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void outside_open_io(lua_State *L)
{
    static const char *const refused[] = { "close", "flush", "input", "lines", "open", "output",
                                           "popen", "read", "tmpfile", "type", NULL };
    open_streams(L);
    lua_pushcfunction(L, io_write);
    lua_setfield(L, -2, "write");
    push_stream(L);
    lua_setfield(L, -2, "stderr");
    push_stream(L);
    lua_setfield(L, -2, "stdout");
    outside_refuse(L, "io.", refused);
}

void outside_open_os(lua_State *L)
{
    static const char *const refused[] = { "execute", "exit", "getenv", "remove", "rename",
                                           "setlocale", "tmpname", NULL };
    outside_refuse(L, "os.", refused);
}

/* ---- package: what is loaded is all there is ---- */
static int package_require(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &vm_key_env);
    static const char *const places[] = { "loaded", "preload" };
    for (size_t i = 0; i < COUNT(places); i++) {
        if (lua_getfield(L, 2, "package") != LUA_TTABLE) break;
        if (lua_getfield(L, -1, places[i]) != LUA_TTABLE) break;
        if (lua_getfield(L, -1, name) == LUA_TNIL) continue;
        if (i == 0) return 1;
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    return luaL_error(L, "module '%s' not found: a transform cannot load files", name);
}

void outside_open_package(lua_State *L)
{
    static const char *const refused[] = { "loadlib", "searchpath", NULL };
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "path");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "cpath");
    lua_pushliteral(L, "/\n;\n?\n!\n-\n");
    lua_setfield(L, -2, "config");
    outside_refuse(L, "package.", refused);
}

/* Globals on top: package.loaded names their libraries, package.preload waits for the script. */
void outside_finish_env(lua_State *L)
{
    int env = lua_gettop(L);
    if (lua_getfield(L, env, "package") != LUA_TTABLE) {
        lua_settop(L, env);
        return;
    }
    lua_newtable(L);
    for (const char *const *name = transform_libs; *name; name++) {
        lua_getfield(L, env, *name);
        lua_setfield(L, -2, *name);
    }
    lua_pushvalue(L, env);
    lua_setfield(L, -2, "_G");
    lua_setfield(L, env + 1, "loaded");
    lua_newtable(L);
    lua_setfield(L, env + 1, "preload");
    lua_pushcfunction(L, package_require);
    lua_setfield(L, env, "require");
    lua_settop(L, env);
}
