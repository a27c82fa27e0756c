/* SPDX-License-Identifier: Apache-2.0
 * mcp_http.c - MCP's streamable HTTP: one POST, one JSON-RPC message, one answer as JSON. No
 * sessions and no streams, which both eras allow; GET and DELETE are 405. */
#include "data/json.h"
#include "loop.h"
#include "mcp.h"
#include "origin.h"

enum { MESSAGE_BYTES = 4 << 20 }; /* of a message: it is read on the loop's thread */

/* ---- who may ask ---- */
/* A page in a browser says where it comes from, and cannot say anything else. That it is the host
 * asked for proves nothing: whoever owns a name can let it mean this machine. */
static bool origin_fits(const Exchange *x)
{
    Str text = exchange_header(x, HEADER_ORIGIN);
    Origin from;
    if (!text.p || x->origin) return true;
    return origin_read(text, &from) && origin_host_is_local(from.host) &&
           (origin_same_host(from.scheme, STR("http")) ||
            origin_same_host(from.scheme, STR("https")));
}

/* Whoever is bound to a local address is asked by its name, or by one of --cors-origin. */
static bool host_fits(const Exchange *x, Header field)
{
    Str text = exchange_header(x, field);
    Origin to;
    if (!text.p) return true;
    return origin_read_host(text, &to) &&
           (!x->loop->local || origin_host_is_local(to.host) || access_host(x->loop, to.host));
}

static bool accepts_json(Str accept)
{
    return !accept.n || memmem(accept.p, accept.n, "application/json", 16) ||
           memmem(accept.p, accept.n, "*/*", 3);
}

/* 0: it may. */
static int refusal(const Exchange *x, Err *err)
{
    static const Header hosts[] = { HEADER_AUTHORITY, HEADER_HOST };
    Str type = exchange_header(x, HEADER_CONTENT_TYPE);
    for (size_t i = 0; i < COUNT(hosts); i++)
        if (!host_fits(x, hosts[i]))
            return fail(err, EF_UNAUTHORIZED, "Host: wanted %s",
                        x->loop->local ? "a local one" : "NAME or NAME:PORT"), 421;
    if (!origin_fits(x)) return fail(err, EF_UNAUTHORIZED, "Origin: not allowed here"), 403;
    if (!media_is(type, "application/json") || x->gzip_body)
        return fail(err, EF_MEDIA_TYPE,
                    "Unsupported Media Type: Content-Type must be application/json"),
               415;
    if (!accepts_json(exchange_header(x, HEADER_ACCEPT)))
        return fail(err, EF_MEDIA_TYPE, "Not Acceptable: Client must accept application/json"), 406;
    if (exchange_body(x).n > MESSAGE_BYTES)
        return fail(err, EF_TOO_LARGE, "message: found %zu bytes, wanted at most %d",
                    exchange_body(x).n, MESSAGE_BYTES),
               413;
    return 0;
}

/* ---- answers ---- */
static void reply(Exchange *x, int status, const Value *message)
{
    json_write(&x->kept, message);
    exchange_reply_kept(x, (Reply){ .status = status, .allow = x->allow });
}

static void answer_error(Exchange *x, const Err *err, int status)
{
    Arena arena = { .local = true };
    Value message = mcp_refusal(&arena, err);
    reply(x, status, &message);
    arena_free(&arena);
}

static void mcp_http_serve(Exchange *x)
{
    Err err = { 0 };
    int status = refusal(x, &err);
    if (status) return answer_error(x, &err, status);
    Job *job = x->job = job_new();
    x->carrier->take(x, job);
    McpCall *call = NEW(&job->work.arena, McpCall);
    McpHeaders headers = { exchange_header(x, HEADER_MCP_VERSION),
                           exchange_header(x, HEADER_MCP_METHOD),
                           exchange_header(x, HEADER_MCP_NAME) };
    mcp_read(&x->loop->site, job->in.body, mcp_era(headers.version), &headers,
             &job->work.arena, call);
    if (call->kind == MCP_RUN) {
        job->in.kind = &kind_predict;
        job->in.body = call->body;
        x->own = call;
        return exchange_run(x, job);
    }
    if (call->kind == MCP_REPLY) reply(x, call->http, &call->reply);
    else exchange_reply(x, (Reply){ .status = call->http }, (Str){ 0 });
    x->job = NULL;
    job_free(job);
}

static void mcp_http_returned(Exchange *x, Job *job)
{
    Value message = mcp_answer(x->own, job);
    reply(x, 200, &message);
}

/* ---- for OpenAPI ---- */
static Value schema(Arena *arena, const char *json)
{
    Value v = value_null();
    Err err;
    bool ok = json_parse(arena, str_of(json), &v, &err);
    assert(ok), (void)ok;
    return v;
}

#define JSONRPC "\"jsonrpc\":{\"type\":\"string\",\"const\":\"2.0\"}"
Value mcp_http_request(Arena *arena, const Site *site)
{
    (void)site;
    return schema(arena, "{\"type\":\"object\",\"required\":[\"jsonrpc\",\"method\"],"
                         "\"properties\":{" JSONRPC ",\"id\":{\"type\":[\"string\",\"number\"],"
                         "\"description\":\"absent: a notification\"},"
                         "\"method\":{\"type\":\"string\",\"examples\":[\"tools/list\"]},"
                         "\"params\":{\"type\":\"object\"}}}");
}

Value mcp_http_reply(Arena *arena, const Site *site)
{
    (void)site;
    return schema(arena, "{\"type\":\"object\",\"required\":[\"jsonrpc\",\"id\"],"
                         "\"properties\":{" JSONRPC ",\"id\":{\"type\":[\"string\",\"number\","
                         "\"null\"]},\"result\":{\"type\":\"object\"},\"error\":"
                         "{\"type\":\"object\",\"required\":[\"code\",\"message\"],"
                         "\"properties\":{\"code\":{\"type\":\"integer\"},"
                         "\"message\":{\"type\":\"string\"}}}}}");
}

const Handler mcp_handler = { .serve = mcp_http_serve, .returned = mcp_http_returned, .error = answer_error };
