"""From a function's signature to the type its arguments are decoded into, and its JSON Schema.

Annotations give the types, defaults the optional ones, `Annotated` metadata the constraints and
descriptions, the docstring's `Args:` section (or `:param name:` lines) descriptions where there are
no others.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from anywire.errors import ConfigError
from anywire.server.docstring import read_docstring
from anywire.server.foreign import read_value, write_value
from anywire.server.schema import schema_of

__all__ = ("Signature", "read_signature", "result_hint")


class Signature(msgspec.Struct, frozen=True):
    """How a tool's function is called.

    `decoder` reads raw JSON arguments into a struct of the `fields`; `positional` and `keyword_only` name the
    function's parameters in its order; `context_name` is the one among them that receives the
    `Context`, None where there is none.
    """

    decoder: msgspec.json.Decoder[Any]
    fields: tuple[str, ...]
    schema: dict[str, Any]
    description: str
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    context_name: str | None

    def caller(self, function: Callable[..., Any]) -> Callable[[Any, Callable[[], Any]], Any]:
        """Return what calls the function with a decoded struct and, if it wants one, a new context."""
        if self.context_name is None and not self.keyword_only:
            return _plain_caller(function, self.positional)

        def call(arguments: Any, context: Callable[[], Any]) -> Any:
            def value(name: str) -> Any:
                return context() if name == self.context_name else getattr(arguments, name)

            positional = [value(name) for name in self.positional]
            return function(*positional, **{name: value(name) for name in self.keyword_only})

        return call


def read_signature(
    function: Callable[..., Any], context_type: type, kind: str = "tool", *, strict: bool = True
) -> Signature:
    """Read how a function wants to be called.

    `kind` is what errors call it.  Where `strict` is False, arguments are texts that may stand for
    numbers and the like.

    Raises `ConfigError`, naming the function and the parameter, for a signature that cannot be
    served: a parameter without annotation is taken as any JSON value, but `*args`, `**kwargs` and
    types that JSON has no form for are refused.
    """
    written = _as_written(function)
    own_name = getattr(function, "__name__", None) or getattr(written, "__name__", repr(function))
    name = f"{kind} {own_name}"
    hints = _hints(written, name)
    description, documented = read_docstring(inspect.cleandoc(written.__doc__ or ""))
    fields: list[tuple[str, Any, Any]] = []
    positional: list[str] = []
    keyword_only: list[str] = []
    context_name: str | None = None
    for parameter in _parameters(function, name):
        hint = hints.get(parameter.name, Any)
        hint = Any if hint is object else hint
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(f"{name}: parameter {parameter} has no form in a JSON schema")
        if _is_context(hint, context_type):
            context_name = parameter.name
        else:
            fields.append(_field(parameter, hint, documented.get(parameter.name)))
        (keyword_only if parameter.kind is parameter.KEYWORD_ONLY else positional).append(parameter.name)
    arguments = _arguments_type(name, own_name, fields)
    return Signature(
        decoder=_decoder(name, arguments, fields, strict),
        fields=tuple(field for field, _, _ in fields),
        schema=_schema(name, arguments, fields),
        description=description,
        positional=tuple(positional),
        keyword_only=tuple(keyword_only),
        context_name=context_name,
    )


def result_hint(function: Callable[..., Any]) -> Any:
    """Return the annotation of a function's result; None where there is none that can be read."""
    written = _as_written(function)
    annotation = inspect.get_annotations(written).get("return")
    holder = SimpleNamespace(__annotations__={"return": annotation})
    try:
        hint = get_type_hints(holder, getattr(written, "__globals__", {}), include_extras=True)["return"]
    except (NameError, TypeError, AttributeError):
        return None  # one for type checkers only
    return None if hint is type(None) else hint


def _as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that somebody wrote, with its annotations and its docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return getattr(type(function), "__call__")  # noqa: B004, B009 an object that can be called


