"""From `MODULE:SERVER` to the `Server` it names."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from anywire.errors import ConfigError
from anywire.transport.redact import show_word

if TYPE_CHECKING:
    from anywire.server.server import Server

__all__ = ("load_server",)


def load_server(target: str) -> Server:
    """Import the module or the file and return its server.

    Claim stdio before, so that whatever the user's code prints while it loads stays off the wire.
    Raises `ConfigError`.
    """
    from anywire.server.server import Server

    name, _, attribute = target.rpartition(":")
    if not name or not attribute:
        raise ConfigError(f"{show_word(target)!r} is not MODULE:SERVER, such as my_module:server")
    server = getattr(_load(name), attribute, None)
    if not isinstance(server, Server):
        what = "nothing" if server is None else f"a {type(server).__name__}"
        raise ConfigError(f"{attribute!r} in {name} is {what}, not an anywire Server")
    return server


def _load(name: str) -> ModuleType:
    try:
        return _load_file(Path(name)) if name.endswith(".py") else _load_module(name)
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # a program that ends itself is no server either
        what = f"{type(error).__name__}: {error}{_where(error)}"
        raise ConfigError(f"{name} cannot be loaded: {what}") from error


def _where(error: BaseException) -> str:
    """Say in which line of the user's code it happened."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith("<frozen ") and name not in (__file__, importlib.__file__):
            place = f" ({name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return "" if isinstance(error, SyntaxError) else place


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
