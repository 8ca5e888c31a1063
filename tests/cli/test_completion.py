"""The scripts that complete the command in a shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anywire.cli.main import COMMANDS, main
from tests.cli.commands import WITHIN


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script for a shell, in a file."""
    assert main(["completion", shell]) == 0
    path = folder / f"anywire.{shell}"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


def shell_of(name: str) -> str:
    """The path of a shell; the test is left out where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_names_every_subcommand_and_option(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be typed can be completed."""
    text = script(shell, tmp_path, capsys).read_text(encoding="utf-8")

    assert all(name in text for name in COMMANDS)
    assert all(option in text for option in ("timeout", "framing", "inherit-env", "ignore", "target-framing"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_what_its_shell_understands(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shell reads it without complaint."""
    path = script(shell, tmp_path, capsys)
    done = subprocess.run([shell_of(shell), "-n", path], capture_output=True, timeout=WITHIN, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["anywire", "pi"], {"ping"}),
        (["anywire", "call", "--inp"], {"--input"}),
        (["anywire", "list", "--framing", ""], {"auto", "newline", "headers"}),
        (["anywire", "doctor", "--ignore", "igno"], {"ignores-eof", "ignores-term"}),
        (["anywire", "completion", "f"], {"fish"}),
        (["anywire", "listen", "--log", "e"], {"error", "emergency"}),
        (["anywire", "listen", "--res"], {"--resource"}),
        (["anywire", "li"], {"list", "listen"}),
    ],
)
def test_bash_completes(
    words: list[str], expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Subcommands, options and the words that options take."""
    path = script("bash", tmp_path, capsys)
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{path}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _shtab_anywire; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run([shell_of("bash"), "-c", code], capture_output=True, timeout=WITHIN, check=False)

    assert set(done.stdout.decode().split()) == expected


def test_without_the_package_the_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "shtab", None)

    assert main(["completion", "bash"]) == 2
    assert "pip install 'anywire[cli]'" in capsys.readouterr().err
