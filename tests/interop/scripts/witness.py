"""Run a command on this very stdin and stdout, and write down how and when it ended.

`witness.py REPORT -- COMMAND…`: a client that starts its server itself does not tell how the
server ended. The time is that of the monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

report, dashes, *command = sys.argv[1:]
assert dashes == "--"
returncode = subprocess.call(command)
Path(report).write_text(json.dumps({"returncode": returncode, "ended": time.monotonic()}))
