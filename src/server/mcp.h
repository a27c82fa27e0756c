/* SPDX-License-Identifier: Apache-2.0
 * mcp.h - Model Context Protocol: JSON-RPC messages in, messages out, without any I/O. Two eras: the
 * handshake one (2024-11-05 to 2025-11-25: `initialize` first) and the modern one (2026-07-28: every
 * request stands alone). No sessions, no streams: one request, one answer.
 *
 * A message is answered at once, or it names work for the session: then the caller runs `body` as a
 * request of /predict and hands the job to mcp_answer. */
#ifndef SERVER_MCP_H
#define SERVER_MCP_H
#include "dialect/dialect.h"

typedef enum { MCP_UNSET, MCP_HANDSHAKE, MCP_MODERN } McpEra;

typedef struct McpHeaders {      /* of HTTP; .p NULL: absent. stdio has none */
    Str version, method, name;
} McpHeaders;

typedef enum { MCP_REPLY, MCP_SILENT, MCP_RUN } McpKind;
typedef struct McpCall {
    McpKind kind;
    int http;                    /* status for MCP_REPLY and MCP_SILENT */
    Value reply;                 /* MCP_REPLY; lives in the arena */
    Str body;                    /* MCP_RUN: JSON for the session; */
    Value id;                    /*   of the request, for mcp_answer; */
    const struct McpTool *tool;  /*   which was called */
    McpEra era;                  /* that the message was read in; of stdio's first: its own */
} McpCall;

/* By the header `mcp-protocol-version`: absent or an old version is the handshake era. */
McpEra mcp_era(Str version);
void mcp_read(const Site *, Str message, McpEra, const McpHeaders *, Arena *, McpCall *);
Value mcp_answer(const McpCall *, Job *); /* lives in the job's arena */
Value mcp_refusal(Arena *, const Err *);  /* of what was not even read */

#endif
