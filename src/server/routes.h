/* SPDX-License-Identifier: Apache-2.0
 * routes.h - what the server answers. A route is a row: the loop finds it by method and path,
 * OpenAPI describes it. Pages depend on the model only, so they are rendered once, at start. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H
#include "task/task.h"

typedef struct Site {            /* what pages are made from */
    Str model_id;
    const Task *task;
    const ModelConfig *config;
} Site;

typedef struct Route {
    const char *method, *path;
    const char *id, *summary;    /* of the OpenAPI operation */
    void (*render)(Arena *, const Site *, Buf *out);   /* the page; NULL: a job of the session */
    Value (*request)(Arena *, const Site *);           /* JSON Schema of the body; NULL: no body */
    Value (*reply)(Arena *, const Site *);             /* JSON Schema of the answer */
} Route;

const Route *route_all(size_t *count);
/* NULL: err says why (EF_NOT_FOUND, EF_METHOD) and *allow which methods there are. HEAD finds
 * GET. */
const Route *route_find(Str method, Str path, const char **allow, Err *);
bool route_accepts(const Route *, Str content_type, Err *); /* EF_MEDIA_TYPE */

/* {"error": {"message", "type", "param", "code"}, "message", "code", "type"}: OpenAI's form and
 * TEI's in one. param: the JSON path that the message begins with, or null. */
void error_write(Buf *, const Err *, int status);
extern const Field error_schema[];

void openapi_render(Arena *, const Site *, Buf *out);

#endif
