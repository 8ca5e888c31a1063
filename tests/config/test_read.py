"""What a server in a file may say, what refuses it, and what is only remarked upon."""

from __future__ import annotations

import json

import pytest

from anywire.config.entry import Remark, Severity
from anywire.config.read import read_config
from anywire.errors import ConfigError
from tests.config.reading import entry, read_one, refusal

SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "it has neither a command nor a url"),
        ({"command": ""}, "command is empty"),
        ({"command": " "}, "command is empty"),
        ({"command": []}, "command is empty"),
        ({"command": 7}, "command is not a text"),
        ({"command": "a", "args": "b"}, "args is not a list of texts"),
        ({"command": "a", "args": ["b", 7]}, "args is not a list of texts"),
        ({"command": "a\0b"}, "command has a character that no program can be given"),
        ({"command": "a", "args": ["\ud83d"]}, "args has a character that no program can be given"),
        ({"command": "a", "env": ["b"]}, "env is not an object of texts"),
        ({"command": "a", "env": {"B": [SECRET]}}, "B in env is no text"),
        ({"command": "a", "env": {"A=B": "c"}}, "env has a name that no variable can have"),
        ({"command": "a", "disabled": "yes"}, "disabled is not true or false"),
        ({"command": "a", "url": "https://x.example/"}, "it has a command and a url; give one"),
        ({"command": "a", "type": "http"}, "it has no url"),
        ({"url": "https://x.example/", "type": "stdio"}, "it has no command"),
        ({"url": "https://x.example/", "transport": "websocket"}, "transport is none that is known"),
        ({"url": "https://x.example/", "transport": {"type": "sse"}}, "transport is not a text"),
        ({"url": f"ftp://x.example/?k={SECRET}"}, "'ftp://x.example/?***' is no http:// or https:// URL"),
        ({"url": f"https://me:{SECRET}@:99999/"}, "is no http:// or https:// URL"),
        ({"url": "https://x.example/", "headers": {"A b": SECRET}}, "headers has a name"),
        ({"url": "https://x.example/", "headers": {"A": f"{SECRET}\r\nB: c"}}, "A in headers has a control"),
        ({"url": "https://x.example/", "headers": {"A": "b", "a": "c"}}, "a is given twice as a header"),
        ({"command": "a", "timeout": "5s"}, "timeout is not a number"),
        ({"command": "a", "timeout": 0}, "timeout is no time to wait"),
        ({"command": "a", "timeout": -1}, "timeout is no time to wait"),
        ({"command": "a", "era": "new"}, "era is none that is known; write auto or legacy or modern"),
        ({"command": "a", "framing": "lines"}, "framing is none that is known; write newline or headers"),
        ({"command": "a", "allow": ["tools:x"]}, "allow has a pattern of tools:…; write tool:…"),
        ({"command": "a", "deny": ["Prompts:x"]}, "deny has a pattern of Prompts:…; write prompt:…"),
        ({"command": "a", "deny": ["nope:x"]}, "deny has a pattern of nope:…; write resource:… for a URI"),
        ({"command": "a", "deny": [""]}, "deny has a pattern that is empty"),
        ({"command": "a", "toolFilter": ["x"]}, "toolFilter is not an object"),
        ({"command": "a", "args": ["${A:-${B}}"]}, "args: the default of ${A} has a variable of its own"),
        ({"command": "a", "envFile": "/dev/null"}, "envFile /dev/null is no file"),
    ],
)
def test_a_server_that_cannot_be_is_refused_with_a_sentence(members: dict[str, object], reason: str) -> None:
    """The sentence names the member, and no value."""
    said = refusal(members)

    assert reason in said
    assert SECRET not in said


@pytest.mark.parametrize("value", ["a", 7, None, ["a"], True])
def test_what_is_no_object_is_refused(value: object) -> None:
    """The others stay."""
    text = json.dumps({"mcpServers": {"it": value, "good": {"command": "a"}}})
    config = read_config(text, "servers.json", {})

    assert config.refused == {"it": "it is not an object with a command or a url"}
    assert [each.name for each in config.entries] == ["good"]


