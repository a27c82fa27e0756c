/* SPDX-License-Identifier: Apache-2.0
 * routes.c - the rows, the pages behind them, and the body of every error. */
#include "routes.h"

#include <ctype.h>
#include <strings.h>

#include "data/json.h"
#include "grpc.h"
#include "loop.h"

static Value text(const char *s)
{
    return value_of_str(str_of(s));
}

/* ---- pages ---- */
static Value openapi_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 1);
    value_add(&schema, "type", text("object"));
    return schema;
}

/* ---- probes ---- */
static int ready_live(const Loop *loop, Buf *out)
{
    Err err = { 0 };
    if (!loop->draining) return buf_puts(out, "\"ready\""), 200;
    fail(&err, EF_UNAVAILABLE, "stopping: no new requests");
    error_write(out, &err, 503, DIALECT_OWN);
    return 503;
}

static Value ready_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 2);
    value_add(&schema, "type", text("string"));
    value_add(&schema, "const", text("ready"));
    return schema;
}

/* ---- rows ---- */
#define PAGE(page) .render = page##_render, .reply = page##_reply
static const Route routes[] = {
    { "GET", "/", "index", "The routes of this server", PAGE(index), .open = true },
    { "POST", "/", "hub", "What the model is for, in the shapes of the Hugging Face Hub",
      .job = &kind_hub },
    { "GET", "/health", "health", "Whether the server answers; never waits for the model",
      PAGE(alive), .open = true },
    { "GET", "/ready", "ready", "Whether new requests are welcome; never waits for the model",
      .live = ready_live, .reply = ready_reply, .open = true },
    { "GET", "/metrics", "metrics", "Counters and histograms for Prometheus", .live = metrics_page,
      .open = true },
    { "GET", "/model", "model", "Name, task and labels of the model", PAGE(model) },
    { "GET", "/openapi.json", "openapi", "This description", PAGE(openapi), .open = true },
    { "POST", "/predict", "predict", "Runs the model on texts", .job = &kind_predict_any,
      .line = &kind_predict },
    /* text-embeddings-inference */
    { "GET", "/info", "info", "Model and limits, as text-embeddings-inference tells them",
      PAGE(info), .dialect = DIALECT_TEI },
    { "POST", "/embed", "embed", "Texts to vectors", .job = &kind_tei_embed },
    { "POST", "/embed_all", "embed_all", "Texts to a vector for each of their tokens",
      .job = &kind_tei_embed_all },
    { "POST", "/embed_sparse", "embed_sparse", "Texts to weights of the vocabulary's words",
      .job = &kind_tei_sparse },
    { "POST", "/rerank", "rerank", "Texts by how well they fit a query", .job = &kind_rerank_any },
    { "POST", "/similarity", "similarity", "How near sentences are to one",
      .job = &kind_tei_similarity },
    { "POST", "/tokenize", "tokenize", "Texts to the model's tokens, not truncated",
      .job = &kind_tei_tokenize },
    { "POST", "/decode", "decode", "Token ids back to texts", .job = &kind_tei_decode },
    { "POST", "/invocations", "invocations", "The same as POST /", .job = &kind_hub,
      .alias = true },
    { "POST", "/vertex", "vertex", "A list of requests of POST /, as Vertex AI sends them",
      .handler = &vertex_handler, .dialect = DIALECT_TEI, .alias = true },
    { "GET", "/ping", "ping", "The same as /health", PAGE(alive), .open = true, .alias = true },
    { "GET", "/api-doc/openapi.json", "api_doc", "The same as /openapi.json", PAGE(openapi),
      .open = true, .alias = true },
    /* OpenAI, Cohere and those who follow them */
    { "GET", "/v1/models", "models", "The model, in a list", PAGE(models) },
    { "GET", "/v1/models/{model}", "model_card", "The model", PAGE(model_card) },
    { "POST", "/v1/embeddings", "embeddings", "Texts to vectors, as OpenAI does",
      .job = &kind_openai_embed },
    { "POST", "/embeddings", "embeddings_root", "The same as /v1/embeddings",
      .job = &kind_openai_embed, .alias = true },
    { "POST", "/v1/rerank", "rerank_v1", "Documents by how well they fit a query",
      .job = &kind_rerank_documents },
    { "POST", "/v2/rerank", "rerank_v2", "The same as /v1/rerank", .job = &kind_rerank_documents },
    { "POST", "/mcp", "mcp", "Model Context Protocol: one JSON-RPC message",
      .handler = &mcp_handler, .error = mcp_http_error, .request = mcp_http_request,
      .reply = mcp_http_reply },
    { "POST", "gRPC", "grpc", "Calls, by any path", .media = "application/grpc",
      .handler = &grpc_handler, .open = true },
};
_Static_assert(COUNT(routes) <= MOST_ROUTES, "counted per route");

const Route *route_all(size_t *count)
{
    *count = COUNT(routes);
    return routes;
}

Dialect route_dialect(const Route *route)
{
    if (!route) return DIALECT_OWN;
    return route->job ? route->job->dialect : route->dialect;
}

bool route_applies(const Route *route, const Site *site)
{
    return !route->job || site_can(site, route->job->needs);
}

