"""Rows as JSON: `@map(type = 'json')`, with paths to the columns, or as a template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from cep.apps.formats.json_paths import Step, json_path, json_values
from cep.apps.formats.map_options import MapOptions, of_properties
from cep.apps.formats.templates import PayloadTemplate, template
from cep.apps.formats.typed_values import ColumnTypes, check_rows, check_size, typed_row

EVENT = "event"
"""An object with this name alone stands around a row in Siddhi's own form."""
_MEDIA_TYPE = "application/json"
_IN_TEXT, _WHOLE_TEXT, _VALUE = "in a text", "the whole text", "a value"


@dataclass(frozen=True, slots=True)
class JsonReader:
    """`element`: where in a message its rows are. `attributes`: column → the path to it in its row; None: each column
    is under its name. `properties`: column → the property of the message that it is."""

    columns: ColumnTypes
    element: tuple[Step, ...] = ()
    needs_all: bool = True
    attributes: tuple[tuple[str, tuple[Step, ...]], ...] | None = None
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def by_line(self) -> bool:
        return not self.element

    def read(self, message: bytes, properties: Mapping[str, str] | None = None) -> list[tuple[Any, ...]]:
        check_size(message)
        try:
            found = orjson.loads(message)
        except orjson.JSONDecodeError as error:
            raise ValueError(f"no JSON ({error})") from error
        of_message = of_properties(self.properties, properties)
        return [
            typed_row(self.columns, self._row(row) | of_message, needs_all=self.needs_all)
            for row in self._objects(found)
        ]

    def _objects(self, found: Any) -> list[Mapping[str, Any]]:
        for step in self.element:
            found = _inside(found, step)
        rows = found if isinstance(found, list) else [found]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("no object where the rows are")
        check_rows(len(rows))
        return rows

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if self.attributes is None:
            inner = row.get(EVENT)
            return dict(inner) if len(row) == 1 and isinstance(inner, dict) else dict(row)
        found: dict[str, Any] = {}
        for name, path in self.attributes:
            values = json_values(row, path)
            if None in path:
                found[name] = values
            elif values:
                found[name] = values[0]
        return found


@dataclass(frozen=True, slots=True)
class JsonWriter:
    """`around`: names of the objects around a row, the outermost first. `payload`: in place of it; `places`: how each
    of its columns stands there."""

    around: tuple[str, ...] = (EVENT,)
    payload: PayloadTemplate | None = None
    places: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        return _MEDIA_TYPE

    def write(self, values: Mapping[str, Any]) -> bytes:
        if self.payload is not None:
            return self._filled(self.payload, values).encode()
        found: Any = values
        for name in reversed(self.around):
            found = {name: found}
        return orjson.dumps(found)

    def join(self, messages: Sequence[bytes]) -> bytes:
        """Return the messages as JSON lines."""
        return b"".join(b"%b\n" % one.replace(b"\n", b" ") for one in messages)

    def _filled(self, payload: PayloadTemplate, values: Mapping[str, Any]) -> str:
        parts = [payload.texts[0]]
        for column, place, text in zip(payload.columns, self.places, payload.texts[1:], strict=True):
            value = values.get(column)
            if place == _VALUE:
                parts += (orjson.dumps(value).decode(), text)
            elif place == _WHOLE_TEXT and value is None:
                # a text that is this column alone says that there is none
                parts[-1] = parts[-1][:-1]
                parts += ("null", text[1:])
            else:
                parts += (_inner_text(value), text)
        return "".join(parts)


def json_reader(options: MapOptions, *, needs_all: bool) -> JsonReader:
    """`options`: made with JSON_SOURCE. Raises AppUnsupportedError."""
    options.no_payload()
    try:
        element = json_path(options.text("enclosing.element", "$"))
        paths = {name: json_path(one) for name, one in options.places.items()}
    except ValueError as error:
        raise options.refused(str(error)) from None
    for name, kind in options.columns:
        if name in paths and None in paths[name] and kind != "string":
            raise options.refused(f"{name!r}: a path with * gives a list, which only a string has, as JSON")
    rest: dict[str, tuple[Step, ...]] = {name: (name,) for name in options.unplaced}
    attributes = tuple((paths | rest).items()) if paths else None
    return JsonReader(options.columns, element, options.needs_all(default=needs_all), attributes, options.properties)


def json_writer(options: MapOptions) -> JsonWriter:
    """`options`: made with JSON_SINK. Raises AppUnsupportedError."""
    options.no_attributes()
    text = options.template()
    try:
        around = json_path(options.text("enclosing.element", "$"))
        if not all(isinstance(one, str) for one in around):
            raise ValueError("enclosing.element of a sink: write names alone, such as $.data")
        if text is None:
            return JsonWriter((*(str(one) for one in around), EVENT))
        payload = template(text, (name for name, _ in options.columns))
    except ValueError as error:
        raise options.refused(str(error)) from None
    writer = JsonWriter((), payload, tuple(_places(payload)))
    for sample in ({name: 1 for name, _ in options.columns}, {}):
        try:
            orjson.loads(writer.write(sample))
        except orjson.JSONDecodeError as error:
            raise options.refused(f"@payload gives no JSON ({error})") from None
    return writer


JSON_SOURCE = ("enclosing.element",)
JSON_SINK = ("enclosing.element", "validate.json")
"""The second is Siddhi's: what a template gives is JSON here in any case."""


def _inside(found: Any, step: Step) -> Any:
    """Return what is one step down; raises ValueError if nothing is. `*`: the objects there, and if there are none what
    is here."""
    if step is None:
        values = json_values(found, (None,))
        return [one for one in values if isinstance(one, dict)] or found
    values = json_values(found, (step,))
    if not values:
        raise ValueError(f"nothing is named {step!r}" if isinstance(step, str) else f"nothing is at [{step}]")
    return values[0]


def _places(payload: PayloadTemplate) -> list[str]:
    """Return how each column stands in the text."""
    found, is_text = [], False
    for number, text in enumerate(payload.texts[:-1]):
        is_text = _ends_in_text(text, is_text=is_text)
        is_whole = (
            is_text and text.endswith('"') and not text.endswith('\\"') and payload.texts[number + 1].startswith('"')
        )
        found.append(_WHOLE_TEXT if is_whole else _IN_TEXT if is_text else _VALUE)
    return found


def _ends_in_text(text: str, *, is_text: bool) -> bool:
    is_escaped = False
    for one in text:
        if is_escaped:
            is_escaped = False
        elif one == "\\":
            is_escaped = is_text
        elif one == '"':
            is_text = not is_text
    return is_text


def _inner_text(value: Any) -> str:
    """Return a value as it stands between quotes; null is nothing."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return orjson.dumps(text).decode()[1:-1]
