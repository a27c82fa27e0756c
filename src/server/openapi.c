/* SPDX-License-Identifier: Apache-2.0
 * openapi.c - the routes as an OpenAPI 3.1 document. Nothing is written down twice: operations come
 * from the route rows, schemas from the task's fields, statuses from the table below. */
#include "data/json.h"
#include "http1.h"
#include "routes.h"

static const struct Failure {
    int status;
    bool bodies_only;            /* only requests with a body can meet it */
    const char *when;
} failures[] = {
    { 400, false, "Not parseable: broken HTTP or broken JSON" },
    { 405, false, "The route exists, the method does not; see Allow" },
    { 408, false, "The request did not arrive in time" },
    { 413, true, "The body, the number of inputs or the output is over its limit" },
    { 415, true, "The body is not application/json" },
    { 417, false, "Expect asks for something other than 100-continue" },
    { 422, true, "Parseable, but wrong: empty text, wrong type, unknown option" },
    { 429, true, "The queue is full; try again after Retry-After seconds" },
    { 431, false, "The header is over its limit" },
    { 500, true, "The model could not be run" },
    { 503, false, "The server is stopping or has no free connection" },
};

static Value text(const char *s)
{
    return value_of_str(str_of(s));
}

/* {key: value}; most of OpenAPI is maps with one member. */
static Value single(Arena *arena, const char *key, Value value)
{
    Value map = value_map(arena, 1);
    value_add(&map, key, value);
    return map;
}

static Value json_content(Arena *arena, Value schema)
{
    return single(arena, "application/json", single(arena, "schema", schema));
}

static Value response(Arena *arena, const char *description, Value schema)
{
    Value map = value_map(arena, 2);
    value_add(&map, "description", text(description));
    value_add(&map, "content", json_content(arena, schema));
    return map;
}

static Value reference(Arena *arena, const char *component)
{
    return single(arena, "$ref", text(str_format(arena, "#/components/schemas/%s", component)));
}

/* "predict", "Request" -> "PredictRequest". */
static const char *component_name(Arena *arena, const Route *route, const char *role)
{
    return str_format(arena, "%c%s%s", route->id[0] - 'a' + 'A', route->id + 1, role);
}

static Value responses(Arena *arena, const Route *route)
{
    Value map = value_map(arena, COUNT(failures) + 1);
    const char *reply = component_name(arena, route, "Reply");
    value_add(&map, "200", response(arena, http1_reason(200), reference(arena, reply)));
    for (size_t i = 0; i < COUNT(failures); i++) {
        if (failures[i].bodies_only && !route->request) continue;
        value_add(&map, str_format(arena, "%d", failures[i].status),
                  response(arena, failures[i].when, reference(arena, "Error")));
    }
    return map;
}

static Value operation(Arena *arena, const Route *route)
{
    Value map = value_map(arena, 4);
    value_add(&map, "operationId", text(route->id));
    value_add(&map, "summary", text(route->summary));
    if (route->request) {
        Value body = value_map(arena, 2);
        value_add(&body, "required", value_of_bool(true));
        value_add(&body, "content",
                  json_content(arena, reference(arena, component_name(arena, route, "Request"))));
        value_add(&map, "requestBody", body);
    }
    value_add(&map, "responses", responses(arena, route));
    return map;
}

static const char *lower(Arena *arena, const char *word)
{
    char *copy = str_dup(arena, str_of(word));
    for (char *c = copy; *c; c++) *c |= 32;
    return copy;
}

static Value paths(Arena *arena, const Route *route, size_t n)
{
    Value map = value_map(arena, n);
    for (size_t i = 0; i < n; i++)
        value_add(&map, route[i].path,
                  single(arena, lower(arena, route[i].method), operation(arena, &route[i])));
    return map;
}

static Value schemas(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n * 2 + 1);
    for (size_t i = 0; i < n; i++) {
        if (route[i].request)
            value_add(&map, component_name(arena, &route[i], "Request"),
                      route[i].request(arena, site));
        value_add(&map, component_name(arena, &route[i], "Reply"), route[i].reply(arena, site));
    }
    value_add(&map, "Error", schema_describe(arena, error_schema));
    return map;
}

void openapi_render(Arena *arena, const Site *site, Buf *out)
{
    size_t n;
    const Route *route = route_all(&n);
    Value document = value_map(arena, 4), info = value_map(arena, 3);
    value_add(&info, "title", text("encoderfile"));
    value_add(&info, "version", text(EF_VERSION));
    value_add(&info, "description",
              text(str_format(arena, "%.*s: %s", STR_ARG(site->model_id), site->task->name)));
    value_add(&document, "openapi", text("3.1.0"));
    value_add(&document, "info", info);
    value_add(&document, "paths", paths(arena, route, n));
    value_add(&document, "components",
              single(arena, "schemas", schemas(arena, site, route, n)));
    json_write(out, &document);
}
