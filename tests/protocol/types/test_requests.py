"""Params of requests and notifications that have rules of their own."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from anywire.protocol.types.cancellation import CancelledParams
from anywire.protocol.types.completion import (
    CompleteParams,
    CompletionArgument,
    PromptReference,
    ResourceTemplateReference,
)
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams, read_elicit_params
from anywire.protocol.types.metadata import RequestParams
from anywire.protocol.types.pagination import PageWalk, PaginatedParams
from anywire.protocol.types.progress import ProgressParams
from anywire.protocol.types.reading import read
from anywire.protocol.types.tasks import Task
from anywire.protocol.types.tools import CallToolParams
from anywire.wire.value import encode_value

# Pages.


def test_a_walk_ends_when_there_is_no_cursor() -> None:
    walk = PageWalk()

    assert walk.cursor is UNSET
    assert walk.advance("a")
    assert walk.cursor == "a"
    assert not walk.advance(UNSET)


def test_a_walk_ends_where_it_has_been() -> None:
    walk = PageWalk()

    assert [walk.advance(cursor) for cursor in ("a", "b", "a")] == [True, True, False]


def test_an_empty_cursor_is_a_cursor() -> None:
    walk = PageWalk()

    assert walk.advance("")
    assert encode_value(PaginatedParams(walk.cursor)) == b'{"cursor":""}'
    assert not walk.advance(None)


def test_the_first_page_is_asked_for_without_a_cursor() -> None:
    assert encode_value(PaginatedParams(PageWalk().cursor)) == b"{}"


# Requests.


def test_the_meta_of_a_request_stays_raw() -> None:
    assert bytes(read(b'{"_meta":{"progressToken": 1.0}}', RequestParams).meta) == b'{"progressToken": 1.0}'
    assert bytes(read(b"{}", RequestParams).meta) == b"{}"


def test_a_call_that_is_sent_again_brings_what_was_asked_for() -> None:
    raw = b'{"name":"add","arguments":{"a": 1.0},"inputResponses":{"k":{"action": "accept"}},"requestState":"s"}'
    call = read(raw, CallToolParams)

    assert call.request_state == "s"
    assert isinstance(call.input_responses, dict)
    assert bytes(call.input_responses["k"]) == b'{"action": "accept"}'


@pytest.mark.parametrize(
    ("ref", "reference"),
    [
        (b'{"type":"ref/prompt","name":"p"}', PromptReference("p")),
        (b'{"type":"ref/resource","uri":"a:{b}"}', ResourceTemplateReference("a:{b}")),
    ],
)
def test_a_completion_is_of_a_prompt_or_of_a_resource(ref: bytes, reference: msgspec.Struct) -> None:
    params = read(b'{"ref":%b,"argument":{"name":"a","value":"v"},"context":null}' % ref, CompleteParams)

    assert params.ref == reference
    assert params.argument == CompletionArgument("a", "v")
    assert params.context is UNSET


def test_a_completion_of_anything_else_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        read(b'{"ref":{"type":"ref/tool","name":"p"},"argument":{"name":"a","value":"v"}}', CompleteParams)


# Elicitation.

FORM = b'"message":"m","requestedSchema":{"type":"object","properties":{}}'


@pytest.mark.parametrize("mode", [b"", b',"mode":"form"', b',"mode":null'])
def test_a_form_is_meant_unless_something_else_is_said(mode: bytes) -> None:
    params = read_elicit_params(b"{%b%b}" % (FORM, mode))

    assert isinstance(params, ElicitFormParams)
    assert params.requested_schema == {"type": "object", "properties": {}}


def test_an_address_is_told_by_its_mode() -> None:
    params = read_elicit_params(b'{"mode":"url","message":"m","url":"https://a.example"}')

    assert params == ElicitUrlParams("m", "https://a.example")
    assert encode_value(params) == b'{"mode":"url","message":"m","url":"https://a.example"}'


@pytest.mark.parametrize(
    "raw", [b'{"mode":"voice","message":"m"}', b'{"mode":"url","message":"m"}', b'{"message":"m"}', b"[]"]
)
def test_anything_else_is_refused(raw: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_elicit_params(raw)


# Notifications.


def test_numbers_of_progress_stay_what_they_are() -> None:
    raw = b'{"progressToken":"t","progress":50,"total":99.5}'

    assert encode_value(read(raw, ProgressParams)) == raw


def test_ids_are_text_or_whole_numbers() -> None:
    assert read(b'{"requestId":"1"}', CancelledParams).request_id == "1"
    assert read(b'{"requestId":1}', CancelledParams).request_id == 1
    with pytest.raises(msgspec.ValidationError):
        read(b'{"requestId":1.5}', CancelledParams)


def test_a_task_that_never_ends_says_so() -> None:
    raw = b'{"taskId":"1","status":"working","createdAt":"a","lastUpdatedAt":"b","ttl":null}'

    assert read(raw, Task).ttl is None
    assert encode_value(read(raw, Task)) == raw
