/* SPDX-License-Identifier: Apache-2.0
 * h2_client.h - an HTTP/2 client made of single frames, so that it can also send what no client
 * would. Only header packing is nghttp2's. */
#ifndef H2_CLIENT_H
#define H2_CLIENT_H
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/time.h>

#include "server_fake.h"

enum { F_DATA, F_HEADERS, F_PRIORITY, F_RST, F_SETTINGS, F_PUSH, F_PING, F_GOAWAY, F_WINDOW,
       F_CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8 };
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

typedef struct Frame {
    int type, flags;             /* type -1: the connection has ended */
    uint32_t id;
    size_t n;
    const uint8_t *p;            /* until the next frame */
} Frame;

typedef struct Client {
    int fd;
    nghttp2_hd_inflater *inflater;
    nghttp2_hd_deflater *deflater;
    Buf in;
    size_t used;                 /* of `in` */
    bool hold;                   /* do not tell the server that bytes were read */
    int goaway;                  /* its code; -1: none came */
} Client;

typedef struct Answer {          /* of one stream */
    int status;                  /* 0: none came */
    int reset;                   /* code of its RST_STREAM; -1: none */
    Buf head, body, trailers;    /* lines "name: value\n", terminated */
    bool ended;
} Answer;

static inline void put_bytes(int fd, const void *p, size_t n)
{
    for (ssize_t sent; n && (sent = send(fd, p, n, MSG_NOSIGNAL)) > 0; n -= (size_t)sent)
        p = (const char *)p + sent;
}

static inline void put_frame(const Client *c, Frame f)
{
    uint8_t head[9] = { (uint8_t)(f.n >> 16), (uint8_t)(f.n >> 8), (uint8_t)f.n, (uint8_t)f.type,
                        (uint8_t)f.flags, (uint8_t)(f.id >> 24), (uint8_t)(f.id >> 16),
                        (uint8_t)(f.id >> 8), (uint8_t)f.id };
    Buf b = { 0 };
    buf_add(&b, head, 9);
    if (f.n) buf_add(&b, f.p, f.n);
    put_bytes(c->fd, b.p, b.n);
    buf_free(&b);
}

/* The server has closed it. */
static inline bool is_over(const Client *c)
{
    struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };
    return poll(&p, 1, 0) > 0;
}

static inline void put_number(const Client *c, int type, uint32_t id, uint32_t value)
{
    uint8_t p[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                     (uint8_t)value };
    put_frame(c, (Frame){ type, 0, id, 4, p });
}

/* "name: value\n" lines to a packed head. */
static inline Buf pack_head(Client *c, const char *lines)
{
    nghttp2_nv nv[256];
    size_t n = 0;
    for (const char *at = lines; *at && n < 256; n++) {
        size_t name = strcspn(at + 1, ":") + 1, line = strcspn(at, "\n");
        const char *value = at + name + 2;
        nv[n] = (nghttp2_nv){ (uint8_t *)at, (uint8_t *)value, name, line - name - 2, 0 };
        at += line + (at[line] == '\n');
    }
    Buf out = { 0 };
    buf_reserve(&out, nghttp2_hd_deflate_bound(c->deflater, nv, n));
    out.n = (size_t)nghttp2_hd_deflate_hd(c->deflater, (uint8_t *)out.p, out.cap, nv, n);
    return out;
}

#define REQUEST(method, path) ":method: " method "\n:path: " path "\n:scheme: http\n:authority: x\n"
static inline void put_head(Client *c, uint32_t id, const char *lines, int flags)
{
    Buf head = pack_head(c, lines);
    put_frame(c, (Frame){ F_HEADERS, flags | END_HEADERS, id, head.n, (uint8_t *)head.p });
    buf_free(&head);
}

static inline void put_data(const Client *c, uint32_t id, const char *text, int flags)
{
    put_frame(c, (Frame){ F_DATA, flags, id, strlen(text), (const uint8_t *)text });
}

static inline Client client_on(int fd)
{
    Client c = { .fd = fd, .goaway = -1 };
    struct timeval patience = { 120, 0 }; /* sanitizers, and machines that have other work too */
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    nghttp2_hd_inflate_new(&c.inflater);
    nghttp2_hd_deflate_new(&c.deflater, 4096);
    return c;
}

static inline Client h2_connect(const Running *r)
{
    Client c = client_on(connect_to(r));
    put(c.fd, PREFACE);
    put_frame(&c, (Frame){ .type = F_SETTINGS });
    return c;
}

static inline void h2_close(Client *c)
{
    if (c->fd >= 0) close(c->fd);
    nghttp2_hd_inflate_del(c->inflater);
    nghttp2_hd_deflate_del(c->deflater);
    buf_free(&c->in);
}

static inline bool have(Client *c, size_t n)
{
    while (c->in.n - c->used < n) {
        buf_reserve(&c->in, 1 << 16);
        ssize_t got = recv(c->fd, c->in.p + c->in.n, 1 << 16, 0);
        if (got <= 0) return false;
        c->in.n += (size_t)got;
    }
    return true;
}

