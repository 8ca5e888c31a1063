"""Echo servers of anywire, one for each kind of handler: `anywire_server.py KIND stdio`, `… KIND http PORT LOOP`."""

import sys

from anywire import Context, Limits, Server

task, inline, thread, stream = servers = [
    Server(f"echo-{kind}", "1", limits=Limits(body_bytes=64 << 20))
    for kind in ("task", "inline", "thread", "stream")
]
texts: dict[int, str] = {}


def filled(length: int) -> str:
    return texts.setdefault(length, "x" * length)


@task.tool(name="echo")
async def echo(text: str) -> str:
    """Return the text."""
    return text


@task.tool(name="text")
async def text_of(length: int) -> str:
    """Return a text of this length."""
    return filled(length)


@inline.tool(name="echo", inline=True)
def echo_inline(text: str) -> str:
    """Return the text."""
    return text


@thread.tool(name="echo")
def echo_in_a_thread(text: str) -> str:
    """Return the text."""
    return text


@stream.tool(name="echo")
async def echo_with_progress(text: str, context: Context) -> str:
    """Report progress, then return the text."""
    await context.progress(1)
    return text


def main(kind: str, wire: str, port: str = "0", loop: str = "asyncio") -> None:
    server = {each.identity.info.name: each for each in servers}[f"echo-{kind}"]
    if wire == "stdio":
        server.run()
        return
    import uvicorn

    uvicorn.run(
        server.http_app(path="/mcp"),
        host="127.0.0.1",
        port=int(port),
        http="httptools",
        loop=loop,
        lifespan="off",
        log_level="error",
        access_log=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
