/* SPDX-License-Identifier: Apache-2.0
 * vm.h - a Lua state under limits, for the files of this folder.
 *
 * What can run long counts its steps with vm_charge; what allocates does so through the state, so
 * that a Lua error (a longjmp) leaves nothing behind. Lua's own instructions are counted by a hook;
 * hooks do not run inside message handlers and finalizers, so scripts get neither. */
#ifndef TRANSFORM_VM_H
#define TRANSFORM_VM_H
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include "transform.h"

typedef enum { STOP_NONE, STOP_TIME, STOP_INSTRUCTIONS, STOP_MEMORY } Stop;

struct TransformVm {
    Arena arena;             /* holds this struct */
    const Transform *transform;
    lua_State *L;            /* NULL: to be opened by the next call */
    lua_State *running;      /* L or one of its coroutines; NULL: none */
    size_t used;             /* bytes of the state */
    size_t churn;            /* allocated since the clock was last looked at */
    bool starved;            /* what it last asked for the system did not have */
    int64_t steps;           /* of this call */
    int64_t unchecked;       /* of them, since the clock was last looked at */
    double deadline;         /* of this call; 0: none runs */
    Stop stop;               /* why this call must end */
    int lines;               /* logged by this call */
    const TransformWatch *watch; /* NULL: nobody */
    TransformVm *next;       /* in a TransformPool */
};

static inline TransformVm *vm_of(lua_State *L)
{
    void *vm;
    lua_getallocf(L, &vm);
    return vm;
}

/* ---- vm.c ---- */
/* Calls body with arg as light userdata, on fresh globals and limits. Its one result stays on the
 * stack at 1 until vm_end; false: nothing is there, and vm_end need not be called. */
bool vm_call(TransformVm *, lua_CFunction body, void *arg, Err *);
void vm_end(TransformVm *);
int vm_stopped(lua_State *L);        /* raises the error of vm->stop: it cannot be caught */
void vm_check_time(lua_State *L);    /* raises it when a limit has been passed */
static inline void vm_charge(lua_State *L, int64_t steps)
{
    TransformVm *vm = vm_of(L);
    vm->steps += steps;
    vm->unchecked += steps;
    if (vm->unchecked >= 4096) vm_check_time(L);
}
void vm_log(lua_State *L, const char *text, size_t n); /* a line for the operator, within reason */
void vm_hook(lua_State *L);                  /* counts this thread's instructions from now on */

/* ---- sandbox.c: the globals ---- */
extern const char vm_key_env;                /* in the registry: globals of the running call */
void sandbox_open(lua_State *L, unsigned libs); /* once per state */
void sandbox_push_env(lua_State *L);         /* fresh globals, also kept under vm_key_env */
/* Replacements and their tables, each adding functions to the table on top of the stack. */
void guard_open(lua_State *L);               /* guard.c: pcall, xpcall, load, setmetatable, ... */
void guard_open_coroutine(lua_State *L);
void pattern_open(lua_State *L);             /* pattern.c: find, match, gmatch, gsub, rep */
void table_open(lua_State *L);               /* table.c: insert, remove, move, concat, sort */
void outside_open_io(lua_State *L);          /* outside.c: what is left of io, os and package */
void outside_open_os(lua_State *L);
void outside_open_package(lua_State *L);
void outside_refuse(lua_State *L, const char *prefix, const char *const *names);
void outside_finish_env(lua_State *L);       /* package.loaded of the fresh globals on top */
void luatensor_open(lua_State *L);           /* leaves the global Tensor on the stack */

#endif
