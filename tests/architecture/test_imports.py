"""The core stays free of I/O: each import in it is on a list of allowed ones.

import-linter forbids the known offenders and follows chains of imports. This test turns the question
round: whatever is not named here is refused, submodules included, even if it is imported for its types only.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"

# Exactly these modules: "collections" does not allow its submodules.
ALLOWED_MODULES = frozenset(
    {
        "__future__",
        "abc",
        "base64",
        "bisect",
        "codecs",
        "collections",
        "collections.abc",
        "dataclasses",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "types",
        "typing",
        "urllib.parse",
    }
)

# These packages with everything below them, by the package that imports.
ALLOWED_PACKAGES = {
    "anywire.wire": ("msgspec", "anywire.errors", "anywire.wire"),
    "anywire.protocol": ("msgspec", "anywire.errors", "anywire.wire", "anywire.protocol"),
}

# Builtins that reach outside without an import.
FORBIDDEN_CALLS = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open", "print"})


def core_files() -> list[Path]:
    """Every source file of the packages that do no I/O."""
    return [
        path
        for package in ALLOWED_PACKAGES
        for path in sorted(SRC.joinpath(*package.split(".")).rglob("*.py"))
    ]


def module_name(path: Path) -> str:
    """The dotted name under which `path` is imported."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Each import as (line, module, names), relative ones resolved against `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                module = ".".join([*parent, module] if module else parent)
            yield node.lineno, module, tuple(alias.name for alias in node.names)


def is_allowed(module: str, package: str) -> bool:
    """Whether code of the core package `package` may import `module`."""
    return module in ALLOWED_MODULES or any(
        module == allowed or module.startswith(f"{allowed}.") for allowed in ALLOWED_PACKAGES[package]
    )


def offences(source: str, name: str, *, is_package: bool = False) -> list[str]:
    """What the module `name` with this text does that the core must not do."""
    tree = ast.parse(source)
    core = ".".join(name.split(".")[:2])
    package = name if is_package else name.rpartition(".")[0]
    found: list[str] = []
    for line, module, names in imported(tree, package):
        # `from urllib import parse` is as good as `import urllib.parse`.
        if not is_allowed(module, core) and not (
            names and all(is_allowed(f"{module}.{each}", core) for each in names)
        ):
            found.append(f"{name}:{line} imports {module}")
    found.extend(
        f"{name}:{node.lineno} calls {node.func.id}()"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS
    )
    return found


def test_core_imports_only_what_is_allowed() -> None:
    """No file of the core imports beyond the list or reaches outside through a builtin."""
    found = [
        offence
        for path in core_files()
        for offence in offences(
            path.read_text(encoding="utf-8"), module_name(path), is_package=path.name == "__init__.py"
        )
    ]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "import json, time",
        "import os.path",
        "import urllib.request",
        "from urllib import request",
        "from collections import abc\nfrom http import HTTPStatus",
        "import msgspec_extra",
        "import anywire",
        "from anywire import transport",
        "from anywire.protocol import revisions",
        "from ..transport import memory",
        "def late() -> None:\n    import socket",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from asyncio import Task",
        "__import__('socket')",
        "open('/dev/null')",
    ],
)
def test_check_sees_an_offence(source: str) -> None:
    """The check itself notices what it is there for."""
    assert offences(source, "anywire.wire.sample")


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations",
        "import collections.abc\nfrom collections import abc, deque",
        "import urllib.parse\nfrom urllib import parse",
        "import msgspec.json\nfrom msgspec import Raw",
        "from anywire.errors import ProtocolError\nfrom anywire import errors",
        "from . import limits\nfrom .message import Request\nfrom ..errors import ProtocolError",
    ],
)
def test_check_lets_the_allowed_pass(source: str) -> None:
    """Allowed modules pass in each way of writing the import."""
    assert offences(source, "anywire.wire.sample") == []


def test_protocol_may_look_down_at_wire() -> None:
    """The direction is protocol to wire."""
    source = "from anywire.wire.message import Request\nfrom anywire.protocol import revisions"

    assert offences(source, "anywire.protocol.http", is_package=True) == []
