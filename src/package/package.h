/* SPDX-License-Identifier: Apache-2.0
 * package.h - the container:
 *
 *     [program][manifest][members, those of a page and more at a page of the file][footer]
 *
 * The manifest begins at a page. From there to the end is also a section of the program (ELF), so
 * that `strip` moves it and does not drop it: the footer's offset is then no longer right, and the
 * section's is.
 *
 * Footer (32 bytes, little endian): "ENCFILE\0", u32 version 1, u64 manifest offset, u64
 * manifest length, u32 flags (bit 0: the manifest is protobuf). The manifest is the
 * EncoderfileManifest of the Rust encoderfile; members of our own have field numbers from 1000
 * on. Offsets of members count from the manifest's start. Small members are hashed when opened,
 * large ones by package_verify. */
#ifndef PACKAGE_PACKAGE_H
#define PACKAGE_PACKAGE_H
#include "base/file.h"

typedef enum {               /* those of the Rust encoderfile first, in file order */
    MEMBER_WEIGHTS,          /* 100: an .onnx, unchanged (packages of the Rust encoderfile) */
    MEMBER_TRANSFORM,        /* 110 */
    MEMBER_CONFIG,           /* 120: the fields of config.json that the Rust encoderfile reads */
    MEMBER_TOKENIZER,        /* 130: {"tokenizer": ..., "config": ...} (the Rust encoderfile) */
    MEMBER_IMAGE,            /* 140 */
    MEMBER_GRAPH,            /* 1000: optimized graph as ONNX, weights external in MEMBER_PANELS */
    MEMBER_PANELS,           /* 1001: constants, each at a 64-byte boundary */
    MEMBER_FULL_CONFIG,      /* 1002: config.json as it was */
    MEMBER_FACTS,            /* 1003: JSON: precision, ragged, limits, tool version */
    MEMBER_TOKENS,           /* 1004: the tokenizer's tables, used in place (text/compile.c) */
    MEMBER_HEAD,             /* 1005: weights of a head's dense layers (task/head_store.c) */
    MEMBER_TEXT_GRAPH,       /* 1006: the second graph of a model with two towers, */
    MEMBER_TEXT_PANELS,      /* 1007:   and its constants */
    MEMBER_AUDIO,            /* 1008: JSON: the feature extractor of sounds, the vocabulary of speech */
    MEMBER_COUNT
} MemberKind;

typedef struct MemberPiece { /* writing only: a stretch of a member that lies elsewhere in memory */
    const void *data;
    size_t bytes;
    uint64_t offset;         /* ascending; gaps are filled with zeros */
} MemberPiece;
typedef struct PackageMember {
    Str bytes;               /* view into the file; n = 0 and p NULL: not there */
    uint8_t sha256[32];      /* reading only */
    const MemberPiece *piece;/* writing only, instead of bytes.p; bytes.n is the whole length */
    size_t n_piece;
} PackageMember;

typedef struct Package {
    Mapping file;
    uint64_t program_size;   /* = manifest offset: what stands before it */
    int model_type;          /* the ModelType of the Rust encoderfile */
    Str name, version;
    PackageMember member[MEMBER_COUNT];
} Package;

bool package_is(const char *path);                  /* has a footer */
bool package_open(const char *path, Package *, Err *); /* bounds and small hashes are checked */
/* The same on bytes (fuzzing); `file` is borrowed. */
bool package_parse(Str file, Package *, Err *);
bool package_verify(const Package *, Err *);        /* every hash */
void package_close(Package *);
const char *member_name(MemberKind);                /* "weights" */
void member_hash(const PackageMember *, uint8_t sha256[32]); /* of its bytes or pieces */

/* What a program can be built for. The payload is the same for all. */
typedef struct Target {
    const char *triple;      /* "aarch64-unknown-linux-gnu" */
    const char *program;     /* the program's name beside another: "encoderfile-aarch64-linux" */
    int machine;             /* ELF's number */
} Target;
const Target *target_named(const char *name, Err *); /* a triple or a short name ("arm64"); NULL */
const Target *target_of(Str file);                   /* of a program or package; NULL: unknown */
/* Error unless the file is a program that reads this format; *out is what it runs on. */
bool program_check(const char *path, const Target **out, Err *);

/* Writes program + members to `path`, mode 0755, whole or not at all. The program is the file
 * `program_path` up to its own payload if it has one (a package can build packages of itself). */
bool package_write(const char *program_path, const char *path, const Package *content, Err *);

#endif
