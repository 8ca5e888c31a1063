"""Whatever a file holds, reading it ends well, and tells no secret."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from anywire.config.dialect import CODEX, MCP_SERVERS, OPENCODE, VSCODE
from anywire.config.entry import Config, ServerEntry
from anywire.config.findings import problems_of
from anywire.config.naming import usable_name
from anywire.config.read import read_config
from anywire.errors import ConfigError
from tests.wire.strategies import thorough

SECRET = "s3cret-value"
VARIABLES = {"HOME": "/home/ada", "A": "a", "T": SECRET}

NAMES = sorted({name for each in (MCP_SERVERS, VSCODE, OPENCODE, CODEX) for name in each.members})
WORDS = (
    *("", "a", "stdio", "http", "sse", "${A}", "${NOT_SET}", "${T}", "${A:-${B}}", "{env:T}", "${input:x}"),
    *("*", "headers", "legacy", "read_*", "https://x.example/", "sub", "\0", "\ud800"),
)
names = st.sampled_from(WORDS) | st.text(max_size=5)
texts = names | st.sampled_from([SECRET, f"Bearer {SECRET}"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5000) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
good = {
    "command": st.just("sh"),
    "url": st.just("https://x.example/mcp"),
    "args": st.lists(texts, max_size=3),
    "env": st.dictionaries(st.sampled_from(["K", "L"]), texts, max_size=2),
    "headers": st.dictionaries(st.sampled_from(["K", "L"]), texts, max_size=2),
}
members = (
    st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
    | st.fixed_dictionaries(
        {"command": good["command"]}, optional={"args": good["args"], "env": good["env"], "cwd": texts}
    )
    | st.fixed_dictionaries({"url": good["url"]}, optional={"headers": good["headers"], "type": texts})
)
files = st.dictionaries(
    st.sampled_from(["mcpServers", "servers", "mcp", "mcp_servers", "inputs", "projects"]),
    st.dictionaries(st.text(max_size=4), members | values, max_size=3) | values,
    max_size=3,
)


@thorough(100, in_ci=300)
@given(files)
def test_each_server_of_any_file_is_there_or_refused(data: dict[str, object]) -> None:
    """Nothing but a `ConfigError` for the whole file, and no value in any sentence."""
    try:
        config = read_config(json.dumps(data), "/nowhere/servers.json", VARIABLES)
    except ConfigError:
        config = Config()  # there are no servers in it
    told = [*config.refused.values(), *(remark.sentence for remark in config.remarks)]
    assert not any(SECRET in sentence for sentence in told if "URL" not in sentence)
    assert all(sentence and "\n" not in sentence for sentence in config.refused.values())
    assert not {entry.written_name for entry in config.entries} & set(config.refused)
    for entry in config.entries:
        check(entry)
        assert all(problems_of(entry, VARIABLES))


def check(entry: ServerEntry) -> None:
    """What is promised of an entry."""
    assert bool(entry.command) != (entry.url is not None)
    assert (entry.url is None) == entry.wire.startswith("stdio")
    assert entry.name == usable_name(entry.written_name)
    assert "\0" not in "".join([*entry.command, *entry.env.values()])
    "".join([*entry.command, *entry.env.values(), entry.url or ""]).encode()
