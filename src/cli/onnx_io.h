/* SPDX-License-Identifier: Apache-2.0
 * onnx_io.h - tensors in files, for the onnx commands: NumPy's .npy and ONNX's own .pb. */
#ifndef CLI_ONNX_IO_H
#define CLI_ONNX_IO_H
#include "base/file.h"
#include "onnx/onnx.h"

bool tensor_read_file(Arena *, const char *path, Tensor *, Err *);
/* As .npy; bfloat16 becomes float. */
bool tensor_write_file(Arena *, const char *path, const Tensor *, Err *);
/* "  inputs: x float[batch_size,3]\n" */
void onnx_show_values(Buf *, const char *label, const OnnxValue *, int n);

#endif
