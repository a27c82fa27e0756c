/* SPDX-License-Identifier: Apache-2.0
 * base64.h - bytes as text and back (RFC 4648, the common alphabet). */
#ifndef DATA_BASE64_H
#define DATA_BASE64_H
#include "base/base.h"

void base64_write(Buf *, Str bytes); /* padded with = */
/* Padding may be missing; anything else outside the alphabet is false. */
bool base64_read(Arena *, Str text, Str *bytes);

#endif
