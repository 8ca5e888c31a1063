"""What would keep a server from starting."""

from __future__ import annotations

from pathlib import Path

from anywire.config.entry import ServerEntry
from anywire.config.findings import problems_of


def problems(*command: str, cwd: Path | None = None, **env: str) -> tuple[str, ...]:
    """What is missing for a command."""
    entry = ServerEntry(
        name="it", written_name="it", command=command, env=env, cwd=None if cwd is None else str(cwd)
    )
    return problems_of(entry, {"PATH": "/usr/bin:/bin"})


def test_a_program_is_looked_for_on_the_path_that_the_server_gets(tmp_path: Path) -> None:
    """Its own, where the file gives it one."""
    tool = tmp_path / "tool"
    tool.touch(mode=0o755)

    assert problems("sh") == ()
    assert problems("tool") == ("no program tool is on the PATH",)
    assert problems("tool", PATH=str(tmp_path)) == ()
    assert problems("sh", PATH=str(tmp_path)) == ("no program sh is on the PATH",)


def test_a_path_is_a_program_that_may_be_executed(tmp_path: Path) -> None:
    """Beside the folder that it runs in."""
    (tmp_path / "tool").touch(mode=0o644)

    assert problems("./tool", cwd=tmp_path) == ("./tool may not be executed",)
    assert problems("./other", cwd=tmp_path) == ("there is no program ./other",)
    assert problems(str(tmp_path)) == (f"there is no program {tmp_path}",)
    (tmp_path / "tool").chmod(0o755)
    assert problems("./tool", cwd=tmp_path) == ()
    assert problems("/" + "a" * 5000)[0].startswith("there is no program /aaa")


def test_a_folder_that_is_none_and_words_in_one_are_said() -> None:
    """The mistake that is made most."""
    assert problems("sh", cwd=Path("/nowhere")) == ("there is no folder /nowhere",)
    assert problems("npx -y server") == (
        "no program npx -y server is on the PATH; its arguments stand in args, one text each",
    )


def test_nothing_is_known_of_a_url() -> None:
    """Nobody is called."""
    entry = ServerEntry(name="it", written_name="it", url="https://nowhere.invalid/", wire="http")

    assert problems_of(entry, {}) == ()
