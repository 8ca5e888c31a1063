"""The application with short idle times, and a page that tells how many sessions there are.

`tests.http.programs.counted:app`; the sessions are at `/mcp`, their number and the tasks at `/count`.
"""

import asyncio
import gc
import json
import os
from typing import Any

from anywire.server.methods.table import METHODS
from anywire.transport.http_server import HttpListener
from anywire.wire.limits import Limits
from tests.http.programs.app import server

idle = float(os.environ.get("IDLE_SECONDS", "1800"))
listener = HttpListener(
    server.accept,
    METHODS.__contains__,
    path="/mcp",
    limits=Limits(session_idle_seconds=idle, sessions=100_000),
)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer one request."""
    if scope.get("path") != "/count":
        await listener(scope, receive, send)
        return
    gc.collect()
    count = {"sessions": len(listener.sessions), "tasks": len(asyncio.all_tasks())}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(count).encode()})
