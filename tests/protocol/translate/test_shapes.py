"""What one era says, as the other one knows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.protocol.translate.crossing import CROSSINGS
from anywire.protocol.translate.shapes import (
    client_capabilities_upward,
    error_downward,
    initialize_result,
    result_downward,
    result_kind,
)

LATEST, ELICITING, BATCHING, OLDEST = MCP_PROTOCOL_VERSIONS
EVERYTHING: dict[str, Any] = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "experimental": {"x": 1},
}
FORMS_ONLY: dict[str, Any] = EVERYTHING | {"sampling": {"context": {}}, "elicitation": {"form": {}}}
NO_FORMS: dict[str, Any] = {name: value for name, value in FORMS_ONLY.items() if name != "elicitation"}


DECLARED: list[tuple[str, Any, Any]] = [
    (LATEST, EVERYTHING | {"tasks": {}}, EVERYTHING),
    (ELICITING, EVERYTHING, FORMS_ONLY),
    (ELICITING, {"elicitation": {"url": {}}}, {}),
    (ELICITING, {"elicitation": {}}, {"elicitation": {}}),
    (BATCHING, EVERYTHING, NO_FORMS),
    (OLDEST, EVERYTHING, NO_FORMS),
    (LATEST, {"elicitation": 1, "sampling": None}, {"elicitation": 1, "sampling": None}),
]


@pytest.mark.parametrize(("revision", "declared", "told"), DECLARED)
def test_a_client_is_said_to_be_able_to_what_its_revision_has(
    revision: str, declared: Any, told: Any
) -> None:
    """Nobody is asked what there is no way to ask for."""
    assert json.loads(client_capabilities_upward(json.dumps(declared).encode(), revision)) == told


def test_capabilities_that_need_not_change_keep_their_bytes() -> None:
    """White space, order and numbers."""
    raw = b'{ "sampling" :{}, "n": 1.0e5,"elicitation":{ } }'
    assert client_capabilities_upward(raw, LATEST) == raw
    assert client_capabilities_upward(raw, ELICITING) == raw


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (b"{}", "complete"),
        (b"[]", "complete"),
        (b'{"resultType":"input_required"}', "input_required"),
        (b'{"resultType":null}', None),
        (b'{"resultType":"\\ud800"}', "\ufffd"),
        (b'{"a":"\\ud800","resultType":"complete"}', "complete"),
    ],
)
def test_a_result_says_what_it_is(result: bytes, kind: str | None) -> None:
    """Whatever else stands in it."""
    assert result_kind(result) == kind


def test_only_what_is_kept_by_the_protocol_loses_how_long() -> None:
    """Elsewhere members of these names are the program's."""
    raw = b'{"resultType":"complete","ttlMs":1,"a":1.0,"cacheScope":"public"}'
    assert result_downward("tools/list", raw) == b'{"a":1.0}'
    assert result_downward("tools/call", raw) == b'{"ttlMs":1,"a":1.0,"cacheScope":"public"}'


def test_capabilities_that_are_none_are_empty() -> None:
    """A handshake has to name some."""
    for raw in (b'{"supportedVersions":["2026-07-28"]%b}' % more for more in (b"", b',"capabilities":1')):
        result = initialize_result(raw, LATEST, extensions=False)
        assert isinstance(result, bytes)
        assert json.loads(result)["capabilities"] == {}


@pytest.mark.parametrize("raw", [b'"boom"', b"{}", b'{"code":"x"}', b'{"code": -31000}'])
def test_errors_of_no_meaning_stay_as_they_are(raw: bytes) -> None:
    """Also what is none."""
    assert error_downward("resources/read", raw) == raw


def test_what_crosses_is_told_in_whole_sentences_and_once() -> None:
    """A table for people."""
    features = [(each.direction, each.feature) for each in CROSSINGS]
    assert len(set(features)) == len(features)
    for crossing in CROSSINGS:
        assert crossing.sentence[0].isupper()
        assert crossing.sentence.endswith(".")
