"""Each public module says what it is, what it exports, and what each exported thing does."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
MAX_ROOT_NAMES = 25

Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_modules() -> dict[str, Path]:
    """Dotted name and file of every module without an underscore in its path."""
    modules: dict[str, Path] = {}
    for path in sorted((SRC / "anywire").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts):
            modules[".".join(parts)] = path
    return modules


MODULES = public_modules()
each_module = pytest.mark.parametrize("name", MODULES)


def parse(name: str) -> ast.Module:
    """The syntax tree of a public module."""
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def is_bare(tree: ast.Module) -> bool:
    """Whether a module holds its docstring and nothing else, as the mark of a package may."""
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in tree.body)


def exports(name: str) -> tuple[str, ...]:
    """The module's `__all__`, or nothing if it has none (another test asks for it)."""
    names = getattr(importlib.import_module(name), "__all__", ())
    return tuple(str(each) for each in names)


def definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | Function]:
    """Classes and functions of a body, those under an `if` or a `try` included."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.If):
            yield from definitions([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handlers = [statement for handler in node.handlers for statement in handler.body]
            yield from definitions([*node.body, *handlers, *node.orelse, *node.finalbody])


def is_explained_elsewhere(function: Function) -> bool:
    """Whether a definition leaves its docstring to another: overloads, setters, declared overrides."""
    names = {
        decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        for decorator in function.decorator_list
    }
    return bool(names & {"overload", "setter", "deleter", "override"})


def undocumented(tree: ast.Module, exported: tuple[str, ...]) -> Iterator[str]:
    """Exported classes and functions, and public methods of those classes, without a docstring."""
    for node in definitions(tree.body):
        if node.name not in exported:
            continue
        if not isinstance(node, ast.ClassDef):
            if not ast.get_docstring(node) and not is_explained_elsewhere(node):
                yield f"{node.name} (line {node.lineno})"
            continue
        if not ast.get_docstring(node):
            yield f"{node.name} (line {node.lineno})"
        for member in definitions(node.body):
            if member.name.startswith("_") or ast.get_docstring(member):
                continue
            if isinstance(member, ast.ClassDef) or not is_explained_elsewhere(member):
                yield f"{node.name}.{member.name} (line {member.lineno})"


@each_module
def test_module_has_a_docstring(name: str) -> None:
    """A public module opens with what it is about."""
    assert ast.get_docstring(parse(name))


@each_module
def test_module_declares_its_exports(name: str) -> None:
    """`__all__` is a tuple of distinct names, unless the module defines nothing at all."""
    if is_bare(parse(name)):
        return
    declared = getattr(importlib.import_module(name), "__all__", None)

    assert isinstance(declared, tuple)
    assert len(exports(name)) == len(set(exports(name)))


@each_module
def test_exported_names_exist(name: str) -> None:
    """`__all__` promises nothing that is not there."""
    module = importlib.import_module(name)

    assert [each for each in exports(name) if not hasattr(module, each)] == []


@each_module
def test_exported_names_are_documented(name: str) -> None:
    """What is exported has a docstring, and so have the public methods of exported classes."""
    assert list(undocumented(parse(name), exports(name))) == []


def test_root_stays_small() -> None:
    """The public face fits in a head, and each of its names can be imported."""
    names = exports("anywire")
    root = importlib.import_module("anywire")

    assert len(names) <= MAX_ROOT_NAMES
    assert [name for name in names if not hasattr(root, name)] == []


def test_check_sees_what_is_undocumented() -> None:
    """The check itself notices missing docstrings, and only those that count."""
    tree = ast.parse(
        '"""Doc."""\n'
        "def bare(): ...\n"
        "def hidden(): ...\n"
        "class Thing:\n"
        "    '''Doc.'''\n"
        "    def told(self): 'Doc.'\n"
        "    def untold(self): ...\n"
        "    def _private(self): ...\n"
        "    def __len__(self): ...\n"
        "    @untold.setter\n"
        "    def value(self, to): ...\n"
        "if True:\n"
        "    async def nested(): ...\n"
    )

    found = list(undocumented(tree, ("bare", "Thing", "nested")))

    assert found == ["bare (line 2)", "Thing.untold (line 7)", "nested (line 13)"]
