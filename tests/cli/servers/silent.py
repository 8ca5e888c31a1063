"""Reads and says nothing."""

from __future__ import annotations

import sys

sys.stdin.read()
