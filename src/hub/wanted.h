/* SPDX-License-Identifier: Apache-2.0
 * wanted.h - which files of a repository a model needs. One rule, for what is downloaded and for
 * whether the cache has it all:
 *
 *   settings   config.json, tokenizer, processor, modules.json and the like, those that are there
 *   weights    the first that is there of model.safetensors, its index with the files it names,
 *              model.onnx, onnx/model.onnx (each with its data), pytorch_model.bin, its index
 *   modules    of sentence-transformers: settings and weights in the folders of modules.json
 *
 * A name behind ":" takes the place of the weights; one that is no weights is wanted alone. */
#ifndef HUB_WANTED_H
#define HUB_WANTED_H
#include "hub/hub.h"

typedef enum { HAS_NOT, HAS, HAS_PERHAPS } HubHas; /* PERHAPS: the cache cannot tell */

typedef struct WantedFile {
    const char *name;
    bool must; /* another file names it: the model is nothing without it */
} WantedFile;

typedef struct WantedFrom { /* a repository, or its copy in the cache */
    HubHas (*has)(void *context, const char *name);
    /* Brings those that the repository has into the snapshot, and notes which it has not. */
    bool (*get)(void *context, const WantedFile *, size_t n, Err *);
    void *context;
    const char *snapshot; /* the folder that they are in */
    Str file;             /* behind ":"; n 0: none */
    HubUse use;
} WantedFrom;
/* Errors: no weights, a file that is not there, an index that names one. */
bool wanted_gather(Arena *, const WantedFrom *, Err *);

#endif
