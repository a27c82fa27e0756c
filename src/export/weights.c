/* SPDX-License-Identifier: Apache-2.0
 * weights.c - the checkpoint's precision becomes the file's, [out, in] becomes [in, out], block by
 * block; what needs neither goes from the mapping to the file. */
#include "weights.h"

#include <math.h>

enum { BLOCK = 1 << 18, TILE = 16 }; /* elements of a block; rows turned at once */

float weights_element(const SafeTensor *t, size_t i)
{
    uint16_t half;
    float f;
    double wide;
    if (t->type == SAFE_F64) {
        memcpy(&wide, t->data + 8 * i, 8);
        return (float)wide;
    }
    if (t->type == SAFE_F32) {
        memcpy(&f, t->data + 4 * i, 4);
        return f;
    }
    memcpy(&half, t->data + 2 * i, 2);
    return t->type == SAFE_F16 ? f16_to_f32(half) : bf16_to_f32(half);
}

bool weights_is_real(const SafeTensor *t)
{
    return t->type == SAFE_F32 || t->type == SAFE_F16 || t->type == SAFE_BF16 ||
           t->type == SAFE_F64;
}

/* A block of floats in the type of the file; halves take the place of the floats they were. */
static bool weights_put_block(FileWriter *to, float *block, size_t n, DType type, Err *err)
{
    uint16_t *half = (uint16_t *)block;
    for (size_t i = 0; type != T_F32 && i < n; i++) {
        float f = block[i];
        half[i] = type == T_F16 ? f32_to_f16(f) : f32_to_bf16(f);
    }
    return writer_add(to, block, n * dtype_size(type), err);
}

static bool weights_is_same(const SafeTensor *t, DType type)
{
    return (t->type == SAFE_F32 && type == T_F32) || (t->type == SAFE_F16 && type == T_F16) ||
           (t->type == SAFE_BF16 && type == T_BF16);
}

static bool pour_straight(const SafeTensor *t, DType type, float *block, FileWriter *to, Err *err)
{
    if (weights_is_same(t, type)) return writer_add(to, t->data, t->bytes, err);
    size_t count = t->bytes / safetype_size(t->type);
    for (size_t from = 0; from < count; from += BLOCK) {
        size_t n = MIN(count - from, (size_t)BLOCK);
        for (size_t i = 0; i < n; i++) block[i] = weights_element(t, from + i);
        if (!weights_put_block(to, block, n, type, err)) return false;
    }
    return true;
}

/* Columns first .. first+n of [R, C], as n rows of R floats. */
static void weights_turn(const SafeTensor *t, size_t first, size_t n, float *out)
{
    size_t R = (size_t)t->dim[0], C = (size_t)t->dim[1];
    for (size_t r = 0; r < R; r += TILE) {
        size_t rows = MIN(R - r, (size_t)TILE);
        if (t->type == SAFE_F32)
            for (size_t c = 0; c < n; c++)
                for (size_t i = 0; i < rows; i++)
                    memcpy(out + c * R + r + i, t->data + 4 * ((r + i) * C + first + c), 4);
        else
            for (size_t c = 0; c < n; c++)
                for (size_t i = 0; i < rows; i++)
                    out[c * R + r + i] = weights_element(t, (r + i) * C + first + c);
    }
}

static bool pour_turned(const SafeTensor *t, DType type, float *block, FileWriter *to, Err *err)
{
    size_t R = (size_t)t->dim[0], C = (size_t)t->dim[1], columns = MAX(BLOCK / MAX(R, 1), 1);
    for (size_t first = 0; R && first < C; first += columns) {
        size_t n = MIN(C - first, columns);
        weights_turn(t, first, n, block);
        if (!weights_put_block(to, block, n * R, type, err)) return false;
    }
    return true;
}

/* [n, K] of directions: each of the K places becomes as long as it should be. */
static bool pour_normed(const Weight *w, DType type, FileWriter *to, Err *err)
{
    Arena scratch = { 0 };
    const SafeTensor *t = w->from;
    size_t K = (size_t)t->dim[2], n = (size_t)(t->dim[0] * t->dim[1]);
    double *sum = ARRAY(&scratch, double, K);
    float *row = ARRAY(&scratch, float, K);
    for (size_t i = 0; i < n * K; i++) {
        double x = weights_element(t, i);
        sum[i % K] += x * x;
    }
    for (size_t k = 0; k < K; k++) sum[k] = weights_element(w->length, k) / sqrt(sum[k]);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        for (size_t k = 0; k < K; k++) row[k] = (float)(weights_element(t, i * K + k) * sum[k]);
        ok = weights_put_block(to, row, K, type, err);
    }
    arena_free(&scratch);
    return ok;
}

bool weights_pour(void *builder, const OnnxTensor *init, FileWriter *to, Err *err)
{
    const Builder *b = builder;
    const Weight *w = &b->weight[init - b->graph.init];
    if (!w->from) return true; /* an empty constant */
    if (w->length) return pour_normed(w, init->t.type, to, err);
    Arena scratch = { 0 };
    size_t most = w->transposed ? MAX((size_t)w->from->dim[0], (size_t)BLOCK) : BLOCK;
    float *block = arena_raw(&scratch, most * sizeof *block);
    bool ok = (w->transposed ? pour_turned : pour_straight)(w->from, init->t.type, block, to, err);
    arena_free(&scratch);
    return ok && (!b->progress || progress_at(b->progress, to->written, err));
}

uint64_t weights_total(const Builder *b)
{
    uint64_t total = 0;
    for (int i = 0; i < b->graph.n_init; i++)
        if (b->weight[i].from) total += tensor_bytes(&b->graph.init[i].t);
    return total;
}

bool weights_external(Builder *b, Str location, FileWriter *to, Err *err)
{
    for (int i = 0; i < b->graph.n_init; i++) {
        OnnxTensor *t = &b->graph.init[i];
        if (!b->weight[i].from) continue;
        if (!writer_align(to, 4096, err)) return false; /* so that they can be mapped */
        uint64_t at = to->written;
        if (!weights_pour(b, t, to, err)) return false;
        t->location = location, t->offset = at, t->length = to->written - at;
    }
    return true;
}
