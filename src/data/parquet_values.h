/* SPDX-License-Identifier: Apache-2.0
 * parquet_values.h - how the values and levels of a page are encoded: decoders that go on where they stopped, so
 * that a page can be read some rows at a time. Every one ends with the bytes it was given. */
#ifndef DATA_PARQUET_VALUES_H
#define DATA_PARQUET_VALUES_H
#include "data/parquet_schema.h"

typedef enum {
    ENCODED_PLAIN, ENCODED_OLD_DICTIONARY = 2, ENCODED_RLE, ENCODED_BITS, ENCODED_DELTA, ENCODED_LENGTHS,
    ENCODED_PREFIXES, ENCODED_DICTIONARY, ENCODED_SPLIT
} ParquetEncoding;

typedef struct ParquetHybrid { /* runs of one number, and numbers packed into bits */
    Wire in;
    int width;               /* bits of a number */
    uint64_t run;            /* left of this one */
    uint32_t value;
    const uint8_t *bits;     /* NULL: a run of `value` */
    size_t bit;
} ParquetHybrid;
ParquetHybrid parquet_hybrid(Str, int width);
bool parquet_hybrid_take(ParquetHybrid *, uint32_t *out, size_t n); /* false: there are not that many */

typedef struct ParquetDelta { /* differences, in blocks of miniblocks */
    Wire in;
    uint64_t left, minis, each, mini; /* values to come; miniblocks of a block, values of one; the one at hand */
    uint64_t at;             /* value of the miniblock */
    int64_t value, least;
    const uint8_t *width, *bits; /* of the block; of the miniblock */
    bool first;
} ParquetDelta;

typedef struct ParquetRaw { /* values as they are stored, one behind the other */
    Buf data;
    Buf offset;              /* of values without a width: i32 each, and one more */
} ParquetRaw;

typedef struct ParquetValues {
    const ParquetNode *leaf;
    ParquetEncoding encoding;
    Wire in;                 /* PLAIN, bytes of the others */
    size_t bit;              /* PLAIN booleans; ENCODED_SPLIT: the value */
    ParquetHybrid index;     /* of a dictionary; booleans */
    ParquetDelta delta, prefix;
    Buf last;                /* ENCODED_PREFIXES: the value before */
    const ParquetRaw *dictionary;
} ParquetValues;

/* The values of a page; dictionary NULL: there is none. `last` is reused. */
bool parquet_values_open(ParquetValues *, const ParquetNode *, int64_t encoding, Str bytes,
                         const ParquetRaw *dictionary, Err *);
/* Appends the next n to `to`; false: they are not there, or not what they should be. */
bool parquet_values_take(ParquetValues *, ParquetRaw *to, size_t n, Err *);
void parquet_raw_begin(ParquetRaw *, const ParquetNode *); /* empty; memory stays */
void parquet_raw_null(ParquetRaw *, const ParquetNode *, size_t n); /* n places without a value */
size_t parquet_raw_count(const ParquetRaw *, const ParquetNode *);
void parquet_raw_free(ParquetRaw *);

#endif
