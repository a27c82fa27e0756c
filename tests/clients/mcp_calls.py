# SPDX-License-Identifier: Apache-2.0
# mcp_calls.py - the mcp package as a host: over HTTP and over stdio, in both eras of the protocol.
import os

import anyio
from mcp import Client, StdioServerParameters

from reference import ST, attempt, finish, mean, same_vectors, url

TEXTS = ["book a bus from pune to rome", "a bad film"]
wanted = [mean(t) for t in TEXTS]  # as /predict gives them: not normalized
stdio = StdioServerParameters(command=os.environ["EF_PROGRAM"], args=[
    "mcp", "--stdio", "--model", os.path.join(os.environ["EF_MODELS"], "embed"), "--model-type", "sentence_embedding"])


async def talk(server, mode):
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        names = sorted(t.name for t in tools)
        one = await client.call_tool("run_encoder", {"inputs": TEXTS})
        two = await client.call_tool("sentence_embedding", {"inputs": TEXTS, "normalize": True})
        bad = await client.call_tool("sentence_embedding", {"inputs": [""]})
        return names, one, two, bad


def play(server, mode):
    names, one, two, bad = anyio.run(talk, server, mode)
    right, note = same_vectors([r["embedding"] for r in one.structured_content["results"]], wanted)
    again, _ = same_vectors([r["embedding"] for r in two.structured_content["results"]], wanted)
    return right and again and names == ["run_encoder", "sentence_embedding"] and bad.is_error, note


for where, server in (("HTTP, `serve`", url("embed") + "/mcp"), ("HTTP, `mcp`", url("mcp") + "/mcp"), ("stdio", stdio)):
    for mode in ("auto", "legacy", "2026-07-28"):
        attempt("mcp", f"{where}, {mode}: tools, run_encoder, sentence_embedding", lambda: play(server, mode), ST)
finish()
