"""A server that counts its own calls: each is a JSON line in the file that TALLY names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from anywire import Server

server = Server("tally", version="1")


@server.tool
def weigh(parcel: str, grams: int) -> str:
    """Weigh a parcel."""
    with Path(os.environ["TALLY"]).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"parcel": parcel, "grams": grams}) + "\n")
    return f"{parcel} weighs {grams} g"
