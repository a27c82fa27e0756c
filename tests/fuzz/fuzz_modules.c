/* SPDX-License-Identifier: Apache-2.0
 * fuzz_modules.c - any JSON as what an .onnx says of its modules, and as a package's head with 1 KB of
 * weights: refused with words, or a head that can be applied to whatever fits it. */
#include "data/json.h"
#include "export/modules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WIDTH = 4, TOKENS = 3, MOST = 1 << 16 };

static void use_head(Arena *arena, const VectorHead *head)
{
    static const float rows[TOKENS * WIDTH] = { 1, 2, 3, 4, 5 };
    int64_t width = head_width(head, POOL_OWN, WIDTH);
    Buf words = { 0 };
    head_describe(head, &words);
    buf_free(&words);
    if (width < 1 || width > MOST) return;
    HeadRow row = { rows, TOKENS, WIDTH, 1, POOL_OWN, NORMALIZE_OWN };
    head_apply(head, &row, ARRAY(arena, float, width));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Value v;
    Err err = { 0 };
    static const OnnxModel none;
    Modules modules;
    VectorHead *head;
    Str weights = { arena_alloc(&arena, 1024), 1024 };
    if (json_parse(&arena, (Str){ (const char *)data, size }, &v, &err)) {
        ModulesAt at = { .inside = &v, .onnx = &none };
        bool read = modules_read(&arena, &at, &modules, &err);
        if (read && modules_head(&arena, &modules, &head, &err)) use_head(&arena, head);
        else assert(err.code != EF_OK && err.message[0]);
        err = (Err){ 0 };
        if (head_load(&arena, &v, weights, &head, &err)) use_head(&arena, head);
        else assert(err.code != EF_OK && err.message[0]);
    }
    arena_free(&arena);
    return 0;
}
