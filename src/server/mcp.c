/* SPDX-License-Identifier: Apache-2.0
 * mcp.c - one message to one answer. What a host needs to list and call the tools of one model is
 * here; prompts, resources and sampling are not offered and so never asked for. */
#include "mcp.h"

#include "data/json.h"

#define MODERN "2026-07-28"
#define NEWEST_HANDSHAKE "2025-11-25"
#define META "io.modelcontextprotocol/"

enum { /* JSON-RPC's codes, then those of the modern era */
    PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602,
    INTERNAL = -32603, HEADER_MISMATCH = -32020, NO_VERSION = -32022,
};
enum { MESSAGE_VALUES = 1 << 20, CACHE_MS = 3600 * 1000 };

static const char *const handshakes[] = { "2024-11-05", "2025-03-26", "2025-06-18", NEWEST_HANDSHAKE };

static bool is_handshake(Str version)
{
    for (size_t i = 0; i < COUNT(handshakes); i++)
        if (str_is(version, handshakes[i])) return true;
    return false;
}

McpEra mcp_era(Str version)
{
    return !version.p || is_handshake(version) ? MCP_HANDSHAKE : MCP_MODERN;
}

/* ---- the tools: two names for one thing ---- */
struct McpTool {
    const char *name;            /* NULL: the task's */
    bool errors_are_results;     /* else they are JSON-RPC errors, as the Rust encoderfile's */
};
static const struct McpTool tools[] = { { "run_encoder", false }, { NULL, true } };

static const char *tool_name(const Site *site, const struct McpTool *tool)
{
    return tool->name ? tool->name : site->task->name;
}

/* ---- building messages ---- */
static Value mcp_text(const char *s)
{
    return value_of_str(str_of(s));
}

static Value message(Arena *arena, const Value *id, const char *what, Value content)
{
    Value v = value_map(arena, 3);
    value_add(&v, "jsonrpc", mcp_text("2.0"));
    value_add(&v, "id", id ? *id : value_null());
    value_add(&v, what, content);
    return v;
}

static Value error_of(Arena *arena, const Value *id, int code, const char *words_for_it, const Value *data)
{
    Value error = value_map(arena, 3);
    value_add(&error, "code", value_of_int(code));
    value_add(&error, "message", value_of_str(str_of(str_dup(arena, str_of(words_for_it)))));
    if (data) value_add(&error, "data", *data);
    return message(arena, id, "error", error);
}

static Value server_info(Arena *arena)
{
    Value v = value_map(arena, 2);
    value_add(&v, "name", mcp_text("encoderfile"));
    value_add(&v, "version", mcp_text(EF_VERSION));
    return v;
}

/* What every result of the modern era carries; `cached`: those of discovery and lists. */
static void add_modern(Arena *arena, Value *result, bool cached)
{
    Value meta = value_map(arena, 1);
    value_add(&meta, META "serverInfo", server_info(arena));
    value_add(result, "resultType", mcp_text("complete"));
    value_add(result, "_meta", meta);
    if (!cached) return;
    value_add(result, "ttlMs", value_of_int(CACHE_MS));
    value_add(result, "cacheScope", mcp_text("public"));
}

/* ---- reading ---- */
typedef struct Reader {
    const Site *site;
    Arena *arena;
    const McpHeaders *headers;
    const Value *root, *id, *params;
    Str method;
    McpCall *call;
} Reader;

/* The modern era has an HTTP status for each code, the handshake one only for what is no message. */
static int status_of(McpEra era, int code)
{
    if (code == PARSE_ERROR) return 400;
    if (era != MCP_MODERN) return code == INVALID_REQUEST ? 400 : 200;
    if (code == NO_METHOD) return 404;
    return code == INTERNAL ? 200 : 400;
}

static void mcp_refuse(Reader *r, int code, const char *why, const Value *data)
{
    r->call->kind = MCP_REPLY;
    r->call->http = status_of(r->call->era, code);
    r->call->reply = error_of(r->arena, r->id, code, why, data);
}

static void reply(Reader *r, Value result)
{
    r->call->kind = MCP_REPLY;
    r->call->http = 200;
    r->call->reply = message(r->arena, r->id, "result", result);
}

static Value versions(Arena *arena, bool modern)
{
    Value list = value_list(arena, modern ? 1 : COUNT(handshakes));
    for (size_t i = 0; i < list.list.n; i++) list.list.items[i] = mcp_text(modern ? MODERN : handshakes[i]);
    return list;
}

static void refuse_version(Reader *r, Str asked)
{
    Value data = value_map(r->arena, 2);
    value_add(&data, "supported", versions(r->arena, true));
    value_add(&data, "requested", value_of_str(asked));
    mcp_refuse(r, NO_VERSION, "Unsupported protocol version", &data);
}

/* ---- methods ---- */
static Value capabilities(Arena *arena)
{
    Value v = value_map(arena, 1);
    value_add(&v, "tools", value_map(arena, 0));
    return v;
}

