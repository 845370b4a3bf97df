"""Rows as CSV (RFC 4180): `@map(type = 'csv')`. A field in quotes is a text as it is; one without may be null."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.typed_values import ColumnTypes, check_rows, decoded, typed_row, written_text
from cep.apps.language.expression_tree import ValueType

CSV_SOURCE = (
    *("delimiter", "header", "header.present", "null.text", "decimal.comma"),
    *("fail.on.unknown.attribute", "event.grouping.enabled"),
)
CSV_SINK = ("delimiter", "header", "null.text", "decimal.comma", "event.grouping.enabled")
"""Grouping is Siddhi's: several rows in a message are read in any case, and written if a transport batches."""
_FRACTIONS = ("float", "double")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*(,[0-9]*)?([eE][+-]?[0-9]+)?")
_END = "\r\n"

Field = str | None
"""None: it is null."""


@dataclass(frozen=True, slots=True)
class CsvReader:
    """`places`: column → its place in a line, or its name in the header. `has_header`: the first line of a message
    names the fields. `knows_all`: a line may have no other fields."""

    columns: ColumnTypes
    places: tuple[tuple[str, int | str], ...]
    needs_all: bool = True
    delimiter: str = ","
    has_header: bool = False
    null_text: str = ""
    decimal_comma: bool = False
    knows_all: bool = True
    properties: Properties = ()

    @property
    def by_line(self) -> bool:
        """Return whether places are known without a header; a field in quotes that has a line end is then cut."""
        return not self.has_header

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        lines = csv_lines(decoded(message), self.delimiter, self.null_text)
        header = next(lines, None) if self.has_header else None
        places = self._places(header)
        of_message = of_properties(self.properties, properties)
        kinds, known = dict(self.columns), max(places.values(), default=-1) + 1
        is_strict, rows = self.knows_all and not self.has_header, list[tuple[Any, ...]]()
        for line in lines:
            if is_strict and len(line) > known:
                raise ValueError(f"{len(line)} fields, and the columns are in {known}")
            found = {
                name: self._value(name, kinds[name], line[place]) for name, place in places.items() if place < len(line)
            }
            rows.append(typed_row(self.columns, found | of_message, needs_all=self.needs_all))
            check_rows(len(rows))
        return rows

    def _places(self, header: list[Field] | None) -> dict[str, int]:
        """Return the place of each column; of those that the header has. Raises ValueError."""
        if header is None:
            return {name: place for name, place in self.places if isinstance(place, int)}
        names = [(one or "").strip() for one in header]
        numbers = {one: number for number, one in enumerate(names)}
        if len(numbers) < len(names):
            # the number of the first one of a name is not the one that stayed
            twice = next(one for number, one in enumerate(names) if numbers[one] != number)
            raise ValueError(f"the header has {twice!r} twice")
        found = {}
        for name, place in self.places:
            if isinstance(place, int):
                found[name] = place
            elif place in numbers:
                found[name] = numbers[place]
        return found

    def _value(self, name: str, kind: ValueType, field: Field) -> Field:
        if field is None or kind == "string":
            return field
        if not field.strip():
            return None
        if not self.decimal_comma or kind not in _FRACTIONS:
            return field
        if not _DECIMAL_COMMA.fullmatch(field.strip()):
            raise ValueError(f"{name!r} is no {kind} with a decimal comma: {field[:40]!r}")
        return field.replace(",", ".")


@dataclass(frozen=True, slots=True)
class CsvWriter:
    """`columns`: in the order of the line."""

    columns: tuple[str, ...]
    fractions: frozenset[str]
    delimiter: str = ","
    has_header: bool = False
    null_text: str = ""
    decimal_comma: bool = False

    @property
    def media_type(self) -> str:
        return "text/csv"

    def write(self, values: Mapping[str, Any]) -> bytes:
        line = self.delimiter.join(self._field(name, values.get(name)) for name in self.columns)
        if not line:
            raise ValueError("a null alone is an empty line, and no row; give it a null.text")
        return f"{self._head}{line}{_END}".encode()

    def join(self, messages: Sequence[bytes]) -> bytes:
        head = self._head.encode()
        return head + b"".join(one.removeprefix(head) for one in messages)

    @property
    def _head(self) -> str:
        if not self.has_header:
            return ""
        return self.delimiter.join(self._quoted(one) for one in self.columns) + _END

    def _field(self, name: str, value: Any) -> str:
        if value is None:
            return self.null_text
        if isinstance(value, str):
            return self._quoted(value)
        text = written_text(value)
        if self.decimal_comma and name in self.fractions:
            text = text.replace(".", ",")
        return self._quoted(text)

    def _quoted(self, text: str) -> str:
        is_plain = text and text != self.null_text and text == text.strip()
        if is_plain and not any(one in text for one in (self.delimiter, '"', "\r", "\n", "\ufeff")):
            return text
        return '"' + text.replace('"', '""') + '"'


