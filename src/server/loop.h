/* SPDX-License-Identifier: Apache-2.0
 * loop.h - the inside of the server: loops, their connections, and the way back from the session.
 * Included by this folder's files only. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H
#include <pthread.h>
#include <sys/uio.h>

#include "exchange.h"
#include "server.h"
#include "net/tls.h"
#include "trace.h"

/* Lingering: a last look at what the client still sends, so that closing does not destroy the
 * reply; closed: until the end of this turn of the loop. */
typedef enum { CONN_OPEN, CONN_LINGERING, CONN_CLOSED } ConnState;

enum { READ_SIZE = 64 << 10 };
enum { LISTEN_TCP, LISTEN_UNIX, LISTEN_GRPC, LISTENERS };

typedef struct Loop Loop;
typedef struct H2 H2;
typedef struct Conn {
    Loop *loop;
    uint32_t slot;
    ConnState state;
    int fd;
    TlsConn *tls;                /* NULL: plain */
    bool readable, writable;     /* as far as the last event and the last call said */
    bool half_closed, ended;     /* the client will send no more; all it sent has been read */
    bool broken;                 /* nothing can be written any more */
    bool starved;                /* there was no memory for what could be read */
    bool secure;                 /* TLS: idle after its handshake */
    bool greeted;                /* the protocol is known */
    bool fresh;                  /* `in` has bytes that were not looked at */
    bool begun;                  /* a request has begun to arrive */
    bool leaving;                /* the server stops: a last request may come */
    bool close, linger;          /* after the reply; with unread input behind */
    Http1 http;
    Buf in;
    Exchange *x;                 /* the request whose head has come; NULL: none */
    H2 *h2;                      /* HTTP/2: instead of the three above; NULL: HTTP/1 */
    size_t counted;              /* its bytes of loop->bytes: of `in` */
    double share;                /* its jobs' share of the model */
    double began;                /* the request's first byte */
    struct Conn *next;           /* in the list of closed ones */
} Conn;

typedef struct Page {
    Buf plain, packed;           /* packed: empty where it is not worth it */
} Page;

typedef struct Slot {            /* the whole table is looked at every tick, so it is small */
    Conn *conn;                  /* NULL: free */
    double deadline;             /* of the connection's state */
    uint32_t generation;         /* tells its events and jobs from those of its predecessor */
    uint32_t next_free;
} Slot;

/* A connection on its way from the loop that accepted it to the one that will serve it. */
typedef struct Arrival {
    int fd;                      /* -1: none; the connection that is idle longest is to go */
    bool local;                  /* on the UNIX socket: never TLS */
    /* Where all are full, or there is none: */
    int asked;                   /* loops that were asked; */
    double deadline;             /*   the earliest of an idle connection among them, */
    int best;                    /*   and which loop has that one */
    bool decided;                /* all were asked: it is to make room here, or nowhere */
    struct Arrival *next;
} Arrival;

typedef struct ConnCensus {      /* connections, by what they do; atomic */
    int states[X_STATES], idle, lingering;
} ConnCensus;

/* What all loops have in common and write to. What they only read is copied to each. */
typedef struct Server {
    Loop *loop[MOST_SERVER_LOOPS];      /* [0] accepts, and has the pages, certificates and tracer of all */
    int n;
    int turn;                    /* of the loop that gets the next connection, among equals */
    int jobs;                    /* in the session that have not been seen back; atomic */
    int arrivals;                /* on their way between loops; atomic */
    bool stopping;               /* no connection will come any more; atomic */
    ServerMeters meters;
} Server;

struct Loop {
    Server *server;
    Session *session;
    ServerOptions options;       /* defaults filled in */
    Site site;
    Arena arena;                 /* of pages and slots */
    Page *page;                  /* [routes] */
    const struct Grpc *grpc;     /* what gRPC offers */
    const char *const *keys, *const *origins; /* of the options, NULL-terminated; NULL: none */
    bool local;                  /* the port is bound to an address of this machine alone */
    Tls *tls;                    /* of the port; NULL: plain */
    Tracer *tracer;              /* NULL: none */
    Slot *slot;                  /* [slots]: its part of max_connections */
    uint32_t slots, used;        /* used: those behind it have always been free */
    uint32_t free;               /* first free slot; `slots`: none */
    Conn *closed;                /* freed at the end of the turn */
    int live;                    /* connections in use; atomic */
    int peak;                    /* of all loops, the most since memory was given back */
    ConnCensus census;           /* at the last tick */
    pthread_mutex_t counting;    /* of what follows: */
    void *const *counted;        /* [families]: what they count of this loop's requests */
    int epoll, wake;             /* descriptors; -1: none */
    int listener[LISTENERS];     /* -1: none */
    const char *grpc_host;       /* and port: of its listener, if it has one */
    int grpc_port;
    bool accepting, draining, stopping;
    int dumped, reloaded;        /* wishes that were fulfilled */
    double now, close_at;        /* close_at: the end of draining's first part */
    Budget *budget;              /* the session's: bodies and replies count there */
    uint64_t next_id;
    char date[HTTP_DATE];
    int64_t date_of;             /* the second that `date` says */
    char *scratch;               /* [READ_SIZE]: idle connections have no buffer of their own */
    double started;
    pthread_mutex_t turn;        /* of all above; the loop has it unless it sleeps */
    pthread_mutex_t lock;        /* of what follows: others append, the loop takes */
    Work *returned, **returned_end;
    Arrival *arrival, **arrival_end;
    int coming;                  /* of these; atomic */
    bool mail;                   /* there is something in either list; atomic */
    bool asleep;                 /* it looks at no list before it is woken */
    int away;                    /* jobs whose threads may still touch this; atomic */
};

