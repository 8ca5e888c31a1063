"""Links inside the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name, pages

WITH_LINKS = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

_FENCED = re.compile(r"^( *)(`{3,}).*?^ *\2`* *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[(?:[^\]]|`[^`]*`)*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are usually made."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(plain.replace(" ", "-"))
    return found


def wrong_links(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere."""
    wrong: list[str] = []
    for link in _LINK.findall(_CODE.sub("`", prose(page))):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(ROOT):
            wrong.append(f"{link}: there is no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{link}: the page has no such heading")
    return wrong


@pytest.mark.parametrize("page", WITH_LINKS, ids=name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    """Each points to a file of the checkout and, where it names one, to a heading in it."""
    assert wrong_links(page) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    """No page is known only to those who look into folders."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in _LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists():
                waiting.append(target)

    assert [name(page) for page in pages() if page not in seen] == []
