"""Whether a URI is written plainly, so that those who read it agree on what it names.

Parsers of URLs, of paths, and servers of their own making each repair what is odd in their own way: they drop
an empty user, decode twice, follow a `..` behind a `?`.  A plain URI leaves nothing to repair.

Specification: RFC 3986 §6.2; RFC 6570 §2.2; RFC 8089; WHATWG URL (special schemes, hosts, ports).
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote_to_bytes

__all__ = ("decoded_once", "folded", "masked", "oddity", "unmasked")

#: No longer URI is looked at, in characters.
_LONGEST: Final = 8 * 1024
#: The schemes that parsers of URLs know, and the ports that they leave out.
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "file": None}
_PARTS: Final = re.compile(r"(?!url:)([a-z][a-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(.*)", re.DOTALL)
#: An encoding that is broken, or of a character that needs none.
_BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NEEDLESS: Final = re.compile(r"%(?:2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aAeE])")
_ENCODED: Final = re.compile(r"%(?:[0-9A-Fa-f]{2}|[uU])")
_BETWEEN_SEGMENTS: Final = re.compile(r"[/?#;:@&=]")
_EXPRESSION: Final = re.compile(r"\{[+#./;?&]?\w[\w.,:*%]*\}")
#: Where the characters of expressions are meanwhile: nobody has a use for these.
_MASK: Final = 0xE000
_TO_MASK: Final = {code: _MASK + code for code in range(0x80)}
_FROM_MASK: Final = {_MASK + code: code for code in range(0x80)}
_LABEL: Final = "[a-z0-9_\ue000-\ue07f-]+"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_SEVERAL_DIGITS: Final = re.compile(r"0|[1-9][0-9]{0,4}")
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def oddity(uri: str) -> str | None:
    """Say what of a URI, or of a template of URIs, is not written plainly; None for a plain one."""
    if len(uri) > _LONGEST:
        return "its URI is too long"
    if _BROKEN.search(uri) or _NEEDLESS.search(uri):
        return "its URI has percent-encodings that are broken or needless"
    decoded = decoded_once(uri)
    if decoded is None:
        return "its URI encodes what is no UTF-8"
    if _ENCODED.search(folded(decoded)):
        return "its URI is encoded more than once"
    # A reader may decode first, and one of hosts or names may take alike what only looks alike.
    return next(filter(None, map(_odd_text, (uri, decoded, folded(decoded)))), None)


def decoded_once(uri: str) -> str | None:
    """Return a URI without percent-encodings; None where these are no UTF-8."""
    try:
        return unquote_to_bytes(uri.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


def folded(text: str) -> str:
    """Return a text as it is for those who see neither capitals nor compatible or invisible characters."""
    if text.isascii():
        return text.lower()
    seen = _UNSEEN.sub("", "".join(each for each in text if unicodedata.category(each) != "Cf"))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def masked(text: str) -> str:
    """Return a URI whose expressions, `{?query}`, hold no sign that means something in a URI."""
    return _EXPRESSION.sub(lambda found: found[0].translate(_TO_MASK), text)


def unmasked(text: str) -> str:
    """Return a text with its expressions as they were before `masked`."""
    return text.translate(_FROM_MASK)


def _odd_text(text: str) -> str | None:
    if text != text.strip() or "\\" in text or any(map(_is_odd, text)):
        return "its URI has characters that readers drop or replace"
    parts = _PARTS.fullmatch(masked(text))
    if parts is None:
        return "its URI does not begin with a scheme in small letters"
    scheme, authority, path, rest = parts.groups()
    if any(
        each.strip(" ") in (".", "..") for each in _BETWEEN_SEGMENTS.split(f"{authority or ''}/{path}{rest}")
    ):
        return "its URI has a detour: . or .."
    return _odd_authority(scheme, authority) or _odd_path(scheme, authority, path)


def _is_odd(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or ord(character) in _FROM_MASK


def _odd_authority(scheme: str, authority: str | None) -> str | None:
    if not authority:
        needed = scheme in _DEFAULT_PORTS and (authority is None or scheme != "file")
        return f"its URI does not have the two slashes and the host of {scheme}:" if needed else None
    user, at, place = authority.rpartition("@")
    if at and (not user or "@" in user or user.startswith(":") or user.endswith(":")):
        return "its URI has an empty user or password"
    numbers = re.fullmatch(r"\[(.*)\](.*)", place)
    host, colon, port = (numbers[1], numbers[2][:1], numbers[2][1:]) if numbers else place.partition(":")
    if colon and (colon != ":" or not _is_plain_port(scheme, port)):
        return "its URI has a port that is empty, needless or none"
    is_plain = _is_plain_address(host) if numbers else _is_plain_host(scheme, host)
    return None if is_plain else "its URI has a host that can be written in another way"


def _is_plain_port(scheme: str, port: str) -> bool:
    return (
        bool(_SEVERAL_DIGITS.fullmatch(port))
        and int(port) < 65_536
        and int(port) != _DEFAULT_PORTS.get(scheme)
    )


def _is_plain_address(text: str) -> bool:
    try:
        return str(IPv6Address(text)) == text
    except AddressValueError:
        return False


def _is_plain_host(scheme: str, host: str) -> bool:
    if not host or re.search(r"[\s<>^|\[\]]", host):
        return False
    if scheme not in _DEFAULT_PORTS:
        return True
    if not _HOST.fullmatch(host) or (scheme == "file" and host == "localhost"):
        return False
    if not _NUMBER.fullmatch(host):
        return True
    try:
        return str(IPv4Address(host)) == host
    except AddressValueError:
        return False


def _odd_path(scheme: str, authority: str | None, path: str) -> str | None:
    if authority is not None and path.startswith("//"):
        return "its URI has more slashes than it needs"
    if scheme == "file" and (not path or "|" in path):
        return "its URI has a path that readers complete or replace"
    return None
