"""Nothing but protocol on the wire, whatever a tool does to stdout."""

from __future__ import annotations

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.pipes import FRAMINGS, INITIALIZED, Framing, call, converse, initialize
from tests.interop.processes import anywire

pytestmark = pytest.mark.interop

NOISES = (
    "noise while importing é🙂",
    "noise from print",
    "that looks like JSON",
    "noise without an end of line",
    "noise from os.write",
    "noise from a child",
    "noise from its descriptor",
)


def serve() -> list[str]:
    """The noisy server, under the command."""
    return anywire("serve", f"{SCRIPTS / 'noisy_server.py'}:server")


def talk_over_noise(framing: Framing, tool: str, *, shared_stderr: bool) -> str:
    """A session with a noisy tool, in which every frame must be a reply to it; returns the stderr."""
    with converse(serve(), framing, shared_stderr=shared_stderr) as talk:
        talk.send(initialize("first"))
        assert talk.receive_message()["id"] == "first"
        talk.send(INITIALIZED, *(call(number, tool, text=f"{number} é🙂") for number in range(5)))
        replies = {reply["id"]: reply for reply in (talk.receive_message() for _ in range(5))}
        texts = [replies[number]["result"]["content"][0]["text"] for number in range(5)]
        assert texts == [f"{number} é🙂" for number in range(5)]
        assert talk.finish() == []
        return talk.stderr


@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_a_tool_prints_goes_to_stderr_and_not_to_the_wire(framing: Framing) -> None:
    """Printing, writing to the descriptor and a printing child all end up where logs belong."""
    stderr = talk_over_noise(framing, "noise", shared_stderr=False)

    assert [noise for noise in NOISES if noise not in stderr] == []


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_wire_stays_clean_when_stderr_is_the_same_pipe(framing: Framing) -> None:
    """With `2>&1` there is nowhere to divert noise to, so it must not appear at all."""
    talk_over_noise(framing, "noise", shared_stderr=True)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_a_tool_writes_to_stderr_stays_off_a_shared_pipe(framing: Framing) -> None:
    """With `2>&1` even an honest log line would break the wire."""
    talk_over_noise(framing, "grumble", shared_stderr=True)


@pytest.mark.parametrize("shared_stderr", [False, True])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_is_printed_while_the_server_ends_stays_off_the_wire(
    framing: Framing, shared_stderr: bool
) -> None:
    """Exit handlers and buffers that are written out at the end come after the last message, not as one."""
    talk_over_noise(framing, "promise", shared_stderr=shared_stderr)
