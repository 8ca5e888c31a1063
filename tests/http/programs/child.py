"""A newline-framed server for the tests of bridges: slow, talkative, mortal, as each call wants it.

Every call of a tool is an order: `echo` answers, `progress` reports three times first, `die` exits with
code 3, `hold` never answers, `flood` writes many notifications first, `general` says something that
belongs to no call, `nap` reads nothing until a file is there, `pid` tells which process this is.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

held: list[object] = []


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(id: object, text: str) -> None:
    write({"id": id, "result": {"content": [{"type": "text", "text": text}]}})


def call(id: object, params: dict[str, Any]) -> None:
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "die":
        sys.stderr.write("the disk is full\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "hold":
        held.append(id)
        return
    if name == "release":
        for each in held:
            answer(each, "released")
        held.clear()
    if name == "progress":
        for number in range(3):
            params = {"progressToken": token, "progress": number}
            write({"method": "notifications/progress", "params": params})
    if name == "general":
        write({"method": "notifications/tools/list_changed"})
    while name == "nap" and not Path(arguments["until"]).exists():
        time.sleep(0.01)
    if name == "flood":
        for number in range(arguments["count"]):
            params = {"progressToken": token, "progress": number, "message": "x" * arguments["size"]}
            write({"method": "notifications/progress", "params": params})
    answer(id, str(os.getpid()) if name == "pid" else name)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize" and "unwanted" in line:
            write({"id": message["id"], "error": {"code": -32000, "message": "not you"}})
        elif message.get("method") == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "child", "version": "1"},
            }
            write({"id": message["id"], "result": result})
        elif message.get("method") == "tools/call":
            call(message["id"], message["params"])
        elif message.get("method") == "notifications/cancelled":
            held.clear()
        elif "id" in message and "method" in message:
            write({"id": message["id"], "result": {}})


main()
