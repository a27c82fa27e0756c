/* SPDX-License-Identifier: Apache-2.0
 * routes.h - what the server answers. A route is a row: the loop finds it by method and path,
 * OpenAPI describes it. Most pages depend on the model only and are rendered once, at start; live
 * ones are written when asked for; the rest are jobs of the session. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H
#include "dialect/dialect.h"
#include "tei.h"

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
} Handler;

typedef struct Route {
    const char *method, *path;   /* a path may end in {model}: the model's name */
    const char *id, *summary;    /* of the OpenAPI operation */
    void (*render)(Arena *, const Site *, Buf *out);   /* the page, or */
    int (*live)(const struct Loop *, Buf *out);        /* the same now, and its status, or */
    const JobKind *job;          /* what the session is asked for, or */
    const Handler *handler;      /* what answers itself */
    const JobKind *line;         /* the same for a line of application/x-ndjson; NULL: no lines */
    Value (*reply)(Arena *, const Site *); /* JSON Schema of a page; NULL: text */
    Value (*request)(Arena *, const Site *); /* of what a handler takes; a job's is its kind's */
    /* (optional) its own form of errors, instead of error_write's */
    void (*error)(struct Exchange *, const Err *, int status);
    const char *media;           /* any path, if the content is of this type; not described */
    bool open;                   /* needs no key */
    bool alias;                  /* of another row: works, but is not described */
    Dialect dialect;             /* of a page's errors; a job's are its kind's */
} Route;

enum { MOST_ROUTES = 64 };
const Route *route_all(size_t *count);
/* Whether the model can do it. Where it cannot, TEI's clients expect the route, and 424. */
bool route_applies(const Route *, const Site *);
bool route_check(const Route *, const Site *, Err *); /* the same, with an error */
bool route_described(const Route *, const Site *); /* and stands in OpenAPI */
typedef struct Asked { Str method, path, type; } Asked; /* type: of the content */
/* NULL: err says why (EF_NOT_FOUND, EF_METHOD) and *allow which methods there are, also for
 * OPTIONS. HEAD finds GET. */
const Route *route_find(const Site *, Asked, const char **allow, Err *);
Dialect route_dialect(const Route *);                       /* NULL: ours */
bool route_accepts(const Route *, Str content_type, Err *); /* EF_MEDIA_TYPE */
bool media_is(Str content_type, const char *wanted);        /* without its parameters */

/* Ours: {"error": {"message", "type", "param", "code"}, "message", "code", "type"}, OpenAI's form
 * and TEI's flat one together; param: the JSON path that the message begins with, or null. TEI's:
 * {"error", "error_type"}. */
int error_status(const Err *, Dialect);
void error_write(Buf *, const Err *, int status, Dialect);
const Field *error_schema(Dialect);

void openapi_render(Arena *, const Site *, Buf *out);

/* ---- pages.c: what never changes ---- */
void alive_render(Arena *, const Site *, Buf *out);
void index_render(Arena *, const Site *, Buf *out);
void model_render(Arena *, const Site *, Buf *out);
void info_render(Arena *, const Site *, Buf *out);   /* TEI's */
Value info_page(Arena *, const Site *);
void models_render(Arena *, const Site *, Buf *out); /* OpenAI's: the list, and the only one */
void model_card_render(Arena *, const Site *, Buf *out);
Value alive_reply(Arena *, const Site *);
Value index_reply(Arena *, const Site *);
Value model_reply(Arena *, const Site *);
Value info_reply(Arena *, const Site *);
Value models_reply(Arena *, const Site *);
Value model_card_reply(Arena *, const Site *);

/* ---- metrics.c ---- */
enum { METER_STATUSES = 25 };
typedef struct ServerMeters {    /* the loop's own */
    uint64_t answered[MOST_ROUTES + 1][METER_STATUSES]; /* by route (the last: none) and status */
    Meter seconds, write;        /* of jobs: first byte to last; reply there to reply sent */
    uint64_t received, sent;     /* bytes */
    uint64_t connections, turned_away, broken;
    TeMeters te;
} ServerMeters;
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_answered(const struct Exchange *);    /* its reply is sent */
int metrics_page(const struct Loop *, Buf *out);
void metrics_dump(const struct Loop *);            /* the state of things, as log lines */

#endif
