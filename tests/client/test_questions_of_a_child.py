"""A server in a child process that asks, is answered, and may die meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import ProcessExited, connect
from anywire.protocol.types.elicitation import ElicitFormParams
from anywire.protocol.types.sampling import CreateMessageParams
from tests.transport.children import program

PATIENCE = 60

ASKS = """
def on_call(request):
    say({"jsonrpc": "2.0", "id": "q1", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 7}})
    answer = read()
    assert answer["id"] == "q1", answer
    text(request, answer["result"]["content"]["text"])
serve(on_call)
"""

DIES = """
def on_call(request):
    form = {"message": "?", "requestedSchema": {"type": "object"}}
    say({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form})
    read()
    sys.exit(3)
serve(on_call)
"""


async def test_a_question_of_a_child_is_answered() -> None:
    """In the middle of the call on whose behalf it asks; by a thread as well."""

    async def on_sample(params: CreateMessageParams) -> str:
        return f"up to {params.max_tokens}"

    def in_thread(params: CreateMessageParams) -> str:
        return f"at most {params.max_tokens}"

    for callback, said in ((on_sample, "up to 7"), (in_thread, "at most 7")):
        async with asyncio.timeout(PATIENCE), connect(program(ASKS), on_sample=callback) as client:
            assert (await client.call_tool("x")).text == said


async def test_a_child_that_dies_while_it_is_answered_stops_the_callback_and_the_listeners() -> None:
    """All hear of the same end."""
    asked, stopped = asyncio.Event(), asyncio.Event()

    async def on_elicit(params: ElicitFormParams) -> None:
        try:
            asked.set()
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async def listen(events: Any) -> None:
        async for _ in events:
            raise AssertionError("nothing was told")

    async with asyncio.timeout(PATIENCE), connect(program(DIES), on_elicit=on_elicit) as client:
        listening = asyncio.ensure_future(listen(client.listen()))
        calling = asyncio.ensure_future(client.call_tool("x"))
        await asked.wait()
        await client.notify("notifications/leave")
        with pytest.raises(ProcessExited, match="exited with code 3"):
            await calling
        with pytest.raises(ProcessExited, match="exited with code 3"):
            await listening
        await stopped.wait()
