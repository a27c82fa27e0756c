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
    bool keyed;                  /* only routes that may ask for a key */
} failures[] = {
    { 400, false, "Not parseable: broken HTTP or broken JSON" },
    { 401, false, "The server asks for a key, and this was none of its own", .keyed = true },
    { 405, false, "The route exists, the method does not; see Allow" },
    { 408, false, "The request did not arrive in time" },
    { 413, true, "The body, the number of inputs or the output is over its limit" },
    { 414, false, "The request line is over its limit" },
    { 415, true, "The body is not application/json, or packed by something else than gzip" },
    { 417, false, "Expect asks for something other than 100-continue" },
    { 422, true, "Parseable, but wrong: empty text, wrong type, unknown option" },
    { 429, true, "The queue is full; try again after Retry-After seconds" },
    { 431, false, "The header is over its limit" },
    { 500, true, "The model could not be run" },
    { 501, false, "Transfer-Encoding asks for something other than chunked" },
    { 503, false, "The server is stopping or has no free connection" },
    { 504, true, "The request waited longer than it may" },
    { 505, false, "Not HTTP/1.0 or HTTP/1.1" },
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

static Value content(Arena *arena, const char *type, Value schema)
{
    return single(arena, type, single(arena, "schema", schema));
}

static Value described(Arena *arena, const char *description, Value content_map)
{
    Value map = value_map(arena, 2);
    value_add(&map, "description", text(description));
    value_add(&map, "content", content_map);
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

static Value text_schema(Arena *arena)
{
    return single(arena, "type", text("string"));
}

/* JSON, and where the route knows lines, those too: each of them is such a JSON. */
static Value contents(Arena *arena, const Route *route, const char *component)
{
    Value map = value_map(arena, 2);
    Value schema = single(arena, "schema", reference(arena, component));
    value_add(&map, "application/json", schema);
    if (route->stream)
        value_add(&map, "application/x-ndjson", single(arena, "schema", text_schema(arena)));
    return map;
}

static Value success(Arena *arena, const Route *route)
{
    if (!route->reply) return content(arena, "text/plain", text_schema(arena));
    return contents(arena, route, component_name(arena, route, "Reply"));
}

static Value responses(Arena *arena, const Route *route)
{
    Value map = value_map(arena, COUNT(failures) + 1);
    value_add(&map, "200", described(arena, http1_reason(200), success(arena, route)));
    for (size_t i = 0; i < COUNT(failures); i++) {
        const struct Failure *row = &failures[i];
        if ((row->bodies_only && !route->request) || (row->keyed && route->open)) continue;
        value_add(&map, str_format(arena, "%d", row->status),
                  described(arena, row->when,
                            content(arena, "application/json", reference(arena, "Error"))));
    }
    return map;
}

/* A key is welcome, and needed only where the server was started with some. */
static Value security(Arena *arena)
{
    Value list = value_list(arena, 2);
    list.list.items[0] = single(arena, "key", value_list(arena, 0));
    list.list.items[1] = value_map(arena, 0);
    return list;
}

static Value operation(Arena *arena, const Route *route)
{
    Value map = value_map(arena, 5);
    value_add(&map, "operationId", text(route->id));
    value_add(&map, "summary", text(route->summary));
    if (!route->open) value_add(&map, "security", security(arena));
    if (route->request) {
        Value body = value_map(arena, 2);
        value_add(&body, "required", value_of_bool(true));
        value_add(&body, "content",
                  contents(arena, route, component_name(arena, route, "Request")));
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

/* A path's operations: rows of one path may stand apart. */
static Value path_item(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n);
    for (size_t i = 0; i < n; i++)
        if (route_described(&route[i], site) && strcmp(route[i].path, route->path) == 0)
            value_add(&map, lower(arena, route[i].method), operation(arena, &route[i]));
    return map;
}

static Value paths(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n);
    for (size_t i = 0; i < n; i++)
        if (route_described(&route[i], site) && !value_get(&map, route[i].path))
            value_add(&map, route[i].path, path_item(arena, site, &route[i], n - i));
    return map;
}

static Value schemas(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n * 2 + 1);
    for (size_t i = 0; i < n; i++) {
        if (!route_described(&route[i], site)) continue;
        if (route[i].request)
            value_add(&map, component_name(arena, &route[i], "Request"),
                      route[i].request(arena, site));
        if (route[i].reply)
            value_add(&map, component_name(arena, &route[i], "Reply"),
                      route[i].reply(arena, site));
    }
    value_add(&map, "Error", schema_describe(arena, error_schema));
    return map;
}

static Value components(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, 2), key = value_map(arena, 2);
    value_add(&key, "type", text("http"));
    value_add(&key, "scheme", text("bearer"));
    value_add(&map, "schemas", schemas(arena, site, route, n));
    value_add(&map, "securitySchemes", single(arena, "key", key));
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
    value_add(&document, "paths", paths(arena, site, route, n));
    value_add(&document, "components", components(arena, site, route, n));
    json_write(out, &document);
}