@pytest.mark.parametrize(
    ("members", "wire"),
    [
        ({"command": "a"}, "stdio"),
        ({"command": "a", "type": "STDIO"}, "stdio"),
        ({"command": "a", "framing": "headers"}, "stdio+headers"),
        ({"command": "a", "url": "https://x.example/", "type": "local"}, "stdio"),
        ({"url": "https://x.example/"}, "http"),
        ({"httpUrl": "https://x.example/", "transportType": "streamable-http"}, "http"),
        ({"url": "https://x.example/", "type": "streamableHttp"}, "http"),
        ({"url": "https://x.example/", "type": "streamable_http"}, "http"),
        ({"url": "https://x.example/", "transport": "sse"}, "sse"),
        ({"url": "sse+https://x.example/"}, "sse"),
    ],
)
def test_how_a_server_is_spoken_to(members: dict[str, object], wire: str) -> None:
    """As it says itself, in the words of any editor, or as what it has allows."""
    found = entry(read_one(members))

    assert found.wire == wire
    assert (found.url is None) == bool(found.command)
    assert found.url in (None, "https://x.example/")


def test_members_of_our_own() -> None:
    """What no editor's format has."""
    members = {"command": "a", "era": "modern", "allow": ["read_*", "resource:file:*"], "deny": ["x"]}
    found = entry(read_one({**members, "startup_timeout_sec": 5, "tool_timeout_sec": 7}))

    assert (found.era, found.allow, found.deny) == ("modern", ("read_*", "resource:file:*"), ("x",))
    assert (found.start_seconds, found.call_seconds) == (5, 7)


@pytest.mark.parametrize(("written", "seconds"), [(60, 60), (3600, 3600), (60_000, 60), (0.5, 0.5)])
def test_a_timeout_is_in_seconds_or_in_milliseconds(written: float, seconds: float) -> None:
    """Editors disagree; an hour is the most that those of seconds offer."""
    assert entry(read_one({"command": "a", "timeout": written})).call_seconds == seconds


def test_a_number_without_end_is_no_time() -> None:
    """As JSON may spell one."""
    config = read_config('{"mcpServers": {"it": {"command": "a", "timeout": 1e999}}}', "x.json", {})

    assert config.refused == {"it": "timeout is no time to wait; write more than 0"}


@pytest.mark.parametrize(
    ("members", "seconds", "names"),
    [
        ({"timeout": 1e300}, (None, 86_400), ("timeout",)),
        (
            {"timeout": 10**300, "startup_timeout_sec": 86_401},
            (86_400, 86_400),
            ("startup_timeout_sec", "timeout"),
        ),
        ({"startup_timeout_sec": 86_400, "tool_timeout_sec": 86_400}, (86_400, 86_400), ()),
        ({"timeout": 86_400_000}, (None, 86_400), ()),
    ],
)
def test_a_time_of_more_than_a_day_is_taken_for_one(
    members: dict[str, object], seconds: tuple[float | None, float | None], names: tuple[str, ...]
) -> None:
    """And remarked upon: nobody waits so long."""
    config = read_one({"command": "a", **members})
    found = entry(config)

    assert (found.start_seconds, found.call_seconds) == seconds
    assert tuple(remark.sentence for remark in config.remarks) == tuple(
        f"{name} is longer than a day; it is taken for one" for name in names
    )


def test_two_times_that_are_too_long_are_told_as_one() -> None:
    """OpenCode has both in one object."""
    text = (
        '{"mcp": {"it": {"type": "local", "command": ["a"], "timeout": {"startup": 1e12, "request": 1e12}}}}'
    )
    config = read_config(text, "opencode.json", {})

    assert (entry(config).start_seconds, entry(config).call_seconds) == (86_400, 86_400)
    assert [remark.sentence for remark in config.remarks] == [
        "timeout is longer than a day; it is taken for one"
    ]


def test_a_table_that_stands_twice_is_said() -> None:
    """The last one counts, as in the readers of the editors."""
    text = """{"mcpServers": {"a": {"command": "a"}},
        "mcp": {}, "mcp": {"servers": {}, "servers": {"c": {"command": "c"}}},
        "mcpServers": {"b": {"command": "b"}}}"""

    config = read_config(text, "x.json", {})

    assert [each.name for each in config.entries] == ["b", "c"]
    assert [(each.severity, each.server, each.line, each.sentence) for each in config.remarks] == [
        (
            Severity.WARNING,
            None,
            line,
            f"{name} stands again in line {last}, which counts: no server of this one is read",
        )
        for name, line, last in (("mcpServers", 1, 3), ("mcp", 2, 2), ("servers", 2, 2))
    ]


