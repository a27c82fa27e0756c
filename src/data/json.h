/* SPDX-License-Identifier: Apache-2.0
 * json.h - JSON text to Value and back. RFC 8259: strict (no comments, no trailing commas, valid
 * UTF-8, no lone surrogates in escapes, no number beyond a double), depth at most 128. Equal keys
 * are no error: both stay, and value_get finds the last. */
#ifndef DATA_JSON_H
#define DATA_JSON_H
#include "value.h"

/* Strings without escapes are views into `text`, which must outlive the tree.
 * Integers that fit int64 become V_INT, other numbers V_FLOAT.
 * Error: "line 3, column 7: found ..., wanted ...". */
bool json_parse(Arena *, Str text, Value *out, Err *);
/* The same for untrusted text: more than that many values are EF_INVALID_INPUT, before memory is
 * allocated for them. */
bool json_parse_most(Arena *, Str text, size_t values, Value *out, Err *);
/* The same for records that are handed through: integers beyond int64 that fit uint64 become V_UINT, as hashes are. */
bool json_parse_record(Arena *, Str text, size_t values, Value *out, Err *);

/* Floats: shortest text that reads back the same (f32 arrays: as f32); not finite ones as null. */
void json_write(Buf *, const Value *);                 /* compact */
void json_write_pretty(Buf *, const Value *);          /* 2 spaces; every item on its own line */
void json_write_f32(Buf *, float);
void json_write_string(Buf *, Str);                    /* quoted and escaped */

#endif
