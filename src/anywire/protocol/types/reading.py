"""From a peer's bytes to a typed value, losing as little as can be.

What comes from a peer keeps the bytes it came from (`raw`), so members that no type here knows are
never lost.  Null is as good as absent.  In what describes something, an optional member that cannot be
used costs itself, and an item of a list costs itself; only a required member costs what it belongs to.
What is asked and answered is read more strictly: each type says what it forgives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Raw, UnsetType

from anywire.wire.value import decode_value, encode_value

__all__ = ("Item", "ItemFault", "Received", "read", "read_items", "settle")

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

if TYPE_CHECKING:
    #: An item of a list: raw JSON as it comes in, itself or raw JSON as it goes out.
    Item: TypeAlias = T | Raw
else:

    class Item:
        """An item of a list: raw JSON as it comes in, itself or raw JSON as it goes out."""

        def __class_getitem__(cls, _: object) -> type[Raw]:
            return Raw


class Received(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", dict=True):
    """What may come from a peer, and then keeps its bytes."""

    #: The optional members that may be unusable; None: each of them.
    forgiven: ClassVar[frozenset[str] | None] = None

    @property
    def raw(self) -> bytes:
        """The JSON it was read from; of a value made here, the JSON it is written as."""
        raw = self.__dict__.get("raw")
        return encode_value(self) if raw is None else raw


class ItemFault(msgspec.Struct, frozen=True):
    """An item that cannot be used, as it came, and why."""

    raw: bytes
    reason: str


def read(raw: bytes | Raw, type: type[S]) -> S:
    """Read a struct that a peer sent; what its type forgives is left out where it cannot be used.

    Raises `msgspec.MsgspecError` for a required member that is missing, or one that is unusable.
    """
    try:
        value = decode_value(raw, type, _decoder(type))
    except msgspec.MsgspecError:
        value = _read_loosely(raw, type)
    if isinstance(value, Received):
        vars(value)["raw"] = bytes(raw)
    return value


def read_items(items: Iterable[S | Raw], type: type[S]) -> tuple[list[S], list[ItemFault]]:
    """Read the items of a list one by one: those that can be used, and those that cannot."""
    good: list[S] = []
    faults: list[ItemFault] = []
    for item in items:
        if not isinstance(item, Raw):
            good.append(item)
            continue
        try:
            good.append(read(item, type))
        except msgspec.MsgspecError as error:
            faults.append(ItemFault(bytes(item), str(error)))
    return good, faults


def settle(struct: msgspec.Struct, name: str, reader: Callable[[Raw], object]) -> None:
    """Replace a member that is still raw, or a list of such, by what `reader` makes of it."""
    value: Any = getattr(struct, name)
    if type(value) is Raw:
        msgspec.structs.force_setattr(struct, name, reader(value))
    elif type(value) is list and Raw in map(type, cast("list[object]", value)):
        items = cast("list[object]", value)
        settled = [reader(item) if isinstance(item, Raw) else item for item in items]
        msgspec.structs.force_setattr(struct, name, settled)


@cache
def _decoder(type: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


def _read_loosely(raw: bytes | Raw, type: type[S]) -> S:
    """Read a struct member by member."""
    members = decode_value(raw, dict[str, Raw])
    _check_tag(members, type)
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(type):
        value = members.get(field.encode_name)
        if value is None and field.required:
            raise msgspec.ValidationError(f"Object missing required field `{field.encode_name}`")
        if value is None:
            continue
        try:
            given[field.name] = _read_member(value, field.type)
        except msgspec.MsgspecError as error:
            if field.required or not (_is_null(value) or _forgives(type, field.name)):
                raise msgspec.ValidationError(f"{error} - at `$.{field.encode_name}`") from error
    try:
        return type(**given)
    except ValueError as error:
        raise msgspec.ValidationError(str(error)) from error


def _is_null(value: Raw) -> bool:
    return bytes(value) == b"null"


def _forgives(type: type[msgspec.Struct], name: str) -> bool:
    forgiven = type.forgiven if issubclass(type, Received) else None
    return forgiven is None or name in forgiven


def _check_tag(members: Mapping[str, Raw], type: type[msgspec.Struct]) -> None:
    config = type.__struct_config__
    if config.tag_field is not None:
        tag = decode_value(members.get(config.tag_field, Raw(b"null")), object)
        if tag != config.tag:
            raise msgspec.ValidationError(f"Invalid value {tag!r} - at `$.{config.tag_field}`")


def _read_member(value: Raw, hint: Any) -> Any:  # noqa: ANN401 whatever the member is
    """Read a member; a struct, and the structs in a list, are read as loosely as what they belong to."""
    kinds = [kind for kind in _union(hint) if kind is not UnsetType]
    try:
        return decode_value(value, cast("type[Any]", Union[tuple(kinds)]))  # noqa: UP007 made at run time
    except msgspec.ValidationError:
        if len(kinds) != 1:
            raise
    kind = kinds[0]
    if _is_struct(kind):
        return _read_loosely(value, kind)
    items = get_args(kind)
    if get_origin(kind) is list and _is_struct(items[0]):
        return read_items(decode_value(value, list[Raw]), items[0])[0]
    return decode_value(value, kind)


def _union(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 an annotation
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
