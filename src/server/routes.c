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
static void health_render(Arena *arena, const Site *site, Buf *out)
{
    (void)arena, (void)site;
    buf_puts(out, "\"OK!\"");
}

static Value health_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 2);
    value_add(&schema, "type", text("string"));
    value_add(&schema, "const", text("OK!"));
    return schema;
}

static const Field model_schema[] = {
    { "model_id", 1, F_STR, .required = true, .help = "name of the model" },
    { "model_type", 2, F_STR, .required = true, .help = "its task" },
    { "id2label", 3, F_INT_STR_MAP, .required = true, .nullable = true, .help = "null: no labels" },
    { 0 },
};

static Value label_map(Arena *arena, const ModelConfig *config)
{
    Value map = value_map(arena, (size_t)config->num_labels);
    for (int i = 0; i < config->num_labels; i++)
        value_add(&map, str_format(arena, "%d", i), value_of_str(config->labels[i]));
    return map;
}

static void model_render(Arena *arena, const Site *site, Buf *out)
{
    bool labels = site->task->labelled && site->config->labels;
    Value page = value_map(arena, 3);
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", text(site->task->name));
    value_add(&page, "id2label", labels ? label_map(arena, site->config) : value_null());
    json_write(out, &page);
}

static Value model_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, model_schema);
}

static Value predict_request(Arena *arena, const Site *site)
{
    return task_request_describe(arena, site->task,
                                 (TaskLimits){ site->max_inputs, site->config->hidden_size });
}

static Value predict_reply(Arena *arena, const Site *site)
{
    return schema_describe(arena, task_reply_schema(site->task));
}

static const Field route_schema[] = {
    { "method", 0, F_STR, .required = true },
    { "path", 0, F_STR, .required = true },
    { "summary", 0, F_STR, .required = true },
    { 0 },
};
static const Field index_schema[] = {
    { "model_id", 0, F_STR, .required = true },
    { "model_type", 0, F_STR, .required = true },
    { "routes", 0, F_MSG, .repeated = true, .required = true, .msg = route_schema,
      .msg_name = "Route" },
    { 0 },
};

static void index_render(Arena *arena, const Site *site, Buf *out)
{
    size_t n;
    const Route *row = route_all(&n);
    Value page = value_map(arena, 3), routes = value_list(arena, n);
    routes.list.n = 0;
    for (size_t i = 0; i < n; i++) {
        if (!route_described(&row[i], site)) continue;
        Value *one = &routes.list.items[routes.list.n++];
        *one = value_map(arena, 3);
        value_add(one, "method", text(row[i].method));
        value_add(one, "path", text(row[i].path));
        value_add(one, "summary", text(row[i].summary));
    }
    value_add(&page, "model_id", value_of_str(site->model_id));
    value_add(&page, "model_type", text(site->task->name));
    value_add(&page, "routes", routes);
    json_write(out, &page);
}

static Value index_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_describe(arena, index_schema);
}

static Value openapi_reply(Arena *arena, const Site *site)
{
    (void)site;
    Value schema = value_map(arena, 1);
    value_add(&schema, "type", text("object"));
    return schema;
}

/* ---- what the tokenizer and vectors are good for beside predicting ---- */
/* Shapes that rows cannot say are written as JSON. */
static Value schema_of(Arena *arena, const char *json)
{
    Value v = value_null();
    Err err;
    bool ok = json_parse(arena, str_of(json), &v, &err);
    assert(ok);
    (void)ok;
    return v;
}

static Value tokenize_request(Arena *arena, const Site *site)
{
    Value schema = schema_of(arena,
        "{\"type\":\"object\",\"required\":[\"inputs\"],\"properties\":{\"inputs\":null,"
        "\"add_special_tokens\":{\"type\":\"boolean\",\"description\":\"true unless said\"},"
        "\"offsets\":{\"type\":\"string\",\"enum\":[\"bytes\",\"chars\"],"
        "\"description\":\"what start and stop count; bytes unless said\"}}}");
    Value *properties = (Value *)value_get(&schema, "properties");
    properties->map.items[0].value = task_texts_describe(arena, site->max_inputs);
    return schema;
}

static Value tokenize_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_of(arena,
        "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
        "\"required\":[\"id\",\"text\",\"special\",\"start\",\"stop\"],\"properties\":{"
        "\"id\":{\"type\":\"integer\"},\"text\":{\"type\":\"string\"},"
        "\"special\":{\"type\":\"boolean\"},\"start\":{\"type\":[\"integer\",\"null\"]},"
        "\"stop\":{\"type\":[\"integer\",\"null\"]},"
        "\"sequence\":{\"type\":\"integer\",\"description\":\"of a pair: 0 or 1\"}}}}}");
}

static Value decode_request(Arena *arena, const Site *site)
{
    const char *id = str_format(arena, "{\"type\":\"integer\",\"minimum\":0,\"maximum\":%zu}",
                                site->vocabulary - 1);
    return schema_of(arena, str_format(arena,
        "{\"type\":\"object\",\"required\":[\"ids\"],\"properties\":{\"ids\":{\"anyOf\":["
        "{\"type\":\"array\",\"minItems\":1,\"items\":%s},"
        "{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,"
        "\"items\":{\"type\":\"array\",\"items\":%s}}]},"
        "\"skip_special_tokens\":{\"type\":\"boolean\",\"description\":\"true unless said\"}}}",
        id, site->max_inputs, id));
}

static Value decode_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_of(arena, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
}

