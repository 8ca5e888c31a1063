"""The official Python SDK, 1.x and 2.x, and fastmcp, joined with anywire inside one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

import anywire
from anywire.errors import ConfigError
from anywire.interop.mcp import anywire_streams, from_streams
from anywire.transport.memory import memory_pair
from tests.docs.pages import ROOT, blocks, matches
from tests.docs.workshop import Workshop
from tests.interop.peers import SCRIPTS
from tests.interop.processes import run

pytestmark = pytest.mark.interop

WITHIN = 90.0
PAGE = ROOT / "docs" / "howto" / "official-sdk.md"
LENT = "import runpy, sys; sys.path += ['.', *sys.argv[1:]]; runpy.run_path('block.py', run_name='__main__')"
STEPS = (
    "their_client_our_server",
    "their_client_a_child",
    "their_server_our_client",
    "their_client_their_server",
    "their_lowlevel_server",
    "odd_values",
    "half_a_pair",
    "unwritable",
    "faults",
    "a_reader_that_is_behind",
    "a_child_that_dies",
    "no_child",
    "cancelled",
    "after_the_end",
    "our_client_their_streams",
    "streams_that_break",
    "what_does_not_end",
    "our_server_their_streams",
    "our_client_their_transport",
    "bridge_to_their_streams",
    "refused_targets",
)


class Steps:
    """What each step gave."""

    def __init__(self, outcomes: dict[str, dict[str, Any]], stderr: str) -> None:
        self.outcomes = outcomes
        self.stderr = stderr

    def __getitem__(self, step: str) -> Any:
        """What a step gave; one that failed fails the test with its own words."""
        outcome = self.outcomes[step]
        assert "gave" in outcome, f"{step}: {outcome['failed']}; stderr:\n{self.stderr[-3000:]}"
        return outcome["gave"]


def lent() -> list[str]:
    """The folders of anywire and of what it needs."""
    return [str(Path(package.__file__ or "").parents[1]) for package in (anywire, msgspec)]


def take(python: Path, steps: Sequence[str]) -> Steps:
    """Take the steps in the SDK's environment, which is lent anywire and what it needs."""
    done = run([python, SCRIPTS / "adapters_peer.py", ",".join(steps), "--", *lent()], within=WITHIN)
    assert done.returncode == 0, str(done)
    return Steps(json.loads(done.stdout), done.stderr)


@pytest.fixture(scope="module", params=["sdk_1_python", "sdk_2_python"], ids=["sdk-1", "sdk-2"])
def joined(request: pytest.FixtureRequest) -> Steps:
    """All steps with one SDK."""
    python: Path = request.getfixturevalue(request.param)
    return take(python, STEPS)


def test_their_session_calls_our_server(joined: Steps) -> None:
    """The SDK's client session runs unchanged over an in-memory transport."""
    assert joined["their_client_our_server"] == {
        "server": "ours",
        "tools": ["echo", "hang"],
        "text": "é🙂",
        "wrong": True,
    }


def test_their_session_runs_over_our_child_transport(joined: Steps) -> None:
    """Progress comes in order, and a megabyte of text passes."""
    assert joined["their_client_a_child"] == {
        "text": "counted to 3",
        "progress": [1.0, 2.0, 3.0],
        "large": 1_000_000,
    }


def test_their_server_serves_our_client(joined: Steps) -> None:
    """A server written the SDK's short way is served over one of our transports."""
    served = joined["their_server_our_client"]

    assert (served["tools"], served["text"]) == (["cut", "echo", "fail"], "é🙂")
    assert served["failed"][0] is True


def test_their_client_and_their_server_meet_over_our_wire(joined: Steps) -> None:
    """The wire alone is ours; the low-level server takes the streams as they are."""
    assert joined["their_client_their_server"] == {"text": "round"}
    assert joined["their_lowlevel_server"] == {"text": "low"}


