"""What is written down holds on every machine: no package index, no path of one checkout."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("src", "tests", "bench", "docs", "examples", ".ci", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
GENERATED = frozenset({"__pycache__", "node_modules"})

# Written so that no pattern matches its own text.
FORBIDDEN = {
    "the address of a package index": re.compile(
        r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|yarnpkg\.com|crates\.io|proxy\.golang\.org)\b"
    ),
    "a path of one machine": re.compile(r"(?<![\w.~-])/(?:work|root)/"),
}


def is_generated(path: Path) -> bool:
    """Whether a file lies in a folder that tools make: environments, caches, installed packages."""
    folders = path.relative_to(ROOT).parts[1:-1]
    return any(folder in GENERATED or folder.startswith(".") for folder in folders)


def texts() -> Iterator[Path]:
    """Every file that people write in the places scanned."""
    for place in PLACES:
        path = ROOT / place
        candidates = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (each for each in candidates if each.is_file() and not is_generated(each))


def offences(text: str) -> Iterator[str]:
    """What a text names that it must not name."""
    for number, line in enumerate(text.splitlines(), start=1):
        for kind, pattern in FORBIDDEN.items():
            if pattern.search(line):
                yield f"line {number} names {kind}"


def test_texts_name_no_index_and_no_machine() -> None:
    """No text of the project depends on where it was written."""
    found = [
        f"{path.relative_to(ROOT)}: {offence}"
        for path in texts()
        for offence in offences(path.read_text(encoding="utf-8", errors="replace"))
    ]

    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "pip install -i https://" + "pypi" + ".org/simple x",
        "cd /" + "work/main",
        "file:///" + "root/notes.txt",
    ],
)
def test_check_sees_an_offence(line: str) -> None:
    """The check itself notices an address and a path."""
    assert list(offences(line))


@pytest.mark.parametrize("line", ["docs/work/plan.md", "an /work order", "the root/ folder", "~/root/x"])
def test_check_lets_plain_words_pass(line: str) -> None:
    """Folders and words that merely sound alike are no offence."""
    assert list(offences(line)) == []
