/* SPDX-License-Identifier: Apache-2.0
 * npy_form.h - the vectors of a table as one NumPy array [rows, width], float32 or float16; written only (batches.h).
 * The table has one column of vectors; a row without one is NaN. */
#ifndef DATA_NPY_FORM_H
#define DATA_NPY_FORM_H
#include "data/batches.h"

bool npy_create(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);

#endif
