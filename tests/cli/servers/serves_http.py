"""Listens on a port, and says so."""

from __future__ import annotations

import sys

print(
    "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", file=sys.stderr, flush=True
)
sys.stdin.read()