def test_values_of_json_survive_the_models(joined: Steps) -> None:
    """Integers of any size and floats stay what they were; half a surrogate pair costs itself only."""
    assert joined["odd_values"] == {
        "id": "12345678901234567890123",
        "params": '{"a":10000000000000000000000,"b":1.0,"s":"�"}',
    }


def test_half_a_surrogate_pair_costs_only_itself(joined: Steps) -> None:
    """Each adapter carries such a text with U+FFFD in its place, and the next call as ever."""
    ways = ("served", "streams", "asked", "written")

    assert joined["half_a_pair"] == {way: ["a�b", "b"] for way in ways}


def test_what_cannot_be_written_costs_its_own_call_only(joined: Steps) -> None:
    """A reply that is no JSON, or nests too deeply, ends the call it answers; a request is refused."""
    assert joined["unwritable"] == {
        "reply": ["7", "ErrorResponse"],
        "refused": "LocalProtocolError",
        "faults": [["7", True], ["7", True]],
    }


def test_what_cannot_be_read_is_an_exception_and_ends_its_call(joined: Steps) -> None:
    """Nothing hangs: the caller of a broken reply is told, and so is whoever asked in a broken way."""
    faults = joined["faults"]

    assert faults["told"] == {
        "result": "its reply cannot be used: the SDK cannot hold this Response: "
        "result: Input should be an object",
        "fault": "its reply cannot be used: cut off",
        "failed": "nobody is there",
    }
    assert faults["seen"][:2] == ["garbage", "half a request"]
    assert faults["seen"][2].startswith("the SDK cannot hold this Request: id")
    assert faults["replies"] == {'"q"': "ErrorResponse", "1.5": "ErrorResponse", '"b1"': "Response"}


def test_a_reader_that_is_behind_costs_no_more_than_the_limit(joined: Steps) -> None:
    """A wire that can be held is, and nothing is lost; of another the reader is told where it left out."""
    behind = joined["a_reader_that_is_behind"]

    assert 50 <= behind.pop("held") < 1000, "what one read brings, at most"
    assert behind == {
        "in order": True,
        "refused": ["9", "ErrorResponse"],
        "waiting": 52,
        "told": "50 messages of memory (client) wait to be read: what comes meanwhile is left out",
        "answered": 1,
        "again": 0,
    }


def test_a_call_learns_why_its_server_is_gone(joined: Steps) -> None:
    """The exit code and the last words stand where the SDK says that the connection is closed."""
    died = joined["a_child_that_dies"]

    assert died["code"] == -32000
    assert died["message"].endswith("exited with code 3 before it answered; its last words: out of paper")
    assert joined["no_child"] == "SpawnFailed"


def test_cancellation_leaves_nothing_behind(joined: Steps) -> None:
    """Neither a cancelled scope nor a cancelled task leaves a child or a task."""
    assert joined["cancelled"] == {"closed": [True, True], "cancelled": True, "tasks": []}


def test_streams_end_as_the_sdk_expects(joined: Steps) -> None:
    """Reading ends, writing after the end is a broken resource, a closed end is closed."""
    assert joined["after_the_end"] == {"ended": 0, "written": "BrokenResourceError"}


def test_our_client_runs_over_their_streams(joined: Steps) -> None:
    """What the SDK's models have no place for fails that request alone."""
    ran = joined["our_client_their_streams"]

    assert (ran["text"], ran["tasks"]) == ("é🙂", 0)
    assert ran["refused"] == (
        "RemoteProtocolError: the SDK cannot hold this Request: params: Input should be an object"
    )


def test_streams_that_break_end_the_transport(joined: Steps) -> None:
    """Whatever they raise is told, as the end of the wire, to whoever waits."""
    told = joined["streams_that_break"]

    assert told.pop("pending") == "the SDK's streams: writing failed: ValueError('odd')"
    assert {way: why for way, (_, why, _) in told.items()} == {
        "read BrokenResourceError": "the SDK's streams: reading failed: BrokenResourceError()",
        "write BrokenResourceError": "the SDK's streams: what was sent is not read any more",
        "read ConnectionResetError": "the SDK's streams: reading failed: ConnectionResetError('gone')",
        "write ConnectionResetError": "the SDK's streams: writing failed: ConnectionResetError('gone')",
    }
    assert {(kind, closed) for kind, _, closed in told.values()} == {("TransportBroken", True)}


