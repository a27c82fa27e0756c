/* SPDX-License-Identifier: Apache-2.0
 * sandbox.c - the globals of a script. Lua's libraries are opened once per state where no script
 * can see them; what may be seen is copied into a template, and every call gets a fresh copy of
 * that. So a script may overwrite `string.rep` or hide a table in `math` without anyone noticing
 * later. */
#include "vm.h"

const char vm_key_env;
static const char key_template;

/* ---- what there is ---- */
static const char *const base_names[] = {
    "assert", "error", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget", "rawlen",
    "rawset", "select", "tonumber", "tostring", "type", "_VERSION", NULL,
};
static const char *const refused_names[] = { "dofile", "loadfile", "require", NULL };
static const char *const string_names[] = {
    "byte", "char", "format", "len", "lower", "pack", "packsize", "reverse", "sub", "unpack",
    "upper", NULL,
};
static const char *const table_names[] = { "pack", "unpack", NULL };
static const char *const coroutine_names[] = { "isyieldable", "running", "status", "yield", NULL };
static const char *const os_names[] = { "clock", "date", "difftime", "time", NULL };

typedef struct Library {
    const char *name;            /* in lua_libs, and of the global */
    lua_CFunction open;          /* Lua's own, or NULL: none of it is used */
    const char *const *keep;     /* names taken from it; NULL: all */
    void (*add)(lua_State *);    /* (optional) ours, into the table on top */
} Library;

/* By the place of the name in transform_libs. */
static const Library libraries[] = {
    { "coroutine", luaopen_coroutine, coroutine_names, guard_open_coroutine },
    { "table", luaopen_table, table_names, table_open },
    { "io", NULL, NULL, outside_open_io },
    { "os", luaopen_os, os_names, outside_open_os },
    { "string", luaopen_string, string_names, pattern_open },
    { "utf8", luaopen_utf8, NULL, NULL },
    { "math", luaopen_math, NULL, NULL },
    { "package", NULL, NULL, outside_open_package },
};
const char *const transform_libs[] = { "coroutine", "table", "io", "os", "string", "utf8", "math",
                                       "package", "debug", NULL };
_Static_assert(COUNT(transform_libs) == COUNT(libraries) + 2, "debug is refused before");

/* ---- copying ---- */
/* Fields of the table at `from` into the one on top. */
static void copy_fields(lua_State *L, int from)
{
    int to = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

static void copy_named(lua_State *L, int from, const char *const *name)
{
    for (; *name; name++) {
        lua_getfield(L, from, *name);
        lua_setfield(L, -2, *name);
    }
}

/* The library's table on the stack. */
static void push_library(lua_State *L, const Library *lib)
{
    int top = lua_gettop(L);
    lua_newtable(L);
    if (lib->open) {
        luaL_requiref(L, lib->name, lib->open, 0);
        lua_insert(L, -2);
        if (lib->keep) copy_named(L, top + 1, lib->keep);
        else copy_fields(L, top + 1);
    }
    if (lib->add) lib->add(L);
    lua_insert(L, top + 1);
    lua_settop(L, top + 1);
}

/* Methods of strings come from a table that no script can reach; the table on top is copied. */
static void settle_string_methods(lua_State *L)
{
    int lib = lua_gettop(L);
    lua_pushliteral(L, "");
    if (lua_getmetatable(L, -1)) {
        lua_newtable(L);
        copy_fields(L, lib);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, false);
        lua_setfield(L, -2, "__metatable");
    }
    lua_settop(L, lib);
}

void sandbox_open(lua_State *L, unsigned libs)
{
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_newtable(L);
    int template = lua_gettop(L);
    luaL_requiref(L, "_G", luaopen_base, 1);
    lua_insert(L, template);
    copy_named(L, template, base_names);
    lua_remove(L, template);
    outside_refuse(L, "", refused_names);
    guard_open(L);
    for (size_t i = 0; i < COUNT(libraries); i++) {
        if (!(libs & 1u << i)) continue;
        push_library(L, &libraries[i]);
        if (libraries[i].open == luaopen_string) settle_string_methods(L);
        lua_setfield(L, template, libraries[i].name);
    }
    luatensor_open(L);
    lua_setfield(L, template, "Tensor");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key_template);
}

/* ---- per call ---- */
/* The value on top, if it is a table, replaced by a copy with the same metatable. */
static void own_copy(lua_State *L)
{
    if (!lua_istable(L, -1)) return;
    int from = lua_gettop(L);
    lua_createtable(L, 0, 32);
    copy_fields(L, from);
    if (lua_getmetatable(L, from)) lua_setmetatable(L, -2);
    lua_replace(L, from);
}

/* Random numbers start from the same seed in every call: same input, same answer. */
static void sandbox_reset_random(lua_State *L)
{
    if (lua_getfield(L, -1, "math") == LUA_TTABLE) {
        lua_getfield(L, -1, "randomseed");
        lua_pushinteger(L, 42);
        lua_call(L, 1, 0);
    }
    lua_pop(L, 1);
}

void sandbox_push_env(lua_State *L)
{
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_createtable(L, 0, 48);
    int env = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_template);
    lua_pushnil(L);
    while (lua_next(L, env + 1)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        own_copy(L);
        lua_rawset(L, env);
    }
    lua_settop(L, env);
    lua_pushvalue(L, env);
    lua_setfield(L, env, "_G");
    sandbox_reset_random(L);
    outside_finish_env(L);
    lua_pushvalue(L, env);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &vm_key_env);
}
