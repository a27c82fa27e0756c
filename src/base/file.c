/* SPDX-License-Identifier: Apache-2.0
 * file.c - paths, and files that appear only when complete: written under a temporary name beside the
 * target, synced, renamed. What is no regular file (a pipe, /dev/null) is written as it is. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool file_same(const char *one, const char *other)
{
    struct stat a, b;
    if (stat(one, &a) != 0 || stat(other, &b) != 0) return false;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool file_empty(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

uint64_t file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

bool dir_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool dir_make_parents(const char *path, Err *err)
{
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part) return fail(err, EF_INVALID_INPUT, "path of %zu bytes is too long", n);
    if (n && path[n - 1] == '/') /* before any folder is made */
        return fail(err, EF_IO, "%s: cannot be written: it ends in / and so names a folder, wanted "
                    "a file's name", path);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i < n; i++) {
        if (part[i] != '/') continue;
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return fail(err, EF_IO, "%s: cannot make this folder: %s", part, strerror(errno));
        part[i] = '/';
    }
    return true;
}

/* What stands before the last / of a path, in place; false: nothing. */
static bool path_cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return slash && slash > path;
}

size_t dir_there(const char *path)
{
    char part[4096];
    if (strlen(path) >= sizeof part) return strlen(path);
    strcpy(part, path);
    while (path_cut(part))
        if (dir_is(part)) return strlen(part);
    return 0;
}

void dir_remove_empty(const char *path, size_t there)
{
    char part[4096];
    if (strlen(path) >= sizeof part) return;
    strcpy(part, path);
    while (path_cut(part) && strlen(part) > there && rmdir(part) == 0) continue;
}

const char *path_join(Arena *arena, const char *dir, Str name)
{
    if (name.n && name.p[0] == '/') return str_dup(arena, name);
    size_t n = strlen(dir);
    const char *slash = n && dir[n - 1] == '/' ? "" : "/";
    return str_format(arena, "%s%s%.*s", dir, slash, STR_ARG(name));
}

Str path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return str_of(slash ? slash + 1 : path);
}

const char *path_dir(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    if (slash == path) return "/";
    return str_dup(arena, (Str){ path, (size_t)(slash - path) });
}

const char *path_real(Arena *arena, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? str_dup(arena, str_of(real)) : path;
}

bool path_stays_inside(Str path)
{
    if (path.n == 0 || path.p[0] == '/' || memchr(path.p, 0, path.n)) return false;
    for (size_t from = 0, i = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/') continue;
        if (str_eq((Str){ path.p + from, i - from }, STR(".."))) return false;
        from = i + 1;
    }
    return true;
}

bool file_is_here(const char *path, Mapping *map, Err *err)
{
    static const char begin[] = "version https://git-lfs.github.com/spec/";
    if (map->n < sizeof begin - 1 || map->n > 1024) return true; /* pointers are shorter */
    if (memcmp(map->p, begin, sizeof begin - 1) != 0) return true;
    file_unmap(map);
    return fail(err, EF_BAD_MODEL, "%s: found a git-lfs pointer, not the file itself; fetch it "
                "with `git lfs pull` in its folder", path);
}

bool file_read(Arena *arena, const char *path, size_t limit, Str *out, Err *err)
{
    Mapping map;
    if (!file_map(path, &map, err)) return false;
    char *copy = arena_try(arena, map.n + 1, 1, limit, err);
    if (copy) {
        if (map.n) memcpy(copy, map.p, map.n);
        copy[map.n] = 0;
        *out = (Str){ copy, map.n };
    }
    file_unmap(&map);
    return copy ? true : within(err, "%s", path);
}

static bool writer_fail(FileWriter *w, Err *err)
{
    int why = errno;
    writer_abort(w);
    return fail(err, EF_IO, "%s: cannot be written: %s", w->path, strerror(why));
}

