"""An echo server of anywire: `anywire_server.py KIND stdio`, `… KIND http PORT LOOP`."""

# pyright: basic

import sys

from anywire import Context, Limits, Server

texts: dict[int, str] = {}


async def echo(text: str) -> str:
    """Return the text."""
    return text


def echo_in_place(text: str) -> str:
    """Return the text."""
    return text


async def echo_with_progress(text: str, context: Context) -> str:
    """Report progress, then return the text."""
    await context.progress(1)
    return text


async def filled(length: int) -> str:
    """Return a text of this length."""
    return texts.setdefault(length, "x" * length)


KINDS = {
    "task": (echo, False),
    "inline": (echo_in_place, True),
    "thread": (echo_in_place, False),
    "stream": (echo_with_progress, False),
}


def build(kind: str) -> Server:
    function, inline = KINDS[kind]
    server = Server("echo", "1", limits=Limits(body_bytes=64 << 20))
    server.tool(name="echo", inline=inline)(function)
    server.tool(name="text")(filled)
    return server


def __getattr__(name: str) -> Server:
    """`anywire serve anywire_server.py:task` takes a server from the module: it is built when it is named."""
    if name not in KINDS:
        raise AttributeError(name)
    return build(name)


def main(kind: str, wire: str, port: str = "0", loop: str = "asyncio") -> None:
    server = build(kind)
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
