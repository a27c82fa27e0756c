/* SPDX-License-Identifier: Apache-2.0
 * routes.h - what the server answers. A route is a row (dialect/family.h): the loop finds it by
 * method and path, OpenAPI describes it. The server has rows of its own (probes, metrics, MCP,
 * gRPC); the others are those of the families. Most pages depend on the model only and are rendered
 * once, at start; the rest are jobs of the session, or a Handler answers. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H
#include "dialect/family.h"

struct Loop;
struct Exchange;

/* A route that answers in its own way; exchange.h has the words for it. All functions run on the
 * loop's thread and never wait. */
typedef struct Handler {
    bool early;                  /* serve when the head is there, not when the body has come too */
    void (*serve)(struct Exchange *);
    void (*advance)(struct Exchange *);        /* (optional) more body, more room, or some time */
    void (*returned)(struct Exchange *, Job *); /* (optional) a job that was submitted */
    void (*broken)(struct Exchange *, const Err *); /* (early) the rest of the body is nonsense */
    void (*end)(struct Exchange *);            /* (optional) frees x->own; its jobs on their way
                                                * are abandoned by it */
    /* (optional) its own form of errors, instead of error_write's */
    void (*error)(struct Exchange *, const Err *, int status);
    const char *media;           /* (optional) any path, if the content is of this type; the
                                  * route is not described */
} Handler;

enum { MOST_ROUTES = 64 };
/* Sets site->route: the server's rows and the families'. Of two families that have the same path,
 * the first gets it, or the preferred one (NULL: none) if its row is for this model. The server's own
 * rows have the preferred family's form of errors. Without `ui` there is no page for browsers. */
void routes_make(Arena *, Site *, const Family *preferred, bool ui);
/* Whether the model can do it. Where it cannot, clients expect the route, and an error. */
bool route_applies(const Route *, const Site *);
bool route_check(const Route *, const Site *, Err *); /* the same, with an error */
bool route_described(const Route *, const Site *); /* and stands in OpenAPI */
const char *route_media(const Route *);            /* Handler.media; NULL: it has a path */
typedef struct Asked { Str method, path, type; } Asked; /* type: of the content */
/* NULL: err says why (EF_NOT_FOUND, EF_METHOD) and *allow which methods there are, also for
 * OPTIONS. HEAD finds GET. */
const Route *route_find(const Site *, Asked, const char **allow, Err *);
bool route_accepts(const Route *, const Site *, Str content_type, Err *); /* EF_MEDIA_TYPE */
/* Whether a body of that type is a file, or a form with files, which this route takes. */
bool route_takes_files(const Route *, const Site *, Str content_type);
bool media_is(Str content_type, const char *wanted);        /* without its parameters */

void openapi_render(Arena *, const Site *, Buf *out);

/* ---- pages.c: what never changes ---- */
void alive_render(Arena *, const Site *, Buf *out);
void index_render(Arena *, const Site *, Buf *out);
Value alive_reply(Arena *, const Site *);
Value index_reply(Arena *, const Site *);

/* ---- metrics.c ---- */
enum { METER_STATUSES = 26 };
typedef struct ServerMeters {    /* of all loops: atomic */
    uint64_t answered[MOST_ROUTES + 1][METER_STATUSES]; /* by route (the last: none) and status */
    Meter seconds, write;        /* of jobs: first byte to last; reply there to reply sent */
    uint64_t received, sent;     /* bytes */
    uint64_t connections, turned_away, broken;
} ServerMeters;
void *const *metrics_make(Arena *); /* [families]: their numbers; NULL where one has none */
void metrics_returned(const struct Exchange *, const Job *); /* before its texts are forgotten */
void metrics_answered(const struct Exchange *);    /* its reply is sent */
extern const Handler metrics_handler;
void metrics_dump(const struct Loop *);            /* the state of things, as log lines */

#endif
