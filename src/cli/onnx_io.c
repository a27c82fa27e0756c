/* SPDX-License-Identifier: Apache-2.0
 * onnx_io.c - reads a tensor by the ending of its file and writes .npy. */
#include "cli/onnx_io.h"

#include "data/npy.h"

enum { TENSOR_LIMIT = 1 << 30 };

static const struct Kind {
    DType type;
    char kind; /* NumPy's */
    int size;
} kinds[] = {
    { T_F32, 'f', 4 }, { T_F64, 'f', 8 }, { T_F16, 'f', 2 }, { T_I8, 'i', 1 },
    { T_I16, 'i', 2 }, { T_I32, 'i', 4 }, { T_I64, 'i', 8 }, { T_U8, 'u', 1 },
    { T_U16, 'u', 2 }, { T_U32, 'u', 4 }, { T_U64, 'u', 8 }, { T_BOOL, 'b', 1 },
};

static bool load_npy(Arena *arena, Str file, Tensor *t, Err *err)
{
    Npy n;
    if (!npy_read(file, &n, err)) return false;
    const struct Kind *k = kinds;
    while (k < kinds + COUNT(kinds) && (k->kind != n.kind || k->size != n.size)) k++;
    if (k == kinds + COUNT(kinds))
        return fail(err, EF_UNSUPPORTED, "found NumPy type %c%d, wanted a number type", n.kind,
                    n.size);
    *t = (Tensor){ .type = k->type, .rank = n.rank };
    memcpy(t->dim, n.dim, sizeof *n.dim * (size_t)n.rank);
    t->data = arena_raw(arena, n.bytes + 1);
    memcpy(t->data, n.data, n.bytes);
    return true;
}

static bool load_pb(Arena *arena, Str file, Tensor *t, Err *err)
{
    OnnxTensor o;
    if (!onnx_read_tensor(arena, file, &o, err)) return false;
    if (o.location.n) return fail(err, EF_UNSUPPORTED, "found external data, wanted it inside");
    if (dtype_size(o.t.type) == 0)
        return fail(err, EF_UNSUPPORTED, "found type %s, wanted a number type",
                    dtype_name(o.t.type));
    *t = o.t;
    size_t bytes = tensor_bytes(&o.t);
    t->data = arena_raw(arena, bytes + 1); /* aligned, whatever the file was */
    if (bytes) memcpy(t->data, o.t.data, bytes);
    return true;
}

bool tensor_read_file(Arena *arena, const char *path, Tensor *t, Err *err)
{
    Str file;
    bool npy = str_ends(path_name(path), ".npy");
    if (!file_read(arena, path, TENSOR_LIMIT, &file, err)) return false;
    return (npy ? load_npy(arena, file, t, err) : load_pb(arena, file, t, err)) ||
           within(err, "%s", path);
}

static void widen_bf16(Arena *arena, Tensor *t)
{
    int64_t n = tensor_count(t);
    const uint16_t *from = t->data;
    float *to = arena_raw(arena, (size_t)(n + 1) * sizeof *to);
    for (int64_t i = 0; i < n; i++) to[i] = bf16_to_f32(from[i]);
    t->data = to;
    t->type = T_F32;
}

bool tensor_write_file(Arena *arena, const char *path, const Tensor *given, Err *err)
{
    Tensor t = *given;
    if (t.type == T_BF16) widen_bf16(arena, &t);
    const struct Kind *k = kinds;
    while (k < kinds + COUNT(kinds) && k->type != t.type) k++;
    if (k == kinds + COUNT(kinds))
        return fail(err, EF_UNSUPPORTED, "%s: type %s has no .npy form", path, dtype_name(t.type));
    Npy n = {
        .kind = k->kind, .size = k->size, .rank = t.rank, .data = t.data, .bytes = tensor_bytes(&t)
    };
    memcpy(n.dim, t.dim, sizeof *n.dim * (size_t)t.rank);
    Buf b = { 0 };
    npy_write(&b, &n);
    bool ok = dir_make_parents(path, err) && file_write(arena, path, buf_view(&b), err);
    buf_free(&b);
    return ok;
}

void onnx_show_values(Buf *b, const char *label, const OnnxValue *v, int n)
{
    buf_printf(b, "  %s:", label);
    for (int i = 0; i < n; i++) {
        buf_printf(b, "%s %.*s %s[", i ? "," : "", STR_ARG(v[i].name), dtype_name(v[i].type));
        for (int d = 0; d < v[i].rank; d++) {
            buf_puts(b, d ? "," : "");
            if (v[i].dim[d] != DIM_UNKNOWN) buf_printf(b, "%lld", (long long)v[i].dim[d]);
            else buf_printf(b, "%.*s", STR_ARG(v[i].symbol[d].n ? v[i].symbol[d] : STR("?")));
        }
        buf_puts(b, v[i].rank < 0 ? "...]" : "]");
    }
    buf_puts(b, n ? "\n" : " none\n");
}
