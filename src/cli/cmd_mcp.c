/* SPDX-License-Identifier: Apache-2.0
 * cmd_mcp.c - the model as an MCP server on stdin and stdout: a host starts this program and talks to it,
 * one JSON-RPC message a line. Nothing else is ever written to stdout. */
#include "base/lines.h"
#include "cli/cli.h"
#include "data/json.h"
#include "server/mcp.h"

static const Option options[] = {
    OPTION_MODEL,
    OPTION_TYPE,
    { "stdio", 0, NULL, "talk on stdin and stdout" },
    { "threads", 0, "N", "default: the CPUs this process may use" },
    { 0 },
};

typedef struct Talk {
    Session *session;
    McpEra era;            /* of the connection: that of its first request */
    Buf out;
} Talk;

static bool say(Talk *t, const Value *message, Err *err)
{
    json_write(&t->out, message);
    buf_char(&t->out, '\n');
    return out_buf(&t->out, err);
}

static bool answer(Talk *t, Str line, Err *err)
{
    McpCall call;
    const Model *model = session_model(t->session);
    Job *job = job_new();
    bool ok = true;
    mcp_read(model, line, t->era, NULL, &job->arena, &call);
    t->era = call.era;
    if (call.kind == MCP_RUN) {
        job->body = call.body;
        session_run(t->session, job);
        call.reply = mcp_answer(&call, job);
    }
    if (call.kind != MCP_SILENT) ok = say(t, &call.reply, err);
    job_free(job);
    return ok;
}

static bool talk(Talk *t, Err *err)
{
    Lines in;
    Str line;
    bool more = true, ok = lines_open(&in, "-", err);
    while (ok && more) {
        ok = lines_next(&in, &line, &more, err);
        if (ok && more && line.n) ok = answer(t, line, err);
    }
    lines_close(&in);
    buf_free(&t->out);
    return ok;
}

static bool run(Args *a, Err *err)
{
    Model *model;
    int64_t threads;
    if (!args_has(a, "stdio")) return fail(err, EF_USAGE, "mcp: wanted --stdio");
    if (!args_count(a, "threads", 0, 4096, &threads, err) || !args_model(a, &model, err)) return false;
    Talk t = { .session = session_new(model, &(SessionOptions){ .threads = (int)threads }) };
    bool ok = t.session ? talk(&t, err) : fail(err, EF_IO, "no thread could be started");
    session_free(t.session);
    model_close(model);
    return ok;
}

const Command cmd_mcp = {
    .name = "mcp",
    .summary = "be a tool of an MCP host: JSON-RPC on stdin and stdout",
    .options = options,
    .run = run,
    .usage = "--stdio [--model PATH]",
    .example = "  {\"mcpServers\": {\"ner\": {\"command\": \"./my-ner.encoderfile\",\n"
               "                          \"args\": [\"mcp\", \"--stdio\"]}}}\n",
};
