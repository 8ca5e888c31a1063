"""A client of anywire under load: `anywire_client.py TARGET ERA SECONDS`."""

# pyright: basic

import asyncio

from client_load import COMMAND, ERA, TARGET, TEXT, measure

from anywire import connect


async def main() -> None:
    async with connect(TARGET if TARGET.startswith("http") else COMMAND, era=ERA) as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": TEXT})
            assert result.text == TEXT, result

        await measure(call)


asyncio.run(main())
