"""A message as the one column of its stream: `@map(type = 'raw')`, as text, or as Base64 of any bytes."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.formats.lines import lines_of
from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.typed_values import ColumnTypes, check_size, decoded, typed_row, written_text

RAW = ("encoding", "by.line")


@dataclass(frozen=True, slots=True)
class RawReader:
    """`column`: the message; others are its properties."""

    columns: ColumnTypes
    column: str
    is_base64: bool = False
    by_line: bool = False
    needs_all: bool = True
    properties: Properties = ()

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        of_message = of_properties(self.properties, properties)
        rows = ({self.column: text} | of_message for text in self._texts(message))
        return [typed_row(self.columns, row, needs_all=self.needs_all) for row in rows]

    def _texts(self, message: bytes) -> list[str]:
        if self.is_base64:
            check_size(message)
            return [base64.b64encode(message).decode()]
        return lines_of(message) if self.by_line else [decoded(message)]


@dataclass(frozen=True, slots=True)
class RawWriter:
    column: str
    is_base64: bool = False

    @property
    def media_type(self) -> str:
        return "application/octet-stream" if self.is_base64 else "text/plain; charset=utf-8"

    def write(self, values: Mapping[str, Any]) -> bytes:
        text = written_text(values.get(self.column))
        if not self.is_base64:
            return text.encode()
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"{self.column!r} is no Base64: {text[:40]!r}") from error

    def join(self, messages: Sequence[bytes]) -> bytes:
        return (b"" if self.is_base64 else b"\n").join(messages)


def raw_reader(options: MapOptions, *, needs_all: bool) -> RawReader:
    """`options`: made with RAW. Raises AppUnsupportedError."""
    options.no_payload()
    column = _column(options, tuple(name for name, _ in options.columns if name not in dict(options.properties)))
    is_base64, needed = _is_base64(options), options.needs_all(default=needs_all)
    by_line = options.truth("by.line", default=False)
    if by_line and is_base64:
        raise options.refused("by.line = 'true': bytes have no lines; leave out the encoding")
    return RawReader(options.columns, column, is_base64, by_line, needed, options.properties)


def raw_writer(options: MapOptions) -> RawWriter:
    """`options`: made with RAW. Raises AppUnsupportedError."""
    options.no_attributes()
    if options.payload:
        raise options.refused("@payload: a raw message is its column; write type = 'text' for a template")
    return RawWriter(_column(options, tuple(name for name, _ in options.columns)), _is_base64(options))


def _column(options: MapOptions, names: tuple[str, ...]) -> str:
    if len(names) != 1 or dict(options.columns)[names[0]] != "string":
        raise options.refused("a raw message is one column, a string; others of a source are its properties ('trp:…')")
    return names[0]


def _is_base64(options: MapOptions) -> bool:
    encoding = options.text("encoding", "utf-8").lower()
    if encoding not in ("utf-8", "base64"):
        raise options.refused(f"encoding = {encoding!r}: there are utf-8 and base64")
    return encoding == "base64"