static Value similarity_request(Arena *arena, const Site *site)
{
    return schema_of(arena, str_format(arena,
        "{\"type\":\"object\",\"required\":[\"inputs\"],\"properties\":{"
        "\"inputs\":{\"type\":\"object\",\"required\":[\"source_sentence\",\"sentences\"],"
        "\"properties\":{\"source_sentence\":{\"type\":\"string\",\"minLength\":1},"
        "\"sentences\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":%zu,"
        "\"items\":{\"type\":\"string\",\"minLength\":1}}}},"
        "\"parameters\":{\"type\":[\"object\",\"null\"],\"properties\":{"
        "\"truncate\":{\"type\":[\"boolean\",\"null\"]}}}}}", site->max_inputs - 1));
}

static Value similarity_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema_of(arena, "{\"type\":\"array\",\"items\":{\"type\":\"number\"},"
                            "\"description\":\"cosine of each sentence with the source\"}");
}

static bool has_vectors(const Site *site)
{
    return site->task->pool != NULL;
}

/* ---- probes ---- */
static int ready_live(const Loop *loop, Buf *out)
{
    Err err = { 0 };
    if (!loop->draining) return buf_puts(out, "\"ready\""), 200;
    fail(&err, EF_UNAVAILABLE, "stopping: no new requests");
    error_write(out, &err, 503);
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
static const Route routes[] = {
    { "GET", "/", "index", "The routes of this server", .render = index_render,
      .reply = index_reply, .open = true },
    { "GET", "/health", "health", "Whether the server answers; never waits for the model",
      .render = health_render, .reply = health_reply, .open = true },
    { "GET", "/ready", "ready", "Whether new requests are welcome; never waits for the model",
      .live = ready_live, .reply = ready_reply, .open = true },
    { "GET", "/metrics", "metrics", "Counters and histograms for Prometheus", .live = metrics_page,
      .open = true },
    { "GET", "/model", "model", "Name, task and labels of the model", .render = model_render,
      .reply = model_reply },
    { "GET", "/openapi.json", "openapi", "This description", .render = openapi_render,
      .reply = openapi_reply, .open = true },
    { "POST", "/predict", "predict", "Runs the model on texts", .request = predict_request,
      .reply = predict_reply, .job = JOB_PREDICT, .stream = true },
    { "POST", "/tokenize", "tokenize", "Texts to the model's tokens, not truncated",
      .request = tokenize_request, .reply = tokenize_reply, .job = JOB_TOKENIZE },
    { "POST", "/decode", "decode", "Token ids back to texts", .request = decode_request,
      .reply = decode_reply, .job = JOB_DECODE },
    { "POST", "/similarity", "similarity", "How near sentences are to one", .request =
      similarity_request, .reply = similarity_reply, .job = JOB_SIMILARITY,
      .applies = has_vectors },
    { "POST", "gRPC", "grpc", "Calls, by any path", .media = "application/grpc",
      .handler = &grpc_handler, .open = true },
};
_Static_assert(COUNT(routes) <= MOST_ROUTES, "counted per route");

const Route *route_all(size_t *count)
{
    *count = COUNT(routes);
    return routes;
}

bool route_applies(const Route *route, const Site *site)
{
    return !route->applies || route->applies(site);
}

bool route_described(const Route *route, const Site *site)
{
    return !route->media && route_applies(route, site);
}

/* "application/grpc" is also "application/grpc+proto". */
static bool media_begins(Str type, const char *wanted)
{
    size_t n = strlen(wanted);
    if (type.n < n || strncasecmp(type.p, wanted, n) != 0) return false;
    return type.n == n || strchr("+; \t", type.p[n]);
}

static bool at_path(const Route *row, Asked asked)
{
    return row->media ? media_begins(asked.type, row->media) : str_is(asked.path, row->path);
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
        if (!at_path(row, asked) || !route_applies(row, site)) continue;
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
    if (!route->request || media_is(type, "application/json")) return true;
    if (route->stream && media_is(type, "application/x-ndjson")) return true;
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
const Field error_schema[] = {
    { "error", 0, F_MSG, .required = true, .msg = error_detail, .msg_name = "ErrorDetail" },
    { "message", 0, F_STR, .required = true },
    { "code", 0, F_I32, .required = true },
    { "type", 0, F_STR, .required = true },
    { 0 },
};

/* "inputs[2]" of "inputs[2]: found ...": what schema_check and the tasks put in front. */
static Value param_of(const Err *err)
{
    const char *m = err->message, *end = m;
    if (err->code != EF_INVALID_INPUT && err->code != EF_TOO_LARGE) return value_null();
    while (isalnum((unsigned char)*end) || (*end && strchr("_.[]", *end))) end++;
    bool path = end > m && end[0] == ':' && end[1] == ' ';
    return path ? value_of_str((Str){ m, (size_t)(end - m) }) : value_null();
}

void error_write(Buf *out, const Err *err, int status)
{
    Arena arena = { 0 };
    Value page = value_map(&arena, 4), detail = value_map(&arena, 4);
    Value message = text(err->message), type = text(err_kind(err->code)->name);
    value_add(&detail, "message", message);
    value_add(&detail, "type", type);
    value_add(&detail, "param", param_of(err));
    value_add(&detail, "code", value_of_int(status));
    value_add(&page, "error", detail);
    value_add(&page, "message", message);
    value_add(&page, "code", value_of_int(status));
    value_add(&page, "type", type);
    json_write(out, &page);
    arena_free(&arena);
}
