/* SPDX-License-Identifier: Apache-2.0
 * openapi.c - the routes as an OpenAPI 3.1 document. Nothing is written down twice: operations come
 * from the route rows, schemas from the task's fields, statuses from the table below. */
#include "data/json.h"
#include "http1.h"
#include "routes.h"

/* Whom a failure can meet. OWN, OTHER: errors in our form, in a family's; both: by the body. */
enum { BODY = 1, KEYED = 2, NAMED = 4, OWN = 8, OTHER = 16, RUN = 32, MCP = 64 };

static const struct Failure {
    int status;                  /* 0: what the family answers where the model cannot be run */
    bool early;                  /* before the route is known: always in our own form */
    int only;                    /* routes that have all of these; 0: every one */
    const char *when;
} failures[] = {
    { 400, false, 0, "Not parseable: broken HTTP or broken JSON; on some routes: no text" },
    { 401, false, KEYED, "The server asks for a key, and this was none of its own" },
    { 403, false, MCP, "Origin names a page of elsewhere that is not allowed" },
    { 404, false, NAMED, "There is no such model" },
    { 404, false, MCP, "There is no such method (since 2026-07-28)" },
    { 405, true, 0, "The route exists, the method does not; see Allow" },
    { 406, false, MCP, "Accept has no application/json" },
    { 408, true, 0, "The request did not arrive in time" },
    { 413, false, BODY, "The body is over --max-body (32 MiB, if not said), or the output is" },
    { 414, true, 0, "The request line is over its limit" },
    { 415, false, BODY, "The body is not application/json, or packed by something else than gzip" },
    { 417, true, 0, "Expect asks for something other than 100-continue" },
    { 421, false, MCP, "The server is bound to a local address, and Host names another" },
    { 422, false, RUN, "Parseable, but wrong: empty text, wrong type, unknown word, too many" },
    { 0, false, RUN | OTHER, "The model could not be run" },
    { 429, false, BODY, "The queue is full; try again after Retry-After seconds" },
    { 431, true, 0, "The header is over its limit" },
    { 500, false, RUN | OWN, "The model could not be run" },
    { 501, true, 0, "Transfer-Encoding asks for something other than chunked" },
    { 503, false, 0, "The server is stopping or has no free connection" },
    { 504, false, RUN, "The request waited longer than it may" },
    { 505, true, 0, "Not HTTP/1.0 or HTTP/1.1" },
};

/* The form of a family's own that errors of this route may have, or NULL. */
static const ErrorForm *other_form(const Route *route)
{
    const Family *either[] = { route->family, route->job ? route->job->other : NULL };
    for (size_t i = 0; i < COUNT(either); i++)
        if (error_form(either[i]) != &error_own) return error_form(either[i]);
    return NULL;
}

static bool has_own_form(const Route *route)
{
    const Family *other = route->job ? route->job->other : NULL;
    return error_form(route->family) == &error_own || (other && error_form(other) == &error_own);
}

static int traits(const Route *route)
{
    return (route->job ? BODY | RUN : 0) | (route->request ? BODY | MCP : 0) |
           (route->open ? 0 : KEYED) | (strstr(route->path, "{model}") ? NAMED : 0) |
           (other_form(route) ? OTHER : 0) | (has_own_form(route) ? OWN : 0);
}

static Value openapi_text(const char *s)
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
    value_add(&map, "description", openapi_text(description));
    value_add(&map, "content", content_map);
    return map;
}

static Value reference(Arena *arena, const char *component)
{
    return single(arena, "$ref", openapi_text(str_format(arena, "#/components/schemas/%s", component)));
}

/* "predict", "Request" -> "PredictRequest". */
static const char *component_name(Arena *arena, const Route *route, const char *role)
{
    return str_format(arena, "%c%s%s", route->id[0] - 'a' + 'A', route->id + 1, role);
}

static Value text_schema(Arena *arena)
{
    return single(arena, "type", openapi_text("string"));
}

/* JSON, and where the route knows lines, those too: each of them is such a JSON. */
static Value contents(Arena *arena, const Route *route, const char *component)
{
    Value map = value_map(arena, 2);
    Value schema = single(arena, "schema", reference(arena, component));
    value_add(&map, "application/json", schema);
    if (route->line)
        value_add(&map, "application/x-ndjson", single(arena, "schema", text_schema(arena)));
    return map;
}

static Value success(Arena *arena, const Route *route)
{
    if (!route->reply && !route->job) return content(arena, "text/plain", text_schema(arena));
    return contents(arena, route, component_name(arena, route, "Reply"));
}

static Value failure_of(Arena *arena, const struct Failure *row, int has)
{
    const char *own = has & MCP ? "McpReply" : has & OTHER ? "AnyError" : "Error";
    const char *form = row->early ? "Error" : own;
    return described(arena, row->when, content(arena, "application/json", reference(arena, form)));
}

