/* SPDX-License-Identifier: Apache-2.0
 * cache.c - paths of the cache, links, locks. */
#include "hub/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "data/json.h"

enum { REF_MOST = 4096, TREE_MOST = 64 << 20, COMMIT_DIGITS = 40 };

void cache_open(Arena *arena, const char *root, Str repo, HubCache *c)
{
    Buf name = { .arena = arena };
    buf_puts(&name, "models--");
    for (size_t i = 0; i < repo.n; i++) {
        if (repo.p[i] == '/') buf_puts(&name, "--");
        else buf_char(&name, repo.p[i]);
    }
    *c = (HubCache){ .arena = arena, .folder = path_join(arena, root, buf_view(&name)) };
    c->locks = path_join(arena, path_join(arena, root, STR(".locks")), buf_view(&name));
}

bool cache_is_commit(Str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isdigit((unsigned char)s.p[i]) && !(s.p[i] >= 'a' && s.p[i] <= 'f')) return false;
    return s.n == COMMIT_DIGITS;
}

static const char *cache_ref(const HubCache *c, Str revision)
{
    return str_format(c->arena, "%s/refs/%.*s", c->folder, STR_ARG(revision));
}

Str cache_commit(const HubCache *c, Str revision)
{
    Str commit = { 0 };
    Err ignored;
    if (cache_is_commit(revision)) return revision;
    if (!file_read(c->arena, cache_ref(c, revision), REF_MOST, &commit, &ignored))
        return (Str){ 0 };
    while (commit.n && (unsigned char)commit.p[commit.n - 1] <= ' ') commit.n--;
    return cache_is_commit(commit) ? commit : (Str){ 0 };
}

bool cache_set_commit(const HubCache *c, Str revision, Str commit, Err *err)
{
    const char *path = cache_ref(c, revision);
    if (str_eq(cache_commit(c, revision), commit)) return true;
    return dir_make_parents(path, err) && file_write_copy(c->arena, path, commit, err);
}

const char *cache_snapshot(const HubCache *c, Str commit)
{
    return str_format(c->arena, "%s/snapshots/%.*s", c->folder, STR_ARG(commit));
}

const char *cache_file(const HubCache *c, Str commit, const char *name)
{
    return str_format(c->arena, "%s/%s", cache_snapshot(c, commit), name);
}

static const char *cache_lack(const HubCache *c, Str commit, const char *name)
{
    return str_format(c->arena, "%s/.no_exist/%.*s/%s", c->folder, STR_ARG(commit), name);
}

bool cache_lacks(const HubCache *c, Str commit, const char *name)
{
    return file_is(cache_lack(c, commit, name));
}

void cache_note_lack(const HubCache *c, Str commit, const char *name)
{
    const char *path = cache_lack(c, commit, name);
    Err ignored;
    if (file_is(path) || !dir_make_parents(path, &ignored)) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) close(fd);
}

bool cache_tree_has(const HubCache *c, Str commit, const char *name, bool *has)
{
    Arena arena = { 0 };
    Str text;
    Value tree;
    Err ignored;
    const char *path = str_format(&arena, "%s/trees/%.*s.json", c->folder, STR_ARG(commit));
    const Value *files = NULL;
    if (file_read(&arena, path, TREE_MOST, &text, &ignored) &&
        json_parse(&arena, text, &tree, &ignored))
        files = value_get(&tree, "files");
    bool known = files && files->kind == V_MAP;
    if (known) *has = value_get(files, name) != NULL;
    arena_free(&arena);
    return known;
}

const char *cache_blob(const HubCache *c, Str etag)
{
    return str_format(c->arena, "%s/blobs/%.*s", c->folder, STR_ARG(etag));
}

/* From a file of the snapshot to the blob: up one folder for each of its name, and two. "a//b" and
 * "a/./b" lie in one folder: a link that went up further would leave the cache. */
static const char *link_target(Arena *arena, const char *name, Str etag)
{
    Buf target = { .arena = arena };
    buf_puts(&target, "../../");
    for (const char *p = name, *slash; (slash = strchr(p, '/')); p = slash + 1)
        if (slash > p && !str_is((Str){ p, (size_t)(slash - p) }, ".")) buf_puts(&target, "../");
    buf_printf(&target, "blobs/%.*s", STR_ARG(etag));
    buf_char(&target, 0);
    return target.p;
}

bool cache_link(const HubCache *c, Str commit, const char *name, Str etag, Err *err)
{
    const char *path = cache_file(c, commit, name), *blob = cache_blob(c, etag);
    const char *spare = str_format(c->arena, "%s.%d.tmp", path, (int)getpid());
    if (file_is(path)) return true;
    if (!dir_make_parents(path, err)) return false;
    unlink(spare);
    if (symlink(link_target(c->arena, name, etag), spare) == 0 && rename(spare, path) == 0)
        return true;
    int why = errno;
    unlink(spare);
    /* A file system without links: the snapshot holds the bytes, as huggingface_hub does it. */
    if ((why == EPERM || why == ENOTSUP || why == ENOSYS) && rename(blob, path) == 0) return true;
    return fail(err, EF_IO, "%s: cannot be written: %s", path, strerror(why));
}

/* huggingface_hub may remove a lock file when it is done: then a lock on it guards nothing. */
static bool lock_is_current(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

int cache_lock(const HubCache *c, Str etag, const char *name)
{
    const char *path = str_format(c->arena, "%s/%.*s.lock", c->locks, STR_ARG(etag));
    const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
    Err ignored;
    if (!dir_make_parents(path, &ignored)) return -1;
    for (int waits = 0;; waits++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return -1;
        bool held = flock(fd, LOCK_EX | LOCK_NB) == 0, taken = !held && errno == EWOULDBLOCK;
        if (held && lock_is_current(fd, path)) return fd;
        close(fd);
        if (!held && !taken) return -1;
        if (waits == 10) log_info("%s: waiting for another process that downloads it", name);
        nanosleep(&pause, NULL);
    }
}
