/* SPDX-License-Identifier: Apache-2.0
 * fuzz_lua.c - any text as a script, or any bytes as choices in a grammar of scripts, under tight
 * limits: it loads or is refused with a message, and its functions end. The first byte picks the
 * libraries (bit 0) and which of the two it is (bit 1). SHOW=1 prints the script of a replay. */
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "fuzz/lua_grammar.h"
#include "transform/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const Transform *t, Arena *arena)
{
    static const float row[] = { 1, 2, 3, 4, 5, 6 };
    static const float *const rows[] = { row, row };
    static const int64_t tokens[] = { 3, 2 };
    const Task *task = task_find(STR("embedding"));
    TransformVm *vm = transform_vm(t);
    TransformResult result;
    Err err = { 0 };
    Str out;
    for (int i = 0; i < 2; i++) {
        TransformRows in = { 2, rows, tokens, 2 };
        if (t->post && !transform_post(vm, task, &in, arena, &result, &err) &&
            (!err.message[0] || !utf8_valid(str_of(err.message))))
            abort();
        if (t->pre) transform_pre(vm, arena, STR("some text"), &out, &err);
    }
    transform_vm_free(vm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Str libs[] = {
        { "coroutine", 9 }, { "io", 2 },    { "os", 2 },     { "package", 7 },
        { "utf8", 4 },      { "table", 5 }, { "string", 6 }, { "math", 4 },
    };
    TransformLimits limits = { .memory = 4 << 20, .instructions = 200000, .seconds = 1 };
    Arena arena = { 0 };
    Transform *t;
    Err err = { 0 };
    if (size == 0) return 0;
    size_t n = data[0] & 1 ? COUNT(libs) : 0;
    Buf made = data[0] & 2 ? grammar_script(data + 1, size - 1) : (Buf){ 0 };
    Str script = data[0] & 2 ? buf_view(&made) : (Str){ (const char *)data + 1, size - 1 };
    if (getenv("SHOW")) fprintf(stderr, "%.*s\n", STR_ARG(script));
    double began = now_seconds();
    if (transform_load(&arena, script, n ? libs : NULL, n, &limits, &t, &err))
        run(t, &arena);
    else if (!err.message[0])
        abort();
    if (now_seconds() - began > 20) abort(); /* five calls of one second, and a slow machine */
    arena_free(&arena);
    buf_free(&made);
    return 0;
}
