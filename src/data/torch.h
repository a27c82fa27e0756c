/* SPDX-License-Identifier: Apache-2.0
 * torch.h - weights as torch.save wrote them (pytorch_model.bin), without running what a pickle
 * may ask for. Two layouts:
 *
 *   since torch 1.6   a zip: NAME/data.pkl, NAME/byteorder, NAME/data/0, NAME/data/1, ...
 *   before            pickles in a row: magic number, protocol, system, the object, a list of keys;
 *                     then, for each key, an int64 count and that many elements
 *
 * The object is a dict of tensors, alone or as `state_dict`, `model_state_dict` or `model` of
 * another dict. A tensor is a place and strides in a storage: one that lies there as safetensors
 * would have it is a view, others are copied. Refused with a message: whatever is no plain state
 * dict, big-endian files, tensors beyond their storage, storages beyond the file, wrong checksums,
 * and copies that take more than twice the file. */
#ifndef DATA_TORCH_H
#define DATA_TORCH_H
#include "data/safetensors.h"

bool torch_is(Str bytes); /* by its first bytes: a zip, or the old magic number */
/* One file's bytes, which must outlive the result. */
bool torch_read(Arena *, Str bytes, Safetensors *, Err *);

#endif
