r"""Reads the vector files: titled examples of bytes and what must come of them.

A file holds vectors one after the other:

    == the title of a vector
    A line or two of prose: why it is so.
    with message_bytes=80
    in:
        {"jsonrpc":"2.0",\r\n
        3000 times: x
    out:
        frame {"jsonrpc":"2.0",
        fault STRAY at=20
    end:
        fault TRUNCATED id=7 reply at=20

`in` is one run of bytes: indentation and line ends of the file do not count, `\n \r \t \\ \xHH` are
escapes, anything else is UTF-8.  `out` is what `feed` returned by the end of the input, `end` what
`end()` returned.  `with` sets limits.  Lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
SECTIONS = frozenset({"in:", "out:", "end:"})

_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|([nrt\\]))")
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}
_TIMES = re.compile(r"(\d+) times: (.+)")


@dataclass(frozen=True)
class Vector:
    """One example; `out` and `end` are lines as `render` writes them."""

    title: str
    prose: str
    limits: Limits
    data: bytes
    out: list[bytes]
    end: list[bytes]


@dataclass
class _Draft:
    title: str
    prose: list[str] = field(default_factory=list[str])
    limits: dict[str, int] = field(default_factory=dict[str, int])
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    section: str = ""

    def take(self, line: str) -> None:
        """Take one line of the file."""
        if line in SECTIONS:
            self.section = line
            self.sections[line] = []
        elif self.section:
            assert line.startswith("    "), f"{self.title}: not indented: {line!r}"
            self.sections[self.section].append(line[4:])
        elif line.startswith("with "):
            for setting in line.split()[1:]:
                name, _, value = setting.partition("=")
                self.limits[name] = int(value)
        else:
            self.prose.append(line)

    def finish(self) -> Vector:
        """Make the vector of it."""
        assert self.prose, f"{self.title}: no prose"
        assert {"in:", "out:"} <= self.sections.keys(), f"{self.title}: needs in and out"
        return Vector(
            title=self.title,
            prose=" ".join(self.prose),
            limits=Limits().replace(**self.limits),
            data=b"".join(map(_piece, self.sections["in:"])),
            out=[_unescape(line) for line in self.sections["out:"]],
            end=[_unescape(line) for line in self.sections.get("end:", [])],
        )


def read_vectors(name: str) -> list[Vector]:
    """Read all vectors of one file."""
    drafts: list[_Draft] = []
    for line in (FOLDER / name).read_text(encoding="utf-8").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            drafts.append(_Draft(line[3:]))
        else:
            drafts[-1].take(line.rstrip("\n"))
    vectors = [draft.finish() for draft in drafts]
    titles = [vector.title for vector in vectors]
    assert len(titles) == len(set(titles)), f"{name}: a title occurs twice"
    return vectors


def each_vector(name: str) -> pytest.MarkDecorator:
    """Run a test with each vector of a file, as its argument `vector`."""
    vectors = read_vectors(name)
    return pytest.mark.parametrize(
        "vector", vectors, ids=[vector.title.replace(" ", "-") for vector in vectors]
    )


def render(thing: bytes | Message | Batch | Fault) -> list[bytes]:
    """Write a frame, a message or a fault as the lines that vectors expect."""
    match thing:
        case bytes():
            return [b"frame %b" % thing if thing else b"frame"]
        case Request():
            return [_words(b"request", thing.id, thing.method.encode(), thing.params)]
        case Notification():
            return [_words(b"notification", thing.method.encode(), thing.params)]
        case Response():
            return [_words(b"response", thing.id, thing.result)]
        case ErrorResponse():
            return [_words(b"error", b"-" if thing.id is None else thing.id, thing.error)]
        case Batch():
            return [b"batch", *(b"- " + line for item in thing.items for line in render(item))]
        case Fault():
            return [_render_fault(thing)]


def _render_fault(fault: Fault) -> bytes:
    return _words(
        b"fault",
        fault.kind.name.encode(),
        None if fault.id is None else b"id=" + fault.id,
        b"reply" if fault.is_reply else None,
        b"at=%d" % fault.position if fault.position >= 0 else None,
    )


def _words(*words: bytes | None) -> bytes:
    return b" ".join(word for word in words if word is not None)


def _piece(line: str) -> bytes:
    times = _TIMES.fullmatch(line)
    return _unescape(times[2]) * int(times[1]) if times else _unescape(line)


def _unescape(text: str) -> bytes:
    return _ESCAPE.sub(_byte, text.encode())


def _byte(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode()) if found[1] else _PLAIN[found[2]]
