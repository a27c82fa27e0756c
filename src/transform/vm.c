/* SPDX-License-Identifier: Apache-2.0
 * vm.c - one Lua state: its memory, its clock, and the way in. Three checks stop a script: the
 * count hook (its own instructions), vm_charge (steps of our C functions) and the allocator
 * (what fills memory without doing much else). A stop is remembered in the VM, so that code
 * which catches the error raises it again. */
#include "vm.h"

#include "base/heap.h"
#include "base/log.h"
#include "base/thread.h"

enum {
    HOOK_COARSE = 256,           /* instructions between two checks of the clock */
    HOOK_FINE = 16,              /* the same once a single one may take milliseconds */
    LARGE = 4 << 20,             /* bytes in use from which that is so */
    CHURN = 8 << 20,             /* bytes allocated between two looks */
    MOST_STRING = 16 << 20,
    KEPT = 4 << 20,              /* more than that is collected after a call */
    MOST_LINES = 32, MOST_LINE = 400, /* logged by one call */
    MOST_LEVELS = 6,             /* of a traceback */
};

static const char key_chunk;     /* in the registry: the compiled script */

static void count_hook(lua_State *L, lua_Debug *ar);

/* ---- limits ---- */
static bool past_deadline(TransformVm *vm)
{
    if (vm->deadline == 0) return false;
    double now = now_seconds();
    bool ends = vm->watch && vm->watch->ends(vm->watch->arg, now);
    if (!ends && now < vm->deadline) return false;
    if (!vm->stop) vm->stop = STOP_TIME;
    return true;
}

static bool may_grow(TransformVm *vm, size_t kind, size_t size, size_t more)
{
    if (kind == LUA_TSTRING && size > MOST_STRING) return false;
    if (more > vm->transform->limits.memory || vm->used > vm->transform->limits.memory - more)
        return false;
    if (vm->used + more > LARGE && vm->running && lua_gethookcount(vm->running) > HOOK_FINE)
        lua_sethook(vm->running, count_hook, LUA_MASKCOUNT, HOOK_FINE);
    vm->churn += more;
    if (vm->churn < CHURN) return true;
    vm->churn = 0;
    return !past_deadline(vm);
}

/* lua_Alloc. For a new block Lua says in `old` what it is for. */
static void *vm_allocate(void *arg, void *p, size_t old, size_t size)
{
    TransformVm *vm = arg;
    size_t had = p ? old : 0;
    bool more = size > had;
    if (more) vm->starved = false;
    if (more && !may_grow(vm, p ? 0 : old, size, size - had)) return NULL;
    void *moved = heap_resize(p, size);
    if (more) vm->starved = !moved;
    if (size && !moved) return size <= had ? p : NULL;
    vm->used = vm->used - had + size;
    return moved;
}

/* "transform:3: ": in a hook level 0 is the script, in a C function it is that function. */
static void push_where(lua_State *L)
{
    luaL_where(L, 0);
    if (lua_rawlen(L, -1)) return;
    lua_pop(L, 1);
    luaL_where(L, 1);
}

int vm_stopped(lua_State *L)
{
    TransformVm *vm = vm_of(L);
    const TransformLimits *limits = &vm->transform->limits;
    lua_sethook(L, lua_gethook(L), LUA_MASKCOUNT, 1);
    if (vm->stop == STOP_MEMORY) { /* there may be no room to say more; report does */
        lua_pushliteral(L, "not enough memory");
        return lua_error(L);
    }
    push_where(L);
    if (vm->stop == STOP_INSTRUCTIONS)
        lua_pushfstring(L, "the script went over its limit of %I instructions",
                        (LUAI_UACINT)limits->instructions);
    else
        lua_pushfstring(L, "the script went over its time limit of %f s", limits->seconds);
    lua_concat(L, 2);
    return lua_error(L);
}

void vm_check_time(lua_State *L)
{
    TransformVm *vm = vm_of(L);
    vm->unchecked = 0;
    if (!vm->stop && vm->deadline > 0 && vm->steps > vm->transform->limits.instructions)
        vm->stop = STOP_INSTRUCTIONS;
    if (!vm->stop) past_deadline(vm);
    if (vm->stop) vm_stopped(L);
}

static void count_hook(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    TransformVm *vm = vm_of(L);
    int count = lua_gethookcount(L), wanted = vm->used > LARGE ? HOOK_FINE : HOOK_COARSE;
    vm->steps += count;
    vm_check_time(L);
    if (count != wanted) lua_sethook(L, count_hook, LUA_MASKCOUNT, wanted);
}

void vm_hook(lua_State *L)
{
    lua_sethook(L, count_hook, LUA_MASKCOUNT, HOOK_COARSE);
}

void vm_log(lua_State *L, const char *text, size_t n)
{
    TransformVm *vm = vm_of(L);
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    if (++vm->lines <= MOST_LINES) log_info("transform: %.*s", (int)MIN(n, MOST_LINE), text);
    else if (vm->lines == MOST_LINES + 1) log_info("transform: more lines are left out");
}

/* ---- errors ---- */
static void add_level(lua_State *L, luaL_Buffer *b, const lua_Debug *ar)
{
    if (*ar->what == 'm') lua_pushfstring(L, "; in the script at line %d", ar->currentline);
    else if (!*ar->namewhat) lua_pushfstring(L, "; in a function at line %d", ar->currentline);
    else lua_pushfstring(L, "; in function '%s' at line %d", ar->name, ar->currentline);
    luaL_addvalue(b);
}

/* Message handler: the message and, on the same line, who called whom. It is C code, so no hook
 * is needed in it. An error object that is not a string is described by its type; its __tostring
 * is not called. */
