"""URI templates: from variables to a URI, and from a URI back to the variables.

`expand` does what RFC 6570 says, all four levels.  The way back is not in the RFC, since it is
ambiguous; `match` takes the plain reading, in linear time: a variable reaches to the first occurrence
of whatever follows it in the template.  `{var}` stays within a path segment, `{+var}` and `{#var}`
cross slashes, `{?a,b}` and `{&a,b}` find their names in any order and may be missing.

Specification: RFC 6570; MCP `server/resources#resource-templates`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

import msgspec

__all__ = ("TemplateError", "TemplateValue", "UriTemplate")

#: What a variable may stand for; None and empty collections count as not given.
TemplateValue: TypeAlias = "str | int | float | bool | Sequence[str] | Mapping[str, str] | None"


class TemplateError(ValueError):
    """The text is no URI template, or none that can be matched."""


class _Operator(msgspec.Struct, frozen=True):
    """One row of the table in RFC 6570, appendix A."""

    first: str
    separator: str
    named: bool = False
    if_empty: str = ""
    reserved: bool = False


_OPERATORS: Final = {
    "": _Operator("", ","),
    "+": _Operator("", ",", reserved=True),
    "#": _Operator("#", ",", reserved=True),
    ".": _Operator(".", "."),
    "/": _Operator("/", "/"),
    ";": _Operator(";", ";", named=True),
    "?": _Operator("?", "&", named=True, if_empty="="),
    "&": _Operator("&", "&", named=True, if_empty="="),
}
#: No longer URI is matched, in characters: it is taken apart, and there may be many templates.
_LONGEST: Final = 64 * 1024
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")
_VARIABLE: Final = re.compile(r"((?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*)(\*|:[1-9]\d{0,3})?\Z")
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")


class _Variable(msgspec.Struct, frozen=True):
    name: str
    explode: bool = False
    prefix: int | None = None


class _Expression(msgspec.Struct, frozen=True):
    symbol: str
    variables: tuple[_Variable, ...]

    @property
    def operator(self) -> _Operator:
        return _OPERATORS[self.symbol]

    @property
    def is_query(self) -> bool:
        return self.symbol in ("?", "&")


class UriTemplate:
    """A parsed template.  Raises `TemplateError` for a text that is none."""

    def __init__(self, text: str) -> None:
        #: The template as it was written.
        self.text = text
        self._parts = _parse(text)

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, each once, in the order of the template."""
        names = [v.name for part in self._parts if isinstance(part, _Expression) for v in part.variables]
        return tuple(dict.fromkeys(names))

    @property
    def optional(self) -> frozenset[str]:
        """The names that a URI may lack: those of queries."""
        queries = [part for part in self._parts if isinstance(part, _Expression) and part.is_query]
        return frozenset(variable.name for query in queries for variable in query.variables)

    def expand(self, values: Mapping[str, TemplateValue]) -> str:
        """Return the URI for these values; variables that are not given are left out."""
        parts = self._parts
        return "".join(part if isinstance(part, str) else _expand(part, values) for part in parts)

    def refuse_ambiguity(self) -> None:
        """Raise `TemplateError` for a template whose URIs cannot be taken apart again."""
        previous: str | _Expression = ""
        for part in self._parts:
            if isinstance(part, _Expression):
                if isinstance(previous, _Expression) and not part.operator.first:
                    raise TemplateError(f"nothing stands between two expressions of {self.text!r}")
                if any(variable.explode or variable.prefix for variable in part.variables):
                    raise TemplateError(f"{self.text!r}: what is cut or listed cannot be matched")
            previous = part
        names = [v.name for part in self._parts if isinstance(part, _Expression) for v in part.variables]
        if len(names) != len(set(names)):
            raise TemplateError(f"{self.text!r} names a variable twice")

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables of a URI of this template, percent-decoded; None for any other URI.

        One of more than 65,536 characters is of no template.

        Variables of a query that are not there are left out.
        """
        if len(uri) > _LONGEST:
            return None
        if not uri.isascii() or " " in uri:
            uri = _encode(uri, _OPERATORS["+"])
        found: dict[str, str] = {}
        at = 0
        for index, part in enumerate(self._parts):
            if isinstance(part, str):
                if not uri.startswith(part, at):
                    return None
                at += len(part)
                continue
            end = _end_of(uri, at, self._parts[index + 1 :])
            values = _take_apart(part, uri[at:end])
            if values is None:
                return None
            found.update(values)
            at = end
        return found if at == len(uri) else None


def _parse(text: str) -> tuple[str | _Expression, ...]:
    parts: list[str | _Expression] = []
    at = 0
    for found in _EXPRESSION.finditer(text):
        if found.start() > at:
            parts.append(_literal(text[at : found.start()], text))
        variables = tuple(_variable(each, text) for each in found.group(2).split(","))
        parts.append(_Expression(found.group(1), variables))
        at = found.end()
    if at < len(text):
        parts.append(_literal(text[at:], text))
    return tuple(parts)


def _literal(literal: str, text: str) -> str:
    if "{" in literal or "}" in literal:
        raise TemplateError(f"{text!r} has a brace that belongs to no expression")
    return _encode(literal, _OPERATORS["+"])


def _variable(spec: str, text: str) -> _Variable:
    found = _VARIABLE.match(spec)
    if found is None:
        raise TemplateError(f"{text!r}: {spec!r} is no variable")
    name, modifier = found.group(1), found.group(2) or ""
    return _Variable(name, modifier == "*", int(modifier[1:]) if modifier.startswith(":") else None)


# From values to a URI: RFC 6570 §3.2.1.


def _expand(expression: _Expression, values: Mapping[str, TemplateValue]) -> str:
    operator = expression.operator
    given = [(variable, values.get(variable.name)) for variable in expression.variables]
    texts = [_expand_one(variable, value, operator) for variable, value in given if _is_given(value)]
    return operator.first + operator.separator.join(texts) if texts else ""


def _is_given(value: TemplateValue) -> bool:
    return value is not None and (isinstance(value, str | int | float) or len(value) > 0)


def _expand_one(variable: _Variable, value: TemplateValue, operator: _Operator) -> str:
    if isinstance(value, Mapping):
        pairs = [(quote(key, safe=""), _encode(item, operator)) for key, item in value.items()]
        if variable.explode:
            return operator.separator.join(f"{key}={item}" for key, item in pairs)
        return _named(variable.name, ",".join(f"{key},{item}" for key, item in pairs), operator)
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_encode(item, operator) for item in value]
        if variable.explode:
            return operator.separator.join(_named(variable.name, item, operator) for item in items)
        return _named(variable.name, ",".join(items), operator)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return _named(variable.name, _encode(text[: variable.prefix], operator), operator)


def _named(name: str, text: str, operator: _Operator) -> str:
    if not operator.named:
        return text
    return f"{name}={text}" if text else name + operator.if_empty


def _encode(text: str, operator: _Operator) -> str:
    if not operator.reserved:
        return quote(text, safe="~")
    # What is encoded already stays as it is.
    kept = _ENCODED.findall(text)
    between = [quote(piece, safe="~" + _RESERVED) for piece in _ENCODED.split(text)]
    return "".join(piece + code for piece, code in zip(between, [*kept, ""], strict=True))


# From a URI to values.


def _end_of(uri: str, at: int, rest: Sequence[str | _Expression]) -> int:
    """Return where an expression that begins there ends: before what follows it in the template."""
    ends: list[int] = []
    for part in rest:
        if isinstance(part, str):
            last = part is rest[-1] and uri.endswith(part, at)
            ends.append(len(uri) - len(part) if last else uri.find(part, at))
            break
        if part.operator.first:
            ends.append(uri.find(part.operator.first, at))
        if not part.is_query:
            break
    return min((end for end in ends if end >= at), default=len(uri))


def _take_apart(expression: _Expression, text: str) -> dict[str, str] | None:
    operator = expression.operator
    if expression.is_query:
        return _take_query(expression, text)
    if not text.startswith(operator.first) or (not operator.reserved and re.search(r"[?#]", text)):
        return None
    items = text[len(operator.first) :].split(operator.separator, len(expression.variables) - 1)
    if len(items) != len(expression.variables):
        return None
    values: dict[str, str] = {}
    for variable, item in zip(expression.variables, items, strict=True):
        if operator.named:
            name, _, value = item.partition("=")
            if name != variable.name:
                return None
        else:
            value = item
        if not value or ("/" in value and not operator.reserved):
            return None
        values[variable.name] = unquote(value)
    return values


def _take_query(expression: _Expression, text: str) -> dict[str, str] | None:
    if not text:
        return {}
    if not text.startswith(expression.operator.first) or "#" in text:
        return None
    names = {variable.name for variable in expression.variables}
    pairs = [item.partition("=") for item in text[1:].split("&") if item]
    return {name: unquote(value) for name, _, value in pairs if name in names}
