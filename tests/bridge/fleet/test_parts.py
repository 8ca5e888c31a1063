"""The parts of a fleet that do no I/O: what is asked, what is known, what is said first, what is cut into pages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.bridge.fleet.catalogue import Catalogue
from anywire.bridge.fleet.greeting import NOBODY, can, greet, instructions, introduce
from anywire.bridge.fleet.names import Names
from anywire.bridge.fleet.pages import Pages, cursor_of
from anywire.bridge.fleet.questions import Questions
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import ErrorResponse, Notification, Request, Response

LIST = "tools/list"


def test_a_question_is_answered_once_however_its_id_is_spelled() -> None:
    """Some clients make a string of a number."""
    questions: Questions[str] = Questions(DEFAULT_LIMITS)
    asked = questions.ask("left", Request(b'"q"', "roots/list"))
    assert isinstance(asked, Request)
    assert questions.answered(Response(b'"%b"' % asked.id, b"{}")) == ("left", Response(b'"q"', b"{}"))
    assert questions.answered(Response(asked.id, b"{}")) is None


def test_an_answer_without_an_id_is_that_to_the_only_question() -> None:
    """Where there are two nobody can tell."""
    questions: Questions[str] = Questions(DEFAULT_LIMITS)
    error = ErrorResponse(None, b'{"code":1,"message":"m"}')
    assert questions.answered(error) is None
    questions.ask("left", Request(b"1", "roots/list"))
    second = questions.ask("right", Request(b"1", "roots/list"))
    assert isinstance(second, Request)
    assert questions.answered(error) is None
    assert questions.answered(Response(second.id, b"{}")) == ("right", Response(b"1", b"{}"))
    found = questions.answered(error)
    assert found is not None
    assert (found[0], found[1].id) == ("left", b"1")


def test_progress_of_no_question_is_nobodys() -> None:
    """A token that was not given, or is of a question without one."""
    questions: Questions[str] = Questions(DEFAULT_LIMITS)
    asked = questions.ask("left", Request(b"1", "roots/list", b"{}"))
    assert isinstance(asked, Request)
    for params in (None, b"{}", b'{"progressToken":7}', b'{"progressToken":%b}' % asked.id, b"[]"):
        assert questions.progressed(Notification("notifications/progress", params)) is None


def test_a_question_is_taken_back_by_who_asked_it() -> None:
    """And once."""
    questions: Questions[str] = Questions(DEFAULT_LIMITS)
    questions.ask("left", Request(b"1", "roots/list"))
    cancel = Notification("notifications/cancelled", b'{"requestId":1}')
    assert questions.withdrawn("right", cancel) is None
    assert questions.withdrawn("left", Notification("notifications/cancelled", b"{}")) is None
    assert questions.withdrawn("left", cancel) == Notification(cancel.method, b'{"requestId":1}')
    assert questions.withdrawn("left", cancel) is None
    assert len(questions) == 0


def test_a_list_is_fresh_until_it_changes_or_is_old() -> None:
    """After that it is the last that is known."""
    catalogue = Catalogue(DEFAULT_LIMITS)
    assert catalogue.fresh("left", LIST, 0.0) is catalogue.last("left", LIST) is None
    assert not catalogue.forget("left", LIST)
    catalogue.settle("left", LIST, catalogue.begin("left", LIST), (b"{}",), 0.0)
    assert catalogue.fresh("left", LIST, 1.0) == (b"{}",)
    assert catalogue.fresh("left", LIST, DEFAULT_LIMITS.list_seconds + 1) is None
    assert catalogue.fresh("right", LIST, 1.0) is None
    assert catalogue.forget("left", LIST)
    assert not catalogue.forget("left", LIST)  # all who have seen it were told
    assert catalogue.fresh("left", LIST, 1.0) is None
    assert catalogue.last("left", LIST) == (b"{}",)


def test_a_list_that_changes_while_it_is_asked_is_not_fresh() -> None:
    """And whoever asks has to hear of it."""
    catalogue = Catalogue(DEFAULT_LIMITS)
    begun = catalogue.begin("left", LIST)
    assert catalogue.forget("left", LIST)
    catalogue.settle("left", LIST, begun, (), 0.0)
    assert catalogue.fresh("left", LIST, 0.0) is None
    catalogue.settle("left", LIST, catalogue.begin("left", LIST), None, 0.0)
    assert catalogue.last("left", LIST) == ()


def test_what_is_known_of_a_server_is_dropped_with_it() -> None:
    """Also what is being asked."""
    catalogue = Catalogue(DEFAULT_LIMITS)
    catalogue.introduce("left", "Left is right.")
    begun = catalogue.begin("left", LIST)
    catalogue.drop("left")
    catalogue.settle("left", LIST, begun, (b"{}",), 0.0)
    assert catalogue.last("left", LIST) is None
    assert catalogue.instructions("left") == ""


def test_the_rests_of_few_lists_are_kept() -> None:
    """The oldest is given up: its cursor is none any more."""
    pages = Pages(DEFAULT_LIMITS.replace(list_page_bytes=1))
    page = json.loads(pages.first(LIST, [b"1", b"2"]))
    assert page["tools"] == [1]
    cursor = json.dumps(page["nextCursor"]).encode()
    assert pages.next(LIST, cursor) == b'{"tools":[2]}'
    assert pages.next("prompts/list", cursor) is None
    for _ in range(20):
        pages.first(LIST, [b"1", b"2"])
    assert pages.next(LIST, cursor) is None
    for foreign in (b"1", b'"x"', b"{}"):
        assert pages.next(LIST, foreign) is None


def test_no_cursor_asks_for_the_first_page() -> None:
    """Null is as good as absent."""
    assert cursor_of(None) is cursor_of(b"{}") is cursor_of(b'{"cursor":null}') is cursor_of(b"[]") is None
    assert cursor_of(b'{"cursor":""}') == b'""'


@pytest.mark.parametrize("params", [None, b"[]", b"1", b"{}", b'{"protocolVersion":7}'])
def test_a_client_that_says_nothing_of_itself_is_greeted(params: bytes | None) -> None:
    """Servers get params that they can read."""
    revision, raw = greet(params, "hello")
    result: dict[str, Any] = json.loads(raw)
    assert (revision, result["instructions"]) == ("2025-11-25", "hello")
    introduced = introduce(params, revision)
    assert json.loads(introduced)["protocolVersion"] == revision
    assert introduced == NOBODY or params is not None


def test_what_a_client_says_of_itself_goes_on_byte_for_byte() -> None:
    """All but tasks, which are the client's with one server."""
    params = b'{ "x":1.0,"protocolVersion":"2025-06-18","capabilities":{"a": 1.0,"tasks":{},"b":{}}}'
    assert introduce(params, "2025-06-18") == params.replace(b'"tasks":{},', b"")
    params = b'{ "x":1.0,"protocolVersion":"2025-06-18","capabilities":{"a": 1.0}}'
    assert introduce(params, "2025-06-18") == params


def test_a_capability_says_what_a_server_has() -> None:
    """Null is as good as absent."""
    has = b'{"tools":{},"prompts":null,"logging":{}}'
    assert [can(has, method) for method in ("tools/list", "prompts/list", "logging/setLevel")] == [
        True,
        False,
        True,
    ]
    assert not can(b"[]", "tools/list")


def test_instructions_are_cut_where_they_are_too_long() -> None:
    """They are read by a model, with those of all others."""
    names = Names()
    names.name_servers(["left"])
    text = instructions([names["left"]], {"left": "x" * 10_000})
    assert len(text) < 9_000
    assert text.endswith(" …")
