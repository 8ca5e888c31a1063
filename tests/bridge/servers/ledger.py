"""A newline-framed server that writes each call of a tool into a file before it answers."""

import json
import os
import sys
import time


def main(path: str, successor: str = "") -> None:
    """Serve; `fatal` is a call that it does not survive, and a `mute` successor does not say anything."""
    ledger = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    if successor == "mute" and b"fatal" in os.read(ledger, 1000):
        os.write(ledger, b"mute\n")
        sys.stdin.buffer.read()
        return
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        result: dict[str, object] = {}
        if request["method"] == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "ledger", "version": "1"},
            }
        elif request["method"] == "tools/call":
            name = request["params"]["arguments"]["name"]
            os.write(ledger, f"{name}\n".encode())
            time.sleep(0.002)
            if name == "fatal":
                sys.stderr.write("the ink has run out\n")
                sys.exit(3)
            result = {"content": [{"type": "text", "text": f"{name} {os.getpid()}"}]}
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


main(*sys.argv[1:])