/* A file without a name, where the file system has such: a killed program leaves nothing behind. */
static int open_unnamed(const char *path, int mode)
{
    if (access("/proc/self/fd", X_OK) != 0) return -1; /* needed to name it later */
    Arena scratch = { 0 };
    int fd = open(path_dir(&scratch, path), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    arena_free(&scratch);
    return fd;
}

/* By open, which obeys the umask: asking for that would change it for a moment, and for all threads. */
static int open_beside(char *name, int mode)
{
    const int taken = mkstemp(name); /* reserves a name nobody else uses */
    if (taken < 0) return -1;
    close(taken);
    unlink(name);
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/* /dev/null, a terminal, a pipe: renaming a file over it would destroy it. */
static bool is_stream(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void writer_abandon(GuardHold *hold)
{
    writer_abort((FileWriter *)((char *)hold - offsetof(FileWriter, hold)));
}

void writer_guard(FileWriter *w)
{
    guard_hold(&w->hold, writer_abandon);
}

static bool open_stream(FileWriter *w, const char *path, int mode, Err *err)
{
    *w = (FileWriter){ .fd = -1, .path = path, .stream = true };
    if (mode & 0111)
        return fail(err, EF_IO, "%s: cannot be written: not a regular file", path);
    w->fd = open(path, O_WRONLY | O_CLOEXEC);
    return w->fd >= 0 || writer_fail(w, err);
}

bool writer_open(FileWriter *w, Arena *arena, const char *path, int mode, Err *err)
{
    if (is_stream(path)) return open_stream(w, path, mode, err);
    path = path_real(arena, path); /* the file behind a link is replaced, never the link */
    char *name = str_format(arena, "%s.tmp.XXXXXX", path);
    *w = (FileWriter){ .fd = open_unnamed(path, mode), .path = path, .spare = name };
    if (w->fd < 0) w->temporary = name, w->fd = open_beside(name, mode);
    if (w->fd < 0) return fail(err, EF_IO, "%s: cannot be written: %s", path, strerror(errno));
    writer_guard(w);
    return true;
}

bool writer_add(FileWriter *w, const void *bytes, size_t n, Err *err)
{
    const char *p = bytes;
    while (n) {
        ssize_t wrote = write(w->fd, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return writer_fail(w, err);
        p += wrote, n -= (size_t)wrote, w->written += (uint64_t)wrote;
    }
    return true;
}

bool writer_align(FileWriter *w, size_t to, Err *err)
{
    static const char zeros[4096];
    size_t left = (size_t)(ROUND_UP(w->written, to) - w->written);
    for (; left; left -= MIN(left, sizeof zeros))
        if (!writer_add(w, zeros, MIN(left, sizeof zeros), err)) return false;
    return true;
}

/* A link cannot replace a file: where there is one, a temporary name comes first. */
static bool name_beside(FileWriter *w, const char *self)
{
    int taken = mkstemp(w->spare); /* reserves a name nobody else uses */
    if (taken < 0) return false;
    close(taken);
    unlink(w->spare);
    if (linkat(AT_FDCWD, self, AT_FDCWD, w->spare, AT_SYMLINK_FOLLOW) != 0) return false;
    w->temporary = w->spare;
    return true;
}

/* Gives a file without a name its own in one step, so that a program killed here leaves no other. */
static bool name_unnamed(FileWriter *w)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", w->fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, w->path, AT_SYMLINK_FOLLOW) == 0) return true;
    return errno == EEXIST && name_beside(w, self);
}

static bool close_stream(FileWriter *w, Err *err)
{
    int fd = w->fd;
    w->fd = -1;
    return close(fd) == 0 || writer_fail(w, err);
}

bool writer_commit(FileWriter *w, Err *err)
{
    if (w->stream) return close_stream(w, err);
    if (!w->copy && fsync(w->fd) != 0) return writer_fail(w, err);
    if (!w->temporary && !name_unnamed(w)) return writer_fail(w, err);
    int fd = w->fd;
    w->fd = -1;
    if (close(fd) != 0 || (w->temporary && rename(w->temporary, w->path) != 0)) return writer_fail(w, err);
    guard_let_go(&w->hold);
    return true;
}

void writer_abort(FileWriter *w)
{
    guard_let_go(&w->hold);
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
    if (w->temporary) unlink(w->temporary);
}

static bool file_write_whole(Arena *arena, const char *path, Str bytes, bool copy, Err *err)
{
    FileWriter w;
    if (!writer_open(&w, arena, path, 0644, err)) return false;
    w.copy = copy;
    return writer_add(&w, bytes.p, bytes.n, err) && writer_commit(&w, err);
}

bool file_write(Arena *arena, const char *path, Str bytes, Err *err)
{
    return file_write_whole(arena, path, bytes, false, err);
}

bool file_write_copy(Arena *arena, const char *path, Str bytes, Err *err)
{
    return file_write_whole(arena, path, bytes, true, err);
}

bool file_apart(const char *out, const char *in, Err *err)
{
    if (!out || !in || !file_is(out)) return true;
    if (!file_same(out, strcmp(in, "-") == 0 ? "/dev/stdin" : in)) return true;
    return fail(err, EF_USAGE, "%s: found the input %s as output, wanted another file: an input is "
                "never replaced; nothing was written", out, in);
}
