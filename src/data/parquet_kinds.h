/* SPDX-License-Identifier: Apache-2.0
 * parquet_kinds.h - how values in Arrow's layout are written: the type of Parquet that each kind becomes. */
#ifndef DATA_PARQUET_KINDS_H
#define DATA_PARQUET_KINDS_H
#include "data/parquet_schema.h"

typedef struct ParquetKind {
    ParquetType type;
    int width;               /* of PARQUET_FIXED */
    int converted;           /* of old readers; -1: none */
    ParquetLogical logical;
    bool as_it_is;           /* Arrow's bytes are Parquet's */
    /* Appends entry i, PLAIN; not of booleans. */
    void (*put)(Buf *, const ArrowColumn *, int64_t i);
} ParquetKind;
/* Of a field without children; false: such values are not written. */
bool parquet_kind_of(const ArrowField *, ParquetKind *);

#endif