bool route_described(const Route *route, const Site *site)
{
    return !route->media && !route->alias && route_applies(route, site);
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
    const char *gap = strstr(row->path, "{model}");
    size_t n = gap ? (size_t)(gap - row->path) : 0;
    if (!gap) return str_is(path, row->path);
    return path.n > n && memcmp(path.p, row->path, n) == 0 &&
           spells((Str){ path.p + n, path.n - n }, site->model_id);
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
    return row->media ? media_begins(asked.type, row->media) : matches(row, site, asked.path);
}

/* By the methods of the rows of one path: bit 0 GET, bit 1 others. */
static const char *const allowed[] = { NULL, "GET, HEAD, OPTIONS", "POST, OPTIONS",
                                       "GET, HEAD, POST, OPTIONS" };

const Route *route_find(const Site *site, Asked asked, const char **allow, Err *err)
{
    Str method = asked.method, path = asked.path;
    int methods = str_is(path, "*") ? 3 : 0; /* of the whole server */
    for (size_t i = 0; i < COUNT(routes); i++) {
        const Route *row = &routes[i];
        bool get = strcmp(row->method, "GET") == 0;
        if (!at_path(row, site, asked)) continue;
        if (str_is(method, row->method) || (get && str_is(method, "HEAD"))) return row;
        if (!row->media) methods |= get ? 1 : 2;
    }
    *allow = allowed[methods];
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

bool route_accepts(const Route *route, Str type, Err *err)
{
    if (!route->job || media_is(type, "application/json")) return true;
    if (route->line && media_is(type, "application/x-ndjson")) return true;
    return fail(err, EF_MEDIA_TYPE,
                "Expected request with `Content-Type: application/json`, found \"%.*s\"",
                (int)MIN(type.n, 80), type.p);
}

/* ---- errors ---- */
static const Field error_detail[] = {
    { "message", 0, F_STR, .required = true },
    { "type", 0, F_STR, .required = true, .help = "kind of the error, for programs" },
    { "param", 0, F_STR, .required = true, .nullable = true, .help = "JSON path of what is wrong" },
    { "code", 0, F_I32, .required = true, .help = "the HTTP status" },
    { 0 },
};
static const Field own_error[] = {
    { "error", 0, F_MSG, .required = true, .msg = error_detail, .msg_name = "ErrorDetail" },
    { "message", 0, F_STR, .required = true },
    { "code", 0, F_I32, .required = true },
    { "type", 0, F_STR, .required = true },
    { 0 },
};
static const char *const tei_types[] = { "Unhealthy", "Backend", "Overloaded", "Validation",
                                         "Tokenizer", "Empty", NULL };
static const Field tei_error[] = {
    { "error", 0, F_STR, .required = true },
    { "error_type", 0, F_STR, .required = true, .words = tei_types },
    { 0 },
};

const Field *error_schema(Dialect dialect)
{
    return dialect == DIALECT_TEI ? tei_error : own_error;
}

/* What TEI calls our errors, and answers with; 0: as we do. */
typedef struct TeiError {
    int status;
    const char *type;
} TeiError;

static TeiError tei_error_of(ef_code code)
{
    switch (code) {
    case EF_EMPTY: return (TeiError){ 400, "Empty" };
    case EF_OVERLOADED: return (TeiError){ 0, "Overloaded" };
    case EF_UNAVAILABLE:
    case EF_DEADLINE: return (TeiError){ 0, "Unhealthy" };
    case EF_BAD_MODEL:
    case EF_UNSUPPORTED:
    case EF_IO:
    case EF_INTERNAL: return (TeiError){ 424, "Backend" };
    default: return (TeiError){ 0, "Validation" };
    }
}

int error_status(const Err *err, Dialect dialect)
{
    int theirs = dialect == DIALECT_TEI ? tei_error_of(err->code).status : 0;
    return theirs ? theirs : err_kind(err->code)->http;
}

/* "inputs[2]" of "inputs[2]: found ...": what schema_check and the tasks put in front. */
static Value param_of(const Err *err)
{
    const char *m = err->message, *end = m;
    bool about_input = err->code == EF_INVALID_INPUT || err->code == EF_TOO_LARGE;
    if (!about_input && err->code != EF_EMPTY) return value_null();
    while (isalnum((unsigned char)*end) || (*end && strchr("_.[]", *end))) end++;
    bool path = end > m && end[0] == ':' && end[1] == ' ';
    return path ? value_of_str((Str){ m, (size_t)(end - m) }) : value_null();
}

static Value own_page(Arena *arena, const Err *err, int status)
{
    Value page = value_map(arena, 4), detail = value_map(arena, 4);
    Value message = text(err->message), type = text(err_kind(err->code)->name);
    value_add(&detail, "message", message);
    value_add(&detail, "type", type);
    value_add(&detail, "param", param_of(err));
    value_add(&detail, "code", value_of_int(status));
    value_add(&page, "error", detail);
    value_add(&page, "message", message);
    value_add(&page, "code", value_of_int(status));
    value_add(&page, "type", type);
    return page;
}

static Value tei_error_page(Arena *arena, const Err *err)
{
    Value page = value_map(arena, 2);
    value_add(&page, "error", text(err->message));
    value_add(&page, "error_type", text(tei_error_of(err->code).type));
    return page;
}

void error_write(Buf *out, const Err *err, int status, Dialect dialect)
{
    Arena arena = { .local = true };
    bool tei = dialect == DIALECT_TEI;
    Value page = tei ? tei_error_page(&arena, err) : own_page(&arena, err, status);
    json_write(out, &page);
    arena_free(&arena);
}
