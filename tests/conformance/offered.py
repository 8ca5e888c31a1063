"""What the scenarios of the handshake era ask for, and those of either era.

What is named here (tools, resources, prompts, members of forms) is named by the suite.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Final

from anywire import Context, ImageContent, Server, TextContent
from anywire.protocol.types.content import AudioContent, EmbeddedResource
from anywire.protocol.types.prompts import PromptMessage
from anywire.protocol.types.resources import TextResourceContents

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV: Final = (
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00"
    b"\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
)
PAUSE: Final = 0.05
"""Seconds between what a tool says while it runs: the scenarios want to see that it is not said at once."""

#: The server that the suite looks at.
server = Server("anywire-conformance", "1")


# Tools that return content.


@server.tool
async def test_simple_text() -> str:
    """Return one text."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> ImageContent:
    """Return one image."""
    return ImageContent.from_bytes(PNG, "image/png")


@server.tool
async def test_audio_content() -> AudioContent:
    """Return one sound."""
    return AudioContent.from_bytes(WAV, "audio/wav")


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """Return one resource."""
    text = "This is an embedded resource content."
    return EmbeddedResource(TextResourceContents("test://embedded-resource", text, "text/plain"))


@server.tool
async def test_multiple_content_types() -> list[Any]:
    """Return a text, an image and a resource."""
    held = TextResourceContents("test://mixed-content-resource", '{"test":"data"}', "application/json")
    image = ImageContent.from_bytes(PNG, "image/png")
    return [TextContent("Multiple content types test:"), image, EmbeddedResource(held)]


@server.tool
async def test_error_handling() -> str:
    """Fail."""
    raise RuntimeError("This tool intentionally returns an error for testing")


# Tools that say something while they run.


@server.tool
async def test_tool_with_logging(context: Context) -> str:
    """Log three messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", text)
        await asyncio.sleep(PAUSE)
    return "Logged three messages."


@server.tool
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(PAUSE)
    return "Reported progress three times."


@server.tool
async def test_reconnection(context: Context) -> str:
    """Let the client go and have it come back for the answer."""
    context.detach()
    await asyncio.sleep(PAUSE)
    return "Reconnection test completed successfully."


# Tools that ask the client.


@server.tool
async def test_sampling(context: Context, prompt: str) -> str:
    """Ask the client's model."""
    said = await context.sample(prompt, max_tokens=100)
    text = said.content.text if isinstance(said.content, TextContent) else repr(said.content)
    return f"LLM response: {text}"


async def ask(context: Context, message: str, properties: dict[str, Any], required: list[str]) -> str:
    """Ask the user to fill in a form, and tell what came of it."""
    form = {"type": "object", "properties": properties, "required": required}
    answer = await context.elicit(message, form)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@server.tool
async def test_elicitation(context: Context, message: str) -> str:
    """Ask the user for two texts."""
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await ask(context, message, properties, ["username", "email"])


@server.tool
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask for a value of each kind, each with a default."""
    statuses = ["active", "inactive", "pending"]
    properties = {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "description": "Status", "enum": statuses, "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    }
    return await ask(context, "Please review the defaults", properties, [])


@server.tool
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask for a choice in each of the spellings that there are."""
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{order} option"} for n, order in ((1, "First"), (2, "Second"))
    ]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": plain, "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await ask(context, "Please choose", properties, [])


# A tool whose schema must come through as it is.

RICH_SCHEMA: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@server.tool(input_schema=RICH_SCHEMA)
async def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Take what its schema says."""
    return f"JSON Schema 2020-12 tool called with: {arguments}"


# Resources.


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """An image that never changes."""
    return PNG


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text to subscribe to."""
    return "Watched resource content"


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_resource(id: str) -> dict[str, Any]:
    """The data of one id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# Prompts.


@server.prompt
async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt that repeats its arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
async def complete_arg1(typed: str) -> list[str]:
    """Values that begin with what is typed."""
    return [value for value in ("testValue1", "testValue2", "paris") if value.startswith(typed)]


@server.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803 the suite's name
    """A prompt that holds a resource."""
    held = TextResourceContents(resourceUri, "Embedded resource content for testing.", "text/plain")
    question = PromptMessage("user", TextContent("Please process the embedded resource above."))
    return [PromptMessage("user", EmbeddedResource(held)), question]


@server.prompt
async def test_prompt_with_image() -> list[Any]:
    """A prompt that holds an image."""
    image = PromptMessage("user", ImageContent.from_bytes(PNG, "image/png"))
    return [image, PromptMessage("user", TextContent("Please analyze the image above."))]