static void initialize(Reader *r)
{
    const Str asked = value_str(value_get(r->params, "protocolVersion"), (Str){ 0 });
    Value v = value_map(r->arena, 4);
    value_add(&v, "protocolVersion", is_handshake(asked) ? value_of_str(asked) : mcp_text(NEWEST_HANDSHAKE));
    value_add(&v, "capabilities", capabilities(r->arena));
    value_add(&v, "serverInfo", server_info(r->arena));
    value_add(&v, "instructions", mcp_text(r->site->task->mcp_instructions));
    reply(r, v);
}

static void ping(Reader *r)
{
    reply(r, value_map(r->arena, 0));
}

static void discover(Reader *r)
{
    Value v = value_map(r->arena, 8);
    value_add(&v, "supportedVersions", versions(r->arena, true));
    value_add(&v, "capabilities", capabilities(r->arena));
    value_add(&v, "instructions", mcp_text(r->site->task->mcp_instructions));
    add_modern(r->arena, &v, true);
    reply(r, v);
}

static Value describe_tool(Reader *r, const struct McpTool *tool)
{
    const Task *task = r->site->task;
    Value hints = value_map(r->arena, 3), v = value_map(r->arena, 5);
    value_add(&hints, "readOnlyHint", value_of_bool(true));
    value_add(&hints, "idempotentHint", value_of_bool(true));
    value_add(&hints, "openWorldHint", value_of_bool(false));
    value_add(&v, "name", mcp_text(tool_name(r->site, tool)));
    value_add(&v, "description", mcp_text(r->site->task->mcp_description));
    value_add(&v, "inputSchema", task_request_describe(r->arena, task, r->site->items, (TaskLimits){ 0 }));
    value_add(&v, "outputSchema", schema_describe(r->arena, task_reply_schema(task)));
    value_add(&v, "annotations", hints);
    return v;
}

static void list_tools(Reader *r)
{
    Value list = value_list(r->arena, COUNT(tools)), v = value_map(r->arena, 5);
    for (size_t i = 0; i < COUNT(tools); i++) list.list.items[i] = describe_tool(r, &tools[i]);
    value_add(&v, "tools", list);
    if (r->call->era == MCP_MODERN) add_modern(r->arena, &v, true);
    reply(r, v);
}

/* Arguments of the wrong shape are told apart from texts that cannot be used: the Rust encoderfile has a code
 * for each. */
static bool check_arguments(Reader *r, const Value *arguments, Err *err)
{
    Items inputs;
    Err ignored;
    const Task *task = r->site->task;
    if (!arguments || arguments->kind != V_MAP)
        return fail(err, EF_INVALID_INPUT, "arguments: found %s, wanted an object",
                    arguments ? value_kind_name(arguments->kind) : "nothing");
    return task_inputs(r->arena, task, r->site->items, arguments, SIZE_MAX, &inputs, &ignored) ||
           schema_check(arguments, task->request, err);
}

static void call_tool(Reader *r)
{
    const Str name = value_str(value_get(r->params, "name"), (Str){ 0 });
    const Value *arguments = value_get(r->params, "arguments");
    Err err;
    for (size_t i = 0; i < COUNT(tools) && !r->call->tool; i++)
        if (str_is(name, tool_name(r->site, &tools[i]))) r->call->tool = &tools[i];
    if (!r->call->tool) return mcp_refuse(r, INVALID_PARAMS, "tool not found", NULL);
    if (!check_arguments(r, arguments, &err)) {
        within(&err, "failed to deserialize parameters");
        return mcp_refuse(r, INVALID_PARAMS, err.message, NULL);
    }
    Buf b = { .arena = r->arena };
    json_write(&b, arguments);
    r->call->kind = MCP_RUN;
    r->call->body = buf_view(&b);
    r->call->id = *r->id;
}

static const struct Method {
    const char *name;
    McpEra era;                  /* MCP_UNSET: both */
    void (*answer)(Reader *);
} methods[] = {
    { "initialize", MCP_HANDSHAKE, initialize }, { "ping", MCP_HANDSHAKE, ping },
    { "server/discover", MCP_MODERN, discover }, { "tools/list", MCP_UNSET, list_tools },
    { "tools/call", MCP_UNSET, call_tool },
};

/* ---- checks, in the order that the modern era wants ---- */
static const Value *meta_of(const Reader *r, const char *key)
{
    return value_get(value_get(r->params, "_meta"), key);
}

/* stdio tells the eras apart by what its first request carries. */
static McpEra era_of_first(const Reader *r)
{
    const bool modern = meta_of(r, META "protocolVersion") && !str_is(r->method, "initialize");
    return modern ? MCP_MODERN : MCP_HANDSHAKE;
}

static bool same_header(Str header, Str wanted)
{
    return header.p && str_eq(header, wanted);
}

