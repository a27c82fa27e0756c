/* SPDX-License-Identifier: Apache-2.0
 * unpack.h - blocks of tables that are packed, and say elsewhere how large they are. Each gives exactly n bytes
 * at `to`; false: the bytes are damaged, or are not that many. Nothing is allocated by what they say.
 *
 *   snappy      a raw block: its size, then literals and copies
 *   lz4 block   literals and copies; Parquet's LZ4_RAW
 *   lz4 hadoop  frames of Hadoop's, or one block without them; Parquet's LZ4, as Hive and Spark, or others wrote it
 *   lz4 frame   blocks with sizes, as Arrow has them; checksums are not looked at
 *   zstd        one frame or several, by libzstd */
#ifndef DATA_UNPACK_H
#define DATA_UNPACK_H
#include "base/base.h"

bool unpack_snappy(Str packed, void *to, size_t n);
bool unpack_lz4_block(Str packed, void *to, size_t n);
bool unpack_lz4_hadoop(Str packed, void *to, size_t n);
bool unpack_lz4_frame(Str packed, void *to, size_t n);
bool unpack_zstd(Str packed, void *to, size_t n);
bool unpack_zstd_begins(Str packed); /* its first 4 bytes are a frame's */

#endif
