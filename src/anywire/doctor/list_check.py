"""The checks of what a server lists, as data: the same on any wire and in either era."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import Check, Weight

__all__ = ("LIST_CHECKS",)

_ERROR, _WARNING, _NOTE = Weight.ERROR, Weight.WARNING, Weight.NOTE

#: What may be wrong with tools and with what else is listed.
LIST_CHECKS: Final = (
    Check(
        "tools-list",
        _ERROR,
        "its tools cannot be listed",
        "answer tools/list with an object that has an array `tools`, or do not declare the capability",
    ),
    Check(
        "tool-schema",
        _ERROR,
        "a tool has no usable input schema",
        'give each tool an inputSchema, a JSON Schema of "type": "object", also where it takes no arguments',
    ),
    Check(
        "tool-member",
        _ERROR,
        "a member of a tool has a type that it cannot have",
        "write name, title and description as strings, each hint of annotations as true or false, icons as a "
        "list of objects: strict clients refuse the whole list for one that is not",
    ),
    Check(
        "tool-name",
        _WARNING,
        "a tool's name is not allowed everywhere",
        "use letters, digits, `_`, `-` and `.` only, at most 128 of them",
    ),
    Check(
        "tool-duplicate",
        _WARNING,
        "two tools have one name",
        "give each tool its own name",
    ),
    Check(
        "tools-undeclared",
        _WARNING,
        "it has tools but does not say so",
        "declare the capability `tools` in the result of initialize; clients ask for tools only then",
    ),
    Check(
        "tool-description",
        _NOTE,
        "a tool has no description",
        "say what the tool does: a model chooses by its description",
    ),
    Check(
        "tool-name-host",
        _WARNING,
        "a tool's name is refused by many hosts",
        "use letters, digits, `_` and `-` only, at most 64 of them: MCP allows more, the interfaces of most "
        "models do not, and a host that passes such a name on fails as a whole",
    ),
    Check(
        "null-member",
        _WARNING,
        "it writes null where there is nothing",
        "leave a member out that has no value (nextCursor, description, annotations, outputSchema, …): null "
        "is none of the types that it may have, and strict clients refuse the whole list for it",
    ),
    Check(
        "tool-schema-top",
        _WARNING,
        "a tool's input schema has alternatives at its top",
        "put anyOf, oneOf, allOf, not, if and enum below `properties`: interfaces of models refuse them at "
        "the top, and with them every request that the host makes",
    ),
    Check(
        "tool-schema-part",
        _WARNING,
        "a part of a tool's schema is no schema",
        "write an object (or true or false) wherever a schema belongs, a list of strings for `required` and "
        "a list for `enum`; leave out what is null",
    ),
    Check(
        "tool-schema-items",
        _WARNING,
        "a list in a tool's schema does not say of what",
        'give each part of "type": "array" its `items`, {} for anything: hosts refuse it without',
    ),
    Check(
        "tool-schema-ref",
        _WARNING,
        "a tool's schema refers to what is not in it",
        "put what `$ref` means under `$defs` of the same schema: clients fetch nothing from the net",
    ),
    Check(
        "tool-argument-name",
        _WARNING,
        "an argument of a tool has a name that hosts refuse",
        "use letters, digits, `_`, `.` and `-` only, at most 64 of them",
    ),
    Check(
        "tool-output-schema",
        _WARNING,
        "a tool's output schema is none",
        'give outputSchema "type": "object", or leave it out',
    ),
    Check(
        "tool-header",
        _WARNING,
        "a mark x-mcp-header in a tool's schema cannot be",
        "mark only strings, integers and booleans that are reached by `properties` alone, each with a header "
        "name of its own; clients over HTTP drop the tool otherwise",
    ),
    Check(
        "tools-large",
        _WARNING,
        "its list of tools is too large for many hosts",
        "list fewer tools with shorter descriptions: all of it stands in every request to the model, and "
        "hosts cut it off or refuse it from 128 tools on",
    ),
    Check(
        "declared",
        _WARNING,
        "it does not serve what it declares",
        "answer the list of whatever stands under capabilities, if only with an empty one, or leave it out",
    ),
)
