/* SPDX-License-Identifier: Apache-2.0
 * head.h - what stands in front of bodies, in every version of HTTP: the fields of a request that
 * somebody here reads, and the head of a reply. */
#ifndef SERVER_HEAD_H
#define SERVER_HEAD_H
#include "base/base.h"

/* A field that nobody named here is skipped by the parsers. To read one more: a name here, a row in
 * head.c, and exchange_header(x, HEADER_...) has it. */
typedef enum Header {
    HEADER_CONTENT_TYPE,
    HEADER_CONTENT_LENGTH, /* as it was said; Exchange.length is the number */
    HEADER_CONTENT_ENCODING,
    HEADER_ACCEPT,
    HEADER_ACCEPT_ENCODING,
    HEADER_AUTHORIZATION,
    HEADER_ORIGIN,
    HEADER_HOST,
    HEADER_IF_NONE_MATCH,
    HEADER_AUTHORITY, /* what stands for Host in HTTP/2, or in HTTP/1 before the path */
    HEADER_REQUEST_ID,
    HEADER_TRACEPARENT,
    HEADER_TE,
    HEADER_GRPC_TIMEOUT,
    HEADER_GRPC_ENCODING,
    HEADER_GRPC_ACCEPT_ENCODING,
    HEADER_MCP_VERSION,
    HEADER_MCP_METHOD,
    HEADER_MCP_NAME,
    HEADERS
} Header;

Header header_find(Str name);            /* in any case; HEADERS: nobody reads it */
bool header_once(Header);              /* a second one is an error; else the last counts */
const char *header_name(Header);

/* "gzip, br;q=0.5": does the client take gzip? */
bool head_accepts_gzip(Str accept_encoding);

typedef struct ReplyField { const char *name, *value; } ReplyField;
typedef struct Reply {
    int status;
    const char *type;            /* of the content; NULL: there is none */
    size_t length;
    bool pieces;                 /* the length is not known */
    bool gzip;                   /* the content is packed */
    const char *allow;           /* (optional) methods, for 405 and OPTIONS */
    const char *request_id;      /* (optional) */
    const char *origin;          /* (optional) of pages that may read the reply */
    bool preflight;              /* what else such pages may do */
    int retry_after;             /* (optional) seconds; 0: none */
    const ReplyField *extra;     /* [n_extra]: more fields */
    size_t n_extra;
    bool close;                  /* HTTP/1: the connection ends after it */
    bool keep;                   /* it does not, and an HTTP/1.0 client must be told */
} Reply;

/* Hands every field of the reply to `put`; Date and what concerns the connection are the carrier's.
 * Names are in HTTP/1's usual case. */
void reply_fields(const Reply *, void (*put)(void *to, const char *name, const char *value),
                  void *to);

enum { HTTP_DATE = 32 };         /* bytes of a date */
void http_date(char out[HTTP_DATE], int64_t unix_time);

#endif
