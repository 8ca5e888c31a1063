"""A JSON value and what it is in Python, where half of a surrogate pair costs nothing but itself.

JSON allows the escape of a lone surrogate and Python allows it in a string; UTF-8 has no bytes for
it, so the fast coder refuses both.  Real peers cut an emoji in half all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Raw

from anywire.wire.scan import replace_lone_surrogates

__all__ = ("Verbatim", "decode_value", "encode_value", "value_reader")

T = TypeVar("T")


class Verbatim:
    """JSON that is written as it came, wherever it stands in a value."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        #: The JSON as it came.
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verbatim) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"


def _write_verbatim(value: object) -> Raw:
    if isinstance(value, Verbatim):
        return Raw(value.raw)
    raise TypeError(f"Encoding objects of type {type(value).__qualname__} is unsupported")


_encode = msgspec.json.Encoder(enc_hook=_write_verbatim).encode


def encode_value(value: object, hook: Callable[[Any], object] | None = None) -> bytes:
    """Write any value as JSON; `hook` makes something that has JSON of what has none.

    Half a surrogate pair in a string becomes U+FFFD, so that one cut emoji does not cost a reply;
    NaN and the infinities become null, as in JavaScript.  Raises `TypeError` for what JSON has not.
    """
    try:
        return _encode(value) if hook is None else msgspec.json.encode(value, enc_hook=_writer(hook))
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, builtin_types=(Raw,), enc_hook=_writer(hook))
        return _encode(_mended(plain))


def _writer(hook: Callable[[Any], object] | None) -> Callable[[Any], object]:
    if hook is None:
        return _write_verbatim
    return lambda value: Raw(value.raw) if isinstance(value, Verbatim) else hook(value)


def _mended(value: Any) -> Any:  # noqa: ANN401 plain JSON data of any shape
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            members = cast("dict[Any, Any]", value)
            return {_mended(name): _mended(member) for name, member in members.items()}
        case list() | tuple():
            return [_mended(item) for item in cast("list[Any]", value)]
        case _:
            return value


def decode_value(raw: bytes | Raw, type: type[T], decoder: msgspec.json.Decoder[T] | None = None) -> T:
    """Decode raw JSON that came out of a message; half a surrogate pair reads as U+FFFD.

    Raises `msgspec.ValidationError` for a wrong shape and `msgspec.DecodeError` for what is not JSON
    or nests too deeply for this type.
    """
    return (_reader_of(type) if decoder is None else value_reader(decoder))(raw)


def value_reader(decoder: msgspec.json.Decoder[T], null: bytes = b"null") -> Callable[[bytes | Raw], T]:
    """Return what decodes as `decode_value` does, for a type that is read again and again.

    Where the type has no null, one is read as if it were `null`, raw JSON.
    """
    decode = decoder.decode

    def read(raw: bytes | Raw) -> T:
        try:
            return decode(raw)
        except msgspec.MsgspecError as error:
            other = _in_its_place(bytes(raw), null, mend=not isinstance(error, msgspec.ValidationError))
            if other is None:
                raise
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError("not valid UTF-8") from error
        except RecursionError as error:
            raise msgspec.DecodeError("nested too deeply") from error
        return _read_other(decode, other)

    return read


@lru_cache(maxsize=256)
def _reader_of(type: type[T]) -> Callable[[bytes | Raw], T]:
    return value_reader(msgspec.json.Decoder(type))


def _in_its_place(raw: bytes, null: bytes, *, mend: bool) -> bytes | None:
    """Return what is to be read in the place of what could not be; None where there is nothing."""
    if raw == b"null":
        return None if null == raw else null
    mended = replace_lone_surrogates(raw) if mend else raw
    return None if mended == raw else mended


def _read_other(decode: Callable[[bytes], T], raw: bytes) -> T:
    try:
        return decode(raw)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError("not valid UTF-8") from error
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
