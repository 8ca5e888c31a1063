"""A Server for `anywire serve` that writes each call into a file before it answers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from anywire import Server

server = Server("ledger", version="1")


@server.tool
async def work(name: str) -> str:
    """Note the name, take a while, return it."""
    with Path(os.environ["LEDGER"]).open("a", encoding="utf-8") as ledger:
        ledger.write(f"{name}\n")
    await asyncio.sleep(0.005)
    return name
