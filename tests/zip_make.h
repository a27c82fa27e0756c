/* SPDX-License-Identifier: Apache-2.0
 * zip_make.h - a zip of stored members, written as torch.save does: for tests that put their own
 * pickles into one. */
#ifndef ZIP_MAKE_H
#define ZIP_MAKE_H
#include <zlib.h>

#include "base/base.h"

typedef struct ZipMaker {
    Buf file, directory;
    unsigned n;
} ZipMaker;

static inline void zip_number(Buf *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) buf_char(b, (char)(value >> 8 * i));
}

/* An entry of the directory; extra: its fields. */
static inline void zip_entry(ZipMaker *z, Str name, uint32_t crc, uint32_t size, uint32_t at,
                             Str extra)
{
    Buf *d = &z->directory;
    buf_add(d, "PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0", 16); /* version 0, stored, no time */
    zip_number(d, crc, 4);
    zip_number(d, size, 4);
    zip_number(d, size, 4);
    zip_number(d, name.n, 2);
    zip_number(d, extra.n, 2);
    buf_add(d, "\0\0\0\0\0\0\0\0\0", 10); /* no comment, volume 0, no attributes */
    zip_number(d, at, 4);
    buf_str(d, name);
    buf_str(d, extra);
    z->n++;
}

/* A member's own header and bytes; returns where it begins. */
static inline size_t zip_data(ZipMaker *z, Str name, Str bytes)
{
    size_t at = z->file.n;
    buf_add(&z->file, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
    zip_number(&z->file, name.n, 2);
    zip_number(&z->file, 0, 2);
    buf_str(&z->file, name);
    buf_str(&z->file, bytes);
    return at;
}

static inline void zip_add(ZipMaker *z, const char *name, Str bytes)
{
    size_t at = zip_data(z, str_of(name), bytes);
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)bytes.p, bytes.n);
    zip_entry(z, str_of(name), crc, (uint32_t)bytes.n, (uint32_t)at, (Str){ 0 });
}

/* The directory and the end; the file is in z->file then. */
static inline Str zip_end(ZipMaker *z)
{
    size_t at = z->file.n;
    buf_str(&z->file, buf_view(&z->directory));
    buf_add(&z->file, "PK\5\6\0\0\0\0", 8);
    zip_number(&z->file, z->n, 2);
    zip_number(&z->file, z->n, 2);
    zip_number(&z->file, z->directory.n, 4);
    zip_number(&z->file, at, 4);
    zip_number(&z->file, 0, 2);
    return buf_view(&z->file);
}

static inline void zip_free(ZipMaker *z)
{
    buf_free(&z->file);
    buf_free(&z->directory);
    *z = (ZipMaker){ 0 };
}
#endif
