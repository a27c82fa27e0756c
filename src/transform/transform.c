/* SPDX-License-Identifier: Apache-2.0
 * transform.c - scripts from text and from packages, their two functions, and the VMs that threads
 * share. */
#include "transform.h"

#include <pthread.h>

#include "data/wire.h"
#include "luatensor.h"

enum { MOST_SCRIPT = 4 << 20 }; /* bytes */
enum { FIELD_TYPE = 1, FIELD_SCRIPT = 2, FIELD_LIBS = 3, LIBS_NAME = 1, TYPE_LUA = 1 };

/* ---- libraries ---- */
static bool read_lib(Str name, unsigned *libs, Err *err)
{
    size_t n = 0;
    for (; transform_libs[n]; n++) {
        if (!str_is(name, transform_libs[n])) continue;
        if (strcmp(transform_libs[n], "debug") == 0)
            return fail(err, EF_INVALID_INPUT,
                        "lua_libs: debug is not available in a transform: it opens the sandbox");
        *libs |= 1u << n;
        return true;
    }
    const char *near = str_nearest(name, transform_libs, n);
    return fail(err, EF_INVALID_INPUT, "Unknown Lua stdlib: %.*s%s%s%s", STR_ARG(name),
                near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static bool transform_read_libs(const Str *lib, size_t n, unsigned *libs, Err *err)
{
    static const Str usual[] = { { "table", 5 }, { "string", 6 }, { "math", 4 } };
    if (!lib) lib = usual, n = COUNT(usual);
    *libs = 0;
    for (size_t i = 0; i < n; i++)
        if (!read_lib(lib[i], libs, err)) return false;
    return true;
}

/* ---- loading ---- */
static Str transform_trim(Str s)
{
    while (s.n && strchr(" \t\r\n\f\v", s.p[s.n - 1]) && s.p[s.n - 1]) s.n--;
    while (s.n && strchr(" \t\r\n\f\v", s.p[0]) && s.p[0]) s.p++, s.n--;
    return s;
}

/* nil or a function under that name in this call's globals; anything else is an error. */
static bool push_function(lua_State *L, const char *name)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &vm_key_env);
    int kind = lua_getfield(L, -1, name);
    lua_remove(L, -2);
    if (kind == LUA_TFUNCTION) return true;
    if (kind != LUA_TNIL)
        luaL_error(L, "`%s` is a %s, wanted a function", name, lua_typename(L, kind));
    lua_pop(L, 1);
    return false;
}

static int find_functions(lua_State *L)
{
    Transform *t = lua_touserdata(L, 1);
    t->pre = push_function(L, "Preprocess");
    t->post = push_function(L, "Postprocess");
    lua_pushnil(L);
    return 1;
}

static TransformLimits transform_with_defaults(const TransformLimits *given)
{
    TransformLimits l = given ? *given : (TransformLimits){ 0 };
    if (l.memory == 0) l.memory = (size_t)256 << 20;
    if (l.instructions <= 0) l.instructions = 1000000000;
    if (l.seconds <= 0) l.seconds = 5;
    return l;
}

bool transform_load(Arena *arena, Str script, const Str *lib, size_t n_lib,
                    const TransformLimits *limits, Transform **out, Err *err)
{
    Transform *t = NEW(arena, Transform);
    *t = (Transform){ .script = transform_trim(script), .lib = lib, .n_lib = n_lib,
                      .limits = transform_with_defaults(limits) };
    if (script.n > MOST_SCRIPT)
        return fail(err, EF_TOO_LARGE, "transform: found %zu bytes, wanted at most %d", script.n,
                    MOST_SCRIPT);
    if (!utf8_valid(script))
        return fail(err, EF_INVALID_INPUT, "transform: the script is not UTF-8 text");
    if (!transform_read_libs(lib, n_lib, &t->libs, err)) return false;
    TransformVm *vm = transform_vm(t);
    bool ok = vm_call(vm, find_functions, t, err);
    if (ok) vm_end(vm);
    transform_vm_free(vm);
    *out = ok ? t : NULL;
    return ok;
}

/* ---- in a package ---- */
typedef struct StoredTransform {
    Str script;
    Str *lib;                    /* NULL: not said */
    size_t n_lib;
    uint64_t type;
} StoredTransform;

static bool read_names(Arena *arena, Str bytes, StoredTransform *m, Err *err)
{
    Wire w = wire_over(bytes);
    size_t n = 0;
    for (Wire count = w; wire_next(&count, err);) n += count.field == LIBS_NAME;
    if (err->code != EF_OK) return false;
    m->lib = ARRAY(arena, Str, n + 1);
    m->n_lib = 0;
    while (wire_next(&w, err))
        if (w.field == LIBS_NAME && w.type == WIRE_BYTES) m->lib[m->n_lib++] = w.bytes;
    return err->code == EF_OK;
}

