/* SPDX-License-Identifier: Apache-2.0
 * routes.c - the rows of the server itself, the table of all rows, and who is found in it. */
#include "routes.h"

#include <strings.h>

#include "grpc.h"
#include "loop.h"
#include "web.h"

static Value routes_text(const char *s)
{
    return value_of_str(str_of(s));
}

/* ---- pages ---- */
static Value openapi_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 1);
    value_add(&schema, "type", routes_text("object"));
    return schema;
}

/* ---- probes ---- */
static void serve_ready(Exchange *x)
{
    Err err = { 0 };
    fail(&err, EF_UNAVAILABLE, "stopping: no new requests");
    if (x->loop->draining) error_write(&x->kept, &err, 503, x->route->family);
    else buf_puts(&x->kept, "\"ready\"");
    exchange_reply_kept(x, (Reply){ .status = x->loop->draining ? 503 : 200 });
}

static const Handler ready_handler = { .serve = serve_ready };

static Value ready_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 2);
    value_add(&schema, "type", routes_text("string"));
    value_add(&schema, "const", routes_text("ready"));
    return schema;
}

/* ---- rows ---- */
static const Route first[] = {
    { "GET", "/", "index", "The routes of this server", ROUTE_PAGE(index), .open = true,
      .web = "index.html" },
    { "GET", "/health", "health", "Whether the server answers; never waits for the model",
      ROUTE_PAGE(alive), .open = true },
    { "GET", "/ready", "ready", "Whether new requests are welcome; never waits for the model",
      .handler = &ready_handler, .reply = ready_reply, .open = true },
    { "GET", "/metrics", "metrics", "Counters and histograms for Prometheus",
      .handler = &metrics_handler, .open = true },
    { "GET", "/openapi.json", "openapi", "This description", ROUTE_PAGE(openapi), .open = true },
    { 0 },
};
static const Route pages[] = {       /* for browsers */
    { "GET", "/docs", "docs", "The routes, to be tried", .web = "docs.html", .open = true, .hidden = true },
    { "GET", "/ui/model.json", "ui_model", "What the explorer shows of the model", .handler = &explore_handler,
      .hidden = true },
    { "GET", "/ui/{file}", "ui", "Parts of the page", .handler = &web_handler, .open = true, .hidden = true },
    { 0 },
};
static const Route last[] = {
    { "POST", "/mcp", "mcp", "Model Context Protocol: one JSON-RPC message",
      .handler = &mcp_handler, .request = mcp_http_request, .reply = mcp_http_reply },
    { "POST", "gRPC", "grpc", "Calls, by any path", .handler = &grpc_handler, .open = true },
    { 0 },
};

typedef struct RouteTable {
    const Site *site;
    const Family *preferred;
    Route *row;
    size_t n;
} RouteTable;

static Route *table_find(const RouteTable *t, const char *method, const char *path)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->row[i].method, method) == 0 && strcmp(t->row[i].path, path) == 0)
            return &t->row[i];
    return NULL;
}

static void table_add(RouteTable *t, const Route *from, const Family *family)
{
    Route *there = table_find(t, from->method, from->path);
    Route row = *from;
    if (from->same_as) {
        const Route *same = table_find(t, from->method, from->same_as);
        assert(same);
        row = *same;
        row.path = from->path, row.id = from->id, row.summary = from->summary;
        row.hidden = true;
    } else {
        row.family = from->job ? from->job->family : family ? family : t->preferred;
        if (from->list) row.handler = &list_handler;
    }
    if (!there) {
        assert(t->n < MOST_ROUTES); /* counted per route */
        t->row[t->n++] = row;
    } else if (family == t->preferred && route_applies(&row, t->site)) {
        there->job = row.job;
        there->family = row.family;
    }
}

static void table_add_all(RouteTable *t, const Route *rows, const Family *family)
{
    for (; rows->path; rows++) table_add(t, rows, family);
}

void routes_make(Arena *arena, Site *site, const Family *preferred, bool ui)
{
    RouteTable t = { site, preferred, ARRAY(arena, Route, MOST_ROUTES), 0 };
    table_add_all(&t, first, NULL);
    for (int i = 0; families[i]; i++) table_add_all(&t, families[i]->route, families[i]);
    if (ui) table_add_all(&t, pages, NULL);
    table_add_all(&t, last, NULL);
    for (size_t i = 0; i < t.n && !ui; i++) t.row[i].web = NULL;
    site->route = t.row;
    site->routes = t.n;
}

const char *route_media(const Route *route)
{
    return route->handler ? route->handler->media : NULL;
}

