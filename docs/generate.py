"""Write the parts of the documentation that the code tells of itself.

    python docs/generate.py            write them
    python docs/generate.py --check    say what is out of date, exit code 1 if anything is

A page holds such a part between two comments.  What stands between them is replaced; everything
else on the page is written by hand.
"""

# pyright: reportPrivateUsage=false
# argparse has no public way to walk a parser, and the command's parser is nobody else's business.

import argparse
import ast
import importlib
import inspect
import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "anywire"
END = "<!-- end of the generated part -->"

_PART = re.compile(r"<!-- generated: ([\w-]+) -->\n.*?<!-- end of the generated part -->", re.DOTALL)


def begin(part: str) -> str:
    """Return the comment with which a part begins."""
    return f"<!-- generated: {part} -->"


# Reading the code.


def docstring(module: str) -> str:
    """Return the docstring of a module."""
    return inspect.getdoc(importlib.import_module(module)) or ""


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.?])\s+(?=[A-Z`])", paragraph)[0]


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text; lists and indented lines stay as they are."""
    return [part.strip("\n") for part in re.split(r"\n\s*\n", text.strip())]


def bullets(text: str) -> str:
    """Return the list in a docstring as a list of Markdown."""
    items = [part for part in paragraphs(text) if part.startswith("* ")]
    return "\n".join(items)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


# The parts.


def command() -> str:
    """Tell the command line, one section a subcommand."""
    main = importlib.import_module("anywire.cli.main")
    parser: argparse.ArgumentParser = main.whole_parser()[0]
    _, *notes = paragraphs(docstring("anywire.cli.main"))
    written = [f"`anywire`: {parser.description}", *notes]
    for name, summary, each in subcommands(parser):
        written += subcommand(name, each, summary)
        for inner, its_summary, its_parser in subcommands(each):
            written += subcommand(f"{name} {inner}", its_parser, its_summary)
    if parser.epilog:
        shown = inspect.cleandoc(parser.epilog.partition("examples:")[2] or parser.epilog)
        written += ["## Examples", f"```text\n{shown}\n```"]
    return "\n\n".join(written)


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield each subcommand: its name, its summary, its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers: dict[str, argparse.ArgumentParser] = action.choices  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] argparse says nothing of their type
            for choice in action._choices_actions:
                yield choice.dest, choice.help or "", parsers[choice.dest]


def subcommand(name: str, parser: argparse.ArgumentParser, summary: str) -> Iterator[str]:
    """Tell one subcommand: what it does, how it is called, each argument."""
    yield f"## anywire {name}"
    yield sentence(parser.description or summary)
    yield f"```text\n{usage(parser)}\n```"
    rows = [
        (f"`{spelling(action)}`", sentence(action.help or ""))
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    ]
    if rows:
        yield table(("argument", "meaning"), rows)


def sentence(text: str) -> str:
    """Write a help text as a sentence."""
    text = text.strip().replace("%%", "%")
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "…")) else ".")


def usage(parser: argparse.ArgumentParser) -> str:
    """Write how a subcommand is called, in the same words on every version of Python."""
    if parser.usage:
        return parser.usage % {"prog": parser.prog}
    words = [spelling(action) for action in parser._actions if not action.option_strings]
    options = ["[options]"] if any(len(action.option_strings) for action in parser._actions[1:]) else []
    return " ".join([parser.prog, *words, *options])


def spelling(action: argparse.Action) -> str:
    """Write one argument as it is typed."""
    if isinstance(action.metavar, tuple):
        value = " ".join(action.metavar)
    elif action.metavar is not None:
        value = action.metavar
    elif action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    else:
        value = action.dest.upper()
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")


def limits() -> str:
    """Tell every limit: its value and its reason."""
    module = importlib.import_module("anywire.wire.limits")
    rows: list[tuple[str, str, str]] = []
    said: list[str] = []
    for line in map(str.strip, inspect.getsource(module.Limits).splitlines()):
        field = re.match(r"(\w+): (?:int|float) = ", line)
        if line.startswith("#: "):
            said += line[3:].split()
        elif field:
            name = field.group(1)
            rows.append((f"`{name}`", amount(name, getattr(module.DEFAULT_LIMITS, name)), " ".join(said)))
            said = []
    return table(("limit", "value", "what it bounds, and why"), rows)


def amount(name: str, value: float) -> str:
    """Write a limit's value with its unit."""
    if name.endswith("_seconds"):
        return "no limit" if value == math.inf else f"{value:,g} s"
    if name.endswith("_bytes"):
        for unit, size in (("MiB", 1024 * 1024), ("KiB", 1024)):
            if value % size == 0:
                return f"{value // size:,} {unit}"
    return f"{value:,}"


def errors() -> str:
    """Draw the tree of exceptions, with the code that each tells a peer."""
    module = importlib.import_module("anywire.errors")
    found = [getattr(module, name) for name in module.__all__]

    def branch(parent: type[BaseException], depth: int) -> Iterator[tuple[str, str, str]]:
        for each in found:
            if parent in each.__bases__:
                others = [base.__name__ for base in each.__bases__ if base is not parent]
                name = f"{'&emsp;' * depth}`{each.__name__}`" + (f" (a `{others[0]}`)" if others else "")
                yield name, told(each), first_sentence(inspect.getdoc(each) or "")
                yield from branch(each, depth + 1)

    rows = branch(Exception, 0)
    return table(("exception", "code", "what happened"), rows)


def told(error: type[BaseException]) -> str:
    """Return the JSON-RPC code that a peer is told of an exception."""
    return "the peer's" if error.__name__ == "PeerError" else f"`{getattr(error, 'code', None)}`"


def odd_bytes() -> str:
    """Tell what is decided about odd bytes, from the docstrings of those who decide it."""
    codec, peer = docstring("anywire.wire.codec"), docstring("anywire.wire.peer")
    newline = paragraphs(docstring("anywire.wire.newline"))
    headers = paragraphs(docstring("anywire.wire.content_length"))
    return "\n\n".join(
        [
            "## In a message (`anywire.wire.codec`)",
            bullets(codec),
            "## One message a line (`anywire.wire.newline`)",
            *(part for part in newline[1:] if not part.startswith("Specification")),
            "## Behind `Content-Length` headers (`anywire.wire.content_length`)",
            *headers[1:],
            "## In a conversation (`anywire.wire.peer`)",
            bullets(peer),
        ]
    )


def checks() -> str:
    """Tell every check of the doctor, a table for each weight: where it is made, what to do about it."""
    module = importlib.import_module("anywire.doctor.http.check")
    on_stdio = importlib.import_module("anywire.doctor.stdio.check").STDIO_CHECKS
    tables: dict[str, list[tuple[str, str, str, str]]] = {}
    for id, each in module.EVERY_CHECK.items():
        wires = [name for name, known in (("stdio", on_stdio), ("HTTP", module.HTTP_CHECKS)) if id in known]
        row = (f"`{id}`", ", ".join(wires), sentence(each.title), sentence(each.advice))
        tables.setdefault(f"## {each.weight.name.capitalize()}s", []).append(row)
    head = ("check", "on", "what is wrong", "what to do")
    return "\n\n".join(part for title, rows in tables.items() for part in (title, table(head, rows)))


def crossing() -> str:
    """Tell what becomes of each feature between the eras, a table for each direction."""
    module = importlib.import_module("anywire.protocol.translate.crossing")
    written: list[str] = []
    for direction in module.Direction:
        rows = [
            (each.feature, each.fate.value, " ".join(each.sentence.split()))
            for each in module.CROSSINGS
            if each.direction is direction
        ]
        written += [f"## {sentence(direction.value)[:-1]}", table(("feature", "fate", "how"), rows)]
    return "\n\n".join(written)


def environment() -> str:
    """List the variables that a child gets, in the groups of the source."""
    module = importlib.import_module("anywire.transport.environment")
    groups: list[tuple[str, list[str]]] = []
    for line in inspect.getsource(module).partition("BASE_NAMES")[2].splitlines():
        if line.strip().startswith("# "):
            groups.append((line.strip()[2:], []))
        elif (name := re.match(r'\s+"(\w+)",$', line)) and name.group(1) in module.BASE_NAMES:
            groups[-1][1].append(f"`{name.group(1)}`")
    rows = [(", ".join(names), reason) for reason, names in groups]
    rows.append((", ".join(f"`{each}*`" for each in module.BASE_PREFIXES), "whatever begins like this"))
    return table(("variables", "why"), rows)


def names() -> str:
    """List the public face: what `import anywire` offers."""
    root = importlib.import_module("anywire")
    rows = [
        (f"`{name}`", f"`{root._HOMES[name]}`", first_sentence(inspect.getdoc(getattr(root, name)) or ""))
        for name in root.__all__
        if name in root._HOMES
    ]
    return table(("name", "home", "what it is"), rows)


def layers() -> list[list[str]]:
    """Return the layers of the import rule, lowest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (rule,) = (contract for contract in contracts if contract["type"] == "layers")
    return [re.split(r"\s*[|:]\s*", layer) for layer in reversed(rule["layers"])]


def house() -> str:
    """Draw the source tree, one line a module, lowest layer first."""
    order = [name for layer in layers() for name in layer]
    lines = ["src/anywire/"]
    loose = [path for path in SOURCE.glob("*.py") if path.stem not in order]
    lines += drawn(sorted(loose), 1)
    for name in order:
        if (SOURCE / name).is_dir():
            lines += folder(SOURCE / name, 1)
        else:
            lines += drawn([SOURCE / f"{name}.py"], 1)
    return "```text\n" + "\n".join(lines) + "\n```"


def folder(path: Path, depth: int) -> Iterator[str]:
    """Draw a package: its own sentence, its modules, its packages."""
    init = path / "__init__.py"
    yield f"{'  ' * depth}{path.name + '/':{28 - 2 * depth}}{said_by(init) if init.exists() else ''}".rstrip()
    yield from drawn(sorted(each for each in path.glob("*.py") if each != init), depth + 1)
    for each in sorted(path.iterdir()):
        if each.is_dir() and any(each.rglob("*.py")):
            yield from folder(each, depth + 1)


def drawn(paths: Iterable[Path], depth: int) -> Iterator[str]:
    """Draw modules."""
    for path in paths:
        yield f"{'  ' * depth}{path.name:{28 - 2 * depth}}{said_by(path)}".rstrip()


def said_by(path: Path) -> str:
    """Return the first sentence of a file's docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return first_sentence(ast.get_docstring(tree) or "")


def imports() -> str:
    """Tell who may import whom."""
    stack = " → ".join(" \\| ".join(f"`{name}`" for name in layer) for layer in reversed(layers()))
    pairs = [" and ".join(f"`{name}`" for name in layer) for layer in layers() if len(layer) > 1]
    apart = f"  Those of one layer ({'; '.join(pairs)}) do not import each other." if pairs else ""
    return f"{stack}.{apart}"


def secrets() -> str:
    """List what is left out of a recording."""
    found = importlib.import_module("anywire.record.secrets").SECRETS
    return table(("what tells", "what is left out"), [(f"`{told}`", left) for told, left in found.items()])


PARTS: dict[str, Callable[[], str]] = {
    "checks": checks,
    "command": command,
    "crossing": crossing,
    "environment": environment,
    "errors": errors,
    "house": house,
    "imports": imports,
    "limits": limits,
    "names": names,
    "odd-bytes": odd_bytes,
    "secrets": secrets,
}


# Writing the pages.


def pages() -> list[Path]:
    """Return every page that may hold a part."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def renew(text: str, name: str) -> str:
    """Return a page with its parts written anew.  Ends the program at a part that nobody knows."""

    def written(found: re.Match[str]) -> str:
        part = found.group(1)
        if part not in PARTS:
            raise SystemExit(f"{name}: there is no part {part!r}; parts are: {', '.join(PARTS)}")
        return f"{begin(part)}\n\n{PARTS[part]()}\n\n{END}"

    return _PART.sub(written, text)


def main() -> int:
    """Write or check all pages; return the exit code."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    stale: list[str] = []
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        old = page.read_text(encoding="utf-8")
        new = renew(old, name)
        if new != old:
            stale.append(name)
            if not check:
                page.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'out of date' if check else 'written'}")
    return int(check and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
