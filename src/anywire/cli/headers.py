"""HTTP headers from the command line: those that are given, and the names of those that are forwarded.

A secret belongs into the environment (`${VARIABLE}` in a value) or a file: the words of a command are
there for every user of the machine to see.  Nothing that is read here is printed, logged or put into an
error.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.transport.forwarding import Forwarding

__all__ = ("add_forward_option", "add_header_options", "forwarding_of", "headers_of")

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def add_header_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which headers go on every request to a URL."""
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="a header for each request to a URL, ${NAME} from the environment, "
        "such as --header 'Authorization: Bearer ${TOKEN}'; may be repeated",
    )
    parser.add_argument(
        "--header-file",
        metavar="FILE",
        help="a file of header lines, such as --header-file ~/headers",
    )


def add_forward_option(parser: argparse.ArgumentParser) -> None:
    """Add what says which headers of a client's requests go on to the URL."""
    parser.add_argument(
        "--forward-header",
        action="append",
        default=[],
        metavar="NAME",
        help="a header that goes on with each request to the URL, such as --forward-header Authorization",
    )


def forwarding_of(options: argparse.Namespace, *, over_http: bool) -> Forwarding | None:
    """Return what forwards the headers that the options name, None where none is named.

    `over_http` says that there are requests to take them from.  Raises `ConfigError`.
    """
    names: list[str] = options.forward_header
    if not names:
        return None
    from anywire.protocol.http.forwarded import is_forwardable
    from anywire.transport.forwarding import Forwarding

    if not over_http or options.command:
        raise ConfigError("--forward-header is for a face over HTTP and a URL that is called")
    for name in names:
        if not _NAME.fullmatch(name) or name == "*":  # which is a name, and would be taken for all of them
            raise ConfigError("--forward-header takes the name of a header, such as Authorization")
        if not is_forwardable(name):
            raise ConfigError(f"--forward-header {name}: that belongs to one connection or one message")
    if "authorization" in map(str.lower, names):
        _refuse_other_authorization(options.token_env, options.target or "")
    return Forwarding(names)


def _refuse_other_authorization(token_env: str | None, url: str) -> None:
    """Refuse to forward an `Authorization` that is ours, or that would stand beside one of ours."""
    if token_env is not None:
        raise ConfigError("--forward-header Authorization would send the token of --token-env to the URL")
    if "@" in re.split(r"[/?#]", url.partition("://")[2])[0]:
        raise ConfigError("--forward-header Authorization cannot be joined with the user that the URL names")


def headers_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the headers that the options name.  Raises `ConfigError`, without showing any value."""
    lines = [(f"--header {number}", line) for number, line in enumerate(options.header, 1)]
    if options.header_file is not None:
        path = Path(options.header_file)
        try:
            path = path.expanduser()
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--header-file {path} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError:
            raise ConfigError(f"--header-file {path} cannot be read: it is not UTF-8") from None
        except (RuntimeError, ValueError) as error:  # a home that nobody has, a name that no file has
            raise ConfigError(f"--header-file {path} cannot be read: {error}") from error
        lines += [(f"{path}, line {number}", line) for number, line in enumerate(text.splitlines(), 1)]
    headers: dict[str, str] = dict(getattr(options, "headers_of_server", {}))
    for where, line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _read(where, line)
            headers[name] = value
    given = {name.lower() for name in headers}
    for name in getattr(options, "forward_header", ()):
        if name.lower() in given:
            raise ConfigError(f"{name} is given, and forwarded as well; name it once")
    return headers


def _read(where: str, line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not _NAME.fullmatch(name.strip()):
        raise ConfigError(f"{where} is no header; write 'Name: Value'")

    def expand(found: re.Match[str]) -> str:
        variable, default = found.group(1), found.group(2)
        if variable in os.environ:
            return os.environ[variable]
        if default is None:
            raise ConfigError(f"{where} needs the variable {variable}, which is not set")
        return default

    value = _VARIABLE.sub(expand, value.strip())
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise ConfigError(f"{where} has a value with a control character")
    return name.strip(), value
