"""`str:` and `regex:`. Patterns are RE2's, which takes time in proportion to the text
(https://github.com/google/re2/wiki/Syntax)."""

import hashlib
import re
from functools import lru_cache
from typing import Any

import re2

from cep.apps.functions.signature import function
from cep.apps.parts.values import text_of

LONGEST = 1_000_000
"""Characters of a text that a function makes."""


@lru_cache(maxsize=256)
def pattern_of(text: str) -> Any:
    """Raise ValueError."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise ValueError(f"{text!r} is no pattern: {error.args[0].decode()}") from error


def repeated(text: str, times: int) -> str:
    if len(text) * max(times, 0) > LONGEST:
        raise ValueError(f"a text of more than {LONGEST:,} characters")
    return text * max(times, 0)


def char_at(text: str, place: int) -> str | None:
    return text[place] if 0 <= place < len(text) else None


def part_of(text: str, *places: Any) -> str:
    """`str:substr`: from a place on and for a length, or what a pattern matches, or a group of it."""
    first, *rest = places
    if isinstance(first, str):
        found = pattern_of(first).search(text)
        return (found.group(rest[0] if rest else 0) or "") if found else ""
    begin = min(max(first, 0), len(text))
    return text[begin:] if not rest else text[begin : begin + max(rest[0], 0)]


def replaced(text: str, pattern: str, by: str) -> str:
    return str(pattern_of(pattern).sub(_groups(by), text))


def replaced_first(text: str, pattern: str, by: str) -> str:
    return str(pattern_of(pattern).sub(_groups(by), text, count=1))


def _groups(by: str) -> str:
    """Java's `$1` as RE2 writes it."""
    return re.sub(r"\$(\d)", r"\\\1", by.replace("\\", "\\\\"))


def split_at(text: str, separator: str, place: int) -> str | None:
    parts = text.split(separator) if separator else [text]
    return parts[place] if 0 <= place < len(parts) else None


def filled(template: str, *values: Any) -> str:
    """`str:fillTemplate('{{1}} and {{2}}', a, b)`."""
    for number, value in enumerate(values, start=1):
        template = template.replace(f"{{{{{number}}}}}", text_of(value))
    return template


def joined(*parts: Any) -> str:
    """Nulls as nothing."""
    return "".join("" if part is None else text_of(part) for part in parts)


def compared_texts(left: str, right: str) -> int:
    return (left > right) - (left < right)


def bytes_of(text: str) -> str:
    return bytes.fromhex(text).decode()


def group_of(pattern: str, text: str, number: int) -> str | None:
    found = pattern_of(pattern).search(text)
    if found is None or not 0 <= number <= found.re.groups:
        return None
    group = found.group(number)
    return None if group is None else str(group)


def masked(text: str, shown: int = 4) -> str:
    """All but the last characters as `*`."""
    kept = min(max(shown, 0), len(text))
    return "*" * (len(text) - kept) + text[len(text) - kept :]


STRING_FUNCTIONS = (
    function("str:length", "string -> int", len),
    function("str:upper", "string -> string", str.upper),
    function("str:lower", "string -> string", str.lower),
    function("str:trim", "string -> string", str.strip),
    function("str:reverse", "string -> string", lambda text: text[::-1]),
    function("str:concat", "any* -> string", joined, takes_null=True),
    function("str:charAt", "string int -> string", char_at),
    function("str:contains", "string string -> bool", lambda text, part: part in text),
    function("str:equalsIgnoreCase", "string string -> bool", lambda left, right: left.lower() == right.lower()),
    function("str:strcmp", "string string -> int", compared_texts),
    function("str:repeat", "string int -> string", repeated),
    function("str:substr", "string any any? -> string", part_of),
    function("str:replaceAll", "string string string -> string", replaced),
    function("str:replaceFirst", "string string string -> string", replaced_first),
    function("str:split", "string string int -> string", split_at),
    function("str:fillTemplate", "string any* -> string", filled),
    function("str:hex", "string -> string", lambda text: text.encode().hex()),
    function("str:unhex", "string -> string", bytes_of),
    function(
        "str:regexp", "string string -> bool", lambda text, pattern: pattern_of(pattern).fullmatch(text) is not None
    ),
    function("str:startsWith", "string string -> bool", str.startswith),
    function("str:endsWith", "string string -> bool", str.endswith),
    function("regex:matches", "string string -> bool", lambda one, text: pattern_of(one).fullmatch(text) is not None),
    function("regex:find", "string string -> bool", lambda one, text: pattern_of(one).search(text) is not None),
    function("regex:lookingAt", "string string -> bool", lambda one, text: pattern_of(one).match(text) is not None),
    function("regex:group", "string string int -> string", group_of),
    function("sha256", "string -> string", lambda text: hashlib.sha256(text.encode()).hexdigest()),
    function("mask", "string int? -> string", masked),
)
