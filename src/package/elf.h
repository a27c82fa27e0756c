/* SPDX-License-Identifier: Apache-2.0
 * elf.h - private to src/package: the little of ELF that a package touches. Which CPU a program is
 * for; a note that can be read without running it; a section around the payload, because `strip`
 * copies sections and drops everything else. Files of 64 bits, little endian; others are "no ELF"
 * here. They come from anywhere: every offset is checked. */
#ifndef PACKAGE_ELF_H
#define PACKAGE_ELF_H
#include "base/base.h"

typedef struct ElfKind {
    int machine; /* EM_*: 62, 183 */
    bool runs;   /* an executable: neither object, library archive nor core */
} ElfKind;
bool elf_kind(Str file, ElfKind *); /* false: no ELF */
/* The content of a note of a program, as its segments show it; false: there is none. */
bool elf_note(Str file, const char *owner, uint32_t type, Str *content);
/* The bytes of a section; false: none of that name lies inside the file. */
bool elf_section(Str file, const char *name, Str *content);

/* A program whose last section is still to be written: head, body and tables, then zeros up to
 * `offset`, then the section. Sections that lie behind an earlier section of that name are left
 * empty: what strip puts there (".comment") is nothing that runs. */
typedef struct ElfGrown {
    uint8_t head[64];
    size_t n_head;   /* 64, or 0: no ELF with a section table, so nothing is changed */
    Str body;        /* of the program given; without the tables at its end */
    Buf tables;      /* to be freed */
    uint64_t offset; /* a multiple of `align` */
} ElfGrown;
void elf_grow(Str program, const char *name, uint64_t size, uint64_t align, ElfGrown *);

#endif
