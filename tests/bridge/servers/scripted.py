"""A newline-framed server that does one odd thing, named by its first argument.

`echo`: answers every request with its params.  `noise`: the same, after lines that are no message.
`die`: says why on stderr and exits with code 3 at the first request.  `deaf`: reads and never answers.
`broken-reply`: answers with a result that is not JSON.  `flood`: answers with 32 MB of notifications
first.  `slow-eof`: answers only after its input has ended.  `asks`: asks the client for its roots
before it answers.
"""

import json
import sys


def write(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def answer(request: dict[str, object]) -> None:
    params = json.dumps(request.get("params"), ensure_ascii=False)
    write(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{params}}}')


def main(how: str) -> None:
    kept: list[dict[str, object]] = []
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "method" not in request or "id" not in request:
            if how == "asks" and "result" in request:
                answer({"id": kept.pop()["id"], "params": request["result"]})
            continue
        if how == "die":
            sys.stderr.write("the database is gone\n")
            sys.exit(3)
        if how == "deaf":
            continue
        if how == "noise":
            write("✓ ready")
            write("[db] connected")
        if how == "broken-reply":
            write(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{{oops}}}}')
            continue
        if how == "flood":
            note = json.dumps(
                {"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": "x" * 65000}}
            )
            for _ in range(500):
                write(note)
        if how == "slow-eof":
            kept.append(request)
            continue
        if how == "asks":
            kept.append(request)
            write('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
            continue
        answer(request)
    for request in kept:
        answer(request)


main(sys.argv[1])
