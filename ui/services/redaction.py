"""Hides secrets in log lines. Our own events hold none; a library or a driver may log some."""

import re

HIDDEN = "[hidden]"

_NAMES = (
    r"api[-_ ]?(?:key|secret|sign)|secret|password|passwd|passphrase|private[-_ ]?key|authorization|signature|"
    r"access[-_ ]?(?:key|sign)|credential|cookie|ticket|token|bearer|nonce|webhook[-_ ]?url|chat[-_ ]?id"
)
# the value after `name=`, `name: `, `"name": "`, `'name', '`; a fencing token of a lease is a number and no secret
_ASSIGNED = re.compile(
    rf"""(?P<name>(?:{_NAMES})[\w-]{{0,30}}\\?["']?\s*(?:[=:]|,(?=\s*["']))\s*)"""
    r"""(?P<value>\\?"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:Bearer|Basic|Token|ApiKey)\s+[^\s,;"'}]+|[^\s,;&"'}\])]+)""",
    re.IGNORECASE,
)
_NAME = re.compile(_NAMES, re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^\s/@]+@", re.IGNORECASE)
_SCHEME = re.compile(r"\b(?P<scheme>Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_BOT_ADDRESS = re.compile(r"/bot\d+:[\w-]+")
_PEM = re.compile(r"-----BEGIN[^-]*PRIVATE KEY-----.*?(?:-----END[^-]*PRIVATE KEY-----|$)", re.DOTALL)
_ENCODED_LINE = re.compile(r"^\s*[A-Za-z0-9+/=_-]{40,}\s*$")
"""A long code and nothing else: one line of a key of several lines."""
_PATH = re.compile(r"\s*(?:file:)?/{1,3}(?:(?:[A-Z]?[a-z0-9_-]{0,40}|[A-Z0-9_-]{1,12})(?:/|\s*$)){3,}")
_LONG_CODE = re.compile(r"[0-9a-f]{24}|[0-9-]{24}")
_HARMLESS = re.compile(r"""^["']?(?:\d{1,9}|true|false|null|none)["']?$""", re.IGNORECASE)


_SUSPECT = re.compile(rf"{_NAMES}|basic|://[^\s/]*@|/bot\d|-----BEGIN|[\w+/=-]{{40}}", re.IGNORECASE)
_REST_OF_CODE = re.compile(r"^[A-Za-z0-9+/=_-]+$")


def is_secret_name(name: str) -> bool:
    return _NAME.search(name) is not None


def follows_secret(text: str, before: str) -> bool:
    """Return whether a line may continue a long code whose line `before` was hidden."""
    return before == HIDDEN and _REST_OF_CODE.match(text) is not None


def may_hold_secret(text: str) -> bool:
    """Return whether `without_secrets` could change it: a quick check, since few lines hold any."""
    return _SUSPECT.search(text) is not None


def without_secrets(text: str, folder: str = "") -> str:
    """Return one line in which each value that is named like or looks like a secret is hidden. A text that begins with
    `folder`, the data folder's path, is a file's name."""
    if _ENCODED_LINE.match(text) and not _is_path(text, folder):
        return HIDDEN
    text = _PEM.sub(HIDDEN, text)
    text = _IN_ADDRESS.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _BOT_ADDRESS.sub(f"/bot{HIDDEN}", text)
    text = _ASSIGNED.sub(_hidden, text)
    return _SCHEME.sub(rf"\g<scheme> {HIDDEN}", text)


def _is_path(text: str, folder: str) -> bool:
    """Return whether it is a path. Paths consist of the same letters as codes, `/` among them; but the case of their
    letters is not random, and no word of them is a long number."""
    if folder and text.startswith(f"{folder}/"):
        return True
    return _PATH.fullmatch(text) is not None and _LONG_CODE.search(text) is None


def _hidden(match: "re.Match[str]") -> str:
    value = match["value"]
    if _HARMLESS.match(value) or HIDDEN.startswith(value):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match['name']}{quote}{HIDDEN}{quote}"
