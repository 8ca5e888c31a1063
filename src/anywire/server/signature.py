"""From a function's signature to the type its arguments are decoded into, and its JSON Schema.

Annotations give the types, defaults the optional ones, `Annotated` metadata the constraints and
descriptions, the docstring's `Args:` section (or `:param name:` lines) descriptions where there are
no others.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from anywire.errors import ConfigError

__all__ = ("Signature", "read_signature")

_GOOGLE_SECTION = re.compile(r"^(args|arguments|parameters|params)\s*:\s*$", re.IGNORECASE)
_GOOGLE_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX_PARAMETER = re.compile(r"^:param\s+(?:[\w.\[\], |]+\s+)?(\w+)\s*:\s*(.*)$")
_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|raises?|yields?|examples?|notes?)\s*:\s*$", re.I
)


class Signature(msgspec.Struct, frozen=True):
    """How a tool's function is called.

    `decoder` reads raw JSON arguments into a struct; `positional` and `keyword_only` name the
    function's parameters in its order; `context_name` is the one among them that receives the
    `Context`, None where there is none.
    """

    decoder: msgspec.json.Decoder[Any]
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


def read_signature(function: Callable[..., Any], context_type: type) -> Signature:
    """Read how a function wants to be called.

    Raises `ConfigError`, naming the function and the parameter, for a signature that cannot be
    served: a parameter without annotation is taken as any JSON value, but `*args`, `**kwargs` and
    types that JSON has no form for are refused.
    """
    name = getattr(function, "__name__", repr(function))
    hints = _hints(function, name)
    description, documented = _read_docstring(inspect.getdoc(function) or "")
    fields: list[tuple[str, Any, Any]] = []
    positional: list[str] = []
    keyword_only: list[str] = []
    context_name: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(f"tool {name}: parameter *{parameter.name} has no form in a JSON schema")
        if _is_context(hint, context_type):
            context_name = parameter.name
        else:
            fields.append(_field(parameter, hint, documented.get(parameter.name)))
        (keyword_only if parameter.kind is parameter.KEYWORD_ONLY else positional).append(parameter.name)
    arguments = _arguments_type(name, fields)
    return Signature(
        decoder=_decoder(name, arguments, fields),
        schema=_schema(name, arguments),
        description=description,
        positional=tuple(positional),
        keyword_only=tuple(keyword_only),
        context_name=context_name,
    )


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"tool {name}: its annotations cannot be read: {error}") from error


def _is_context(hint: Any, context_type: type) -> bool:
    if hint is context_type:
        return True
    return any(argument is context_type for argument in get_args(hint))


def _field(parameter: inspect.Parameter, hint: Any, documented: str | None) -> tuple[str, Any, Any]:
    default: Any = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
    if isinstance(default, list | dict | set | bytearray):
        shared: Any = default  # pyright: ignore[reportUnknownVariableType] whatever the user's default holds
        field: Any = msgspec.field(default_factory=shared.copy)
    else:
        field = msgspec.field(default=default)
    return parameter.name, _described(hint, documented), field


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


def _arguments_type(name: str, fields: list[tuple[str, Any, Any]]) -> type[msgspec.Struct]:
    try:
        return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool {name}: {error}") from error


def _decoder(name: str, arguments: type[msgspec.Struct], fields: list[tuple[str, Any, Any]]) -> Any:
    try:
        return msgspec.json.Decoder(arguments)
    except (TypeError, ValueError):
        pass
    for field_name, hint, _ in fields:
        try:
            msgspec.json.Decoder(hint)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"tool {name}: parameter {field_name!r}: {error}") from error
    raise ConfigError(f"tool {name}: its parameters cannot be decoded together")


def _schema(name: str, arguments: type[msgspec.Struct]) -> dict[str, Any]:
    try:
        (reference,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool {name}: no JSON schema can be made of its parameters: {error}") from error
    schema = dict(components.pop(reference["$ref"].rsplit("/", 1)[-1]))
    schema.pop("title", None)
    if components:
        schema["$defs"] = components
    return schema


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


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into its description and what it says of each parameter."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    section, current = "", ""
    for line in text.splitlines():
        stripped = line.strip()
        sphinx = _SPHINX_PARAMETER.match(stripped)
        if sphinx:
            section, current = "args", sphinx.group(1)
            parameters[current] = sphinx.group(2)
        elif stripped.startswith(":"):
            section = "other"
        elif _SECTION.match(stripped):
            section = "args" if _GOOGLE_SECTION.match(stripped) else "other"
        elif section == "args":
            current = _read_parameter(line, stripped, current, parameters)
        elif not section:
            description.append(line)
    return "\n".join(description).strip(), parameters


def _read_parameter(line: str, stripped: str, current: str, parameters: dict[str, str]) -> str:
    """Read one line of an arguments section; return the parameter it belongs to."""
    found = _GOOGLE_PARAMETER.match(stripped)
    indent = len(line) - len(line.lstrip())
    if found and indent <= 4:
        parameters[found.group(1)] = found.group(2)
        return found.group(1)
    if stripped and current:
        parameters[current] = f"{parameters[current]} {stripped}".strip()
    return current
