/* SPDX-License-Identifier: Apache-2.0
 * torch.c - pickled calls to tensors. Every size and offset of the file is checked against the
 * file before it is used. */
#include "torch.h"

#include "pickle.h"
#include "zip.h"

#define OLD_MAGIC "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" /* 0x1950a86a20f9469cfc6c */
enum { OLD_MAGIC_END = 24, OLD_PROTOCOL = 1001, MOST_NESTED = 4 };

typedef enum { G_DICT, G_TENSOR, G_TYPED_TENSOR, G_PARAMETER, G_STORAGE, G_UNTYPED, G_DTYPE } What;
#define STORAGE(name, safe) { "torch", name "Storage", G_STORAGE, safe }
static const PickleGlobal globals[] = {
    { "collections", "OrderedDict", G_DICT, .dict = true },
    { "torch._utils", "_rebuild_tensor_v2", G_TENSOR },
    { "torch._utils", "_rebuild_tensor_v3", G_TYPED_TENSOR },
    { "torch._utils", "_rebuild_parameter", G_PARAMETER },
    STORAGE("Float", SAFE_F32), STORAGE("Half", SAFE_F16), STORAGE("BFloat16", SAFE_BF16),
    STORAGE("Double", SAFE_F64), STORAGE("Long", SAFE_I64), STORAGE("Int", SAFE_I32),
    STORAGE("Short", SAFE_I16), STORAGE("Char", SAFE_I8), STORAGE("Byte", SAFE_U8),
    STORAGE("Bool", SAFE_BOOL),
    { "torch.storage", "UntypedStorage", G_UNTYPED, SAFE_U8 }, /* counted in bytes */
    { "torch", "float8_e4m3fn", G_DTYPE, SAFE_F8_E4M3 },
    { "torch", "float8_e5m2", G_DTYPE, SAFE_F8_E5M2 },
    { "torch", "uint16", G_DTYPE, SAFE_U16 },
    { "torch", "uint32", G_DTYPE, SAFE_U32 },
    { "torch", "uint64", G_DTYPE, SAFE_U64 },
    { 0 },
};

typedef struct Storage {
    const PickleGlobal *class;
    uint64_t count;         /* elements by the pickle; checked against its bytes */
    Str bytes;
    const ZipMember *member; /* whose checksum is not compared yet; NULL: none, or done */
} Storage;

typedef struct Torch {
    Arena *arena;
    Map storages;           /* by key */
    size_t room;            /* bytes that copies may still take */
} Torch;

static bool is_call(const PickleValue *v, What what)
{
    return v->kind == PICKLE_CALL && v->global->what == (int)what;
}

static bool is_tensor(const PickleValue *v)
{
    return is_call(v, G_TENSOR) || is_call(v, G_TYPED_TENSOR) || is_call(v, G_PARAMETER);
}

/* ---- storages ---- */

/* ('storage', class, key, device, count), and in old files None or which part of another it is. */
static bool read_id(const PickleValue *id, Str *key, Storage *s, Err *err)
{
    PickleValue *const *part = id->item;
    bool ok = id->n >= 5 && part[0]->kind == PICKLE_STR && str_is(part[0]->s, "storage") &&
              part[1]->kind == PICKLE_GLOBAL && part[2]->kind == PICKLE_STR &&
              part[4]->kind == PICKLE_INT && part[4]->i >= 0;
    ok = ok && (part[1]->global->what == G_STORAGE || part[1]->global->what == G_UNTYPED);
    if (!ok) return fail(err, EF_BAD_MODEL, "found a persistent id that is no storage");
    *key = part[2]->s;
    if (id->n > 5 && part[5]->kind != PICKLE_NONE)
        return fail(err, EF_UNSUPPORTED, "storage %.*s: found a part of another storage",
                    (int)MIN(key->n, 40), key->p);
    *s = (Storage){ .class = part[1]->global, .count = (uint64_t)part[4]->i };
    return true;
}

