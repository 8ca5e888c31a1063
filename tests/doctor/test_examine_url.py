"""Over HTTP: each fault is found, and nothing else; a server without one is healthy."""

from __future__ import annotations

import asyncio
import re
from types import ModuleType

import pytest

from anywire import Server
from anywire.doctor.check import Weight
from anywire.doctor.era_check import ERA_CHECKS, HTTP_ERA_CHECKS
from anywire.doctor.http.check import HTTP_CHECKS
from anywire.doctor.http.examine import examine_url
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report
from anywire.errors import ConfigError
from anywire.server.methods.table import METHODS
from anywire.transport.asgi_host import AsgiHost, bind
from anywire.transport.http_server import HttpListener
from tests.cli.servers.http import reached, stateless, unreached
from tests.cli.servers.http.healthy import HealthyHttp
from tests.cli.servers.http.stateless import Stateless
from tests.doctor.test_fifteen import EXPECTED

#: Checks that no server of the folder fails: their test is elsewhere on this page.
ELSEWHERE = {"not-resolved", "not-connected", "tls", "slow-start", "very-slow-start"}
HEALTHY = (
    HealthyHttp,
    Stateless,
    reached.Streams,
    reached.OfOneTool,
    reached.WithoutSessions,
    reached.WithoutEnd,
    reached.Older,
)
#: A server with this fault has that other one by its nature.
AS_WELL = {
    "challenge": {"authorization"},
    "metadata": {"authorization"},
    "discover-missing": {"stateless-only"},
    "discover-result": {"stateless-only"},
}
#: What is looked at only where there is the stateless era.
STATELESS = {each.id for each in (*ERA_CHECKS, *HTTP_ERA_CHECKS)} - {"stateless-only", "probe-fails"}

PATIENCE = Patience(start_seconds=20, answer_seconds=20, head_seconds=1.0, stream_seconds=0.3)
AT_ONCE = 8
"""So many servers are examined at once."""

# These never answer, so that the whole of the patience is spent on them.
SHORT = Patience(start_seconds=1.0, answer_seconds=1.0)


def faults(module: ModuleType) -> list[type[HealthyHttp]]:
    """The servers of a module."""
    found = [value for value in vars(module).values() if isinstance(value, type)]
    return [each for each in found if issubclass(each, HealthyHttp) and each not in HEALTHY]


UNREACHED = faults(unreached)
REACHED = [*faults(reached), *faults(stateless)]
FAULTS = [*UNREACHED, *REACHED]


def check_of(server: type[HealthyHttp]) -> str:
    """The check that a server is named for."""
    words = re.findall("[A-Z][a-z]+", re.sub("(Again|OnceMore|AtTheTop)$", "", server.__name__))
    return "-".join(words).lower()


def found(report: Report) -> set[str]:
    """The ids of the findings."""
    return {finding.check.id for finding in (*report.findings, *report.trifles)}


async def examined(server: HealthyHttp, patience: Patience = PATIENCE) -> Report:
    """The report on a server."""
    async with server.running() as url:
        return await examine_url(url, patience=patience)


@pytest.fixture(scope="module")
def reports() -> dict[type[HealthyHttp], Report]:
    """The report on every faulty server.  They are waited for, mostly, so some are examined at once."""
    some = asyncio.Semaphore(AT_ONCE)

    async def one(server: type[HealthyHttp]) -> Report:
        async with some:
            return await examined(server(), SHORT if server is unreached.NoFirstByte else PATIENCE)

    async def all_of_them() -> list[Report]:
        return await asyncio.gather(*map(one, FAULTS))

    return dict(zip(FAULTS, asyncio.run(all_of_them()), strict=True))


@pytest.mark.parametrize("server", FAULTS, ids=lambda each: each.__name__)
def test_each_fault_is_found_and_no_other(
    server: type[HealthyHttp], reports: dict[type[HealthyHttp], Report]
) -> None:
    """A faulty server is named for the check that finds it."""
    check, report = check_of(server), reports[server]

    assert found(report) == {check, *AS_WELL.get(check, ())}
    assert report.healthy == (HTTP_CHECKS[check].weight <= Weight.NOTE)
    assert report.reached == (server in REACHED)
    assert not found(report) & {*report.passed, *report.not_made}
    assert found(report) | {*report.passed, *report.not_made} == set(HTTP_CHECKS)


def test_each_check_has_a_faulty_server() -> None:
    """No check is without proof that it finds something."""
    shown = {check_of(each) for each in FAULTS}
    assert shown <= set(HTTP_CHECKS)
    assert set(HTTP_CHECKS) - ELSEWHERE <= shown | set(EXPECTED.values())


