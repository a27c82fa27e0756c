/* SPDX-License-Identifier: Apache-2.0
 * fetch_file.h - between fetch.c and fetch_file.c: one file, small or large. */
#ifndef HUB_FETCH_FILE_H
#define HUB_FETCH_FILE_H
#include "hub/fetch.h"
#include "hub/partial.h"

typedef struct FetchFile {
    Fetch *fetch;
    const char *name;
    RemoteFile at;
    int renewed;     /* how often its URL was asked for again */
    Partial partial; /* of a large one */
    bool whole;      /* the server knows no ranges: all in one reply */
} FetchFile;

static inline bool fetch_is_large(const FetchFile *f)
{
    return f->at.size > PARTIAL_PIECE;
}
bool fetch_small(FetchFile *, int worker, Err *); /* the caller holds the lock of its blob */
bool fetch_large(FetchFile *, Err *);
void fetch_count(Fetch *, int worker, int64_t bytes); /* for the progress; negative: thrown away */
void fetch_fail(Fetch *, const Err *); /* the first error counts, and the others stop */

#endif