def _hints(written: Callable[..., Any], name: str) -> dict[str, Any]:
    """Read the annotations of the parameters; that of the result may be one for type checkers only."""
    annotations = {key: value for key, value in inspect.get_annotations(written).items() if key != "return"}
    holder = SimpleNamespace(__annotations__=annotations)
    try:
        return get_type_hints(holder, getattr(written, "__globals__", {}), include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"{name}: its annotations cannot be read: {error}") from error


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: its parameters cannot be read: {error}") from error


def _is_context(hint: Any, context_type: type) -> bool:
    if hint is context_type:
        return True
    return any(argument is context_type for argument in get_args(hint))


def _field(parameter: inspect.Parameter, hint: Any, documented: str | None) -> tuple[str, Any, Any]:
    default: Any = parameter.default
    if default is parameter.empty:
        field: Any = msgspec.field()
    elif default is None or isinstance(default, int | float | str | bytes | Enum):
        field = msgspec.field(default=default)
    elif _is_mutable(default):  # what a handler does to it, no other call must see
        field = msgspec.field(default_factory=lambda: copy.deepcopy(default))
    else:
        field = msgspec.field(default_factory=lambda: default)
    return parameter.name, _described(hint, documented), field


def _is_mutable(value: object) -> bool:
    mutable = isinstance(value, list | dict | set | bytearray | msgspec.Struct)
    return mutable or dataclasses.is_dataclass(value)


def _described(hint: Any, documented: str | None) -> Any:
    """Give a type its description: a bare string in `Annotated`, else the docstring's."""
    description = documented
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        metas = [item for item in metadata if isinstance(item, msgspec.Meta)]
        texts = [item for item in metadata if isinstance(item, str)]
        hint = base
        for meta in metas:
            hint = Annotated[hint, meta]
        if texts:
            description = texts[0]
        elif any(meta.description for meta in metas):
            description = None
    return Annotated[hint, msgspec.Meta(description=description)] if description else hint


def _arguments_type(name: str, own_name: str, fields: list[tuple[str, Any, Any]]) -> type[msgspec.Struct]:
    try:
        return msgspec.defstruct(f"{own_name}_arguments", fields, kw_only=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from error


def _decoder(
    name: str, arguments: type[msgspec.Struct], fields: list[tuple[str, Any, Any]], strict: bool
) -> Any:
    try:
        return msgspec.json.Decoder(arguments, strict=strict, dec_hook=read_value)
    except (TypeError, ValueError):
        pass
    for field_name, hint, _ in fields:
        try:
            msgspec.json.Decoder(hint, strict=strict, dec_hook=read_value)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{name}: parameter {field_name!r}: {error}") from error
    raise ConfigError(f"{name}: its parameters cannot be decoded together")


def _schema(name: str, arguments: type[msgspec.Struct], fields: list[tuple[str, Any, Any]]) -> dict[str, Any]:
    try:
        schema = schema_of(arguments)
    except (TypeError, ValueError) as error:
        for field_name, hint, _ in fields:
            _refuse_without_schema(name, field_name, hint)
        raise ConfigError(f"{name}: no JSON schema can be made of its parameters: {error}") from error
    schema.pop("title", None)
    for field_name, _, field in fields:
        if field.default_factory is not msgspec.NODEFAULT:
            _tell_default(schema["properties"][field_name], field.default_factory())
    return schema


def _refuse_without_schema(name: str, field_name: str, hint: Any) -> None:
    try:
        schema_of(hint)
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip().rsplit("\n", 1)[-1]
        raise ConfigError(
            f"{name}: parameter {field_name!r} has no form in a JSON schema: {reason}"
        ) from error


def _tell_default(schema: dict[str, Any], default: Any) -> None:
    try:
        schema["default"] = msgspec.to_builtins(default, str_keys=True, enc_hook=write_value)
    except (TypeError, ValueError):
        pass  # a value of the program's own, such as a mark for "not given"


def _plain_caller(
    function: Callable[..., Any], names: tuple[str, ...]
) -> Callable[[Any, Callable[[], Any]], Any]:
    """The usual case, on the hot path: some positional parameters and nothing else."""
    if not names:
        return lambda arguments, context: function()
    get = attrgetter(*names)
    if len(names) == 1:
        return lambda arguments, context: function(get(arguments))
    return lambda arguments, context: function(*get(arguments))
