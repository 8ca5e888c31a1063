"""`anywire doctor`: what is wrong with a server, and what to do about it."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from anywire.cli.headers import add_header_options
from anywire.cli.named_server import add_server_options
from anywire.cli.options import add_child_options, add_json, add_timeout, add_verbose
from anywire.cli.parser import Commands, Parser, nearest
from anywire.cli.plain import members_of
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.doctor.check import Finding
    from anywire.doctor.patience import Patience
    from anywire.doctor.report import Report

__all__ = ("add_parser", "run")

_USAGE = "anywire doctor [options] (URL | --server NAME | -- COMMAND [ARGUMENT ...])"
_DESCRIPTION = """\
Start a server on stdio, several times if need be, or call one over HTTP, and find out what is wrong
with it: how it starts, what it writes, how it answers, how it leaves. No tool is called.

Prints findings, heaviest first, each with what to do. Exit code 0: nothing is wrong (notes do not
count); 1: something is; 3: authorization is needed; 4: it cannot be talked with at all."""

_EPILOG = """examples:
  anywire doctor -- python server.py
  anywire doctor --timeout 1m --env API_KEY -- npx -y some-server
  anywire doctor https://host.example/mcp --header 'Authorization: Bearer ${TOKEN}'
  anywire doctor --ignore noise --ignore bom -- ./server
  anywire doctor --json -- python server.py | jq '.findings[].id'
"""
_WIDTH = 100


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire doctor`."""
    parser = commands.add_parser(
        "doctor",
        prog="anywire doctor",
        help="find out what is wrong with a server",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="URL",
        help="the server over HTTP, such as https://host.example/mcp, if it is no command",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="ID",
        help="leave a finding out, by the id that the report gives it, such as --ignore slow-start; "
        "may be repeated",
    )
    add_server_options(parser)
    add_json(parser, "the report in JSON")
    add_timeout(parser, "how long to wait for the server's first answer")
    add_child_options(parser)
    add_header_options(parser)
    add_verbose(parser, "tell which checks passed, too, and trifles, which nearly every server has")
    return parser


def run(options: argparse.Namespace) -> int:
    """Examine the command or the URL and print the report; return the exit code."""
    from anywire.cli.output import Output
    from anywire.cli.secrets import secrets_of
    from anywire.cli.status import Status
    from anywire.transport.run_process import run_process
    from anywire.wire.limits import DEFAULT_LIMITS

    _check_ids(options.ignore)
    patient = _url_patient(options) if options.command is None else _child_patient(options)
    reports: list[Report] = []
    secrets = secrets_of(options)

    async def work() -> None:
        with Status(secrets=secrets) as status:
            looking = patient.examine(lambda step: status.passing(f"looking at: {step}"))
            reports.append(await looking)

    run_process(work, DEFAULT_LIMITS)
    report = reports[0].hiding(secrets).without(options.ignore)
    output = Output()
    if options.json:
        output.document(_document(report, patient))
    else:
        _write(output, report, patient, verbose=options.verbose)
    if not report.reached:
        return 3 if any(finding.check.id == "authorization" for finding in report.findings) else 4
    return 0 if report.healthy else 1


class _Patient(NamedTuple):
    """Whom to examine: what it is called, what a program is told of it, and how it is done."""

    name: str
    wire: str
    members: dict[str, object]
    examine: Callable[[Callable[[str], None]], Coroutine[Any, Any, Report]]


def _child_patient(options: argparse.Namespace) -> _Patient:
    from anywire.cli.target import child_command
    from anywire.doctor.target import examine_target
    from anywire.transport.redact import show_words

    if options.header or options.header_file is not None:
        raise ConfigError("--header and --header-file are for a URL: a command gets no requests over HTTP")
    command = child_command(options)

    def begin(on_step: Callable[[str], None]) -> Coroutine[Any, Any, Report]:
        patience = _patience(options)
        return examine_target(command, framing=options.framing, patience=patience, on_step=on_step)

    return _Patient(str(command), "", {"command": show_words(command.argv)}, begin)


def _url_patient(options: argparse.Namespace) -> _Patient:
    from anywire.cli.headers import headers_of
    from anywire.cli.target import is_url, refuse_child_options
    from anywire.doctor.target import examine_target
    from anywire.transport.redact import show_word, without_secrets

    url: str | None = options.target
    if url is None:
        raise ConfigError(f"say which server: {_USAGE}")
    if not is_url(url):
        raise ConfigError(
            f"{show_word(url)!r} is no URL; a command stands behind '--': anywire doctor -- COMMAND …"
        )
    if not url.lower().startswith(("http://", "https://")):
        raise ConfigError(
            "doctor examines http:// and https:// URLs, and commands behind '--'; "
            "anywire ping and list take sse+http:// as well"
        )
    refuse_child_options(options)
    headers, name = headers_of(options), without_secrets(url)

    def begin(on_step: Callable[[str], None]) -> Coroutine[Any, Any, Report]:
        return examine_target(url, headers=headers, patience=_patience(options), on_step=on_step)

    return _Patient(name, "Streamable HTTP", {"url": name}, begin)