static bool storage_fits(Str key, const Storage *s, Err *err)
{
    size_t size = safetype_size((SafeType)s->class->type);
    return s->count <= s->bytes.n / size ||
           fail(err, EF_BAD_MODEL, "storage %.*s: found %zu bytes, wanted %llu elements of %zu",
                (int)MIN(key.n, 40), key.p, s->bytes.n, (unsigned long long)s->count, size);
}

/* A storage that several tensors share comes with each of them. */
static bool add_storages(Torch *t, const Pickle *p, Err *err)
{
    for (size_t i = 0; i < p->n_id; i++) {
        Str key;
        Storage found;
        if (!read_id(p->id[i], &key, &found, err)) return false;
        const Storage *known = map_get(&t->storages, key);
        if (known && (known->class != found.class || known->count != found.count))
            return fail(err, EF_BAD_MODEL, "storage %.*s: found two types or sizes",
                        (int)MIN(key.n, 40), key.p);
        if (known) continue;
        Storage *s = NEW(t->arena, Storage);
        *s = found;
        map_put(&t->storages, t->arena, key, s);
    }
    return true;
}

static bool check_storage(Storage *s, Err *err)
{
    if (s->member && !zip_check(s->member, err)) return false;
    s->member = NULL;
    return true;
}

/* ---- tensors ---- */

/* Non-negative numbers of a tuple. */
static bool torch_read_numbers(const PickleValue *v, int64_t out[SAFE_RANK], int *n, Err *err)
{
    if (v->kind != PICKLE_TUPLE) return fail(err, EF_BAD_MODEL, "wanted sizes and strides");
    if (v->n > SAFE_RANK)
        return fail(err, EF_BAD_MODEL, "found %zu dimensions, wanted at most %d", v->n, SAFE_RANK);
    for (size_t i = 0; i < v->n; i++) {
        if (v->item[i]->kind != PICKLE_INT || v->item[i]->i < 0)
            return fail(err, EF_BAD_MODEL, "wanted sizes and strides from 0");
        out[i] = v->item[i]->i;
    }
    *n = (int)v->n;
    return true;
}

/* A stride that is never taken may be any number. */
static void forget_idle(const SafeTensor *x, int64_t *stride)
{
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == 1) stride[i] = 0;
}

/* Elements of a tensor; that the last of them lies inside `count` elements from `offset` on. */
static bool measure_tensor(const SafeTensor *x, const int64_t *stride, uint64_t offset,
                           uint64_t count, uint64_t *elements, Err *err)
{
    uint64_t last = offset, step;
    bool inside = true, large = false;
    *elements = 1;
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == 0) return *elements = 0, true;
    for (int i = 0; i < x->rank; i++) {
        uint64_t size = (uint64_t)x->dim[i];
        large |= __builtin_mul_overflow(*elements, size, elements);
        inside &= !__builtin_mul_overflow(size - 1, (uint64_t)stride[i], &step) &&
                  !__builtin_add_overflow(last, step, &last);
    }
    if (!inside || last >= count)
        return fail(err, EF_BAD_MODEL, "its elements go beyond its storage of %llu",
                    (unsigned long long)count);
    return !large || fail(err, EF_TOO_LARGE, "found more elements than can be counted");
}

static bool is_contiguous(const SafeTensor *x, const int64_t *stride)
{
    int64_t next = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        if (x->dim[i] == 1) continue;
        if (stride[i] != next) return false;
        next *= x->dim[i];
    }
    return true;
}

/* Row by row, in the order of its indices. */
static void copy_strided(const SafeTensor *x, const int64_t *stride, const uint8_t *from,
                         uint8_t *to, size_t elements)
{
    size_t size = safetype_size(x->type);
    int64_t index[SAFE_RANK] = { 0 }, at = 0;
    for (size_t n = 0; n < elements; n++) {
        memcpy(to + n * size, from + (size_t)at * size, size);
        for (int i = x->rank - 1; i >= 0; i--) {
            at += stride[i];
            if (++index[i] < x->dim[i]) break;
            at -= index[i] * stride[i];
            index[i] = 0;
        }
    }
}