@pytest.mark.parametrize(
    ("server", "not_made"),
    [
        (HealthyHttp, ()),
        (Stateless, ()),
        (reached.Streams, ()),
        (reached.WithoutSessions, ("session-unknown", "delete", "delete-ignored")),
        (reached.WithoutEnd, ("delete-ignored",)),
        (reached.Older, ("version-unchecked",)),
    ],
)
async def test_a_server_without_a_fault_is_healthy(
    server: type[HealthyHttp], not_made: tuple[str, ...]
) -> None:
    """Everything that can be examined of it passes; what is optional may be missing."""
    report = await examined(server())

    assert (report.findings, report.trifles) == ((), ())
    assert report.healthy
    era = () if server is Stateless else STATELESS
    assert set(report.not_made) - {"get-ends", "stream-buffered"} == {*not_made, *era}
    assert report.framing is None
    assert report.server["serverInfo"] == {"name": "Healthy", "version": "1.0"}


async def test_a_server_of_anywire_is_healthy_over_http() -> None:
    """We take our own medicine, at either spelling of the address."""
    server = Server("ours")

    @server.tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    listener = HttpListener(server.accept, METHODS.__contains__, path="/mcp")
    opened = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{opened.getsockname()[1]}/mcp"
    serving = asyncio.create_task(AsgiHost(listener, listener.close).serve(opened))
    reports = [await examine_url(each, patience=PATIENCE) for each in (url, f"{url}/")]
    left = len(listener.sessions)
    serving.cancel()
    await asyncio.wait([serving])
    await server.close()

    assert [report.findings for report in reports] == [(), ()]
    assert [set(report.not_made) for report in reports] == [STATELESS, STATELESS]
    assert left == 0  # sessions that an examination has opened it ends as well


@pytest.mark.parametrize(
    ("url", "check", "expected"),
    [
        ("http://anywire.invalid/mcp", "not-resolved", "anywire.invalid"),
        ("http://127.0.0.1:1/mcp", "not-connected", "127.0.0.1"),
    ],
)
async def test_a_server_that_is_not_there_is_told_why(url: str, check: str, expected: str) -> None:
    """The name, or the connection."""
    report = await examine_url(url, patience=PATIENCE)

    (finding,) = report.findings
    assert finding.check.id == check
    assert expected in finding.found
    assert not report.reached


async def test_a_server_without_tls_is_told_so() -> None:
    """https where http is spoken."""
    async with unreached.NoHttp().running() as url:
        report = await examine_url(url.replace("http:", "https:"), patience=PATIENCE)

    assert found(report) == {"tls"}


async def test_the_headers_that_were_given_are_on_every_request_and_on_no_other_origin() -> None:
    """A token reaches the server, whatever else is asked, and stands in no finding."""
    server = reached.GetStatus()
    async with server.running() as url:
        report = await examine_url(url, headers={"Authorization": "Bearer s3cret"}, patience=PATIENCE)
    elsewhere = await examined(unreached.RedirectElsewhere())

    assert {asked.headers.get("authorization") for asked in server.asked} == {"Bearer s3cret"}
    assert "s3cret" not in repr(report)
    assert "secret" not in repr(elsewhere)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (unreached.WrongPathAgain, "/mcp/ a server answers"),
        (unreached.OldTransportAgain, "/sse names an endpoint"),
        (unreached.WrongPath, "nor does anything answer at /mcp, /mcp/, /sse"),
        (unreached.Authorization, "WWW-Authenticate: Bearer resource_metadata="),
        (unreached.ServerError, "HTTP 502, text/html: '<h1>Bad gateway</h1>'"),
        (unreached.ContentType, "initialize was answered with HTTP 200, text/plain: 'ok'"),
        (unreached.NoHttpAgain, "POST http://127.0.0.1"),
        (unreached.RedirectElsewhere, "HTTP 307, to https://login.example/mcp?…"),
        (reached.RequestRefused, "ping in its session was answered with HTTP 404"),
        (reached.SessionUnknown, "HTTP 400, text/plain: 'Bad Request: no valid session'"),
    ],
)
async def test_the_words_of_a_finding_say_what_was_seen(server: type[HealthyHttp], expected: str) -> None:
    """Evidence, not only a verdict."""
    report = await examined(server())

    assert expected in report.findings[0].found


@pytest.mark.parametrize("url", ["http://", "http:///mcp"])
async def test_what_is_no_url_is_no_finding(url: str) -> None:
    """It is the user who has to mend it."""
    with pytest.raises(ConfigError):
        await examine_url(url, patience=PATIENCE)


def test_checks_over_http_stand_in_order_of_weight() -> None:
    """What keeps a server from working comes first in every report."""
    weights = [check.weight for check in HTTP_CHECKS.values()]

    assert weights == sorted(weights, reverse=True)
    assert all(id == check.id for id, check in HTTP_CHECKS.items())
    assert all(check.title and check.advice for check in HTTP_CHECKS.values())