def _check_ids(ids: list[str]) -> None:
    from anywire.doctor.http.check import EVERY_CHECK

    for id in ids:
        if id not in EVERY_CHECK:
            raise ConfigError(
                f"there is no check {id!r}{nearest(id, EVERY_CHECK)}; a report names those that there are"
            )


def _patience(options: argparse.Namespace) -> Patience:
    import msgspec

    from anywire.doctor.patience import Patience

    of_server: dict[str, float] = getattr(options, "limits_of_server", {})
    timeout: float | None = options.timeout or of_server.get("connect_seconds")
    return Patience() if timeout is None else msgspec.structs.replace(Patience(), start_seconds=timeout)


def _document(report: Report, patient: _Patient) -> bytes:
    from anywire.wire.value import encode_value

    first = report.first_answer_seconds
    return encode_value(
        {
            **patient.members,
            "healthy": report.healthy,
            "reached": report.reached,
            "server": report.server.get("serverInfo"),
            "revision": report.server.get("protocolVersion"),
            "framing": None if report.framing is None else report.framing.value,
            "first_answer_ms": None if first is None else round(first * 1000, 1),
            "findings": [_members(finding) for finding in report.findings],
            "trifles": [_members(finding) for finding in report.trifles],
            "passed": report.passed,
            "not_made": report.not_made,
        }
    )


def _members(finding: Finding) -> dict[str, str]:
    check = finding.check
    return {
        "id": check.id,
        "weight": check.weight.name.lower(),
        "title": check.title,
        "found": finding.found,
        "advice": check.advice,
    }


def _write(output: Output, report: Report, patient: _Patient, *, verbose: bool) -> None:
    width = min(output.width or _WIDTH, 120)
    blocks = [f"{patient.name}\n{_summary(report, patient)}"]
    blocks += [_finding(finding, width) for finding in report.findings]
    if verbose:
        blocks += [_finding(finding, width) for finding in report.trifles]
        blocks += [_listed("passed", report.passed, width), _listed("not made", report.not_made, width)]
    blocks.append(_verdict(report))
    output.text("\n\n".join(filter(None, blocks)))


def _summary(report: Report, patient: _Patient) -> str:
    if not report.reached:
        return "it cannot be talked with"
    info = members_of(report.server.get("serverInfo"))
    who = [str(info[name]) for name in ("name", "version") if info.get(name)]
    first = report.first_answer_seconds or 0.0
    return ", ".join(
        [
            " ".join(who) or "a server without a name",
            f"revision {report.server.get('protocolVersion')}",
            patient.wire if report.framing is None else f"{report.framing.value} framing",
            f"first answer after {first:.2f} s",
        ]
    )


def _finding(finding: Finding, width: int) -> str:
    check = finding.check
    head = f"{check.weight.name.lower():8} {check.id}: {check.title}"
    return "\n".join(
        [head, *_part("found", finding.found, width), *_part("do", check.advice, width)],
    )


def _part(title: str, text: str, width: int) -> list[str]:
    """Write a part of a finding under its head, indented; lines that the server wrote stay lines."""
    indent = " " * 9
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        first = f"{indent}{title + ':':7}" if not lines else f"{indent}{'':7}"
        lines += textwrap.wrap(
            line, width, initial_indent=first, subsequent_indent=f"{indent}{'':7}", break_on_hyphens=False
        ) or [first.rstrip()]
    return lines


def _listed(title: str, ids: tuple[str, ...], width: int) -> str:
    if not ids:
        return ""
    return textwrap.fill(
        ", ".join(ids),
        width,
        initial_indent=f"{title + ':':10}",
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
    )


def _verdict(report: Report) -> str:
    counts = [finding.check.weight.name.lower() for finding in report.findings]
    told = [
        f"{counts.count(word)} {word}{'s' if counts.count(word) > 1 else ''}"
        for word in ("error", "warning", "note")
        if word in counts
    ]
    checks = f"{len(report.passed)} checks passed"
    if report.not_made:
        checks += f", {len(report.not_made)} not made"
    nothing = "nothing is wrong" if report.reached else "what keeps it from talking is left out"
    return f"{', '.join(told) or nothing}; {checks}"