static bool copy_tensor(Torch *t, SafeTensor *x, const int64_t *stride, const uint8_t *from,
                        Err *err)
{
    if (x->bytes > t->room)
        return fail(err, EF_TOO_LARGE, "its %zu bytes must be copied, %zu of the file's are left",
                    x->bytes, t->room);
    t->room -= x->bytes;
    uint8_t *copy = arena_try(t->arena, x->bytes, 1, x->bytes, err);
    if (!copy) return false;
    copy_strided(x, stride, from, copy, x->bytes / safetype_size(x->type));
    x->data = copy;
    return true;
}

static bool place_tensor(Torch *t, SafeTensor *x, const int64_t *stride, uint64_t offset,
                         const Storage *s, Err *err)
{
    size_t size = safetype_size(x->type);
    uint64_t elements, count = s->count;
    if (s->class->what == G_UNTYPED) count /= size;
    if (!measure_tensor(x, stride, offset, count, &elements, err)) return false;
    x->data = (const uint8_t *)s->bytes.p;
    if (!elements) return true;
    if (elements > SIZE_MAX / size)
        return fail(err, EF_TOO_LARGE, "found more elements than can be counted");
    x->bytes = (size_t)elements * size;
    x->data += (size_t)offset * size;
    return is_contiguous(x, stride) || copy_tensor(t, x, stride, x->data, err);
}

/* (id, offset, sizes, strides, requires_grad, hooks), for v3 with a type behind them */
static bool torch_read_parts(Torch *t, const PickleValue *v, SafeTensor *x, Err *err)
{
    bool typed = v->global->what == G_TYPED_TENSOR;
    int64_t stride[SAFE_RANK];
    int rank;
    Str key;
    Storage named;
    if (v->n < (typed ? 7 : 4) || v->item[0]->kind != PICKLE_ID ||
        v->item[1]->kind != PICKLE_INT || v->item[1]->i < 0)
        return fail(err, EF_BAD_MODEL, "wanted a storage and an offset from 0");
    if (typed && (v->item[6]->kind != PICKLE_GLOBAL || v->item[6]->global->what != G_DTYPE))
        return fail(err, EF_UNSUPPORTED, "wanted a dtype");
    if (!read_id(v->item[0], &key, &named, err)) return false;
    Storage *s = map_get(&t->storages, key);
    if (typed != (s->class->what == G_UNTYPED))
        return fail(err, EF_BAD_MODEL, "found a storage without a type, or two types");
    x->type = (SafeType)(typed ? v->item[6]->global : s->class)->type;
    if (!check_storage(s, err) || !torch_read_numbers(v->item[2], x->dim, &x->rank, err) ||
        !torch_read_numbers(v->item[3], stride, &rank, err))
        return false;
    if (rank != x->rank)
        return fail(err, EF_BAD_MODEL, "found %d sizes and %d strides", x->rank, rank);
    forget_idle(x, stride);
    return place_tensor(t, x, stride, (uint64_t)v->item[1]->i, s, err);
}

static bool torch_read_tensor(Torch *t, const PickleValue *v, SafeTensor *x, Err *err)
{
    if (!is_call(v, G_PARAMETER)) return torch_read_parts(t, v, x, err);
    if (!v->n || !is_tensor(v->item[0]) || is_call(v->item[0], G_PARAMETER))
        return fail(err, EF_BAD_MODEL, "found a parameter without a tensor");
    return torch_read_parts(t, v->item[0], x, err);
}

/* ---- the dict that holds them ---- */
static bool torch_is_weight(const PickleValue *key, const PickleValue *value)
{
    return key->kind == PICKLE_STR && is_tensor(value);
}

static bool has_weights(const PickleValue *dict)
{
    for (size_t i = 0; i < dict->n; i += 2)
        if (torch_is_weight(dict->item[i], dict->item[i + 1])) return true;
    return false;
}

