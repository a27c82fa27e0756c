/* SPDX-License-Identifier: Apache-2.0
 * pad.c - encodings of a batch to one length. */
#include "text.h"

enum { MOST_BYTES = 1 << 30 };

/* n values of `size` bytes become n + more; the new ones hold `fill`. */
static void *pad_values(Arena *arena, const void *old, size_t n, size_t more, size_t size,
                        bool left, const void *fill)
{
    char *p = arena_raw(arena, (n + more) * size);
    if (n) memcpy(p + (left ? more * size : 0), old, n * size);
    for (size_t i = 0; i < more; i++) memcpy(p + (left ? i : n + i) * size, fill, size);
    return p;
}

static bool pad_encoding(Arena *arena, Encoding *e, size_t length, const PadOptions *o, Err *err)
{
    for (size_t i = 0; i < e->n_overflow; i++)
        if (!pad_encoding(arena, &e->overflow[i], length, o, err)) return false;
    if (e->n >= length) return true;
    size_t more = length - e->n, n = e->n;
    if (length > MOST_BYTES / sizeof(Str))
        return fail(err, EF_TOO_LARGE, "padding: found length %zu", length);
    uint8_t one = 1, zero = 0;
    int32_t none = -1, nothing = 0;
    uint8_t *ones = arena_raw(arena, n + 1);
    memset(ones, 1, n);
    e->ids = pad_values(arena, e->ids, n, more, sizeof *e->ids, o->left, &o->id);
    e->type_ids =
        pad_values(arena, e->type_ids, n, more, sizeof *e->type_ids, o->left, &o->type_id);
    e->start = pad_values(arena, e->start, n, more, sizeof *e->start, o->left, &nothing);
    e->end = pad_values(arena, e->end, n, more, sizeof *e->end, o->left, &nothing);
    e->word = pad_values(arena, e->word, n, more, sizeof *e->word, o->left, &none);
    e->special = pad_values(arena, e->special, n, more, 1, o->left, &one);
    e->sequence = pad_values(arena, e->sequence, n, more, 1, o->left, &zero);
    e->attention =
        pad_values(arena, e->attention ? e->attention : ones, n, more, 1, o->left, &zero);
    if (e->tokens)
        e->tokens = pad_values(arena, e->tokens, n, more, sizeof *e->tokens, o->left, &o->token);
    e->n = length;
    return true;
}

bool encodings_pad(Arena *arena, Encoding *list, size_t n, const PadOptions *o, Err *err)
{
    size_t length = o->length;
    for (size_t i = 0; i < n && !o->length; i++) length = MAX(length, list[i].n);
    if (o->multiple && length % o->multiple) length += o->multiple - length % o->multiple;
    for (size_t i = 0; i < n; i++)
        if (!pad_encoding(arena, &list[i], length, o, err)) return false;
    return true;
}
