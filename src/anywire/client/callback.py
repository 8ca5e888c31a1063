"""A function of the program that answers a server's requests, and how it is called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any

from anywire.client.asked import Asked
from anywire.errors import ConfigError

__all__ = ("Callback",)


class Callback:
    """Calls a function: a coroutine function on the loop, a plain one in a worker thread, since it may block.

    It gets its arguments, and an `Asked` if it takes one parameter more.
    """

    def __init__(self, function: Callable[..., Any], name: str, arguments: int, threads: Executor) -> None:
        if not callable(function):
            raise ConfigError(f"{name} must be a function, not {function!r}")
        #: What it is called in errors and logs.
        self.name = name
        self._function = function
        self._threads = threads
        self._takes_asked = _required(function) > arguments
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 an object with an async __call__ will do
        )

    async def call(self, asked: Asked, *arguments: object) -> Any:
        """Return what the function returns and raise what it raises."""
        if self._takes_asked:
            arguments = (*arguments, asked)
        if self._is_async:
            return await self._function(*arguments)
        call = partial(self._function, *arguments)
        result = await asyncio.get_running_loop().run_in_executor(self._threads, call)
        return await result if inspect.isawaitable(result) else result


def _required(function: Callable[..., Any]) -> int:
    """Count the parameters that must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0  # what is not written in Python may not tell
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in places and each.default is inspect.Parameter.empty for each in parameters)
