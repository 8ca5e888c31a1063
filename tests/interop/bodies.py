"""Bodies that a relay must not touch, written down as the bytes they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tests.interop.pipes import Framing


@dataclass(frozen=True)
class Exchange:
    """A body from the client, and those that the server writes when it has it."""

    name: str
    up: bytes
    down: tuple[bytes, ...]


def plain(name: str, up: str, *down: str) -> Exchange:
    """An exchange of bodies that fit in a line."""
    return Exchange(name, up.encode(), tuple(body.encode() for body in down))


def params(name: str, id: str, value: str) -> Exchange:
    """The same value in the parameters of a request and in the result of its reply."""
    up = f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{value}}}}}'
    return plain(
        name, up, f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{value}}}}}'
    )


def id_of(name: str, id: str) -> Exchange:
    """A request and its reply under this id."""
    up = f'{{"jsonrpc":"2.0","id":{id},"method":"ping"}}'
    return plain(name, up, f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}')


def deep(levels: int) -> str:
    """Objects in arrays in objects, this deep."""
    half = levels // 2
    return '{"a":[' * half + "1" + "]}" * half


OPENING = plain(
    "initialize",
    '{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-06-18",'
    '"capabilities":{"experimental":{"vendor/x":{"on":true}},"vendor-capability":{}},'
    '"clientInfo":{"name":"driver","version":"1","vendor-info":[1]},"vendor-member":1.50}}',
    '{"jsonrpc":"2.0","id":"open","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},'
    '"experimental":{"vendor/y":null}},"serverInfo":{"name":"raw","version":"1"},"vendor-member":1.50}}',
)
"""Goes first in each conversation."""

IDS = {
    "id text 1": '"1"',
    "id number 1": "1",
    "id number 1.0": "1.0",
    "id beyond 2^53": "9007199254740993",
    "id empty text": '""',
    "id 0": "0",
}

EVERYWHERE = [
    OPENING,
    plain(
        "unknown members beside the known",
        '{"jsonrpc":"2.0","x-first":{"a":[1,2,{}]},"id":10,"method":"tools/list","params":{},"zzz":null}',
        '{"x-first":[true],"jsonrpc":"2.0","id":10,"result":{"tools":[],"vendor":{"k":"v"}},"zzz":0.10}',
    ),
    plain(
        "vendor metadata",
        '{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"t","_meta":{"vendor.example/trace":'
        '{"id":18446744073709551616},"progressToken":"p-1","":[]},"arguments":{}}}',
        '{"jsonrpc":"2.0","id":11,"result":{"_meta":{"vendor.example/cost":0.10,"x":{"y":[null]}},"content":[]}}',
    ),
    params(
        "integers beyond 2^53", "12", "[9007199254740993,-9007199254740995,123456789012345678901234567890]"
    ),
    params(
        "numbers in odd notation",
        "13",
        "[1.0e-5,1E400,-0,-0.0,1.10,100e-2,2.50E+3,0.1000000000000000055511151231]",
    ),
    params(
        "odd names of members",
        "14",
        r'{"":1," ":2,"\u0061":3,"__proto__":{},"constructor":null,"$ref":"#","a.b":4,"q\"\\\/\b":5,"jsonrpc":6,"id":7}',
    ),
    params("members that come twice", "15", '{"k":1,"k":2,"j":3,"k":4}'),
    params("depth 60", "16", deep(60)),
    params("lone surrogates", "17", r'{"text":"cut \ud83d here","\udc00":["\udfff\ud800"]}'),
    params(
        "escapes of what needs none", "18", r'["\u00e9\ud83d\ude42\u0041","\/","\u0000\u001f\u007f\u2028"]'
    ),
    params("raw utf-8", "19", '["é🙂","日本語","\u2028\u2029\u0085\u00a0\ufeff",{"ключ":"\x7f"}]'),
    params("raw utf-8 beside lone surrogates", "20", '["é🙂", "\\ud83d"]'),
    plain(
        "blanks between members",
        '{ "jsonrpc" : "2.0" ,\t"id" : 21 , "method" : "ping" , "params" : { "a" : [ 1 , 2 ] } }',
        ' {"jsonrpc": "2.0",  "id": 21,\t"result": { "b" :  [ ] } } ',
    ),
    plain(
        "members in another order",
        '{"params":{"b":1,"a":2},"method":"vendor/thing.do","id":22,"jsonrpc":"2.0"}',
        '{"result":{"z":1,"y":{"x":2}},"id":22,"jsonrpc":"2.0"}',
    ),
    plain(
        "a custom method and an error with data",
        '{"jsonrpc":"2.0","id":23,"method":"$vendor/Thing","params":[1,"two",null]}',
        '{"jsonrpc":"2.0","id":23,"error":{"code":-31999,"message":"no","data":{"why":[1.0,"é"],"more":null},"hint":1}}',
    ),
    plain(
        "an error with an odd code",
        '{"jsonrpc":"2.0","id":24,"method":"vendor/fail"}',
        '{"jsonrpc":"2.0","id":24,"error":{"code":0,"message":"","data":null}}',
    ),
    plain(
        "a null result",
        '{"jsonrpc":"2.0","id":25,"method":"vendor/nothing","params":{}}',
        '{"jsonrpc":"2.0","id":25,"result":null}',
    ),
    plain(
        "notifications on the way to a reply",
        '{"jsonrpc":"2.0","id":26,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":26}}}',
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":26,"progress":0.50,"vendor":1}}',
        '{"jsonrpc":"2.0","method":"vendor/event","params":{"n":1.0}}',
        '{"jsonrpc":"2.0","id":26,"result":{"content":[]}}',
    ),
    plain(
        "a notification from the client", '{"jsonrpc":"2.0","method":"vendor/seen","params":{"n":1.0},"x":1}'
    ),
    plain(
        "a request from the server",
        '{"jsonrpc":"2.0","id":27,"method":"vendor/ask-me"}',
        '{"jsonrpc":"2.0","id":"s 1","method":"vendor/question","params":{"n":1.0},"x":1}',
        '{"jsonrpc":"2.0","id":27,"result":{}}',
    ),
    plain("the client's answer to it", '{"jsonrpc":"2.0","id":"s 1","result":{"n":9007199254740993},"x":1}'),
    params("three hundred kilobytes", "28", json.dumps(["0123456789" * 3000] * 10)),
    *(id_of(name, id) for name, id in IDS.items()),
]
"""Bodies that any framing can carry."""

PRETTY = '{\n  "jsonrpc": "2.0",\n  "id": %s,\n  %s\n}'

PRETTY_UP = [
    plain(
        "pretty from the client",
        PRETTY
        % (
            "30",
            '"method": "tools/call",\n  "params": {\n    "n": 1.0e-5,\n    "big": 9007199254740993\n  }',
        ),
        '{"jsonrpc":"2.0","id":30,"result":{}}',
    ),
    plain(
        "pretty from the client, with CR LF and a last line end",
        PRETTY.replace("\n", "\r\n") % ("31", r'"method": "ping", "params": {"t": "\n \ud83d"}') + "\r\n",
        '{"jsonrpc":"2.0","id":31,"result":{}}',
    ),
    plain(
        "pretty from the client, outside of ASCII",
        PRETTY % ("32", '"method": "ping",\n  "params": {"é🙂": ["é🙂\u2028"]}'),
        '{"jsonrpc":"2.0","id":32,"result":{}}',
    ),
]
"""Bodies with line ends that only a client in Content-Length frames can send."""

PRETTY_DOWN = [
    plain(
        "pretty from the server",
        '{"jsonrpc":"2.0","id":40,"method":"ping"}',
        PRETTY % ("40", '"result": {\n    "n": 1.0e-5,\n    "big": 9007199254740993\n  },\n  "x": [\n  ]'),
    ),
    plain(
        "pretty from the server, with CR LF and a last line end",
        '{"jsonrpc":"2.0","id":41,"method":"ping"}',
        PRETTY.replace("\n", "\r\n") % ("41", r'"error": {"code": 7, "message": "\r\n", "data": "\ud83d"}')
        + "\r\n",
    ),
    plain(
        "pretty from the server, outside of ASCII",
        '{"jsonrpc":"2.0","id":42,"method":"ping"}',
        PRETTY % ("42", '"result": {"é🙂": ["é🙂\u2028"]}'),
    ),
]
"""Bodies with line ends that only a server in Content-Length frames can send."""


def exchanges(face: Framing, target: Framing) -> list[Exchange]:
    """All that can be sent where the client and the server speak so."""
    pretty_up = PRETTY_UP if face == "headers" else []
    pretty_down = PRETTY_DOWN if target == "headers" else []
    return [*EVERYWHERE, *pretty_up, *pretty_down]


def bare(body: bytes) -> bytes:
    """A body without the blanks around it: a line's CR, say, belongs to the framing and may go."""
    return body.strip(b" \t\r\n")


