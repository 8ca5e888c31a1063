"""An echo server of the official Python SDK 2.x: `official_server.py stdio`, `… http PORT json|stream`."""

# The packages of peers are not where this project's types are checked.
# pyright: basic, reportMissingImports=false

import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

app = MCPServer("echo", log_level="ERROR")
texts: dict[int, str] = {}


async def echo(text: str) -> str:
    return text


async def echo_with_progress(text: str, context: Context) -> str:
    await context.report_progress(1)
    return text


async def filled(length: int) -> str:
    return texts.setdefault(length, "x" * length)


streams = sys.argv[-1] == "stream"
app.tool(name="echo", structured_output=False)(echo_with_progress if streams else echo)
app.tool(name="text", structured_output=False)(filled)

if sys.argv[1] == "stdio":
    app.run("stdio")
else:
    served = app.streamable_http_app(json_response=not streams, max_request_body_size=64 << 20)
    uvicorn.run(served, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
