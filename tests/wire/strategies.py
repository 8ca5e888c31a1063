"""Hypothesis strategies for JSON texts and messages, spelled in all the ways that JSON allows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NUMBERS = ("0", "-0", "1", "-1", "9007199254740993", "1.0", "1.0e-5", "1E+2", "-0.0", "1e999", "9" * 40)
LONE_SURROGATES = ("\\ud800", "\\udfff", "\\uD83D", "\\udE00")
ESCAPES = ("\\n", '\\"', "\\\\", "\\/", "\\u0041", "\\ud83d\\ude00", "\\u2028")
ENVELOPE_NAMES = ("jsonrpc", "id", "method", "params", "result", "error")


def thorough(examples: int, in_ci: int | None = None) -> settings:
    """Settings for a test that is worth that many examples, and perhaps more of them in CI."""
    return settings(
        max_examples=in_ci if in_ci is not None and os.environ.get("CI") else examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


white_space = st.sampled_from(["", "", "", " ", "\n", "\r\n", "\t", "  "])
plain_characters = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters='"\\'), max_size=4
)
string_pieces = st.one_of(plain_characters, st.sampled_from(ESCAPES))
odd_string_pieces = st.one_of(string_pieces, st.sampled_from(LONE_SURROGATES))


def strings(pieces: st.SearchStrategy[str] = string_pieces) -> st.SearchStrategy[str]:
    """JSON strings, with the escapes in place."""
    return st.lists(pieces, max_size=4).map(lambda parts: f'"{"".join(parts)}"')


def _array(items: list[tuple[str, str]]) -> str:
    return "[" + ",".join(f"{space}{item}{space}" for space, item in items) + "]"


def _object(members: list[tuple[str, str, str]]) -> str:
    return (
        "{" + ",".join(f"{space}{name}{space}:{space}{value}{space}" for space, name, value in members) + "}"
    )


def json_texts(pieces: st.SearchStrategy[str] = string_pieces) -> st.SearchStrategy[str]:
    """JSON texts of any kind, up to a modest depth."""
    scalars = st.one_of(st.sampled_from(("null", "true", "false", *NUMBERS)), strings(pieces))

    def containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        arrays = st.lists(st.tuples(white_space, values), max_size=3).map(_array)
        members = st.tuples(white_space, st.one_of(strings(pieces), member_names), values)
        return st.one_of(arrays, st.lists(members, max_size=3).map(_object))

    return st.recursive(scalars, containers, max_leaves=6)


member_names = st.sampled_from([f'"{name}"' for name in (*ENVELOPE_NAMES, "_meta", "progressToken", "x")])
escaped_names = st.sampled_from(['"i\\u0064"', '"\\u006aso\\u006erpc"', '"metho\\u0064"', '"resul\\u0074"'])
id_tokens = st.one_of(st.sampled_from(NUMBERS), strings())
odd_ids = st.one_of(
    id_tokens,
    id_tokens,
    id_tokens,
    strings(odd_string_pieces),
    st.sampled_from(("null", "true", "[1]", "{}")),
)


def _value_of(name: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    match re.sub(r"\\u00(..)", lambda found: chr(int(found[1], 16)), name):
        case '"jsonrpc"':
            return st.sampled_from(['"2.0"'] * 30 + ['"2.\\u0030"', '"1.0"', "2.0"])
        case '"id"':
            return odd_ids
        case '"method"':
            return st.one_of(
                st.sampled_from(['"ping"', '"tools/call"', '"é"', '"x"', '"y"', '""', "7"]), strings()
            )
        case _:
            return values


def _members(
    names: st.SearchStrategy[str], values: st.SearchStrategy[str]
) -> st.SearchStrategy[tuple[str, str, str]]:
    def with_value(name: str) -> st.SearchStrategy[tuple[str, str, str]]:
        return st.tuples(white_space, st.just(name), _value_of(name, values))

    return names.flatmap(with_value)


def _usual(name: str) -> Callable[[st.SearchStrategy[str]], st.SearchStrategy[tuple[str, str, str]]]:
    return lambda values: st.tuples(white_space, st.just(name), _value_of(name, values))


@st.composite
def envelopes(draw: st.DrawFn, pieces: st.SearchStrategy[str] = string_pieces) -> bytes:
    """Objects with the members of a message, in any order, some of them missing, strange or there twice."""
    values = json_texts(pieces)
    kinds = (
        ("id", "method", "params"),
        ("method", "params"),
        ("id", "result"),
        ("id", "error"),
        ("id", "method"),
    )
    wanted = ['"jsonrpc"', *(f'"{name}"' for name in draw(st.sampled_from(kinds)))]
    members = [draw(_usual(name)(values)) for name in wanted]
    unknown = st.one_of(strings(pieces), st.sampled_from(('"_meta"', '"x"')))
    names = st.one_of(unknown, unknown, unknown, member_names, escaped_names)
    members += draw(st.lists(_members(names, values), max_size=draw(st.sampled_from((0, 0, 1, 2)))))
    before, after = draw(white_space), draw(white_space)
    return f"{before}{_object(draw(st.permutations(members)))}{after}".encode()


valid_messages = st.sampled_from(
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":[1,2.5,"x"]}}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5}}',
        b'{"jsonrpc":"2.0","id":"a\\"b","result":{"content":[{"type":"text","text":"\\ud83d\\ude00 \xc3\xa9"}]}}',
        b'{"result":{"content":["\\ud800"]},"jsonrpc":"2.0","id":9007199254740993}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},1]',
    ]
)


@st.composite
def mutations(draw: st.DrawFn, originals: st.SearchStrategy[bytes] = valid_messages) -> bytes:
    """Messages with a few places cut out, doubled, replaced or moved."""
    data = draw(originals)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 12)))
        new = draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from(
                    [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\\ud800", b'"id":1,', b'"result":']
                ),
            )
        )
        data = draw(
            st.sampled_from(
                [
                    data[:start] + data[stop:],
                    data[:stop] + data[start:],
                    data[:start] + new + data[stop:],
                    data[:start],
                ]
            )
        )
    return data
