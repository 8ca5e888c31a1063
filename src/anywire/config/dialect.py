"""The formats of files of servers, as data: what the members of a server are called in each.

Not every editor knows each member of its format; a member is read where any editor of the format has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from anywire.config.template import Syntax

__all__ = (
    "CODEX",
    "MCP_SERVERS",
    "OPENCODE",
    "TOOL_FILTER",
    "TWO_TIMES",
    "VSCODE",
    "Dialect",
)

_SIGNING_IN: Final = "nobody signs in here; give a token in headers"


class Dialect(msgspec.Struct, frozen=True):
    """One format.

    `members` are the names of members in a server, with what each is read as; `ignored` are those that
    are known and mean nothing here, with a sentence where that may surprise.
    """

    title: str
    syntax: Syntax
    members: Mapping[str, str]
    ignored: Mapping[str, str]


#: What every format has, and the members that are anywire's own.
_COMMON: Final = {
    "command": "command",
    "args": "args",
    "env": "env",
    "cwd": "cwd",
    "url": "url",
    "type": "type",
    "headers": "headers",
    "enabled": "enabled",
    "disabled": "disabled",
    "startup_timeout_sec": "start_seconds",
    "tool_timeout_sec": "call_seconds",
    "era": "era",
    "framing": "framing",
    "allow": "allow",
    "deny": "deny",
}
_IGNORED: Final = {
    **dict.fromkeys(
        ("$schema", "name", "title", "description", "icon", "version", "gallery", "registry", "author"), ""
    ),
    # They say what an editor need not ask about; nothing here asks.
    **dict.fromkeys(("alwaysAllow", "autoApprove", "trust", "trusted", "autoApproveAll"), ""),
    **dict.fromkeys(("auth", "oauth", "oauthScopes", "authProviderType"), _SIGNING_IN),
}

MCP_SERVERS: Final = Dialect(
    "mcpServers, as most editors have it",
    Syntax.DOLLAR,
    {
        **_COMMON,
        "transport": "type",
        "transportType": "type",
        "serverUrl": "url",
        "httpUrl": "url",
        "envFile": "env_file",
        "isActive": "enabled",
        "timeout": "timeout",
        "tools": "only_tools",
        "allowedTools": "only_tools",
        "includeTools": "only_tools",
        "disabledTools": "no_tools",
        "excludeTools": "no_tools",
        "toolFilter": "tool_filter",
    },
    {
        **_IGNORED,
        "headersHelper": "no program is run for headers; give them in headers",
        "alwaysLoad": "",
        "watchPaths": "",
        "provider": "",
    },
)

VSCODE: Final = Dialect(
    "servers, as VS Code has it",
    Syntax.DOLLAR_ENV,
    MCP_SERVERS.members,
    {
        **_IGNORED,
        "dev": "",
        "sandbox": "no sandbox is made here",
        "sandboxEnabled": "no sandbox is made here",
    },
)

OPENCODE: Final = Dialect(
    "mcp, as OpenCode has it",
    Syntax.BRACES,
    {**_COMMON, "environment": "env", "timeout": "milliseconds"},
    _IGNORED,
)

CODEX: Final = Dialect(
    "mcp_servers, as Codex has it",
    Syntax.PLAIN,
    {
        **_COMMON,
        "env_vars": "passed_env",
        "bearer_token_env_var": "token_variable",
        "http_headers": "headers",
        "env_http_headers": "header_variables",
        "startup_timeout_ms": "start_milliseconds",
        "enabled_tools": "only_tools",
        "disabled_tools": "no_tools",
    },
    {
        **_IGNORED,
        **dict.fromkeys(("required", "tools", "default_tools_approval_mode"), ""),
        **dict.fromkeys(("supports_parallel_tool_calls", "experimental_environment"), ""),
        **dict.fromkeys(("scopes", "oauth_resource"), _SIGNING_IN),
    },
)

#: The members of an object that has two times.
TWO_TIMES: Final = Dialect("timeout", Syntax.PLAIN, {"startup": "start", "request": "call"}, {})
#: The members of an object that is a filter of tools.
TOOL_FILTER: Final = Dialect(
    "toolFilter", Syntax.PLAIN, {each: each for each in ("mode", "list", "allow", "deny")}, {}
)
