/* SPDX-License-Identifier: Apache-2.0
 * io.c - a connection's bytes from and to the system. Sockets are watched by edges: `readable` and
 * `writable` remember what was not used up. */
#include <errno.h>
#include <sys/socket.h>

#include "loop.h"

static ssize_t read_some(Conn *c, void *to, size_t room)
{
    ssize_t n;
    do n = recv(c->fd, to, room, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

size_t io_read(Conn *c, void *to, size_t room)
{
    if (!c->readable) return 0;
    ssize_t n = read_some(c, to, room);
    if (n == 0 || (n < 0 && errno != EAGAIN)) c->ended = true;
    if (n <= 0 || ((size_t)n < room && !c->half_closed)) c->readable = false;
    if (n <= 0) return 0;
    c->loop->meters.received += (uint64_t)n;
    return (size_t)n;
}

static ssize_t write_some(Conn *c, struct iovec *part, int parts)
{
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
    if (n <= 0) c->writable = false;
    if (n <= 0) return 0;
    c->loop->meters.sent += (uint64_t)n;
    return (size_t)n;
}

void io_end(Conn *c)
{
    shutdown(c->fd, SHUT_WR);
}
