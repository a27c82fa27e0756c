/* SPDX-License-Identifier: Apache-2.0
 * fetch_file.c - the bytes of one file: a small one in one reply, a large one in pieces that
 * several connections bring, continued where an earlier download ended. */
#include "hub/fetch_file.h"

#include <unistd.h>

#include "base/file.h"
#include "hub/digest.h"

enum { RENEWALS = 5, UNSAID_MOST = 64 << 20 }; /* bytes of a file whose size was not said */

/* ---- small: whole in memory before a byte is written ---- */
typedef struct SmallFile {
    FetchFile *f;
    int worker;
    Buf bytes;
} SmallFile;

static bool small_begin(void *context, const ReplyHead *h, Err *err)
{
    SmallFile *s = context;
    fetch_count(s->f->fetch, s->worker, -(int64_t)s->bytes.n);
    s->bytes.n = 0;
    return h->length < 0 || s->f->at.size < 0 || h->length == s->f->at.size ||
           fail(err, EF_IO, "found %lld bytes, wanted %lld as the server said",
                (long long)h->length, (long long)s->f->at.size);
}

static bool small_add(void *context, Str bytes, Err *err)
{
    SmallFile *s = context;
    size_t most = s->f->at.size >= 0 ? (size_t)s->f->at.size : UNSAID_MOST;
    if (bytes.n > most - s->bytes.n)
        return fail(err, EF_IO, "%s: found over %zu bytes, wanted as many as the server said",
                    s->f->name, most);
    buf_str(&s->bytes, bytes);
    fetch_count(s->f->fetch, s->worker, (int64_t)bytes.n);
    return true;
}

static bool small_write(SmallFile *s, Arena *arena, Err *err)
{
    FetchFile *f = s->f;
    const HubCache cache = { .arena = arena, .folder = f->fetch->cache.folder };
    if (f->at.size >= 0 && s->bytes.n != (size_t)f->at.size)
        return fail(err, EF_UNAVAILABLE, "%s: found %zu bytes, wanted %lld", f->name, s->bytes.n,
                    (long long)f->at.size);
    if (!digest_fits(buf_view(&s->bytes), f->name, f->at.etag, err)) return false;
    return file_write(arena, cache_blob(&cache, f->at.etag), buf_view(&s->bytes), err);
}

bool fetch_small(FetchFile *f, int worker, Err *err)
{
    FetchWorker *w = &f->fetch->worker[worker];
    SmallFile s = { .f = f, .worker = worker };
    RemoteCall call = { .method = "GET",
                        .what = f->name,
                        .url = f->at.url,
                        .context = &s,
                        .begin = small_begin,
                        .add = small_add };
    bool ok = remote_call(f->fetch->remote, &w->conn, &w->arena, &call, err) &&
              small_write(&s, &w->arena, err);
    buf_free(&s.bytes);
    return ok;
}

/* ---- large ---- */
typedef struct PieceCall {
    FetchFile *f;
    int worker, piece;
} PieceCall;

static void piece_prepare(void *context, HttpRequest *r)
{
    PieceCall *c = context;
    r->ranged = true;
    r->from = partial_from(&c->f->partial, c->piece);
    r->to = partial_to(&c->f->partial, c->piece);
}

/* "bytes FROM-TO/SIZE" must be what was asked for. */
static bool range_fits(Str range, uint64_t from, uint64_t to, uint64_t size)
{
    char text[128];
    unsigned long long a, b, all = size;
    int end = 0;
    snprintf(text, sizeof text, "%.*s", STR_ARG(range));
    if (sscanf(text, "bytes %llu-%llu/%n", &a, &b, &end) != 2 || end == 0) return false;
    bool any = strcmp(text + end, "*") == 0;
    return (any || sscanf(text + end, "%llu", &all) == 1) && a == from && b == to && all == size;
}

static bool piece_begin(void *context, const ReplyHead *h, Err *err)
{
    PieceCall *c = context;
    Partial *p = &c->f->partial;
    Str range = reply_field(h, "Content-Range");
    if (h->status != 206) {
        __atomic_store_n(&c->f->whole, true, __ATOMIC_RELAXED);
        return fail(err, EF_IO, "found no range, wanted one");
    }
    return range_fits(range, partial_from(p, c->piece), partial_to(p, c->piece), p->size) ||
           fail(err, EF_IO, "found the range \"%.*s\", wanted bytes %llu-%llu/%llu",
                (int)MIN(range.n, 80), range.p, (unsigned long long)partial_from(p, c->piece),
                (unsigned long long)partial_to(p, c->piece), (unsigned long long)p->size);
}

static bool piece_add(void *context, Str bytes, Err *err)
{
    PieceCall *c = context;
    Partial *p = &c->f->partial;
    if (__atomic_load_n(&c->f->fetch->stop, __ATOMIC_RELAXED))
        return fail(err, EF_IO, "%s: stopped", c->f->name);
    if (bytes.n > partial_to(p, c->piece) + 1 - partial_from(p, c->piece))
        return fail(err, EF_IO, "%s: found more bytes than were asked for", c->f->name);
    if (!partial_add(p, c->piece, bytes, err)) return false;
    fetch_count(c->f->fetch, c->worker, (int64_t)bytes.n);
    return true;
}

