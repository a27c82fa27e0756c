/* SPDX-License-Identifier: Apache-2.0
 * parquet_chunk.h - the pages of a column in a row group, one after the other: unpacked, checked, their levels some
 * at a time. */
#ifndef DATA_PARQUET_CHUNK_H
#define DATA_PARQUET_CHUNK_H
#include "data/parquet_values.h"

enum { PARQUET_LEVELS = 512 }; /* at a time */
typedef struct ParquetChunk {
    const ParquetNode *leaf;
    Str bytes;               /* of all its pages, in the file */
    size_t at;               /* the next page */
    int codec;
    bool packed;             /* (by the reader) so are all its pages, whatever those of version 2 say */
    void (*forget)(const void *, size_t); /* (optional) of batches.h */
    size_t forgotten;        /* bytes that were */
    ParquetRaw dictionary;
    bool has_dictionary;
    Buf page;                /* the one at hand, where it was packed */
    ParquetValues values;    /* of it */
    ParquetHybrid repeated, defined;
    uint32_t left;           /* its levels that were not taken yet */
    uint8_t rep[PARQUET_LEVELS], def[PARQUET_LEVELS];
    size_t level, levels;    /* next of them, and how many were taken */
} ParquetChunk;

/* Begins with a chunk of the file: the ColumnChunk that is next in t. */
bool parquet_chunk_open(ParquetChunk *, const ParquetNode *, Str file, Thrift *, const ThriftField *, Err *);
/* The next levels, of another page where this one has none; *more false: the chunk has ended. */
bool parquet_chunk_levels(ParquetChunk *, bool *more, Err *);
void parquet_chunk_rest(ParquetChunk *); /* forgets what was taken of a page, which may be large */
void parquet_chunk_free(ParquetChunk *);

#endif
