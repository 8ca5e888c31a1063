"""What the scenarios of the stateless era ask for, 2026-07-28.

What is named here (tools, questions, members of forms) is named by the suite.  Some handlers wait for the
answers to what they ask, and some return what they ask and are called again: a server may have either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from anywire import Context, Server, TextContent
from anywire.protocol.types.sampling import CreateMessageParams, SamplingMessage
from anywire.server.form import Answer
from anywire.server.question import FormQuestion, InputRequired, ModelQuestion, Question, RootsQuestion


class Name(msgspec.Struct):
    """A form that asks for a name."""

    name: str


class Colour(msgspec.Struct):
    """A form that asks for a colour."""

    color: str


class Topic(msgspec.Struct):
    """A form that asks what a prompt is to be about."""

    context: str


class Consent(msgspec.Struct):
    """A form that asks for a yes."""

    ok: bool


WHO: Final = FormQuestion("What is your name?", Name)
WHAT: Final = FormQuestion("What context should the prompt use?", Topic)
FOLDERS: Final = RootsQuestion()
CAPITAL: Final = ModelQuestion(
    CreateMessageParams([SamplingMessage("user", TextContent("What is the capital of France?"))], 100)
)


# Tools for single rules of the era.


async def test_x_mcp_header(
    region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})] = "",  # noqa: PT028 no test
) -> str:
    """Take an argument that a header repeats."""
    return f"The region is {region!r}."


async def test_missing_capability(context: Context) -> str:
    """Need a client whose model can be asked."""
    return str((await context.sample("Hello")).content)


async def test_streaming_elicitation(context: Context) -> str | InputRequired:
    """Say something, then ask the user."""
    await context.progress(1, 2, "About to ask")
    who = context.answer("user_name", WHO)
    return InputRequired({"user_name": WHO}) if who is None else f"Elicitation completed: {who.action}"


async def test_logging_tool(context: Context) -> str:
    """Log, for those who want to hear it."""
    await context.log("info", "Tool execution started")
    return "Logged one message."


async def dynamic() -> str:
    """Come and go."""
    return ""


def offer_changes(server: Server) -> None:
    """Offer what changes the lists: for a moment, so that the scenarios do not disturb each other."""

    @server.tool
    async def test_trigger_tool_change() -> str:
        """Change the list of tools."""
        server.tool(name="test_dynamic_tool")(dynamic)
        server.remove_tool("test_dynamic_tool")
        return "The list of tools has changed."

    @server.tool
    async def test_trigger_prompt_change() -> str:
        """Change the list of prompts."""
        server.prompt(name="test_dynamic_prompt")(dynamic)
        server.remove_prompt("test_dynamic_prompt")
        return "The list of prompts has changed."


# Handlers that return what they ask.


def greeting(who: Answer[Name]) -> str:
    """Greet by the name that was filled in."""
    return "Hello!" if who.content is None else f"Hello, {who.content.name}!"


async def test_input_required_result_elicitation(context: Context) -> str | InputRequired:
    """Ask the user."""
    who = context.answer("user_name", WHO)
    return InputRequired({"user_name": WHO}) if who is None else greeting(who)


async def test_input_required_result_sampling(context: Context) -> str | InputRequired:
    """Ask the model."""
    said = context.answer("capital_question", CAPITAL)
    return InputRequired({"capital_question": CAPITAL}) if said is None else f"The model says {said.content}"


async def test_input_required_result_list_roots(context: Context) -> str | InputRequired:
    """Ask for the folders."""
    roots = context.answer("client_roots", FOLDERS)
    if roots is None:
        return InputRequired({"client_roots": FOLDERS})
    return f"The client has {len(roots)} folders."


async def test_input_required_result_capabilities(context: Context) -> str | InputRequired:
    """Ask only what the client can be asked."""
    each: dict[str, Question[Any]] = {
        "user_name": WHO,
        "capital_question": CAPITAL,
        "client_roots": FOLDERS,
    }
    able = context.client_capabilities
    declared = {"user_name": able.elicitation, "capital_question": able.sampling, "client_roots": able.roots}
    asked = {key: question for key, question in each.items() if declared[key] is not msgspec.UNSET}
    missing = {key: question for key, question in asked.items() if context.answer(key, question) is None}
    return InputRequired(missing) if missing else "All was answered."


async def test_input_required_result_prompt(context: Context) -> str | InputRequired:
    """Ask the user for a part of a prompt."""
    what = context.answer("user_context", WHAT)
    if what is None:
        return InputRequired({"user_context": WHAT})
    return f"Use this: {what.content.context if what.content else what.action}"


# Handlers that wait for what they ask.


async def test_input_required_result_request_state(context: Context) -> str:
    """Ask once."""
    answer = await context.elicit("Please confirm", Consent, key="confirm")
    return f"state-ok: {answer.action}"


async def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask once; the suite changes the state."""
    answer = await context.elicit("Please confirm", Consent, key="confirm")
    return answer.action


async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask twice, one after the other."""
    who = await context.elicit("Step 1: What is your name?", Name, key="step1")
    what = await context.elicit("Step 2: What is your favorite color?", Colour, key="step2")
    return f"{greeting(who)} {what.action}"


async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask three things at once."""
    async with asyncio.TaskGroup() as group:
        who = group.create_task(context.elicit("What is your name?", Name, key="user_name"))
        said = group.create_task(context.sample("Generate a greeting", max_tokens=50, key="greeting"))
        roots = group.create_task(context.roots(key="client_roots"))
    return f"{greeting(who.result())} {said.result().content} {len(roots.result())}"


TOOLS: Final[tuple[Callable[..., Any], ...]] = (
    test_x_mcp_header,
    test_missing_capability,
    test_streaming_elicitation,
    test_logging_tool,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_capabilities,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multi_round,
    test_input_required_result_multiple_inputs,
)


def offer(server: Server) -> None:
    """Offer all of this."""
    for tool in TOOLS:
        server.tool(tool)
    server.prompt(test_input_required_result_prompt)
    offer_changes(server)
