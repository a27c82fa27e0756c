/* SPDX-License-Identifier: Apache-2.0
 * arrays.h - lists of named tensors, as callers of the library see them. */
#ifndef API_ARRAYS_H
#define API_ARRAYS_H
#include "engine/engine.h"

struct ef_arrays {
    Arena arena;
    ef_array *item;
    size_t n;
};

ef_arrays *arrays_new(void);
/* A view of tensors that lie in the list's arena. */
void arrays_set(ef_arrays *, const Named *, size_t n);
/* What the file declares: -1 for dims that are any. */
ef_array *arrays_describe(Arena *, const OnnxValue *, int n);
/* The caller's tensors: names, types, dims and sizes are checked, data is borrowed. */
bool arrays_read(Arena *, const ef_array *, size_t n, Named **out, Err *);

#endif