@pytest.mark.parametrize(
    ("members", "allow", "deny"),
    [
        ({"tools": ["*"]}, (), ()),
        ({"tools": []}, (), ("tool:*",)),
        ({"includeTools": ["a"], "excludeTools": ["b"]}, ("tool:a",), ("tool:b",)),
        ({"toolFilter": {"mode": "block", "list": ["a"]}}, (), ("tool:a",)),
        ({"toolFilter": {"mode": "allow", "list": ["a"]}}, ("tool:a",), ()),
        ({"toolFilter": {"allow": ["a"], "deny": ["b"]}}, ("tool:a",), ("tool:b",)),
        ({"allow": ["x*"], "allowedTools": ["a*"]}, ("x*", "tool:a[*]"), ()),
    ],
)
def test_filters_of_tools(members: dict[str, object], allow: tuple[str, ...], deny: tuple[str, ...]) -> None:
    """Lists of names are exact; patterns are patterns."""
    found = entry(read_one({"command": "a", **members}))

    assert (found.allow, found.deny) == (allow, deny)


def test_a_server_that_is_disabled_needs_no_variables() -> None:
    """Its URL may be one."""
    members = {"url": "${ANYWHERE}/mcp", "headers": {"A": "${T}"}, "disabled": True}

    assert entry(read_one(members)).url == "${ANYWHERE}/mcp"


def test_null_is_as_good_as_absent() -> None:
    """Some editors write out every member."""
    members = dict.fromkeys(("args", "env", "url", "cwd", "headers", "timeout", "disabled", "type"))
    found = entry(read_one({"command": "a", **members}))

    assert (found.command, found.env, found.disabled) == (("a",), {}, False)


def test_a_folder_is_beside_the_file_or_at_home() -> None:
    """Wherever the file is read from."""
    assert entry(read_one({"command": "a", "cwd": "sub"})).cwd == "/project/sub"
    assert entry(read_one({"command": "~/bin/a", "cwd": "~/x"})).cwd == "/home/ada/x"
    assert entry(read_one({"command": "~/bin/a"})).command == ("/home/ada/bin/a",)


def test_what_is_shown_has_no_secrets() -> None:
    """What comes from the environment is shown by its name, what looks like a secret not at all."""
    command = {"command": "run", "args": ["${TOKEN}", "--api-key", SECRET, "${workspaceFolder}"]}
    config = read_one({**command, "env": {"K": "${TOKEN}"}}, TOKEN="t0ken-of-mine")
    url = read_one({"url": f"https://me:{SECRET}@x.example/${{TOKEN}}?key={SECRET}"}, TOKEN="t0ken-of-mine")

    assert entry(config).shown == "run ${TOKEN} --api-key *** /project"
    assert entry(config).command == ("run", "t0ken-of-mine", "--api-key", SECRET, "/project")
    assert entry(url).shown == "https://***@x.example/${TOKEN}?***"


def test_entries_are_equal_exactly_if_nothing_has_changed() -> None:
    """A change of the environment is one, where a variable is used."""
    members: dict[str, object] = {"command": "a", "env": {"K": "${TOKEN}"}}
    before, same = read_one(members, TOKEN="1"), read_one(members, TOKEN="1", OTHER="2")

    assert before.entries == same.entries
    assert before.entries != read_one(members, TOKEN="2").entries


def test_an_unknown_member_is_remarked_upon_once() -> None:
    """With its line, and what may have been meant."""
    text = """{"mcpServers": {
      "one": {"command": "a", "comand": "b", "zzz": 1},
      "two": {"command": "a", "zzz": 1, "alwaysAllow": ["x"]}
    }}"""

    remarks = read_config(text, "servers.json", {}).remarks

    assert remarks == (
        Remark(Severity.WARNING, "one", "there is no member 'comand'; did you mean command?", 2),
        Remark(Severity.NOTE, "one", "there is no member 'zzz'", 2),
    )


