"""Rows as text: `@map(type = 'text')`, read by patterns in linear time (RE2), written as a template.

Without patterns a row is Siddhi's own form, `symbol:"WSO2",` and so on, a column a line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
import re2

from cep.apps.formats.lines import lines_of
from cep.apps.formats.log_patterns import LOG_PATTERNS, NOTHING
from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.templates import PayloadTemplate, template
from cep.apps.formats.typed_values import ColumnTypes, check_rows, decoded, typed_row, written_text

TEXT_SOURCE = ("regex.", "pattern", "event.grouping.enabled", "delimiter", "new.line.character")
TEXT_SINK = ("event.grouping.enabled", "delimiter", "new.line.character", "mustache.enabled")
DELIMITER = "~" * 10
"""A line between rows, unless the text says another."""
MOST_PATTERN = 2_000
_PLACE = r"(\w+)\[(\d{1,3}|\w+)\]"
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class TextReader:
    """`patterns`: by name. `places`: column → a pattern's name and its group; none: Siddhi's own form. `delimiter`: the
    line between rows; None: a message is one row, or each line of it if `by_line`."""

    columns: ColumnTypes
    patterns: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, tuple[str, int | str]], ...] = ()
    needs_all: bool = True
    by_line: bool = False
    delimiter: str | None = None
    nothing: str | None = None
    properties: Properties = ()

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        of_message = of_properties(self.properties, properties)
        found = self._matched if self.patterns else _own_form
        return [
            typed_row(self.columns, found(text) | of_message, needs_all=self.needs_all) for text in self._texts(message)
        ]

    def _texts(self, message: bytes) -> list[str]:
        if self.by_line:
            return lines_of(message)
        text = decoded(message)
        if self.delimiter is None:
            return [text]
        texts = [one.strip("\r\n") for one in _between(text, self.delimiter)]
        check_rows(len(texts))
        return [one for one in texts if one]

    def _matched(self, text: str) -> dict[str, Any]:
        matches = {}
        for name, pattern in self.patterns:
            matches[name] = _compiled(pattern).search(text)
            if matches[name] is None:
                what = "the line" if self.by_line else "the text"
                raise ValueError(f"{what} does not match {name}: {text[:40]!r}")
        found = {}
        for column, (name, group) in self.places:
            value = matches[name].group(group)
            if value is not None:
                found[column] = None if value == self.nothing else value
        if self.nothing is not None:
            # what a log's pattern may leave out is null
            found = {column: found.get(column) for column, _ in self.places}
        return found


@dataclass(frozen=True, slots=True)
class TextWriter:
    """`payload`: in place of Siddhi's own form."""

    columns: tuple[str, ...]
    payload: PayloadTemplate | None = None
    delimiter: str | None = None

    @property
    def media_type(self) -> str:
        return "text/plain; charset=utf-8"

    def write(self, values: Mapping[str, Any]) -> bytes:
        if self.payload is not None:
            return self.payload.filled(values, written_text).encode()
        lines = (f"{name}:{orjson.dumps(values.get(name)).decode()}" for name in self.columns)
        return ",\n".join(lines).encode()

    def join(self, messages: Sequence[bytes]) -> bytes:
        between = "\n" if self.delimiter is None else f"\n{self.delimiter}\n"
        return between.encode().join(messages)


def text_reader(options: MapOptions, *, needs_all: bool) -> TextReader:
    """`options`: made with TEXT_SOURCE. Raises AppUnsupportedError."""
    options.no_payload()
    needed = options.needs_all(default=needs_all)
    pattern = options.text("pattern", "")
    own = dict(options.family("regex."))
    if pattern and own:
        raise options.refused("write either pattern or regex.…")
    if pattern:
        return _log_reader(options, pattern, needed)
    delimiter = options.text("delimiter", DELIMITER) if options.truth("event.grouping.enabled", default=False) else None
    if not own:
        if options.places:
            raise options.refused("@attributes: write regex.A = '…' beside it, and column = 'A[1]'")
        return TextReader(options.columns, (), (), needed, False, delimiter, None, options.properties)
    for name, text in own.items():
        _check(options, f"regex.{name}", text)
    places = tuple((name, _place(options, name, one, own)) for name, one in options.places.items())
    if options.unplaced:
        raise options.refused(f"@attributes: the column {options.unplaced[0]!r} has no place; write 'A[1]'")
    return TextReader(options.columns, tuple(own.items()), places, needed, False, delimiter, None, options.properties)


