"""`--header` and `--header-file`: what arrives, and that a secret shows nowhere else."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anywire.cli.headers import add_header_options, headers_of
from anywire.errors import ConfigError
from tests.cli.commands import ROOT, WITHIN, anywire
from tests.cli.servers.http import reached, unreached
from tests.cli.servers.http.healthy import HealthyHttp, Told
from tests.interop.processes import anywire as command
from tests.interop.processes import command_line, descendants

SECRET = "s3cret-t0ken"
BEARER = ["--header", "Authorization: Bearer ${ANYWIRE_TEST_TOKEN}"]


def read(*words: str) -> dict[str, str]:
    """The headers that these words give."""
    parser = argparse.ArgumentParser()
    add_header_options(parser)
    return headers_of(parser.parse_args(words))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("X-Key: value", {"X-Key": "value"}),
        ("X-Key:value", {"X-Key": "value"}),
        ("X-Key:", {"X-Key": ""}),
        ("X-Key: a: b", {"X-Key": "a: b"}),
        ("X-Key: ${ANYWIRE_TEST_TOKEN}", {"X-Key": SECRET}),
        ("X-Key: <${ANYWIRE_TEST_TOKEN}${ANYWIRE_TEST_TOKEN}>", {"X-Key": f"<{SECRET}{SECRET}>"}),
        ("X-Key: ${ANYWIRE_NOT_SET:-else}", {"X-Key": "else"}),
        ("X-Key: ${ANYWIRE_TEST_TOKEN:-else}", {"X-Key": SECRET}),
        ("X-Key: $ANYWIRE_TEST_TOKEN {} $", {"X-Key": "$ANYWIRE_TEST_TOKEN {} $"}),
    ],
)
def test_variables_are_expanded(word: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where they stand in braces; what they hold is not expanded again."""
    monkeypatch.setenv("ANYWIRE_TEST_TOKEN", SECRET)

    assert read("--header", word) == expected


def test_what_a_variable_holds_is_not_expanded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token may hold anything."""
    monkeypatch.setenv("ANYWIRE_TEST_TOKEN", "${HOME}")

    assert read("--header", "X: ${ANYWIRE_TEST_TOKEN}") == {"X": "${HOME}"}


def test_a_file_holds_one_header_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With comments, empty lines and variables; together with the option."""
    monkeypatch.setenv("ANYWIRE_TEST_TOKEN", SECRET)
    file = tmp_path / "headers"
    file.write_text(
        "# who we are\n\nAuthorization: Bearer ${ANYWIRE_TEST_TOKEN}\n  # not yet: ${ANYWIRE_NOT_SET}\nX-B: b # c\r\n",
        encoding="utf-8",
    )

    assert read("--header-file", str(file), "--header", "X-A: a") == {
        "X-A": "a",
        "Authorization": f"Bearer {SECRET}",
        "X-B": "b # c",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            f"Authorization: {SECRET} ${{ANYWIRE_NOT_SET}}",
            "needs the variable ANYWIRE_NOT_SET, which is not set",
        ),
        (f"Bearer {SECRET}", "is no header; write 'Name: Value'"),
        (f"A name: {SECRET}", "is no header; write 'Name: Value'"),
        (f": {SECRET}", "is no header; write 'Name: Value'"),
        (f"X: {SECRET}\x01", "has a value with a control character"),
        ("X: ${ANYWIRE_TEST_LINES}", "has a value with a control character"),
    ],
)
def test_what_is_wrong_is_told_without_the_value(
    line: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the number of the option, or the line of the file."""
    monkeypatch.setenv("ANYWIRE_TEST_LINES", f"{SECRET}\r\nX-Other: {SECRET}")
    file = tmp_path / "headers"
    file.write_text(f"X-Fine: a\n{line}\n", encoding="utf-8")

    for words, where in (
        (("--header", "X-Fine: a", "--header", line), "--header 2"),
        (("--header-file", str(file)), f"{file}, line 2"),
    ):
        with pytest.raises(ConfigError) as caught:
            read(*words)
        assert str(caught.value) == f"{where} {expected}"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """What is in it is not shown."""
    file = tmp_path / "headers"
    file.write_bytes(SECRET.encode() + b"\xff")

    for path, reason in ((tmp_path / "nothing", "No such file or directory"), (file, "it is not UTF-8")):
        with pytest.raises(ConfigError) as caught:
            read("--header-file", str(path))
        assert str(caught.value) == f"--header-file {path} cannot be read: {reason}"


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["list", "-v"], HealthyHttp),
        (["call", "nothing", "a=b", "--json"], HealthyHttp),
        (["ping", "-v"], unreached.Authorization),
        (["ping", "--json"], unreached.ServerError),
        (["list", "-v"], unreached.NoHttp),
        (["list", "-v"], unreached.RedirectElsewhereAgain),
        (["doctor", "-v"], reached.GetStatus),
        (["doctor", "--json"], unreached.Authorization),
    ],
)
async def test_a_secret_reaches_the_server_and_nothing_else(
    words: list[str], answers: type[HealthyHttp]
) -> None:
    """Neither stdout nor stderr, whatever goes well or wrong."""
    server = answers()
    async with server.running() as url:
        done = await asyncio.to_thread(anywire, *words, *BEARER, url, env={"ANYWIRE_TEST_TOKEN": SECRET})

    assert SECRET not in done.out + done.err
    assert "Traceback" not in done.err
    assert done.out or done.err
    assert {asked.headers.get("authorization") for asked in server.asked} <= {f"Bearer {SECRET}"}
    assert server.asked or answers is unreached.NoHttp


class Patient(HealthyHttp):
    """Takes a request and never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    async def write(self, writer: asyncio.StreamWriter, told: Told) -> None:
        """Say that somebody waits."""
        self.waiting.set()
        await asyncio.Event().wait()


async def test_a_secret_stands_in_no_command_line() -> None:
    """Neither in our own nor in that of anything we start; what the user typed stands there as it is."""
    server = Patient()
    async with server.running() as url:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "anywire",
                "list",
                "--env",
                "ANYWIRE_TEST_TOKEN",
                "--",
                *command("bridge", "stdio", *BEARER, url),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "ANYWIRE_TEST_TOKEN": SECRET},
        )
        try:
            async with asyncio.timeout(WITHIN):
                await server.waiting.wait()
            lines = [command_line(pid) for pid in descendants()]
        finally:
            process.terminate()
            process.wait(timeout=WITHIN)

    assert (
        sum("${ANYWIRE_TEST_TOKEN}" in line for line in lines) >= 2
    )  # the command, and the bridge it started
    assert not any(SECRET in line for line in lines)
