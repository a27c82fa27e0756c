/* SPDX-License-Identifier: Apache-2.0
 * bytes.c - the first bytes of a file. */
#include "bytes.h"

bool bytes_begin(Str bytes, const Magic *magic)
{
    if (bytes.n < (size_t)magic->length) return false;
    for (int i = 0; i < magic->length; i++)
        if (magic->bytes[i] != '?' && magic->bytes[i] != bytes.p[i]) return false;
    return true;
}

const char *bytes_show(Str bytes, char out[BYTES_SHOWN])
{
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < MIN(bytes.n, (size_t)12); i++) {
        uint8_t c = (uint8_t)bytes.p[i];
        at += (size_t)snprintf(out + at, BYTES_SHOWN - at, c >= ' ' && c < 127 ? "%c" : "\\x%02x", c);
    }
    return out;
}
