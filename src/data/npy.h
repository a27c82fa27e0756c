/* SPDX-License-Identifier: Apache-2.0
 * npy.h - NumPy's .npy, versions 1 to 3, C order, little endian: a view in, bytes out. */
#ifndef DATA_NPY_H
#define DATA_NPY_H
#include "base/base.h"

enum { NPY_MAX_RANK = 8 };
typedef struct Npy {
    char kind;             /* 'f', 'i', 'u', 'b' (bool) */
    int size;              /* bytes of an element */
    int rank;
    int64_t dim[NPY_MAX_RANK];
    const void *data;      /* view; may be unaligned */
    size_t bytes;
} Npy;
bool npy_read(Str file, Npy *, Err *);       /* checks header, order and length */
void npy_write(Buf *, const Npy *);

#endif
