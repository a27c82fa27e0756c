/* SPDX-License-Identifier: Apache-2.0
 * proto.h - protobuf messages (proto3) to Value and back, by the rows of a schema: the same rows
 * that check JSON. Rows without a number do not exist here.
 *
 *   F_STR, with proto_enum      an enum; its word in the tree, a number that has none as V_INT
 *   repeated F_F32              V_F32, packed or not: copied, never taken apart
 *   nullable scalar, oneof      `optional`: absent from the tree when absent from the bytes, and
 *                               written even when it is the default
 *   other scalars               always in the tree; not written when they are the default
 *   F_BYTES                     V_BYTES; written from V_STR, too
 *
 * Fields nobody knows, or of a wire type that is not theirs, are skipped, as protobuf does it. */
#ifndef DATA_PROTO_H
#define DATA_PROTO_H
#include "data/value.h"

enum { PROTO_DEPTH = 100 }; /* messages inside of messages */

/* Strings are views into `bytes`, which must outlive the tree. More than `most` values are
 * EF_TOO_LARGE, found before they take memory; malformed bytes and strings that are not UTF-8 are
 * EF_BAD_REQUEST. */
bool proto_read(Arena *, Str bytes, const Field *rows, size_t most, Value *out, Err *);
void proto_write(Buf *, const Value *map, const Field *rows); /* appends */
void proto_write_item(Buf *, const Value *, const Field *);   /* one record: an item of the field */

#endif
