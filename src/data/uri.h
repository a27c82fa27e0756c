/* SPDX-License-Identifier: Apache-2.0
 * uri.h - a file that is written as text: base64, or a data URI with base64. */
#ifndef DATA_URI_H
#define DATA_URI_H
#include "base/base.h"

/* Gives the file's bytes. noun: what it is, for messages ("picture"). A URL or a path is an error. */
bool uri_read(Arena *, const char *noun, Str text, Str *bytes, Err *);

#endif
