"""Says why on stderr and exits."""

from __future__ import annotations

import sys

print("API_KEY is not set", file=sys.stderr)
sys.exit(3)
