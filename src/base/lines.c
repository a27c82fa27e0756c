/* SPDX-License-Identifier: Apache-2.0
 * lines.c - reads in blocks; what is left of the last line moves to the front before the next. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

bool lines_open(Lines *l, const char *path, Err *err)
{
    const bool in = strcmp(path, "-") == 0;
    struct stat st;
    *l = (Lines){ .name = in ? "stdin" : path, .most = LINE_LIMIT };
    l->fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (l->fd < 0) return fail(err, EF_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(l->fd, &st) == 0 && S_ISREG(st.st_mode)) l->total = (uint64_t)st.st_size;
    return true;
}

bool lines_raw(void *lines, void *to, size_t room, size_t *got, Err *err)
{
    Lines *l = lines;
    ssize_t n;
    do n = read(l->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) return fail(err, EF_IO, "%s: cannot be read: %s", l->name, strerror(errno));
    *got = (size_t)n;
    l->bytes += *got;
    return true;
}

static bool read_more(Lines *l, Err *err)
{
    size_t n;
    if (l->at) {
        memmove(l->buf.p, l->buf.p + l->at, l->buf.n - l->at);
        l->buf.n -= l->at;
        l->at = 0;
    }
    if (l->buf.n > l->most)
        return fail(err, EF_TOO_LARGE, "%s: line %llu: found more than %zu MiB, wanted less",
                    l->name, (unsigned long long)l->number + 1, l->most >> 20);
    buf_reserve(&l->buf, BLOCK);
    char *to = l->buf.p + l->buf.n;
    if (!l->pull && !lines_raw(l, to, BLOCK, &n, err)) return false;
    if (l->pull && !l->pull(l->context, to, BLOCK, &n, err)) return within(err, "%s", l->name);
    l->buf.n += n;
    l->end = n == 0;
    return true;
}

bool lines_bytes(void *lines, void *to, size_t room, size_t *got, Err *err)
{
    Lines *l = lines;
    const size_t held = l->buf.n - l->at;
    if (!held) return l->pull ? l->pull(l->context, to, room, got, err) || within(err, "%s", l->name)
                              : lines_raw(l, to, room, got, err);
    *got = MIN(held, room);
    memcpy(to, l->buf.p + l->at, *got);
    l->at += *got;
    return true;
}

bool lines_head(Lines *l, size_t n, Str *head, Err *err)
{
    while (l->buf.n < n && !l->end)
        if (!read_more(l, err)) return false;
    *head = (Str){ l->buf.p ? l->buf.p : "", l->buf.n };
    return true;
}

bool lines_quiet(const Lines *l)
{
    const size_t held = l->buf.n - l->at;
    struct pollfd in = { .fd = l->fd, .events = POLLIN };
    if (l->end || (held && memchr(l->buf.p + l->at, '\n', held))) return false;
    return poll(&in, 1, 0) == 0;
}

bool lines_next(Lines *l, Str *line, bool *more, Err *err)
{
    const char *newline = NULL;
    size_t seen = 0; /* of the bytes held, known to have no newline */
    for (;;) {
        const size_t held = l->buf.n - l->at;
        if (held > seen) newline = memchr(l->buf.p + l->at + seen, '\n', held - seen);
        if (newline || l->end) break;
        seen = held;
        if (!read_more(l, err)) return false;
    }
    const char *begin = l->buf.p ? l->buf.p + l->at : "";
    *line = (Str){ begin, newline ? (size_t)(newline - begin) : l->buf.n - l->at };
    *more = newline || line->n;
    l->at += line->n + (newline ? 1 : 0);
    l->number += *more;
    return true;
}

void lines_close(Lines *l)
{
    if (l->fd > STDIN_FILENO) close(l->fd);
    buf_free(&l->buf);
    *l = (Lines){ .fd = -1 };
}
