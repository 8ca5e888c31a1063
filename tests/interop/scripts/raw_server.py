"""A server that answers by the number: `raw_server.py newline|headers ANSWERS LOG`.

To the n-th body that arrives it writes the n-th list of bodies in the file ANSWERS (JSON, each body
as hex), whatever it was asked. What arrived goes to the file LOG, one JSON object a line, with the
bytes before the body and the body itself as hex. It never looks into a body.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path


def lines() -> Iterator[tuple[bytes, bytes]]:
    while line := sys.stdin.buffer.readline():
        yield b"", line.removesuffix(b"\n")


def blocks() -> Iterator[tuple[bytes, bytes]]:
    stdin = sys.stdin.buffer
    while header := stdin.readline():
        while not header.endswith(b"\r\n\r\n"):
            header += stdin.readline()
        length = re.search(rb"(?i)content-length: *(\d+)", header)
        assert length is not None, header
        yield header, stdin.read(int(length[1]))


def main(framing: str, answers: str, log: str) -> None:
    prepared: list[list[str]] = json.loads(Path(answers).read_text())
    with Path(log).open("w") as record:
        for header, body in blocks() if framing == "headers" else lines():
            record.write(json.dumps({"header": header.hex(), "body": body.hex()}) + "\n")
            record.flush()
            for answer in map(bytes.fromhex, prepared.pop(0) if prepared else []):
                head = b"Content-Length: %d\r\n\r\n" % len(answer) if framing == "headers" else b""
                sys.stdout.buffer.write(head + answer + (b"" if head else b"\n"))
            sys.stdout.buffer.flush()


main(*sys.argv[1:])
