/* SPDX-License-Identifier: Apache-2.0
 * fuzz_json.c - any bytes: whatever parses must be written, parse again and be the same tree. */
#include <stdlib.h>

#include "data/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const Value *a, const Value *b);

static bool same_children(const Value *a, const Value *b)
{
    bool map = a->kind == V_MAP;
    size_t n = map ? a->map.n : a->list.n;
    if (n != (map ? b->map.n : b->list.n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (map && !str_eq(a->map.items[i].key, b->map.items[i].key)) return false;
        const Value *x = map ? &a->map.items[i].value : &a->list.items[i];
        const Value *y = map ? &b->map.items[i].value : &b->list.items[i];
        if (!same(x, y)) return false;
    }
    return true;
}

static bool same(const Value *a, const Value *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case V_BOOL: return a->b == b->b;
    case V_INT: return a->i == b->i;
    case V_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0; /* the sign of zero, too */
    case V_STR: return str_eq(a->s, b->s) && utf8_valid(a->s);
    case V_LIST:
    case V_MAP: return same_children(a, b);
    default: return true;
    }
}

static void must(bool ok)
{
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena = { 0 };
    Value first, second;
    Err err = { 0 };
    Buf b = { 0 };
    if (json_parse(&arena, (Str){ (const char *)data, size }, &first, &err)) {
        json_write(&b, &first);
        must(json_parse(&arena, buf_view(&b), &second, &err) && same(&first, &second));
        size_t compact = b.n;
        json_write_pretty(&b, &first);
        Str pretty = { b.p + compact, b.n - compact };
        must(json_parse(&arena, pretty, &second, &err) && same(&first, &second));
    } else {
        must(err.code == EF_BAD_REQUEST && strncmp(err.message, "line ", 5) == 0);
    }
    buf_free(&b);
    arena_free(&arena);
    return 0;
}
