"""Where editors and agents keep their servers, as data.

A place is a path that begins with a folder in braces: `{home}`, `{project}` (where the command runs),
`{config}` (`XDG_CONFIG_HOME`), `{appdata}` (Windows), or the value of a variable that an editor knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from anywire.errors import ConfigError

__all__ = ("EDITORS", "PLACES", "Place", "paths_of", "system_of")

System = Literal["linux", "macos", "windows"]


class Place(msgspec.Struct, frozen=True):
    """A file of an editor, and the systems on which it is there (none: all)."""

    editor: str
    path: str
    systems: tuple[System, ...] = ()


_MAC = "{home}/Library/Application Support"

#: In the order in which they are looked at: a project's own before those of its user.
PLACES: Final = (
    Place("claude-code", "{project}/.mcp.json"),
    Place("claude-code", "{CLAUDE_CONFIG_DIR}/.claude.json"),
    Place("claude-code", "{home}/.claude.json"),
    Place("claude-desktop", f"{_MAC}/Claude/claude_desktop_config.json", ("macos",)),
    Place("claude-desktop", "{appdata}/Claude/claude_desktop_config.json", ("windows",)),
    Place("claude-desktop", "{config}/Claude/claude_desktop_config.json", ("linux",)),
    Place("cursor", "{project}/.cursor/mcp.json"),
    Place("cursor", "{home}/.cursor/mcp.json"),
    Place("vscode", "{project}/.vscode/mcp.json"),
    Place("vscode", f"{_MAC}/Code/User/mcp.json", ("macos",)),
    Place("vscode", f"{_MAC}/Code/User/settings.json", ("macos",)),
    Place("vscode", "{appdata}/Code/User/mcp.json", ("windows",)),
    Place("vscode", "{appdata}/Code/User/settings.json", ("windows",)),
    Place("vscode", "{config}/Code/User/mcp.json", ("linux",)),
    Place("vscode", "{config}/Code/User/settings.json", ("linux",)),
    Place("windsurf", "{home}/.codeium/windsurf/mcp_config.json"),
    Place("windsurf", "{home}/.codeium/mcp_config.json"),
    Place("codex", "{project}/.codex/config.toml"),
    Place("codex", "{CODEX_HOME}/config.toml"),
    Place("codex", "{home}/.codex/config.toml"),
    Place("opencode", "{project}/opencode.json"),
    Place("opencode", "{project}/opencode.jsonc"),
    Place("opencode", "{config}/opencode/opencode.json"),
    Place("opencode", "{config}/opencode/opencode.jsonc"),
)

#: The names of the editors.
EDITORS: Final = tuple(dict.fromkeys(place.editor for place in PLACES))


def system_of(platform: str) -> System:
    """Return the system that `sys.platform` names."""
    return "macos" if platform == "darwin" else "windows" if platform == "win32" else "linux"


def paths_of(
    editors: tuple[str, ...], environment: Mapping[str, str], project: Path, system: System
) -> Iterator[tuple[str, Path]]:
    """Yield the editors and the paths of their files, whether they are there or not, each path once.

    Without `editors`, of all of them.  Raises `ConfigError` for an editor that is not known.
    """
    for editor in editors:
        if editor not in EDITORS:
            raise ConfigError(f"there is no editor {editor!r}; editors are: {', '.join(EDITORS)}")
    folders = _folders(environment, project)
    seen: set[Path] = set()
    for place in PLACES:
        base, _, rest = place.path[1:].partition("}/")
        known = folders.get(base) or environment.get(base)
        path = Path(known or "") / rest
        here = not place.systems or system in place.systems
        if known and here and place.editor in (editors or EDITORS) and path not in seen:
            seen.add(path)
            yield place.editor, path


def _folders(environment: Mapping[str, str], project: Path) -> dict[str, str]:
    home = environment.get("HOME") or environment.get("USERPROFILE") or str(Path.home())
    return {
        "home": home,
        "project": str(project),
        "config": environment.get("XDG_CONFIG_HOME") or f"{home}/.config",
        "appdata": environment.get("APPDATA") or f"{home}/AppData/Roaming",
    }
