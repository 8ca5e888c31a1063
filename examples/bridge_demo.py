"""A host that frames its messages with Content-Length headers talks, through `anywire bridge`, to a
server that speaks one JSON object per line.

Run it:  python examples/bridge_demo.py

Everything is started from here and has ended when this ends:

    this program  <->  anywire bridge stdio+headers  <->  this file as witness  <->  server.py

The witness copies lines between bridge and server and tells on stderr what passes, so that what is
shown below as the server's wire is what really crossed it.  The host knows nothing of anywire: it
writes and reads its frames with a few lines of its own.
"""

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

SERVER = [sys.executable, str(Path(__file__).resolve().with_name("server.py"))]
WITNESS = [sys.executable, str(Path(__file__).resolve()), "--witness", *SERVER]
BRIDGE = [sys.executable, "-m", "anywire", "bridge", "stdio+headers", "--", *WITNESS]
PATIENCE = 10.0
"""Seconds until the demonstration gives up on a reply."""

TEXT = "é🙂"
BIG_ID = 2**53 + 1
"""The first whole number that a JavaScript number cannot hold."""

REQUESTS: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": "two", "method": "tools/list"},
    {
        "jsonrpc": "2.0",
        "id": BIG_ID,
        "method": "tools/call",
        "params": {"name": "shout", "arguments": {"text": TEXT}},
    },
    {
        "jsonrpc": "2.0",
        "id": 4.0,
        "method": "tools/call",
        "params": {"name": "divide", "arguments": {"dividend": 1, "divisor": 0}},
    },
)


class NotAsItShould(Exception):
    """Something in the conversation is off; the text says what."""


# The host: frames, written and read by hand.


def frame(body: bytes) -> bytes:
    """Put a body behind its header; the length counts bytes."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_frame(stream: asyncio.StreamReader) -> bytes:
    """Read one frame and return its body."""
    header = await stream.readuntil(b"\r\n\r\n")
    name, _, value = header.partition(b":")
    expect(name == b"Content-Length", f"the bridge wrote {header!r} where a header belongs")
    return await stream.readexactly(int(value))


async def converse() -> int:
    """Hold the conversation; return the number of requests that were answered."""
    bridge = await asyncio.create_subprocess_exec(
        *BRIDGE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE):
            return await speak(bridge)
    except TimeoutError:
        raise NotAsItShould(f"no reply within {PATIENCE:g} s") from None
    except asyncio.IncompleteReadError as cut:
        raise NotAsItShould(f"the bridge left in the middle of things, after {cut.partial!r}") from None
    finally:
        if bridge.returncode is None:
            bridge.kill()
            await bridge.wait()


async def speak(bridge: asyncio.subprocess.Process) -> int:
    """Ask, show what crosses each wire, check it, and leave."""
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    assert bridge.stderr is not None
    answered = 0
    for request in REQUESTS:
        body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
        print(f"\n{request['method']}")
        bridge.stdin.write(frame(body))
        show("host   → bridge", frame(body))
        forwarded = await overhear(bridge.stderr, "> ")
        show("bridge → server", forwarded)
        expect(forwarded == body + b"\n", "the bridge changed a request on its way to the server")
        if "id" not in request:
            print("  (a notification: nothing comes back)")
            continue

        written = await overhear(bridge.stderr, "< ")
        show("server → bridge", written)
        reply = await read_frame(bridge.stdout)
        show("bridge → host  ", frame(reply))
        expect(reply.isascii(), "the bridge wrote a header-framed body that is not ASCII")
        expect(json.loads(reply) == json.loads(written), "the bridge changed a reply on its way to the host")
        judge(request, reply)
        answered += 1

    bridge.stdin.close()
    rest = await bridge.stdout.read()
    expect(rest == b"", f"the bridge wrote {rest!r} after the last reply")
    said = (await bridge.stderr.read()).decode(errors="replace").strip()
    expect(said == "= 0", f"the server did not end in order: {said}")
    code = await bridge.wait()
    expect(code == 0, f"the bridge ended with exit code {code}")
    return answered


def judge(request: dict[str, Any], reply: bytes) -> None:
    """Check a reply against what was asked, and say what is worth seeing in it."""
    message = json.loads(reply)
    id = json.dumps(request["id"])
    expect(b'"id":' + id.encode() in reply, f"the reply does not have the id {id}")
    expect("result" in message, f"{request['method']} was answered with an error: {message.get('error')}")
    result = message["result"]
    match request["id"]:
        case 1:
            told = f"{result['serverInfo']['name']} {result['serverInfo']['version']}"
            print(f"  the server is {told}; both speak {result['protocolVersion']}")
        case "two":
            print(f"  its tools: {', '.join(tool['name'] for tool in result['tools'])}")
        case 4.0:
            text = result["content"][0]["text"]
            expect(result.get("isError") is True, "a call that must fail did not")
            print(f"  the tool failed and says why: {text!r}; the id is {id} still")
        case _:
            text = result["content"][0]["text"]
            expect(text == TEXT.upper() + "!", f"shout answered {text!r}")
            print(f"  that is {text!r}, in ASCII for hosts that count characters; the id kept each digit")


async def overhear(stderr: asyncio.StreamReader, mark: str) -> bytes:
    """Return the next line that the witness saw; the bridge passes its stderr on."""
    line = await stderr.readline()
    if not line.startswith(mark.encode()):
        async with asyncio.timeout(PATIENCE / 5):
            said = (line + await stderr.read()).decode(errors="replace").strip()
        raise NotAsItShould(said or "the bridge ended before its time")
    return line.removeprefix(mark.encode())


def show(way: str, data: bytes) -> None:
    """Print what crossed a wire: line ends as signs, long things cut."""
    text = data.decode(errors="replace").replace("\r\n", "␍␊").replace("\n", "␊")
    print(f"  {way}  {text if len(text) <= 82 else text[:44] + ' … ' + text[-35:]}")


def expect(condition: bool, otherwise: str) -> None:
    """Give up with a sentence unless the condition holds."""
    if not condition:
        raise NotAsItShould(otherwise)


# The witness: what the bridge starts in place of the server.


def witness(command: list[str]) -> int:
    """Run the server, copy lines both ways, tell on stderr what passes."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    to_server = server.stdin

    def carry_requests() -> None:
        with to_server:
            for line in sys.stdin.buffer:
                os.write(2, b"> " + line)
                to_server.write(line)
                to_server.flush()

    threading.Thread(target=carry_requests, daemon=True).start()
    for line in server.stdout:
        os.write(2, b"< " + line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    os.write(2, b"= %d\n" % server.wait())
    return server.returncode


def main() -> int:
    """Run the demonstration and return its exit code."""
    if sys.argv[1:2] == ["--witness"]:
        return witness(sys.argv[2:])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where a sign is missing, its number is shown
    print("a host with Content-Length headers  ⇄  anywire bridge  ⇄  a server with one message a line")
    try:
        answered = asyncio.run(converse())
    except NotAsItShould as trouble:
        return fail(str(trouble))
    except (OSError, ValueError, LookupError, TypeError) as error:
        return fail(f"something is not of the shape it should have: {error!r}")
    print(f"\nok: {answered} requests, {answered} answers; no request changed on its way; all have ended")
    return 0


def fail(sentence: str) -> int:
    """Say what was off; return the exit code for it."""
    print(f"\nfailed: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
