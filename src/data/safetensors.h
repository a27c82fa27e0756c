/* SPDX-License-Identifier: Apache-2.0
 * safetensors.h - weights as Hugging Face stores them, mapped and never copied. A file is
 *
 *   u64  n             little endian, at most 100 MB
 *   n bytes of JSON    {"__metadata__": {text: text}, "name": {"dtype": "F32", "shape": [2, 3],
 *                       "data_offsets": [begin, end]}, ...}, perhaps padded with spaces
 *   data               row-major, little endian; offsets count from here
 *
 * Refused with a message: sizes that do not fit the shape, offsets beyond the file, tensors that
 * overlap, bytes that belong to no tensor, names that come twice, unknown types.
 * The same table holds what torch.h reads; checkpoint.h opens files of both kinds. */
#ifndef DATA_SAFETENSORS_H
#define DATA_SAFETENSORS_H
#include "base/file.h"

enum { SAFE_RANK = 8 };
typedef enum {
    SAFE_BOOL, SAFE_U8, SAFE_I8, SAFE_F8_E4M3, SAFE_F8_E5M2, SAFE_I16, SAFE_U16, SAFE_F16,
    SAFE_BF16, SAFE_I32, SAFE_U32, SAFE_F32, SAFE_F64, SAFE_I64, SAFE_U64, SAFE_TYPES
} SafeType;

typedef struct SafeTensor {
    Str name;
    SafeType type;
    int rank;
    int64_t dim[SAFE_RANK];
    const uint8_t *data;    /* view into the file, or a copy; aligned to nothing */
    size_t bytes;
} SafeTensor;

typedef struct Safetensors {
    Mapping *file;          /* one, or one per shard */
    SafeTensor *item;       /* in the order of the header */
    int n_file, n;
    Map by_name;
} Safetensors;

/* One file's bytes, which must outlive the result. */
bool safetensors_read(Arena *, Str bytes, Safetensors *, Err *);
void safetensors_close(Safetensors *);
const SafeTensor *safetensors_find(const Safetensors *, Str name); /* NULL: absent */
size_t safetype_size(SafeType);
const char *safetype_name(SafeType); /* "BF16" */

#endif
