/* SPDX-License-Identifier: Apache-2.0
 * zip.h - the members of a zip file whose members are stored, not compressed: views, never copied.
 * Names, sizes and checksums come from the central directory at the file's end (zip64 too); of a
 * member's own header only the length counts, to find where its data begins.
 *
 * Refused with a message: compressed or encrypted members, sizes and places beyond the file, names
 * that come twice, archives in several volumes. */
#ifndef DATA_ZIP_H
#define DATA_ZIP_H
#include "base/base.h"

typedef struct ZipMember {
    Str name, bytes;
    uint32_t crc;           /* 0: whoever wrote the file did not compute it */
} ZipMember;

typedef struct Zip {
    ZipMember *item;        /* in the order of the directory */
    size_t n;
    Map by_name;
} Zip;

bool zip_read(Arena *, Str file, Zip *, Err *);
const ZipMember *zip_find(const Zip *, Str name); /* NULL: absent */
bool zip_check(const ZipMember *, Err *);         /* its bytes against its checksum */

#endif
