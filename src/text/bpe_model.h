/* SPDX-License-Identifier: Apache-2.0
 * bpe_model.h - what bpe_load.c reads and bpe.c uses. */
#ifndef TEXT_BPE_MODEL_H
#define TEXT_BPE_MODEL_H
#include "base/base.h"

enum { LONGEST_AFFIX = 100 };

typedef struct Bpe {
    Str unk, prefix, suffix;
    bool has_unk, fuse_unk, byte_fallback, ignore_merges;
    int32_t unk_id;     /* -1: not in the vocabulary; an error once it is needed */
    int32_t bytes[256]; /* for byte_fallback */
    uint8_t *whole;     /* of each vocabulary entry; 0: not known yet */
    uint32_t name;      /* in the cache of words */
} Bpe;

#endif