def csv_reader(options: MapOptions, *, needs_all: bool) -> CsvReader:
    """`options`: made with CSV_SOURCE. Raises AppUnsupportedError."""
    options.no_payload()
    said = options.truth("header", default=False)
    has_header = options.truth("header.present", default=said)
    delimiter, decimal_comma = _signs(options)
    return CsvReader(
        options.columns,
        tuple(_places(options, has_header=has_header).items()),
        options.needs_all(default=needs_all),
        delimiter,
        has_header,
        options.text("null.text", ""),
        decimal_comma,
        options.truth("fail.on.unknown.attribute", default=True),
        options.properties,
    )


def csv_writer(options: MapOptions) -> CsvWriter:
    """`options`: made with CSV_SINK. Raises AppUnsupportedError."""
    options.no_attributes()
    delimiter, decimal_comma = _signs(options)
    null_text = options.text("null.text", "")
    if any(one in null_text for one in (delimiter, '"', "\r", "\n")) or null_text != null_text.strip():
        raise options.refused(
            f"null.text = {null_text!r}: write a text without spaces around it and without {delimiter}"
        )
    fractions = frozenset(name for name, kind in options.columns if kind in _FRACTIONS)
    has_header = options.truth("header", default=False)
    return CsvWriter(_order(options), fractions, delimiter, has_header, null_text, decimal_comma)


def csv_lines(text: str, delimiter: str, null_text: str) -> Iterator[list[Field]]:
    """Return the fields of each line that is not empty. Raises ValueError if a quote does not end, or something stands
    behind it."""
    sign = re.escape(delimiter)
    field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{sign}\r\n][^{sign}\r\n]*+|))({sign}|\r?\n|\Z)')
    at, line = 0, list[Field]()
    while at <= len(text):
        found = field.match(text, at)
        if found is None:
            raise ValueError(f"a quote that does not end, or a sign behind one, at character {at + 1}")
        quoted, plain, end = found.groups()
        line.append(quoted.replace('""', '"') if quoted is not None else None if plain == null_text else plain)
        at = found.end() if end else len(text) + 1
        if end != delimiter:
            if len(line) > 1 or quoted is not None or plain:
                yield line
            line = []


def _signs(options: MapOptions) -> tuple[str, bool]:
    """Return the delimiter, and whether a comma stands before fractions."""
    decimal_comma = options.truth("decimal.comma", default=False)
    delimiter = options.character("delimiter", ";" if decimal_comma else ",")
    if decimal_comma and delimiter == ",":
        raise options.refused("decimal.comma = 'true': write another delimiter, such as ';'")
    return delimiter, decimal_comma


def _places(options: MapOptions, *, has_header: bool) -> dict[str, int | str]:
    names = [name for name, _ in options.columns if name not in dict(options.properties)]
    if not options.places:
        return {name: name if has_header else place for place, name in enumerate(names)}
    lacking = next((name for name in names if name not in options.places), None)
    if lacking is not None and not has_header:
        raise options.refused(f"@attributes: the column {lacking!r} has no place; write all, such as {lacking} = '0'")
    found: dict[str, int | str] = {name: name for name in names}
    for name, place in options.places.items():
        if not place.isdecimal() and not has_header:
            raise options.refused(f"@attributes: {name} = {place!r}: write the field's place, from 0")
        found[name] = int(place) if place.isdecimal() and len(place) < 5 else place
    return found


def _order(options: MapOptions) -> tuple[str, ...]:
    """Return the columns in the order of `@payload`, which gives their places."""
    names = tuple(name for name, _ in options.columns)
    if not options.payload:
        return names
    places = {name: place.strip() for name, place in options.payload.items()}
    other = next((name for name in places if name not in names), None)
    if other is not None:
        raise options.refused(f"@payload names {other!r}, which is no column; write column = 'place'")
    if sorted(places.values(), key=lambda one: (len(one), one)) != [str(place) for place in range(len(places))]:
        raise options.refused(f"@payload gives the places {', '.join(places.values())}; write 0 to {len(places) - 1}")
    return tuple(sorted(places, key=lambda name: int(places[name])))
