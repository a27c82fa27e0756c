/* SPDX-License-Identifier: Apache-2.0
 * csv_form.h - tables as CSV; written only (batches.h). */
#ifndef DATA_CSV_FORM_H
#define DATA_CSV_FORM_H
#include "data/batches.h"

bool csv_create(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);

#endif
