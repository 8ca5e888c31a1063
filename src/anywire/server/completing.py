"""A completion: the values that an argument of a prompt or of a resource template may have.

Specification: MCP `server/utilities/completion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from anywire.errors import ConfigError
from anywire.protocol.types.completion import MAX_COMPLETION_VALUES, CompleteResult, Completion
from anywire.server.exchange import Terms
from anywire.server.handler import Handler, make_handler
from anywire.wire.codec import encode_value

__all__ = ("RegisteredCompletion", "choices", "encode_completion", "register_completion")


class RegisteredCompletion(msgspec.Struct, frozen=True):
    """What a server knows of the values of one argument; `of` is the prompt's name or the template."""

    of: str
    argument: str
    handler: Handler

    @property
    def label(self) -> str:
        """What it is called in errors."""
        return f"completion of {self.argument!r} of {self.of!r}"

    def arguments(self, value: str, given: dict[str, str]) -> Any:
        """Return what the handler is called with: what is typed, and the arguments that are given."""
        taken = zip(self.handler.signature.fields, (value, given), strict=False)
        return _Arguments(dict(taken))

    def encode(self, output: Any, terms: Terms) -> bytes:
        """Write the values, at most 100 of them, as a raw result."""
        return encode_completion(output)

    def encode_failure(self, error: BaseException) -> bytes | None:
        """A completion that fails is an error of the request."""
        return None


class _Arguments:
    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def register_completion(of: str, argument: str, function: Callable[..., Any]) -> RegisteredCompletion:
    """Make a completion of a function.  Raises `ConfigError` when it cannot serve as one."""
    handler = make_handler(function, "completion", f"{of}.{argument}")
    if not 1 <= len(handler.signature.fields) <= 2:
        reason = "takes what is typed and, if it wants them, the other arguments"
        raise ConfigError(f"completion {handler.name}: the function {reason}")
    return RegisteredCompletion(of, argument, handler)


def encode_completion(output: Completion | Iterable[str] | None) -> bytes:
    """Write values as the raw result of `completion/complete`."""
    if isinstance(output, Completion):
        return encode_value(CompleteResult(output))
    values = [str(value) for value in output or ()]
    shown = values[:MAX_COMPLETION_VALUES]
    return encode_value(CompleteResult(Completion(shown, len(values), len(values) > len(shown))))


def choices(schema: dict[str, Any], argument: str) -> list[str]:
    """Return the values that a parameter may have by its type; none where its type does not say."""
    property = schema.get("properties", {}).get(argument, {})
    reference = property.get("$ref", "")
    if reference:
        property = schema.get("$defs", {}).get(reference.rsplit("/", 1)[-1], {})
    return [str(value) for value in cast("list[object]", property.get("enum", []))]
