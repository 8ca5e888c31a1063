"""A resource: a URI, or a template of URIs, and the function that reads it.

Specification: MCP `server/resources`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypedDict

import msgspec
from msgspec import UNSET, UnsetType

from anywire.errors import ConfigError, ResourceNotFound
from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.resources import (
    BlobResourceContents,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    TextResourceContents,
)
from anywire.protocol.uri_template import TemplateError, UriTemplate
from anywire.server.exchange import Terms
from anywire.server.foreign import write_value
from anywire.server.handler import Handler, check_options, make_handler
from anywire.server.media import block_of_image, is_image, media_type
from anywire.wire.codec import encode_value

__all__ = ("Reading", "RegisteredResource", "RegisteredTemplate", "ResourceOptions", "register_resource")


class ResourceOptions(TypedDict, total=False):
    """What `@server.resource` can be told about a resource; see there."""

    name: str | None
    title: str | None
    description: str | None
    mime_type: str | None
    size: int | None
    annotations: Annotations | None
    icons: list[Icon] | None
    meta: dict[str, Any] | None
    inline: bool
    fresh_seconds: float


class Reading(msgspec.Struct, frozen=True):
    """One reading of a resource: what serves it, and the URI that was asked for."""

    uri: str
    handler: Handler
    mime_type: str | UnsetType
    #: How long a client may keep what it read.
    fresh_seconds: float

    @property
    def label(self) -> str:
        """What it is called in errors."""
        return f"resource {self.uri!r}"

    def encode(self, output: Any, terms: Terms) -> bytes:
        """Write what the function returned: text, bytes, an image, contents, or the JSON of anything else.

        Raises `ResourceNotFound` for None.
        """
        return encode_value(ReadResourceResult(self._contents(output)))

    def encode_failure(self, error: BaseException) -> bytes | None:
        """A resource that cannot be read is an error of the request."""
        return None

    def _contents(self, output: Any) -> list[ResourceContents]:
        match output:
            case None:
                raise ResourceNotFound(self.uri)
            case TextResourceContents() | BlobResourceContents():
                return [output]
            case str():
                return [TextResourceContents(self.uri, str.__str__(output), self.mime_type or "text/plain")]
            case bytes() | bytearray():
                kind = self.mime_type or media_type(bytes(output))
                return [BlobResourceContents.from_bytes(self.uri, bytes(output), kind)]
            case list() | tuple() if _holds_contents(items := list(output)):  # pyright: ignore[reportUnknownArgumentType] of anything
                return [each for item in items for each in self._contents(item)]
            case _ if is_image(output):
                image = block_of_image(output)
                return [BlobResourceContents(self.uri, image.data, image.mime_type)]
            case _:
                text = encode_value(output, write_value).decode()
                return [TextResourceContents(self.uri, text, self.mime_type or "application/json")]


def _holds_contents(values: Iterable[object]) -> bool:
    return any(isinstance(value, TextResourceContents | BlobResourceContents) for value in values)


class RegisteredResource(msgspec.Struct, frozen=True):
    """A resource of one URI."""

    listing: Resource
    handler: Handler
    fresh_seconds: float

    def reading(self) -> Reading:
        """Return what serves a reading of it."""
        return Reading(self.listing.uri, self.handler, self.listing.mime_type, self.fresh_seconds)


class RegisteredTemplate(msgspec.Struct, frozen=True):
    """Resources of a template; the variables are the function's parameters."""

    listing: ResourceTemplate
    template: UriTemplate
    handler: Handler
    fresh_seconds: float

    def reading(self, uri: str) -> tuple[Reading, dict[str, str]] | None:
        """Return what serves a reading of a URI, and its variables; None for a URI of no such template."""
        values = self.template.match(uri)
        if values is None:
            return None
        return Reading(uri, self.handler, self.listing.mime_type, self.fresh_seconds), values


def register_resource(
    uri: str, function: Callable[..., Any], options: ResourceOptions
) -> RegisteredResource | RegisteredTemplate:
    """Make a resource of a function, or a template where the URI has variables.

    Raises `ConfigError` when that cannot be.
    """
    check_options(options, ResourceOptions)
    inline = options.get("inline", False)
    handler = make_handler(function, "resource", options.get("name"), inline=inline, strict=False)
    try:
        template = UriTemplate(uri)
        template.refuse_ambiguity()
    except TemplateError as error:
        raise ConfigError(f"resource {handler.name}: {error}") from error
    _match_parameters(template, handler)
    common: dict[str, Any] = {
        "title": options.get("title") or UNSET,
        "description": handler.describe(options.get("description")),
        "mime_type": options.get("mime_type") or UNSET,
        "annotations": options.get("annotations") or UNSET,
        "icons": options.get("icons") or UNSET,
        "meta": options.get("meta") or UNSET,
    }
    fresh = options.get("fresh_seconds", 0.0)
    if template.variables:
        return RegisteredTemplate(ResourceTemplate(uri, handler.name, **common), template, handler, fresh)
    size = options.get("size")
    listing = Resource(uri, handler.name, size=UNSET if size is None else size, **common)
    return RegisteredResource(listing, handler, fresh)


def _match_parameters(template: UriTemplate, handler: Handler) -> None:
    """Raise `ConfigError` unless the variables of the template are what the function takes."""
    variables, parameters = set(template.variables), set(handler.signature.fields)
    required = set(handler.signature.schema.get("required", ()))
    where = f"resource {handler.name}: {template.text!r}"
    if variables - parameters:
        raise ConfigError(f"{where} has {_names(variables - parameters)}, which the function does not take")
    if required - variables:
        raise ConfigError(f"{where} does not have {_names(required - variables)}, which the function takes")
    if required & template.optional:
        missing = _names(required & template.optional)
        raise ConfigError(f"{where}: a query may lack {missing}, so the function needs a default")


def _names(names: set[str]) -> str:
    return ", ".join(sorted(names))
