/* SPDX-License-Identifier: Apache-2.0
 * quantize.h - an ONNX model to a smaller one that means almost the same and that ONNX Runtime runs.
 *
 * int8, dynamic, as its own quantizer writes it: a product with a constant becomes
 *   DynamicQuantizeLinear, MatMulInteger, Cast, Mul(x_scale, w_scale), Mul
 * with one scale for each column. Tables that are read by rows keep a scale for each row (its
 * quantizer has one for the whole table, which loses the small rows): Cast(Gather) * Gather(scale).
 * A table that is also multiplied with (tied embeddings) is stored once and serves both.
 *
 * fp16, bf16: weights in half the bytes, and a Cast before whoever reads them; arithmetic stays
 * float.
 *
 *     Quantize q = { .arena = a, .target = quantize_target("avx2") };
 *     ok = quantize_model(&q, &model, err) && quantize_write(&q, "model_quantized.onnx", err);
 */
#ifndef EXPORT_QUANTIZE_H
#define EXPORT_QUANTIZE_H
#include "base/log.h"
#include "data/value.h"
#include "onnx/onnx.h"

typedef struct QuantizeTarget {
    const char *name;       /* "avx512_vnni" */
    DType weights;          /* of products: T_I8 or T_U8 */
    bool reduce_range;      /* 7 bits: products of two pairs fit 16 bits where the CPU adds them so */
} QuantizeTarget;
extern const QuantizeTarget quantize_targets[];          /* ends with { 0 } */
extern const char *const quantize_target_names[];        /* ends with NULL */
const QuantizeTarget *quantize_target(const char *name); /* NULL: none of that name */

typedef struct Quantize {
    /* asked for */
    Arena *arena;
    const QuantizeTarget *target; /* int8; NULL: half */
    DType half;                   /* T_F16 or T_BF16 */
    /* found */
    int products, tables;         /* rewritten nodes that multiply with, or read from, a weight */
    uint64_t before, after;       /* bytes of all weights */
    OnnxModel model;              /* what will be written */
    struct QuantizeSource *source; /* one per initializer */
    Progress progress;            /* of the part at hand */
    uint64_t scaled;              /* bytes whose scales are found */
} Quantize;

/* External data must be attached. The model is borrowed until it is written. */
bool quantize_model(Quantize *, const OnnxModel *, Err *);
bool quantize_write(Quantize *, const char *path, uint64_t *size, Err *);
Value quantize_describe(const Quantize *); /* ort_config.json as Optimum writes it */

#endif
