"""An echo server of fastmcp: `fastmcp_server.py stdio`, `… http PORT json|stream`."""

# The packages of peers are not where this project's types are checked.
# pyright: basic, reportMissingImports=false

import sys

from fastmcp import Context, FastMCP

app = FastMCP("echo")
texts: dict[int, str] = {}


async def echo(text: str) -> str:
    return text


async def echo_with_progress(text: str, context: Context) -> str:
    await context.report_progress(1)
    return text


async def filled(length: int) -> str:
    return texts.setdefault(length, "x" * length)


streams = sys.argv[-1] == "stream"
app.tool(name="echo", output_schema=None)(echo_with_progress if streams else echo)
app.tool(name="text", output_schema=None)(filled)

if sys.argv[1] == "stdio":
    app.run("stdio", show_banner=False, log_level="ERROR")
else:
    app.run(
        "http",
        host="127.0.0.1",
        port=int(sys.argv[2]),
        path="/mcp",
        show_banner=False,
        log_level="ERROR",
        json_response=not streams,
        uvicorn_config={"access_log": False},
    )
