/* SPDX-License-Identifier: Apache-2.0
 * multipart.h - a body of multipart/form-data (RFC 7578), as browsers and curl -F send it. */
#ifndef DATA_MULTIPART_H
#define DATA_MULTIPART_H
#include "base/base.h"

typedef struct FormPart {
    Str name;                /* of the field */
    Str file;                /* the file's name; p NULL: a plain field */
    Str bytes;               /* view of the body */
} FormPart;
/* The boundary that a Content-Type names. False: err says that there is none. */
bool multipart_boundary(Str content_type, Str *boundary, Err *);
/* Every part; more than `most` are EF_TOO_LARGE, anything malformed is EF_BAD_REQUEST. */
bool multipart_read(Arena *, Str body, Str boundary, size_t most, FormPart **parts, size_t *n, Err *);

#endif