static bool headers_fit(const Reader *r, Str version)
{
    const McpHeaders *h = r->headers;
    const Str name = value_str(value_get(r->params, "name"), (Str){ 0 });
    if (!h) return true;
    return same_header(h->version, version) && same_header(h->method, r->method) &&
           (!str_is(r->method, "tools/call") || same_header(h->name, name));
}

static bool modern_fits(Reader *r)
{
    const Value *version = meta_of(r, META "protocolVersion");
    const Value *client = meta_of(r, META "clientCapabilities");
    if (!version || version->kind != V_STR || !client || client->kind != V_MAP)
        return mcp_refuse(r, INVALID_PARAMS, "_meta: wanted " META "protocolVersion and " META
                      "clientCapabilities", NULL), false;
    if (!headers_fit(r, version->s))
        return mcp_refuse(r, HEADER_MISMATCH, "mcp-protocol-version, mcp-method or mcp-name differs from the "
                      "body", NULL), false;
    if (!str_is(version->s, MODERN)) return refuse_version(r, version->s), false;
    return true;
}

static void dispatch(Reader *r)
{
    const McpEra era = r->call->era;
    if (era == MCP_MODERN && str_is(r->method, "initialize"))
        return refuse_version(r, value_str(value_get(r->params, "protocolVersion"), (Str){ 0 }));
    if (era == MCP_HANDSHAKE && !r->headers && meta_of(r, META "protocolVersion"))
        return mcp_refuse(r, INVALID_REQUEST, "this connection began with initialize", NULL);
    if (era == MCP_MODERN && !modern_fits(r)) return;
    for (size_t i = 0; i < COUNT(methods); i++)
        if (str_is(r->method, methods[i].name) && (!methods[i].era || methods[i].era == era))
            return methods[i].answer(r);
    mcp_refuse(r, NO_METHOD, "Method not found", NULL);
}

/* An object with a method; an id of a string or a number makes it a request. */
static bool is_message(Reader *r)
{
    const Value *method = value_get(r->root, "method"), *params = value_get(r->root, "params");
    const Value *id = value_get(r->root, "id");
    if (r->root->kind != V_MAP || !str_is(value_str(value_get(r->root, "jsonrpc"), (Str){ 0 }), "2.0"))
        return false;
    if (id && id->kind != V_STR && id->kind != V_INT && id->kind != V_FLOAT) return false;
    r->id = id;
    r->params = params;
    if (params && params->kind != V_MAP) return false;
    if (!method) return value_get(r->root, "result") || value_get(r->root, "error");
    r->method = value_str(method, (Str){ 0 });
    return method->kind == V_STR;
}

void mcp_read(const Site *site, Str bytes, McpEra era, const McpHeaders *headers, Arena *arena,
              McpCall *call)
{
    Value root;
    Err err;
    *call = (McpCall){ .kind = MCP_SILENT, .http = 202, .era = era };
    Reader r = { .site = site, .arena = arena, .headers = headers, .root = &root, .call = call };
    if (!json_parse_most(arena, bytes, MESSAGE_VALUES, &root, &err))
        return mcp_refuse(&r, PARSE_ERROR, err.message, NULL);
    if (!is_message(&r))
        return mcp_refuse(&r, INVALID_REQUEST, "Invalid Request: wanted one JSON-RPC 2.0 message",
                          NULL);
    if (!r.id || !r.method.p) return; /* a notification, or an answer that nobody asked for */
    if (era == MCP_UNSET) call->era = era_of_first(&r);
    dispatch(&r);
}

/* ---- the session's answer ---- */
static Value content_of(Arena *arena, Str s)
{
    Value list = value_list(arena, 1), block = value_map(arena, 2);
    value_add(&block, "type", mcp_text("text"));
    value_add(&block, "text", value_of_str(s));
    list.list.items[0] = block;
    return list;
}

static int code_of(const Err *err)
{
    const int status = err_kind(err->code)->http;
    return status >= 400 && status < 500 ? INVALID_REQUEST : INTERNAL;
}

Value mcp_refusal(Arena *arena, const Err *err)
{
    return error_of(arena, NULL, code_of(err), err->message, NULL);
}

Value mcp_answer(const McpCall *call, Job *job)
{
    Arena *arena = &job->work.arena;
    const bool failed = job->work.err.code != EF_OK;
    if (failed && !call->tool->errors_are_results)
        return error_of(arena, &call->id, code_of(&job->work.err), job->work.err.message, NULL);
    Value v = value_map(arena, 5);
    value_add(&v, "content", content_of(arena, failed ? str_of(job->work.err.message) : buf_view(&job->out.text)));
    if (!failed) value_add(&v, "structuredContent", job->out.value);
    value_add(&v, "isError", value_of_bool(failed));
    if (call->era == MCP_MODERN) add_modern(arena, &v, false);
    return message(arena, &call->id, "result", v);
}