static bool transform_read_member(Arena *arena, Str bytes, StoredTransform *m, Err *err)
{
    Wire w = wire_over(bytes);
    err->code = EF_OK;
    while (wire_next(&w, err)) {
        if (w.field == FIELD_TYPE && w.type == WIRE_VARINT) m->type = w.number;
        if (w.field == FIELD_SCRIPT && w.type == WIRE_BYTES) m->script = w.bytes;
        if (w.field == FIELD_LIBS && w.type == WIRE_BYTES &&
            !read_names(arena, w.bytes, m, err))
            return false;
    }
    return err->code == EF_OK;
}

bool transform_read(Arena *arena, Str member, Transform **out, Err *err)
{
    StoredTransform m = { .script = STR("") };
    Err own = { 0 };
    if (!err) err = &own;
    *out = NULL;
    if (!transform_read_member(arena, member, &m, err)) return within(err, "transform");
    if (m.type != TYPE_LUA)
        return fail(err, EF_UNSUPPORTED, "transform: found type %llu, wanted 1 (Lua)",
                    (unsigned long long)m.type);
    return transform_load(arena, m.script, m.lib, m.n_lib, NULL, out, err);
}

void transform_write(Buf *out, const Transform *t)
{
    wire_put_int(out, FIELD_TYPE, TYPE_LUA);
    wire_put_bytes(out, FIELD_SCRIPT, t->script);
    if (!t->lib) return;
    Buf names = { 0 };
    for (size_t i = 0; i < t->n_lib; i++) wire_put_bytes(&names, LIBS_NAME, t->lib[i]);
    wire_put_bytes(out, FIELD_LIBS, buf_view(&names));
    buf_free(&names);
}

/* ---- Postprocess ---- */
typedef struct Post {
    const Task *task;
    const TransformRows *rows;
    int64_t longest;             /* S */
} Post;

static void push_rows(lua_State *L, const Post *p)
{
    const TransformRows *r = p->rows;
    int64_t dim[] = { (int64_t)r->n, p->longest, r->width };
    if (p->task->shape->per == PER_TEXT) dim[1] = r->width;
    LuaTensor *t = luatensor_push(L, p->task->shape->rank, dim);
    for (size_t i = 0; i < r->n; i++) {
        size_t have = (size_t)(r->tokens[i] * r->width), want = (size_t)(p->longest * r->width);
        float *to = t->data + i * want;
        if (have) memcpy(to, r->data[i], have * sizeof *to);
        memset(to + have, 0, (want - have) * sizeof *to);
    }
}

static void push_mask(lua_State *L, const Post *p)
{
    int64_t dim[] = { (int64_t)p->rows->n, p->longest };
    LuaTensor *mask = luatensor_push(L, 2, dim);
    for (int64_t b = 0; b < dim[0]; b++)
        for (int64_t s = 0; s < dim[1]; s++)
            mask->data[b * dim[1] + s] = s < p->rows->tokens[b];
}

static int call_post(lua_State *L)
{
    const Post *p = lua_touserdata(L, 1);
    if (!push_function(L, "Postprocess"))
        return luaL_error(L, "Could not find `Postprocess` function in provided transform. Please "
                             "make sure it exists.");
    push_rows(L, p);
    bool masked = p->task->shape->per == PER_TOKEN;
    if (masked) push_mask(L, p);
    lua_call(L, masked ? 2 : 1, 1);
    luatensor_to(L, -1);
    return 1;
}

/* ---- what it may return ---- */
typedef struct Wanted {
    int rank;
    int64_t dim[3];              /* -1: any length from 1 on */
} Wanted;

/* Places on the last axis that mean something stay. */
static bool keeps_width(const Task *task)
{
    return task->shape->last != AXIS_HIDDEN;
}

static Wanted wanted_of(const Post *p)
{
    int64_t B = (int64_t)p->rows->n, width = keeps_width(p->task) ? p->rows->width : -1;
    if (task_kept(p->task)->per == PER_TEXT) return (Wanted){ 2, { B, width } };
    return (Wanted){ 3, { B, p->longest, width } };
}

static void format_shape(char *out, size_t room, const int64_t *dim, int rank)
{
    size_t n = (size_t)snprintf(out, room, "[");
    for (int i = 0; i < rank && n < room; i++) {
        n += (size_t)snprintf(out + n, room - n, i ? ", " : "");
        if (n < room && dim[i] < 0) n += (size_t)snprintf(out + n, room - n, "*");
        else if (n < room) n += (size_t)snprintf(out + n, room - n, "%lld", (long long)dim[i]);
    }
    if (n < room) snprintf(out + n, room - n, "]");
}

