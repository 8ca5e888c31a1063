"""The server that the official conformance suite looks at, with everything that its scenarios ask for.

`python -m tests.conformance.server --port N` serves `/mcp` on loopback until it is killed.
"""

from __future__ import annotations

import argparse
import asyncio

from anywire.transport.asgi_host import AsgiHost, bind
from tests.conformance import offered_stateless
from tests.conformance.offered import server

offered_stateless.offer(server)


async def serve(port: int) -> None:
    """Serve on loopback until the process is killed."""
    app = server.http_app(path="/mcp")
    await AsgiHost(app, app.close).serve(bind("127.0.0.1", port))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
