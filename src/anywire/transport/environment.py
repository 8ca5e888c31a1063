"""The environment a child gets when nothing else is asked for.

Enough to find programs, the home folder, the user's language and the way to the network; no tokens,
no passwords, nothing that happens to be set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ("BASE_NAMES", "BASE_PREFIXES", "base_environment")

#: Variables that pass.
BASE_NAMES: Final = frozenset(
    {
        # who and where
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "USER",
        "TERM",
        "TMPDIR",
        "TEMP",
        "TMP",
        # language and time
        "LANG",
        "LANGUAGE",
        "TZ",
        # trust in certificates: paths of files, no secrets
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        # without these a Windows program does not start
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    }
)

#: Variables of these beginnings pass as well.
BASE_PREFIXES: Final = ("LC_", "XDG_")


def base_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables of an environment that every child gets.

    Values that begin with `()` are dropped: old shells took them for functions to run.
    """
    return {
        name: value
        for name, value in environment.items()
        if (name.upper() in BASE_NAMES or name.upper().startswith(BASE_PREFIXES))
        and not value.startswith("()")
    }
