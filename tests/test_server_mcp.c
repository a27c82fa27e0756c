/* SPDX-License-Identifier: Apache-2.0
 * test_server_mcp.c - messages of both eras and what they are answered with: kind, HTTP status, and words of
 * the reply. */
#include "check.h"
#include "data/json.h"
#include "model/model.h"
#include "server/mcp.h"

#define V "\"io.modelcontextprotocol/protocolVersion\":"
#define C "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META "\"_meta\":{" V "\"2026-07-28\"," C "}"
#define CALL(params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" params "}}"

typedef struct Row {
    const char *message;
    McpEra era;
    const McpHeaders *headers;   /* NULL: stdio */
    McpKind kind;
    int http;
    const char *says;            /* part of the reply, or of the body to run */
} Row;

static const McpHeaders list = { STR("2026-07-28"), STR("tools/list"), { 0 } };
static const McpHeaders call = { STR("2026-07-28"), STR("tools/call"), STR("run_encoder") };

static const Row rows[] = {
    /* no messages */
    { "", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "\"id\":null,\"error\":{\"code\":-32700" },
    { "[]", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    /* notifications and stray answers */
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_HANDSHAKE, NULL, MCP_SILENT, 202, "" },
    { "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}", MCP_HANDSHAKE, NULL, MCP_SILENT, 202, "" },
    /* handshake */
    { "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}}", MCP_UNSET,
      NULL, MCP_REPLY, 200, "\"id\":0,\"result\":{\"protocolVersion\":\"2025-03-26\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"1999\"}}", MCP_UNSET,
      NULL, MCP_REPLY, 200, "\"id\":\"a\",\"result\":{\"protocolVersion\":\"2025-11-25\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "\"result\":{}" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "\"run_encoder\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "-32601" },
    { CALL("\"name\":\"run_encoder\",\"arguments\":{\"inputs\":[\"x\"]}"), MCP_HANDSHAKE, NULL, MCP_RUN, 202,
      "{\"inputs\":[\"x\"]}" },
    { CALL("\"name\":\"token_classification\",\"arguments\":{\"inputs\":[\"\"]}"), MCP_HANDSHAKE, NULL, MCP_RUN, 202,
      "{\"inputs\":[\"\"]}" },
    { CALL("\"name\":\"other\",\"arguments\":{}"), MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "-32602,\"message\":\"tool not" },
    { CALL("\"name\":\"run_encoder\""), MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "-32602,\"message\":\"failed to" },
    { CALL("\"name\":\"run_encoder\",\"arguments\":{\"inputs\":3}"), MCP_HANDSHAKE, NULL, MCP_REPLY, 200, "-32602" },
    { CALL(META), MCP_HANDSHAKE, NULL, MCP_REPLY, 400, "-32600" },
    /* modern */
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}", MCP_UNSET, NULL, MCP_REPLY,
      200, "\"supportedVersions\":[\"2026-07-28\"]" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}", MCP_MODERN, &list, MCP_REPLY, 200,
      "\"cacheScope\":\"public\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}", MCP_MODERN, &list, MCP_REPLY, 400, "-32602" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}", MCP_MODERN, &call, MCP_REPLY, 400,
      "-32020" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}", MCP_MODERN, NULL, MCP_REPLY, 404, "-32601" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{" V "\"2030-01-01\"," C "}}}", MCP_MODERN,
      NULL, MCP_REPLY, 400, "-32022,\"message\":\"Unsupported protocol version\",\"data\":{\"supported\"" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", MCP_MODERN, NULL, MCP_REPLY, 400, "-32022" },
    { CALL("\"name\":\"run_encoder\",\"arguments\":{\"inputs\":[\"x\"]}," META), MCP_MODERN, &call, MCP_RUN, 202, "inputs" },
    { CALL("\"name\":\"other\",\"arguments\":{\"inputs\":[\"x\"]}," META), MCP_MODERN, &call, MCP_REPLY, 400, "-32020" },
};

static void test_rows(const Site *site)
{
    TEST("messages");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const Row *row = &rows[i];
        Arena arena = { 0 };
        McpCall c;
        Buf b = { 0 };
        mcp_read(site, str_of(row->message), row->era, row->headers, &arena, &c);
        if (c.kind == MCP_REPLY) json_write(&b, &c.reply);
        if (c.kind == MCP_RUN) buf_str(&b, c.body);
        buf_char(&b, 0);
        if (!CHECK(c.kind == row->kind && c.http == row->http && strstr(b.p, row->says)))
            printf("  %s\n  gave %d, %d: %s\n", row->message, c.kind, c.http, b.p);
        buf_free(&b);
        arena_free(&arena);
    }
    CHECK(mcp_era((Str){ 0 }) == MCP_HANDSHAKE && mcp_era(STR("2025-06-18")) == MCP_HANDSHAKE);
    CHECK(mcp_era(STR("2026-07-28")) == MCP_MODERN && mcp_era(STR("later")) == MCP_MODERN);
}

/* Through a session: what a tool gives, and both ways in which it fails. */
static void test_answers(Session *session)
{
    static const struct { const char *tool, *text, *says; } calls[] = {
        { "run_encoder", "Pune", "\"structuredContent\":{\"results\":[{\"tokens\":" },
        { "run_encoder", "", "\"error\":{\"code\":-32600,\"message\":\"inputs[0]" },
        { "token_classification", "Pune", "\"isError\":false" },
        { "token_classification", "", "\"isError\":true" },
    };
    TEST("answers");
    for (size_t i = 0; i < COUNT(calls); i++) {
        Job *job = job_new();
        McpCall c;
        Buf b = { 0 };
        char *message = str_format(&job->work.arena, CALL("\"name\":\"%s\",\"arguments\":{\"inputs\":[\"%s\"]}"),
                                   calls[i].tool, calls[i].text);
        mcp_read(site_of(session), str_of(message), MCP_HANDSHAKE, NULL, &job->work.arena, &c);
        CHECK(c.kind == MCP_RUN);
        job->in.body = c.body;
        job_run(session, job);
        Value reply = mcp_answer(&c, job);
        json_write(&b, &reply);
        buf_char(&b, 0);
        if (!CHECK(strstr(b.p, calls[i].says))) printf("  gave %s\n", b.p);
        buf_free(&b);
        job_free(job);
    }
}

int main(void)
{
    Model *model;
    Err err = { 0 };
    if (!CHECK(model_open("examples/bus-ner", &model, &err))) {
        printf("  %s\n", err.message);
        return finish();
    }
    Session *session = job_session(model, NULL);
    test_rows(site_of(session));
    test_answers(session);
    session_free(session);
    model_close(model);
    return finish();
}
