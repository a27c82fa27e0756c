/* SPDX-License-Identifier: Apache-2.0
 * hub.c - a name to a path: the cache first, then the Hub. A snapshot in the cache is used without
 * a question if it is known to be whole: every file that a model may have is there, or is known not
 * to be in the commit. Where that is not known, the Hub is asked; if it cannot be, what is there
 * is used. */
#include "hub/hub.h"

#include "base/file.h"
#include "base/log.h"
#include "hub/fetch.h"
#include "hub/wanted.h"

enum { BRIEFLY_S = 3 }; /* the wait for the Hub where the cache could answer, too */

typedef struct HubOpen {
    Arena *arena;
    HubId id;
    HubUse use;
    HubSettings settings;
    HubCache cache;
    Str commit;
    bool unsure; /* of the cache: it may lack something */
    RemoteList list;
    Fetch *fetch;
} HubOpen;

static WantedFrom hub_wanted(HubOpen *h)
{
    return (WantedFrom){ .context = h,
                         .snapshot = cache_snapshot(&h->cache, h->commit),
                         .file = h->id.file,
                         .use = h->use };
}

static const char *hub_result(const HubOpen *h)
{
    const char *snapshot = cache_snapshot(&h->cache, h->commit);
    return h->id.file.n ? path_join(h->arena, snapshot, h->id.file) : snapshot;
}

/* ---- the cache ---- */
static HubHas cache_has_file(void *context, const char *name)
{
    HubOpen *h = context;
    bool has;
    if (file_is(cache_file(&h->cache, h->commit, name))) return HAS;
    if (cache_lacks(&h->cache, h->commit, name)) return HAS_NOT;
    if (cache_tree_has(&h->cache, h->commit, name, &has) && !has) return HAS_NOT;
    h->unsure = true;
    return HAS_PERHAPS;
}

static bool cache_get_files(void *context, const WantedFile *file, size_t n, Err *err)
{
    for (size_t i = 0; i < n; i++)
        if (cache_has_file(context, file[i].name) != HAS && file[i].must)
            return fail(err, EF_NOT_FOUND, "%s is not in the cache", file[i].name);
    return true;
}

/* Whether the snapshot has what a model needs at least. */
static bool cache_usable(HubOpen *h)
{
    Err ignored;
    h->commit = cache_commit(&h->cache, h->id.revision);
    if (!h->commit.n || !dir_is(cache_snapshot(&h->cache, h->commit))) return false;
    WantedFrom from = hub_wanted(h);
    from.has = cache_has_file, from.get = cache_get_files;
    return wanted_gather(h->arena, &from, &ignored);
}

/* ---- the Hub ---- */
static HubHas remote_has_file(void *context, const char *name)
{
    const HubOpen *h = context;
    return map_get(&h->list.files, str_of(name)) ? HAS : HAS_NOT;
}

static bool remote_get_files(void *context, const WantedFile *file, size_t n, Err *err)
{
    HubOpen *h = context;
    const char **names = ARRAY(h->arena, const char *, n + 1);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (remote_has_file(h, file[i].name) == HAS) names[count++] = file[i].name;
        else if (file[i].must)
            return fail(err, EF_NOT_FOUND, "found no %s, which another file names", file[i].name);
        else cache_note_lack(&h->cache, h->commit, file[i].name);
    }
    return fetch_files(h->fetch, names, count, err);
}

static bool hub_download(HubOpen *h, HubRemote *remote, Err *err)
{
    Fetch fetch;
    double began = now_seconds();
    bool ok = fetch_open(&fetch, h->arena, remote, &h->cache, h->commit, err);
    h->fetch = &fetch;
    WantedFrom from = hub_wanted(h);
    from.has = remote_has_file, from.get = remote_get_files;
    ok = ok && (wanted_gather(h->arena, &from, err) || within(err, "%.*s", STR_ARG(h->id.repo))) &&
         cache_set_commit(&h->cache, h->id.revision, h->commit, err);
    double seconds = now_seconds() - began;
    if (ok && fetch.files)
        log_info("%.*s: %d files, %.1f MB in %.1f s, are in %s", STR_ARG(h->id.repo), fetch.files,
                 (double)fetch.fetched / 1e6, seconds, cache_snapshot(&h->cache, h->commit));
    fetch_close(&fetch);
    return ok;
}

/* The commit of the revision, and its files. */
static bool hub_ask(HubOpen *h, HubRemote *remote, Err *err)
{
    HttpConn conn = { .client = &remote->client };
    bool ok = remote_list(remote, &conn, h->arena, h->id.revision, &h->list, err);
    http_close(&conn);
    if (!ok) return false;
    h->commit = h->list.commit;
    if (!cache_is_commit(h->commit))
        return fail(err, EF_IO, "%.*s: found the commit \"%.*s\", wanted 40 hexadecimal digits",
                    STR_ARG(h->id.repo), STR_ARG(h->commit));
    /* Who names a commit wants that one: another would be what a mirror or a proxy made of it. */
    return !cache_is_commit(h->id.revision) || str_eq(h->id.revision, h->commit) ||
           fail(err, EF_IO, "%.*s: found the commit %.*s, wanted %.*s", STR_ARG(h->id.repo),
                STR_ARG(h->commit), STR_ARG(h->id.revision));
}

static bool hub_fetch(HubOpen *h, bool usable, Err *err)
{
    HubRemote remote = { .settings = &h->settings, .repo = h->id.repo, .once = usable };
    int seconds = h->settings.seconds;
    if (!http_client_open(&remote.client, usable ? MIN(seconds, BRIEFLY_S) : seconds, err))
        return false;
    bool ok = hub_ask(h, &remote, err);
    remote.once = false, remote.client.seconds = seconds;
    if (ok)
        log_info("%.*s@%.*s is commit %.10s at %s", STR_ARG(h->id.repo), STR_ARG(h->id.revision),
                 h->commit.p, h->settings.endpoint.host);
    ok = ok && hub_download(h, &remote, err);
    http_client_close(&remote.client);
    return ok;
}

/* Where that fails, a copy that may lack something is better than none. */
static bool hub_reach(HubOpen *h, bool usable, Err *err)
{
    Str cached = h->commit;
    if (hub_fetch(h, usable, err)) return true;
    if (!usable) return false;
    log_warn("%s; using the copy in the cache", err->message);
    h->commit = cached;
    return true;
}

static bool hub_missing(const HubOpen *h, Err *err)
{
    return fail(err, EF_NOT_FOUND,
                "%.*s: found neither as a path nor whole in %s, and HF_HUB_OFFLINE is "
                "set: nothing is downloaded",
                STR_ARG(h->id.repo), h->settings.cache);
}

static bool hub_resolve(HubOpen *h, Err *err)
{
    if (!hub_settings_read(h->arena, &h->settings, err)) return false;
    cache_open(h->arena, h->settings.cache, h->id.repo, &h->cache);
    bool usable = cache_usable(h);
    if (usable && (!h->unsure || h->settings.offline)) return true;
    return h->settings.offline ? hub_missing(h, err) : hub_reach(h, usable, err);
}

bool hub_path(Arena *arena, const char *name, HubUse use, const char **path, Err *err)
{
    *path = name;
    if (!hub_is_name(name)) return true;
    HubOpen h = { .arena = arena, .use = use };
    if (!hub_id_parse(str_of(name + strlen("hf:")), &h.id, err) || !hub_resolve(&h, err))
        return false;
    *path = hub_result(&h);
    return true;
}
