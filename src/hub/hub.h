/* SPDX-License-Identifier: Apache-2.0
 * hub.h - models by their name on the Hugging Face Hub: "org/name[@revision][:file]" to a path in
 * the cache that huggingface_hub uses too, where the files are downloaded to if they are not there.
 *
 *     const char *path;
 *     if (!hub_path(&arena, "hf:org/name@v1.0", HUB_MODEL, &path, &err)) ...
 *
 * Only a name with "hf:" reaches the network; hub_name adds it to what a user typed if there is no
 * such path. The cache is asked first: a model that is whole there is used as it is. */
#ifndef HUB_HUB_H
#define HUB_HUB_H
#include "base/base.h"

typedef enum { HUB_MODEL, HUB_TOKENIZER } HubUse; /* what is needed: all, or all but weights */

typedef struct HubId {
    Str repo;     /* "org/name", or "name" */
    Str revision; /* a branch, a tag or a commit; "main" */
    Str file;     /* n 0: whatever a model needs */
} HubId;
/* Without "hf:". Errors say what a name looks like. */
bool hub_id_parse(Str text, HubId *, Err *);
bool hub_is_name(const char *text); /* it begins with "hf:" */

/* What a user typed as a model: with "hf:" in front if it is shaped like "org/name...", is no path,
 * and "org" is no folder here; else itself. */
const char *hub_name(Arena *, const char *typed);
/* The folder or file of a name, downloaded if need be. What has no "hf:" is a path already. */
bool hub_path(Arena *, const char *name, HubUse, const char **path, Err *);
/* "org/name" of a path in such a cache (.../models--org--name/snapshots/...); n 0: in none. */
Str hub_repo_at(Arena *, const char *path);

#endif