/* The sentences of the Rust encoderfile, also for the dry run. */
static bool check_shape(const Post *p, const LuaTensor *t, Err *err)
{
    Wanted w = wanted_of(p);
    char found[128], wanted[64];
    format_shape(found, sizeof found, t->dim, t->rank);
    format_shape(wanted, sizeof wanted, w.dim, w.rank);
    if (t->rank != w.rank)
        return fail(err, EF_INTERNAL,
                    "Transform must return tensor of rank %d. Got tensor of shape %s.", w.rank,
                    found);
    for (int i = 0; i < w.rank; i++) {
        if (w.dim[i] < 0 && t->dim[i] < 1)
            return fail(err, EF_INTERNAL,
                        "Transform returned a tensor with last dimension 0. Shape: %s", found);
        if (w.dim[i] < 0 || t->dim[i] == w.dim[i]) continue;
        if (keeps_width(p->task))
            return fail(err, EF_INTERNAL,
                        "Transform must return Tensor of shape %s. Expected shape %s, got shape %s",
                        task_kept(p->task)->text, wanted, found);
        return fail(err, EF_INTERNAL, "Transform must preserve %s %s. Got shape %s",
                    w.rank == 3 ? "batch and seq dims" : "batch size", wanted, found);
    }
    return true;
}

static bool copy_result(const Post *p, const LuaTensor *t, Arena *arena, TransformResult *out,
                        Err *err)
{
    float *data = arena_try(arena, (size_t)t->count, sizeof *data, SIZE_MAX, err);
    if (!data) return false;
    memcpy(data, t->data, (size_t)t->count * sizeof *data);
    *out = (TransformResult){ .data = data,
                              .width = t->dim[t->rank - 1],
                              .stride = p->rows->n ? t->count / (int64_t)p->rows->n : 0,
                              .pooled = t->rank == 2 };
    return true;
}

bool transform_post(TransformVm *vm, const Task *task, const TransformRows *rows, Arena *arena,
                    TransformResult *out, Err *err)
{
    Post post = { task, rows, 1 };
    for (size_t i = 0; i < rows->n; i++) post.longest = MAX(post.longest, rows->tokens[i]);
    if (!vm_call(vm, call_post, &post, err)) return within(err, "Error in `Postprocess`");
    const LuaTensor *t = luatensor_test(vm->L, 1);
    bool ok = check_shape(&post, t, err) || within(err, "Error postprocessing %s", task->many);
    ok = ok && copy_result(&post, t, arena, out, err);
    vm_end(vm);
    return ok;
}

/* ---- Preprocess ---- */
static int call_pre(lua_State *L)
{
    const Str *text = lua_touserdata(L, 1);
    if (!push_function(L, "Preprocess"))
        return luaL_error(L, "Could not find `Preprocess` function in provided transform.");
    lua_pushlstring(L, text->n ? text->p : "", text->n);
    lua_call(L, 1, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
        return luaL_error(L, "Preprocess returned a %s, wanted a string", luaL_typename(L, -1));
    return 1;
}

bool transform_pre(TransformVm *vm, Arena *arena, Str text, Str *out, Err *err)
{
    if (!vm_call(vm, call_pre, &text, err)) return within(err, "Error in `Preprocess`");
    Str given;
    given.p = lua_tolstring(vm->L, 1, &given.n);
    bool ok = utf8_valid(given);
    if (ok) *out = (Str){ str_dup(arena, given), given.n };
    vm_end(vm);
    return ok || fail(err, EF_INTERNAL, "Error in `Preprocess`: it returned a text that is not "
                                        "UTF-8");
}

/* ---- VMs ---- */
struct TransformPool {
    Arena arena;                 /* holds this struct */
    const Transform *transform;
    pthread_mutex_t lock;
    TransformVm *idle;
};

TransformPool *transform_pool(const Transform *transform)
{
    Arena arena = { 0 };
    TransformPool *pool = NEW(&arena, TransformPool);
    pool->arena = arena;
    pool->transform = transform;
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

TransformVm *transform_take(TransformPool *pool, const TransformWatch *watch)
{
    pthread_mutex_lock(&pool->lock);
    TransformVm *vm = pool->idle;
    if (vm) pool->idle = vm->next;
    pthread_mutex_unlock(&pool->lock);
    if (!vm) vm = transform_vm(pool->transform);
    vm->watch = watch;
    return vm;
}

void transform_give(TransformPool *pool, TransformVm *vm)
{
    pthread_mutex_lock(&pool->lock);
    vm->next = pool->idle;
    pool->idle = vm;
    pthread_mutex_unlock(&pool->lock);
}

void transform_pool_free(TransformPool *pool)
{
    if (!pool) return;
    for (TransformVm *vm = pool->idle, *next; vm; vm = next) {
        next = vm->next;
        transform_vm_free(vm);
    }
    pthread_mutex_destroy(&pool->lock);
    Arena arena = pool->arena;
    arena_free(&arena);
}