def test_what_does_not_end_is_left_behind(joined: Steps) -> None:
    """Closing is bounded, also by itself, where what was entered holds out; nothing is entered twice."""
    assert joined["what_does_not_end"] == {
        "opening": "ConnectFailed",
        "again": ["the SDK's transport was started before, and can be used once", 1],
        "leaving": ["the SDK's transport: what was entered cannot be left, and goes on"],
        "breaking": ["the SDK's transport: writing failed: ValueError('odd')"],
    }


def test_our_server_runs_over_their_streams(joined: Steps) -> None:
    """It serves the SDK's session, and hears of a call that was given up."""
    assert joined["our_server_their_streams"] == {"text": "é🙂", "tasks": 0}


def test_our_client_runs_over_their_transport(joined: Steps) -> None:
    """Their stdio transport is entered and left; one that cannot be opened says why."""
    ran = joined["our_client_their_transport"]

    assert ran["text"] == "HELLO"
    assert ran["failed"].startswith("the SDK's transport: FileNotFoundError")


def test_a_bridge_takes_their_streams(joined: Steps) -> None:
    """A relay has no need to know whose transport it is."""
    assert joined["bridge_to_their_streams"] == {"text": "through"}


def test_what_is_no_server_is_refused(joined: Steps) -> None:
    """The text says what was given."""
    assert joined["refused_targets"].startswith("ConfigError: object is no server")


def test_their_whole_client_takes_our_streams(sdk_2_python: Path) -> None:
    """The client of 2.x takes any transport, and finds the stateless era behind it."""
    ran = take(sdk_2_python, ["their_whole_client"])["their_whole_client"]

    assert ran == {"revision": "2026-07-28", "text": "whole"}


def test_a_fastmcp_server_is_served(fastmcp_python: Path) -> None:
    """Over our transport, with its lifespan, to our client and to the SDK's session."""
    served = take(fastmcp_python, ["fastmcp_server"])["fastmcp_server"]

    assert served == {"text": "é🙂", "failed": True, "theirs": "round", "lifespan": ["in", "out"]}


def test_the_page_on_the_sdk_does_what_it_says(sdk_2_python: Path, tmp_path: Path) -> None:
    """Each of its scripts prints what stands below it."""
    scripts = blocks(PAGE.read_text(encoding="utf-8"))
    with closing(Workshop(tmp_path)) as workshop:
        for script, printed in pairwise(scripts):
            if "file" in script.options:
                workshop.write(script.options["file"], script.text)
            elif script.kind == "python":
                workshop.write("block.py", script.text)
                outcome = workshop.run([str(sdk_2_python), "-c", LENT, *lent()])
                assert matches(printed.text, outcome.output), f"line {script.line}: {outcome}"


def test_nothing_is_imported_before_it_is_used() -> None:
    """The module can be imported without the SDK, and does not load it where it is."""
    check = "import sys, anywire.interop.mcp; sys.exit(len({'mcp', 'anyio', 'pydantic'} & set(sys.modules)))"

    assert run([sys.executable, "-c", check], within=WITHIN).returncode == 0


@pytest.mark.skipif(find_spec("mcp") is not None, reason="the SDK is installed here")
async def test_without_the_sdk_the_error_names_the_package() -> None:
    """It is said what is missing, at the call."""
    with pytest.raises(ConfigError, match="the package 'mcp'"):
        from_streams(None, None)
    with pytest.raises(ConfigError, match="the package 'mcp'"):
        async with anywire_streams(memory_pair()[0]):
            raise AssertionError("it opened")
