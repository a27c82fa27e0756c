/* SPDX-License-Identifier: Apache-2.0
 * sized.h - structs that callers fill and that grow from version to version: the one rule about
 * their struct_size ("Growth" in encoderfile.h). */
#ifndef API_SIZED_H
#define API_SIZED_H
#include "base/base.h"

size_t sized_bytes(const void *given, size_t first); /* what a struct says about itself; first: see below */
/* Copies the caller's struct `given` (NULL: all zeros) to `known`, filling up with zeros. first: bytes
 * of version 0.1, which a struct_size of 0 means (first 0: a size of 0 is an error). False: an
 * impossible size, or a field set that this version does not know; name: "ef_options". */
bool sized_read(const void *given, size_t first, void *known, size_t bytes, const char *name,
                Err *);

/* Bytes up to the end of the last field of version 0.1. These lines never change. */
#define SIZED_FIRST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))
#define FIRST_OPTIONS SIZED_FIRST(ef_options, normalize)
#define FIRST_ENCODE SIZED_FIRST(ef_encode_options, threads)

/* Options of a model or a graph, copied likewise; what cannot be (threads below 0) is an error. */
bool options_read(const ef_options *given, ef_options *out, Err *);

/* The inputs of a call: an array whose elements have the size that its caller knows. */
typedef struct InputList {
    const char *at;
    size_t step;
} InputList;
bool inputs_open(InputList *, const ef_input *, size_t n, Err *);
/* Its kind is one of ef_kind. Errors begin "input 3: ". */
bool inputs_read(const InputList *, size_t index, ef_input *out, Err *);
/* False: no memory has that many; (size_t)-1 does not stand for "up to the zero". */
bool size_is_memory(size_t bytes, Err *);
const char *input_name(ef_kind); /* "a picture"; NULL: not one of them */

#endif
