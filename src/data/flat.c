/* SPDX-License-Identifier: Apache-2.0
 * flat.c - tables, strings and vectors by their offsets. */
#include "flat.h"

#include "base/bytes.h"

/* ---- reading ---- */
static bool flat_inside(const FlatTable *t, size_t at, size_t n)
{
    bool ok = at <= t->all.n && n <= t->all.n - at;
    if (!ok) *t->broken = true;
    return ok;
}

static uint64_t flat_number(const FlatTable *t, size_t at, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)(uint8_t)t->all.p[at + (size_t)i] << (8 * i);
    return x;
}

/* The table at a place; one that does not fit has no slots. */
static FlatTable flat_open(const FlatTable *in, size_t at)
{
    FlatTable t = { .all = in->all, .at = at, .broken = in->broken };
    if (!flat_inside(&t, at, 4)) return t;
    int64_t vtable = (int64_t)at - (int32_t)flat_number(&t, at, 4);
    if (vtable < 0 || !flat_inside(&t, (size_t)vtable, 4)) return *t.broken = true, t;
    size_t slots = flat_number(&t, (size_t)vtable, 2);
    if (!flat_inside(&t, (size_t)vtable, slots)) return t;
    t.vtable = (size_t)vtable, t.slots = slots;
    return t;
}

FlatTable flat_root(Str all, bool *broken)
{
    FlatTable in = { .all = all, .broken = broken };
    *broken = false;
    return flat_inside(&in, 0, 4) ? flat_open(&in, flat_number(&in, 0, 4)) : in;
}

/* Where a slot is; 0: absent. */
static size_t flat_slot(const FlatTable *t, int id, size_t bytes)
{
    size_t entry = 4 + 2 * (size_t)id;
    size_t off = entry + 2 <= t->slots ? flat_number(t, t->vtable + entry, 2) : 0;
    return off && flat_inside(t, t->at + off, bytes) ? t->at + off : 0;
}

bool flat_has(const FlatTable *t, int id)
{
    return flat_slot(t, id, 1) != 0;
}

int64_t flat_int(const FlatTable *t, int id, int bytes, int64_t otherwise)
{
    size_t at = flat_slot(t, id, (size_t)bytes);
    int unused = 64 - 8 * bytes;
    return at ? (int64_t)(flat_number(t, at, bytes) << unused) >> unused : otherwise;
}

/* Where a slot's offset leads, with room for `n` bytes there; 0: absent. */
static size_t flat_target(const FlatTable *t, int id, size_t n)
{
    size_t at = flat_slot(t, id, 4), to = at ? at + flat_number(t, at, 4) : 0;
    return to && flat_inside(t, to, n) ? to : 0;
}

Str flat_str(const FlatTable *t, int id)
{
    size_t at = flat_target(t, id, 4), n = at ? flat_number(t, at, 4) : 0;
    return at && flat_inside(t, at + 4, n) ? (Str){ t->all.p + at + 4, n } : (Str){ "", 0 };
}

bool flat_table(const FlatTable *t, int id, FlatTable *out)
{
    size_t at = flat_target(t, id, 4);
    if (at) *out = flat_open(t, at);
    return at != 0;
}

FlatVector flat_vector(const FlatTable *t, int id, size_t element)
{
    size_t at = flat_target(t, id, 4), n = at ? flat_number(t, at, 4) : 0;
    bool fits = at && flat_inside(t, at + 4, n * element);
    return (FlatVector){ *t, at + 4, fits ? (uint32_t)n : 0 };
}

FlatTable flat_vector_table(const FlatVector *v, uint32_t i)
{
    size_t at = v->at + 4 * (size_t)i;
    return flat_open(&v->of, at + flat_number(&v->of, at, 4));
}

int64_t flat_vector_i64(const FlatVector *v, size_t place)
{
    return (int64_t)flat_number(&v->of, v->at + 8 * place, 8);
}

int32_t flat_vector_i32(const FlatVector *v, size_t place)
{
    return (int32_t)flat_number(&v->of, v->at + 4 * place, 4);
}

/* ---- writing ---- */
static void flat_zeros(Buf *b, size_t n)
{
    buf_reserve(b, n);
    memset(b->p + b->n, 0, n);
    b->n += n;
}

static void flat_set(Buf *b, size_t at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) b->p[at + (size_t)i] = (char)(number >> (8 * i));
}

void flat_align(Buf *b, size_t to)
{
    flat_zeros(b, ROUND_UP(b->n, to) - b->n);
}

/* The vtable ends where the table begins, at a multiple of 8; each slot at a multiple of its size. */
size_t flat_put_table(Buf *b, FlatSlot *slot, int n)
{
    size_t vtable = 4 + 2 * (n ? (size_t)slot[n - 1].id + 1 : 0), size = 4;
    for (int i = 0; i < n; i++) {
        size_t bytes = slot[i].bytes ? (size_t)slot[i].bytes : 4;
        slot[i].at = ROUND_UP(size, bytes);
        size = slot[i].at + bytes;
    }
    size_t table = ROUND_UP(b->n + vtable, 8), begin = table - vtable;
    flat_zeros(b, table + size - b->n);
    flat_set(b, begin, vtable, 2);
    flat_set(b, begin + 2, size, 2);
    flat_set(b, table, vtable, 4);
    for (int i = 0; i < n; i++) {
        flat_set(b, begin + 4 + 2 * (size_t)slot[i].id, slot[i].at, 2);
        slot[i].at += table;
        flat_set(b, slot[i].at, (uint64_t)slot[i].number, slot[i].bytes);
    }
    return table;
}

size_t flat_put_str(Buf *b, Str s)
{
    flat_align(b, 4);
    size_t at = b->n;
    flat_zeros(b, 4);
    flat_set(b, at, s.n, 4);
    buf_str(b, s);
    buf_char(b, 0);
    return at;
}

size_t flat_put_offsets(Buf *b, size_t n)
{
    flat_align(b, 4);
    size_t at = b->n;
    flat_zeros(b, 4 + 4 * n);
    flat_set(b, at, n, 4);
    return at;
}

size_t flat_put_i32(Buf *b, const int32_t *number, size_t n)
{
    size_t at = flat_put_offsets(b, n);
    for (size_t i = 0; i < n; i++) flat_set(b, at + 4 + 4 * i, (uint32_t)number[i], 4);
    return at;
}

size_t flat_put_i64(Buf *b, const int64_t *number, size_t n, size_t each)
{
    flat_align(b, 8);
    flat_zeros(b, 4); /* the elements are aligned, not their count */
    size_t at = b->n;
    flat_zeros(b, 4 + 8 * n * each);
    flat_set(b, at, n, 4);
    for (size_t i = 0; i < n * each; i++) flat_set(b, at + 4 + 8 * i, (uint64_t)number[i], 8);
    return at;
}

void flat_point(Buf *b, size_t slot, size_t target)
{
    flat_set(b, slot, target - slot, 4);
}
