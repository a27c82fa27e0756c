/* SPDX-License-Identifier: Apache-2.0
 * server.h - one model over HTTP/1.1: GET /, /health, /model, /openapi.json and POST /predict.
 *
 *   loop.c      sockets and time; moves bytes, never blocks, never computes
 *   http1.c     bytes -> Request, without any I/O (strict: what is ambiguous is refused)
 *   routes.c    rows: method, path, what to answer; pages that never change are rendered once
 *   openapi.c   the same rows and the task's schemas as an OpenAPI 3.1 document
 *
 * The loop runs on the caller's thread. A request becomes a Job of the session; its reply comes
 * back by one list and an eventfd, so /health never waits for inference. Signals are the
 * caller's. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H
#include "session/session.h"

enum { SERVER_PORT = 8080 };     /* what `serve` uses when nothing is said */

typedef struct ServerOptions {   /* zero means: the default, except for port */
    const char *hostname;        /* "0.0.0.0"; numeric ("[::1]" or "::1"), or one of /etc/hosts */
    int port;                    /* as it is; 0: any free one (ready is told which) */
    size_t max_body;             /* bytes of a request's body; 32 MiB */
    int max_connections;         /* 1024 */
    double idle_timeout_s;       /* between requests of a connection; 60 */
    double header_timeout_s;     /* from the first byte of a request to the end of its head; 10 */
    double body_timeout_s;       /* for the body, plus a second for every 64 KiB that came; 30 */
    /* (optional) called once on the loop's thread when requests are accepted; absent: one log
     * line. */
    void (*ready)(void *context, const char *address, int port);
    void *context;
} ServerOptions;

/* Serves until *stop is not 0 (looked at every 100 ms), then finishes what has begun and returns
 * true. false: it could not listen; the message names address and reason. Does not drain the
 * session. */
bool server_run(Session *, const ServerOptions *, const volatile int *stop, Err *);

#endif
