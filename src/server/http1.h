/* SPDX-License-Identifier: Apache-2.0
 * http1.h - HTTP/1.1 requests out of bytes, without any I/O. Bytes are appended to a buffer and
 * http1_feed is called; the request is a set of views into that buffer. RFC 9112, and where it
 * leaves a choice the strict one: two readings of one request are how requests are smuggled.
 *
 * Refused: both Content-Length and Transfer-Encoding, either of them twice, lengths that are not
 * plain digits, codings other than chunked, spaces before a colon, folded lines, line ends without
 * CR, control characters, no Host or two in 1.1. Bodies in chunks are joined in place. */
#ifndef SERVER_HTTP1_H
#define SERVER_HTTP1_H
#include "head.h"

typedef struct Http1Limits {
    size_t head;                 /* bytes of request line and header fields; also of trailers */
    size_t body;
} Http1Limits;

typedef enum {
    HTTP1_MORE,                  /* append bytes and call again */
    HTTP1_HEAD,                  /* once: the head is complete, a body follows; call again */
    HTTP1_DONE,                  /* the request is complete */
    HTTP1_BAD,                   /* err and status say why; the rest of the stream has no meaning */
} Http1Event;

typedef struct HttpSpan { size_t at, n; } HttpSpan; /* of the buffer, which may move */

typedef struct Http1 {           /* one request */
    Http1Limits limits;
    int state;                   /* row of the table in http1.c */
    size_t at;                   /* next byte to read; at the end: the request's length */
    size_t scanned;              /* no line end before this */
    size_t head_end;             /* where the body begins */
    size_t left;                 /* bytes of the body or chunk still to come */
    int fields;                  /* header fields so far */
    uint32_t seen;               /* bit per row of the parser's own fields: refuse it twice */
    HttpSpan method, target;
    HttpSpan field[HEADERS];          /* those of head.h; at 0: absent */
    HttpSpan path;                   /* of the target: without authority and query */
    HttpSpan body;                   /* of what is in chunks: so far */
    int minor;                   /* HTTP/1.minor */
    bool keep_alive, chunked, expects_continue;
    int status;                  /* of a bad request */
    Err *err;                    /* of the feed under way */
} Http1;

void http1_start(Http1 *, Http1Limits);
Http1Event http1_feed(Http1 *, Buf *in, Err *);
static inline Str http1_view(HttpSpan span, const Buf *in)
{
    return (Str){ span.n ? in->p + span.at : "", span.n };
}
bool http1_begun(const Http1 *, const Buf *in); /* some byte of the request is there */
bool http1_has_body(const Http1 *);              /* one follows the head (known at HTTP1_HEAD) */
/* Of a body that is used while it comes: the part that is there; and forgetting its first bytes. */
Str http1_arrived(const Http1 *, const Buf *in);
void http1_consume(Http1 *, Buf *in, size_t bytes);

/* Head of a reply, up to its empty line. */
void http1_write_head(Buf *out, const Reply *, const char *date);
const char *http1_reason(int status);

#endif
