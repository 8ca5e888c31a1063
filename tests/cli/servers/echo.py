"""Gives back every line that it gets, as a terminal does."""

from __future__ import annotations

import sys

while line := sys.stdin.buffer.readline():
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
