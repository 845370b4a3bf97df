"""Rows as key=value: `@map(type = 'keyvalue')`, a row a line: `level=info msg="took long" ms=12` (logfmt)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from cep.apps.formats.lines import lines_of
from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.templates import PayloadTemplate, template
from cep.apps.formats.typed_values import ColumnTypes, typed_row, written_text

KEYVALUE = ("delimiter", "separator")
_QUOTED = r'"(?:[^"\\]|\\.)*+"'


@dataclass(frozen=True, slots=True)
class KeyValueReader:
    """`keys`: column → its key. `delimiter`: between pairs; `separator`: between key and value."""

    columns: ColumnTypes
    keys: tuple[tuple[str, str], ...]
    needs_all: bool = True
    delimiter: str = " "
    separator: str = "="
    properties: Properties = ()

    @property
    def by_line(self) -> bool:
        return True

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        of_message, rows = of_properties(self.properties, properties), []
        for line in lines_of(message):
            pairs = _pairs(line, self.delimiter, self.separator)
            found = {name: pairs[key] for name, key in self.keys if key in pairs}
            rows.append(typed_row(self.columns, found | of_message, needs_all=self.needs_all))
        return rows


@dataclass(frozen=True, slots=True)
class KeyValueWriter:
    """`pairs`: key → what stands for its value."""

    pairs: tuple[tuple[str, PayloadTemplate], ...]
    delimiter: str = " "
    separator: str = "="

    @property
    def media_type(self) -> str:
        return "text/plain; charset=utf-8"

    def write(self, values: Mapping[str, Any]) -> bytes:
        return self.delimiter.join(
            f"{key}{self.separator}{self._value(one, values)}" for key, one in self.pairs
        ).encode()

    def join(self, messages: Sequence[bytes]) -> bytes:
        return b"".join(b"%b\n" % one for one in messages)

    def _value(self, part: PayloadTemplate, values: Mapping[str, Any]) -> str:
        if part.texts == ("", ""):
            value = values.get(part.columns[0])
            if value is None:
                return ""
            return self._quoted(value) if isinstance(value, str) else written_text(value)
        return self._quoted(part.filled(values, written_text))

    def _quoted(self, text: str) -> str:
        is_plain = text.isprintable() and not any(
            one in text for one in (self.delimiter, self.separator, '"', "\\", " ")
        )
        return text if text and is_plain else orjson.dumps(text).decode()


def keyvalue_reader(options: MapOptions, *, needs_all: bool) -> KeyValueReader:
    """`options`: made with KEYVALUE. Raises AppUnsupportedError."""
    options.no_payload()
    delimiter, separator = _signs(options)
    keys = options.places | {name: name for name in options.unplaced}
    needed = options.needs_all(default=needs_all)
    return KeyValueReader(options.columns, tuple(keys.items()), needed, delimiter, separator, options.properties)


def keyvalue_writer(options: MapOptions) -> KeyValueWriter:
    """`options`: made with KEYVALUE. Raises AppUnsupportedError."""
    options.no_attributes()
    delimiter, separator = _signs(options)
    names = [name for name, _ in options.columns]
    said = dict(options.payload) or {name: f"{{{{{name}}}}}" for name in names}
    odd = next((key for key in said if not key or not re.fullmatch(r"[\w.@/-]+", key)), None)
    if odd is not None:
        raise options.refused(f"{odd!r} is no key; write key = '{{{{column}}}}' with letters, digits, _ . - @ /")
    try:
        return KeyValueWriter(tuple((key, template(text, names)) for key, text in said.items()), delimiter, separator)
    except ValueError as error:
        raise options.refused(str(error)) from None


def _signs(options: MapOptions) -> tuple[str, str]:
    delimiter, separator = options.character("delimiter", " "), options.character("separator", "=")
    if delimiter == separator:
        raise options.refused(f"delimiter and separator are both {delimiter!r}")
    return delimiter, separator


def _pairs(line: str, delimiter: str, separator: str) -> dict[str, Any]:
    """Return values by key; null if nothing stands behind the separator. Raises ValueError if a pair is none."""
    between, sign = re.escape(delimiter), re.escape(separator)
    # a space that stands between pairs says that a value has ended
    space = rf"(?:(?!{between})\s)*+"
    value = rf"(?:({_QUOTED})|([^{between}]*+))"
    pair = re.compile(rf"\s*+([^\s{sign}{between}]++){space}{sign}{space}{value}{space}(?:{between}|$)")
    found: dict[str, Any] = {}
    at, end = 0, len(line.rstrip())
    while at < end:
        matched = pair.match(line, at)
        if matched is None:
            raise ValueError(f"no key{separator}value in {line[at : at + 40]!r}")
        key, quoted, plain = matched.groups()
        if key in found:
            raise ValueError(f"{key!r} is there twice")
        found[key] = _text(quoted) if quoted is not None else plain.strip() or None
        at = matched.end()
    return found


def _text(quoted: str) -> str:
    try:
        return str(orjson.loads(quoted))
    except orjson.JSONDecodeError:
        return quoted[1:-1]
