/* SPDX-License-Identifier: Apache-2.0
 * weights.h - tensors of the checkpoint on their way into the file. */
#ifndef EXPORT_WEIGHTS_H
#define EXPORT_WEIGHTS_H
#include "export/build.h"

bool weights_is_real(const SafeTensor *);          /* F32, F16, BF16 or F64 */
float weights_element(const SafeTensor *, size_t index); /* of such a one */
/* An OnnxPour; context: the Builder whose initializer it is. Holds at most a few MB at a time. */
bool weights_pour(void *builder, const OnnxTensor *, FileWriter *, Err *);
uint64_t weights_total(const Builder *); /* bytes of all that will be poured */
/* Pours all of them into one file of raw data and makes the initializers point at it. */
bool weights_external(Builder *, Str location, FileWriter *, Err *);

#endif
