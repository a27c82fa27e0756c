/* SPDX-License-Identifier: Apache-2.0
 * loop.h - the inside of the server: one loop, its connections, and the way back from the session.
 * Included by this folder's files only. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H
#include <pthread.h>

#include "http1.h"
#include "routes.h"
#include "server.h"

/* reading -> (waiting | streaming ->) writing -> reading ... ; lingering: a last look at what the
 * client still sends, so that closing does not destroy the reply; closed: until the end of this
 * turn of the loop. */
typedef enum {
    CONN_READING,
    CONN_WAITING,
    CONN_STREAMING,
    CONN_WRITING,
    CONN_LINGERING,
    CONN_CLOSED
} ConnState;

enum { READ_SIZE = 64 << 10, ID_ROOM = 65 };

typedef struct Loop Loop;
typedef struct Stream Stream;
typedef struct Conn {
    Loop *loop;
    uint32_t slot;
    ConnState state;
    int fd;
    bool readable, writable;     /* as far as the last event and the last call said */
    bool half_closed, ended;     /* the client will send no more; all it sent has been read */
    bool fresh;                  /* `in` has bytes that were not looked at */
    bool begun;                  /* a request has begun to arrive */
    bool head_only, close, linger; /* reply: to HEAD; the last; with unread input behind */
    bool gzip;                   /* the client takes packed replies */
    Http1 http;
    Buf in, out;                 /* out: head of the reply, and small bodies */
    Str body;                    /* of the reply, after out: a page, or job->json */
    size_t written;              /* of both */
    Job *job;                    /* in the session, or with the reply being written */
    Stream *stream;
    size_t counted;              /* its bytes of loop->bytes */
    double share;                /* its jobs' share of the model */
    double began, answered;      /* the request's first byte; the reply was there */
    const Route *route;          /* of the request; NULL: none */
    const char *allow;           /* methods of its path, where they are to be told; or NULL */
    const char *origin;          /* of a page that may read the reply, or NULL */
    int status;                  /* of the reply */
    char id[ID_ROOM];            /* of the request */
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

struct Loop {
    Session *session;
    ServerOptions options;       /* defaults filled in */
    Site site;
    Arena arena;                 /* of pages and slots */
    Page *page;                  /* [routes] */
    const char *const *keys, *const *origins; /* of the options, NULL-terminated; NULL: none */
    ServerMeters meters;
    Slot *slot;                  /* [max_connections] */
    uint32_t free;               /* first free slot; max_connections: none */
    Conn *closed;                /* freed at the end of the turn */
    int live, peak;              /* connections in use; most since memory was given back */
    int epoll, wake;             /* descriptors; -1: none */
    int listener[2];             /* TCP, UNIX; -1: none */
    bool accepting, draining, stopping;
    double now, close_at;        /* close_at: the end of draining's first part */
    size_t bytes;                /* that connections hold: bodies and replies */
    uint64_t next_id;
    char date[HTTP1_DATE];
    int64_t date_of;             /* the second that `date` says */
    char *scratch;               /* [READ_SIZE]: idle connections have no buffer of their own */
    double started;
    pthread_mutex_t lock;        /* of what follows: the session appends, the loop takes */
    Job *returned, **returned_end;
    int away;                    /* jobs in the session */
};

/* conn.c */
void conn_start(Conn *, int fd);
void conn_event(Conn *, uint32_t events);
void conn_returned(Conn *, Job *);              /* its job is back */
void conn_expire(Conn *);                       /* its deadline has passed */
void conn_tick(Conn *);                         /* something may be possible that was not before */
void conn_stop(Conn *);                         /* ends it unless a request has begun */
void conn_close(Conn *);
bool conn_idle(const Conn *);
/* For stream.c: */
bool conn_receive(Conn *);                      /* bytes came */
bool conn_send(Conn *);                         /* all of the reply so far is with the system */
bool conn_submit(Conn *, Job *, Err *);
void conn_begin_reply(Conn *, Http1Reply);
void conn_end_request(Conn *);                  /* the reply is complete */
void conn_deadline(Conn *, double seconds);     /* from now */
void conn_count(Conn *, size_t bytes);          /* what it holds now */

/* stream.c: POST /predict line by line */
bool stream_wanted(const Route *, Str content_type);
void stream_start(Conn *);
void stream_advance(Conn *);
void stream_returned(Conn *, Job *);
void stream_free(Conn *);                       /* abandons what is on its way */

/* loop.c */
Slot *loop_slot(Loop *, const Conn *);
void loop_release(Loop *, Conn *);
void loop_lend(Loop *, int jobs);               /* so many more are in the session */
void loop_return(Job *);                        /* Job.done */
const char *loop_date(Loop *);

/* access.c: who may, and who did. */
bool access_allowed(const Loop *, const Route *, Str authorization, Err *);
const char *access_origin(const Loop *, Str origin); /* what to answer; NULL: nothing */
void access_log(const Conn *);

/* listen.c: a listening socket; *port: the one that was bound. -1: err. */
int listen_on(const char *hostname, int *port, Err *);
int listen_on_path(const char *path, Err *);

#endif
