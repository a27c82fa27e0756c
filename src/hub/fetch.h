/* SPDX-License-Identifier: Apache-2.0
 * fetch.h - files of the Hub into the cache: several at a time, large ones in several pieces at a
 * time. A file appears under its name only when it is whole and has the digest that the server
 * said. */
#ifndef HUB_FETCH_H
#define HUB_FETCH_H
#include "base/log.h"
#include "base/thread.h"
#include "hub/cache.h"
#include "hub/remote.h"

enum { FETCH_WORKERS = 4 };
typedef struct FetchWorker {
    HttpConn conn;
    Arena arena;
} FetchWorker;

typedef struct Fetch {
    HubRemote *remote;
    HubCache cache; /* its arena is the caller's thread's */
    Str commit;
    Pool *pool;
    FetchWorker worker[FETCH_WORKERS]; /* 0: the caller */
    pthread_mutex_t lock;              /* of what follows */
    Err err;                           /* of the first that failed */
    bool stop;                         /* something failed: the others end */
    uint64_t done;                     /* bytes, of Progress; atomic */
    Progress progress;
    uint64_t fetched; /* bytes in all, and the files: for the last line */
    int files;
} Fetch;
bool fetch_open(Fetch *, Arena *, HubRemote *, const HubCache *, Str commit, Err *);
/* Downloads those that are not in the snapshot yet, and links all of them. */
bool fetch_files(Fetch *, const char *const *names, size_t n, Err *);
void fetch_close(Fetch *);

#endif
