/* SPDX-License-Identifier: Apache-2.0
 * hf_parts.h - what the hf_ files of this folder share. */
#ifndef EXPORT_HF_PARTS_H
#define EXPORT_HF_PARTS_H
#include "export/hf_metadata.h"
#include "kernels/kernels.h"

enum { HF_MOST_TEXT = 64 << 20 }; /* bytes of all values, plain; more is neither written nor read */
bool hf_is_ours(Str key);                                     /* replaced by embedding */
const char *hf_checksum(Arena *, const OnnxPair *, int n);    /* "sha256:..." */

typedef struct HfFiles {    /* the JSON files of a model folder; kind V_NULL: not there */
    Value config, tokenizer_config, specials, preprocessor, processor;
    bool tokenizer;         /* tokenizer.json is there */
} HfFiles;
/* hf_processor_config (hf_processor.c): how an input becomes tensors; *type: what it is for,
 * "tokenizer", "image_processor", "feature_extractor" or "unknown". */
Value hf_processor_config(Arena *, const HfFiles *, const char **type);

/* hf_facts.c: what the graph tells of itself, and what it does not. */
typedef struct HfDone {
    int level;              /* of optimization; 0: by the operators */
    bool external;          /* weights will lie beside the file */
} HfDone;
Value hf_pipeline_config(Arena *, const OnnxModel *);
Value hf_export_config(Arena *, const OnnxModel *, HfDone);
/* hf_metadata.c: the same as hf_metadata_read, from properties. */
void hf_metadata_pairs(Arena *, const OnnxPair *, int n, HfMetadata *);

#endif