def test_a_member_that_does_nothing_or_not_what_it_seems_is_remarked_upon() -> None:
    """Nothing of its value is said."""
    members = {"url": "https://x.example/", "env": {"A": "b"}, "headers": {"Authorization": "Bearer $TOKEN"}}
    called = read_one({**members, "args": [], "cwd": ""}).remarks
    started = read_one({"command": "a", "headers": {"A": "b"}, "env": {"P": "pa$word"}}).remarks

    assert [remark.sentence for remark in called] == [
        "env is not used: the server is called, not started",
        "Authorization in headers begins a name with $, which is no variable; write ${NAME}",
    ]
    assert [remark.sentence for remark in started] == [
        "headers is not used: the server is started, not called"
    ]


def test_names_that_stand_twice_are_remarked_upon() -> None:
    """The last one counts, as in editors."""
    text = """{"mcpServers": {
      "one": {"command": "a"},
      "one": {"command": "b",
              "command": "c"}
    }}"""

    config = read_config(text, "servers.json", {})

    assert entry(config, "one").command == ("c",)
    assert [(remark.line, remark.server) for remark in config.remarks] == [(2, "one"), (3, "one")]
    assert "again in line 3, and that one counts" in config.remarks[0].sentence
    assert "command stands again in line 4" in config.remarks[1].sentence


def test_a_name_that_cannot_be_part_of_others_is_derived_and_remarked_upon() -> None:
    """The name of the file is kept beside it."""
    config = read_config('{"mcpServers": {"my notes": {"command": "a"}}}', "servers.json", {})

    (found,) = config.entries
    assert (found.name, found.written_name) == ("my-x20-notes", "my notes")
    assert config.remarks[0].sentence == (
        "its name cannot be part of other names, so it is called my-x20-notes"
    )


def test_a_server_without_a_name_is_refused() -> None:
    """Nothing could be called by it."""
    assert read_config('{"mcpServers": {"": {"command": "a"}}}', "x.json", {}).refused == {
        "": "it has no name"
    }


@pytest.mark.parametrize(
    ("content", "where", "reason"),
    [
        ("", "x.json", "x.json, line 1, column 1: there is nothing in it"),
        ("[]", "x.json", "x.json holds no JSON object"),
        ("{}", "x.json", "x.json has no servers: neither mcpServers"),
        ('{"mcpServers": []}', "x.json", "x.json has no servers"),
        ("a = 1", "x.toml", "x.toml has no servers"),
        ("[mcp_servers.a]\ncommand = 'x\n", "x.toml", "x.toml, at its end: it is no TOML: expected"),
        ("[mcp_servers.a]\ncommand = x\n", "x.toml", "x.toml, line 2, column 11: it is no TOML"),
        ("a = [" + "[" * 5000, "x.toml", "x.toml: it is no TOML"),
        ('{"a": 1,\n "b" 2}', "x.json", "x.json, line 2, column 6: a colon between a name and its value"),
        (b'{"mcpServers": {"\xff": {}}}', "x.json", "x.json, line 1: byte 17 is no UTF-8"),
        (b"\xff\xfe{\x00\xd8", "x.json", "is no UTF-16"),
        (b" " * (16 * 1024 * 1024 + 1), "x.json", "has more than 16,777,216 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(content: bytes | str, where: str, reason: str) -> None:
    """It says where, and repeats nothing."""
    with pytest.raises(ConfigError) as caught:
        read_config(content, where, {})

    assert reason in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_byte_order_mark_says_how_a_file_is_encoded(encoding: str) -> None:
    """As programs of Windows write them."""
    content = '{"mcpServers": {"é": {"command": "ä"}}}'.encode(encoding)

    assert read_config(content, "x.json", {}).entries[0].command == ("ä",)


def test_the_format_of_a_file_without_an_ending_is_told_by_its_text() -> None:
    """JSON begins as an object, after comments."""
    assert read_config('// mine\n{"mcpServers": {"a": {"command": "b"}}}', "servers", {}).entries
    assert read_config("[mcp_servers.a]\ncommand = 'b'", "servers", {}).entries
