"""Replies to a batch go out together, as one array.

Specification: JSON-RPC 2.0 §6; MCP 2025-03-26 `basic/index#batching`, the only revision with batches.
"""

from __future__ import annotations

from anywire.wire.message import ErrorResponse, Response, id_key

__all__ = ("BatchReplies",)


class _Group:
    """The replies to one batch: those that are there, and the keys of those that are not."""

    def __init__(self) -> None:
        self.replies: list[Response | ErrorResponse] = []
        self.awaited: set[bytes] = set()


class BatchReplies:
    """Gathers the replies to the requests of batches until each batch is complete.

    For each batch: `begin()`, then `expect` or `add_now` for its items, then `finish_reading`.
    """

    def __init__(self) -> None:
        self._groups: dict[bytes, _Group] = {}
        self._reading: _Group | None = None
        #: Whether a reply may belong to a batch; looked at for each reply, so no more than a flag.
        self.active = False

    def begin(self) -> None:
        """A batch is being read; what is added from now on belongs to it."""
        self._reading = _Group()
        self.active = True

    def expect(self, id: bytes) -> None:
        """One of its items is a request that will be answered."""
        assert self._reading is not None
        key = id_key(id)
        self._reading.awaited.add(key)
        self._groups[key] = self._reading

    def add_now(self, reply: Response | ErrorResponse) -> None:
        """One of its items is answered at once (it was no request, or refused)."""
        assert self._reading is not None
        self._reading.replies.append(reply)

    def finish_reading(self) -> list[Response | ErrorResponse]:
        """The whole batch has been read; return its replies if all are there (empty: none are due yet)."""
        group, self._reading = self._reading, None
        self.active = bool(self._groups)
        return group.replies if group is not None and not group.awaited else []

    def add(self, reply: Response | ErrorResponse) -> list[Response | ErrorResponse] | None:
        """Take a reply: None when it belongs to no batch, else the replies that may go out now."""
        group = self._groups.pop(id_key(reply.id), None) if reply.id is not None else None
        if group is None:
            return None
        assert reply.id is not None
        group.awaited.discard(id_key(reply.id))
        group.replies.append(reply)
        return self._complete(group)

    def drop(self, key: bytes) -> list[Response | ErrorResponse]:
        """A request was cancelled and has no reply; return what may go out now."""
        group = self._groups.pop(key, None)
        if group is None:
            return []
        group.awaited.discard(key)
        return self._complete(group)

    def _complete(self, group: _Group) -> list[Response | ErrorResponse]:
        self.active = bool(self._groups) or self._reading is not None
        return [] if group.awaited or group is self._reading else group.replies
