/* SPDX-License-Identifier: Apache-2.0
 * cache.h - the folder of one model in the cache that huggingface_hub uses too:
 *
 *     models--ORG--NAME/refs/REVISION             the commit
 *                       snapshots/COMMIT/FILE     a link to ../../blobs/ETAG
 *                       blobs/ETAG                the bytes; ETAG: their SHA-256, or git's SHA-1
 *                       blobs/ETAG.ef.incomplete  a download that was not finished (partial.h)
 *                       .no_exist/COMMIT/FILE     empty: the commit has no such file
 *                       trees/COMMIT.json         all files of the commit (read only here)
 *     .locks/models--ORG--NAME/ETAG.lock          held (flock) by who downloads the blob */
#ifndef HUB_CACHE_H
#define HUB_CACHE_H
#include "base/base.h"

typedef struct HubCache {
    Arena *arena;       /* of every path */
    const char *folder; /* models--ORG--NAME */
    const char *locks;
} HubCache;
void cache_open(Arena *, const char *root, Str repo, HubCache *);
bool cache_is_commit(Str revision); /* 40 hexadecimal digits */
/* The commit that a revision was when it was last asked for; n 0: not known. */
Str cache_commit(const HubCache *, Str revision);
bool cache_set_commit(const HubCache *, Str revision, Str commit,
                      Err *); /* writes only if it differs */
const char *cache_snapshot(const HubCache *, Str commit);
const char *cache_file(const HubCache *, Str commit, const char *name); /* below the snapshot */
bool cache_lacks(const HubCache *, Str commit,
                 const char *name); /* known not to be in the commit */
void cache_note_lack(const HubCache *, Str commit, const char *name); /* if it can be written */
/* Whether the commit has it, by the list that huggingface_hub keeps. *has only if that is there. */
bool cache_tree_has(const HubCache *, Str commit, const char *name, bool *has);
const char *cache_blob(const HubCache *, Str etag);
/* Makes FILE of the snapshot a link to the blob. */
bool cache_link(const HubCache *, Str commit, const char *name, Str etag, Err *);
/* Waits for others that download the same. Returns a descriptor to be closed; -1: this file system
 * has no locks, and nothing is held. */
int cache_lock(const HubCache *, Str etag, const char *name);

#endif
