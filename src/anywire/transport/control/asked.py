"""The requests that we put to the other side of a control channel and that have no reply yet."""

from __future__ import annotations

from collections.abc import Callable

from anywire.wire.message import Batch, Message, Request, id_key

__all__ = ("Asked", "AskedRequests")


class Asked:
    """What was asked in one `mcp_message`."""

    __slots__ = ("control_id", "method", "since", "waiting")

    def __init__(self, control_id: bytes, requests: list[Request], now: float) -> None:
        self.control_id = control_id
        #: The raw id of each request without a reply, by its key.
        self.waiting = {id_key(request.id): request.id for request in requests}
        #: The method of the first of them.
        self.method = requests[0].method
        #: When it was asked.
        self.since = now

    def concerned(self, id: bytes | None, *, is_error: bool) -> list[bytes]:
        """Return the keys of what a lone reply under that id answers.

        The request of that id.  Where there is none, the only one, whatever the id; an error is that of all.
        """
        key = None if id is None else id_key(id)
        if key in self.waiting:
            return [key]
        return list(self.waiting) if is_error or len(self.waiting) == 1 else []


class AskedRequests:
    """Knows what is asked.  `forget` gets the id of an `mcp_message` that nothing waits for any more."""

    def __init__(self, forget: Callable[[bytes], object]) -> None:
        self._forget = forget
        self._asked: dict[bytes, Asked] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def add(self, control_id: bytes, message: Message | Batch, now: float) -> Asked | None:
        """Note the requests of a message; None where it has none."""
        items = message.items if isinstance(message, Batch) else (message,)
        requests = [item for item in items if isinstance(item, Request)]
        if not requests:
            return None
        asked = self._asked[control_id] = Asked(control_id, requests, now)
        return asked

    def settle(self, id: bytes) -> None:
        """A reply to the request of that id has come, or none is wanted; of several, it is the oldest's."""
        key = id_key(id)
        for asked in self._asked.values():
            if key in asked.waiting:
                self.drop(asked, key)
                return

    def drop(self, asked: Asked, key: bytes) -> None:
        """Wait no more for one request of a message."""
        asked.waiting.pop(key, None)
        if not asked.waiting and self._asked.pop(asked.control_id, None) is not None:
            self._forget(asked.control_id)

    def drop_all(self, asked: Asked) -> list[bytes]:
        """Wait no more for what was asked in a message; return the ids that had no reply."""
        left, asked.waiting = list(asked.waiting.values()), {}
        self._asked.pop(asked.control_id, None)
        return left

    def oldest(self) -> Asked | None:
        """What has been waited for longest."""
        return next(iter(self._asked.values()), None)

    def end(self) -> list[Asked]:
        """Forget everything, and return what it was."""
        asked, self._asked = self._asked, {}
        return list(asked.values())