def crosses_untouched(body: bytes, to: Framing) -> bool:
    """Whether this body must arrive byte for byte: frames ask for ASCII, lines for no line end."""
    return body.isascii() if to == "headers" else not {0x0A, 0x0D} & set(bare(body))


def same_json(one: bytes, other: bytes) -> bool:
    """Whether two bodies say the same: numbers by their text, members by order, repeated ones kept."""
    return tree(one) == tree(other)


def tree(body: bytes) -> object:
    """A body as nested tuples in which nothing was interpreted."""

    def number(text: str) -> object:
        return ("number", text)

    def members(pairs: list[tuple[str, object]]) -> object:
        return ("object", pairs)

    return json.loads(
        body, parse_int=number, parse_float=number, parse_constant=refuse, object_pairs_hook=members
    )


def refuse(constant: str) -> object:
    """NaN and its like are not JSON."""
    raise ValueError(f"{constant} is not JSON")


def first_difference(sent: bytes, arrived: bytes) -> str:
    """Where two bodies part, for a failure's text."""
    common = next(
        (index for index, (a, b) in enumerate(pairwise(sent, arrived)) if a != b),
        min(len(sent), len(arrived)),
    )
    around = slice(max(common - 40, 0), common + 40)
    return f"at byte {common} of {len(sent)}: sent …{sent[around]!r}…, arrived …{arrived[around]!r}…"


def pairwise(one: bytes, other: bytes) -> Iterator[tuple[int, int]]:
    """The bytes of two bodies side by side."""
    return zip(one, other, strict=False)
