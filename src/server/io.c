/* SPDX-License-Identifier: Apache-2.0
 * io.c - a connection's bytes from and to the system. Sockets are watched by edges: `readable` and
 * `writable` remember what was not used up. */
#include <errno.h>
#include <sys/socket.h>

#include "loop.h"

enum { RECORD = 16 << 10 };      /* what TLS packs at once */

static ssize_t read_some(Conn *c, void *to, size_t room)
{
    ssize_t n;
    if (c->tls) return tls_read(c->tls, to, room);
    do n = recv(c->fd, to, room, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

size_t io_read(Conn *c, void *to, size_t room)
{
    if (!c->readable) return 0;
    ssize_t n = read_some(c, to, room);
    if (n == 0 || (n < 0 && errno != EAGAIN)) c->ended = true;
    bool drained = (size_t)n < room && !c->half_closed && !c->tls; /* TLS reads by records */
    if (n <= 0 || drained) c->readable = false;
    if (n <= 0) return 0;
    count_add(&c->loop->server->meters.received, (uint64_t)n);
    return (size_t)n;
}

/* A head and the beginning of its body are one record. */
static ssize_t write_tls(Conn *c, const struct iovec *part, int parts)
{
    char record[RECORD];
    size_t n = 0;
    if (parts == 1 || part[0].iov_len >= RECORD)
        return tls_write(c->tls, part[0].iov_base, part[0].iov_len);
    for (int i = 0; i < parts; i++) {
        size_t some = MIN(part[i].iov_len, RECORD - n);
        memcpy(record + n, part[i].iov_base, some);
        n += some;
    }
    return tls_write(c->tls, record, n);
}

static ssize_t write_some(Conn *c, struct iovec *part, int parts)
{
    if (c->tls) return write_tls(c, part, parts);
    struct msghdr message = { .msg_iov = part, .msg_iovlen = (size_t)parts };
    ssize_t n;
    do n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n;
}

size_t io_write(Conn *c, struct iovec *part, int parts)
{
    if (!c->writable) return 0;
    ssize_t n = write_some(c, part, parts);
    if (n < 0 && errno != EAGAIN) c->broken = true;
    if (n <= 0) c->writable = false; /* TLS: or something must be read first */
    if (n <= 0) return 0;
    count_add(&c->loop->server->meters.sent, (uint64_t)n);
    return (size_t)n;
}

void io_end(Conn *c)
{
    if (c->tls) tls_end(c->tls);
    shutdown(c->fd, SHUT_WR);
}
