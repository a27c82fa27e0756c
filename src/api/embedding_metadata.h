/* SPDX-License-Identifier: Apache-2.0
 * embedding_metadata.h - config, task and tokenizer settings into an .onnx: `metadata embed` and
 * ef_embed_metadata. */
#ifndef API_EMBEDDING_METADATA_H
#define API_EMBEDDING_METADATA_H
#include "base/option.h"
#include "export/hf_metadata.h"

typedef struct EmbeddingMetadata {
    /* asked for */
    const char *onnx;
    const char *model;         /* the folder; NULL: that of the .onnx */
    const char *output;        /* NULL: into the file itself */
    const char *task;          /* NULL: by config.json */
    bool guess;                /* the task, where config.json names no known class */
    const char *tokenizer;     /* a folder or a vocabulary, instead of the folder's */
    bool include, leave_out;   /* tokenizer.json; neither: where it is small */
    bool no_compress;
    int compress_kb;
    /* found */
    HfEmbed embed;
} EmbeddingMetadata;

extern const Option embed_metadata_options[]; /* for the command, and for ef_embed_metadata */
bool embedding_metadata_run(Arena *, EmbeddingMetadata *, Err *);
size_t embedding_metadata_bytes(const EmbeddingMetadata *); /* of keys and values */
Value embedding_metadata_json(Arena *, const EmbeddingMetadata *);

#endif
