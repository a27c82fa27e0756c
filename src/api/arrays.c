/* SPDX-License-Identifier: Apache-2.0
 * arrays.c - see arrays.h. */
#include "api/arrays.h"

#include "api/sized.h"

static const DType types[] = {
    [EF_F32] = T_F32, [EF_F64] = T_F64, [EF_F16] = T_F16, [EF_BF16] = T_BF16, [EF_I8] = T_I8,
    [EF_U8] = T_U8,   [EF_I16] = T_I16, [EF_U16] = T_U16, [EF_I32] = T_I32,   [EF_U32] = T_U32,
    [EF_I64] = T_I64, [EF_U64] = T_U64, [EF_BOOL] = T_BOOL, [EF_STRING] = T_STR,
};

static ef_type arrays_type(DType type)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i] == type) return (ef_type)i;
    return EF_F32; /* a file that does not say */
}

ef_arrays *arrays_new(void)
{
    Arena arena = { 0 };
    ef_arrays *list = NEW(&arena, ef_arrays);
    list->arena = arena;
    return list;
}

static const int64_t *arrays_dims(Arena *arena, const int64_t *dim, int rank)
{
    int64_t *copy = ARRAY(arena, int64_t, MAX(rank, 0) + 1);
    for (int i = 0; i < rank; i++) copy[i] = dim[i] < 0 ? -1 : dim[i];
    return copy;
}

void arrays_set(ef_arrays *list, const Named *in, size_t n)
{
    list->item = ARRAY(&list->arena, ef_array, n + 1);
    list->n = n;
    for (size_t i = 0; i < n; i++)
        list->item[i] = (ef_array){ .struct_size = sizeof(ef_array), .name = str_dup(&list->arena, in[i].name),
                                    .type = arrays_type(in[i].t.type), .rank = in[i].t.rank,
                                    .dim = arrays_dims(&list->arena, in[i].t.dim, in[i].t.rank),
                                    .data = in[i].t.data, .size = tensor_bytes(&in[i].t) };
}

ef_array *arrays_describe(Arena *arena, const OnnxValue *v, int n)
{
    ef_array *out = ARRAY(arena, ef_array, n + 1);
    for (int i = 0; i < n; i++) {
        const char **names = ARRAY(arena, const char *, MAX(v[i].rank, 0) + 1);
        for (int d = 0; d < v[i].rank; d++)
            if (v[i].dim[d] < 0 && v[i].symbol[d].n) names[d] = str_dup(arena, v[i].symbol[d]);
        out[i] = (ef_array){ .struct_size = sizeof(ef_array), .name = str_dup(arena, v[i].name),
                             .type = arrays_type(v[i].type), .rank = v[i].rank,
                             .dim = arrays_dims(arena, v[i].dim, v[i].rank), .dim_names = names };
    }
    return out;
}

static bool arrays_read_one(const ef_array *in, Named *out, Err *err)
{
    if (!in->name) return fail(err, EF_INVALID_INPUT, "found no name");
    if ((size_t)in->type >= COUNT(types))
        return fail(err, EF_INVALID_INPUT, "type: found %d, wanted one of ef_type", (int)in->type);
    if (in->rank < 0 || in->rank > MAX_RANK || (in->rank && !in->dim))
        return fail(err, EF_INVALID_INPUT, "rank: found %d, wanted 0 to %d, and as many dims", in->rank, MAX_RANK);
    *out = (Named){ str_of(in->name), { .type = types[in->type], .rank = in->rank } };
    for (int i = 0; i < in->rank; i++) {
        if (in->dim[i] < 0)
            return fail(err, EF_INVALID_INPUT, "dim %d: found %lld, wanted 0 or more", i, (long long)in->dim[i]);
        out->t.dim[i] = in->dim[i];
    }
    if (!dtype_size(out->t.type)) return fail(err, EF_UNSUPPORTED, "found strings, wanted numbers");
    if (!tensor_sane(&out->t, err)) return false;
    if (in->size != tensor_bytes(&out->t) || (in->size && !in->data))
        return fail(err, EF_INVALID_INPUT, "size: found %zu bytes, wanted %zu", in->data ? in->size : (size_t)0,
                    tensor_bytes(&out->t));
    out->t.data = in->size ? (void *)in->data : ""; /* read only */
    return true;
}

bool arrays_read(Arena *arena, const ef_array *in, size_t n, Named **out, Err *err)
{
    const size_t step = n && in ? in->struct_size : 0;
    if (n && !in) return fail(err, EF_INVALID_INPUT, "found no tensors, wanted %zu", n);
    *out = arena_try(arena, n + 1, sizeof **out, SIZE_MAX / 2, err);
    if (!*out) return false;
    for (size_t i = 0; i < n; i++) {
        ef_array one;
        const char *at = (const char *)in + i * step;
        if (sized_bytes(at, 0) != step)
            return fail(err, EF_INVALID_INPUT, "tensor %zu: struct_size: found %zu, wanted %zu, as the first has", i,
                        sized_bytes(at, 0), step);
        if (!sized_read(at, 0, &one, sizeof one, "ef_array", err) || !arrays_read_one(&one, &(*out)[i], err))
            return within(err, "tensor %zu", i);
    }
    return true;
}

size_t ef_arrays_count(const ef_arrays *list)
{
    return list->n;
}

const ef_array *ef_arrays_at(const ef_arrays *list, size_t index)
{
    return index < list->n ? &list->item[index] : NULL;
}

void ef_arrays_free(ef_arrays *list)
{
    if (!list) return;
    Arena arena = list->arena;
    arena_free(&arena);
}
