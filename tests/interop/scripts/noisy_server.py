"""A server that writes to stdout in every way that a careless one does."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys

from anywire import Server

print("noise while importing é🙂")

server = Server("interop-noisy", version="1")


@server.tool
def noise(text: str) -> str:
    """Print, write to the descriptor, and let a child print."""
    print("noise from print", text)
    print('{"noise":', "that looks like JSON", flush=True)
    sys.stdout.write("noise without an end of line")
    os.write(1, b"noise from os.write\n")
    child = "import os; print('noise from a child'); os.write(1, b'noise from its descriptor')"
    subprocess.run([sys.executable, "-c", child], check=True)
    return text


@server.tool
async def grumble(text: str) -> str:
    """Write to stderr, as is anybody's right."""
    print("noise on stderr", text, file=sys.stderr, flush=True)
    os.write(2, b"noise on the stderr descriptor\n")
    return text


@server.tool
def promise(text: str) -> str:
    """Print when this process ends, and leave something in the buffer until then."""
    atexit.register(print, "noise at the end")
    print("noise in the buffer", text)
    return text
