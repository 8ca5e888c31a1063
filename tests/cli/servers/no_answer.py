"""Greets, and does something else than serving."""

from __future__ import annotations

import sys

print("Welcome! Listening on port 8000", flush=True)
sys.stdin.read()
