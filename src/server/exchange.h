/* SPDX-License-Identifier: Apache-2.0
 * exchange.h - one request and its reply, whatever carries them: HTTP/1.1 one after the other
 * (conn.c), HTTP/2 many at once (h2.c). Routes know nothing of it.
 *
 * For who adds a route (a row of routes.c): a page, a live page and a job of the session need no
 * code. Anything else is a Handler, whose `serve` is called when the request is allowed and its
 * body is there (exchange_body; or, with `early`, as soon as its head is). It does one of:
 *
 *     exchange_reply(x, (Reply){ .status = 200 }, text)   whole; the text lives until the end
 *     exchange_reply_kept(x, (Reply){ ... })              whole; the text was written to x->kept
 *     exchange_fail(x, &err)                              the route's form of an error
 *     exchange_run(x, job)                                and one of these later, in `returned`
 *     exchange_begin(x, (Reply){ .pieces = true, ... })   in pieces: then exchange_send as often as
 *                                                         wanted, and exchange_end once
 *
 * In pieces, `advance` is called whenever more of the body has come, more of the reply was sent, or
 * a tenth of a second has passed. Back-pressure is the handler's duty, and simple: stop producing
 * while exchange_unsent is large; x->hungry = false while no more of the body can be used, and
 * exchange_consume what was used. Many jobs at once: exchange_submit. x->own is the handler's.
 *
 * Where memory is missing, all this is left in the middle (base/budget.h) and the exchange freed. So a
 * job hangs on x->job or in x->own before it is filled, texts go to x->kept or to an arena that is
 * `local`, and `end` frees what it finds.
 *
 * Reply.type NULL means JSON. A request's field: exchange_header(x, HEADER_...), rows in head.h.
 * x->trailers says whether this carrier can end a reply with trailers (HTTP/2 can). */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H
#include "head.h"
#include "http1.h"
#include "routes.h"

typedef enum {
    X_READING,                   /* the body is coming, and is kept until it is whole */
    X_WAITING,                   /* for x->job */
    X_OPEN,                      /* a handler is at work */
    X_SENDING,                   /* the reply is complete, but not sent */
    X_STATES
} ExchangeState;

enum { ID_ROOM = 65 };

struct Conn;
typedef struct Exchange Exchange;

typedef struct Carrier {         /* what HTTP/1 and HTTP/2 do in their own way */
    Str (*arrived)(const Exchange *);            /* the body, as far as it is there */
    void (*consume)(Exchange *, size_t bytes);   /* forgets its first bytes */
    void (*take)(Exchange *, Job *);             /* moves the whole body into the job */
    void (*begin)(Exchange *, const Reply *);    /* the head of the reply */
    void (*send)(Exchange *, Str);               /* some of its body, to the end of x->out */
    void (*end)(Exchange *, const ReplyField *trailers, size_t n);
    void (*wake)(Exchange *);                    /* something is to be sent; may end x */
} Carrier;

struct Exchange {
    struct Loop *loop;
    struct Conn *conn;           /* NULL: it is over, and waits for its jobs only */
    const Carrier *carrier;
    ExchangeState state;
    /* the request */
    Buf head;                    /* bytes of what follows */
    HttpSpan method, path, field[HEADERS]; /* at 0: absent (head.p[0] is no part of any) */
    bool complete;               /* the whole body has arrived */
    bool gzip_body;              /* and is packed */
    bool hungry;                 /* more of the body is wanted */
    size_t length;               /* the body's, as far as it was told; 0: not */
    size_t most;                 /* bytes of body that are taken; SIZE_MAX: as they are used */
    double began;                /* its first byte */
    const Route *route;          /* NULL: none */
    const Handler *handler;      /* the route's, or of its kind of content; NULL: none */
    const char *allow;           /* methods of its path, where they are to be told; or NULL */
    const char *origin;          /* of a page that may read the reply, or NULL */
    char id[ID_ROOM];
    /* the reply */
    bool head_only, gzip_reply;  /* to HEAD; the client takes packed ones */
    bool one_piece, trailers;    /* what the carrier can do: only whole replies; trailers */
    bool patient;                /* (handlers) may be silent as long as it likes */
    int status;                  /* 0: not begun */
    bool pieces;                 /* it has no length */
    double answered, ended;      /* when it began; when its last byte had been sent */
    Buf out;                     /* bytes to be sent; */
    Str rest;                    /*   behind them, borrowed: a page, job->json or `kept`; */
    Buf kept;                    /*   (the last: texts of its own) */
    size_t written;              /*   of both, so far */
    size_t sent;                 /* bytes of out that were sent and forgotten */
    /* work */
    Job *job;                    /* of exchange_run; with the reply until it is sent */
    int away;                    /* jobs in the session */
    void *own;                   /* the handler's */
    size_t counted;              /* its bytes of loop->bytes */
    void *stream;                /* the carrier's */
};

/* ---- for handlers ---- */
Str exchange_method(const Exchange *);
Str exchange_path(const Exchange *);
Str exchange_header(const Exchange *, Header);    /* p NULL: absent */
Str exchange_body(const Exchange *);            /* as far as it is there; whole: x->complete */
void exchange_consume(Exchange *, size_t bytes); /* they will not be asked for again */
void exchange_reply(Exchange *, Reply, Str body);
void exchange_reply_kept(Exchange *, Reply);
void exchange_fail(Exchange *, const Err *);
void exchange_refuse(Exchange *, const Err *, int status); /* instead of the error's own status */
void exchange_run(Exchange *, Job *);           /* job.kind and job.body are set; takes the job */
bool exchange_submit(Exchange *, Job *, Err *); /* false: the job is still the caller's */
void exchange_begin(Exchange *, Reply);
void exchange_send(Exchange *, Str);
void exchange_end(Exchange *, const ReplyField *trailers, size_t n);
size_t exchange_unsent(const Exchange *);
typedef struct Told {            /* header fields by a family's row, and their texts */
    ReplyField field[TOLD_FIELDS + 1]; /* and one of the server */
    ToldField room[TOLD_FIELDS];
} Told;
size_t exchange_told(const Family *, const Job *, Told *); /* how many there are */

/* ---- for carriers ---- */
Exchange *exchange_new(struct Conn *, const Carrier *, double began); /* NULL: no memory */
HttpSpan exchange_keep(Exchange *, Str);            /* some text of the head */
/* The head is there; x->complete: and that is all. false: refused, a reply has begun. */
bool exchange_head(Exchange *);
void exchange_complete(Exchange *);             /* the body is whole */
void exchange_advance(Exchange *);              /* X_OPEN: something may be possible */
void exchange_break(Exchange *, const Err *);   /* X_OPEN: the rest of the body is nonsense */
void exchange_returned(Exchange *, Job *);      /* from the loop */
void exchange_count(Exchange *, size_t bytes);  /* what it holds */
void exchange_sent(Exchange *);                 /* all of it: told to metrics and log, then freed */
void exchange_free(Exchange *);                 /* NULL is fine; what is on its way is abandoned */

#endif