/* A signed URL lives for an hour or so: another is asked for. */
static bool renew_url(FetchFile *f, FetchWorker *w, const Url *old)
{
    const HubSettings *s = f->fetch->remote->settings;
    int status = w->conn.head.status;
    Err ignored;
    if (url_same_host(old, &s->endpoint) || (status != 401 && status != 403)) return false;
    pthread_mutex_lock(&f->fetch->lock);
    bool fresh = f->at.url.path != old->path; /* another thread has asked already */
    RemoteFile now;
    if (!fresh && f->renewed++ < RENEWALS)
        fresh = remote_file(f->fetch->remote, &w->conn, &w->arena, f->fetch->commit, f->name, &now,
                            &ignored) &&
                str_eq(now.etag, f->at.etag);
    if (fresh && f->at.url.path == old->path) f->at.url = now.url;
    pthread_mutex_unlock(&f->fetch->lock);
    return fresh;
}

static Url current_url(FetchFile *f)
{
    pthread_mutex_lock(&f->fetch->lock);
    Url url = f->at.url;
    pthread_mutex_unlock(&f->fetch->lock);
    return url;
}

static bool fetch_piece(FetchFile *f, int worker, int piece, Err *err)
{
    FetchWorker *w = &f->fetch->worker[worker];
    PieceCall c = { .f = f, .worker = worker, .piece = piece };
    for (;;) {
        Url url = current_url(f);
        RemoteCall call = { .method = "GET",
                            .what = f->name,
                            .url = url,
                            .context = &c,
                            .prepare = piece_prepare,
                            .begin = piece_begin,
                            .add = piece_add };
        if (remote_call(f->fetch->remote, &w->conn, &w->arena, &call, err)) break;
        if (!renew_url(f, w, &url)) return false;
    }
    return partial_from(&f->partial, piece) > partial_to(&f->partial, piece) ||
           fail(err, EF_IO, "%s: found fewer bytes than were asked for", f->name);
}

/* PoolFn: pieces until there are none. */
static void fetch_pieces(void *context, int index, int worker)
{
    FetchFile *f = context;
    Err err;
    (void)index;
    for (int piece; !__atomic_load_n(&f->fetch->stop, __ATOMIC_RELAXED) &&
                    (piece = partial_take(&f->partial)) >= 0;)
        if (!fetch_piece(f, worker, piece, &err)) fetch_fail(f->fetch, &err);
}

/* ---- a server without ranges: one reply, from the first byte on ---- */
static bool whole_begin(void *context, const ReplyHead *h, Err *err)
{
    FetchFile *f = context;
    fetch_count(f->fetch, 0, -(int64_t)partial_bytes(&f->partial));
    partial_restart(&f->partial);
    return h->length < 0 || h->length == f->at.size ||
           fail(err, EF_IO, "found %lld bytes, wanted %lld", (long long)h->length,
                (long long)f->at.size);
}

static bool whole_add(void *context, Str bytes, Err *err)
{
    FetchFile *f = context;
    Partial *p = &f->partial;
    fetch_count(f->fetch, 0, (int64_t)bytes.n);
    while (bytes.n) {
        int piece = p->next;
        if (piece == p->pieces)
            return fail(err, EF_IO, "%s: found more bytes than it has", f->name);
        size_t room = (size_t)(partial_to(p, piece) + 1 - partial_from(p, piece));
        Str part = { bytes.p, MIN(bytes.n, room) };
        if (!partial_add(p, piece, part, err)) return false;
        bytes.p += part.n, bytes.n -= part.n;
        if (part.n == room) p->next++;
    }
    return true;
}

static bool fetch_whole(FetchFile *f, Err *err)
{
    FetchWorker *w = &f->fetch->worker[0];
    RemoteCall call = { .method = "GET",
                        .what = f->name,
                        .url = f->at.url,
                        .context = f,
                        .begin = whole_begin,
                        .add = whole_add };
    return remote_call(f->fetch->remote, &w->conn, &w->arena, &call, err) &&
           (partial_bytes(&f->partial) == f->partial.size ||
            fail(err, EF_IO, "%s: found fewer bytes than it has", f->name));
}

static bool fetch_all_pieces(FetchFile *f, Err *err)
{
    Fetch *fetch = f->fetch;
    fetch->stop = false;
    f->partial.next = 0;
    if (!f->whole) pool_for(fetch->pool, FETCH_WORKERS, fetch_pieces, f);
    if (f->whole) return fetch->stop = false, fetch_whole(f, err);
    if (fetch->stop) *err = fetch->err;
    return !fetch->stop;
}

/* Bytes of an earlier time may be wrong after a power failure: then all are fetched once more. */
static bool fetch_verified(FetchFile *f, Err *err)
{
    Partial *p = &f->partial;
    for (;;) {
        uint64_t before = partial_bytes(p);
        f->fetch->progress.total -= before; /* the rate is that of bytes that come */
        if (!fetch_all_pieces(f, err)) return partial_close(p), false;
        if (digest_check(p->fd, p->size, f->name, f->at.etag, err)) return true;
        if (before == 0) return partial_remove(p), false;
        fetch_count(f->fetch, 0, -(int64_t)(p->size - before));
        f->fetch->progress.total += before;
        partial_restart(p);
    }
}

bool fetch_large(FetchFile *f, Err *err)
{
    const HubCache *cache = &f->fetch->cache;
    const char *blob = cache_blob(cache, f->at.etag);
    const char *path = str_format(cache->arena, "%s.ef.incomplete", blob);
    if (!digest_known(f->at.etag)) unlink(path); /* nothing could tell whether the rest fits */
    return dir_make_parents(path, err) &&
           partial_open(cache->arena, path, (uint64_t)f->at.size, &f->partial, err) &&
           fetch_verified(f, err) && partial_finish(&f->partial, blob, err);
}
