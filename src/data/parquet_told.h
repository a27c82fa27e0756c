/* SPDX-License-Identifier: Apache-2.0
 * parquet_told.h - what Parquet has no word for: lengths of lists, durations, time zones, types with wide offsets,
 * extensions. Writers put the schema in Arrow's form beside Parquet's own, as base64 under this key; those who know
 * Arrow read it, others do without. */
#ifndef DATA_PARQUET_TOLD_H
#define DATA_PARQUET_TOLD_H
#include "data/arrow.h"

#define PARQUET_TOLD "ARROW:schema"
/* What is told of the fields of a file, as far as it fits them: kinds that lie in memory as theirs do; other ones as
 * their `told`. A schema that makes no sense tells nothing. */
void parquet_told_read(Arena *, Str base64, ArrowFields *);
/* Appends it; false: Parquet says all there is, and nothing was appended. */
bool parquet_told_write(Arena *, const ArrowFields *, Buf *base64);

#endif
