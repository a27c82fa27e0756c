/* SPDX-License-Identifier: Apache-2.0
 * loop.h - the inside of the server: one loop, its connections, and the way back from the session.
 * Included by this folder's files only. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H
#include <pthread.h>

#include "http1.h"
#include "routes.h"
#include "server.h"

/* free -> reading -> (waiting ->) writing -> reading ... ; lingering: a last look at what the
 * client still sends, so that closing does not destroy the reply; gone: only the job is left. */
typedef enum {
    CONN_FREE,
    CONN_READING,
    CONN_WAITING,
    CONN_WRITING,
    CONN_LINGERING,
    CONN_GONE
} ConnState;

typedef struct Loop Loop;
typedef struct Conn {
    Loop *loop;
    ConnState state;
    int fd;
    uint32_t generation;         /* tells its events from those of its predecessor */
    uint32_t interest;           /* what epoll is asked for */
    double deadline;             /* of this state */
    Http1 http;
    bool begun;                  /* a request has begun to arrive */
    bool head_only, close, linger; /* reply: to HEAD; the last; with unread input behind */
    Buf in, out;                 /* out: head of the reply, and small bodies */
    Str body;                    /* of the reply, after out: a page, or job->json */
    size_t written;              /* of both */
    Job *job;
    struct Conn *next;           /* in the list of free ones */
} Conn;

struct Loop {
    Session *session;
    ServerOptions options;       /* defaults filled in */
    Site site;
    Arena arena;                 /* of pages and connections */
    Buf *page;                   /* [routes] */
    Conn *conn;                  /* [max_connections] */
    Conn *free;
    int live;                    /* connections in use */
    int epoll, listener, wake;   /* descriptors; -1: none */
    bool accepting, stopping;
    double now;
    pthread_mutex_t lock;        /* of `returned`: the session appends, the loop takes */
    Job *returned, **returned_end;
};

/* conn.c */
void conn_start(Conn *, int fd);
void conn_event(Conn *, uint32_t events);
void conn_returned(Conn *);                     /* its job is back */
void conn_expire(Conn *);                       /* its deadline has passed */
void conn_stop(Conn *);                         /* ends it unless a request has begun */
void conn_close(Conn *);
bool conn_idle(const Conn *);

/* loop.c */
void loop_watch(Loop *, Conn *, uint32_t interest);
void loop_release(Loop *, Conn *);              /* back to the free ones */
void loop_return(Job *);                        /* Job.done */

/* listen.c: a listening socket; *port: the one that was bound. -1: err. */
int listen_on(const char *hostname, int *port, Err *);

#endif
