"""A client that writes all it has at once and closes, as a shell pipeline does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.pipes import FRAMINGS, Framing, call, frame, initialize, message, request, split
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

RUNS = 50
REQUESTS = 40
SIDE_BY_SIDE = 2
"""As many as a small machine has cores."""

WRITTEN = [
    initialize(0),
    request(1, "tools/list"),
    *(call(number, "echo", text=f"{number} é🙂") for number in range(2, 14)),
    *(call(number, "shout", text=f"{number}") for number in range(14, 20)),
    *(call(number, "add", a=number) for number in range(20, 30)),
    *(call(number, "slow", seconds=0.02) for number in range(30, 38)),
    call(38, "fail", reason="asked to"),
    request(39, "interop/unknown"),
]


def answered(framing: Framing) -> list[str]:
    """One run; what is wrong with it, in words."""
    done = run(
        anywire("serve", f"{SCRIPTS / 'fixture_server.py'}:server"),
        within=30,
        stdin=b"".join(frame(body, framing) for body in WRITTEN),
    )
    replies = [message(body) for body in split(done.stdout, framing)]
    wrong = [f"replies: {len(replies)}"] if len(replies) != REQUESTS else []
    missing = set(range(REQUESTS)) - {reply.get("id") for reply in replies}
    wrong += [f"unanswered: {sorted(missing)}"] if missing else []
    wrong += [
        f"answered with an error: {reply}"
        for reply in replies
        if ("error" in reply) != (reply.get("id") == 39)
    ]
    return [*wrong, str(done)] if wrong or done.returncode != 0 else []


@pytest.mark.parametrize("framing", FRAMINGS)
def test_40_requests_and_the_end_of_input_give_40_replies_every_time(framing: Framing) -> None:
    """The end of input does not overtake the replies, in 50 runs out of 50."""
    assert len(WRITTEN) == REQUESTS
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        runs = list(pool.map(answered, [framing] * RUNS))

    failed = [wrong for wrong in runs if wrong]
    assert not failed, f"{len(failed)} of {RUNS} runs: {failed[:3]}"
