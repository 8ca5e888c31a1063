"""The functions of a program that answer control requests: permissions, hooks, whatever is asked."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from anywire.transport.control.link import ControlLink
from anywire.wire.control import ControlRequest
from anywire.wire.limits import Limits
from anywire.wire.message import id_key
from anywire.wire.value import decode_value, encode_value

__all__ = ("ControlHandlers", "Handler")

#: Gets the body of a request as plain JSON data, `subtype` included, and returns the response (None: none).
#: An `async` function may take its time; what it raises is the error of the request.
Handler: TypeAlias = Callable[[dict[str, Any]], object]


class ControlHandlers:
    """Runs a handler for each request, in a task of its own, and answers with what comes of it."""

    def __init__(self, link: ControlLink, handlers: Mapping[str, Handler], limits: Limits) -> None:
        self._link = link
        self._handlers = dict(handlers)
        self._limits = limits
        self._running: dict[asyncio.Task[None], bytes] = {}
        #: Those that are ending this side: nobody waits for them or stops them, or the end would not come.
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def serve(self, request: ControlRequest) -> None:
        """Answer a request, now or later; an unknown one with an error."""
        handler = self._handlers.get(request.subtype)
        if handler is None:
            self._link.fail(request.id, f"unsupported control request {request.subtype!r}")
        elif len(self._running) >= self._limits.requests_in_flight:
            self._link.fail(
                request.id, f"more than {self._limits.requests_in_flight} requests are unanswered"
            )
        else:
            task = asyncio.get_running_loop().create_task(self._run(handler, request))
            self._running[task] = id_key(request.id)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._ending.discard(task)

    def cancel(self, id: bytes) -> None:
        """The other side no longer waits: stop, and say nothing."""
        key = id_key(id)
        self._stop([task for task, served in self._running.items() if served == key])

    def cancel_all(self) -> None:
        """There is nobody left to answer."""
        self._stop(list(self._running))

    def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            if task not in self._ending:
                self._running[task] = b""
                task.cancel()

    def is_caller(self) -> bool:
        """Whether it is a handler that asks."""
        return asyncio.current_task() in self._running

    async def end(self, grace: float) -> None:
        """Let what runs finish, for so many seconds; then cancel it and answer in its place.

        A handler may call it; it is left out, and so is any other that does.
        """
        if self.is_caller():
            self._ending.add(_this_task())
        if running := self._to_end():
            await asyncio.wait(running, timeout=grace)
        left = self._to_end()
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=self._limits.shutdown_seconds)

    def _to_end(self) -> list[asyncio.Task[None]]:
        return [task for task in self._running if task not in self._ending]

    async def _run(self, handler: Handler, request: ControlRequest) -> None:
        try:
            body = decode_value(request.request, dict[str, Any])
            result = handler(body)
            if inspect.isawaitable(result):
                result = await result
            response = None if result is None else encode_value(result)
        except asyncio.CancelledError:
            if self._running.get(_this_task()):
                self._link.fail(request.id, f"the program ended before it answered {request.subtype!r}")
            raise
        except Exception as error:  # noqa: BLE001 whatever goes wrong is the answer
            self._link.fail(request.id, str(error) or type(error).__name__)
        else:
            self._link.answer(request.id, response)


def _this_task() -> asyncio.Task[None]:
    task: asyncio.Task[Any] | None = asyncio.current_task()
    assert task is not None, "a handler runs in a task"
    return task
