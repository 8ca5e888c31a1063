"""Agreeing on a revision.  The numbers are those of the promises the module was made after."""

from __future__ import annotations

import pytest

from anywire.protocol.revisions import (
    BATCH_REVISION,
    MCP_LATEST_PROTOCOL_VERSION,
    MCP_PROTOCOL_VERSIONS,
    negotiate_protocol_version,
    null_id,
)
from anywire.wire.message import NULL_ID


def test_the_revisions_stand_newest_first() -> None:
    """Promise 6; the latest is the latest that opens with a handshake."""
    assert MCP_PROTOCOL_VERSIONS == ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    assert list(MCP_PROTOCOL_VERSIONS) == sorted(MCP_PROTOCOL_VERSIONS, reverse=True)
    assert MCP_LATEST_PROTOCOL_VERSION == "2025-11-25"


def test_a_revision_without_a_handshake_is_none_of_them() -> None:
    assert negotiate_protocol_version("2026-07-28") == MCP_LATEST_PROTOCOL_VERSION


@pytest.mark.parametrize("version", MCP_PROTOCOL_VERSIONS)
def test_each_revision_is_echoed(version: str) -> None:
    """Promises 3 and 11."""
    assert negotiate_protocol_version(version) == version


@pytest.mark.parametrize("version", ["1999-01-01", "", "2025-06-18 ", "2025-6-18", "latest", "2025-11-26"])
def test_an_unknown_revision_gives_the_latest(version: str) -> None:
    """Promise 12."""
    assert negotiate_protocol_version(version) == MCP_LATEST_PROTOCOL_VERSION


def test_no_revision_gives_the_latest() -> None:
    """Promise 13."""
    assert negotiate_protocol_version() == MCP_LATEST_PROTOCOL_VERSION


@pytest.mark.parametrize(
    "version",
    [None, 20250618, 2025.0618, {}, {"version": "2025-06-18"}, ["2025-06-18"], True, b"2025-06-18", object()],
)
def test_anything_else_gives_the_latest(version: object) -> None:
    """Promise 14: a wrong type never raises."""
    assert negotiate_protocol_version(version) == MCP_LATEST_PROTOCOL_VERSION


@pytest.mark.parametrize(
    ("revision", "id"),
    [
        (None, NULL_ID),
        ("2024-11-05", NULL_ID),
        ("2025-03-26", NULL_ID),
        ("2025-06-18", NULL_ID),
        ("2025-11-25", None),
    ],
)
def test_the_id_of_an_unreadable_request_is_null_or_left_out(revision: str | None, id: bytes | None) -> None:
    """The older schemas want an id in every error; the newest leaves it out."""
    assert null_id(revision) == id


def test_one_revision_has_batches() -> None:
    assert BATCH_REVISION in MCP_PROTOCOL_VERSIONS
