/* SPDX-License-Identifier: Apache-2.0
 * sized.h - structs that callers fill and that grow from version to version: the one rule about
 * their struct_size ("Growth" in encoderfile.h). */
#ifndef API_SIZED_H
#define API_SIZED_H
#include "base/base.h"

/* Copies what the caller filled in to `known`, whose rest becomes zero. given NULL: nothing was.
 * first: bytes of version 0.1, which a size of 0 stands for (0: that is an error). False: a size
 * that cannot be one, or something set that this version does not know; name: "ef_options". */
bool sized_read(const void *given, size_t first, void *known, size_t bytes, const char *name,
                Err *);

/* Bytes up to the end of the last field of version 0.1. These lines never change. */
#define SIZED_FIRST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define FIRST_OPTIONS SIZED_FIRST(ef_options, normalize)
#define FIRST_ENCODE SIZED_FIRST(ef_encode_options, threads)

/* The inputs of a call: an array whose elements have the size that its caller knows. */
typedef struct InputList {
    const char *at;
    size_t step;
} InputList;
bool inputs_open(InputList *, const ef_input *, size_t n, Err *);
/* Its kind is one of ef_kind. Errors begin "input 3: ". */
bool inputs_read(const InputList *, size_t index, ef_input *out, Err *);
const char *input_name(ef_kind); /* "a picture"; NULL: not one of them */

#endif