static Value responses(Arena *arena, const Route *route)
{
    int has = traits(route);
    Value map = value_map(arena, COUNT(failures) + 2);
    value_add(&map, "200", described(arena, http1_reason(200), success(arena, route)));
    if (has & MCP)
        value_add(&map, "202", single(arena, "description", openapi_text("A notification: no answer")));
    for (size_t i = 0; i < COUNT(failures); i++) {
        const struct Failure *row = &failures[i];
        if ((row->only & has) != row->only) continue;
        int status = row->status ? row->status : other_form(route)->status(EF_INTERNAL);
        value_add(&map, str_format(arena, "%d", status), failure_of(arena, row, has));
    }
    return map;
}

/* The {model} of a path: there is one. */
static Value parameters(Arena *arena, const Site *site)
{
    Value list = value_list(arena, 1), one = value_map(arena, 4), schema = value_map(arena, 2);
    Value names = value_list(arena, 1);
    names.list.items[0] = value_of_str(site->model_id);
    value_add(&schema, "type", openapi_text("string"));
    value_add(&schema, "enum", names);
    value_add(&one, "name", openapi_text("model"));
    value_add(&one, "in", openapi_text("path"));
    value_add(&one, "required", value_of_bool(true));
    value_add(&one, "schema", schema);
    list.list.items[0] = one;
    return list;
}

/* A key is welcome, and needed only where the server was started with some. */
static Value security(Arena *arena)
{
    Value list = value_list(arena, 2);
    list.list.items[0] = single(arena, "key", value_list(arena, 0));
    list.list.items[1] = value_map(arena, 0);
    return list;
}

static Value operation(Arena *arena, const Site *site, const Route *route)
{
    Value map = value_map(arena, 6);
    value_add(&map, "operationId", openapi_text(route->id));
    value_add(&map, "summary", openapi_text(route->summary));
    if (!route->open) value_add(&map, "security", security(arena));
    if (traits(route) & NAMED) value_add(&map, "parameters", parameters(arena, site));
    if (traits(route) & BODY) {
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

static Value paths(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n);
    for (size_t i = 0; i < n; i++) {
        if (!route_described(&route[i], site)) continue;
        Value *path = (Value *)value_get(&map, route[i].path);
        if (!path) {
            value_add(&map, route[i].path, value_map(arena, 2));
            path = &map.map.items[map.map.n - 1].value;
        }
        value_add(path, lower(arena, route[i].method), operation(arena, site, &route[i]));
    }
    return map;
}

/* A form once, however many families have it. */
static bool form_is_new(int family)
{
    const ErrorForm *form = families[family]->errors;
    for (int i = 0; i < family; i++)
        if (families[i]->errors == form) return false;
    return form;
}

static Value any_error(Arena *arena)
{
    size_t n = 0;
    for (int i = 0; families[i]; i++) n += form_is_new(i);
    Value list = value_list(arena, n + 1);
    list.list.items[n] = reference(arena, "Error");
    n = 0;
    for (int i = 0; families[i]; i++)
        if (form_is_new(i))
            list.list.items[n++] = schema_describe(arena, families[i]->errors->schema);
    return single(arena, "anyOf", list);
}

static Value schemas(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, n * 2 + 2);
    for (size_t i = 0; i < n; i++) {
        if (!route_described(&route[i], site)) continue;
        const JobKind *job = route[i].job;
        Value (*reply)(Arena *, const Site *) = job ? job->reply : route[i].reply;
        Value (*request)(Arena *, const Site *) = job ? job->request : route[i].request;
        if (request)
            value_add(&map, component_name(arena, &route[i], "Request"), request(arena, site));
        if (reply)
            value_add(&map, component_name(arena, &route[i], "Reply"), reply(arena, site));
    }
    value_add(&map, "Error", schema_describe(arena, error_own.schema));
    value_add(&map, "AnyError", any_error(arena));
    return map;
}

static Value components(Arena *arena, const Site *site, const Route *route, size_t n)
{
    Value map = value_map(arena, 2), key = value_map(arena, 2);
    value_add(&key, "type", openapi_text("http"));
    value_add(&key, "scheme", openapi_text("bearer"));
    value_add(&map, "schemas", schemas(arena, site, route, n));
    value_add(&map, "securitySchemes", single(arena, "key", key));
    return map;
}

void openapi_render(Arena *arena, const Site *site, Buf *out)
{
    size_t n = site->routes;
    const Route *route = site->route;
    Value document = value_map(arena, 4), info = value_map(arena, 3);
    value_add(&info, "title", openapi_text("encoderfile"));
    value_add(&info, "version", openapi_text(EF_VERSION));
    value_add(&info, "description",
              openapi_text(str_format(arena, "%.*s: %s", STR_ARG(site->model_id), site->task->name)));
    value_add(&document, "openapi", openapi_text("3.1.0"));
    value_add(&document, "info", info);
    value_add(&document, "paths", paths(arena, site, route, n));
    value_add(&document, "components", components(arena, site, route, n));
    json_write(out, &document);
}
