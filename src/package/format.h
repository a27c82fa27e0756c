/* SPDX-License-Identifier: Apache-2.0
 * format.h - private to src/package: the numbers of the container, once for reader and writer. */
#ifndef PACKAGE_FORMAT_H
#define PACKAGE_FORMAT_H
#include "package/package.h"

#define FOOTER_MAGIC "ENCFILE" /* with its NUL: 8 bytes */
#define PAYLOAD_SECTION ".encfile" /* manifest to footer */
#define MARK_OWNER "encoderfile"   /* the note that says which format a program reads */
enum {
    MARK_TYPE = 1,
    FOOTER_BYTES = 32,
    FORMAT_VERSION = 1,
    FLAG_PROTOBUF = 1,
    MEMBER_ALIGN = 64,        /* of a member shorter than a page */
    MEMBER_PAGE = 4096,       /* of any other */
    HASHED_AT_OPEN = 1 << 20, /* members below this size are hashed by package_parse, */
    TABLES_HASHED = 1 << 17,  /* those of a tokenizer below this one */
};

enum { MANIFEST_TYPE = 1, MANIFEST_NAME = 2, MANIFEST_VERSION = 3 };           /* its own fields */
enum { ARTIFACT_OFFSET = 1, ARTIFACT_LENGTH = 2, ARTIFACT_SHA256 = 3 };        /* of each member */

typedef struct MemberRow {
    const char *name; /* for people */
    int field;        /* of the manifest */
} MemberRow;
extern const MemberRow member_rows[MEMBER_COUNT];

typedef struct Footer {
    uint32_t version, flags;
    uint64_t offset, length; /* of the manifest */
} Footer;
bool footer_read(Str file, Footer *); /* false: the file does not end in one */
/* The footer at the end of the file; else, since strip moves sections and puts its tables last, the
 * one at the end of the payload's section, with the offset that is now right. *file is cut to end
 * with it. False: there is none. */
bool payload_find(Str *file, Footer *);
void footer_write(const Footer *, uint8_t out[FOOTER_BYTES]);

#endif