/* conn.c */
void conn_start(Conn *, int fd, TlsConn *);     /* NULL: plain. Then comes an event: */
void conn_event(Conn *, uint32_t events);       /* 0: just begun */
void conn_expire(Conn *);                       /* its deadline has passed */
void conn_tick(Conn *);                         /* something may be possible that was not before */
void conn_notice(Conn *);                       /* the end is near */
void conn_stop(Conn *);                         /* ends it unless a request has begun, or may come */
void conn_close(Conn *);
bool conn_idle(const Conn *);
void conn_deadline(Conn *, double seconds);     /* from now */
void conn_finish(Conn *);                       /* close, when the client has read all */
void conn_census(const Conn *, ConnCensus *);   /* adds it, or its requests by their state */

/* io.c: how many bytes went; 0: not now, or c->ended, c->broken. */
size_t io_read(Conn *, void *, size_t room);
size_t io_write(Conn *, struct iovec *, int parts);
void io_end(Conn *);                            /* no more will be written */

/* h2.c: the same over HTTP/2, many at once */
bool h2_greets(Str bytes, bool *maybe);         /* the client's first words; *maybe: too few yet */
void h2_start(Conn *);                          /* what has come is in c->in */
void h2_advance(Conn *);
void h2_tick(Conn *);
void h2_expire(Conn *);
void h2_notice(Conn *);                         /* tells the client to go elsewhere */
void h2_stop(Conn *);                           /* no new requests */
bool h2_idle(const H2 *);
void h2_census(const H2 *, int states[X_STATES]);
void h2_free(Conn *);

/* stream.c: POST /predict line by line */
extern const Handler line_handler;
/* list.c: a list of requests */
extern const Handler list_handler;
/* mcp_http.c: MCP's messages, and what OpenAPI says of them */
extern const Handler mcp_handler;
Value mcp_http_request(Arena *, const Site *);
Value mcp_http_reply(Arena *, const Site *);

/* loop.c */
/* What all hold has a limit: may one be there that holds so much? Small ones may. */
bool loop_has_room(const Loop *, size_t held, Err *);
Slot *loop_slot(Loop *, const Conn *);
void loop_release(Loop *, Conn *);
void loop_lend(Loop *, int jobs);               /* so many more are in the session */
void loop_return(Work *);                       /* Work.done */
const char *loop_date(Loop *);
void loop_deliver(Loop *, Arrival);             /* from any thread: it is that loop's now */
void loop_pause(Loop *, bool pause);            /* listeners are not looked at */
bool loop_open(Loop *, Err *);                  /* makes what it waits with */
void loop_run(Loop *, const volatile int *stop); /* by who has its turn */
void loop_end(Loop *);                          /* its own; no thread touches it any more */
/* This loop's as they are, the others' as they were at their last tick. */
ConnCensus loop_census_of_all(const Loop *);

/* server.c: what server_run is made of, for who has no sockets: */
void loop_make(Loop *, Session *, const ServerOptions *); /* all but its descriptors */
Conn *loop_conn(Loop *);                        /* a new one; there is a free slot. NULL: memory */
void loop_collect(Loop *);                      /* takes what the session has returned */
void loop_sweep(Loop *);                        /* forgets closed connections: the turn's end */
void loop_again(Loop *, Conn *);                /* as if something had come: after the others */

/* access.c: who may, and who did. */
bool access_allowed(const Loop *, const Route *, Str authorization, Err *);
const char *access_origin(const Loop *, Str origin); /* what to answer; NULL: nothing */
bool access_host(const Loop *, Str host);       /* that of an origin which may call */
void access_log(const Exchange *);

/* listen.c: a listening socket; *port: the one that was bound. -1: err. */
int listen_on(const char *hostname, int *port, Err *);
int listen_on_path(const char *path, Err *);

#endif
