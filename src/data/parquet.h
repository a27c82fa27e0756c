/* SPDX-License-Identifier: Apache-2.0
 * parquet.h - Parquet files as batches of columns in Arrow's layout. A file is
 *
 *   PAR1
 *   row groups       of each column a chunk: pages, each a header (Thrift) and its bytes
 *   FileMetaData     (Thrift): the schema as elements depth first, and where the chunks are
 *   u32, PAR1        its length
 *
 * A value has two levels: definition (how many of the optional and repeated elements above it are there) and
 * repetition (0: it begins a row). Only values that are there are stored.
 *
 * Read: pages of version 1 and 2; PLAIN, dictionaries, RLE, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY,
 * DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT; Snappy, gzip, ZSTD, LZ4_RAW; structs, lists and maps, one in the other.
 * INT96. Refused by name: encryption, other encodings and codecs. Only chunks of columns that are wanted are
 * touched, page by page.
 * Written: pages of version 1, PLAIN, uncompressed or gzip; ARROW:schema only where Parquet has no word
 * for a type (parquet_told.h). */
#ifndef DATA_PARQUET_H
#define DATA_PARQUET_H
#include "data/batches.h"

bool parquet_open_file(Arena *, Str file, BatchReader **, Err *);
bool parquet_create_file(Arena *, const ArrowFields *, const BatchOut *, BatchWriter **, Err *);
/* Of a writer that parquet_create_file made: rows from..to of the batch. */
bool parquet_add_rows(BatchWriter *, const ArrowBatch *, int64_t from, int64_t to, Err *);

#endif
