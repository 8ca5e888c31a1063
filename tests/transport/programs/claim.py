"""Claims stdio, then does what its arguments say; what it finds goes to the file named first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    report: dict[str, Any] = {}
    target, *steps = sys.argv[1:]
    if "print-first" in steps:
        print("printed before the claim")
    from anywire.transport.stdio_claim import claim_stdio

    claim = claim_stdio()
    report["same"] = claim_stdio() is claim
    report["read_fd"], report["write_fd"] = claim.read_fd, claim.write_fd
    report["inheritable"] = [os.get_inheritable(claim.read_fd), os.get_inheritable(claim.write_fd)]
    os.write(claim.write_fd, b"wire\n")
    report["stdin"] = os.read(0, 100).decode()
    if "print" in steps:
        print("printed after the claim", flush=True)
        os.write(1, b"written to 1 after the claim\n")
    if "child" in steps:
        child = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os; os.write(1, b'child out\\n'); os.write(2, b'child err\\n'); print(repr(os.read(0, 9)))",
            ],
            check=False,
        )
        report["child"] = child.returncode
        report["fds"] = inherited(claim.read_fd, claim.write_fd)
    if "read" in steps:
        report["wire"] = os.read(claim.read_fd, 100).decode()
    if "take" in steps:
        report["taken"] = claim.take() == (claim.read_fd, claim.write_fd)
        try:
            claim.take()
        except RuntimeError as error:
            report["again"] = str(error)
    if "release" in steps:
        claim.release()
        claim.release()
        os.close(claim.write_fd)
        print("printed after the release", flush=True)
    if "restore" in steps:
        claim.restore()
        claim.restore()
        print("printed after the restore", flush=True)
        report["stdin_after"] = os.read(0, 100).decode()
        report["new"] = claim_stdio() is not claim
    Path(target).write_text(json.dumps(report), encoding="utf-8")


def inherited(*fds: int) -> list[bool]:
    """Which of these descriptors a child has."""
    code = "import os, sys\nfor fd in map(int, sys.argv[1:]):\n try: os.fstat(fd); sys.stderr.write('y')\n except OSError: sys.stderr.write('n')"
    found = subprocess.run(
        [sys.executable, "-c", code, *map(str, fds)], check=True, capture_output=True, close_fds=False
    )
    return [letter == "y" for letter in found.stderr.decode()]


main()