/* Training scripts keep the state dict in another dict, beside their own state. */
static const PickleValue *find_dict(const PickleValue *root, Err *err)
{
    static const char *const inner[] = { "state_dict", "model_state_dict", "model" };
    const PickleValue *at = root;
    for (int depth = 0; depth < MOST_NESTED && at && at->kind == PICKLE_DICT; depth++) {
        if (has_weights(at)) return at;
        const PickleValue *next = NULL;
        for (size_t i = 0; i < COUNT(inner) && !next; i++) next = pickle_get(at, inner[i]);
        at = next;
    }
    fail(err, EF_BAD_MODEL, "found %s%s, wanted a dict of tensors",
         is_tensor(root) ? "a tensor" : pickle_kind_name(root->kind),
         root->kind == PICKLE_DICT ? " without tensors" : "");
    return NULL;
}

/* What is no tensor (a step count, a name) is no weight. */
static bool torch_read_dict(Torch *t, const PickleValue *root, Safetensors *out, Err *err)
{
    const PickleValue *dict = find_dict(root, err);
    if (!dict) return false;
    out->item = ARRAY(t->arena, SafeTensor, dict->n / 2 + 1);
    for (size_t i = 0; i < dict->n; i += 2) {
        const PickleValue *key = dict->item[i], *v = dict->item[i + 1];
        if (!torch_is_weight(key, v)) continue;
        SafeTensor *x = map_get(&out->by_name, key->s);
        if (!x) map_put(&out->by_name, t->arena, key->s, x = &out->item[out->n++]);
        *x = (SafeTensor){ .name = key->s };
        if (!torch_read_tensor(t, v, x, err))
            return within(err, "%.*s", (int)MIN(key->s.n, 100), key->s.p);
    }
    return true;
}

/* ---- the zip layout ---- */
static bool find_members(Torch *t, const Zip *zip, Str prefix, const Pickle *p, Err *err)
{
    for (size_t i = 0; i < p->n_id; i++) {
        Str key = p->id[i]->item[2]->s;
        Storage *s = map_get(&t->storages, key);
        if (s->bytes.p) continue;
        const char *name = str_format(t->arena, "%.*sdata/%.*s", STR_ARG(prefix), STR_ARG(key));
        s->member = zip_find(zip, str_of(name));
        if (!s->member)
            return fail(err, EF_BAD_MODEL, "zip: %.100s: not there, the pickle names it", name);
        s->bytes = s->member->bytes;
        if (!storage_fits(key, s, err)) return false;
    }
    return true;
}

static const ZipMember *find_pickle(const Zip *zip)
{
    for (size_t i = 0; i < zip->n; i++)
        if (str_ends(zip->item[i].name, "/data.pkl")) return &zip->item[i];
    return NULL;
}

static bool check_order(Torch *t, const Zip *zip, Str prefix, Err *err)
{
    const char *name = str_format(t->arena, "%.*sbyteorder", STR_ARG(prefix));
    const ZipMember *m = zip_find(zip, str_of(name));
    return !m || str_is(m->bytes, "little") ||
           fail(err, EF_UNSUPPORTED, "byteorder: found \"%.*s\", wanted \"little\"",
                (int)MIN(m->bytes.n, 20), m->bytes.p);
}

static bool read_zip(Torch *t, Str file, Safetensors *out, Err *err)
{
    Zip zip;
    Pickle p;
    if (!zip_read(t->arena, file, &zip, err)) return false;
    const ZipMember *m = find_pickle(&zip);
    if (!m) return fail(err, EF_BAD_MODEL, "zip: found no data.pkl: torch.save did not write it");
    Str prefix = { m->name.p, m->name.n - strlen("data.pkl") }, text = m->bytes;
    return zip_check(m, err) && check_order(t, &zip, prefix, err) &&
           pickle_read(t->arena, &text, globals, &p, err) && add_storages(t, &p, err) &&
           find_members(t, &zip, prefix, &p, err) && torch_read_dict(t, p.root, out, err);
}

/* ---- the layout before ---- */

