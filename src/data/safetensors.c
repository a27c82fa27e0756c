/* SPDX-License-Identifier: Apache-2.0
 * safetensors.c - header to table of views; every number of the header is checked against the file
 * before it is used. */
#include "safetensors.h"

#include <stdlib.h>

#include "json.h"

static const size_t MOST_HEADER = 100000000; /* the limit of the reference reader */

static const struct {
    const char *name;
    size_t size;
} types[SAFE_TYPES] = {
    [SAFE_BOOL] = { "BOOL", 1 }, [SAFE_U8] = { "U8", 1 }, [SAFE_I8] = { "I8", 1 },
    [SAFE_F8_E4M3] = { "F8_E4M3", 1 }, [SAFE_F8_E5M2] = { "F8_E5M2", 1 },
    [SAFE_I16] = { "I16", 2 }, [SAFE_U16] = { "U16", 2 }, [SAFE_F16] = { "F16", 2 },
    [SAFE_BF16] = { "BF16", 2 }, [SAFE_I32] = { "I32", 4 }, [SAFE_U32] = { "U32", 4 },
    [SAFE_F32] = { "F32", 4 }, [SAFE_F64] = { "F64", 8 }, [SAFE_I64] = { "I64", 8 },
    [SAFE_U64] = { "U64", 8 },
};

size_t safetype_size(SafeType type)
{
    return types[type].size;
}

const char *safetype_name(SafeType type)
{
    return types[type].name;
}

static bool safetensors_read_type(const Value *v, SafeType *out, Err *err)
{
    if (!v || v->kind != V_STR) return fail(err, EF_BAD_MODEL, "dtype is missing or no string");
    for (*out = 0; *out < SAFE_TYPES; ++*out)
        if (str_is(v->s, types[*out].name)) return true;
    return fail(err, EF_BAD_MODEL, "found dtype %.*s, wanted F32, F16 or BF16",
                (int)MIN(v->s.n, 32), v->s.p);
}

/* Shape to dims and, in bytes, what they need: both known to fit the data part. */
static bool safetensors_read_shape(const Value *v, size_t limit, SafeTensor *t, Err *err)
{
    if (!v || v->kind != V_LIST) return fail(err, EF_BAD_MODEL, "shape is missing or no list");
    if (v->list.n > SAFE_RANK)
        return fail(err, EF_BAD_MODEL, "found %zu dimensions, wanted at most %d", v->list.n,
                    SAFE_RANK);
    size_t bytes = safetype_size(t->type);
    bool empty = false, large = false;
    for (size_t i = 0; i < v->list.n; i++) {
        const Value *d = &v->list.items[i];
        if (d->kind != V_INT || d->i < 0)
            return fail(err, EF_BAD_MODEL, "shape: wanted whole numbers from 0");
        t->dim[t->rank++] = d->i;
        empty |= d->i == 0;
        if (d->i && bytes > limit / (size_t)d->i) large = true;
        else bytes *= (size_t)d->i;
    }
    t->bytes = empty ? 0 : bytes;
    if (!empty && (large || bytes > limit))
        return fail(err, EF_BAD_MODEL, "the shape needs more bytes than the file has");
    return true;
}

static bool read_offsets(const Value *v, Str data, SafeTensor *t, Err *err)
{
    if (!v || v->kind != V_LIST || v->list.n != 2 || v->list.items[0].kind != V_INT ||
        v->list.items[1].kind != V_INT)
        return fail(err, EF_BAD_MODEL, "data_offsets: wanted two whole numbers");
    int64_t begin = v->list.items[0].i, end = v->list.items[1].i;
    if (begin < 0 || end < begin || (uint64_t)end > data.n)
        return fail(err, EF_BAD_MODEL, "data_offsets: found %lld to %lld in %zu bytes of data",
                    (long long)begin, (long long)end, data.n);
    if ((uint64_t)(end - begin) != t->bytes)
        return fail(err, EF_BAD_MODEL, "data_offsets: found %lld bytes, the shape needs %zu",
                    (long long)(end - begin), t->bytes);
    t->data = (const uint8_t *)data.p + begin;
    return true;
}

