/* SPDX-License-Identifier: Apache-2.0
 * tensor.c - element types as rows, sizes that cannot overflow, and the two 16-bit floats. */
#include "onnx/tensor.h"

static const struct {
    const char *name;
    size_t size;
} types[T_COUNT] = {
    [T_NONE] = { "undefined", 0 }, [T_F32] = { "float", 4 },   [T_U8] = { "uint8", 1 },
    [T_I8] = { "int8", 1 },        [T_U16] = { "uint16", 2 },  [T_I16] = { "int16", 2 },
    [T_I32] = { "int32", 4 },      [T_I64] = { "int64", 8 },   [T_STR] = { "string", 0 },
    [T_BOOL] = { "bool", 1 },      [T_F16] = { "float16", 2 }, [T_F64] = { "double", 8 },
    [T_U32] = { "uint32", 4 },     [T_U64] = { "uint64", 8 },  [T_BF16] = { "bfloat16", 2 },
};

size_t dtype_size(DType type)
{
    return (unsigned)type < T_COUNT ? types[type].size : 0;
}

bool dtype_is_float(DType type)
{
    return type == T_F32 || type == T_F64 || type == T_F16 || type == T_BF16;
}

const char *dtype_name(DType type)
{
    const char *name = (unsigned)type < T_COUNT ? types[type].name : NULL;
    return name ? name : "unknown";
}

int64_t tensor_count(const Tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->dim[i];
    return n;
}

size_t tensor_bytes(const Tensor *t)
{
    return (size_t)tensor_count(t) * dtype_size(t->type);
}

bool tensor_same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

const char *tensor_show(const Tensor *t, char out[128])
{
    const size_t size = 128;
    size_t n = (size_t)snprintf(out, size, "%s[", dtype_name(t->type));
    for (int i = 0; i < t->rank && n + 24 < size; i++)
        n += (size_t)snprintf(out + n, size - n, i ? ",%lld" : "%lld", (long long)t->dim[i]);
    snprintf(out + n, size - n, "]");
    return out;
}

/* Empty tensors count their other dims too, so that no product of dims overflows anywhere. */
bool tensor_sane(const Tensor *t, Err *err)
{
    char show[128];
    if (t->rank < 0 || t->rank > MAX_RANK)
        return fail(err, EF_UNSUPPORTED, "tensor: found %d dimensions, wanted at most %d", t->rank,
                    MAX_RANK);
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0)
            return fail(err, EF_BAD_MODEL, "tensor %s: found a negative dimension",
                        tensor_show(t, show));
        if (__builtin_mul_overflow(n, MAX(t->dim[i], 1), &n) || n >= (int64_t)1 << 40)
            return fail(err, EF_TOO_LARGE, "tensor %s: found 2^40 elements or more, wanted fewer",
                        tensor_show(t, show));
    }
    return true;
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static uint32_t f32_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3FF;
    if (exponent == 31) return float_of(sign | 0x7F800000 | mantissa << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
    float small = (float)mantissa * 0x1p-24f; /* exact: ten bits */
    return sign ? -small : small;
}

uint16_t f32_to_f16(float f)
{
    uint32_t bits = f32_bits(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00); /* NaN */
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x38800000) { /* subnormal: the addition rounds at 2^-24, ties to even */
        float shifted = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (f32_bits(shifted) - 0x3F000000));
    }
    uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xFFF + odd) >> 13); /* may carry into inf */
}
