"""What every ASGI application here does alike."""

from __future__ import annotations

import pytest

from anywire.transport.asgi import path_of


@pytest.mark.parametrize(
    ("path", "root", "below"),
    [
        ("/mcp", "", "/mcp"),
        ("/mcp", "/", "/mcp"),
        ("/pre/mcp", "/pre", "/mcp"),
        ("/pre/mcp", "/pre/", "/mcp"),
        ("/pre", "/pre", ""),
        ("/mcp", "/mcp", ""),
        ("/a/b/mcp", "/a/b", "/mcp"),
        ("/mcp", "/m", "/mcp"),
        ("/prefix/mcp", "/pre", "/prefix/mcp"),
        ("/mcp", "/pre", "/mcp"),
    ],
)
def test_a_mount_point_is_taken_off_whole_or_not_at_all(path: str, root: str, below: str) -> None:
    """Servers that leave it out of the path may be asked for one that only begins like it."""
    assert path_of({"path": path, "root_path": root}) == below
