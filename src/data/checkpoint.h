/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.h - the weights of a model folder, or of one file, whatever their format:
 *
 *   model.safetensors, model.safetensors.index.json,
 *   pytorch_model.bin, pytorch_model.bin.index.json
 *
 * in this order. A model in several files has the index, whose "weight_map" says in which file of
 * the same folder each name is. Names that all begin with what a wrapper puts there (DataParallel's
 * "module.", torch.compile's "_orig_mod.", Lightning's "model.") are those behind it. */
#ifndef DATA_CHECKPOINT_H
#define DATA_CHECKPOINT_H
#include "data/safetensors.h"

/* A file's path: by its name or, since packages may be called .bin too, by its first bytes. */
bool checkpoint_is(const char *path);
const char *checkpoint_find(Arena *, const char *folder); /* the file of a folder; NULL: none */
/* path: a folder, or one of the files above by whatever name. Close with safetensors_close. */
bool checkpoint_open(Arena *, const char *path, Safetensors *, Err *);
/* False, and an error with the name of the base model, for a folder that has a LoRA adapter alone,
 * and for the adapter's file. */
bool checkpoint_no_adapter(const char *path, Err *);

#endif