def text_writer(options: MapOptions) -> TextWriter:
    """`options`: made with TEXT_SINK. Raises AppUnsupportedError."""
    options.no_attributes()
    names, text = tuple(name for name, _ in options.columns), options.template()
    delimiter = options.text("delimiter", DELIMITER) if options.truth("event.grouping.enabled", default=False) else None
    try:
        return TextWriter(names, None if text is None else template(text, names), delimiter)
    except ValueError as error:
        raise options.refused(str(error)) from None


def _log_reader(options: MapOptions, name: str, needs_all: bool) -> TextReader:
    """Return the reader of lines by a known pattern, or by one of the text's own with named groups."""
    text = LOG_PATTERNS.get(name.lower(), name)
    if text == name and not any(one in name for one in "(\\["):
        raise options.refused(
            f"pattern = {name!r} is not known; there are {', '.join(LOG_PATTERNS)}, or write (?P<name>…)"
        )
    _check(options, "pattern", text)
    groups = _compiled(text).groupindex
    said = options.places | {column: column for column in options.unplaced}
    lacking = next((column for column, group in said.items() if group not in groups), None)
    if lacking is not None:
        problem = (
            f"the pattern has no group {said[lacking]!r} for the column {lacking!r}; there are {', '.join(groups)}"
        )
        raise options.refused(problem)
    places = tuple((column, ("pattern", group)) for column, group in said.items())
    nothing = NOTHING if text != name else None
    return TextReader(options.columns, (("pattern", text),), places, needs_all, True, None, nothing, options.properties)


def _place(options: MapOptions, column: str, text: str, patterns: Mapping[str, str]) -> tuple[str, int | str]:
    found = re2.fullmatch(_PLACE, text)
    if found is None or found.group(1) not in patterns:
        raise options.refused(
            f"@attributes: {column} = {text!r}: write the pattern's name and the group, such as 'A[1]'"
        )
    pattern, group = _compiled(patterns[found.group(1)]), found.group(2)
    if group.isdecimal() and int(group) <= pattern.groups:
        return found.group(1), int(group)
    if group in pattern.groupindex:
        return found.group(1), group
    raise options.refused(f"@attributes: {column} = {text!r}: regex.{found.group(1)} has no such group")


def _check(options: MapOptions, name: str, text: str) -> None:
    if len(text) > MOST_PATTERN:
        raise options.refused(f"{name}: a pattern has at most {MOST_PATTERN:,} characters")
    try:
        _compiled(text)
    except re2.error as error:
        what = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise options.refused(f"{name} = {text!r} is no pattern of RE2: {what}") from None


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    return re2.compile(text, options)


def _between(text: str, delimiter: str) -> Iterator[str]:
    """Return what is between lines that are the delimiter."""
    lines = list[str]()
    for line in text.split("\n"):
        if line.strip() == delimiter:
            yield "\n".join(lines)
            lines = []
        else:
            lines.append(line)
    yield "\n".join(lines)


def _own_form(text: str) -> dict[str, Any]:
    """Return the values of Siddhi's own form. Raises ValueError."""
    found: dict[str, Any] = {}
    for line in filter(None, (one.strip() for one in text.split("\n"))):
        name, sign, value = line.partition(":")
        if not sign or not _NAME.fullmatch(name.rstrip()):
            raise ValueError(f"no name:value in the line {line[:40]!r}")
        found[name.rstrip()] = _own_value(value.strip().removesuffix(",").strip())
    return found


def _own_value(text: str) -> Any:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1]
    if text == "null":
        return None
    if text[:1] != '"':
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # Siddhi writes a text as it is between quotes
        return text.strip('"')
