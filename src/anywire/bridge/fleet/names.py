"""What things of several servers are called together, and whose they are.

A tool or a prompt is `SERVER__name`.  A resource is `SERVER+scheme:rest`, and `ui://rest` is
`ui://SERVER/rest`, since hosts know by that scheme what is to be shown.  Each way leads back: the server's
own name or URI is found again as it was spelled.

* The name of a server is made fit for each of the two: no `__` and no end in `_` in the first, and a URI's
  scheme for the second, which is read whatever its case.  Names that become alike get a digest.
* Many models take 64 characters and no more: a longer name is cut and marked with a digest of the own one,
  and a table leads back.  What looks like one of these is treated as too long, so that it cannot be taken for
  another.

Names are raw JSON strings here: what need not change keeps its escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, TypeAlias

import msgspec

from anywire.wire.message import id_token

__all__ = ("Found", "Label", "Names", "Unlisted", "listed", "text_of")

#: What a name may have of characters.
_MOST: Final = 64
_MARK: Final = re.compile(r"-[0-9a-f]{8}\Z")
_MARK_LENGTH: Final = 9
#: What a server's part of it may have, so that enough is left for the name.
_MOST_OF_SERVER: Final = 32
#: So many cut names are kept; a server has no more tools and prompts that anybody could use.
_MOST_CUT: Final = 10_000
_UI: Final = "ui://"


class Label(msgspec.Struct, frozen=True):
    """One server, and its part of names: `prefix` in names, `scheme` in URIs."""

    server: str
    prefix: str
    scheme: str


class Found(msgspec.Struct, frozen=True):
    """Whose something is, and its own raw name or URI there."""

    label: Label
    raw: bytes


class Unlisted(msgspec.Struct, frozen=True):
    """A name that was cut; whose it is can be told, its whole only when that server's list is known."""

    label: Label


def listed(labels: Sequence[Label]) -> str:
    """Name the servers to people and models, with their part of names where that is another."""
    return ", ".join(
        label.server if label.prefix == label.server else f"{_cut(label.server)} (as {label.prefix})"
        for label in labels
    )


def _cut(name: str) -> str:
    return name if len(name) <= _MOST else f"{name[:_MOST]}…"


#: What a name leads to; None: to nobody.
Way: TypeAlias = Found | Unlisted | None


def text_of(raw: bytes | None) -> str | None:
    """Return the text of a raw JSON string, None for anything else."""
    if raw is None or raw[:1] != b'"':
        return None
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, str) else None


class Names:
    """The names of the servers that are together, and the long names that were cut."""

    def __init__(self) -> None:
        self._labels: dict[str, Label] = {}
        self._by_prefix: dict[str, Label] = {}
        self._by_scheme: dict[str, Label] = {}
        self._cut: dict[tuple[str, str], bytes] = {}

    def name_servers(self, servers: Iterable[str]) -> None:
        """Let these servers have names, and no others; those that have theirs already keep them."""
        wanted = list(servers)
        self._labels = {server: label for server, label in self._labels.items() if server in wanted}
        self._by_prefix = {label.prefix: label for label in self._labels.values()}
        self._by_scheme = {label.scheme: label for label in self._labels.values()}
        new = [server for server in wanted if server not in self._labels]
        for server in sorted(new, key=lambda server: _fit_prefix(server) != server):
            prefix, scheme = _fit_prefix(server), _fit_scheme(server)
            label = Label(
                server,
                prefix if prefix not in self._by_prefix else f"{prefix}-{_digest(server)}",
                scheme if scheme not in self._by_scheme else f"{scheme}-{_digest(server)}",
            )
            self._labels[server] = label
            self._by_prefix[label.prefix] = label
            self._by_scheme[label.scheme] = label

    def __getitem__(self, server: str) -> Label:
        return self._labels[server]

    # Tools and prompts.

    def name(self, label: Label, raw: bytes | None) -> bytes | None:
        """Return the name under which something of a server is known to all; None: it has no name."""
        own = text_of(raw)
        if raw is None or own is None:
            return None
        whole = f"{label.prefix}__{own}"
        if len(whole) <= _MOST and not _looks_cut(whole):
            return b'"%b__%b' % (label.prefix.encode(), raw[1:])
        cut = f"{whole[: _MOST - _MARK_LENGTH]}-{_digest(own)}"
        self._remember(label, cut, raw)
        return id_token(cut)

    def _remember(self, label: Label, cut: str, raw: bytes) -> None:
        key = label.server, cut
        self._cut.pop(key, None)
        self._cut[key] = raw
        if len(self._cut) > _MOST_CUT:
            del self._cut[next(iter(self._cut))]

    def find_name(self, raw: bytes | None) -> Way:
        """Return what a name leads to."""
        text = text_of(raw)
        if raw is None or text is None:
            return None
        prefix, _, own = text.partition("__")
        label = self._by_prefix.get(prefix)
        if label is None or len(prefix) == len(text):
            return None
        if _looks_cut(text):
            whole = self._cut.get((label.server, text))
            return Unlisted(label) if whole is None else Found(label, whole)
        return Found(label, _without(raw, f"{prefix}__", own))

    # Resources.

    def uri(self, label: Label, raw: bytes | None) -> bytes | None:
        """Return the URI, or template, under which a server's own is known to all; None: it is none."""
        own = text_of(raw)
        if raw is None or own is None:
            return None
        scheme = label.scheme.encode()
        start = own[: len(_UI)]
        if start.lower() != _UI:
            return b'"%b+%b' % (scheme, raw[1:])
        return b'"%b%b/%b' % (start.encode(), scheme, _without(raw, start, own[len(_UI) :])[1:])

    def find_uri(self, raw: bytes | None) -> Found | None:
        """Return whose URI this is, and the own one."""
        text = text_of(raw)
        if raw is None or text is None:
            return None
        start = text[: len(_UI)]
        if start.lower() == _UI:
            scheme, slash, rest = text[len(_UI) :].partition("/")
            label, head = self._by_scheme.get(scheme.lower()), f"{start}{scheme}/"
            if label is None or not slash:
                return None
            return Found(label, b'"%b%b' % (start.encode(), _without(raw, head, rest)[1:]))
        scheme, plus, rest = text.partition("+")
        label = self._by_scheme.get(scheme.lower())
        if label is None or not plus:
            return None
        return Found(label, _without(raw, f"{scheme}+", rest))


def _without(raw: bytes, head: str, rest: str) -> bytes:
    """Return a raw string without its beginning: its own bytes, unless the beginning has escapes."""
    start = b'"' + head.encode("utf-8", "surrogatepass")
    return b'"' + raw[len(start) :] if raw.startswith(start) else id_token(rest)


def _looks_cut(name: str) -> bool:
    return len(name) > _MOST or (len(name) == _MOST and _MARK.search(name) is not None)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: _MARK_LENGTH - 1]


def _fit_prefix(server: str) -> str:
    fit = re.sub(r"__+", "_", re.sub(r"[^A-Za-z0-9_-]+", "_", server)).rstrip("_") or "server"
    if len(fit) <= _MOST_OF_SERVER:
        return fit
    return f"{fit[: _MOST_OF_SERVER - _MARK_LENGTH]}-{_digest(server)}"


def _fit_scheme(server: str) -> str:
    fit = re.sub(r"[^a-z0-9.-]+", "-", server.lower()).strip("-.") or "server"
    return fit if "a" <= fit[0] <= "z" else f"s-{fit}"