static inline Frame next_frame(Client *c)
{
    if (c->used) buf_drop(&c->in, c->used);
    c->used = 0;
    if (!have(c, 9)) return (Frame){ .type = -1 };
    const uint8_t *p = (uint8_t *)c->in.p;
    Frame f = { p[3], p[4], (uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8],
                (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2], NULL };
    if (!have(c, 9 + f.n)) return (Frame){ .type = -1 };
    f.p = (uint8_t *)c->in.p + 9;
    c->used = 9 + f.n;
    if (f.type == F_SETTINGS && !(f.flags & ACK))
        put_frame(c, (Frame){ F_SETTINGS, ACK, 0, 0, NULL });
    if (f.type == F_GOAWAY) c->goaway = f.p[7] | f.p[6] << 8;
    if (f.type == F_DATA && f.n && !c->hold) {
        put_number(c, F_WINDOW, 0, (uint32_t)f.n);
        if (!(f.flags & END_STREAM)) put_number(c, F_WINDOW, f.id, (uint32_t)f.n);
    }
    return f;
}

static inline void unpack_head(Client *c, Frame f, Answer *a)
{
    Buf *out = a->status ? &a->trailers : &a->head;
    for (int done = 0; !(done & NGHTTP2_HD_INFLATE_FINAL);) {
        nghttp2_nv nv;
        ssize_t n = nghttp2_hd_inflate_hd2(c->inflater, &nv, &done, f.p, f.n, 1);
        if (n < 0) break;
        f.p += n;
        f.n -= (size_t)n;
        if (!(done & NGHTTP2_HD_INFLATE_EMIT)) continue;
        if (nv.namelen == 7 && memcmp(nv.name, ":status", 7) == 0) a->status = atoi((char *)nv.value);
        buf_printf(out, "%.*s: %.*s\n", (int)nv.namelen, nv.name, (int)nv.valuelen, nv.value);
    }
    nghttp2_hd_inflate_end_headers(c->inflater);
}

static inline void take_frame(Client *c, Frame f, Answer *a)
{
    if (f.type == F_HEADERS) unpack_head(c, f, a);
    if (f.type == F_DATA) buf_add(&a->body, f.p, f.n);
    if (f.type == F_RST) a->reset = f.p[3];
    a->ended = f.type == F_RST ||
               ((f.type == F_HEADERS || f.type == F_DATA) && f.flags & END_STREAM);
}

/* Of the stream, to its end or the connection's. Frames of other streams are unpacked and lost. */
static inline Answer answer(Client *c, uint32_t id)
{
    Answer a = { .reset = -1 }, other = { 0 };
    while (!a.ended) {
        Frame f = next_frame(c);
        if (f.type < 0) break;
        if (f.id == id) take_frame(c, f, &a);
        else if (f.type == F_HEADERS) unpack_head(c, f, &other);
    }
    buf_char(&a.head, 0), buf_char(&a.body, 0), buf_char(&a.trailers, 0);
    buf_free(&other.head), buf_free(&other.trailers);
    return a;
}

static inline void answer_free(Answer *a)
{
    buf_free(&a->head), buf_free(&a->body), buf_free(&a->trailers);
}

/* ---- long bodies ---- */
#ifdef __SANITIZE_THREAD__
enum { SHORTER = 8 };            /* every access is looked at */
#else
enum { SHORTER = 1 };
#endif

static inline Buf long_request(int texts, int words)
{
    Buf body = { 0 };
    buf_puts(&body, "{\"inputs\":[");
    for (int i = 0; i < texts; i++) {
        buf_puts(&body, i ? ",\"" : "\"");
        for (int k = 0; k < words; k++) buf_puts(&body, "a ");
        buf_char(&body, '"');
    }
    buf_puts(&body, "]}");
    return body;
}

/* Sends no more than the windows say; the answer's frames stay in c->in for later. */
static inline void put_body(Client *c, uint32_t id, const Buf *body)
{
    long shared = 65535, own = 65535;
    for (size_t at = 0; at < body->n;) {
        size_t n = MIN(MIN(body->n - at, 16384), (size_t)MAX(MIN(shared, own), 0));
        if (n) put_frame(c, (Frame){ F_DATA, at + n == body->n, id, n, (uint8_t *)body->p + at });
        at += n, shared -= (long)n, own -= (long)n;
        if (n) continue;
        Frame f = next_frame(c);
        if (f.type < 0) return;
        long more = f.n == 4 ? f.p[0] << 24 | f.p[1] << 16 | f.p[2] << 8 | f.p[3] : 0;
        if (f.type == F_WINDOW) *(f.id ? &own : &shared) += more;
        for (size_t i = 0; f.type == F_SETTINGS && i + 6 <= f.n; i += 6)
            if (f.p[i + 1] == 4) own += (f.p[i + 3] << 16 | f.p[i + 4] << 8 | f.p[i + 5]) - 65535;
    }
}

/* One request of its own connection; the answer's text is freed by the next call. */
static inline const Answer *h2_ask(const Running *r, const char *lines, const char *body)
{
    static Answer a;
    answer_free(&a);
    Client c = h2_connect(r);
    put_head(&c, 1, lines, body ? 0 : END_STREAM);
    if (body) put_data(&c, 1, body, END_STREAM);
    a = answer(&c, 1);
    h2_close(&c);
    return &a;
}

#endif
