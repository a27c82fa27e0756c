/* SPDX-License-Identifier: Apache-2.0
 * fetch.c - a batch of files: what each one is, how much that is in all, then the bytes. */
#include "hub/fetch.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "hub/fetch_file.h"

typedef struct FetchBatch {
    Fetch *fetch;
    FetchFile *file; /* [n] */
    size_t n;
} FetchBatch;

bool fetch_open(Fetch *f, Arena *arena, HubRemote *remote, const HubCache *cache, Str commit,
                Err *err)
{
    *f = (Fetch){
        .remote = remote, .cache = *cache, .commit = commit, .pool = pool_new(FETCH_WORKERS)
    };
    f->cache.arena = arena;
    pthread_mutex_init(&f->lock, NULL);
    for (int i = 0; i < FETCH_WORKERS; i++) f->worker[i].conn.client = &remote->client;
    return f->pool || fail(err, EF_IO, "no thread could be started");
}

void fetch_close(Fetch *f)
{
    for (int i = 0; i < FETCH_WORKERS; i++) {
        http_close(&f->worker[i].conn);
        arena_free(&f->worker[i].arena);
    }
    pool_free(f->pool);
    pthread_mutex_destroy(&f->lock);
}

void fetch_count(Fetch *f, int worker, int64_t bytes)
{
    uint64_t done = __atomic_add_fetch(&f->done, (uint64_t)bytes, __ATOMIC_RELAXED);
    Err err;
    if (worker == 0 && !progress_at(&f->progress, done, &err)) fetch_fail(f, &err); /* one thread tells */
}

void fetch_fail(Fetch *f, const Err *err)
{
    pthread_mutex_lock(&f->lock);
    if (!f->stop) f->err = *err;
    __atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&f->lock);
}

/* PoolFn: what the server says about a file. */
static void batch_ask(void *context, int index, int worker)
{
    FetchBatch *b = context;
    FetchFile *file = &b->file[index];
    FetchWorker *w = &b->fetch->worker[worker];
    Err err;
    if (__atomic_load_n(&b->fetch->stop, __ATOMIC_RELAXED)) return;
    if (!remote_file(b->fetch->remote, &w->conn, &w->arena, b->fetch->commit, file->name, &file->at,
                     &err))
        fetch_fail(b->fetch, &err);
}

/* A blob of another size than the server says is damaged. */
static bool blob_is_whole(const HubCache *cache, const RemoteFile *at)
{
    const char *blob = cache_blob(cache, at->etag);
    return file_is(blob) && (at->size < 0 || file_size(blob) == (uint64_t)at->size);
}

static bool fetch_one(FetchFile *file, int worker, Err *err)
{
    Fetch *f = file->fetch;
    HubCache cache = f->cache;
    if (worker) cache.arena = &f->worker[worker].arena;
    int lock = cache_lock(&cache, file->at.etag, file->name);
    bool ok = blob_is_whole(&cache, &file->at) ||
              (fetch_is_large(file) ? fetch_large(file, err) : fetch_small(file, worker, err));
    ok = ok && cache_link(&cache, f->commit, file->name, file->at.etag, err);
    if (lock >= 0) close(lock);
    return ok;
}

/* PoolFn: the small files. */
static void batch_fetch_small(void *context, int index, int worker)
{
    FetchBatch *b = context;
    Err err;
    if (__atomic_load_n(&b->fetch->stop, __ATOMIC_RELAXED) || fetch_is_large(&b->file[index]))
        return;
    if (!fetch_one(&b->file[index], worker, &err)) fetch_fail(b->fetch, &err);
}

/* ---- what is to come ---- */
static const char *batch_names(Arena *arena, const FetchBatch *b)
{
    enum { NAMED = 3 };
    Buf text = { .arena = arena };
    for (size_t i = 0; i < MIN(b->n, NAMED); i++)
        buf_printf(&text, "%s%s", i ? ", " : "", b->file[i].name);
    if (b->n > NAMED) buf_printf(&text, " and %zu more", b->n - NAMED);
    buf_char(&text, 0);
    return text.p;
}

static bool batch_fits(const HubCache *cache, uint64_t bytes, Err *err)
{
    struct statvfs fs;
    if (statvfs(cache->folder, &fs) != 0 || fs.f_blocks == 0) return true;
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return bytes <= room || fail(err, EF_IO, "%s: found %.1f MB of free space, wanted %.1f MB",
                                 cache->folder, (double)room / 1e6, (double)bytes / 1e6);
}

static bool batch_announce(FetchBatch *b, Err *err)
{
    Fetch *f = b->fetch;
    uint64_t bytes = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->file[i].at.size > 0 && !blob_is_whole(&f->cache, &b->file[i].at))
            bytes += (uint64_t)b->file[i].at.size;
    if (!dir_make_parents(cache_blob(&f->cache, STR("x")), err) ||
        !batch_fits(&f->cache, bytes, err))
        return false;
    bool mega = bytes >= 1000000;
    if (bytes)
        log_info("downloading %s (%.*f %s)", batch_names(f->cache.arena, b), mega,
                 (double)bytes / (mega ? 1e6 : 1e3), mega ? "MB" : "kB");
    f->done = 0;
    f->fetched += bytes, f->files += (int)b->n;
    progress_start(&f->progress, "downloading", bytes);
    return true;
}

static bool batch_fetch(FetchBatch *b, Err *err)
{
    Fetch *f = b->fetch;
    pool_for(f->pool, (int)b->n, batch_fetch_small, b);
    if (f->stop) return *err = f->err, false;
    for (size_t i = 0; i < b->n; i++)
        if (fetch_is_large(&b->file[i]) && !fetch_one(&b->file[i], 0, err)) {
            if (f->stop) *err = f->err; /* why all of them ended */
            return false;
        }
    return true;
}

bool fetch_files(Fetch *f, const char *const *names, size_t n, Err *err)
{
    Arena *arena = f->cache.arena;
    FetchBatch b = { .fetch = f, .file = ARRAY(arena, FetchFile, n + 1) };
    for (size_t i = 0; i < n; i++) {
        if (file_is(cache_file(&f->cache, f->commit, names[i]))) continue;
        b.file[b.n++] = (FetchFile){ .fetch = f, .name = names[i] };
    }
    if (b.n == 0) return true;
    f->stop = false;
    pool_for(f->pool, (int)b.n, batch_ask, &b);
    if (f->stop) return *err = f->err, false;
    if (!batch_announce(&b, err)) return false;
    bool ok = batch_fetch(&b, err);
    progress_end(&f->progress);
    return ok;
}
