/* SPDX-License-Identifier: Apache-2.0
 * http.h - a client of HTTP/1.1: one request at a time per connection, which is kept for the next
 * one to the same host. A client may be shared by threads, a connection may not.
 *
 *     HttpClient client;
 *     HttpConn conn = { .client = &client };
 *     http_client_open(&client, 10);
 *     if (http_start(&conn, &request, &err))           // conn.head has status and fields
 *         while (http_read(&conn, &bytes, &err) && bytes.n) use(bytes);
 *     http_close(&conn), http_client_close(&client);
 *
 * Errors are EF_UNAVAILABLE where another try may help: no answer, a connection that broke. */
#ifndef NET_HTTP_H
#define NET_HTTP_H
#include <pthread.h>

#include "net/address.h"
#include "net/reply.h"
#include "net/tls.h"
#include "net/url.h"

enum { HTTP_PLACES = 8 };
typedef struct HttpClient {
    int seconds;          /* the longest wait for a single answer */
    Arena arena;          /* of the proxy */
    Url proxy;            /* of https; host NULL: none */
    Str without_proxy;    /* hosts that are asked directly: $NO_PROXY */
    pthread_mutex_t lock; /* of what follows */
    Tls *tls;             /* NULL: not needed yet */
    struct HttpPlace {    /* where a host answered last: it is not looked up again */
        char host[256];
        NetAddress address;
    } place[HTTP_PLACES];
    int n_place;
} HttpClient;
/* Reads $HTTPS_PROXY, $https_proxy, $NO_PROXY and $no_proxy. */
bool http_client_open(HttpClient *, int seconds, Err *);
void http_client_close(HttpClient *);
/* Whether $NO_PROXY ("localhost,.example.com,10.0.0.1,*") names the host. */
bool http_without_proxy(Str list, const char *host);

typedef struct HttpRequest {
    const char *method; /* GET or HEAD */
    const Url *url;
    Str bearer; /* (optional) the token; the caller decides who may see it */
    bool ranged;
    uint64_t from, to; /* the first byte wanted, and the last */
} HttpRequest;

typedef struct HttpConn { /* zero but for `client`: not connected */
    HttpClient *client;
    bool open;
    int fd;
    TlsConn *tls;   /* NULL: plain */
    char host[256]; /* where it leads to */
    int port;
    bool secret;
    Buf in; /* what has come and is not yet handed out, from `at` on */
    size_t at;
    ReplyHead head; /* of the last reply; its fields live until the next request */
    Buf head_bytes;
    ReplyBody body;
} HttpConn;
/* Sends the request and reads the reply's head. */
bool http_start(HttpConn *, const HttpRequest *, Err *);
/* The next bytes of the body, valid until the next call; n 0: it has ended. */
bool http_read(HttpConn *, Str *bytes, Err *);
void http_end(HttpConn *); /* the rest of the body is not wanted */
void http_close(HttpConn *);

#endif
