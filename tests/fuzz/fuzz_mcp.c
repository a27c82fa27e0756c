/* SPDX-License-Identifier: Apache-2.0
 * fuzz_mcp.c - any bytes as a message, in each era, with and without headers: an answer that is JSON-RPC, silence,
 * or a body to run that is JSON. */
#include <stdlib.h>

#include "data/json.h"
#include "server/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

static void read_as(const Site *site, Str message, McpEra era, const McpHeaders *headers)
{
    Arena arena = { 0 };
    McpCall call;
    Buf b = { 0 };
    Value again;
    Err err;
    mcp_read(site, message, era, headers, &arena, &call);
    if (call.kind == MCP_REPLY) json_write(&b, &call.reply);
    if (call.kind == MCP_RUN) buf_str(&b, call.body);
    must(call.kind == MCP_SILENT || json_parse(&arena, buf_view(&b), &again, &err));
    must(call.kind != MCP_REPLY || value_get(&again, "result") || value_get(&again, "error"));
    must(era == MCP_UNSET || call.era == era);
    buf_free(&b);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const Task *task = task_find(STR("token_classification"));
    const Site site = { .task = task, .items = task->items };
    const McpHeaders headers = { STR("2026-07-28"), STR("tools/call"), STR("run_encoder") };
    const Str message = { (const char *)data, size };
    for (McpEra era = MCP_UNSET; era <= MCP_MODERN; era++) read_as(&site, message, era, NULL);
    read_as(&site, message, MCP_MODERN, &headers);
    read_as(&site, message, MCP_HANDSHAKE, &headers);
    return 0;
}