bool route_applies(const Route *route, const Site *site)
{
    return !route->job || site_can(site, route->job->needs);
}

bool route_described(const Route *route, const Site *site)
{
    return !route_media(route) && !route->hidden && route_applies(route, site);
}

bool route_check(const Route *route, const Site *site, Err *err)
{
    if (route_applies(route, site)) return true;
    return fail(err, EF_UNSUPPORTED, "%s: found a model for %s, wanted %s", route->path,
                site->task->name, site_wanted(route->job->needs));
}

/* ---- finding ---- */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Whether the path's bytes, with %41 for A, are these. */
static bool spells(Str path, Str name)
{
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++, n++) {
        char c = path.p[i];
        int high = i + 2 < path.n ? hex_digit(path.p[i + 1]) : -1;
        int low = i + 2 < path.n ? hex_digit(path.p[i + 2]) : -1;
        if (c == '%' && high >= 0 && low >= 0) c = (char)(high * 16 + low), i += 2;
        if (n == name.n || name.p[n] != c) return false;
    }
    return n == name.n;
}

static bool matches(const Route *row, const Site *site, Str path)
{
    const char *gap = strchr(row->path, '{');
    size_t n = gap ? (size_t)(gap - row->path) : 0;
    if (!gap) return str_is(path, row->path);
    if (path.n <= n || memcmp(path.p, row->path, n) != 0) return false;
    return strcmp(gap, "{file}") == 0 || spells((Str){ path.p + n, path.n - n }, site->model_id);
}

/* "application/grpc" is also "application/grpc+proto". */
static bool media_begins(Str type, const char *wanted)
{
    size_t n = strlen(wanted);
    if (type.n < n || strncasecmp(type.p, wanted, n) != 0) return false;
    return type.n == n || strchr("+; \t", type.p[n]);
}

static bool at_path(const Route *row, const Site *site, Asked asked)
{
    const char *media = route_media(row);
    return media ? media_begins(asked.type, media) : matches(row, site, asked.path);
}

/* By the methods of the rows of one path: bit 0 GET, bit 1 others. */
static const char *const allowed[] = { NULL, "GET, HEAD, OPTIONS", "POST, OPTIONS",
                                       "GET, HEAD, POST, OPTIONS" };

/* A row for another kind of model is found where nothing else is at its path. */
const Route *route_find(const Site *site, Asked asked, const char **allow, Err *err)
{
    Str method = asked.method, path = asked.path;
    int methods = str_is(path, "*") ? 3 : 0, foreign = 0; /* "*": of the whole server */
    const Route *other = NULL;
    for (size_t i = 0; i < site->routes; i++) {
        const Route *row = &site->route[i];
        bool get = strcmp(row->method, "GET") == 0, applies = route_applies(row, site);
        if (!at_path(row, site, asked)) continue;
        if (str_is(method, row->method) || (get && str_is(method, "HEAD"))) {
            if (applies) return row;
            other = row;
        }
        if (!route_media(row)) *(applies ? &methods : &foreign) |= get ? 1 : 2;
    }
    if (other && !methods) return other;
    *allow = allowed[methods ? methods : foreign];
    if (*allow)
        fail(err, EF_METHOD, "%.*s: found method %.*s, wanted %s", (int)MIN(path.n, 200), path.p,
             (int)MIN(method.n, 40), method.p, *allow);
    else
        fail(err, EF_NOT_FOUND, "no such route: %.*s", (int)MIN(path.n, 200), path.p);
    return NULL;
}

bool media_is(Str type, const char *wanted)
{
    size_t n = strlen(wanted);
    if (type.n < n || strncasecmp(type.p, wanted, n) != 0) return false;
    return type.n == n || strchr("; \t", type.p[n]);
}

static bool route_may_take_files(const Route *route, const Site *site)
{
    return route->job && route->job->files && item_form_file(site->items);
}

bool route_takes_files(const Route *route, const Site *site, Str type)
{
    return route_may_take_files(route, site) && files_type(type);
}

bool route_accepts(const Route *route, const Site *site, Str type, Err *err)
{
    if (!route->job || media_is(type, "application/json")) return true;
    if (route->line && media_is(type, "application/x-ndjson")) return true;
    if (route_takes_files(route, site, type)) return true;
    return fail(err, EF_MEDIA_TYPE,
                "Expected request with `Content-Type: application/json`%s, found \"%.*s\"",
                !route_may_take_files(route, site) ? ""
                : site_can(site, CAN_SEE)          ? ", image/... or multipart/form-data"
                                                   : ", audio/... or multipart/form-data",
                (int)MIN(type.n, 80), type.p);
}
