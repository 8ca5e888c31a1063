"""What the reference says of the code is what the code says of itself."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import ROOT

GENERATOR = ROOT / "docs" / "generate.py"


def load() -> ModuleType:
    """The generator as a module."""
    spec = importlib.util.spec_from_file_location("docs_generate", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The generator, loaded once."""
    return load()


def test_generated_parts_are_up_to_date() -> None:
    """`python docs/generate.py` would change nothing."""
    done = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, f"run: python docs/generate.py\n{done.stdout}{done.stderr}"


def test_every_generated_part_stands_in_exactly_one_page(generator: ModuleType) -> None:
    """No part is lost, and none is written twice."""
    texts = [page.read_text(encoding="utf-8") for page in generator.pages()]
    counts = {part: sum(text.count(generator.begin(part)) for text in texts) for part in generator.PARTS}

    assert {part: count for part, count in counts.items() if count != 1} == {}


def test_the_house_lists_exactly_the_modules_that_exist(generator: ModuleType) -> None:
    """Each source file has its line in the picture, and no line stands for a file that is gone."""
    picture = generator.house()
    source = ROOT / "src" / "anywire"
    files = sorted(path.name for path in source.rglob("*.py") if path.name != "__init__.py")
    drawn = sorted(
        line.split()[0] for line in picture.splitlines() if line.strip() and line.split()[0].endswith(".py")
    )

    assert drawn.count("__init__.py") == 1
    assert [each for each in drawn if each != "__init__.py"] == files


def test_a_page_that_is_out_of_date_is_found_and_mended(generator: ModuleType, tmp_path: Path) -> None:
    """The generator notices an old part and writes the new one, leaving the rest of the page alone."""
    page = tmp_path / "page.md"
    old = f"before\n\n{generator.begin('limits')}\nold\n{generator.END}\n\nafter\n"
    page.write_text(old, encoding="utf-8")

    new = generator.renew(old, "page.md")

    assert new != old
    assert new.startswith("before\n\n")
    assert new.endswith(f"{generator.END}\n\nafter\n")
    assert generator.renew(new, "page.md") == new


def test_a_part_that_nobody_knows_is_refused(generator: ModuleType) -> None:
    """A misspelled marker does not stay silent."""
    with pytest.raises(SystemExit, match="nonsense"):
        generator.renew(f"{generator.begin('nonsense')}\n{generator.END}\n", "page.md")
