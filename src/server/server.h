/* SPDX-License-Identifier: Apache-2.0
 * server.h - one model over HTTP/1.1 and HTTP/2, on a TCP port and perhaps a UNIX socket.
 *
 *   server.c    start and end; the loops
 *   loop.c      sockets and time; moves bytes, never blocks, never computes
 *   conn.c      one connection: bytes, and HTTP/1.1's requests one after the other
 *   h2.c        HTTP/2's requests, many at once, on the same port; io.c, tls.c: bytes
 *   http1.c     bytes -> a request, without any I/O (strict: what is ambiguous is refused)
 *   exchange.c  one request and its reply, whatever carries them; stream.c: one that goes by lines
 *   routes.c    rows: method, path, what to answer; pages that never change are rendered once; head.c: header fields
 *   openapi.c   the same rows and the task's schemas as an OpenAPI 3.1 document
 *   web.c       the page for browsers: files of web/, compressed inside the program
 *   one_page.c  one page for the person at this machine, without a model: `explore`
 *   metrics.c   counters of server and session, for Prometheus and for SIGUSR1
 *   grpc.h      gRPC: services as rows, reflection, calls
 *   mcp_http.c  MCP over HTTP; mcp.c has its messages
 *   list.c      a body that is a list of requests
 *   trace.c     spans for an OpenTelemetry collector
 *   access.c    API keys, origins, the access log; origin.c: Host and Origin as addresses
 *
 * The first loop runs on the caller's thread; it accepts connections and deals them out to all. A
 * request becomes a Job of the session; its reply comes back by its loop's list and an eventfd, or
 * is written by who made it while the loop sleeps: /health never waits for inference. Signals are
 * the caller's. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H
#include "dialect/dialect.h"

/* Defaults, also of the rows of `serve` (OPTION_DEFAULT). */
#define SERVER_ADDRESS "0.0.0.0"
#define SERVER_PORT 8080
#define SERVER_GRPC_PORT 50051
#define SERVER_MAX_BODY 33554432
#define SERVER_MAX_CONNECTIONS 16384
#define SERVER_IDLE_SECONDS 60
#define SERVER_HEADER_SECONDS 10
#define SERVER_BODY_SECONDS 30
#define SERVER_REQUEST_SECONDS 300
#define SERVER_GZIP_FROM 8192
enum { MOST_SERVER_LOOPS = 64 };

typedef enum { ACCESS_NONE, ACCESS_TEXT, ACCESS_JSON } AccessLog;

typedef struct ServerOptions {   /* zero means: the default, except for port */
    const char *hostname;        /* "0.0.0.0"; numeric ("[::1]" or "::1"), or one of /etc/hosts */
    int port;                    /* as it is; 0: any free one (ready is told which) */
    const char *unix_path;       /* a socket in the file system beside the port; NULL: none */
    /* A second port, as gRPC's clients expect one. Both here and there everything is spoken. */
    bool grpc;                   /* open it: */
    const char *grpc_hostname;   /* NULL: as hostname; with any address also IPv6's */
    int grpc_port;               /* 0: any free one */
    bool grpc_port_asked;        /* that it is taken is an error; else a warning */
    bool no_grpc, no_http;       /* not spoken on any port; no_http: `port` is not opened */
    bool no_ui;                  /* `/` is JSON for everybody, and there is no /docs */
    int loops;                   /* threads that read and write; by the session's threads */
    size_t max_body;             /* bytes of a request's body; 32 MiB */
    int max_connections;         /* 16384, or what the system allows */
    double idle_timeout_s;       /* between requests of a connection; 60 */
    double header_timeout_s;     /* from the first byte of a request to the end of its head; 10 */
    double body_timeout_s;       /* for the body, plus a second for every 64 KiB that came; 30 */
    double request_timeout_s;    /* from its last byte to its reply; 300 */
    double drain_s;              /* between *stop and the closed door, not ready any more; 0 */
    size_t gzip_from;            /* bytes of the smallest reply that is packed if asked; 8 KiB */
    const char *cert_file, *key_file; /* PEM: the port speaks TLS; NULL: plain */
    const char *client_ca_file;  /* PEM: clients need a certificate signed by one of these */
    const char *api_keys;        /* one a line; NULL: none is needed */
    const char *origins;         /* of pages that may call, one a line, or "*"; NULL: none */
    const Family *preferred;     /* (optional) its row wins where families share a path; errors of
                                  * no family's route have its form */
    AccessLog access;
    const char *trace_url;       /* of an OTLP/HTTP collector; NULL: no traces */
    /* (optional) called once on the loop's thread when requests are accepted; absent: one log
     * line. */
    void (*ready)(void *context, const char *address, int port);
    void *context;
    const volatile int *dump;    /* (optional) counts wishes for a line on the state of things */
    const volatile int *reload;  /* (optional) counts wishes to read the certificate again */
} ServerOptions;

/* Serves until *stop is not 0 (looked at every 100 ms), then finishes what has begun and returns
 * true. false: it could not listen; the message names address and reason. Does not drain the
 * session. */
bool server_run(Session *, const ServerOptions *, const volatile int *stop, Err *);

#endif