static bool safetensors_read_entry(const Member *m, Str data, SafeTensor *t, Err *err)
{
    *t = (SafeTensor){ .name = m->key };
    if (m->value.kind != V_MAP) return fail(err, EF_BAD_MODEL, "wanted an object");
    return safetensors_read_type(value_get(&m->value, "dtype"), &t->type, err) &&
           safetensors_read_shape(value_get(&m->value, "shape"), data.n, t, err) &&
           read_offsets(value_get(&m->value, "data_offsets"), data, t, err);
}

static int by_place(const void *a, const void *b)
{
    const SafeTensor *x = *(SafeTensor *const *)a, *y = *(SafeTensor *const *)b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Tensors lie one behind the other, from the first byte to the last. */
static bool check_places(Arena *arena, const Safetensors *s, Str data, Err *err)
{
    const SafeTensor **sorted = ARRAY(arena, const SafeTensor *, s->n + 1);
    for (int i = 0; i < s->n; i++) sorted[i] = &s->item[i];
    qsort(sorted, (size_t)s->n, sizeof *sorted, by_place);
    const uint8_t *at = (const uint8_t *)data.p;
    for (int i = 0; i < s->n; i++) {
        if (sorted[i]->data != at)
            return fail(err, EF_BAD_MODEL, "%.*s: its data %s", (int)MIN(sorted[i]->name.n, 100),
                        sorted[i]->name.p,
                        sorted[i]->data < at ? "overlaps another tensor's" : "follows a hole");
        at += sorted[i]->bytes;
    }
    size_t left = (size_t)((const uint8_t *)data.p + data.n - at);
    return !left || fail(err, EF_BAD_MODEL, "%zu bytes at the end belong to no tensor", left);
}

static bool read_entries(Arena *arena, const Value *header, Str data, Safetensors *s, Err *err)
{
    s->item = ARRAY(arena, SafeTensor, header->map.n + 1);
    for (size_t i = 0; i < header->map.n; i++) {
        const Member *m = &header->map.items[i];
        if (str_is(m->key, "__metadata__")) continue;
        SafeTensor *t = &s->item[s->n];
        bool ok = map_get(&s->by_name, m->key) ? fail(err, EF_BAD_MODEL, "the name comes twice")
                                               : safetensors_read_entry(m, data, t, err);
        if (!ok) return within(err, "%.*s", (int)MIN(m->key.n, 100), m->key.p);
        map_put(&s->by_name, arena, m->key, t);
        s->n++;
    }
    return true;
}

bool safetensors_read(Arena *arena, Str bytes, Safetensors *s, Err *err)
{
    *s = (Safetensors){ 0 };
    uint64_t n = 0;
    if (bytes.n < 8)
        return fail(err, EF_BAD_MODEL, "%zu bytes are too few for a safetensors file", bytes.n);
    for (int i = 7; i >= 0; i--) n = n << 8 | (uint8_t)bytes.p[i];
    if (n > MOST_HEADER || n > bytes.n - 8)
        return fail(err, EF_BAD_MODEL, "found a header of %llu bytes in a file of %zu",
                    (unsigned long long)n, bytes.n);
    Str text = { bytes.p + 8, (size_t)n }, data = { bytes.p + 8 + n, bytes.n - 8 - (size_t)n };
    Value header;
    if (!json_parse(arena, text, &header, err)) {
        err->code = EF_BAD_MODEL;
        return within(err, "header");
    }
    if (header.kind != V_MAP)
        return fail(err, EF_BAD_MODEL, "header: found %s, wanted an object",
                    value_kind_name(header.kind));
    return read_entries(arena, &header, data, s, err) && check_places(arena, s, data, err);
}

const SafeTensor *safetensors_find(const Safetensors *s, Str name)
{
    return map_get(&s->by_name, name);
}

void safetensors_close(Safetensors *s)
{
    for (int i = 0; i < s->n_file; i++) file_unmap(&s->file[i]);
    *s = (Safetensors){ 0 };
}
