/* SPDX-License-Identifier: Apache-2.0
 * one_page.c - see one_page.h. */
#include "one_page.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http1.h"
#include "loop.h"
#include "origin.h"

enum { PAGE_HEAD = 16384, PAGE_MS = 100, PAGE_SECONDS = 5 };

static bool page_waits(int fd, short what, const volatile int *stop, int seconds)
{
    struct pollfd p = { .fd = fd, .events = what };
    for (int i = 0; !*stop && (seconds < 0 || i < seconds * 1000 / PAGE_MS); i++)
        if (poll(&p, 1, PAGE_MS) > 0) return true;
    return false;
}

static int page_status(const Http1 *request, const Buf *in, Http1Event event)
{
    Origin host;
    if (event != HTTP1_DONE) return event == HTTP1_BAD ? request->status : 400;
    if (!origin_read_host(http1_view(request->field[HEADER_HOST], in), &host) || !origin_host_is_local(host.host))
        return 403;
    if (!str_is(http1_view(request->method, in), "GET")) return 405;
    return str_is(http1_view(request->path, in), "/") ? 200 : 404;
}

static int page_read(int fd, Buf *in, const volatile int *stop)
{
    Http1 request;
    Http1Event event = HTTP1_MORE;
    Err ignored;
    http1_start(&request, (Http1Limits){ .head = PAGE_HEAD });
    while (event == HTTP1_MORE && page_waits(fd, POLLIN, stop, PAGE_SECONDS)) {
        buf_reserve(in, PAGE_HEAD);
        const ssize_t n = recv(fd, in->p + in->n, PAGE_HEAD, 0);
        if (n <= 0) return 0;
        in->n += (size_t)n;
        event = http1_feed(&request, in, &ignored);
    }
    return page_status(&request, in, event);
}

static void page_write(int fd, Str bytes, const volatile int *stop)
{
    while (bytes.n && page_waits(fd, POLLOUT, stop, PAGE_SECONDS)) {
        const ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0) return;
        bytes.p += n, bytes.n -= (size_t)n;
    }
}

static void page_answer(const OnePage *page, int fd, const volatile int *stop)
{
    Buf in = { 0 }, out = { 0 };
    const int status = page_read(fd, &in, stop);
    if (status) {
        const Str body = status == 200 ? page->html : str_of(http1_reason(status));
        buf_printf(&out,
                   "HTTP/1.1 %d %s\r\nContent-Type: text/%s; charset=utf-8\r\nContent-Length: %zu\r\n"
                   "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                   "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
                   status, http1_reason(status), status == 200 ? "html" : "plain", body.n);
        page_write(fd, buf_view(&out), stop);
        page_write(fd, body, stop);
    }
    shutdown(fd, SHUT_WR);
    buf_free(&in);
    buf_free(&out);
}

bool one_page_serve(const OnePage *page, const volatile int *stop, Err *err)
{
    int port = page->port;
    const int door = listen_on("127.0.0.1", &port, err);
    if (door < 0) return false;
    const bool ok = page->ready(page->context, port, err);
    while (ok && page_waits(door, POLLIN, stop, -1)) {
        const int fd = accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) continue;
        page_answer(page, fd, stop);
        close(fd);
    }
    close(door);
    return ok;
}
