/* SPDX-License-Identifier: Apache-2.0
 * partial.c - downloads in pieces, and what is kept of them. */
#include "hub/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK = 32, PIECES_MOST = 1 << 20 };
static const char partial_mark[MARK] = "encoderfile partial 1\n";

static bool partial_fail(const Partial *p, Err *err)
{
    return fail(err, EF_IO, "%s: cannot be written: %s", p->path, strerror(errno));
}

static uint32_t piece_size(const Partial *p, int piece)
{
    return (uint32_t)MIN((uint64_t)PARTIAL_PIECE, p->size - (uint64_t)piece * PARTIAL_PIECE);
}

static off_t number_at(const Partial *p, int piece)
{
    return (off_t)(p->size + MARK + (uint64_t)piece * sizeof *p->done);
}

static bool write_all(int fd, const void *bytes, size_t n, off_t at)
{
    const char *from = bytes;
    while (n) {
        ssize_t k = pwrite(fd, from, n, at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        from += k, n -= (size_t)k, at += k;
    }
    return true;
}

/* Whether the file is one of ours, of this size; then its numbers are read. */
static bool partial_continues(Partial *p)
{
    char mark[MARK];
    struct stat st;
    size_t table = (size_t)p->pieces * sizeof *p->done;
    if (fstat(p->fd, &st) != 0 || st.st_size != number_at(p, p->pieces)) return false;
    if (pread(p->fd, mark, MARK, (off_t)p->size) != MARK || memcmp(mark, partial_mark, MARK) != 0)
        return false;
    if (pread(p->fd, p->done, table, number_at(p, 0)) != (ssize_t)table) return false;
    for (int i = 0; i < p->pieces; i++)
        if (p->done[i] > piece_size(p, i)) return false;
    return true;
}

/* The mark last: without it nothing is continued. */
static bool partial_begin(Partial *p)
{
    size_t table = (size_t)p->pieces * sizeof *p->done;
    memset(p->done, 0, table);
    return ftruncate(p->fd, 0) == 0 && write_all(p->fd, p->done, table, number_at(p, 0)) &&
           write_all(p->fd, partial_mark, MARK, (off_t)p->size);
}

bool partial_open(Arena *arena, const char *path, uint64_t size, Partial *p, Err *err)
{
    uint64_t pieces = (size + PARTIAL_PIECE - 1) / PARTIAL_PIECE;
    if (pieces > PIECES_MOST)
        return fail(err, EF_TOO_LARGE, "%s: found %llu bytes, wanted at most 8 TiB", path,
                    (unsigned long long)size);
    *p = (Partial){ .path = path, .size = size, .pieces = (int)pieces };
    p->done = ARRAY(arena, uint32_t, pieces);
    p->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->fd < 0) return partial_fail(p, err);
    pthread_mutex_init(&p->lock, NULL);
    if (partial_continues(p) || partial_begin(p)) return true;
    partial_fail(p, err);
    partial_close(p);
    return false;
}

void partial_restart(Partial *p)
{
    for (int i = 0; i < p->pieces; i++) p->done[i] = 0;
    write_all(p->fd, p->done, (size_t)p->pieces * sizeof *p->done, number_at(p, 0));
    p->next = 0;
}

uint64_t partial_bytes(const Partial *p)
{
    uint64_t sum = 0;
    for (int i = 0; i < p->pieces; i++) sum += p->done[i];
    return sum;
}

int partial_take(Partial *p)
{
    pthread_mutex_lock(&p->lock);
    while (p->next < p->pieces && p->done[p->next] == piece_size(p, p->next)) p->next++;
    int piece = p->next < p->pieces ? p->next++ : -1;
    pthread_mutex_unlock(&p->lock);
    return piece;
}

uint64_t partial_from(const Partial *p, int piece)
{
    return (uint64_t)piece * PARTIAL_PIECE + p->done[piece];
}

uint64_t partial_to(const Partial *p, int piece)
{
    return (uint64_t)piece * PARTIAL_PIECE + piece_size(p, piece) - 1;
}

bool partial_add(Partial *p, int piece, Str bytes, Err *err)
{
    assert(bytes.n <= piece_size(p, piece) - p->done[piece]);
    uint32_t done = p->done[piece] + (uint32_t)bytes.n;
    if (!write_all(p->fd, bytes.p, bytes.n, (off_t)partial_from(p, piece)) ||
        !write_all(p->fd, &done, sizeof done, number_at(p, piece)))
        return partial_fail(p, err);
    p->done[piece] = done;
    return true;
}

bool partial_finish(Partial *p, const char *final, Err *err)
{
    bool ok =
        ftruncate(p->fd, (off_t)p->size) == 0 && fsync(p->fd) == 0 && rename(p->path, final) == 0;
    if (!ok) partial_fail(p, err);
    partial_close(p);
    return ok;
}

void partial_close(Partial *p)
{
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
    pthread_mutex_destroy(&p->lock);
}

void partial_remove(Partial *p)
{
    unlink(p->path);
    partial_close(p);
}
