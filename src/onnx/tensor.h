/* SPDX-License-Identifier: Apache-2.0
 * tensor.h - a typed block of numbers. Element types have ONNX's own numbers. */
#ifndef ONNX_TENSOR_H
#define ONNX_TENSOR_H
#include "base/base.h"
#include "base/bf16.h"

enum { MAX_RANK = 8 };

typedef enum {
    T_NONE = 0, T_F32 = 1, T_U8 = 2, T_I8 = 3, T_U16 = 4, T_I16 = 5, T_I32 = 6, T_I64 = 7, T_STR = 8,
    T_BOOL = 9, T_F16 = 10, T_F64 = 11, T_U32 = 12, T_U64 = 13, T_BF16 = 16, T_COUNT = 17
} DType;

typedef struct Tensor {
    DType type;
    int rank;
    int64_t dim[MAX_RANK];
    void *data;             /* row-major, aligned to the element; NULL: only the shape is known */
} Tensor;

size_t dtype_size(DType);                   /* bytes; 0: not a type we hold (strings among them) */
bool dtype_is_float(DType);                  /* of any width: f16, bf16, f32, f64 */
const char *dtype_name(DType);              /* "float", "int64" as ONNX spells them */
int64_t tensor_count(const Tensor *);       /* elements; a scalar has 1 */
size_t tensor_bytes(const Tensor *);
bool tensor_same_shape(const Tensor *, const Tensor *);
/* "float[2,3]" for messages, written into the given buffer. */
const char *tensor_show(const Tensor *, char out[128]);
/* Checks, before anything is allocated, that the product of the dims does not overflow and is
 * below 2^40. */
bool tensor_sane(const Tensor *, Err *);

float f16_to_f32(uint16_t);
uint16_t f32_to_f16(float);                 /* round to nearest even */

#endif