/* The pickles before the object: magic number, protocol, the machine that wrote it. */
static bool read_preamble(Torch *t, Str *left, Err *err)
{
    Pickle p;
    if (!pickle_read(t->arena, left, globals, &p, err)) return false;
    if (p.root->kind != PICKLE_LONG || !str_eq(p.root->s, STR(OLD_MAGIC)))
        return fail(err, EF_BAD_MODEL, "found another magic number than torch's");
    if (!pickle_read(t->arena, left, globals, &p, err)) return false;
    if (p.root->kind != PICKLE_INT || p.root->i != OLD_PROTOCOL)
        return fail(err, EF_UNSUPPORTED, "wanted torch's protocol %d", OLD_PROTOCOL);
    if (!pickle_read(t->arena, left, globals, &p, err)) return false;
    const PickleValue *little = pickle_get(p.root, "little_endian");
    return (little && little->kind == PICKLE_BOOL && little->i) ||
           fail(err, EF_UNSUPPORTED, "little_endian: wanted True");
}

/* A count and the elements of one storage. */
static bool take_storage(Torch *t, const PickleValue *key, Str *left, Err *err)
{
    Storage *s = key->kind == PICKLE_STR ? map_get(&t->storages, key->s) : NULL;
    uint64_t count = 0;
    if (!s || s->bytes.p)
        return fail(err, EF_BAD_MODEL, "found a key that no tensor has, or one twice");
    if (left->n < 8) return fail(err, EF_BAD_MODEL, "the file is cut short before a storage");
    memcpy(&count, left->p, 8);
    if (count != s->count)
        return fail(err, EF_BAD_MODEL, "storage %.*s: found %llu elements, wanted %llu",
                    (int)MIN(key->s.n, 40), key->s.p, (unsigned long long)count,
                    (unsigned long long)s->count);
    s->bytes = (Str){ left->p + 8, left->n - 8 };
    if (!storage_fits(key->s, s, err)) return false;
    s->bytes.n = (size_t)count * safetype_size((SafeType)s->class->type);
    *left = (Str){ s->bytes.p + s->bytes.n, left->n - 8 - s->bytes.n };
    return true;
}

static bool read_old(Torch *t, Str file, Safetensors *out, Err *err)
{
    Pickle object, keys;
    Str left = file;
    if (!read_preamble(t, &left, err) || !pickle_read(t->arena, &left, globals, &object, err) ||
        !add_storages(t, &object, err) || !pickle_read(t->arena, &left, globals, &keys, err))
        return false;
    if (keys.root->kind != PICKLE_LIST)
        return fail(err, EF_BAD_MODEL, "found %s, wanted the list of storages",
                    pickle_kind_name(keys.root->kind));
    for (size_t i = 0; i < keys.root->n; i++)
        if (!take_storage(t, keys.root->item[i], &left, err)) return false;
    if (keys.root->n != t->storages.used)
        return fail(err, EF_BAD_MODEL, "found %zu storages, wanted %zu", keys.root->n,
                    t->storages.used);
    return torch_read_dict(t, object.root, out, err);
}

bool torch_is(Str bytes)
{
    if (bytes.n < 4) return false;
    if (memcmp(bytes.p, "PK\3\4", 4) == 0) return true;
    Str magic = STR(OLD_MAGIC);
    return *bytes.p == '\x80' &&
           memmem(bytes.p, MIN(bytes.n, (size_t)OLD_MAGIC_END), magic.p, magic.n);
}

bool torch_read(Arena *arena, Str bytes, Safetensors *s, Err *err)
{
    *s = (Safetensors){ 0 };
    if (!torch_is(bytes))
        return fail(err, EF_BAD_MODEL, "found a file that torch.save did not write: neither a zip "
                    "nor its old layout");
    Torch t = { .arena = arena, .room = bytes.n > SIZE_MAX / 2 ? SIZE_MAX : 2 * bytes.n };
    return (*bytes.p == 'P' ? read_zip : read_old)(&t, bytes, s, err);
}