static int vm_describe_error(lua_State *L)
{
    luaL_Buffer b;
    lua_Debug ar;
    if (lua_type(L, 1) == LUA_TSTRING || lua_type(L, 1) == LUA_TNUMBER) lua_tostring(L, 1);
    else lua_pushfstring(L, "error object is a %s", luaL_typename(L, 1)), lua_replace(L, 1);
    luaL_buffinit(L, &b);
    lua_pushvalue(L, 1);
    luaL_addvalue(&b);
    for (int level = 1, shown = 0; shown < MOST_LEVELS && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sln", &ar);
        if (*ar.what == 'C') continue;
        add_level(L, &b, &ar);
        shown++;
    }
    luaL_pushresult(&b);
    return 1;
}

/* Scripts may put any bytes into a message; transports want UTF-8, and logs one line. */
static void vm_clean_message(char *text)
{
    bool valid = utf8_valid(str_of(text));
    for (; *text; text++) {
        if (!valid && *text & 0x80) *text = '?';
        if ((unsigned char)*text < ' ') *text = ' ';
    }
}

static bool vm_report_error(TransformVm *vm, int status, Err *err)
{
    size_t n = 0;
    const char *text = lua_gettop(vm->L) ? lua_tolstring(vm->L, -1, &n) : NULL;
    bool starved = status == LUA_ERRMEM && vm->starved;
    if (status == LUA_ERRMEM && !vm->stop) vm->stop = STOP_MEMORY;
    if (starved)
        fail(err, EF_UNAVAILABLE, "transform: out of memory: try again");
    else if (vm->stop == STOP_MEMORY)
        fail(err, EF_INTERNAL,
             "transform: the script went over its memory limit of %zu MiB (one string: %d MiB)",
             vm->transform->limits.memory >> 20, MOST_STRING >> 20);
    else if (status == LUA_ERRMEM) /* the allocator saw the deadline first */
        fail(err, EF_INTERNAL, "transform: the script went over its time limit of %g s",
             vm->transform->limits.seconds);
    else
        fail(err, EF_INTERNAL, "%.*s", text ? (int)MIN(n, sizeof err->message) : 0,
             text ? text : "");
    if (err) vm_clean_message(err->message);
    return false;
}

/* ---- opening ---- */
static int open_state(lua_State *L)
{
    const Transform *transform = lua_touserdata(L, 1);
    sandbox_open(L, transform->libs);
    if (luaL_loadbufferx(L, transform->script.n ? transform->script.p : "", transform->script.n,
                         "=transform", "t") != LUA_OK)
        return lua_error(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key_chunk);
    return 0;
}

static int vm_protect(TransformVm *vm, lua_CFunction body, const void *arg, int results)
{
    lua_State *L = vm->L;
    lua_pushcfunction(L, vm_describe_error);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, (void *)(uintptr_t)arg);
    int status = lua_pcall(L, 1, results, 1);
    lua_remove(L, 1);
    return status;
}

static void close_state(TransformVm *vm)
{
    vm->deadline = 0;
    if (vm->L) lua_close(vm->L);
    vm->L = NULL;
    vm->used = 0;
}

static bool open_vm(TransformVm *vm, Err *err)
{
    if (vm->L) return true;
    vm->L = lua_newstate(vm_allocate, vm);
    if (!vm->L) return fail(err, EF_UNAVAILABLE, "transform: no memory for a Lua state: try again");
    int status = vm_protect(vm, open_state, vm->transform, 0);
    if (status == LUA_OK) return true;
    vm_report_error(vm, status, err);
    close_state(vm);
    return false;
}

/* ---- calling ---- */
typedef struct VmCall {
    lua_CFunction body;
    void *arg;
} VmCall;

/* Fresh globals, then the script's top level, then the body. */
static int run_call(lua_State *L)
{
    const VmCall *call = lua_touserdata(L, 1);
    vm_hook(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_chunk);
    sandbox_push_env(L);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 0);
    lua_pushcfunction(L, call->body);
    lua_pushlightuserdata(L, call->arg);
    lua_call(L, 1, 1);
    return 1;
}

static void vm_begin(TransformVm *vm)
{
    vm->steps = vm->unchecked = 0;
    vm->churn = 0;
    vm->stop = STOP_NONE;
    vm->lines = 0;
    vm->deadline = now_seconds() + vm->transform->limits.seconds;
}

bool vm_call(TransformVm *vm, lua_CFunction body, void *arg, Err *err)
{
    VmCall call = { body, arg };
    vm_begin(vm);
    if (!open_vm(vm, err)) return false;
    vm->running = vm->L;
    int status = vm_protect(vm, run_call, &call, 1);
    vm->running = NULL;
    vm->deadline = 0;
    if (status == LUA_OK && !vm->stop) return true;
    vm_report_error(vm, status, err);
    if (vm->stop) close_state(vm);
    else vm_end(vm);
    return false;
}

void vm_end(TransformVm *vm)
{
    lua_State *L = vm->L;
    lua_settop(L, 0);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &vm_key_env);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_chunk);
    lua_pushnil(L);
    lua_setupvalue(L, 1, 1); /* the globals of this call are garbage now */
    lua_settop(L, 0);
    if (vm->used > KEPT) lua_gc(L, LUA_GCCOLLECT);
}

TransformVm *transform_vm(const Transform *transform)
{
    Arena arena = { 0 };
    TransformVm *vm = NEW(&arena, TransformVm);
    vm->arena = arena;
    vm->transform = transform;
    return vm;
}

void transform_vm_free(TransformVm *vm)
{
    if (!vm) return;
    close_state(vm);
    Arena arena = vm->arena;
    arena_free(&arena);
}
