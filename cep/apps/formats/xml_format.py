"""Rows as XML: `@map(type = 'xml')`, Siddhi's `<events><event>…</event></events>`, or paths into any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import orjson

from cep.apps.formats.map_options import MapOptions, Properties, of_properties
from cep.apps.formats.templates import PayloadTemplate, template
from cep.apps.formats.typed_values import ColumnTypes, check_rows, typed_row
from cep.apps.formats.xml_paths import XmlStep, xml_elements, xml_path, xml_texts
from cep.apps.formats.xml_tree import XmlElement, xml_root

XML_SOURCE = ("enclosing.element", "namespaces")
XML_SINK = ("enclosing.element", "validate.xml")
EVENTS, EVENT = "events", "event"
"""Around all rows, and around each, in Siddhi's own form."""
MOST_IN_ROWS = 100_000
"""Elements of all rows of a message, through which every path with `//` goes."""
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_NIL = f'<{{}} xmlns:xsi="{_INSTANCE}" xsi:nil="true"/>'
_QUOTES = {'"': "&quot;", "'": "&apos;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
"""In an attribute other spaces would be read as one; in an element a carriage return would be another line end."""


@dataclass(frozen=True, slots=True)
class XmlReader:
    """`element`: the path to each row. `paths`: column → the path to it in its row."""

    columns: ColumnTypes
    element: tuple[XmlStep, ...]
    paths: tuple[tuple[str, tuple[XmlStep, ...]], ...]
    needs_all: bool = True
    properties: Properties = ()

    @property
    def by_line(self) -> bool:
        return False

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        rows = xml_elements(xml_root(message), self.element)
        if not rows:
            raise ValueError("no element where the rows are")
        check_rows(len(rows))
        if sum(row.size for row in rows) > MOST_IN_ROWS:
            raise ValueError(f"rows stand in rows: more than {MOST_IN_ROWS:,} elements, each counted in each row")
        of_message = of_properties(self.properties, properties)
        return [typed_row(self.columns, self._found(row) | of_message, needs_all=self.needs_all) for row in rows]

    def _found(self, row: XmlElement) -> dict[str, Any]:
        kinds, found = dict(self.columns), dict[str, Any]()
        for name, path in self.paths:
            values = xml_texts(row, path)
            if any(step.is_list for step in path):
                found[name] = [_plain(one, "string") for one in values]
            elif len(values) > 1:
                raise ValueError(f"{name!r} is there {len(values)} times; its path may end with [1] or [*]")
            elif values:
                found[name] = _plain(values[0], kinds[name])
        return found


@dataclass(frozen=True, slots=True)
class XmlWriter:
    """`root`: around all rows; `row`: around each. `payload`: in place of a row with its element."""

    columns: tuple[str, ...]
    root: str = EVENTS
    row: str = EVENT
    payload: PayloadTemplate | None = None
    has_root: bool = True

    @property
    def media_type(self) -> str:
        return "application/xml"

    def write(self, values: Mapping[str, Any]) -> bytes:
        return self._whole(self._row(values)) if self.has_root else self._row(values).encode()

    def join(self, messages: Sequence[bytes]) -> bytes:
        if not self.has_root:
            return b"\n".join(messages)
        begin, end = f"<{self.root}>".encode(), f"</{self.root}>".encode()
        return begin + b"".join(one.removeprefix(begin).removesuffix(end) for one in messages) + end

    def _whole(self, row: str) -> bytes:
        return f"<{self.root}>{row}</{self.root}>".encode()

    def _row(self, values: Mapping[str, Any]) -> str:
        if self.payload is not None:
            return self.payload.filled(values, _escaped)
        inside = "".join(_element(name, values.get(name)) for name in self.columns)
        return f"<{self.row}>{inside}</{self.row}>"


def xml_reader(options: MapOptions, *, needs_all: bool) -> XmlReader:
    """`options`: made with XML_SOURCE. Raises AppUnsupportedError."""
    options.no_payload()
    try:
        spaces = _spaces(options.text("namespaces", ""))
        element = xml_path(options.text("enclosing.element", f"/{EVENTS}/{EVENT}"), spaces)
        if any(step.is_attribute or step.is_list for step in element):
            raise ValueError("enclosing.element: a row is an element, and each of those there is one")
        said = options.places | {name: name for name in options.unplaced}
        paths = {name: xml_path(one, spaces) for name, one in said.items()}
    except ValueError as error:
        raise options.refused(str(error)) from None
    for name, kind in options.columns:
        if kind != "string" and any(step.is_list for step in paths.get(name, ())):
            raise options.refused(f"{name!r}: a path with [*] gives a list, which only a string has, as JSON")
    needed = options.needs_all(default=needs_all)
    return XmlReader(options.columns, element, tuple(paths.items()), needed, options.properties)


def xml_writer(options: MapOptions) -> XmlWriter:
    """`options`: made with XML_SINK. Raises AppUnsupportedError."""
    options.no_attributes()
    names, text = tuple(name for name, _ in options.columns), options.template()
    said = options.text("enclosing.element", "")
    root = said.strip().removeprefix("<").removesuffix(">").strip("/") or EVENTS
    try:
        payload = None if text is None else template(text.strip(), names)
    except ValueError as error:
        raise options.refused(str(error)) from None
    # Siddhi puts a root around a template only if the text names one
    writer = XmlWriter(names, root, EVENT, payload, has_root=payload is None or bool(said))
    for sample in (dict.fromkeys(names, 1), {}):
        try:
            xml_root(writer.write(sample))
        except ValueError as error:
            what = "@payload" if payload is not None else "enclosing.element"
            raise options.refused(f"{what} gives no XML: {error}") from None
    return writer


def _spaces(text: str) -> dict[str, str]:
    """Return the namespaces of `a=http://…,b=…`. Raises ValueError."""
    found = {}
    for one in filter(None, (part.strip() for part in text.split(","))):
        prefix, sign, space = one.partition("=")
        if not sign or not prefix.strip() or not space.strip():
            raise ValueError(f"namespaces = {text!r}: write prefix=address, several with commas")
        found[prefix.strip()] = space.strip()
    return found


def _plain(found: XmlElement | str, kind: str) -> Any:
    """Return a text, or None for an element that says that it is nothing."""
    if isinstance(found, str):
        return found
    if found.attributes.get((_INSTANCE, "nil"), "").strip() in ("true", "1"):
        return None
    return None if kind != "string" and not found.text.strip() else found.text


def _element(name: str, value: Any) -> str:
    return _NIL.format(name) if value is None else f"<{name}>{_escaped(value)}</{name}>"


def _escaped(value: Any) -> str:
    """Return a value as text of an element or an attribute; a character that XML has not is U+FFFD."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode() if value is not None else ""
    return escape("".join(one if _is_allowed(one) else "\ufffd" for one in text), _QUOTES)


def _is_allowed(one: str) -> bool:
    return (one >= " " and one not in "\ufffe\uffff") or one in "\t\n\r"
