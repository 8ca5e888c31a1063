"""What a program sets up before its server's first conversation and takes down after the last.

Specification: none; the shape is that of ASGI frameworks' lifespans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

__all__ = ("Lifespan", "LifespanFunction")

#: Makes the context manager; what that gives is `Context.lifespan`.
LifespanFunction: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class Lifespan:
    """Entered for the first that needs it, left after the last.

    It is entered and left by one task of its own, as context managers with task groups inside need it.
    """

    def __init__(self, function: LifespanFunction | None) -> None:
        self._function = function
        self._users = 0
        self._task: asyncio.Task[None] | None = None
        self._entered: asyncio.Future[None] | None = None
        self._leave: asyncio.Event | None = None
        #: What the context manager gave, None before and after.
        self.value: Any = None

    @property
    def users(self) -> int:
        """How many need it now."""
        return self._users

    async def enter(self) -> None:
        """Be one more user; returns when everything is set up.  Raises what the set-up raises."""
        self._users += 1
        if self._function is None:
            return
        if self._task is not None and self._leave is not None and self._leave.is_set():
            await asyncio.wait((self._task,))  # the one before is being taken down
        if self._task is None or self._task.done():
            self._entered = asyncio.get_running_loop().create_future()
            self._leave = asyncio.Event()
            self._task = asyncio.create_task(self._run(self._function, self._entered, self._leave))
        assert self._entered is not None
        try:
            await asyncio.shield(self._entered)
        except BaseException:
            await self.leave()
            raise

    def let_go(self) -> None:
        """Be one user less, where there are others."""
        self._users -= 1

    async def leave(self) -> None:
        """Be one user less; the last returns when everything is taken down.  Raises what that raises."""
        self.let_go()
        if self._users > 0 or self._task is None or self._leave is None:
            return
        self._leave.set()
        await asyncio.shield(self._task)

    async def _run(
        self, function: LifespanFunction, entered: asyncio.Future[None], leave: asyncio.Event
    ) -> None:
        try:
            async with function() as value:
                self.value = value
                entered.set_result(None)
                await leave.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)
        finally:
            self.value = None
