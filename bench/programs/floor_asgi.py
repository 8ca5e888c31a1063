"""A bare echo as an ASGI application, on uvicorn: `floor_asgi.py PORT LOOP json|stream`."""

# pyright: basic

import sys

import uvicorn
from floor_message import answer

PORT, LOOP, REPLY = sys.argv[1:4]
JSON = b"application/json"
STREAM = b"text/event-stream"


async def app(scope, receive, send) -> None:
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    reply = answer(body) if body else None
    if reply is None:
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
    elif REPLY == "json":
        head = [(b"content-type", JSON), (b"content-length", b"%d" % len(reply))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": reply})
    else:
        progress = (
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
        )
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", STREAM)]})
        for event in (progress, reply):
            data = b"event: message\ndata: %b\n\n" % event
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(PORT),
        http="httptools",
        loop=LOOP,
        lifespan="off",
        log_level="error",
        access_log=False,
    )
