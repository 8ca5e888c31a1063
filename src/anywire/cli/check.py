"""`anywire check`: what a file of servers says, and what would keep its servers from starting."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from anywire.cli.options import add_json
from anywire.cli.output import visible_line
from anywire.cli.parser import Commands, Parser
from anywire.cli.servers_file import add_config_option, file_of, load_config
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anywire.config.entry import Config, Remark, ServerEntry

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Read a file of servers and say of each what would be run or called, without its secrets. Nothing is
started. The file may be one that an editor or an agent has: mcpServers (Claude, Cursor, Windsurf),
servers (VS Code), mcp (OpenCode), or [mcp_servers.NAME] in TOML (Codex).

Exit code 0: nothing is wrong (remarks do not count); 1: a server cannot be used; 2: the file cannot be
read."""

_EPILOG = """examples:
  anywire check --config .mcp.json
  anywire check --config ~/.cursor/mcp.json
  anywire check --config servers.json --json | jq '.servers[].name'
"""
_INDENT = " " * 10


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire check`."""
    parser = commands.add_parser(
        "check",
        prog="anywire check",
        help="check a file of servers",
        usage="anywire check [--config FILE] [--json]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_config_option(parser)
    add_json(parser, "servers, refused and remarks in JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    """Check the file and print what it says; return the exit code."""
    import os

    from anywire.cli.output import Output
    from anywire.config.findings import problems_of

    if options.command is not None:
        raise ConfigError("check takes a file, not a command behind '--'")
    path = file_of(options.config)
    config = load_config(path)
    problems = {
        entry.name: () if entry.disabled else problems_of(entry, os.environ) for entry in config.entries
    }
    healthy = not config.refused and not any(problems.values())
    output = Output()
    if options.json:
        output.document(_document(str(path), config, problems, healthy=healthy))
    else:
        output.text("\n".join(_lines(str(path), config, problems)))
    return 0 if healthy else 1


def _document(path: str, config: Config, problems: Mapping[str, tuple[str, ...]], *, healthy: bool) -> bytes:
    from anywire.wire.value import encode_value

    return encode_value(
        {
            "file": path,
            "healthy": healthy,
            "servers": [_members(entry, problems[entry.name]) for entry in config.entries],
            "refused": [{"name": name, "reason": reason} for name, reason in config.refused.items()],
            "remarks": [
                {
                    "severity": remark.severity.value,
                    "server": remark.server,
                    "line": remark.line,
                    "sentence": remark.sentence,
                }
                for remark in config.remarks
            ],
        }
    )


def _members(entry: ServerEntry, problems: tuple[str, ...]) -> dict[str, object]:
    """Return what a program is told of a server: names of variables and headers, no values."""
    return {
        "name": entry.name,
        "written_name": entry.written_name,
        "wire": entry.wire,
        "shown": entry.shown,
        "disabled": entry.disabled,
        "cwd": entry.cwd,
        "env": list(entry.env),
        "headers": [name for name, _ in entry.headers],
        "start_seconds": entry.start_seconds,
        "call_seconds": entry.call_seconds,
        "allow": list(entry.allow),
        "deny": list(entry.deny),
        "era": entry.era,
        "problems": list(problems),
    }


def _lines(path: str, config: Config, problems: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    yield visible_line(path)
    yield ""
    yield from map(visible_line, _said(config, problems))
    yield ""
    yield _verdict(config, problems)


def _said(config: Config, problems: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for entry in config.entries:
        state = "disabled" if entry.disabled else "problem" if problems[entry.name] else "ok"
        yield f"{state:9} {entry.written_name}: {entry.shown}"
        yield from (f"{_INDENT}{detail}" for detail in (*_details(entry), *problems[entry.name]))
    for name, reason in config.refused.items():
        yield f"{'refused':9} {name}"
        yield f"{_INDENT}{reason}"
    yield from map(_remark, config.remarks)


def _details(entry: ServerEntry) -> Iterator[str]:
    if entry.name != entry.written_name:
        yield f"called {entry.name}"
    if entry.wire not in ("stdio", "http"):
        yield f"wire: {entry.wire}"
    if entry.env:
        yield f"env: {', '.join(entry.env)}"
    if entry.headers:
        yield f"headers: {', '.join(name for name, _ in entry.headers)}"
    if entry.cwd is not None:
        yield f"cwd: {entry.cwd}"
    yield from _times(entry)
    if entry.allow:
        yield f"allow: {', '.join(entry.allow)}"
    if entry.deny:
        yield f"deny: {', '.join(entry.deny)}"
    if entry.era != "auto":
        yield f"era: {entry.era}"


def _times(entry: ServerEntry) -> Iterator[str]:
    if entry.start_seconds is not None:
        yield f"start: within {entry.start_seconds:g} s"
    if entry.call_seconds is not None:
        yield f"call: answered with an error after {entry.call_seconds:g} s"


def _remark(remark: Remark) -> str:
    where = "" if remark.line is None else f"line {remark.line}, "
    return f"{remark.severity.value:9} {where}{remark.server or 'the file'}: {remark.sentence}"


def _verdict(config: Config, problems: Mapping[str, tuple[str, ...]]) -> str:
    disabled = sum(entry.disabled for entry in config.entries)
    broken = sum(bool(found) for found in problems.values())
    counts = {
        "ready": len(config.entries) - disabled - broken,
        "with problems": broken,
        "refused": len(config.refused),
        "disabled": disabled,
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    return f"servers: {', '.join(told) or 'none'}"
